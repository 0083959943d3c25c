"""The option to try next: it gains what it is said to gain, and trying it leaves no trace."""

from pathlib import Path
from typing import Any

import pytest

import onnxpad
from onnxpad.errors import UsageError
from onnxpad.graph import counts_of
from onnxpad.report import Outcome
from onnxpad.rewrite import next_option
from onnxpad.rewrite.run import Run
from tests.rewrite.test_advice import COMPUTED, net
from tests.support import FEW


@pytest.mark.parametrize(
    ("path", "style"),
    [*((path, "fold") for path in FEW[::4]), *((FEW[0], style) for style in ("pad", "symmetric"))],
    ids=lambda case: getattr(case, "stem", case),
)
def test_the_gain_is_that_of_the_model_fixed_anew(path: Path, style: str, tmp_path: Path) -> None:
    result = onnxpad.fix(path, style=style, validate=False)
    before = result.model.SerializeToString()
    diff = result.diff(("a", "b"))
    changed = result.changed
    result.save(tmp_path / "before.onnx")
    found = result.next
    assert result.next is found
    assert result.model.SerializeToString() == before
    assert result.diff(("a", "b")) == diff
    assert result.changed == changed
    result.save(tmp_path / "after.onnx")
    assert (tmp_path / "after.onnx").read_bytes() == (tmp_path / "before.onnx").read_bytes()
    if found is None:
        return
    assert found.before == counts_of(result._graph)
    fixed = onnxpad.fix(path, style=style, validate=False, **found.keywords)
    followed = counts_of(fixed._graph)
    if style == "fold":
        assert followed == found.after
    # A Pad that the result got for the style may be one that the original need not get.
    assert followed.pads <= found.after.pads
    assert followed.auto_pads <= found.after.auto_pads
    assert followed.nodes <= found.after.nodes
    assert found.before != found.after


@pytest.mark.parametrize("case", ["fails", "gains nothing", "is of a wrong result"])
def test_an_option_that_fails_or_gains_nothing_is_not_told(
    monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    class Trial(Run):
        def edit(self) -> list[Any]:
            if case == "fails":
                raise UsageError("it does not run")
            return []

    result = onnxpad.fix(net(COMPUTED), validate=False)
    if case == "is of a wrong result":
        monkeypatch.setattr(onnxpad.FixResult, "outcome", Outcome.INVALID)
    else:
        monkeypatch.setattr(next_option, "Run", Trial)
    assert result.next is None
