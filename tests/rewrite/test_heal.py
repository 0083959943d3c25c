"""Changes for which a rewritten model fails as a whole: found, barred, named, the rest written.

The faults are planted where proofs and probes would stand in the way, so these are off.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onnxpad
from onnxpad.passes.fold_pad import FoldPad
from onnxpad.probe.cut import NeighbourhoodProbe
from onnxpad.proof import certificate
from onnxpad.proof.term import Equal
from onnxpad.rewrite.heal import heal
from onnxpad.rewrite.pass_api import Context, Match
from onnxpad.runtimes.onnxruntime import guard
from onnxpad.validation.result import Comparison, Run, Validation
from tests.support import feeds_of, one, onnxpad_runs, run
from tests.support.rows import each_row

COUNT = 20


def chain() -> onnx.ModelProto:
    """Twenty Pads of 1, each before a Conv of its own."""
    body = " ".join(
        f"p{i} = Pad ({f'y{i - 1}' if i else 'x'}, p) [conv{i}] y{i} = Conv (p{i}, w)"
        for i in range(COUNT)
    )
    return one(
        f"{body} y = Identity (y{COUNT - 1})",
        inputs="float[1, 1, 9, 8] x",
        initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1},"
        " float[1, 1, 3, 3] w = {0.5, 0.25, 0, 0.125, 1, 0, 0.5, 0.25, 0.125}",
    )


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has the folding at some nodes write wrong pads, or only where others are folded too."""

    def plant(*names: str, beside: str = "") -> None:
        rewrite = FoldPad.rewrite

        def wrong(self: FoldPad, match: Match, context: Context) -> None:
            rewrite(self, match, context)
            graph, node = context.graph, match.plan[0].node
            if node.name not in names:
                return
            others = [each for each in graph.nodes if each.name == beside]
            if not beside or any(sum(each.attrs.get("pads", ())) for each in others):
                graph.set_attribute(node, "pads", [0, 2, 2, 0])

        monkeypatch.setattr(FoldPad, "rewrite", wrong)
        monkeypatch.setattr(certificate, "refine", lambda *_: Equal("planted"))
        monkeypatch.setattr(NeighbourhoodProbe, "after", lambda *_, **__: (True, ""))

    return plant


def named(result: onnxpad.FixResult) -> list[str]:
    """The operators at which a change was barred."""
    return sorted(finding.message.split("'")[1] for finding in result.barred)


def demand(result: onnxpad.FixResult, model: onnx.ModelProto) -> None:
    """What is promised of a result that was healed."""
    assert result.validation is not None
    assert result.validation.ok
    assert len(result.changes) == COUNT - len(result.barred)
    assert any("taken back" in warning for warning in result.validation.warnings)
    feeds = feeds_of(model)
    np.testing.assert_allclose(run(result.model, feeds)[0], run(model, feeds)[0], 1e-5)


@pytest.mark.parametrize(
    "names",
    [("conv0",), ("conv3", "conv12")],
    ids=" ".join,
)
def test_planted_faults(names: tuple[str, ...], planted: Callable[..., None]) -> None:
    planted(*names)
    model = chain()
    result = onnxpad.fix(model)
    assert named(result) == sorted(names)
    demand(result, model)


SCORES = "p = Pad (x, p1) [conv] c = Conv (p, w) m = Conv (x, v) s = Add (c, m) "
WEIGHTS = (
    "float[3, 1, 3, 3] w = {0.5, 0.25, 0, 0.125, 1, 0, 0.5, 0.25, 0.125, 1, 2, 3, 4, 5, 6, 7, 8, 9,"
    " 9, 8, 7, 6, 5, 4, 3, 2, 1}, int64[8] p1 = {0, 0, 1, 1, 0, 0, 1, 1},"
    " float[3, 1, 1, 1] v = {99999, 0, -99999}"
)


def test_a_fault_that_an_argmax_hides_is_taken_back(planted: Callable[..., None]) -> None:
    planted("conv")
    model = one(
        f"{SCORES} y = ArgMax <axis = 1> (s)",
        inputs="float[1, 1, 9, 8] x",
        outputs="int64[] y",
        initializers=WEIGHTS,
    )
    result = onnxpad.fix(model)
    assert named(result) == ["conv"]
    assert not result.changes


def test_what_cannot_be_compared_is_not_taken_back(tmp_path: Path) -> None:
    """The Pad and the Conv are in a branch together with the operator that chooses."""
    branch = f"{SCORES} u = ArgMax <axis = 1> (s)"
    model = one(
        "i = Constant <value = bool {1}> () y = If (i) <then_branch = t () => (int64[?] u) "
        f"{{ {branch} }}, else_branch = g () => (int64[?] j) {{ j = ArgMin (x) }}>",
        inputs="float[1, 1, 7, 8] x",
        outputs="int64[] y",
        initializers=WEIGHTS,
    )
    path, target = tmp_path / "m.onnx", tmp_path / "fixed.onnx"
    onnx.save(model, path)
    done = onnxpad_runs("fix", path, "-o", target)
    assert done.exit_code == 5
    assert "not validated" in done.output
    assert target.exists()
    assert onnxpad_runs("validate", path, target).exit_code == 5
    assert onnxpad_runs("validate", path, path).exit_code == 0


def test_of_two_changes_that_are_wrong_only_together_the_later_goes(
    planted: Callable[..., None],
) -> None:
    model = chain()
    planted("conv12", beside="conv4")
    result = onnxpad.fix(model)
    assert named(result) == ["conv12"]
    demand(result, model)


def test_a_fault_at_full_optimisation_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Pad that loses its second reader is folded into a MaxPool over negative data."""
    model = one(
        "n = Abs (x) m = Neg (n) a = Pad (m, p) y = MaxPool <kernel_shape = [3, 3]> (a)"
        " [conv] z = Conv (a, w) b = Pad (m, p) [other] v = Conv (b, w)",
        inputs="float[1, 1, 9, 8] x",
        outputs="float[] y, float[] z, float[] v",
        initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1},"
        " float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}",
    )
    monkeypatch.setattr(guard, "guard", lambda *_: None)
    result = onnxpad.fix(model)
    assert [change.node for change in result.changes] == ["other"]
    (finding,) = result.barred
    assert "conv" in finding.message
    assert result.validation is not None
    assert result.validation.ok


def test_a_failure_that_no_change_explains_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Validation(False, (Run("", "off", "", (), (0, 0), "broken", ok=False),))
    assert heal([], broken, lambda _: broken) == ({}, broken)
    monkeypatch.setattr("onnxpad.validation.whole.validate_models", lambda *_, **__: broken)
    result = onnxpad.fix(chain())
    assert not result.barred
    assert result.validation is not None
    assert not result.validation.ok


class Counted:
    """Validations of which it is known what fails."""

    def __init__(self, count: int, *groups: set[int]) -> None:
        self.keys = [("PAD201", f"y{i}") for i in range(count)]
        self.groups = groups
        self.rounds = 0

    def __call__(self, leave: Any) -> Validation:
        self.rounds += 1
        return self.verdict(set(range(len(self.keys))) - {self.keys.index(key) for key in leave})

    def verdict(self, made: set[int]) -> Validation:
        return Validation(not any(group <= made for group in self.groups), ())

    def healed(self) -> set[int]:
        made: Any = [type("Made", (), {"key": key}) for key in self.keys]
        everything = self.verdict(set(range(len(self.keys))))
        guilty, verdict = heal(made, everything, self)
        assert (verdict.outcome != "failed") == bool(guilty)
        return {self.keys.index(key) for key in guilty}


GROUPS = st.integers(1, 16).flatmap(
    lambda count: st.tuples(
        st.just(count), st.lists(st.sets(st.integers(0, count - 1), min_size=1), min_size=1)
    )
)


@given(GROUPS)
def test_what_is_left_passes_and_nothing_is_taken_back_without_need(
    case: tuple[int, list[set[int]]],
) -> None:
    """Whichever changes fail together; of many faults it may give up, and takes nothing back."""
    count, together = case
    found = Counted(count, *together)
    guilty = found.healed()
    left = set(range(count)) - guilty
    assert not any(group <= left for group in together) or not guilty
    assert guilty or len(together) > 2
    assert found.rounds <= 2 * np.log2(count) + 4
    if len(together) == 1:
        assert guilty <= together[0]


@each_row(
    ("level", "compares", "reason"),
    [
        ("off", True, "differs"),
        ("off", False, "stops"),
        ("full", True, "differs-optimised"),
        ("full", False, "stops-optimised"),
    ],
)
def test_the_reason_says_how_the_models_part(level: str, compares: bool, reason: str) -> None:
    wrong = (Comparison("y", False, 1.0, 1.0, "far", False),) * compares
    other = Run("cpu", "off", "x", (), (0, 0), "", False, subject="original")
    failed = Validation(False, (other, Run("cpu", level, "x", wrong, (0, 0), "", False)))
    made: Any = [type("Made", (), {"key": ("PAD201", "y")})]
    guilty, _ = heal(made, failed, lambda _: Validation(True, ()))
    assert [*guilty.values()] == [reason]
