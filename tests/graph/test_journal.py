"""What the journal of edits says of them: which nodes they touched, and what these were before."""

from collections.abc import Callable

import numpy as np
import pytest

from onnxpad.graph import Graph, Node
from tests.support import named, parsed

Edit = Callable[[Graph, Node], object]

TEXT = """
g (float[1, 1, 5, 5] x) => (float[1, 1, n, m] y)
<float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}>
{ [pad] a = Pad (x, p) [conv] b = Conv <group = 1> (a, w) [copy] y = Identity (b) }
"""


def load(text: str = TEXT) -> Graph:
    return Graph.from_proto(parsed(text))


EDITS = [
    # An edit of the Conv, and the nodes that it touches.
    pytest.param(lambda g, n: g.set_input(n, 0, g.tensor("x")), ["conv"], id="input"),
    pytest.param(lambda g, n: g.set_attribute(n, "pads", [1] * 4), ["conv"], id="attribute"),
    pytest.param(lambda g, n: g.set_attribute(n, "group", None), ["conv"], id="attribute gone"),
    pytest.param(
        lambda g, n: g.replace_op(n, "Relu", [g.tensor("x")], {}), ["conv"], id="operator"
    ),
    pytest.param(lambda g, n: g.absorb(named(g, "copy")), ["copy", "conv"], id="copy absorbed"),
]


def state(node: Node) -> tuple[str, dict[str, object], list[str], list[str]]:
    ends = [tensor.name for tensor in node.inputs], [tensor.name for tensor in node.outputs]
    return node.op, dict(node.attrs), *ends


@pytest.mark.parametrize(("edit", "touched"), EDITS)
def test_a_touched_node_is_known_as_it_was(edit: Edit, touched: list[str]) -> None:
    graph = load()
    before = {node.name: state(node) for node in graph.nodes}
    mark = graph.mark()
    edit(graph, named(graph, "conv"))
    found = graph.touched(mark)
    assert [each.node.name for each in found] == touched
    for each in found:
        assert each.before is not None
        assert (each.before.name, state(each.before)) == (each.node.name, before[each.node.name])
    graph.rollback(mark)
    assert graph.touched(mark) == []
    assert {node.name: state(node) for node in graph.nodes} == before


def test_the_first_of_several_edits_says_what_was() -> None:
    graph = load()
    conv = named(graph, "conv")
    graph.set_attribute(conv, "group", 2)
    (once,) = graph.touched(0)
    mark = graph.mark()
    graph.set_attribute(conv, "group", 3)
    (twice,), (latest,) = graph.touched(0), graph.touched(mark)
    assert (once.again, twice.again, latest.again) == (False, True, False)
    assert twice.before is not None
    assert latest.before is not None
    assert (twice.before.attrs["group"], latest.before.attrs["group"]) == (1, 2)
    graph.rollback(mark)
    assert conv.attrs["group"] == 2
    assert [each.again for each in graph.touched(0)] == [False]


def test_an_inserted_node_was_nothing_and_a_removed_one_is_told() -> None:
    graph = load()
    conv = named(graph, "conv")
    graph.insert("Relu", [graph.tensor("x")], {}, before=conv, name="new")
    (new,) = graph.touched(0)
    assert (new.node.name, new.was, new.before) == ("new", None, None)
    mark = graph.mark()
    graph.remove(new.node)
    (gone,) = graph.touched(mark)
    assert gone.before is not None
    assert state(gone.before) == ("Relu", {}, ["x"], ["new_output"])


def test_a_constant_touches_no_node() -> None:
    graph = load()
    graph.add_initializer(np.array([1, 2]), "c")
    graph.declare("x", (1, 1, 7, 7))
    assert graph.touched(0) == []
    assert graph.mark() == 2
    graph.rollback(0)
    assert not graph.has_tensor("c")
    assert not graph.model.changed


def test_the_version_says_whether_anything_was_done_since() -> None:
    """Undoing counts too: what was learnt before an edit is not known to hold after its undoing."""
    graph = load()
    first = graph.version
    mark = graph.mark()
    assert (graph.version, mark) == (first, 0)
    graph.set_attribute(named(graph, "conv"), "group", 2)
    edited = graph.version
    graph.rollback(mark)
    assert len({first, edited, graph.version}) == 3
    unchanged = graph.version
    graph.rollback(mark)
    assert graph.version == unchanged


class TestSweep:
    def test_takes_what_edits_left_unused_and_nothing_else(self) -> None:
        text = TEXT.replace("[copy]", "[idle] c = Relu (x) [copy]")
        graph = load(text)
        conv = named(graph, "conv")
        assert graph.sweep() == ()
        mark = graph.mark()
        graph.set_input(conv, 0, graph.tensor("x"))
        assert graph.sweep() == ("pad",)
        assert not graph.has_tensor("p")
        assert [node.name for node in graph.nodes] == ["conv", "idle", "copy"]
        graph.rollback(mark)
        assert [node.name for node in graph.nodes] == ["pad", "conv", "idle", "copy"]
        assert graph.has_tensor("p")
        assert not graph.model.changed

    def test_after_a_rollback_the_same_is_suspected_again(self) -> None:
        graph = load()
        graph.set_input(named(graph, "conv"), 0, graph.tensor("x"))
        mark = graph.mark()
        assert graph.sweep() == ("pad",)
        graph.rollback(mark)
        assert graph.sweep() == ("pad",)

    def test_what_is_read_again_stays(self) -> None:
        graph = load()
        conv = named(graph, "conv")
        graph.set_input(conv, 0, graph.tensor("x"))
        graph.set_input(conv, 0, graph.tensor("a"))
        assert graph.sweep() == ()

    def test_a_chain_goes_as_a_whole_but_stops_at_what_is_read(self) -> None:
        graph = load(
            "g (float[4] x) => (float[4] y, float[4] z)"
            " { [a] a = Relu (x) [b] b = Neg (a) [c] c = Abs (b) [d] d = Exp (c)"
            " [y] y = Add (a, d) [z] z = Identity (a) }"
        )
        graph.set_input(named(graph, "y"), 1, graph.tensor("x"))
        assert graph.sweep() == ("d", "c", "b")
        assert graph.has_tensor("a")

    def test_what_was_added_and_never_read_goes(self) -> None:
        graph = load()
        tensor = graph.add_initializer(np.array([1, 2, 3]), "c")
        graph.insert("Relu", [graph.tensor("x")], {}, before=named(graph, "conv"), name="new")
        assert graph.sweep() == ("new",)
        assert not graph.has_tensor(tensor.name)
        assert graph.model.to_bytes() == load().model.to_bytes()

    def test_an_output_stays_though_no_node_reads_it(self) -> None:
        graph = load("g (float[4] x) => (float[4] y, float[4] a) { a = Relu (x) y = Neg (a) }")
        (_, neg) = graph.nodes
        graph.set_input(neg, 0, graph.tensor("x"))
        assert graph.sweep() == ()


def test_a_node_that_is_read_or_gone_cannot_be_removed() -> None:
    graph = load()
    pad, conv = named(graph, "pad"), named(graph, "conv")
    with pytest.raises(ValueError, match=r"'pad' is in use or gone"):
        graph.remove(pad)
    graph.set_input(conv, 0, graph.tensor("x"))
    graph.remove(pad)
    with pytest.raises(ValueError, match=r"'pad' is in use or gone"):
        graph.remove(pad)
    with pytest.raises(ValueError, match="'pad' is gone"):
        graph.insert("Relu", [graph.tensor("x")], {}, before=pad, name="new")
    assert [node.name for node in graph.nodes] == ["conv", "copy"]


def test_a_removed_node_comes_back_to_its_place() -> None:
    graph = load(
        "g (float[4] x) => (float[4] y) { [a] a = Relu (x) [b] b = Neg (x) [y] y = Abs (x) }"
    )
    kept = graph.model.to_bytes()
    for name in ("a", "b"):
        mark = graph.mark()
        graph.remove(named(graph, name))
        assert name not in [node.name for node in graph.nodes]
        graph.rollback(mark)
        assert [node.name for node in graph.nodes] == ["a", "b", "y"]
    assert graph.model.to_bytes() == kept


def test_origins_follow_an_operator_that_becomes_a_copy_again() -> None:
    graph = Graph.from_proto(
        parsed("g (float x) => (float c) { a = Abs (x) b = Identity (a) c = Identity (b) }")
    )
    node, c = [*graph.nodes][1], graph.tensor("c")
    assert graph.origin(c).name == "a"
    mark = graph.mark()
    graph.replace_op(node, "Neg", node.inputs, {})
    assert graph.origin(c).name == "b"
    graph.rollback(mark)
    assert graph.origin(c).name == "a"
    graph.replace_op(next(iter(graph.nodes)), "Identity", [graph.tensor("x")], {})
    assert graph.origin(c).name == "x"
