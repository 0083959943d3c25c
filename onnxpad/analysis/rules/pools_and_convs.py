"""Shapes behind sliding windows and resizing.

A size on which onnxruntime and the specification differ is unknown, but for pools: their size is
truncated, as onnxruntime and shape inference do.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxpad.analysis.rounding import FLOATS
from onnxpad.analysis.rule_api import Ask, Call, ShapeRule, UndeterminedError, axis_in, known, named
from onnxpad.analysis.value import FLOAT, Shape
from onnxpad.arithmetic.size import Extent, Unknown, bounds, floor_div
from onnxpad.arithmetic.window import (
    Window,
    output_size,
    pool_output_size,
    same_output_size,
    transposed_output_size,
    window_of,
)

_SAME = ("SAME_UPPER", "SAME_LOWER")
SizeRule = Callable[[Call, Shape, Shape], list[Extent]]
"""From the data's spatial sizes and the kernel's, the result's."""


def _windowed(
    sizes: SizeRule, data: Shape, kernel: Shape, call: Call, least: int = 1
) -> list[Extent]:
    """Return spatial sizes of a result; those not to be told, or below the least, are unknown."""
    try:
        if len(kernel) != len(data):
            raise UndeterminedError(f"a kernel of {len(kernel)} axes on {len(data)}")
        result = sizes(call, data, kernel)
    except UndeterminedError as error:
        return [Unknown(str(error))] * len(data)
    nothing = Unknown("no window fits")
    return [nothing if isinstance(size, int) and size < least else size for size in result]


def _convolution(
    sizes: SizeRule, weight: int, channels: Callable[[Call, Shape], Extent]
) -> ShapeRule:
    """Give the shape of a convolution with its weight at an input."""

    def rule(call: Call) -> Ask[Shape]:
        shape = yield from call.shape_of(0)
        if len(shape) < 3:
            raise UndeterminedError(f"a {call.node.op} of rank {len(shape)}")
        try:
            weights = yield from call.ranked_shape_of(weight, len(shape))
        except UndeterminedError:
            weights = tuple(Unknown("a weight of unknown shape") for _ in shape)
        kernel = call.optional_integers("kernel_shape") or weights[2:]
        return (shape[0], channels(call, weights), *_windowed(sizes, shape[2:], kernel, call))

    return rule


def _pool(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    kernel = call.integers("kernel_shape", ())
    sizes = _windowed(_pool_sizes, shape[2:], kernel, call, least=0)  # empty is no error
    return (*shape[:2], *sizes)


def _global_pool(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    return (*shape[:2], *(1 for _ in shape[2:]))


def _max_unpool(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    if call.has(2):
        return (yield from call.integers_of(2))
    kernel = call.integers("kernel_shape", ())
    return (*shape[:2], *_windowed(_transposed_sizes, shape[2:], kernel, call))


def _region_pool(call: Call) -> Ask[Shape]:
    """Give the shape of a pool over regions, one result for each."""
    shape = yield from call.shape_of(0)
    regions = yield from call.shape_of(1)
    if call.node.op == "MaxRoiPool":
        pooled = call.integers("pooled_shape", ())
    else:
        pooled = (call.integer("output_height", 1), call.integer("output_width", 1))
    return (*regions[:1], *shape[1:2], *pooled)


def _windows(call: Call, kernel: Shape) -> list[Window]:
    """Return the windows along the spatial axes, which must be known."""
    sizes = known(kernel)
    ones = (1,) * len(sizes)
    strides, dilations = call.integers("strides", ones), call.integers("dilations", ones)
    if not len(strides) == len(dilations) == len(sizes):
        raise UndeterminedError("strides or dilations for another number of axes")
    if min((*sizes, *strides, *dilations), default=1) < 1:
        raise UndeterminedError("a kernel, stride or dilation below 1")
    return list(map(window_of, sizes, strides, dilations))


def _pads(call: Call, rank: int) -> list[tuple[int, int]]:
    """Return (begin, end) per spatial axis, without what `auto_pad` asks for."""
    pads = call.integers("pads", (0,) * (2 * rank))
    if len(pads) != 2 * rank:
        raise UndeterminedError(f"{len(pads)} pads for {rank} axes")
    return list(zip(pads[:rank], pads[rank:], strict=True))


def _is_same(call: Call, rank: int) -> bool:
    """Whether `auto_pad` is one of the SAME_*; runtimes differ on `pads` beside it."""
    auto_pad = call.string("auto_pad", "NOTSET")
    if auto_pad not in ("", "NOTSET", "VALID", *_SAME):
        raise UndeterminedError(f"auto_pad {auto_pad}")
    is_same = auto_pad in _SAME
    if (is_same and call.has_attribute("pads")) or (
        auto_pad == "VALID" and any(map(any, _pads(call, rank)))
    ):
        raise UndeterminedError("auto_pad and pads at once")
    return is_same


def _convolution_sizes(call: Call, data: Shape, kernel: Shape) -> list[Extent]:
    is_same = _is_same(call, len(data))
    if is_same:  # no kernel is needed
        windows = _windows(call, (1,) * len(data))
        return [same_output_size(size, window) for size, window in zip(data, windows, strict=True)]
    axes = zip(data, _windows(call, kernel), _pads(call, len(data)), strict=True)
    return [output_size(size, window, *pads) for size, window, pads in axes]


def _pool_sizes(call: Call, data: Shape, kernel: Shape) -> list[Extent]:
    windows = _windows(call, kernel)
    if _is_same(call, len(data)):
        if any(window.dilation > 1 and window.kernel > 1 for window in windows):
            raise UndeterminedError("runtimes differ on a pool with SAME and dilations")
        return [same_output_size(size, window) for size, window in zip(data, windows, strict=True)]
    ceil_mode = call.flag("ceil_mode")
    axes = zip(data, windows, _pads(call, len(data)), strict=True)
    return [
        pool_output_size(size, window, *pads, ceil_mode=ceil_mode) for size, window, pads in axes
    ]


def _transposed_sizes(call: Call, data: Shape, kernel: Shape) -> list[Extent]:
    rank = len(data)
    is_same = _is_same(call, rank)
    output_shape = call.optional_integers("output_shape")
    paddings = call.integers("output_padding", (0,) * rank)
    if len(paddings) != rank or (output_shape and len(output_shape) != rank):
        raise UndeterminedError("output_padding or output_shape for another number of axes")
    if output_shape:
        return list(output_shape)
    sizes: list[Extent] = []
    axes = zip(data, _windows(call, kernel), _pads(call, rank), paddings, strict=True)
    for size, window, pads, padding in axes:
        if not is_same:
            sizes.append(transposed_output_size(size, window, *pads, padding))
        elif window.extent + padding < window.stride:
            sizes.append(Unknown("runtimes differ on SAME with a kernel below the stride"))
        else:
            sizes.append(size * window.stride)
    return sizes


def _resize(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    axes = tuple(
        axis_in(axis, len(shape)) for axis in call.integers("axes", tuple(range(len(shape))))
    )
    result = list(shape)
    scales = 2 if call.opset >= 11 else 1
    if call.opset >= 11 and call.has(3):
        sizes = yield from call.integers_of(3)
        if call.string("keep_aspect_ratio_policy", "stretch") != "stretch":
            sizes = tuple(Unknown("a Resize that keeps the aspect ratio") for _ in sizes)
        if len(sizes) != len(axes):
            raise UndeterminedError("a Resize with another number of sizes than axes")
        for axis, size in zip(axes, sizes, strict=True):
            result[axis] = size
        return tuple(result)
    if call.opset < 9:
        factors: list[Any] = list(call.reals("scales"))
    else:
        factors = list((yield from call.value_of(scales)).data.flat)
    if len(factors) != len(axes):
        raise UndeterminedError("a Resize with another number of scales than axes")
    crops = call.string("coordinate_transformation_mode", "") == "tf_crop_and_resize"
    for axis, factor in zip(axes, factors, strict=True):
        if isinstance(factor, float) and not crops:
            result[axis] = resized(result[axis], factor)
        else:
            result[axis] = Unknown("a scale that is not known, or of a crop")
    return tuple(result)


def resized(size: Extent, scale: float) -> Extent:
    """Return a size times a scale, rounded down, where a float32 product gives the same."""
    if not 0 < scale < np.inf:
        return Unknown(f"a scale of {scale}")
    numerator, denominator = scale.as_integer_ratio()
    if isinstance(size, int):
        exact = size * numerator // denominator
        rounded = int(np.float32(size) * np.float32(scale))
        return exact if exact == rounded else Unknown(f"{size} times {scale} is rounded")
    low, high = bounds(size)
    odd = numerator // (numerator & -numerator)
    if low is None or high is None or max(-low, high) * odd > 2 ** FLOATS[FLOAT].precision:
        return Unknown(f"a size times {scale} is rounded")
    return floor_div(size * numerator, denominator)


def _out_channels(call: Call, weights: Shape) -> Extent:
    return weights[0]


def _transposed_channels(call: Call, weights: Shape) -> Extent:
    return weights[1] * call.integer("group", 1)


WINDOWS: dict[str, ShapeRule] = {
    **named(_pool, "AveragePool LpPool MaxPool"),
    **named(_global_pool, "GlobalAveragePool GlobalLpPool GlobalMaxPool"),
    **named(_convolution(_convolution_sizes, 1, _out_channels), "Conv ConvInteger DeformConv"),
    **named(_region_pool, "MaxRoiPool RoiAlign"),
    **named(_resize, "Resize Upsample"),
    "ConvTranspose": _convolution(_transposed_sizes, 1, _transposed_channels),
    "MaxUnpool": _max_unpool,
    "QLinearConv": _convolution(_convolution_sizes, 3, _out_channels),
}
"""Operators with a sliding window, and those that resize."""
