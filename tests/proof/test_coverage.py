"""Edits beside the one that is proved are refused, whoever makes them; and what is undone is so."""

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import onnx
import pytest

from onnxpad.facts import Analysis
from onnxpad.graph import Graph, Node, Tensor, Touched
from onnxpad.options import Options
from onnxpad.passes.fold_pad import FoldPad
from onnxpad.passes.pads import DropEmptyPad
from onnxpad.proof.certificate import settle
from onnxpad.proof.read import Reader
from onnxpad.proof.refine import Facts
from onnxpad.proof.term import DiffersError
from onnxpad.rewrite.pass_api import Context, Match
from onnxpad.rewrite.run import Run
from onnxpad.runtimes.onnxruntime import guard
from onnxpad.runtimes.onnxruntime.pad_fusion import Exposed
from tests.support import W, one
from tests.support.rows import each_row

PADS = "int64[8] p = {0, 0, 1, 2, 0, 0, 0, 3}"
NETWORK = one(
    """
    r = Relu (x)
    k = Identity (w)
    v = Add (k, shift)
    q = Add (p, none)
    a = Pad (r, q)
    y = Conv (a, v)
    n = Neg (y)
    z = Relu (n)
    other = Conv <pads = [1, 1, 1, 1]> (r, w)
    b = Pad <mode = "edge"> (r, q)
    c = If (which) <then_branch = t () => (float[] i) { i = Sigmoid (r) },
                    else_branch = e () => (float[] j) { j = Tanh (r) }>
    own = mine.Own <level = 1> (r)
    u = Dropout (r, shift, which)
    """,
    inputs="float[1, 2, 9, 8] x, bool which",
    outputs="float[] z, float[] other, float[] b, float[] c, float[] own, float[] u",
    initializers=f"{W}, {PADS}, float shift = {{0}}, int64 none = {{0}}",
)
NETWORK.opset_import.append(onnx.helper.make_opsetid("mine", 1))
"""One `Pad` to fold, and what an edit might damage on the way."""


class Edited:
    """A graph whose terms are read before it is edited."""

    def __init__(self, proto: onnx.ModelProto = NETWORK) -> None:
        self.graph = Graph.from_proto(proto)
        analysis = Analysis(self.graph)
        reader = Reader(self.graph, analysis)
        self.facts = Facts(self.graph, analysis, reader)
        reader.read_all()
        reader.begin()
        self.mark = self.graph.mark()

    def node(self, name: str) -> Node:
        """The node that writes a tensor."""
        node = self.graph.tensor(name).producer
        assert node is not None
        return node

    def write(self, name: str, op: str = "", inputs: Sequence[str] = (), **attributes: Any) -> None:
        """Another operator, other inputs or attributes for the node that writes a tensor."""
        node = self.node(name)
        read = [self.graph.tensor(each) for each in inputs] or list(node.inputs)
        every: dict[str, Any] = {**node.attrs, **attributes}
        kept = {name: value for name, value in every.items() if value is not None}
        self.graph.replace_op(node, op or node.op, read, kept)

    def fold(self, pads: Sequence[int] = (1, 2, 0, 3)) -> None:
        """Folds the `Pad` into the Conv."""
        self.write("y", "Conv", ["r", "v"], pads=[*pads])

    def settle(self, touched: Sequence[Touched] | None = None, **replaced: str) -> set[str]:
        """Settles the edits, given new tensors with those that they replace; what was proved."""
        pairs = {self.graph.tensor(n): self.graph.tensor(o) for n, o in replaced.items()}
        self.graph.sweep()
        touched = self.graph.touched(self.mark) if touched is None else touched
        return {tensor.name for tensor in settle(self.facts, touched, pairs)}


Edit = Callable[[Edited], object]


def insert(at: Edited, name: str, op: str, data: str, before: str) -> Tensor:
    """Inserts a node."""
    graph = at.graph
    return graph.insert(op, [graph.tensor(data)], {}, before=at.node(before), name=name)


def insert_ahead_of_a_reader(at: Edited) -> None:
    flipped = insert(at, "flipped", "Neg", "r", "other")
    at.graph.set_input(at.node("other"), 0, flipped)


def edit_a_body(at: Edited) -> None:
    body = next(each for each in at.graph.inside() if each is not at.graph)
    (node,) = body.nodes
    body.replace_op(node, "Exp", list(node.inputs), {})


def undo_by_another(at: Edited) -> None:
    """Two steps that leave what is read as it was, and what is output not."""
    at.write("n", "Abs")
    insert_ahead_of_a_reader(at)


DAMAGES: list[Edit] = [
    lambda at: at.write("other", pads=[0, 0, 2, 2]),
    lambda at: at.write("r", "Abs"),
    lambda at: at.write("v", "Sub"),
    lambda at: at.write("k", "Neg"),
    lambda at: at.write("other", "Conv", ["x", "w"]),
    lambda at: at.write("q", "Mul"),
    lambda at: at.write("b", mode="reflect"),
    lambda at: at.write("n", "Abs"),
    lambda at: at.write("z", "Sigmoid"),
    lambda at: at.write("n", "Neg", ["other"]),
    lambda at: at.write("y", strides=[2, 2]),
    lambda at: at.write("own", level=2),
    lambda at: at.write("u", seed=7),
    edit_a_body,
    insert_ahead_of_a_reader,
    undo_by_another,
]


@each_row("place", range(len(DAMAGES)))
def test_what_also_damages_something_else_is_refused(place: int) -> None:
    """Before the edit that is proved and after it; undone, the graph is read as before."""
    for folds_first in (True, False):
        at = Edited()
        terms = {t: at.facts.reader.read(t) for node in at.graph.nodes for t in node.outputs}
        edits: list[Edit] = [Edited.fold, DAMAGES[place]]
        for edit in edits if folds_first else edits[::-1]:
            edit(at)
        with pytest.raises(DiffersError):
            at.settle(y="y")
        at.graph.rollback(at.mark)
        at.facts.reader.undo()
        assert {tensor: at.facts.reader.read(tensor) for tensor in terms} == terms
        at.fold()
        assert at.settle(y="y") == {"y"}


def rename(at: Edited) -> None:
    copy = insert(at, "copy", "Identity", "r", "other")
    at.graph.set_input(at.node("other"), 0, copy)


def set_and_set_back(at: Edited) -> None:
    at.write("other", pads=[0, 0, 2, 2])
    at.write("other", pads=[1, 1, 1, 1])


HARMLESS: list[Edit] = [
    lambda at: insert(at, "unread", "Neg", "r", "y"),
    lambda at: at.write("z", "Relu", ["n"]),
    lambda at: at.graph.absorb(at.node("k")),
    rename,
    set_and_set_back,
]


@each_row("place", range(len(HARMLESS)))
def test_what_damages_nothing_else_passes(place: int) -> None:
    at = Edited()
    at.fold()
    HARMLESS[place](at)
    assert at.settle(y="y") == {"y"}
    assert at.facts.reader.known(at.graph.tensor("y")) is not None


def test_the_order_of_what_is_touched_does_not_matter() -> None:
    for damages in (False, True):
        for order in permutations(range(4)):
            at = Edited()
            at.fold()
            at.write("n", "Neg", ["y"])
            rename(at)
            if damages:
                at.write("other", pads=[0, 0, 2, 2])
            at.graph.sweep()
            touched = list(at.graph.touched(at.mark))
            touched = [touched[each] for each in order if each < len(touched)] + touched[4:]
            if damages:
                with pytest.raises(DiffersError):
                    at.settle(touched, y="y")
            else:
                assert at.settle(touched, y="y") == {"y"}


def test_the_tensor_that_is_replaced_must_be_the_right_one() -> None:
    good, bad = (1, 2, 0, 3), (1, 2, 0, 2)
    for pads, new, old, proved in (
        (good, "y", "y", True),
        (bad, "y", "y", False),
        (good, "y", "other", False),
        (good, "other", "y", False),
        (good, "", "", True),  # then each that changed is to be proved
        (bad, "", "", False),
    ):
        at = Edited()
        at.fold(pads)
        replaced: Any = {new: old} if new else {}
        if proved:
            assert at.settle(**replaced) == {"y"}
        else:
            with pytest.raises(DiffersError):
                at.settle(**replaced)


def test_a_tensor_of_another_name_may_take_the_place() -> None:
    for told in (2.0, 1.0):
        at = Edited(
            one(
                "a = Pad (x, p) y = Relu (a) s = Sigmoid (y)",
                outputs="float[] s",
                initializers=f"{PADS}, float two = {{{told}}}",
            )
        )
        graph, reader = at.graph, at.node("s")
        relu = graph.insert("Relu", [graph.tensor("x")], {}, before=at.node("y"), name="inner")
        inputs = [relu, graph.tensor("p"), *([graph.tensor("two")] if told == 1 else [])]
        new = graph.insert("Pad", inputs, {}, before=reader, name="new")
        graph.set_input(reader, 0, new)
        old = graph.tensor("y")
        term = at.facts.reader.read(old)
        graph.sweep()
        touched = graph.touched(at.mark)
        if told == 1:
            with pytest.raises(DiffersError):
                settle(at.facts, touched, {new: old})
        else:
            settle(at.facts, touched, {new: old})
            assert at.facts.reader.read(new) is term


def test_edits_one_after_another_are_settled_against_the_original() -> None:
    """What is proved equal stays so: a second step of two is no more allowed than the whole."""
    at = Edited()
    at.fold()
    at.settle(y="y")
    at.facts.reader.begin()
    at.mark = at.graph.mark()
    at.write("y", pads=None, auto_pad="VALID")
    with pytest.raises(DiffersError):
        at.settle(y="y")
    at.graph.rollback(at.mark)
    at.facts.reader.undo()
    at.write("y", auto_pad="NOTSET")
    assert at.settle() <= {"y"}


# Passes that do more than they say.


class Shrinking(FoldPad):
    """Takes the `Pad`'s amounts away from all that read it."""

    def rewrite(self, match: Match, context: Context) -> None:
        graph = context.graph
        pad = match.node.inputs[0].producer
        assert pad is not None
        graph.set_attribute(match.node, "pads", [1, 2, 0, 3])
        none = graph.add_initializer(np.zeros(8, np.int64), "none")
        graph.set_input(pad, 1, none)


class Declaring(FoldPad):
    """Folds well, and fixes sizes that the model leaves open."""

    def rewrite(self, match: Match, context: Context) -> None:
        super().rewrite(match, context)
        context.graph.declare("x", (1, 2, 8, 8))


class Rerouting(FoldPad):
    """Has the amounts computed by a node that is new, and altered once they were read."""

    def rewrite(self, match: Match, context: Context) -> None:
        graph = context.graph
        pad = graph.tensor("a").producer
        assert pad is not None
        inputs = [graph.tensor("p"), graph.tensor("two")]
        added = graph.insert("Add", inputs, {}, before=pad, name="added")
        assert context.analysis.integers(added) is not None
        node = added.producer
        assert node is not None
        graph.replace_op(node, "Mul", inputs, {})
        graph.set_input(pad, 1, added)


class Swapping(DropEmptyPad):
    """Drops a `Pad` of nothing, and changes what it pads."""

    def rewrite(self, match: Match, context: Context) -> tuple[Tensor, ...] | None:
        stands = super().rewrite(match, context)
        graph = context.graph
        above = graph.tensor("r").producer
        assert above is not None
        graph.replace_op(above, "Neg", list(above.inputs), {})
        return stands


TWO = f"{W}, {PADS}, int64[8] two = {{0, 0, 2, 2, 0, 0, 2, 2}}"
COMPUTED = one("q = Add (p, two) a = Pad (x, q) y = Conv (a, w)", initializers=TWO)
OPEN = "float[1, 2, h, v] x"
NONE = "int64[8] p = {0, 0, 0, 0, 0, 0, 0, 0}"


@pytest.mark.parametrize(
    ("proto", "made"),
    [
        (
            one(
                "a = Pad (x, p) y = Conv (a, w) s = Sigmoid (a)",
                outputs="float[] y, float[] s",
                initializers=TWO,
            ),
            Shrinking,
        ),
        (one("a = Pad (x, p) y = Conv (a, w)", initializers=TWO), Shrinking),
        (one("a = Pad (x, p) y = Conv (a, w)", inputs=OPEN, initializers=TWO), Declaring),
        (COMPUTED, Rerouting),
        (one("r = Relu (x) a = Pad (r, p) y = Sigmoid (a)", initializers=NONE), Swapping),
    ],
)
def test_a_pass_that_does_more_is_taken_back(
    proto: onnx.ModelProto, made: type[FoldPad] | type[DropEmptyPad]
) -> None:
    graph = Graph.from_proto(proto)
    assert Run(graph, Options(), passes=(made,)).rewrite().changes == []
    assert graph.model.to_bytes() == proto.SerializeToString()


GUARDED = one(
    "a = Pad (x, p) y = MaxPool <kernel_shape = [3, 3]> (a)"
    " q = Add (p, z) b = Pad (x, q) u = MaxPool <kernel_shape = [3, 3]> (b)",
    outputs="float[] y, float[] u",
    initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, int64 z = {0}",
)


def test_a_guard_that_changes_what_is_computed_is_taken_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Run(Graph.from_proto(GUARDED), Options()).rewrite().changes

    def wrong(context: Context, exposed: Exposed) -> None:
        context.graph.set_attribute(exposed.pad.node, "mode", "edge")

    monkeypatch.setattr(guard, "guard", wrong)
    graph = Graph.from_proto(GUARDED)
    Run(graph, Options()).rewrite()
    assert "edge" not in {str(node.attrs.get("mode")) for node in graph.nodes if node.op == "Pad"}


def test_a_guard_of_amounts_that_are_unknown_bars_nothing() -> None:
    proto = one(
        """
        h = MaxPool <auto_pad = "VALID", kernel_shape = [2]> (x)
        t = NonZero (x) n = Size (t) d = Sub (n, n) q = Add (p, d)
        a = Pad (x, q)
        u = MaxPool <kernel_shape = [3]> (a)
        """,
        inputs="float[1, 2, L] x",
        outputs="float[] h, float[] u",
        initializers="int64[6] p = {0, 0, 1, 0, 0, 1}",
    )
    outcome = Run(Graph.from_proto(proto), Options()).rewrite()
    assert [change.code for change in outcome.changes] == ["PAD102"]
