"""Where windows start and how many there are, according to each of two engines.

One engine is the specification. The other is onnxruntime's CPU provider with optimisation off,
which departs from the specification, has limits, and does not run some models at all.

Positions count from the first element of the data. The two share no formula: what both need is
written twice, so that no mistake is made in both at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from onnx import TensorProto

from onnxpad.arithmetic.size import (
    Extent,
    Size,
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
from onnxpad.semantics.layers import EXCLUDED
from onnxpad.semantics.window import WindowForm


class Placed(NamedTuple):
    """The windows along one axis: how many, and the operator's padding, negative where it crops.

    `runs` is 1 at the sizes at which the engine runs the operator, 0 elsewhere.
    """

    begin: Extent
    end: Extent
    windows: Extent
    runs: Extent = 1


Engine: TypeAlias = Callable[[WindowForm, int, Extent, int | None], Placed | None]
"""Places the windows of an operator along one axis, for data of a size and an element type.

Returns None where the engine runs it at no size.
"""


def specification(form: WindowForm, axis: int, size: Extent, dtype: int | None) -> Placed | None:
    """The windows according to the specification.

    Source: the pages of Conv, MaxPool, AveragePool and LpPool in the ONNX specification, "auto_pad"
    and "ceil_mode", which those of their quantised and fused kin repeat. `auto_pad` beside `pads`,
    which it forbids, is read as `auto_pad`.
    """
    window = form.axes[axis]
    stride, extent = window.stride, (window.kernel - 1) * window.dilation + 1
    if form.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        windows = ceil_div(size, stride)
        # At stride 1 the size cancels out of the total, even where it is unknown.
        missing = extent - 1 if stride == 1 else (windows - 1) * stride + extent - size
        total = maximum(missing, 0)
        half = floor_div(total, 2)
        begin, end = half, total - half
        if form.auto_pad == "SAME_LOWER":
            begin, end = end, begin
        return Placed(begin, end, windows, less_equal(1, size))
    begin, end = form.pads[axis] if form.auto_pad == "NOTSET" else (0, 0)
    rest = size + begin + end - extent
    whole = floor_div(rest, stride) + 1
    if form.window.rounding == "floor":
        return Placed(begin, end, whole)
    if form.ceil:
        # No window starts in the padding at the end.
        whole = minimum(ceil_div(rest, stride) + 1, ceil_div(size + begin, stride))
    return Placed(begin, end, maximum(whole, 0), less_equal(1, size))


def onnxruntime(form: WindowForm, axis: int, size: Extent, dtype: int | None) -> Placed | None:
    """The windows according to onnxruntime, on the CPU with optimisation off (1.21 to 1.31).

    Source: measured, and onnxruntime's conv_attributes.h and pool_attributes.h, which its own
    operators and the quantised ones share.
    """
    pools = form.window.rounding == "pool"
    return _pool(form, axis, size, dtype) if pools else _convolution(form, axis, size)


def _convolution(form: WindowForm, axis: int, size: Extent) -> Placed | None:
    window = form.axes[axis]
    if form.says_twice:
        return None
    if not form.is_same:
        begin, end = _written(form, axis)
        span = size + begin + end - window.extent
        return Placed(begin, end, floor_div(span, window.stride) + 1)
    if any(each.dilation != 1 for each in form.axes):
        return None
    # onnxruntime does not clamp a negative total: the first window starts inside the data.
    total = _short_of(window.kernel, window.stride, size)
    lower = int(form.auto_pad == "SAME_LOWER")
    head = floor_div(total + lower, 2)
    if always(less_equal(0, total)) is not True:
        head = where(less_equal(0, total), head, trunc_div(total + 1 + lower, 2))
    return Placed(head, total - head, ceil_div(size, window.stride), less_equal(1, size))


def _pool(form: WindowForm, axis: int, size: Extent, dtype: int | None) -> Placed | None:
    window = form.axes[axis]
    for each, pads in zip(form.axes, form.pads, strict=True):
        if always(less_equal(each.kernel, max(pads))) is not False:
            return None  # "Pad should be smaller than kernel", also with auto_pad
    runs = less_equal(1, size)
    if not form.is_same:
        begin, end = _written(form, axis)
        span = size + begin + end - window.extent
        count = trunc_div(span, window.stride) + 1
        if form.ceil:
            count = ceil_div(span, window.stride) + 1
            count = minimum(count, ceil_div(size + begin, window.stride))
        return Placed(begin, end, count, runs)
    # onnxruntime pads for the undilated kernel, but counts windows of the dilated one.
    total = _short_of(window.kernel, window.stride, size)
    head = trunc_div(total + (form.auto_pad == "SAME_LOWER"), 2)
    span = size + total - window.extent
    count = trunc_div(span, window.stride) + 1  # nothing is left over but by dilation
    if form.ceil and window.extent != window.kernel:
        count = Unknown("onnxruntime's SAME with dilation that rounds up was not measured")
    if _stops_below_zero(form, dtype):
        runs = minimum(runs, less_equal(0, total))
    return Placed(head, total - head, count, runs)


def _short_of(kernel: int | Size, stride: int, size: Extent) -> Extent:
    """How much longer than the data the windows of SAME are; negative where they are shorter."""
    return kernel - 1 if stride == 1 else (ceil_div(size, stride) - 1) * stride + kernel - size


def _written(form: WindowForm, axis: int) -> tuple[int, int]:
    return (0, 0) if form.auto_pad == "VALID" else form.pads[axis]


def _stops_below_zero(form: WindowForm, dtype: int | None) -> bool:
    """Whether onnxruntime refuses a SAME with a negative total; where it does not, it crops."""
    if form.kind == "AveragePool":
        return form.version < 19 and not (form.ceil and form.counts)
    if form.kind != "MaxPool" or dtype not in {TensorProto.FLOAT, TensorProto.FLOAT16}:
        return False
    columns_first = ("storage_order", "int", 1) in form.others
    return not (form.has_indices or columns_first or any(axis.dilation != 1 for axis in form.axes))


def divides_by_kernel(form: WindowForm) -> bool:
    """Whether onnxruntime divides an average by its kernel, though that reaches past all padding.

    Source: measured. A quantised average that counts its padding always does so. Others do before
    opset 19 and without ceil_mode, for a kernel longer than the padded line, for which the
    specification has no window.
    """
    always_so = form.window.zero_point is not None
    counts = form.window.own == EXCLUDED and form.counts
    return counts and (always_so or (form.version < 19 and not form.ceil))


SPECIFICATION: Final = "the specification"
"""The name of the engine that the specification is."""
ONNXRUNTIME: Final = "onnxruntime"
"""The name of the other one."""
ENGINES: Final[dict[str, Engine]] = {SPECIFICATION: specification, ONNXRUNTIME: onnxruntime}
"""Both engines, in the order in which the proof asks them."""
