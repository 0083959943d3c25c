"""The way from a tensor to the next window operator."""

import pytest

from onnxpad.graph import Graph
from onnxpad.padding.readers import Readers
from tests.support import W, one


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
