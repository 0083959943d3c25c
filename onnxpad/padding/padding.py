"""How one site is padded: the value that readings make, styles choose, and `write` writes.

Who reads a padded tensor decides what can take the padding over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from onnxpad.arithmetic.window import Side, Window, odd_side, pads_text, pool_output_size, same_pads
from onnxpad.graph import Graph, Node, Tensor, Use
from onnxpad.semantics.layers import Pairs, add, is_padded, less
from onnxpad.semantics.operators import MICROSOFT, PadOp, TransposedOp, WindowOp, key_of, windowed
from onnxpad.semantics.rows import places_of
from onnxpad.semantics.table import row_of

ANY_SIZE = 1 << 20
"""A size that stands for all where the stride is 1: no amount depends on it."""


class Padding(Struct, frozen=True, cache_hash=True):
    """How a site is padded, whatever the size of its data: by its operator, and in front of it.

    Attributes:
        pads: (begin, end) for each spatial axis; None for SAME, which computes them from the size.
            Those of a transposed convolution crop its output, and are always numbers.
        odd: Where SAME puts the odd element.
        ceil: Whether the output size of a pool rounds up.
        counted: Whether an AveragePool divides by its padding too (`count_include_pad`).
        output_padding: The elements that a transposed convolution appends on each spatial axis;
            empty for others.
        outside: The amounts of a `Pad` in front of the operator, (begin, end) per spatial axis;
            empty where none is padded. A `Pad` pads first, so SAME sees the padded size.
    """

    pads: Pairs | None
    odd: Side = "end"
    ceil: bool = False
    counted: bool = False
    output_padding: tuple[int, ...] = ()
    outside: Pairs = ()

    @property
    def is_same(self) -> bool:
        """Whether the amounts follow from the size."""
        return self.pads is None

    @property
    def numbers(self) -> Pairs:
        """The pads, which are not SAME."""
        assert self.pads is not None
        return self.pads

    @property
    def crop(self) -> Pairs:
        """The elements that a transposed convolution crops at both ends; below 0 it appends."""
        pairs = zip(self.numbers, self.output_padding, strict=True)
        return tuple((begin, end - more) for (begin, end), more in pairs)

    @property
    def total(self) -> Pairs:
        """The pads, which are not SAME, and the amounts outside together."""
        return add(self.numbers, self.outside) if self.outside else self.numbers

    @property
    def text(self) -> str:
        """The padding in words, such as `Pad H 0+1, W 0+1 and pads H 1+1, W 1+1`."""
        outside = [f"Pad {pads_text(self.outside)}"] if self.outside else []
        inside = [f"pads {pads_text(self.numbers)}"] if is_padded(self.numbers) else []
        return " and ".join([*outside, *inside]) or "no pads"

    def amounts(self, sizes: tuple[int, ...], windows: tuple[Window, ...]) -> Pairs:
        """The pads at these sizes, (begin, end) for each spatial axis, without what ceil adds."""
        if self.pads is not None:
            return self.pads
        pairs = zip(sizes, windows, strict=True)
        return tuple(same_pads(size, window, odd=self.odd) for size, window in pairs)

    def reached(self, sizes: tuple[int, ...], windows: tuple[Window, ...]) -> Pairs:
        """The pads at these sizes with what rounding up reads beyond them."""
        found = self.amounts(sizes, windows), sizes, windows, self._outputs(sizes, windows)
        return tuple(
            (begin, max(end, (count - 1) * window.stride + window.extent - size - begin))
            for (begin, end), size, window, count in zip(*found, strict=True)
        )

    def _outputs(self, sizes: tuple[int, ...], windows: tuple[Window, ...]) -> tuple[int, ...]:
        given = zip(sizes, windows, self.amounts(sizes, windows), strict=True)
        return tuple(pool_output_size(n, w, *pads, ceil_mode=self.ceil) for n, w, pads in given)

    def effect(self, sizes: tuple[int, ...], windows: tuple[Window, ...]) -> object:
        """A value that is equal for two paddings that compute the same at these sizes.

        Padding at the end that no window reaches makes no difference, unless it is counted.
        """
        pads = self.amounts(sizes, windows)
        if self.output_padding:
            return pads, self.output_padding
        counted = pads if self.counted and any(map(any, pads)) else None
        return tuple(begin for begin, _ in pads), self._outputs(sizes, windows), counted


def padding_of(op: WindowOp | TransposedOp) -> Padding | None:
    """How an operator itself pads; None where its attributes do not say that alone."""
    if isinstance(op, TransposedOp):
        return Padding(op.pads, output_padding=op.output_padding) if op.is_explicit else None
    if op.auto_pad == "VALID":
        return Padding(((0, 0),) * len(op.windows), counted=op.count_include_pad)
    if op.auto_pad != "NOTSET":
        return Padding(None, odd=odd_side(op.auto_pad), counted=op.count_include_pad)
    return Padding(op.pads, ceil=op.ceil_mode, counted=op.count_include_pad)


def has_amounts(op: WindowOp, pad: PadOp, amounts: Pairs) -> bool:
    """Whether a `Pad` has these amounts per spatial axis itself, as numbers."""
    known = pad.over(op.rank)
    return known is not None and op.operator.layout.spatial(known) == amounts


def split(total: Pairs, style: str) -> tuple[Pairs, Pairs]:
    """Splits padding into (the operator's own, that of a `Pad` in front), as a style wants it.

    An operator's own pads cannot crop, so negative amounts go to the `Pad` in every style. What is
    left for a `Pad` is empty where that is nothing.
    """
    if style == "fold":
        inside = tuple([(max(begin, 0), max(end, 0)) for begin, end in total])
    elif style == "pad":
        inside = ((0, 0),) * len(total)
    else:
        inside = tuple((max(min(pair), 0),) * 2 for pair in total)
    outside = less(total, inside)
    return inside, outside if is_padded(outside) else ()


_DOMAINS = frozenset({"", MICROSOFT})
# A window further downstream has little to do with the padding.
_MOST_STEPS = 8
_MOST_NODES = 64
ASKING = frozenset({"Shape", "Size"})
"""Operators that read of a tensor its sizes alone."""


def data_inputs(graph: Graph, node: Node) -> tuple[int, ...]:
    """The inputs of a node that may be padded; none where it is no step."""
    row = row_of(graph, node)
    if row is None or graph.refers(node):
        return ()
    return places_of(graph, node, row)


def readers_of(graph: Graph, tensor: Tensor) -> Iterator[Use | None]:
    """Where a tensor is read, perhaps through Identity, in no order; None for a graph output."""
    pending = [tensor]
    while pending:
        current = pending.pop()
        if graph.is_output(current):
            yield None
        for use in graph.uses(current):
            if use.node.op == "Identity" and graph.is_standard(use.node):
                pending += use.node.outputs[:1]
            else:
                yield use


class Readers:
    """Looks downstream in one graph, which must stay as it is."""

    def __init__(self, graph: Graph) -> None:
        """Caches what it finds in the graph."""
        self._graph = graph
        self._known: dict[str, list[Use | None]] = {}

    def of(self, tensor: Tensor) -> list[Use | None]:
        """As `readers_of`, in file order; None, for an output, comes last."""
        if tensor.name not in self._known:
            uses = list(readers_of(self._graph, tensor))
            listed = [*{(id(use.node), use.index): use for use in uses if use is not None}.values()]
            if len(listed) > 1:  # the places of all nodes are looked up only where order matters
                listed.sort(key=lambda each: (self._places[id(each.node)], each.index))
            self._known[tensor.name] = [*listed, None] if None in uses else [*listed]
        return self._known[tensor.name]

    def path(self, tensor: Tensor) -> tuple[Use, ...]:
        """The shortest path from a tensor to a near window: each node by the input it reads."""
        pending: deque[tuple[Tensor, tuple[Use, ...]]] = deque([(tensor, ())])
        seen: set[int] = set()
        while pending:
            current, steps = pending.popleft()
            for use in self.of(current):
                if use is None or id(use.node) in seen or len(seen) > _MOST_NODES:
                    continue
                is_window = windowed(self._graph, use.node)
                if is_window and use.index == 0:
                    return (*steps, use)
                domain, op = key_of(self._graph, use.node) or (None, None)
                # It may pass elements on, changed one by one or moved.
                hands_on = domain in _DOMAINS and op not in ASKING and use.index >= 0
                if not is_window and len(steps) < _MOST_STEPS and hands_on:
                    seen.add(id(use.node))
                    pending += [(each, (*steps, use)) for each in use.node.outputs]
        return ()

    @cached_property
    def _places(self) -> dict[int, int]:
        return {id(node): place for place, node in enumerate(self._graph.nodes)}
