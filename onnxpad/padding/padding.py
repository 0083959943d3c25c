"""How one site is padded: the value that readings make, styles choose, and `write` writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from onnxpad.arithmetic.notation import pads_text
from onnxpad.arithmetic.size import Extent
from onnxpad.arithmetic.window import (
    Side,
    Window,
    odd_side,
    pool_output_size,
    same_pads,
    window_of,
)
from onnxpad.reasons import Reason, RefusalError
from onnxpad.semantics.amounts import Pairs, add, is_padded, less
from onnxpad.semantics.read_nodes import PadOp, TransposedOp, WindowOp

ANY_SIZE: Final = 1 << 20
"""A size that stands for all where the stride is 1: no amount depends on it."""


class Padding(Struct, frozen=True):
    """How a site is padded, whatever the size of its data: by its operator, and in front of it.

    Attributes:
        pads: (begin, end) for each spatial axis; None for SAME, which computes them from the size.
            Those of a transposed convolution crop its output, and are always numbers.
        odd: Where SAME puts the odd element.
        undilated: Whether SAME takes every dilation to be 1, as Paddle does.
        ceil: Whether the output size of a pool rounds up.
        counted: Whether an AveragePool divides by its padding too (`count_include_pad`).
        output_padding: The elements that a transposed convolution appends on each spatial axis;
            empty for others.
        outside: The amounts of a `Pad` in front of the operator, (begin, end) per spatial axis;
            empty where none is padded. A `Pad` pads first, so SAME sees the padded size.
    """

    pads: Pairs | None
    odd: Side = "end"
    undilated: bool = False
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
        seen = [window_of(w.kernel, w.stride) if self.undilated else w for w in windows]
        pairs = zip(sizes, seen, strict=True)
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


class SizeDependentError(RefusalError):
    """The padding depends on `sizes`, by axis, that the graph does not fix."""

    def __init__(self, sizes: Mapping[int, Extent], formulas: str, /, **facts: object) -> None:
        """Stores the sizes, and how the pads depend on them in words."""
        code = Reason.SIZE_DEPENDENT
        super().__init__(code, f"the pads depend on {formulas}", axes=list(sizes), **facts)
        self.sizes = sizes
