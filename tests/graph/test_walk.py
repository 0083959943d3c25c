"""The walks up- and downstream give each tensor once, and say where they are cut short."""

from operator import attrgetter

import pytest

from onnxpad.graph import Graph, Tensor, Use, downstream, nodes_upstream, upstream
from onnxpad.graph.nodes import MOST
from tests.support import one


def graph_of(nodes: str) -> Graph:
    return Graph.from_proto(one(nodes))


every = attrgetter("inputs")


@pytest.mark.parametrize(
    ("through", "most", "tensors", "ops"),
    [
        (every, MOST, ["y", "c", "x", "b", "a"], ["Add", "Neg", "Add", "Relu"]),
        (lambda node: node.inputs[:1], MOST, ["y", "b", "a", "x"], ["Add", "Add", "Relu"]),
        (lambda node: (), MOST, ["y"], ["Add"]),
        (every, None, ["y", "c", "x", "b", "a"], ["Add", "Neg", "Add", "Relu"]),
        (every, 2, ["y", "c", None], ["Add", "Neg", None]),
        (every, 5, ["y", "c", "x", "b", "a"], ["Add", "Neg", "Add", "Relu"]),
    ],
)
def test_what_is_upstream(
    through: object, most: int | None, tensors: list[str | None], ops: list[str | None]
) -> None:
    start = [graph_of("a = Relu (x) b = Add (a, a) c = Neg (x) y = Add (b, c)").tensor("y")]
    found = upstream(start, through, most)  # type: ignore[arg-type]
    assert [each and each.name for each in found] == tensors
    nodes = nodes_upstream(start, through, most)  # type: ignore[arg-type]
    assert [each and each.op for each in nodes] == ops


@pytest.mark.parametrize(
    ("index", "most", "tensors"),
    [
        (None, MOST, ["x", "c", "y", "a", "b"]),
        (0, MOST, ["x", "c", "a", "b", "y"]),
        (1, MOST, ["x"]),
        (None, 3, ["x", "c", "y", None]),
        (None, 5, ["x", "c", "y", "a", "b"]),
    ],
)
def test_what_is_downstream(index: int | None, most: int | None, tensors: list[str | None]) -> None:
    graph = graph_of("a = Relu (x) b = Add (a, a) c = Neg (x) y = Add (b, c)")

    def through(use: Use) -> tuple[Tensor, ...]:
        return use.node.outputs if index in {None, use.index} else ()

    found = [each and each.name for each in downstream([graph.tensor("x")], through, most)]
    assert found == tensors
