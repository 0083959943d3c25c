"""Which inputs a node hands on, and the way from a tensor to the next window operator."""

import pytest

from onnxpad.graph import Graph
from onnxpad.padding.readers import Readers
from tests.support import W, one, parsed
from tests.support.rows import each_row


@pytest.mark.parametrize(
    ("node", "handed_on"),
    [
        ("b = Celu (a)", True),
        ("b = Sin (a)", True),
        ("b = Atanh (a)", True),
        ("b = Expand (a, s)", True),
        ("b = Sum (w, a)", True),
        ("b = Transpose (a)", True),
        ("b = Clip (w, a)", False),
        ("b = RandomNormalLike (a)", False),
        ("b = ReduceSum (a)", False),
    ],
)
def test_the_next_window_operator(node: str, handed_on: bool) -> None:
    model = one(
        f"a = Relu (x) {node} y = Conv (b, w)", initializers=f"{W}, int64[4] s = {{1, 2, 9, 9}}"
    )
    graph = Graph.read(model)
    path = Readers(graph).path(graph.tensor("a"))
    assert [use.node.op for use in path] == ([node.split()[2], "Conv"] if handed_on else [])


TENSORS = "float[1, 2, n, 9] x, float[1, 2, n, 9] u, bool flag, int64[4] s"


@each_row(
    ("node", "inputs"),
    [
        ("Relu (x)", [0]),
        ("Clip (x, u, u)", [0]),
        ("Reshape (x, s)", [0]),
        ("PRelu (x, u)", [0]),
        ("Pad (x, s)", [0]),
        ("Add (x, u)", [0, 1]),
        ("Concat <axis = 1> (x, u, x)", [0, 1, 2]),
        ("Where (flag, x, u)", [0, 1, 2]),
        ("Sum (x, u, x, u)", [0, 1, 2, 3]),
        ("com.microsoft.QuickGelu (x)", [0]),
        ("com.microsoft.QLinearAdd (x, u, u, x)", [0, 1, 2, 3]),
        ("MatMul (x, u)", []),
        ("ReduceMax (x)", []),
        ("Shape (x)", []),
        ("vendor.Relu (x)", []),
        ("vendor.Add (x, u)", []),
    ],
)
def test_which_inputs_are_handed_on(node: str, inputs: list[int]) -> None:
    graph = Graph.from_proto(parsed(f"g ({TENSORS}) => (float y) {{ y = {node} }}"))
    readers = Readers(graph)
    (found,) = graph.nodes
    places = range(-1, len(found.inputs))
    assert [index for index in places if readers.hands_on(found, index)] == inputs


POOL = "MaxPool <kernel_shape = [2, 2]> ("
CHAIN = " ".join(f"h{place + 1} = Relu (h{place})" for place in range(12))


@each_row(
    ("nodes", "way"),
    [
        ("y = MaxPool (x)", "> MaxPool 0"),
        ("y = Conv (u, x)", ""),  # as its weight
        ("a = Relu (x) y = Conv (a, u)", "Relu > Conv 0"),
        ("a = Relu (x) b = Add (u, a) c = Clip (b) y = MaxPool (c)", "Relu Add Clip > MaxPool 0"),
        ("a = Clip (u, x) y = MaxPool (a)", ""),
        ("a = Relu (x) z = Abs (x) c = Exp (a) y = MaxPool (z)", "Abs > MaxPool 0"),
        ("a = Relu (x) b = Exp (a) z = MaxPool (b) y = Conv (x, u)", "> Conv 0"),  # the shortest
        ("a = Relu (x) y = Conv (a, a)", "Relu > Conv 0"),
        ("h0 = Relu (x) " + CHAIN.partition(" h8")[0] + " y = MaxPool (h7)", "8 > MaxPool 0"),
        ("h0 = Relu (x) " + CHAIN.partition(" h9")[0] + " y = MaxPool (h8)", ""),
        ("a = MatMul (x, u) y = MaxPool (a)", ""),
        ("y = DeformConv (x, u, u)", "> DeformConv 0"),
    ],
)
def test_the_way_to_a_window(nodes: str, way: str) -> None:
    graph = Graph.from_proto(
        parsed(f"g ({TENSORS}) => (float y) {{ {nodes} }}".replace("MaxPool (", POOL))
    )
    path = Readers(graph).path(graph.tensor("x"))
    steps = [use.node.op for use in path][:-1]
    shown = str(len(steps)) if len(steps) > 4 else " ".join(steps)
    assert (f"{shown} > {path[-1].node.op} {path[-1].index}".strip() if path else "") == way
