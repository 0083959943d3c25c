"""Window operators with all that pads what they read: their own padding, and `Pad`s upstream.

Every report of how much an operator pads reads this. What a rewrite may take over is asked of
`padding.site`, and the proof has a reading of its own.
"""

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent, Unknown
from onnxpad.arithmetic.window import constant_in_effect, odd_side, same_pads
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.operators.amounts import ExtentPair
from onnxpad.operators.read import UnreadableError, WindowOp, read_pad
from onnxpad.padding.step_table import PadLayer, behind, data_inputs
from onnxpad.reasons import RefusalError

_COPIES: Final = frozenset({"Identity", "Dropout"})
_MOST_STEPS: Final = 48
_MOST_NODES: Final = 96

Amounts: TypeAlias = tuple[ExtentPair, ...]
"""(begin, end) for each axis, which may depend on sizes."""


class PadUpstream(NamedTuple):
    """A `Pad` upstream of a tensor.

    Attributes:
        pad: Its node.
        steps: The nodes between it and the next `Pad` downstream, or the tensor.
        path: All nodes from it to the tensor, without it.
    """

    pad: Node
    steps: tuple[Node, ...]
    path: tuple[Node, ...]

    def after(self, step: Node) -> "PadUpstream":
        """The same seen from the output of a step."""
        is_next = len(self.steps) == len(self.path)  # no other `Pad` in between
        steps = (*self.steps, step) if is_next else self.steps
        return PadUpstream(self.pad, steps, (*self.path, step))

    def behind(self, pad: Node) -> "PadUpstream":
        """The same seen from the output of another `Pad`."""
        return PadUpstream(self.pad, self.steps, (*self.path, pad))


class Front(NamedTuple):
    """The padding of a tensor by the `Pad`s upstream of it.

    Attributes:
        pads: These `Pad`s, the nearest first.
        amounts: What they add to each axis; None where that is not known.
        is_whole: Whether that is all of it. Otherwise a step hands on padding of some `Pad`, but by
            how much is not known, and it is left out.
    """

    pads: tuple[PadUpstream, ...]
    amounts: Amounts | None
    is_whole: bool


class WindowSite(NamedTuple):
    """A window operator with all that pads what it reads.

    Attributes:
        op: The operator.
        own: Its own padding, (begin, end) per spatial axis; None where unknown.
        constant: Constant amounts that read the same at every size; None where there are none.
        upstream: The `Pad`s upstream, the nearest first.
        front: What they add per spatial axis; None where unknown.
        is_whole: Whether that is all of it, as `Front` has it.
        source: The tensor that is padded.
        sizes: Its sizes along the window's axes; Unknown where not known.
    """

    op: WindowOp
    own: Amounts | None
    constant: Amounts | None
    upstream: tuple[PadUpstream, ...]
    front: Amounts | None
    is_whole: bool
    source: Tensor
    sizes: tuple[Extent, ...]

    @property
    def total(self) -> Amounts | None:
        """All padding per spatial axis; None where a part of it is unknown."""
        return added(self.own, self.front)


class WindowSites:
    """Reads the sites of one graph, which must stay as it is."""

    def __init__(self, graph: Graph, analysis: Analysis) -> None:
        """Looks for `Pad`s when first asked."""
        self._graph = graph
        self._analysis = analysis

    def of(self, op: WindowOp, barred: Collection[int] = frozenset()) -> WindowSite:
        """The site of an operator.

        Args:
            op: The operator.
            barred: Identities of `Pad`s that belong elsewhere.

        Raises:
            ModelError: A `Pad` upstream has amounts that the specification forbids.
        """
        layout = op.operator.layout
        pads, around, is_whole = self.front(op.data, op.rank, barred)
        front = None if around is None else layout.spatial(around)
        source = pads[-1].pad.inputs[0] if pads else op.data
        shape = self._analysis.shape(op.data)
        data = layout.spatial(shape) if shape is not None and len(shape) == op.rank else ()
        own, constant = own_padding(op, data)
        sizes = self._sizes(op, pads, source, data, front)
        return WindowSite(op, own, constant, pads, front, is_whole, source, sizes)

    def _sizes(
        self,
        op: WindowOp,
        pads: Sequence[PadUpstream],
        source: Tensor,
        data: Sequence[Extent],
        front: Amounts | None,
    ) -> tuple[Extent, ...]:
        """The sizes of what is padded: those of the source, where it has the axes of the data."""
        if data and front is not None:
            pairs = zip(data, front, strict=True)
            found = tuple(size - begin - end for size, (begin, end) in pairs)
            if not any(isinstance(size, Unknown) for size in found):
                return found
        moved = any(step.op not in {"Pad", "Identity"} for each in pads for step in each.path)
        shape = None if moved else self._analysis.shape(source)
        if shape is None or len(shape) != op.rank:
            return (Unknown("not known"),) * len(op.windows)
        return op.operator.layout.spatial(shape)

    def front(self, tensor: Tensor, rank: int, barred: Collection[int] = frozenset()) -> Front:
        """The padding of a tensor of that rank by the `Pad`s upstream of it.

        Raises:
            ModelError: One has amounts that the specification forbids.
        """
        if not self._has_pads:
            return Front((), ((0, 0),) * rank, True)
        return _Walk(self._graph, self._analysis, barred).front(tensor, rank)

    @cached_property
    def _has_pads(self) -> bool:
        return any(is_pad(self._graph, node) for node in self._graph.nodes)


class _Walk:
    """One walk upstream, which ends after so many nodes."""

    def __init__(self, graph: Graph, analysis: Analysis, barred: Collection[int]) -> None:
        self._graph = graph
        self._analysis = analysis
        self._pads: dict[int, list[PadUpstream]] = {node: [] for node in barred}
        self._amounts: dict[tuple[int, int], tuple[Amounts | None, bool]] = {}

    def front(self, tensor: Tensor, rank: int) -> Front:
        pads = {id(each.pad): each for each in self._above(tensor, 0)}
        return Front(tuple(pads.values()), *self._around(tensor, rank))

    # Operators in between are those that a `Pad` can be moved past at all; whether it can past this
    # one does not matter. Of an operator that joins tensors, all must be padded.

    def _above(self, tensor: Tensor, depth: int) -> list[PadUpstream]:
        """The `Pad`s upstream of a tensor, the nearest first."""
        node = self._graph.producer(tensor)
        if node is None or not node.inputs or depth > _MOST_STEPS:
            return []
        if id(node) not in self._pads:
            # What is being looked into, and what is too far away, has none.
            self._pads[id(node)] = []
            if len(self._pads) < _MOST_NODES:
                self._pads[id(node)] = self._through(node, depth + 1)
        return self._pads[id(node)]

    def _through(self, node: Node, depth: int) -> list[PadUpstream]:
        if is_pad(self._graph, node):
            further = self._above(node.inputs[0], depth)
            return [PadUpstream(node, (), ()), *(each.behind(node) for each in further)]
        found = []
        for place in self._data(node):
            inside = self._above(node.inputs[place], depth)
            if not inside:
                return []
            found += [each.after(node) for each in inside]
        return found

    def _data(self, node: Node) -> tuple[int, ...]:
        """The inputs of a node whose padding it hands on."""
        if self._graph.is_standard(node) and node.op in _COPIES:
            return (0,)
        return tuple(i for i in data_inputs(self._graph, node) if i < len(node.inputs))

    def _around(self, tensor: Tensor, rank: int) -> tuple[Amounts | None, bool]:
        """The amounts around a tensor, None where unknown, and whether these are all."""
        node = self._graph.producer(tensor)
        if node is None or not self._pads.get(id(node)):
            return ((0, 0),) * rank, True
        key = id(node), rank
        if key not in self._amounts:
            self._amounts[key] = self._behind(node, rank)
        return self._amounts[key]

    def _behind(self, node: Node, rank: int) -> tuple[Amounts | None, bool]:
        graph, analysis = self._graph, self._analysis
        if is_pad(graph, node):
            inner, is_whole = self._around(node.inputs[0], rank)
            try:
                own = read_pad(graph, analysis, node).extents_over(rank)
            except UnreadableError:
                own = None
            return added(own, inner), is_whole
        if node.op in _COPIES:
            return self._around(node.inputs[0], rank)
        if node.op == "Transpose":
            perm = node.attrs.get("perm") or [*range(rank)][::-1]
            inner, is_whole = self._around(node.inputs[0], rank)
            if inner is None or not isinstance(perm, list) or sorted(perm) != [*range(rank)]:
                return None, False
            return tuple(inner[axis] for axis in perm), is_whole
        return self._behind_step(node, rank)

    def _behind_step(self, node: Node, rank: int) -> tuple[Amounts | None, bool]:
        """As `_behind`, of a step; the numbers that `Pad`s write do not matter to that."""
        left_out = ((0, 0),) * rank, False
        data, layers, is_whole = self._data(node), list[PadLayer](), True
        for place in data:
            shape = self._analysis.shape(node.inputs[place])
            if shape is None:
                return left_out
            inner, known = self._around(node.inputs[place], len(shape))
            numbers = tuple(
                (b, e) for b, e in inner or () if isinstance(b, int) and isinstance(e, int)
            )
            if len(numbers) != len(shape):
                return left_out
            layers.append(PadLayer(numbers, 0))
            is_whole &= known
        try:
            found = behind(self._graph, self._analysis, node, data, layers).layer.amounts
        except RefusalError:
            return left_out
        return (found, is_whole) if len(found) == rank else left_out


def added(one: Amounts | None, other: Amounts | None) -> Amounts | None:
    """The sum of two paddings; None where an amount of it is unknown."""
    if one is None or other is None:
        return None
    found = tuple((a + c, b + d) for (a, b), (c, d) in zip(one, other, strict=True))
    return None if any(isinstance(each, Unknown) for pair in found for each in pair) else found


def own_padding(op: WindowOp, sizes: Sequence[Extent]) -> tuple[Amounts | None, Amounts | None]:
    """An operator's own padding, and constant amounts that read the same; None where unknown.

    Args:
        op: The operator.
        sizes: The sizes of its data along the window's axes; empty where their number is unknown.
    """
    if op.auto_pad == "NOTSET":
        return op.pads, op.pads
    if op.auto_pad == "VALID":
        none = ((0, 0),) * len(op.windows)
        return none, none
    if len(sizes) != len(op.windows) or any(isinstance(size, Unknown) for size in sizes):
        return None, None
    odd = odd_side(op.auto_pad)
    axes = list(zip(sizes, op.windows, strict=True))
    if not all(isinstance(window.kernel, int) for _, window in axes):
        return None, None
    effect = [constant_in_effect(size, window, odd=odd) for size, window in axes]
    constant = tuple(pair for pair in effect if pair is not None)
    total = tuple(same_pads(size, window, odd=odd) for size, window in axes)
    return total, constant if len(constant) == len(effect) else None


def is_pad(graph: Graph, node: Node) -> bool:
    """Whether a node is ONNX's own Pad."""
    return node.op == "Pad" and graph.is_standard(node)
