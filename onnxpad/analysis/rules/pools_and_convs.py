"""Rules for the output shapes of sliding windows and resizing.

Where onnxruntime and the specification give different sizes, the size is unknown. Pools are the
exception: their size is truncated, as in onnxruntime and shape inference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from onnxpad.analysis.rounding import FLOATS
from onnxpad.analysis.rule_api import Ask, Call, ShapeRule, UndeterminedError, axis_in, named
from onnxpad.analysis.value import FLOAT, Shape
from onnxpad.arithmetic.size import Extent, Size, Unknown, bounds, floor_div, symbol
from onnxpad.arithmetic.window import (
    Window,
    output_size,
    pool_output_size,
    same_output_size,
    transposed_output_size,
)
from onnxpad.errors import ModelError
from onnxpad.semantics.amounts import is_padded
from onnxpad.semantics.operators import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    MICROSOFT,
    OPERATORS,
    Layout,
    Operator,
)
from onnxpad.semantics.rows import UnreadError
from onnxpad.semantics.window import Slide, integers, slide_of

P = ParamSpec("P")
T = TypeVar("T")

SizeRule = Callable[[Call, Shape, Slide], list[Extent]]
"""Computes the output's spatial sizes from the data's and from how the window slides."""
LayoutRule = Callable[[Call, Layout], Ask[Shape]]
"""Computes a shape in a layout."""


def _windowed(
    sizes: SizeRule, data: Shape, kernel: Shape, call: Call, least: int = 1
) -> list[Extent]:
    """Return an output's spatial sizes; undetermined ones, and those below `least`, are unknown."""
    notes, key = call.node.notes, (sizes, data, kernel, least)
    if key in notes:
        known: list[Extent] = notes[key]
        return known
    try:
        if len(kernel) != len(data):
            raise UndeterminedError(f"a kernel of {len(kernel)} axes on {len(data)}")
        result = sizes(call, data, _slide(call, kernel))
    except UndeterminedError as error:
        return [Unknown(str(error), error.is_disputed)] * len(data)
    nothing = Unknown("no window fits")
    found = [nothing if isinstance(size, int) and size < least else size for size in result]
    if {int}.issuperset(map(type, found)):  # an unknown number is that of one node alone
        notes[key] = found
    return found


def _convolution(sizes: SizeRule, weight: int, weight_layout: Layout) -> LayoutRule:
    """Make the rule for the shape of a convolution whose weight is an input."""

    def rule(call: Call, layout: Layout) -> Ask[Shape]:
        shape = yield from call.shape_of(0)
        if len(shape) <= layout.rank(0):
            raise UndeterminedError(f"a {call.node.op} of rank {len(shape)}")
        try:
            weights = yield from call.ranked_shape_of(weight, len(shape))
        except UndeterminedError:
            weights = tuple(Unknown("a weight of unknown shape") for _ in shape)
        kernel = _kernel_shape(call) or weight_layout.spatial(weights)
        result = list(layout.replaced(shape, _windowed(sizes, layout.spatial(shape), kernel, call)))
        # A weight that scatters has the channels of one group.
        groups = call.integer("group", 1) if sizes is _transposed_sizes else 1
        result[layout.channels] = weights[weight_layout.batch] * groups
        return tuple(result)

    return rule


def _pool(sizes: SizeRule, least: int) -> LayoutRule:
    """Make the rule for the shape of a pool; an output size below `least` is an error."""

    def rule(call: Call, layout: Layout) -> Ask[Shape]:
        shape = yield from call.shape_of(0)
        spatial = _windowed(sizes, layout.spatial(shape), _kernel_shape(call), call, least)
        return layout.replaced(shape, spatial)

    return rule


def of_row(row: Operator) -> ShapeRule:
    """Make the rule for the shape of an operator of the table, in either layout."""
    place, weight_layout, window = row.inputs.weight, row.weight_layout, row.row.window
    sizes = _pool_sizes if row.pools else _convolution_sizes
    if place is None or weight_layout is None:
        each = _pool(sizes, int(not row.pools))
    else:
        each = _convolution(_transposed_sizes if row.scatters else sizes, place, weight_layout)

    def rule(call: Call) -> Ask[Shape]:
        by_node = window is not None and window.last is None and call.flag("channels_last")
        return (yield from each(call, CHANNELS_LAST if by_node else row.layout))

    return rule


def _deformed(call: Call) -> Ask[Shape]:
    return (yield from _convolution(_convolution_sizes, 1, CHANNELS_FIRST)(call, CHANNELS_FIRST))


def _global_pool(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    layout = CHANNELS_LAST if call.flag("channels_last") else CHANNELS_FIRST
    return layout.replaced(shape, [1] * len(layout.axes(len(shape))))


def _max_unpool(call: Call) -> Ask[Shape]:
    if call.has(2):
        return (yield from call.integers_of(2))
    return (yield from _pool(_transposed_sizes, 1)(call, CHANNELS_FIRST))


def _region_pool(call: Call) -> Ask[Shape]:
    """Give the shape of a pool over regions of interest: one output for each."""
    shape = yield from call.shape_of(0)
    regions = yield from call.shape_of(1)
    if call.node.op == "MaxRoiPool":
        pooled = call.integers("pooled_shape", ())
    else:
        pooled = (call.integer("output_height", 1), call.integer("output_width", 1))
    return (*regions[:1], *shape[1:2], *pooled)


def _slide(call: Call, kernel: Shape) -> Slide:
    """Return how a window slides; an unknown kernel is a symbol."""
    said = tuple([size if isinstance(size, int | Size) else symbol("?") for size in kernel])
    slide = _read(slide_of, call.node, said)
    is_same = slide.auto_pad.startswith("SAME")
    # Runtimes differ where a node has both.
    if slide.pads_written if is_same else slide.auto_pad == "VALID" and is_padded(slide.pads):
        raise UndeterminedError("auto_pad and pads at once")
    return slide


def _kernel_shape(call: Call) -> Shape:
    """Return the kernel as written; empty where it is not."""
    return _read(integers, call.node, "kernel_shape", None, least=1) or ()


def _windows(slide: Slide) -> list[Window]:
    """Return the windows along the spatial axes, whose kernels must be known."""
    windows = [window for window in slide.axes if isinstance(window, Window)]
    if len(windows) != len(slide.axes):
        raise UndeterminedError("a kernel that must be known is unknown")
    return windows


def _read(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a reader of window operators; its errors become `UndeterminedError`."""
    try:
        return read(*args, **kwargs)
    except (ModelError, UnreadError) as error:
        raise UndeterminedError(str(error)) from error


def _convolution_sizes(call: Call, data: Shape, slide: Slide) -> list[Extent]:
    if slide.auto_pad.startswith("SAME"):
        return list(map(same_output_size, data, slide.axes))
    axes = zip(data, _windows(slide), slide.pads, strict=True)
    return [output_size(size, window, *pads) for size, window, pads in axes]


def _pool_sizes(call: Call, data: Shape, slide: Slide) -> list[Extent]:
    if slide.auto_pad.startswith("SAME"):
        if any(window.dilation > 1 and window.kernel > 1 for window in _windows(slide)):
            raise UndeterminedError(
                "runtimes differ on a pool with SAME and dilations", is_disputed=True
            )
        return list(map(same_output_size, data, slide.axes))
    ceil_mode = slide.ceil
    if ceil_mode:
        call.flag("ceil_mode")  # raises unless 0 or 1: runtimes differ on other numbers
    axes = zip(data, _windows(slide), slide.pads, strict=True)
    return [
        pool_output_size(size, window, *pads, ceil_mode=ceil_mode) for size, window, pads in axes
    ]


def _transposed_sizes(call: Call, data: Shape, slide: Slide) -> list[Extent]:
    rank = len(data)
    is_same = slide.auto_pad.startswith("SAME")
    output_shape = call.optional_integers("output_shape")
    paddings = call.integers("output_padding", (0,) * rank)
    if len(paddings) != rank or (output_shape and len(output_shape) != rank):
        raise UndeterminedError("output_padding or output_shape for another number of axes")
    if output_shape:
        return list(output_shape)
    sizes: list[Extent] = []
    axes = zip(data, _windows(slide), slide.pads, paddings, strict=True)
    for size, window, pads, padding in axes:
        if not is_same:
            sizes.append(transposed_output_size(size, window, *pads, padding))
        elif window.extent + padding < window.stride:
            said = "runtimes differ on SAME with a kernel below the stride"
            sizes.append(Unknown(said, is_disputed=True))
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
            result[axis] = Unknown("an unknown scale, or one of a crop")
    return tuple(result)


def resized(size: Extent, scale: float) -> Extent:
    """Return a size times a scale, rounded down, where the product in float32 gives the same."""
    if not 0 < scale < np.inf:
        return Unknown(f"a scale of {scale}")
    numerator, denominator = scale.as_integer_ratio()
    if isinstance(size, int):
        exact = size * numerator // denominator
        if exact > 2**62:
            return Unknown(f"{size} times {scale} is no size")
        rounded = int(np.float32(size) * np.float32(scale))
        return exact if exact == rounded else Unknown(f"{size} times {scale} is rounded")
    low, high = bounds(size)
    odd = numerator // (numerator & -numerator)
    if low is None or high is None or max(-low, high) * odd > 2 ** FLOATS[FLOAT].precision:
        return Unknown(f"a size times {scale} is rounded")
    return floor_div(size * numerator, denominator)


WINDOWS: dict[str, ShapeRule] = {
    **named(_global_pool, "GlobalAveragePool GlobalLpPool GlobalMaxPool"),
    **named(_global_pool, "QLinearGlobalAveragePool", MICROSOFT),
    "DeformConv": _deformed,
    **named(_region_pool, "MaxRoiPool RoiAlign"),
    **named(_resize, "Resize Upsample"),
    "MaxUnpool": _max_unpool,
    **{".".join(filter(None, key)): of_row(row) for key, row in OPERATORS.items()},
}
"""Shape rules of operators with a sliding window, and of those that resize; a row comes first."""
