"""A change is made as a whole, with all that is told of it, or taken back as a whole."""

from collections.abc import Sequence
from typing import Any

import onnx
import pytest

from onnxpad.finding import Assumption
from onnxpad.graph import Graph, Tensor
from onnxpad.options import Options
from onnxpad.passes.fold_pad import FoldPad
from onnxpad.passes.pads import DropEmptyPad
from onnxpad.reasons import Reason
from onnxpad.rewrite.pass_api import Context, Match, Pass
from onnxpad.rewrite.run import Editor
from tests.broken import Swapped
from tests.support import BORDER, PADS, W, assert_graph, one

PADDED = one("[pad] a = Pad (x, p) [conv] y = Conv (a, w)", initializers=f"{W}, {PADS}")
MAXIMA = one(
    "[pad] a = Pad (x, p, c) [pool] y = MaxPool <kernel_shape = [3, 3]> (a)",
    initializers=f"{BORDER}, float c = {{-3.4028235e38}}",
)
"""Its Pad folds if the data is finite."""


class Told:
    """A probe that says what it was told to, and keeps what it was asked."""

    def __init__(self, same: bool | None) -> None:
        self.same = same
        self.asked: list[tuple[str, ...]] = []

    def take(self, graph: object, analysis: object) -> None:
        self.asked.append(("take",))

    def before(self, tensor: Tensor, roots: Sequence[str]) -> Any:
        self.asked.append(("before", tensor.name, *roots))
        return "cut"

    def after(
        self, tensor: Tensor, roots: Sequence[str], before: Any, *, specified: bool
    ) -> tuple[bool | None, str]:
        assert not specified, "nothing is trusted here"
        self.asked.append(("after", tensor.name, *roots, before))
        return self.same, "as told"


def editor_of(model: onnx.ModelProto, *, strict: bool = False, probe: Any = None) -> Editor:
    return Editor(Context(Graph.from_proto(model), Options(strict=strict)), probe)


def tried(editor: Editor, rule: Pass) -> None:
    """Applies a rule where it first finds something that can be rewritten."""
    editor.settle(rule, next(each for each in rule.find(editor.context) if each.plan is not None))


def test_a_change_says_what_was_and_what_is() -> None:
    editor = editor_of(PADDED)
    tried(editor, FoldPad())
    (made,) = editor.made
    change = made.change
    assert (change.code, change.node, change.op_type) == ("PAD201", "conv", "Conv")
    assert change.removed == ("pad",)
    assert change.forms == ("Pad -> Conv", "Conv pads")
    assert made.key == ("PAD201", "y")
    assert not made.wrote
    assert set(made.tensors) == {"a", "y"}
    assert change.probe == ""
    graph = editor.context.graph
    after = one("y = Conv <pads = [1, 2, 2, 1]> (x, w)", initializers=W)
    assert_graph(graph.model.to_proto(), after)


@pytest.mark.parametrize("strict", [False, True])
def test_a_change_taken_back_leaves_no_trace_and_is_not_tried_again(strict: bool) -> None:
    editor = editor_of(PADDED, strict=strict)
    before = editor.context.graph.model.to_bytes()
    rule = Swapped()
    tried(editor, rule)
    ((place, finding),) = editor.undone.items()
    assert place[:2] == ("PAD201", "pad")
    assert finding.node == "pad"
    assert not editor.made
    assert editor.context.graph.model.to_bytes() == before
    version = editor.context.graph.version
    tried(editor, rule)
    assert editor.context.graph.version == version, "tried again"


def test_only_a_later_change_lets_it_be_tried_again() -> None:
    model = one(
        "[pad] a = Pad (x, p) [conv] y = Conv (a, w) [none] b = Pad (x, n) z = Relu (b)",
        outputs="float[] y, float[] z",
        initializers=f"{W}, {PADS}, int64[8] n = {{0, 0, 0, 0, 0, 0, 0, 0}}",
    )
    editor = editor_of(model)
    tried(editor, Swapped())
    tried(editor, DropEmptyPad())
    assert not editor.undone
    tried(editor, Swapped())
    assert editor.undone


def test_what_rests_on_an_assumption_is_refused_if_strict() -> None:
    editor, strict = editor_of(MAXIMA), editor_of(MAXIMA, strict=True)
    for each in (editor, strict):
        tried(each, FoldPad())
    (made,) = editor.made
    assert made.change.certificate.assumptions == (Assumption.FINITE_DATA,)
    (told,) = strict.undone.values()
    assert told.reason_code == Reason.ASSUMPTION_REFUSED
    assert told.evidence["assumptions"] == ["finite data"]
    assert "--strict" in told.reason
    assert strict.context.graph.model.to_bytes() == MAXIMA.SerializeToString()


class TestProbe:
    def test_a_difference_takes_the_change_back(self) -> None:
        editor = editor_of(PADDED, probe=Told(same=False))
        tried(editor, FoldPad())
        (told,) = editor.undone.values()
        assert (told.reason_code, told.evidence["probe"]) == (Reason.PROBE_DIFFERS, "as told")
        assert told.reason == "undone: its probe differs: as told"
        assert editor.context.graph.model.to_bytes() == PADDED.SerializeToString()

    @pytest.mark.parametrize("strict", [False, True])
    def test_where_it_cannot_say_that_is_an_assumption(self, strict: bool) -> None:
        editor = editor_of(PADDED, strict=strict, probe=Told(same=None))
        tried(editor, FoldPad())
        if strict:
            (told,) = editor.undone.values()
            assert told.reason_code == Reason.ASSUMPTION_REFUSED
            assert editor.context.graph.model.to_bytes() == PADDED.SerializeToString()
        else:
            (made,) = editor.made
            assert made.change.certificate.assumptions == (Assumption.NOT_PROBED,)


class Raising(FoldPad):
    """Edits the graph and then fails."""

    code = "ACME001"

    def rewrite(self, match: Match, context: Context) -> None:
        context.graph.set_attribute(match.node, "group", 2)
        raise ZeroDivisionError("half way")


class Redeclaring(FoldPad):
    """Folds well, and also declares an input of another size."""

    def rewrite(self, match: Match, context: Context) -> None:
        super().rewrite(match, context)
        context.graph.declare("x", (1, 2, 7, 7))


class Meddling(FoldPad):
    """Folds well, and changes a node that has nothing to do with it."""

    def rewrite(self, match: Match, context: Context) -> None:
        super().rewrite(match, context)
        (other,) = (node for node in context.graph.nodes if node.name == "other")
        context.graph.set_attribute(other, "alpha", 0.5)


def test_an_error_in_a_pass_of_onnxpad_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        tried(editor_of(PADDED), Raising())


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(Redeclaring(), id="an input"),
        pytest.param(Meddling(), id="another node"),
    ],
)
def test_what_a_rewrite_does_beside_its_change_takes_it_back(rule: Pass) -> None:
    model = one(
        "[pad] a = Pad (x, p) [conv] y = Conv (a, w) [other] z = LeakyRelu <alpha = 0.1> (x)",
        outputs="float[] y, float[] z",
        initializers=f"{W}, {PADS}",
    )
    editor = editor_of(model)
    tried(editor, rule)
    assert len(editor.undone) == 1
    assert editor.context.graph.model.to_bytes() == model.SerializeToString()
