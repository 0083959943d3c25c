"""A choice of padding for one window operator, which may depend on the size of its data."""

from typing import Final

from onnxpad.arithmetic.window import Side, Window, pool_output_size, same_pads, window_of
from onnxpad.operators.amounts import Pairs
from onnxpad.records import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """How an operator pads.

    Attributes:
        pads: (begin, end) for each spatial axis; None for SAME, which computes them from the size.
            Those of a transposed convolution crop its output, and are always numbers.
        odd: Where SAME puts the odd element.
        undilated: Whether SAME takes every dilation to be 1, as Paddle does.
        ceil: Whether the output size of a pool rounds up.
        counted: Whether an AveragePool divides by its padding too (`count_include_pad`).
        appended: `output_padding` for each spatial axis of a transposed convolution.
    """

    pads: Pairs | None
    odd: Side = "end"
    undilated: bool = False
    ceil: bool = False
    counted: bool = False
    appended: tuple[int, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether the amounts follow from the size."""
        return self.pads is None

    def amounts(self, sizes: tuple[int, ...], windows: tuple[Window, ...]) -> Pairs:
        """The pads at these sizes, (begin, end) for each spatial axis, without what ceil adds."""
        if self.pads is not None:
            return self.pads
        seen = [window_of(w.kernel, w.stride) if self.undilated else w for w in windows]
        found = []
        for size, window in zip(sizes, seen, strict=True):
            begin, end = same_pads(size, window, odd=self.odd)
            assert isinstance(begin, int)
            assert isinstance(end, int)
            found.append((begin, end))
        return tuple(found)

    def reached(self, sizes: tuple[int, ...], windows: tuple[Window, ...]) -> Pairs:
        """The pads at these sizes with what rounding up reads beyond them."""
        found = []
        for size, window, (begin, end) in zip(
            sizes, windows, self.amounts(sizes, windows), strict=True
        ):
            count = pool_output_size(size, window, begin, end, ceil_mode=self.ceil)
            assert isinstance(count, int)
            last = (count - 1) * window.stride + window.extent
            found.append((begin, max(end, last - size - begin)))
        return tuple(found)

    def effect(self, sizes: tuple[int, ...], windows: tuple[Window, ...]) -> object:
        """A value that is equal for two choices that compute the same at these sizes.

        Padding at the end that no window reaches makes no difference, unless it is counted.
        """
        pads = self.amounts(sizes, windows)
        if self.appended:
            return pads, self.appended
        outputs = tuple(
            pool_output_size(size, window, begin, end, ceil_mode=self.ceil)
            for size, window, (begin, end) in zip(sizes, windows, pads, strict=True)
        )
        counted = pads if self.counted and any(map(any, pads)) else None
        return tuple(begin for begin, _ in pads), outputs, counted


ANY_SIZE: Final = 1 << 20
"""A size that stands for all where the stride is 1: no amount depends on it."""
