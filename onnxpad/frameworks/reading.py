"""Operators that pad, with all that pads what they read: their own padding, and `Pad`s upstream.

Every report of how much an operator pads reads this: padding that the terms of the proof carry to
it. What a rewrite may take over is asked of `padding.site`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent, Unknown, maximum
from onnxpad.arithmetic.window import Window, constant_in_effect, same_pads
from onnxpad.facts import Analysis
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.padding.crops import crop_of
from onnxpad.padding.padding import Padding, data_inputs, padding_of
from onnxpad.proof.read import Reader
from onnxpad.reasons import RefusalError
from onnxpad.semantics.layers import ExtentPairs, crops, numbers_of
from onnxpad.semantics.operators import Fill, Operator, TransposedOp, WindowOp, is_pad, read_pad
from onnxpad.semantics.rows import UnreadError

_MOST_NODES = 96
_UNKNOWN = (Unknown("not known"),)


def steps_of(path: Sequence[Node]) -> tuple[Node, ...]:
    """The nodes between a `Pad`, the first of a path, and the next `Pad` or the end."""
    return tuple(takewhile(lambda node: node.op != "Pad", path[1:]))


class Front(Struct, frozen=True):
    """The padding of a tensor by the `Pad`s upstream of it, as far as steps carry it there.

    These come the nearest first, each with all nodes from it to the tensor.
    """

    pads: tuple[tuple[Node, ...], ...]
    amounts: ExtentPairs | None


class Site(Struct, frozen=True, eq=False):
    """A window operator that pads, with all that pads what it reads.

    All is per spatial axis, Unknown or None where it is not known: the sizes of its data, and of
    the source that is padded upstream; its own padding, the same at every size where that is
    possible, of a transposed convolution its crop. What is written is None where attributes do not
    say that alone.
    """

    op: WindowOp | TransposedOp
    label: str
    windows: tuple[Window, ...]
    axes: tuple[int, ...]
    rank: int
    sizes: tuple[Extent, ...]
    written: Padding | None
    own: ExtentPairs | None
    front: Front
    source: Tensor
    source_sizes: tuple[Extent, ...]

    @property
    def total(self) -> ExtentPairs | None:
        """All padding per spatial axis, if known; a `Pad` before a crop is no part."""
        if self.own is None or self.is_transposed:
            return self.own
        return self.front.amounts and added(self.own, self.front.amounts)

    @property
    def whole(self) -> Padding | None:
        """How a window pads with what `Pad`s add, which an average counts; None if it is open."""
        pads = numbers_of(self.total)
        if pads is None or (self.padding.is_same and None in self.known_sizes):
            return None
        counts = self.leaves_padding_out and self.total != self.own
        return replace(self.padding, pads=pads, odd="end", counted=self.padding.counted or counts)

    @property
    def padding(self) -> Padding:
        """How the operator itself pads, where its attributes say that."""
        assert self.written is not None
        return self.written

    @property
    def node(self) -> Node:
        """The operator's node."""
        return self.op.node

    @property
    def row(self) -> Operator:
        """The row of the operator."""
        return self.op.operator

    @property
    def known_sizes(self) -> tuple[int | None, ...]:
        """The sizes of its data; None for those that are open."""
        return tuple(size if isinstance(size, int) else None for size in self.sizes)

    @property
    def is_transposed(self) -> bool:
        """Whether it is a transposed convolution, whose pads crop."""
        return isinstance(self.op, TransposedOp)

    @property
    def is_pool(self) -> bool:
        """Whether its output size may round up."""
        return isinstance(self.op, WindowOp) and self.row.pools

    @property
    def is_sized(self) -> bool:
        """Whether SAME and rounding up depend on the size: some stride is above 1."""
        return any(window.stride > 1 for window in self.windows)

    @property
    def leaves_padding_out(self) -> bool:
        """Whether its average leaves padding out, unless `count_include_pad` is set."""
        return isinstance(self.op, WindowOp) and self.row.padding is Fill.EXCLUDED


class SiteReader:
    """Reads the sites of one graph, which must stay as it is."""

    def __init__(
        self, graph: Graph, analysis: Analysis, barred: Collection[int] = frozenset()
    ) -> None:
        """Looks for `Pad`s at once; `barred` are identities of those that belong elsewhere."""
        self._graph, self._analysis, self._barred = graph, analysis, barred
        self._terms = Reader(graph, analysis)
        self._pads = [node for node in graph.nodes if is_pad(graph, node)]
        for tensor in (node.outputs[0] for node in self._pads if id(node) in barred):
            self._terms.keep(tensor, self._terms.opaque(tensor))

    def of(self, op: WindowOp | TransposedOp) -> Site:
        """The site of an operator."""
        sizes, rank = self._spatial(op, op.data), op.operator.layout.rank(len(op.windows))
        front = self.front(op.data, rank)
        if front.amounts:
            front = replace(front, amounts=tuple(front.amounts[axis] for axis in op.axes))
        source = front.pads[-1][0].inputs[0] if front.pads else op.data
        pairs = zip(sizes, front.amounts or (), strict=False)
        before = tuple(size - begin - end for size, (begin, end) in pairs)
        if not before or Unknown in map(type, before):
            # What is padded has the sizes of the source, where that has the axes of the data.
            moved = any(node.op not in {"Pad", "Identity"} for path in front.pads for node in path)
            before = _UNKNOWN * len(sizes) if moved else self._spatial(op, source)
        read = padding_of(op), self._own(op, sizes), front, source, before
        return Site(op, self._graph.place_of(op.node), op.windows, op.axes, rank, sizes, *read)

    def _own(self, op: WindowOp | TransposedOp, sizes: Sequence[Extent]) -> ExtentPairs | None:
        """Its own padding, in constant amounts where such read the same; None if unknown."""
        if isinstance(op, TransposedOp):
            with suppress(RefusalError):
                return crop_of(self._analysis, op)
            return None
        now, axes = padding_of(op), [*zip(sizes, op.windows, strict=True)]
        assert now is not None
        if now.pads is not None or Unknown in map(type, sizes):
            return now.pads
        constant = [constant_in_effect(*each, odd=now.odd) for each in axes]
        found = tuple(pair for pair in constant if pair is not None)
        return found if len(found) == len(axes) else tuple(same_pads(*a, odd=now.odd) for a in axes)

    def _spatial(self, op: WindowOp | TransposedOp, tensor: Tensor) -> tuple[Extent, ...]:
        """The sizes of a tensor that an operator's windows slide over; Unknown where not known."""
        layout, shape = op.operator.layout, self._analysis.shape(tensor)
        if shape is None or len(shape) != layout.rank(len(op.windows)):
            return _UNKNOWN * len(op.windows)
        return layout.spatial(shape)

    def front(self, tensor: Tensor, rank: int) -> Front:
        """The padding of a tensor of that rank by `Pad`s upstream, as far as is looked."""
        amounts: ExtentPairs = ((0, 0),) * rank
        if not self._pads:
            return Front((), amounts)
        pads, at, direct = self._upstream(tensor), self._graph.origin(tensor), list[Node]()
        while at.producer is not None and any(at.producer is path[0] for path in pads):
            direct.append(at.producer)
            at = self._graph.origin(at.producer.inputs[0])
        for layer in self._terms.read(at).layers if pads[len(direct) :] else ():
            if len(layer.amounts) != rank:  # of a damaged model
                return Front(pads, None)
            amounts = added(amounts, layer.amounts)
            if crops(layer.amounts):  # of padding, as far as there is some, and of data
                amounts = tuple([(maximum(b, 0), maximum(e, 0)) for b, e in amounts])
        for node in reversed(direct):
            try:
                further = read_pad(self._graph, self._analysis, node).extents_over(rank)
            except UnreadError:
                further = None
            if further is None:
                return Front(pads, None)
            amounts = added(amounts, further)
        return Front(pads, amounts)

    def _upstream(self, tensor: Tensor) -> tuple[tuple[Node, ...], ...]:
        """The `Pad`s whose padding reaches a tensor, as `Front.pads`."""
        pending, seen = deque([(tensor, tuple[Node, ...]())]), set[int]()
        found = list[tuple[Node, ...]]()
        while pending and len(seen) < _MOST_NODES:
            tensor, path = pending.popleft()
            node = tensor.producer
            if node is None or id(node) in seen or id(node) in self._barred:
                continue
            seen.add(id(node))
            path, places = (node, *path), tuple[int, ...]()
            if is_pad(self._graph, node):
                found.append(path)
                places = (0,)
            elif node.op == "Identity" or self._terms.read(tensor).layers:
                places = data_inputs(self._graph, node)
            pending += [(node.inputs[place], path) for place in places]
        return tuple(found)


def added(one: ExtentPairs, other: ExtentPairs) -> ExtentPairs:
    """The sum of two paddings."""
    return tuple((a + c, b + d) for (a, b), (c, d) in zip(one, other, strict=True))
