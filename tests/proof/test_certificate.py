"""What an edit is proved to leave as it was, whoever makes it, and what its certificate says."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import onnxpad
from onnxpad.arithmetic.quasi_affine import Sizes
from onnxpad.facts import Analysis
from onnxpad.finding import Certificate
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.options import Options
from onnxpad.passes.fold_pad import FoldPad
from onnxpad.proof.certificate import Prover, settle
from onnxpad.proof.read import Reader
from onnxpad.proof.refine import Facts
from onnxpad.proof.term import DiffersError
from onnxpad.rewrite.pass_api import Context, Match
from onnxpad.rewrite.run import Run
from tests.proof.bodies import model
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

    def settle(self, **replaced: str) -> set[str]:
        """Settles the edits, given new tensors with those that they replace; what was proved."""
        pairs = {self.graph.tensor(n): self.graph.tensor(o) for n, o in replaced.items()}
        self.graph.sweep()
        found = settle(self.facts, self.graph.touched(self.mark), pairs)
        return {tensor.name for tensor in found}


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


def set_and_set_back(at: Edited) -> None:
    at.write("other", pads=[0, 0, 2, 2])
    at.write("other", pads=[1, 1, 1, 1])


HARMLESS: list[Edit] = [
    lambda at: insert(at, "unread", "Neg", "r", "y"),
    lambda at: at.write("z", "Relu", ["n"]),
    lambda at: at.graph.absorb(at.node("k")),
    lambda at: at.graph.set_input(at.node("other"), 0, insert(at, "i", "Identity", "r", "other")),
    set_and_set_back,
]


@each_row("place", range(len(HARMLESS)))
def test_what_damages_nothing_else_passes(place: int) -> None:
    at = Edited()
    at.fold()
    HARMLESS[place](at)
    assert at.settle(y="y") == {"y"}
    assert at.facts.reader.known(at.graph.tensor("y")) is not None


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


def test_a_new_node_that_was_altered_is_refused() -> None:
    """Facts of its tensor may be those of before."""
    at = Edited()
    new = insert(at, "new", "Neg", "r", "other")
    assert new.producer is not None
    at.graph.replace_op(new.producer, "Identity", [at.graph.tensor("r")], {})
    at.graph.set_input(at.node("other"), 0, new)
    with pytest.raises(DiffersError):
        at.settle()


def test_a_new_node_that_was_altered_may_be_proved() -> None:
    at = Edited()
    new = insert(at, "new", "Neg", "p", "q")
    at.write(new.name, "Add", ["p", "none"])
    at.graph.set_input(at.node("a"), 1, new)
    assert at.settle(**{new.name: "q"}) == {new.name}


def test_the_root_of_a_copy_of_an_input() -> None:
    graph = Graph.from_proto(one("i = Identity (x) y = Neg (i)"))
    assert Prover(graph, Context(graph).domains).roots(graph.tensor("i")) == ("x",)


def test_edits_one_after_another_are_settled_against_the_original() -> None:
    """What is proved equal stays so: a second step of two is no more allowed than the whole."""
    at = Edited()
    at.fold()
    at.settle(y="y")
    at.facts.reader.begin()
    at.mark = at.graph.mark()
    at.write("y", pads=None, auto_pad="VALID")
    now, _ = at.facts.reader.reread(at.graph.tensor("y"), None)
    with pytest.raises(DiffersError):
        at.settle(y="y")
    at.graph.rollback(at.mark)
    at.facts.reader.undo()
    assert at.facts.reader.holder(now) is None
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


FOLDABLE = "a = Pad (x, p) y = Conv (a, w)"


@pytest.mark.parametrize("made", [Shrinking, Declaring])
def test_a_pass_that_does_more_is_taken_back(made: type[FoldPad]) -> None:
    for body, outputs in ((FOLDABLE, "y"), (f"{FOLDABLE} s = Sigmoid (a)", "y, float[] s")):
        proto = one(
            body,
            inputs="float[1, 2, h, v] x",
            outputs=f"float[] {outputs}",
            initializers=f"{W}, {PADS}",
        )
        graph = Graph.from_proto(proto)
        assert Run(graph, Options(), passes=(made,)).rewrite().changes == []
        assert graph.model.to_bytes() == proto.SerializeToString()


# What a certificate says


def certificates(body: str, outputs: str = "y", **options: Any) -> list[Certificate]:
    """What is certified of what `fix` writes, without what guards it."""
    proto = model(body)
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs.split()[1:])
    changes = onnxpad.fix(proto, validate=False, **options).changes
    return [change.certificate for change in changes if change.code < "PAD7"]


def test_a_window_is_told_by_axis() -> None:
    axis = dict(axis=2, start=-1, windows=2, size=3, kernel=2, stride=2, dilation=1)  # noqa: C408
    expected = {"kind": "windows", "root": "short", "axes": [axis], "outside": [0], "repair": False}
    for pad in ("Pad (short, p_1_0)", "Pad (short, p_1_0, zero)"):  # told alike
        (found,) = certificates(f"a = {pad} y = Conv <strides = [2]> (a, w2)")
        assert (dict(found.facts), json.dumps(found.facts["outside"])) == (expected, "[0]")
        assert (found.assumptions, found.limits, found.data) == ((), "", (3,))
        assert "'short'" in found.statement


def test_the_weakest_sizes_that_are_enough_are_named() -> None:
    """All, if that is enough; else those that the user gave, for each change by itself."""
    same = '= Conv <auto_pad = "SAME_UPPER", strides = [2]> (x, w{})'
    assert certificates(f"y {same.format(3)}") == []
    two = f"y {same.format(3)} z {same.format(3)}"
    found = certificates(two, "y z", dims={"L": "2..100:2"}) + certificates(f"y {same.format(2)}")
    within = {"L": Sizes(2, 100, 2).as_data()}
    assert [dict(each.within) for each in found] == [within, within, {}]
    assert [bool(each.limits) for each in found] == [True, True, False]


@pytest.mark.parametrize(("last", "count"), [("Relu", 2), ("Reciprocal", 1)])
def test_a_sign_that_is_lost_behind_one_tensor_may_show_behind_another(
    last: str, count: int
) -> None:
    pool = "MaxPool <kernel_shape = [2]>"
    body = f"h = Relu (x) a = Pad (h, p_1_1) b = Pad (h, p_1_1) m = {pool} (a) n = {pool} (b)"
    assert len(certificates(f"{body} y = Conv (m, w2) z = {last} (n)", "y z")) == count
