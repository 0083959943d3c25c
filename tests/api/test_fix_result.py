"""What a verdict allows: `ok`, `raise_for_failure` and `save` of a result of `fix`."""

from dataclasses import replace
from pathlib import Path

import pytest

import onnxpad
from onnxpad.errors import ValidationError
from onnxpad.validation.result import Comparison, Run, Validation, not_validated, why_not
from tests.support import one

PADDED = one(
    "q = Pad (x, p) y = Conv (q, w)",
    initializers="int64[8] p = {0,0,1,1,0,0,1,1}, float[1, 2, 2, 1] w = {1, 2, 3, 4}",
)
DIFFERS = Comparison("y", False, 1.0, 1.0, "1.0 became 2.0 at [0]", ok=False)
RUN = Run("CPUExecutionProvider", "off", "x", (DIFFERS,), (0.1, 0.1), "", ok=False)
FAILED = Validation(False, (RUN,))
NOTHING = not_validated("no kernel")


@pytest.fixture(scope="module")
def result() -> onnxpad.FixResult:
    return onnxpad.fix(PADDED)


def test_passed(result: onnxpad.FixResult, tmp_path: Path) -> None:
    assert result.ok
    result.raise_for_failure()
    result.save(tmp_path / "out.onnx")


def test_failed_is_not_saved_unless_told(result: onnxpad.FixResult, tmp_path: Path) -> None:
    failed, path = replace(result, validation=FAILED), tmp_path / "out.onnx"
    assert not failed.ok
    for act in (failed.raise_for_failure, lambda: failed.save(path), failed.as_same_kind):
        with pytest.raises(ValidationError, match=r"differs from the original .*1.0 became 2.0"):
            act()
    assert list(tmp_path.iterdir()) == []
    failed.save(path, keep_invalid=True)
    assert failed.as_same_kind(keep_invalid=True) == failed.model
    assert path.exists()


def test_nothing_compared_is_saved_and_not_ok(result: onnxpad.FixResult, tmp_path: Path) -> None:
    nothing = replace(result, validation=NOTHING)
    assert not nothing.ok
    with pytest.raises(ValidationError, match=r"^not validated: no kernel$"):
        nothing.raise_for_failure()
    nothing.save(tmp_path / "out.onnx")


def test_without_validation_only_what_is_unchanged_is_ok() -> None:
    changed = onnxpad.fix(PADDED, validate=False)
    assert changed.changed
    assert not changed.ok
    with pytest.raises(ValidationError, match="no validation was asked for"):
        changed.raise_for_failure()
    same = onnxpad.fix(changed.model, validate=False)
    assert not same.changed
    assert same.ok
    same.raise_for_failure()


def test_ok_is_the_outcome() -> None:
    assert Validation(True, ()).outcome == "passed"
    assert FAILED.outcome == "failed"
    assert (NOTHING.outcome, NOTHING.ok) == ("nothing compared", False)
    assert not replace(Validation(True, ()), outcome="nothing compared").ok
    assert why_not(Validation(True, ())) == ""


@pytest.mark.parametrize(
    "body",
    [
        "z = custom.Op (x) q = Pad (z, p) y = Conv (q, w)",
        "q = Pad (x, p) z = Conv (q, w) y = No (z)",
    ],
)
def test_what_does_not_run_is_not_validated(body: str, tmp_path: Path) -> None:
    model = one(body, initializers=PADS)
    model.opset_import.add(domain="custom", version=1)
    result = onnxpad.fix(model)
    assert result.changed
    assert result.validation is not None
    assert result.validation.outcome == "nothing compared"
    assert not result.ok
    result.save(tmp_path / "out.onnx")


PADS = "int64[8] p = {0,0,1,1,0,0,1,1}, float[1, 2, 2, 1] w = {1, 2, 3, 4}"
