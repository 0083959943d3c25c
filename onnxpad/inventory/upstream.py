"""The `Pad`s whose padding reaches a tensor, through steps that padding passes."""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.operators.amounts import ExtentPair
from onnxpad.operators.read import read_pad
from onnxpad.padding.step_table import PadLayer, behind, data_inputs
from onnxpad.reasons import RefusalError

_COPIES: Final = frozenset({"Identity", "Dropout"})
_MOST_STEPS: Final = 48
_MOST_NODES: Final = 96


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


def pads_upstream(
    graph: Graph, tensor: Tensor, barred: Collection[int] = frozenset()
) -> list[Upstream]:
    """The `Pad`s upstream of a tensor, the nearest first.

    Operators in between are those that a `Pad` can be moved past at all; whether it can past this
    one does not matter. Of an operator that joins tensors, all must be padded.

    Args:
        graph: The graph.
        tensor: The tensor.
        barred: Identities of `Pad`s that belong elsewhere, at which the search ends.
    """
    found = _above(graph, tensor, {node: [] for node in barred}, 0)
    return list({id(each.pad): each for each in found}.values())


def _above(
    graph: Graph, tensor: Tensor, known: dict[int, list[Upstream]], depth: int
) -> list[Upstream]:
    """The `Pad`s upstream of a tensor, given those upstream of nodes by identity."""
    node = graph.producer(tensor)
    if node is None or not node.inputs or depth > _MOST_STEPS:
        return []
    if id(node) not in known:
        # What is being looked into, and what is too far away, has none.
        known[id(node)] = []
        if len(known) < _MOST_NODES:
            known[id(node)] = _through(graph, node, known, depth + 1)
    return known[id(node)]


def _through(
    graph: Graph, node: Node, known: dict[int, list[Upstream]], depth: int
) -> list[Upstream]:
    if is_pad(graph, node):
        further = _above(graph, node.inputs[0], known, depth)
        return [Upstream(node, (), ()), *(each.behind(node) for each in further)]
    found = []
    for place in _data(graph, node):
        inside = _above(graph, node.inputs[place], known, depth)
        if not inside:
            return []
        found += [each.after(node) for each in inside]
    return found


def _data(graph: Graph, node: Node) -> tuple[int, ...]:
    """The inputs of a node whose padding it hands on."""
    if graph.is_standard(node) and node.op in _COPIES:
        return (0,)
    return tuple(place for place in data_inputs(graph, node) if place < len(node.inputs))


def padding_around(
    graph: Graph,
    analysis: Analysis,
    tensor: Tensor,
    rank: int,
    pads: Collection[int],
) -> tuple[ExtentPair, ...] | None:
    """The amounts that `Pad`s upstream add to each axis of a tensor; None where that is not known.

    Args:
        graph: The graph.
        analysis: Its analysis.
        tensor: The tensor.
        rank: The number of its axes.
        pads: Identities of the `Pad`s that count, as `pads_upstream` finds them.
    """
    total: tuple[ExtentPair, ...] = ((0, 0),) * rank
    node = graph.producer(tensor)
    while node is not None and id(node) in pads:
        own = read_pad(graph, analysis, node).extents_over(rank)
        if own is None:
            return None
        total = tuple((a + c, b + d) for (a, b), (c, d) in zip(own, total, strict=True))
        tensor = node.inputs[0]
        node = graph.producer(tensor)
    if node is None or is_pad(graph, node):
        return total
    if not any(id(each.pad) in pads for each in pads_upstream(graph, tensor)):
        return total
    inner = _around_step(graph, analysis, node, rank, pads)
    if inner is None or len(inner) != rank:
        return None
    return tuple((a + c, b + d) for (a, b), (c, d) in zip(total, inner, strict=True))


def _around_step(
    graph: Graph, analysis: Analysis, node: Node, rank: int, pads: Collection[int]
) -> tuple[ExtentPair, ...] | None:
    """The amounts that `Pad`s upstream of a step add to each axis of its result."""
    layers = []
    places = _data(graph, node)
    for place in places:
        tensor = node.inputs[place]
        shape = analysis.shape(tensor)
        if shape is None:
            return None
        inner = padding_around(graph, analysis, tensor, len(shape), pads)
        if inner is None:
            return None
        layers.append(inner)
    if node.op in _COPIES:
        return layers[0]
    if node.op == "Transpose":
        return _transposed(node, layers[0])
    return _behind(graph, analysis, node, places, layers, rank)


def _transposed(node: Node, inner: tuple[ExtentPair, ...]) -> tuple[ExtentPair, ...] | None:
    """The padding of each axis after a Transpose."""
    rank = len(inner)
    perm = node.attrs.get("perm") or [*range(rank)][::-1]
    known = isinstance(perm, list) and sorted(perm) == [*range(rank)]
    return tuple(inner[place] for place in perm) if known else None


def _behind(
    graph: Graph,
    analysis: Analysis,
    node: Node,
    places: tuple[int, ...],
    inside: Sequence[tuple[ExtentPair, ...]],
    rank: int,
) -> tuple[ExtentPair, ...] | None:
    """The padding around the result of a step; None where it is not known.

    The numbers that the `Pad`s write do not matter to that, so zeros stand for them.
    """
    known = [
        tuple((b, e) for b, e in pairs if isinstance(b, int) and isinstance(e, int))
        for pairs in inside
    ]
    if any(len(one) < len(other) for one, other in zip(known, inside, strict=True)):
        return None
    try:
        found = behind(graph, analysis, node, places, [PadLayer(pairs, 0) for pairs in known])
    except RefusalError:
        return None
    return found.layer.amounts if len(found.layer.amounts) == rank else None


def is_pad(graph: Graph, node: Node) -> bool:
    """Whether a node is ONNX's own Pad."""
    return node.op == "Pad" and graph.is_standard(node)
