"""Rules for the output shapes of sliding windows and resizing.

Where onnxruntime and the specification give different sizes, the size is unknown. Pools are the
exception: their size is truncated, as in onnxruntime and shape inference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxpad.analysis.rule_api import Call, ShapeRule, named
from onnxpad.analysis.value import FLOAT, Shape
from onnxpad.arithmetic.size import Extent, Unknown, bounds, floor_div
from onnxpad.arithmetic.window import (
    Window,
    output_size,
    pool_output_size,
    same_output_size,
    transposed_output_size,
)
from onnxpad.semantics.amounts import is_padded
from onnxpad.semantics.operators import MICROSOFT
from onnxpad.semantics.rows import FORMATS, Row, UnreadError, axes_of
from onnxpad.semantics.window import TRANSPOSED, WINDOWS, Slide, WindowForm, form_of


def of_row(row: Row) -> ShapeRule:
    """Make the rule for the shape of an operator of the table."""
    window = row.window
    place = row.transposed[0] if row.transposed else None if window is None else window.weight

    def rule(call: Call) -> Shape:
        last = window is not None and window.last
        if last is None:
            last = call.flag("channels_last")
        shape = call.shape_of(0)
        data, channels = (shape[1:-1], shape[-1:]) if last else (shape[2:], shape[1:2])
        if not data:
            raise UnreadError(f"a {row.op} of rank {len(shape)}")
        weights = shape if place is None else _weights(call, place, len(shape))
        notes, key = call.node.notes, (of_row, data, weights[2:])
        sizes: Shape | None = notes.get(key)  # networks repeat the same few windows
        if sizes is None:
            sizes = _sizes(call, row, data)
            if {int}.issuperset(map(type, sizes)):  # an unknown number is that of one node alone
                notes[key] = sizes
        if place is not None:  # a weight that scatters has the channels of one group
            groups = call.integer("group", 1)
            channels = (weights[1] * groups if row.transposed else weights[0],)
        return (*shape[:1], *sizes, *channels) if last else (*shape[:1], *channels, *sizes)

    return rule


def _weights(call: Call, place: int, rank: int) -> Shape:
    try:
        return call.ranked_shape_of(place, rank)
    except UnreadError:
        return tuple(Unknown("a weight of unknown shape") for _ in range(rank))


def _sizes(call: Call, row: Row, data: Shape) -> Shape:
    """The spatial sizes of an output; those at which no window fits are unknown."""
    least = 0 if row.window is not None and row.window.rounding == "pool" else 1
    try:
        sizes = _sizes_read(call, row, data)
    except UnreadError as error:
        return (Unknown(str(error), bool(error.facts.get("disputed"))),) * len(data)
    nothing = Unknown("no window fits")
    return tuple(nothing if isinstance(n, int) and n < least else n for n in sizes)


def _sizes_read(call: Call, row: Row, data: Shape) -> list[Extent]:
    slide, *more = _read(call, row)
    if len(slide.axes) != len(data):
        raise UnreadError(f"a kernel of {len(slide.axes)} axes on {len(data)}")
    # Runtimes differ where a node has both.
    is_same = slide.auto_pad.startswith("SAME")
    if slide.pads_written if is_same else slide.auto_pad == "VALID" and is_padded(slide.pads):
        raise UnreadError("auto_pad and pads at once")
    if row.transposed:
        return _transposed_sizes(data, slide, *more)
    pools = row.window is not None and row.window.rounding == "pool"
    if is_same:
        if pools and any(window.dilation > 1 and window.kernel > 1 for window in _windows(slide)):
            raise UnreadError("runtimes differ on a pool with SAME and dilations", disputed=True)
        return list(map(same_output_size, data, slide.axes))
    axes = zip(data, _windows(slide), slide.pads, strict=True)
    # Runtimes differ on other numbers than 0 and 1.
    how = {"ceil_mode": call.flag("ceil_mode")} if pools else {}
    size_of = pool_output_size if pools else output_size
    return [size_of(size, window, *pads, **how) for size, window, pads in axes]


def _read(call: Call, row: Row) -> tuple[Any, ...]:
    """How a window slides; with what is appended and asked for, if it scatters."""
    if not row.transposed:
        return (form_of(call.by(row)),)
    from onnxpad.semantics.transposed import spread_form

    return spread_form(call.by(row))


def _windows(slide: Slide | WindowForm) -> list[Window]:
    """Return the windows along the spatial axes, whose kernels must be known."""
    windows = [window for window in slide.axes if isinstance(window, Window)]
    if len(windows) != len(slide.axes):
        raise UnreadError("a kernel that must be known is unknown")
    return windows


def _transposed_sizes(
    data: Shape, slide: Slide, paddings: tuple[int, ...], wanted: tuple[int, ...] | None
) -> list[Extent]:
    if wanted is not None:
        return list(wanted)
    if min(map(min, slide.pads)) < 0:
        raise UnreadError("pads are negative, which the specification forbids")
    sizes: list[Extent] = []
    axes = zip(data, _windows(slide), slide.pads, paddings, strict=True)
    for size, window, pads, padding in axes:
        if not slide.auto_pad.startswith("SAME"):
            sizes.append(transposed_output_size(size, window, *pads, padding))
        elif window.extent + padding < window.stride:
            said = "runtimes differ on SAME with a kernel below the stride"
            sizes.append(Unknown(said, is_disputed=True))
        else:
            sizes.append(size * window.stride)
    return sizes


def _global_pool(call: Call) -> Shape:
    shape = call.shape_of(0)
    ones = (1,) * (len(shape) - 2)
    last = call.flag("channels_last")
    return (*shape[:1], *ones, *shape[-1:]) if last else (*shape[:2], *ones)


def _resize(call: Call) -> Shape:
    shape = call.shape_of(0)
    axes = axes_of(call.ints("axes", tuple(range(len(shape)))), len(shape))
    result = list(shape)
    scales = 2 if call.version >= 11 else 1
    if call.version >= 11 and call.has(3):
        sizes = call.integers(3)
        if call.string("keep_aspect_ratio_policy", "stretch") != "stretch":
            sizes = tuple(Unknown("a Resize that keeps the aspect ratio") for _ in sizes)
        if len(sizes) != len(axes):
            raise UnreadError("a Resize with another number of sizes than axes")
        for axis, size in zip(axes, sizes, strict=True):
            result[axis] = size
        return tuple(result)
    if call.version < 9:
        factors: list[Any] = list(call.attribute("scales", ()))
    else:
        factors = list(call.value_of(scales).data.flat)
    if len(factors) != len(axes):
        raise UnreadError("a Resize with another number of scales than axes")
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
    if low is None or high is None or max(-low, high) * odd > 2 ** FORMATS[FLOAT][0]:
        return Unknown(f"a size times {scale} is rounded")
    return floor_div(size * numerator, denominator)


SLIDING: dict[str, ShapeRule] = {
    **named(_global_pool, "GlobalAveragePool GlobalLpPool GlobalMaxPool"),
    **named(_global_pool, "QLinearGlobalAveragePool", MICROSOFT),
    **named(_resize, "Resize Upsample"),
    **{".".join(filter(None, key)): of_row(row) for key, row in {**WINDOWS, **TRANSPOSED}.items()},
}
"""Shape rules of operators with a sliding window, and of those that resize; a row comes first."""
