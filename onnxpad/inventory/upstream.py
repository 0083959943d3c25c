"""The `Pad`s whose padding reaches a tensor, through steps that padding passes."""

from typing import Final, NamedTuple

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.operators.amounts import ExtentPair
from onnxpad.operators.read import read_pad
from onnxpad.padding.sinking import Sinking
from onnxpad.padding.step_table import data_inputs
from onnxpad.reasons import RefusalError

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

    def after(self, step: Node) -> "Upstream":
        """The same seen from behind a step."""
        is_next = len(self.steps) == len(self.way)  # no other `Pad` in between
        steps = (*self.steps, step) if is_next else self.steps
        return Upstream(self.pad, steps, (*self.way, step))

    def behind(self, pad: Node) -> "Upstream":
        """The same seen from behind another `Pad`."""
        return Upstream(self.pad, self.steps, (*self.way, pad))


def pads_upstream(graph: Graph, tensor: Tensor) -> list[Upstream]:
    """The `Pad`s upstream of a tensor, the nearest first.

    Operators in between are those that a `Pad` can be moved past at all; whether it can past this
    one does not matter. Of an operator that joins tensors, all must be padded.
    """
    return _above(graph, tensor, set())


def _above(graph: Graph, tensor: Tensor, seen: set[int]) -> list[Upstream]:
    node = graph.producer(tensor)
    if node is None or id(node) in seen or len(seen) >= _MOST_NODES or not node.inputs:
        return []
    seen.add(id(node))
    if is_pad(graph, node):
        further = _above(graph, node.inputs[0], seen)
        return [Upstream(node, (), ()), *(each.behind(node) for each in further)]
    inside = [_above(graph, node.inputs[place], seen) for place in _data(graph, node)]
    if not all(inside):
        return []
    return [each.after(node) for found in inside for each in found]


def _data(graph: Graph, node: Node) -> tuple[int, ...]:
    """The inputs of a node whose padding it hands on."""
    if graph.is_standard(node) and node.op in _THROUGH:
        return (0,)
    return tuple(place for place in data_inputs(graph, node) if place < len(node.inputs))


def padding_around(
    graph: Graph, analysis: Analysis, sinking: Sinking, tensor: Tensor, rank: int
) -> tuple[ExtentPair, ...] | None:
    """The amounts that `Pad`s upstream add to each axis of a tensor; None where that is not known.

    Args:
        graph: The graph.
        analysis: Its analysis.
        sinking: Knows what becomes of padding at steps, in the same graph.
        tensor: The tensor.
        rank: The number of its axes.
    """
    node = graph.producer(tensor)
    if node is None or not pads_upstream(graph, tensor):
        return ((0, 0),) * rank
    if is_pad(graph, node):
        own = read_pad(graph, analysis, node).extents_over(rank)
        inner = padding_around(graph, analysis, sinking, node.inputs[0], rank)
        if own is None or inner is None:
            return None
        return tuple((a + c, b + d) for (a, b), (c, d) in zip(own, inner, strict=True))
    places = _data(graph, node)
    inner = None
    if node.op in _THROUGH or node.op == "Transpose":
        inner = padding_around(graph, analysis, sinking, node.inputs[0], rank)
    if node.op in _THROUGH or inner is None:
        return inner if node.op in _THROUGH else _lifted(sinking, tensor, rank)
    perm = node.attrs.get("perm") or [*range(rank)][::-1]
    known = isinstance(perm, list) and sorted(perm) == [*range(rank)] and len(places) == 1
    return tuple(inner[place] for place in perm) if known else None


def _lifted(sinking: Sinking, tensor: Tensor, rank: int) -> tuple[ExtentPair, ...] | None:
    """The padding around a tensor that comes through steps; None where it is not known."""
    try:
        found = sinking.lifted(tensor)
    except RefusalError:
        return None
    return None if found is None or len(found.layer.amounts) != rank else found.layer.amounts


def is_pad(graph: Graph, node: Node) -> bool:
    """Whether a node is ONNX's own Pad."""
    return node.op == "Pad" and graph.is_standard(node)
