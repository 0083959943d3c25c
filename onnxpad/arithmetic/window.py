"""One axis of a sliding window: sizes, pads, and the positions that are read.

Positions count from the first real element: padding at the begin has negative positions, padding
at the end starts at `size`. Nothing here branches on a size, so one formula serves known and
unknown sizes. Sources: "ONNX" is the operator's page of the ONNX specification (docs/Operators.md);
"onnxruntime" is measured on its CPU provider with graph optimisation off (1.31).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias, TypeVar

from msgspec import Struct

from onnxpad.arithmetic.size import (
    Extent,
    Unknown,
    always,
    bounds,
    ceil_div,
    floor_div,
    less_equal,
    maximum,
    minimum,
    symbol,
    trunc_div,
    where,
)
from onnxpad.errors import ModelError

S = TypeVar("S", int, Extent)
"""Numbers give numbers."""

Side: TypeAlias = Literal["begin", "end"]
"""Where the odd element of an odd total goes."""

ODD: Mapping[str, Side] = {"SAME_UPPER": "end", "SAME_LOWER": "begin"}
"""The same by the value of `auto_pad`."""


def odd_side(auto_pad: str) -> Side:
    """Where `auto_pad` puts the odd element; at the end without it."""
    return ODD.get(auto_pad, "end")


def same_of(odd: Side) -> str:
    """The `auto_pad` that puts the odd element there."""
    return "SAME_UPPER" if odd == "end" else "SAME_LOWER"


class Window(Struct, frozen=True):
    """A kernel that slides along one axis."""

    kernel: int
    stride: int = 1
    dilation: int = 1

    def __post_init__(self) -> None:
        """Refuses values that would divide by zero or slide backwards."""
        if min(self.kernel, self.stride, self.dilation) < 1:
            raise ModelError(
                f"kernel {self.kernel}, stride {self.stride}, dilation {self.dilation}: "
                "each must be at least 1; correct the operator's attributes"
            )

    @property
    def extent(self) -> int:
        """Elements from the first tap to the last: the kernel with its dilation gaps."""
        return (self.kernel - 1) * self.dilation + 1


@lru_cache(maxsize=1024)
def window_of(kernel: int, stride: int = 1, dilation: int = 1) -> Window:
    """The window of a kernel, cached: networks repeat the same few windows."""
    return Window(kernel, stride, dilation)


def output_size(size: S, window: Window, begin: S, end: S) -> S:
    """Number of windows that fit in the padded line; below 1 none does, and it does not run.

    Source: ONNX Conv, with the division rounded down.
    """
    return floor_div(size + begin + end - window.extent, window.stride) + 1  # type: ignore[return-value]


def pool_output_size(size: S, window: Window, begin: S, end: S, *, ceil_mode: bool) -> S:
    """Number of windows a pool computes, for pads below its kernel; below 0 it does not run.

    Rounding is towards zero, so a window longer than the padded line by less than a stride is
    still computed once, clipped. With `ceil_mode` the last window may reach past the end padding,
    but is dropped where it would start there.

    Source: ONNX MaxPool and AveragePool "ceil_mode", and onnxruntime where shape inference and
    the specification say otherwise (truncation; shape inference never drops a window).
    """
    span = size + begin + end - window.extent
    if not ceil_mode:
        return trunc_div(span, window.stride) + 1  # type: ignore[return-value]
    # The last window starts in the end padding iff (output - 1) * stride >= size + begin, which
    # is output > ceil((size + begin) / stride); it is never more than one such window.
    most = ceil_div(size + begin, window.stride)
    return minimum(ceil_div(span, window.stride) + 1, most)  # type: ignore[return-value]


def same_output_size(size: Extent, window: Window) -> Extent:
    """Output size that SAME asks for. Source: ONNX Conv "auto_pad"."""
    return ceil_div(size, window.stride)


def same_raw_total(size: Extent, window: Window) -> Extent:
    """Padding SAME needs on both sides together, before it is clamped at 0.

    Negative only for an extent below the stride: there the specification pads nothing, and runtimes
    differ (onnxruntime crops, or refuses a pool). Source: ONNX Conv "auto_pad", `pad_shape`.
    """
    if window.stride == 1:  # the size cancels out, even where it is unknown
        return window.extent - 1
    return (same_output_size(size, window) - 1) * window.stride + window.extent - size


def same_pads(size: S, window: Window, *, odd: Side) -> tuple[S, S]:
    """Pads (begin, end) of SAME_UPPER (`odd="end"`) or SAME_LOWER (`odd="begin"`).

    Source: ONNX Conv "auto_pad"; TensorFlow `GetWindowedOutputSizeVerbose`
    (tensorflow/core/framework/kernel_shape_util.cc), which clamps at 0 and knows dilation.
    """
    return halves(maximum(same_raw_total(size, window), 0), odd)  # type: ignore[arg-type]


def constant_in_effect(size: Extent, window: Window, odd: Side) -> tuple[int, int] | None:
    """Constant pads that read what SAME reads, at every admitted size; None if there are none.

    Padding that no window reaches may be added at the end: SAME_UPPER with kernel 2 and stride 2 is
    (0, 0) or (0, 1), and (0, 1) reads the same at every size. That at the begin moves every window.
    """
    begin, end = same_pads(size, window, odd=odd)
    if isinstance(begin, int) and isinstance(end, int):
        return begin, end
    if isinstance(end, Unknown):  # pads that are right for every size are right for this one
        begin, end = same_pads(symbol("any size"), window, odd=odd)
    _, greatest = bounds(end)
    # A constant begin is enough: SAME's totals are less than a stride apart, so the greatest end
    # makes room for no further window.
    return (begin, greatest) if isinstance(begin, int) and greatest is not None else None


def end_read(size: S, window: Window, begin: S, output: S) -> S:
    """End padding that is read: perhaps less than declared, or more by a pool that rounds up."""
    read = (output - 1) * window.stride + window.extent - begin - size
    return maximum(read, 0)  # type: ignore[return-value]


def end_without_ceil(size: Extent, window: Window, begin: int, end: int) -> int:
    """End padding with which a pool that rounds down may have the windows of one with `ceil_mode`.

    It is the declared one where no window reaches past it, and else reaches as far as they do.
    """
    windows = pool_output_size(size, window, begin, end, ceil_mode=True)
    _, read = bounds(end_read(size, window, begin, windows))
    # ceil((s + e - k) / t) is floor((s + e + t - 1 - k) / t), and no window starts past the data.
    most = min(end + window.stride - 1, window.extent - 1)
    return max(end, most if read is None else min(read, most))


def meets_data(window: Window, size: Extent, first: Extent, last: Extent, some: Extent = 1) -> bool:
    """Whether every window from the one at `first` to the one at `last` reads a real element.

    That is asked at the sizes at which `some` is 1.
    """
    conditions = [
        less_equal(1, size),
        less_equal(0, first + window.extent - 1),
        less_equal(last, size - 1),
    ]
    if window.dilation != 1 and window.kernel != 1:
        conditions.append(less_equal(window.dilation, size))
    return all(always(where(some, condition, 1)) is True for condition in conditions)


def transposed_output_size(size: S, window: Window, begin: S, end: S, output_padding: int = 0) -> S:
    """Length of a ConvTranspose's output; its pads crop, `output_padding` appends at the end.

    Source: ONNX ConvTranspose, `output_shape[i]`.
    """
    return (size - 1) * window.stride + window.extent + output_padding - begin - end


def halves(total: S, odd: Side) -> tuple[S, S]:
    """Both halves of a total, the greater one on the side `odd`."""
    half: S = floor_div(total, 2)  # type: ignore[assignment]
    return (half, total - half) if odd == "end" else (total - half, half)


Pairs = tuple[tuple[int, int], ...]

SPATIAL = {1: ("L",), 2: ("H", "W"), 3: ("D", "H", "W")}
"""The names of the spatial axes of a window, by their number."""


def axis_names(rank: int) -> tuple[str, ...]:
    """The names of the spatial axes of a window of this rank, as `H` and `W`."""
    return SPATIAL.get(rank) or tuple(f"D{axis + 1}" for axis in range(rank))


@lru_cache(maxsize=1024)
def named(pairs: Pairs) -> tuple[tuple[str, int, int], ...]:
    """Padding of spatial axes with their names, as `("H", 1, 2)`."""
    names = axis_names(len(pairs))
    return tuple([(name, *pair) for name, pair in zip(names, pairs, strict=True)])


@lru_cache(maxsize=1024)
def pads_text(pairs: Pairs) -> str:
    """Padding of spatial axes for people, as `H 1+2, W 0+1`."""
    return ", ".join(f"{name} {begin}+{end}" for name, begin, end in named(pairs))


def axes_text(pairs: Pairs, axes: Sequence[int] | None = None) -> str:
    """Amounts of a `Pad` for people, for each axis that it pads, as `axis 2 1+2, axis 3 0+1`."""
    named = zip(range(len(pairs)) if axes is None else axes, pairs, strict=True)
    padded = [f"axis {axis} {begin}+{end}" for axis, (begin, end) in named if begin or end]
    return ", ".join(padded) or "0 on each axis"
