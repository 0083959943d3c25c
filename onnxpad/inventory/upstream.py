"""The `Pad`s whose padding reaches a tensor, through steps that padding passes."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from onnxpad.graph import Graph, Node, Tensor
from onnxpad.padding.step_table import data_inputs

_THROUGH: Final = frozenset({"Identity", "Dropout"})
_MOST_NODES: Final = 64


class Upstream(NamedTuple):
    """A `Pad` upstream of a tensor.

    Attributes:
        pad: Its node.
        steps: The nodes between it and the next `Pad` downstream, or the tensor.
        way: All nodes from it to the tensor, without it.
    """

    pad: Node
    steps: tuple[Node, ...]
    way: tuple[Node, ...]


def pads_upstream(graph: Graph, tensor: Tensor) -> Iterator[Upstream]:
    """The `Pad`s upstream of a tensor, the nearest first.

    Operators in between are those that a `Pad` can be moved past at all; whether it can past this
    one does not matter.
    """
    pending: list[tuple[Tensor, tuple[Node, ...], tuple[Node, ...]]] = [(tensor, (), ())]
    seen: set[int] = set()
    while pending and len(seen) < _MOST_NODES:
        current, steps, way = pending.pop(0)
        node = graph.producer(current)
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if is_pad(graph, node):
            yield Upstream(node, steps, way)
            pending += [(data, (), (node, *way)) for data in node.inputs[:1]]
            continue
        if graph.is_standard(node) and node.op in _THROUGH:
            places: tuple[int, ...] = (0,)
        else:
            places = data_inputs(graph, node)
        further = (node, *steps), (node, *way)
        pending += [(node.inputs[place], *further) for place in places if place < len(node.inputs)]


def is_pad(graph: Graph, node: Node) -> bool:
    """Whether a node is ONNX's own Pad."""
    return node.op == "Pad" and graph.is_standard(node)
