"""Random edits of a graph and its bodies, taken back at random, against a graph read anew."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from onnxpad.graph import Graph, Node, Tensor
from tests.support import parsed
from tests.support.rows import each_row

TEXT = """
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[1, 2, 5, 5] x, bool flag) => (float[1, 2, n, m] y, float z)
<float[2, 2, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9,
 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1},
 float one = {1}> {
    [pad] a = Pad (x, p) [conv] b = Conv <group = 1> (a, w) [copy] c = Identity (b)
    [if] d = If (flag) <
        then_branch = t () => (float u) { [inner] q = Relu (b) [deep] v = Add (q, one)
            u = Identity (v) },
        else_branch = e () => (float u2) { o = Add (c, b) u2 = Mul (o, o) }>
    [sum] f = Add (c, d) [call] h = local.F (f) y = Identity (h)
    [dead] k = Exp (a) z = ReduceMax <keepdims = 0> (f)
}
<domain: "local", opset_import: ["" : 17]> F (r) => (s) { t = Abs (r) s = Sqrt (t) }
"""


def inside(graph: Graph) -> Iterator[Graph]:
    """A graph and those of its bodies and functions."""
    yield graph
    yield from graph.inside()


def facts(graph: Graph) -> list[Any]:
    """All that is known of a graph: its nodes, who writes and reads each tensor, what it is."""
    found = []
    for each in inside(graph):
        nodes = list(each.nodes)
        names = {id(node): place for place, node in enumerate(nodes)}
        tensors = {t.name: t for node in nodes for t in (*node.inputs, *node.outputs) if t.name}
        seen = []
        for name, tensor in sorted(tensors.items()):
            writer = tensor.producer
            uses = sorted((names.get(id(use.node), -1), use.index) for use in each.uses(tensor))
            constant = each.constant(tensor)
            seen.append((
                name,
                None if writer is None else names[id(writer)],
                uses,
                each.is_output(tensor),
                each.is_read(tensor),
                each.origin(tensor).name,
                None if constant is None else constant.tolist(),
                None if tensor.outer is None else tensor.outer.name,
                each.declared(tensor),
            ))  # fmt: skip
        told = [
            (
                node.op,
                node.name,
                node.domain,
                dict(node.attrs) if not list(each.bodies(node)) else len(list(each.bodies(node))),
                [tensor.name for tensor in node.inputs],
                [tensor.name for tensor in node.outputs],
                sorted(tensor.name for tensor in each.sources(node)),
            )
            for node in nodes
        ]
        captured = sorted(t.name for t in each.captured() if each.is_read(t))
        found.append((each.place, told, seen, captured))
    return found


def earlier(graph: Graph, node: Node) -> list[Tensor]:
    """The tensors that a node may read: those written before it, and what is given."""
    given = [graph.tensor(name) for name in ("x", "w", "one") if name in graph.tensors]
    known = [tensor for tensor in given if graph.is_main or graph.is_read(tensor)]
    for other in graph.nodes:
        if other is node:
            break
        known += [tensor for tensor in other.outputs if tensor.name]
    return known


def edit(draws: random.Random, main: Graph) -> str:
    """Makes one edit somewhere; says which."""
    graph = draws.choice(list(inside(main)))
    node = draws.choice(list(graph.nodes))
    given = earlier(graph, node)
    kind = draws.choice(
        ("attribute", "input", "input", "insert", "like", "replace", "constant", "remove", "sweep",
         "sweep", "absorb", "declare", "output", "undeclare", "omit", "note")
    )  # fmt: skip
    plain = not list(graph.bodies(node)) and not node.domain
    if kind == "attribute":
        graph.set_attributes(
            node, {"alpha": draws.choice((0.5, None)), "axis": draws.choice((1, 2))}
        )
    elif kind == "input" and given and node.inputs:
        graph.set_input(node, draws.randrange(len(node.inputs)), draws.choice(given))
    elif kind == "omit" and len(node.inputs) > 1:
        graph.set_input(node, len(node.inputs) - 1, None)
    elif kind == "insert" and given:
        made = graph.insert("Relu", [draws.choice(given)], {}, before=node, name="new")
        if draws.random() < 0.7 and node.inputs:
            graph.set_input(node, 0, made)
    elif kind == "like" and plain and given:
        made, *_ = graph.insert_like(node, [draws.choice(given)], {"beta": 2})
        for use in graph.uses(node.outputs[0]):
            if use.index >= 0:
                graph.set_input(use.node, use.index, made)
    elif kind == "replace" and plain and given:
        graph.replace_op(node, "Tanh", [draws.choice(given)], {})
    elif kind == "constant" and given and node.inputs:
        made = graph.add_initializer(np.array([draws.randrange(3)]), "number")
        graph.set_input(node, 0, made)
    elif kind == "remove":
        unread = [each for each in graph.nodes if not any(map(graph.is_read, each.outputs))]
        for each in unread[:1]:
            graph.remove(each)
    elif kind == "sweep":
        graph.sweep()
    elif kind == "absorb":
        graph.absorb(node)
    elif kind == "declare" and graph.is_main:
        graph.declare("x", (1, 2, draws.choice((5, 7)), "w"))
    elif kind == "output" and graph.is_main:
        graph.declare_output("y", (1, 2, draws.choice((3, 5)), 4))
    elif kind == "note":
        graph.model.set_metadata("note", draws.choice("ab"))
    elif kind == "undeclare":
        graph.undeclare(node.outputs[0])
    return kind


def edits_hold(seed: int) -> None:
    """Edits that a seed draws, against what is written, and what takes them back."""
    draws = random.Random(seed)
    proto = parsed(TEXT)
    graph = Graph.from_proto(proto)
    whole = graph.model.to_bytes()
    marks = [(graph.mark(), facts(graph))]
    for _ in range(14):
        kind = edit(draws, graph)
        now = facts(graph)
        written = graph.model.to_proto()
        assert facts(Graph.from_proto(written)) == now, kind
        assert {e.key: e.value for e in written.metadata_props}.get("note") == graph.model.metadata(
            "note"
        )
        light = graph.model.light_now()
        assert [*light.graph.node] == [*written.graph.node]
        assert [*light.functions] == [*written.functions]
        for scope in inside(graph):
            again = [scope.node_proto(node) for node in scope.nodes]
            assert [node.op_type for node in again] == [node.op for node in scope.nodes]
        if draws.random() < 0.4:
            marks.append((graph.mark(), now))
        elif draws.random() < 0.25:
            place = draws.randrange(len(marks))
            mark, before = marks[place]
            graph.rollback(mark)
            del marks[place + 1 :]
            assert facts(graph) == before
    graph.rollback(marks[0][0])
    assert graph.model.to_bytes() == whole
    assert not graph.model.changed
    assert facts(graph) == facts(Graph.from_proto(proto))


@each_row("seed", range(10), at_once=1)
def test_edits_and_what_takes_them_back(seed: int) -> None:
    edits_hold(seed)
