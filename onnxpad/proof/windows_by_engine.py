"""Where windows start and how many there are, according to each of two engines.

One engine is the specification. The other is onnxruntime's CPU provider with optimisation off,
which departs from the specification, has limits, and does not run some models at all. A rewrite is
proved for both: where the original has a result, the rewritten model must have the same one. Only
where onnxruntime does not run the original is the specification alone enough, and the rewrite a
repair. Where both have a result, but not the same, and the user trusts one of them, the rewritten
model must have that one's result in both.

Positions count from the first element of the data. The formulas repeat those of
`arithmetic.window` on purpose: the passes decide by those, and the proof must not share a mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from onnx import TensorProto

from onnxpad.arithmetic.size import (
    Extent,
    Unknown,
    always,
    ceil_div,
    floor_div,
    less_equal,
    maximum,
    minimum,
    trunc_div,
    where,
)
from onnxpad.finding import Trust
from onnxpad.proof.meaning import SlideSpec, WindowAxis
from onnxpad.records import NamedTuple


class AxisWindows(NamedTuple):
    """The windows along one axis.

    Attributes:
        begin: The operator's own padding before the data; negative where it crops.
        end: The operator's own padding after the data, as declared.
        windows: The number of windows.
        runs: 1 at the sizes at which the engine runs the operator, 0 elsewhere.
    """

    begin: Extent
    end: Extent
    windows: Extent
    runs: Extent = 1


Engine: TypeAlias = Callable[[SlideSpec, int, Extent, int | None], AxisWindows | None]
"""Places the windows of an operator along one axis, for data of a size and an element type.

Returns None where the engine runs it at no size.
"""


def specification(slide: SlideSpec, axis: int, size: Extent, dtype: int | None) -> AxisWindows:
    """The windows according to the specification.

    Source: the pages of Conv, MaxPool, AveragePool and LpPool in the ONNX specification, "auto_pad"
    and "ceil_mode", which those of their quantised and fused kin repeat. `auto_pad` beside `pads`,
    which it forbids, is read as `auto_pad`.
    """
    window, extent = slide.axes[axis], slide.axes[axis].extent
    if slide.is_same:
        total = maximum(_missing(window, extent, size), 0)
        begin = floor_div(total + (slide.auto_pad == "SAME_LOWER"), 2)
        return AxisWindows(begin, total - begin, ceil_div(size, window.stride), less_equal(1, size))
    begin, end = _own(slide, axis)
    span = size + begin + end - extent
    if slide.row.rounding == "floor":
        return AxisWindows(begin, end, floor_div(span, window.stride) + 1)
    if slide.ceil_mode:
        count = _without_last(ceil_div(span, window.stride) + 1, window, size + begin)
    else:
        count = floor_div(span, window.stride) + 1
    return AxisWindows(begin, end, maximum(count, 0), less_equal(1, size))


def onnxruntime(slide: SlideSpec, axis: int, size: Extent, dtype: int | None) -> AxisWindows | None:
    """The windows according to onnxruntime, on the CPU with optimisation off (1.21 to 1.31).

    Source: measured, and onnxruntime's conv_attributes.h and pool_attributes.h, which its own
    operators and the quantised ones share.
    """
    pools = slide.row.rounding == "pool"
    return _pool(slide, axis, size, dtype) if pools else _convolution(slide, axis, size)


SPECIFICATION: Final = "the specification"
"""The name of the engine that the specification is."""
ENGINES: Final[dict[str, Engine]] = {
    SPECIFICATION: specification,
    "onnxruntime": onnxruntime,
}
ENGINE_OF: Final = {Trust.SPEC: SPECIFICATION, Trust.RUNTIME: "onnxruntime"}
"""The engine that is trusted, by what the user chose."""


def _convolution(slide: SlideSpec, axis: int, size: Extent) -> AxisWindows | None:
    window, extent = slide.axes[axis], slide.axes[axis].extent
    if slide.auto_pad != "NOTSET" and slide.pads_written:
        return None
    if slide.is_same:
        if any(each.dilation != 1 for each in slide.axes):
            return None
        # onnxruntime does not clamp a negative total: the first window starts inside the data.
        total = _missing(window, extent, size)
        odd = int(slide.auto_pad == "SAME_LOWER")
        begin = floor_div(total + odd, 2)
        if always(less_equal(0, total)) is not True:
            begin = where(less_equal(0, total), begin, trunc_div(total + 1 + odd, 2))
        return AxisWindows(begin, total - begin, ceil_div(size, window.stride), less_equal(1, size))
    begin, end = _own(slide, axis)
    return AxisWindows(begin, end, floor_div(size + begin + end - extent, window.stride) + 1)


def _pool(slide: SlideSpec, axis: int, size: Extent, dtype: int | None) -> AxisWindows | None:
    window, extent = slide.axes[axis], slide.axes[axis].extent
    for each, pads in zip(slide.axes, slide.pads, strict=True):
        if always(less_equal(each.kernel, max(pads))) is not False:
            return None  # "Pad should be smaller than kernel", also with auto_pad
    runs = less_equal(1, size)
    if not slide.is_same:
        begin, end = _own(slide, axis)
        span = size + begin + end - extent
        if slide.ceil_mode:
            count = _without_last(ceil_div(span, window.stride) + 1, window, size + begin)
        else:
            count = trunc_div(span, window.stride) + 1
        return AxisWindows(begin, end, count, runs)
    # onnxruntime pads for the undilated kernel, but counts windows of the dilated one.
    total = _missing(window, window.kernel, size)
    head = trunc_div(total + (slide.auto_pad == "SAME_LOWER"), 2)
    span = size + total - extent
    count = (ceil_div if slide.ceil_mode else trunc_div)(span, window.stride) + 1
    if slide.ceil_mode and window.extent != window.kernel:
        count = Unknown("onnxruntime's SAME with dilation that rounds up was not measured")
    if _stops_below_zero(slide, dtype):
        runs = minimum(runs, less_equal(0, total))
    return AxisWindows(head, total - head, count, runs)


def _stops_below_zero(slide: SlideSpec, dtype: int | None) -> bool:
    """Whether onnxruntime refuses a SAME with a negative total; where it does not, it crops."""
    if slide.kind == "AveragePool":
        return slide.version < 19 and not (slide.ceil_mode and slide.counts)
    plain = all(axis.dilation == 1 for axis in slide.axes) and not slide.has_indices
    return slide.kind == "MaxPool" and plain and dtype in {TensorProto.FLOAT, TensorProto.FLOAT16}


def _missing(window: WindowAxis, extent: Extent, size: Extent) -> Extent:
    """SAME's total padding on both sides, before it is clamped at 0."""
    if window.stride == 1:  # the size cancels out, even where it is unknown
        return extent - 1
    return (ceil_div(size, window.stride) - 1) * window.stride + extent - size


def _own(slide: SlideSpec, axis: int) -> tuple[int, int]:
    return slide.pads[axis] if slide.auto_pad == "NOTSET" else (0, 0)


def _without_last(count: Extent, window: WindowAxis, until: Extent) -> Extent:
    """A count that was rounded up, without a last window that would start in the end padding."""
    return minimum(count, ceil_div(until, window.stride))
