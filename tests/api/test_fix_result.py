"""What a verdict allows: `ok`, `raise_for_failure` and `save` of a result of `fix`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from msgspec.structs import replace

import onnxpad
from onnxpad.errors import ValidationError
from onnxpad.finding import Counts
from onnxpad.options import Options
from onnxpad.report import FixReport
from onnxpad.runtimes.runtime import Optimisation
from onnxpad.validation import lab
from onnxpad.validation.lab import Execution, Result
from onnxpad.validation.lab import ask as asking
from onnxpad.validation.result import Comparison, Run, Validation, not_validated
from tests.support import one, onnxpad_runs
from tests.support.rows import each_row

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


def test_all_open_axes_are_named_and_what_was_asked_for_is_not_left() -> None:
    model = one(
        "y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)"
        'z = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
        inputs="float[1, 1, height, width] x",
        outputs="float[] y, float[] z",
        initializers="float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}",
    )
    result = onnxpad.fix(model, no_ceil=True, dynamic="pad", validate=False)
    told: list[Any] = [(e.code, e.asked, e.evidence["axes"]) for e in result.findings]
    assert told == [("PAD301", "", [2, 3]), ("PAD205", "--dynamic pad", [2, 3])]
    assert "1 padding left" in repr(result)


def test_the_next_option_of_a_model_in_memory_is_told_without_a_command() -> None:
    body, given = 'y = Conv <auto_pad = "SAME_UPPER", strides = [4]> (x, w)', "float[1,1,1] w = {3}"
    told = str(onnxpad.fix(one(body, inputs="float[1, 1, 4] x", initializers=given)))
    assert "Next: --trust spec" in told


def test_a_verdict_decides_what_is_ok_and_saved(result: onnxpad.FixResult, tmp_path: Path) -> None:
    assert result.ok
    result.raise_for_failure()
    failed, path = replace(result, validation=FAILED), tmp_path / "out.onnx"
    assert not failed.ok
    for act in (failed.raise_for_failure, lambda: failed.save(path), failed.as_same_kind):
        with pytest.raises(ValidationError):
            act()
    assert list(tmp_path.iterdir()) == []
    failed.save(path, keep_invalid=True)
    assert failed.as_same_kind(keep_invalid=True) == failed.model
    assert path.exists()
    nothing = replace(result, validation=NOTHING)
    assert not nothing.ok
    with pytest.raises(ValidationError):
        nothing.raise_for_failure()
    nothing.save(tmp_path / "other.onnx")


def test_without_validation_only_what_is_unchanged_is_ok() -> None:
    changed = onnxpad.fix(PADDED, validate=False)
    assert changed.changed
    assert not changed.ok
    with pytest.raises(ValidationError):
        changed.raise_for_failure()
    same = onnxpad.fix(changed.model, validate=False)
    assert (same.changed, same.ok) == (False, True)
    same.raise_for_failure()


@each_row(
    ("changed", "verdict", "outcome"),
    [
        (False, None, "unchanged"),
        (False, FAILED, "unchanged"),
        (True, None, "fixed"),
        (True, NOTHING, "fixed"),
        (True, Validation(True, ()), "fixed"),
        (True, FAILED, "invalid"),
    ],
)
def test_the_outcome_is_that_of_the_graph_and_its_verdict(
    changed: bool, verdict: Validation | None, outcome: str
) -> None:
    counts = (Counts(), Counts())
    report = FixReport("m", Options(), changed, True, (), (), (), verdict, counts)
    assert report.outcome == outcome


@pytest.mark.parametrize(
    "body",
    [
        "z = custom.Op (x) q = Pad (z, p) y = Conv (q, w)",
        "q = Pad (x, p) z = Conv (q, w) y = No (z)",
    ],
)
def test_what_does_not_run_is_not_validated(body: str, tmp_path: Path) -> None:
    model = one(
        body,
        initializers="int64[8] p = {0,0,1,1,0,0,1,1}, float[1, 2, 2, 1] w = {1, 2, 3, 4}",
    )
    model.opset_import.add(domain="custom", version=1)
    result = onnxpad.fix(model)
    assert result.changed
    assert result.validation is not None
    assert result.validation.outcome == "nothing compared"
    assert not result.ok
    result.save(tmp_path / "out.onnx")


DILATED = 'z = Conv <auto_pad = "SAME_UPPER", dilations = [2, 2]> (x, w)'
"""Not run by onnxruntime, and what the specification says of it is clear."""


def dilated(rest: str, before: str = DILATED) -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f"""<ir_version: 9, opset_import: ["" : 17, "c" : 1]>
        g (float[1,1,9,9] x) => (float[1,1,H,W] y) <float[1,1,3,3] w = {{1,2,3,4,5,6,7,8,9}},
        int64[8] p = {{0,0,1,1,0,0,1,1}}, int64[1] k = {{77}}> {{ {before} {rest} }}"""
    )


QUANTISED = """<ir_version: 9, opset_import: ["" : 17]>
    g (uint8[1,1,9,9] x) => (uint8[1,1,9,9] y)
    <uint8[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}, float s = {1}, uint8 z = {0}>
    { y = QLinearConv <auto_pad = "SAME_UPPER", dilations = [2, 2]> (x, s, z, w, s, z, s, z) }"""
"""No runtime here computes its original side."""

POOL = "y = MaxPool <kernel_shape = [2, 2]> (z)"  # which the reference evaluator may get wrong


def test_a_repair_has_an_outcome_and_is_ok(tmp_path: Path) -> None:
    model = dilated(POOL)
    result = onnxpad.fix(model)
    assert result.validation is not None
    assert (result.validation.outcome, result.validation.ok) == ("repaired", True)
    assert result.ok
    result.raise_for_failure()
    assert onnxpad.validate(model, result.model).outcome == "nothing compared"
    assert not onnxpad.fix(model, validate=False).ok
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    ended = onnxpad_runs("fix", path, "--format", "json")
    told = json.loads(ended.stdout)
    assert (ended.exit_code, told["outcome"], told["validation"]["outcome"]) == (
        0,
        "fixed",
        "repaired",
    )
    assert onnxpad_runs("fix", path, "--quiet").stdout == ""


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(dilated("y = c.Foo (z)"), id="a custom operator"),
        pytest.param(dilated("y = Gather <axis = 2> (z, k)"), id="data that both refuse"),
        pytest.param(
            dilated("y = c.Foo (z)", "a = Pad (x, p) z = Conv (a, w)"), id="another operator alone"
        ),
        pytest.param(onnx.parser.parse_model(QUANTISED), id="a change that rests on an assumption"),
    ],
)
def test_what_else_was_not_compared_is_not_ok(model: onnx.ModelProto) -> None:
    result = onnxpad.fix(model)
    assert result.changes
    assert result.validation is not None
    assert (result.validation.outcome, result.ok) == ("nothing compared", False)
    with pytest.raises(ValidationError):
        result.raise_for_failure()


def test_a_result_that_its_optimiser_breaks_is_no_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(
        source: Any, draws: Any, provider: str, level: Optimisation, **others: Any
    ) -> Execution:
        if level == "full":
            return (Result({}, 0.0, "no kernel"),) * len(draws), {}
        return asking(source, draws, provider, level, **others)

    monkeypatch.setattr(lab, "ask", ask)
    result = onnxpad.fix(dilated(POOL))
    assert result.validation is not None
    assert (result.validation.outcome, result.ok) == ("nothing compared", False)


@pytest.mark.parametrize(
    "end",
    [
        Path.unlink,
        lambda path: path.replace(f"{path}.old"),
        lambda path: path.write_bytes(one("y = Relu (x)").SerializeToString()),
    ],
)
def test_a_source_that_is_gone_or_replaced_does_no_harm(
    end: Callable[[Path], object], tmp_path: Path
) -> None:
    source = tmp_path / "a.onnx"
    onnx.save(PADDED, source)
    result = onnxpad.fix(source, validate=False)
    end(source)
    for _ in range(2):
        assert result.model == onnxpad.fix(PADDED, validate=False).model
        result.save(tmp_path / "out.onnx")
        onnx.save(one("y = Relu (x)"), source)


def test_sizes_at_which_the_optimiser_folds_a_wrong_shape_are_not_declared() -> None:
    """onnxruntime takes the size that shape inference gives a pool with `ceil_mode`."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1, 2, h, h] x) => (float[a, b, c, d] y) '
        "<int64[2] z = {0, 0}> { m = MaxPool <kernel_shape = [2, 2], strides = [2, 2], "
        "pads = [1, 1, 1, 1], ceil_mode = 1> (x) s = Shape <start = 2> (m) "
        "p = Concat <axis = 0> (z, s, z, s) y = Pad (m, p) }"
    )
    result = onnxpad.fix(model, dims={"h": 5})
    assert not result.changed
    assert "the sizes given are not used" in result.warnings[0]
