"""Edits beside the one that is proved: whoever makes them, the whole change is taken back."""

from collections.abc import Callable

import numpy as np
import pytest

from onnxpad.analysis.signs import Signs
from onnxpad.graph import Graph, Node
from onnxpad.options import Options
from onnxpad.passes.drop_empty_pad import DropEmptyPad
from onnxpad.passes.fold_pad import FoldPad
from onnxpad.pipeline.run import Run
from onnxpad.proof.certify import UncertifiedError
from onnxpad.proof.edit_coverage import check_in_place, check_renamed
from onnxpad.proof.prove import Prover
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass
from onnxpad.runtimes.onnxruntime import guard
from onnxpad.runtimes.onnxruntime.pad_fusion import Exposed
from onnxpad.sizes.analysed import analysed_domains
from tests.support import W, assert_graph, one
from tests.support.rows import each_row

PADS = "int64[8] p = {0, 0, 1, 2, 0, 0, 0, 3}"
NONE = "int64[8] p = {0, 0, 0, 0, 0, 0, 0, 0}"

NETWORK = one(
    """
    r = Relu (x)
    k = Identity (w)
    v = Add (k, shift)
    q = Add (p, none)
    a = Pad (r, q)
    y = Conv (a, v)
    other = Conv <pads = [1, 1, 1, 1]> (r, w)
    b = Pad <mode = "edge"> (r, q)
    c = If (which) <then_branch = t () => (float[] i) { i = Sigmoid (r) },
                    else_branch = e () => (float[] j) { j = Tanh (r) }>
    """,
    inputs="float[1, 2, 9, 8] x, bool which",
    outputs="float[] y, float[] other, float[] b, float[] c",
    initializers=f"{W}, {PADS}, float shift = {{0}}, int64 none = {{0}}",
)
"""One `Pad` to fold, and what a pass might damage on the way."""

Damage = Callable[[Graph, Callable[[str], Node]], None]


def set_pads(graph: Graph, giving: Callable[[str], Node]) -> None:
    graph.set_attribute(giving("other"), "pads", [0, 0, 2, 2])


def change_upstream(graph: Graph, giving: Callable[[str], Node]) -> None:
    graph.replace_op(giving("r"), "Abs", [graph.tensor("x")], {})


def change_weight(graph: Graph, giving: Callable[[str], Node]) -> None:
    graph.replace_op(giving("v"), "Sub", list(giving("v").inputs), {})


def change_weight_further_up(graph: Graph, giving: Callable[[str], Node]) -> None:
    graph.replace_op(giving("k"), "Neg", list(giving("k").inputs), {})


def reroute_reader(graph: Graph, giving: Callable[[str], Node]) -> None:
    graph.set_input(giving("other"), 0, graph.tensor("x"))


def change_shared_amounts(graph: Graph, giving: Callable[[str], Node]) -> None:
    graph.replace_op(giving("q"), "Sub", list(giving("q").inputs), {})


def change_mode(graph: Graph, giving: Callable[[str], Node]) -> None:
    graph.set_attribute(giving("b"), "mode", "reflect")


def change_branch(graph: Graph, giving: Callable[[str], Node]) -> None:
    node = giving("c")
    graph.set_attributes(
        node, {"then_branch": node.attrs["else_branch"], "else_branch": node.attrs["then_branch"]}
    )


def insert_ahead_of_a_reader(graph: Graph, giving: Callable[[str], Node]) -> None:
    node = giving("other")
    flipped = graph.insert("Neg", [graph.tensor("r")], {}, before=node, name="flipped")
    graph.set_input(node, 0, flipped)


DAMAGES = [
    set_pads,
    change_upstream,
    change_weight,
    change_weight_further_up,
    reroute_reader,
    change_shared_amounts,
    change_mode,
    change_branch,
    insert_ahead_of_a_reader,
]


def damaging(damage: Damage) -> type[Pass]:
    """A pass that folds well, and damages something else."""

    class Damaging(FoldPad):
        def rewrite(self, match: Match, context: Context) -> None:
            super().rewrite(match, context)
            graph = context.graph

            def giving(name: str) -> Node:
                node = graph.producer(graph.tensor(name))
                assert node is not None
                return node

            damage(graph, giving)

    return Damaging


@each_row("damage", DAMAGES, at_once=4)
def test_what_also_damages_something_else_is_taken_back(damage: Damage) -> None:
    graph = Graph.from_proto(NETWORK)
    outcome = Run(graph, Options(), passes=(damaging(damage),)).rewrite()
    assert outcome.changes == []
    assert len(outcome.undone) == 1
    assert outcome.undone[0].evidence["touched"]
    assert graph.model.to_bytes() == NETWORK.SerializeToString()


def test_what_damages_nothing_else_is_kept() -> None:
    def adds_what_nobody_reads(graph: Graph, giving: Callable[[str], Node]) -> None:
        graph.insert("Neg", [graph.tensor("r")], {}, before=giving("y"), name="unread")

    def takes_back_what_it_did(graph: Graph, giving: Callable[[str], Node]) -> None:
        graph.set_attribute(giving("other"), "pads", [0, 0, 2, 2])
        graph.set_attribute(giving("other"), "pads", [1, 1, 1, 1])

    for harmless in (adds_what_nobody_reads, takes_back_what_it_did):
        graph = Graph.from_proto(NETWORK)
        outcome = Run(graph, Options(), passes=(damaging(harmless),)).rewrite()
        assert [change.op_type for change in outcome.changes] == ["Conv"]
        plain = Graph.from_proto(NETWORK)
        Run(plain, Options(), passes=(FoldPad,)).rewrite()
        assert_graph(graph.model.to_proto(), plain.model.to_proto())


def test_one_of_two_readers_of_a_pad_cannot_be_folded_by_editing_the_pad() -> None:
    class Shrinking(FoldPad):
        """Takes the `Pad`'s amounts away from all that read it."""

        def rewrite(self, match: Match, context: Context) -> None:
            graph = context.graph
            pad = graph.producer(match.node.inputs[0])
            assert pad is not None
            graph.set_attribute(match.node, "pads", [1, 2, 0, 3])
            none = graph.add_initializer(np.zeros(8, np.int64), "none")
            graph.set_input(pad, 1, none)

    proto = one(
        "a = Pad (x, p) y = Conv (a, w) s = Sigmoid (a)",
        outputs="float[] y, float[] s",
        initializers=f"{W}, {PADS}",
    )
    graph = Graph.from_proto(proto)
    outcome = Run(graph, Options(), passes=(Shrinking,)).rewrite()
    assert outcome.changes == []
    assert graph.model.to_bytes() == proto.SerializeToString()
    alone = one("a = Pad (x, p) y = Conv (a, w)", initializers=f"{W}, {PADS}")
    outcome = Run(Graph.from_proto(alone), Options(), passes=(Shrinking,)).rewrite()
    assert outcome.changes == []  # what is known of the Pad's output would be outdated


COMPUTED = one(
    "q = Add (p, two) a = Pad (x, q) y = Conv (a, w)",
    initializers=f"{W}, {PADS}, int64[8] two = {{0, 0, 2, 2, 0, 0, 2, 2}}",
)


def multiply(context: Context, match: Match) -> None:
    node = context.graph.producer(context.graph.tensor("q"))
    assert node is not None
    context.graph.replace_op(node, "Mul", list(node.inputs), {})


def add_something_else(context: Context, match: Match) -> None:
    node = context.graph.producer(context.graph.tensor("q"))
    assert node is not None
    context.graph.set_input(node, 1, context.graph.tensor("p"))


def insert_and_alter(context: Context, match: Match) -> None:
    graph = context.graph
    pad = graph.producer(graph.tensor("a"))
    assert pad is not None
    inputs = [graph.tensor("p"), graph.tensor("two")]
    added = graph.insert("Add", inputs, {}, before=pad, name="added")
    assert context.analysis.integers(added) is not None
    node = graph.producer(added)
    assert node is not None
    graph.replace_op(node, "Mul", inputs, {})
    graph.set_input(pad, 1, added)


@pytest.mark.parametrize("alter", [multiply, add_something_else, insert_and_alter])
def test_what_is_known_of_amounts_is_not_outdated(
    alter: Callable[[Context, Match], None],
) -> None:
    class Altering(FoldPad):
        """Folds nothing, and alters what computes the amounts."""

        def rewrite(self, match: Match, context: Context) -> None:
            alter(context, match)

    graph = Graph.from_proto(COMPUTED)
    outcome = Run(graph, Options(), passes=(Altering,)).rewrite()
    assert outcome.changes == []
    assert graph.model.to_bytes() == COMPUTED.SerializeToString()


def test_inputs_that_are_declared_otherwise_are_taken_back() -> None:
    class Declaring(FoldPad):
        """Folds well, and fixes sizes that the model leaves open."""

        def rewrite(self, match: Match, context: Context) -> None:
            super().rewrite(match, context)
            context.graph.declare("x", (1, 2, 8, 8))

    proto = one(
        "a = Pad (x, p) y = Conv (a, w)", inputs="float[1, 2, H, V] x", initializers=f"{W}, {PADS}"
    )
    graph = Graph.from_proto(proto)
    assert Run(graph, Options(), passes=(Declaring,)).rewrite().changes == []
    assert graph.model.to_bytes() == proto.SerializeToString()


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


def test_what_computes_the_root_is_no_part_of_what_is_dropped() -> None:
    class Swapping(DropEmptyPad):
        """Drops a `Pad` of nothing, and changes what it pads."""

        def rewrite(self, match: Match, context: Context) -> object:  # type: ignore[override]
            stands = super().rewrite(match, context)
            graph = context.graph
            above = graph.producer(graph.tensor("r"))
            assert above is not None
            graph.replace_op(above, "Neg", list(above.inputs), {})
            return stands

    proto = one("r = Relu (x) a = Pad (r, p) y = Sigmoid (a)", initializers=NONE)
    graph = Graph.from_proto(proto)
    outcome = Run(graph, Options(), passes=(Swapping,)).rewrite()
    assert outcome.changes == []
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
    whole = Graph.from_proto(GUARDED)
    assert Run(whole, Options()).rewrite().changes

    def wrong(context: Context, exposed: Exposed) -> None:
        context.graph.set_attribute(exposed.pad.node, "mode", "edge")

    monkeypatch.setattr(guard, "guard", wrong)
    graph = Graph.from_proto(GUARDED)
    Run(graph, Options()).rewrite()
    modes = {str(node.attrs.get("mode")) for node in graph.nodes if node.op == "Pad"}
    assert "edge" not in modes


def test_a_node_is_held_against_itself() -> None:
    proto = one("a = Pad (x, p) y = Conv <pads = [0, 0, 0, 0]> (a, w)", initializers=f"{W}, {PADS}")
    graph = Graph.from_proto(proto)
    found = analysed_domains(graph)
    prover = Prover(graph, found, Signs(graph, found[-1].analysis))
    nodes = {node.op: node for node in graph.nodes}
    mark = graph.mark()
    graph.set_attributes(nodes["Conv"], {"pads": None, "auto_pad": "VALID"})
    check_in_place(graph, graph.touched(mark), prover)
    graph.set_attributes(nodes["Conv"], {"pads": [0, 0, 0, 1], "auto_pad": None})
    with pytest.raises(UncertifiedError):
        check_in_place(graph, graph.touched(mark), prover)


def test_what_was_touched_is_forgotten_when_it_is_undone() -> None:
    graph = Graph.from_proto(NETWORK)
    conv = next(node for node in graph.nodes if node.op == "Conv")
    start = graph.mark()
    graph.set_attribute(conv, "strides", [2, 2])
    mark = graph.mark()
    graph.set_attribute(conv, "strides", [3, 3])
    (touched,) = graph.touched(mark)
    assert touched.before is not None
    assert touched.before.attrs["strides"] == [2, 2]
    graph.rollback(mark)
    assert not graph.touched(mark)
    (touched,) = graph.touched(start)
    assert touched.before is not None
    assert "strides" not in touched.before.attrs
    graph.rollback(start)
    assert not graph.touched(start)


def test_a_copy_that_goes_is_all_that_goes() -> None:
    proto = one(
        "r = LeakyRelu (x) s = Sigmoid (r) y = Identity (r)", outputs="float[] y, float[] s"
    )
    graph = Graph.from_proto(proto)
    nodes = {node.op: node for node in graph.nodes}
    mark = graph.mark()
    assert graph.absorb(nodes["Identity"])
    check_renamed(graph, graph.touched(mark))
    graph.set_attribute(nodes["LeakyRelu"], "alpha", 0.5)
    with pytest.raises(UncertifiedError):
        check_renamed(graph, graph.touched(mark))
