"""How a transposed convolution spreads elements, and how that is read of a node.

A transposed convolution spreads each element over one window of a line that has no end on either
side. Where no window reaches, the line holds the bias alone. `pads`, `output_padding`,
`output_shape` and `auto_pad` only say which part of the line is the output. So the output is the
full result with a layer around it: negative amounts crop, positive ones append what the line holds.

The full result is all that windows reach, where the line holds one known number elsewhere. Where
that is not so, the elements that `output_padding` may append (one less than the stride, at the end
of each axis) belong to it too, and the layer only crops.

Source: the page of ConvTranspose in the ONNX specification; what onnxruntime does was measured,
and is in its conv_transpose_attributes.h.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.arithmetic.size import Extent, Unknown, always, floor_div, less, less_equal
from onnxpad.arithmetic.window import Window
from onnxpad.reasons import Reason
from onnxpad.semantics.layers import ExtentPairs, Fill, Layer, Operand, merged, never_pads
from onnxpad.semantics.rows import Call, Passed, UnreadError
from onnxpad.semantics.window import SpreadForm, integers, kernel_of, slide_of

_PLACING = frozenset(
    {"auto_pad", "dilations", "kernel_shape", "output_padding", "output_shape", "pads", "strides"}
)
_BEFORE = 2  # batch and channels


def spread_form(call: Call) -> SpreadForm:
    """Reads the attributes of a transposed convolution."""
    assert call.row.transposed is not None
    kernel, rank = kernel_of(call, call.row.transposed[0]), call.rank()
    slide, axes = slide_of(call.node, kernel, crops=True), len(kernel)
    if rank is not None and rank != _BEFORE + axes:
        raise UnreadError(f"its data has {rank} axes, and its weight {_BEFORE + axes}")
    appended = integers(call.node, "output_padding", axes, least=0) or (0,) * axes
    return slide, appended, integers(call.node, "output_shape", axes, least=1)


def spread_of(call: Call) -> Passed:
    """How a node spreads elements, as onnxruntime and the specification have it.

    The specification wants `pads` of 0 or more, and onnxruntime refuses others. Its formula for the
    size is read for negative ones too, which exporters write: these append.

    Where the output may be empty, which onnxruntime refuses, the key also holds which part of that
    axis of the line is output.
    """
    node, how, form = call.node, call.row.transposed, spread_form(call)
    assert how is not None
    axes = form[0].axes
    shape = call.shape()
    found = tuple(ends_of(form, shape))
    ends: ExtentPairs = tuple((begin, end) for begin, end, _ in found)
    fill = _beyond(call, how[1])
    others = call.written(but=_PLACING)
    key = call.row.op, call.version, axes, others
    pairs = zip(axes, ends, strict=True)
    cropped = tuple((begin, end - (axis.stride - 1)) for axis, (begin, end) in pairs)
    is_further = fill is None and never_pads(cropped)
    around = cropped if is_further else ends
    value: Fill = Operand(how[1]) if fill is None else fill
    number = 0 if never_pads(around) else value
    return Passed(
        (*key, is_further, _perhaps_empty(shape, axes, ends)),
        merged([Layer((*((0, 0),) * _BEFORE, *around), number)]),
        tuple(place for place, each in enumerate(node.inputs) if place and each.name),
        runs=_runs(call, form, found),
        disputed=any(is_open for _, _, is_open in found),
    )


def _runs(call: Call, form: SpreadForm, ends: tuple[tuple[Extent, Extent, bool], ...]) -> bool:
    """Whether onnxruntime runs it, which appends less than a stride, by whatever attribute.

    An empty `auto_pad` beside `pads` fails its inference of shapes, from version 11 on.
    """
    is_empty = call.version >= 11 and call.attribute("auto_pad") == ""
    slide, appended, _ = form
    if slide.pads_written and (min(map(min, slide.pads)) < 0 or is_empty):
        return False
    return all(
        more < axis.stride and always(less(end - more, axis.stride)) is True
        for axis, more, (_, end, _) in zip(slide.axes, appended, ends, strict=True)
    )


def ends_of(
    form: SpreadForm, shape: tuple[Extent, ...] | None
) -> Iterator[tuple[Extent, Extent, bool]]:
    """How much the output is longer than what windows reach, at the begin and end of each axis.

    Where more elements are asked for than there are, the specification divides a negative number,
    and leaves open how: the third one says so. onnxruntime appends those of an `output_shape` at
    the end, and none of SAME.
    """
    slide, appended, wanted = form
    axes, auto_pad, pads = slide.axes, slide.auto_pad, slide.pads
    if auto_pad != "NOTSET" and slide.pads_written:
        raise UnreadError("it has both auto_pad and pads", Reason.AUTO_PAD_AND_PADS)
    for place, (axis, more) in enumerate(zip(axes, appended, strict=True)):
        if wanted is None and not auto_pad.startswith("SAME"):
            begin, end = pads[place]
            yield -begin, more - end, False
            continue
        total: Extent
        if wanted is None:  # the size n cancels out of s(n - 1) + extent + more - sn
            total = axis.extent + more - axis.stride
        else:
            total = _reach(shape, axes, place) + more - wanted[place]
        if isinstance(total, int) and total < 0:
            yield 0, more - (0 if wanted is None else total), True
            continue
        if isinstance(total, Unknown) or always(less_equal(0, total)) is not True:
            said = f"its output is fixed, but not the size of axis {_BEFORE + place} of its data"
            raise UnreadError(said, Reason.SIZE_DEPENDENT, axes=[_BEFORE + place])
        half = floor_div(total, 2)
        first = half if auto_pad == "SAME_UPPER" else total - half
        yield -first, more - (total - first), False


def _reach(shape: tuple[Extent, ...] | None, axes: tuple[Window, ...], place: int) -> Extent:
    """How many elements of the line windows reach along an axis; unknown where its size is."""
    if shape is None:
        return Unknown("the size of the data is unknown")
    return axes[place].stride * (shape[_BEFORE + place] - 1) + axes[place].extent


def _perhaps_empty(
    shape: tuple[Extent, ...] | None, axes: tuple[Window, ...], ends: ExtentPairs
) -> tuple[tuple[int, tuple[Extent, Extent]], ...]:
    """The axes on which the output may have no elements at some size, each with its ends."""
    return tuple(
        (place, (begin, end))
        for place, (begin, end) in enumerate(ends)
        if always(less_equal(1, _reach(shape, axes, place) + begin + end)) is not True
    )


def _beyond(call: Call, bias: int) -> float | None:
    """What the line holds where no window reaches; None where that is no known number.

    Both engines add the bias to 0, so a bias of -0.0 gives 0.0.
    """
    if call.operand(bias) is None:
        return 0.0
    array = call.constant(bias)
    if array is None or not array.size or array.dtype.kind != "f":
        return None
    return float(array.max()) + 0.0 if array.min() == array.max() else None
