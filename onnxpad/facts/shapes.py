"""Rules for the shapes of sliding windows and of operators that compute, and the table of them.

Where onnxruntime and the specification give different sizes of a window's output, the size is
unknown. Pools are the exception: theirs is truncated, as in onnxruntime and shape inference.

The output shape of an operator without a rule is unknown. Sources: the operators' pages of the ONNX
specification. Where opsets differ, the code says which opset it asks for. Of onnxruntime's own
operators there are those that its quantiser puts into models, and a few more; source: onnxruntime,
docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from onnxpad.arithmetic.size import Extent, Unknown, bounds, floor_div
from onnxpad.arithmetic.window import (
    Window,
    output_size,
    pool_output_size,
    same_output_size,
    transposed_output_size,
)
from onnxpad.facts.reshaping import LAYOUT_SHAPES, broadcast, concatenated, element_of
from onnxpad.facts.rule_api import (
    BOOL,
    FLOAT,
    INT32,
    INT64,
    UINT8,
    Call,
    DtypeRule,
    Shape,
    ShapeRule,
    named,
)
from onnxpad.semantics.layers import is_padded
from onnxpad.semantics.operators import MICROSOFT
from onnxpad.semantics.rows import FORMATS, Row, UnreadError, axes_of
from onnxpad.semantics.window import TRANSPOSED, WINDOWS, Slide, WindowForm, form_of


def _as_data(call: Call) -> Shape:
    return call.shape_of(0)


def _broadcasting(call: Call) -> Shape:
    # Before opset 7 the second input was broadcast to the first.
    return call.shape_of(0) if call.version < 7 else broadcast(call.shapes())


def _matmul(call: Call) -> Shape:
    """Give the shape of the matrix product of two inputs, by numpy's rules."""
    a, b = call.shape_of(0), call.shape_of(1)
    if not a or not b:
        raise UnreadError("a matrix product of a scalar")
    columns = b[-1:] if len(b) > 1 else ()
    return (*broadcast([a[:-2], b[:-2]]), *a[-2:-1], *columns)


def _gemm(call: Call) -> Shape:
    a, b = call.shape_of(0), call.shape_of(1)
    if len(a) != 2 or len(b) != 2:
        raise UnreadError("a Gemm of tensors that are not matrices")
    return a[call.flag("transA")], b[not call.flag("transB")]


def _reduction(call: Call) -> Shape:
    shape, keep = call.shape_of(0), call.flag("keepdims", default=True)
    # Axes became an input, of a sum before they did of others.
    axes = axes_of(call.axes(13 if call.op == "ReduceSum" else 18) or (), len(shape))
    if not axes and not call.flag("noop_with_empty_axes"):
        axes = tuple(range(len(shape)))
    sizes = (1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(sizes) if keep or axis not in axes)


def _q_linear_concat(call: Call) -> Shape:
    """Give the shape of a QLinearConcat: inputs 2, 5, 8 and so on are the parts."""
    parts = [call.shape_of(index) for index in range(2, len(call.node.inputs), 3)]
    return concatenated(parts, call.of("axis", 1))


BROADCASTING = (
    "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or Pow Sub Sum"
    " Where Xor"
)
"""Operators whose inputs are broadcast to one shape, from opset 7 on (some from 8)."""

KEEPING: Final = frozenset(
    {
        "Abs", "BatchNormalization", "Cast", "Ceil", "Celu", "Clip", "Cos", "DequantizeLinear",
        "Dropout", "Elu", "Erf", "Exp", "Floor", "Gelu", "GroupNormalization", "HardSigmoid",
        "HardSwish", "Identity", "InstanceNormalization", "LRN", "LayerNormalization", "LeakyRelu",
        "Log", "LogSoftmax", "Mish", "Neg", "Not", "PRelu", "QuantizeLinear", "RMSNormalization",
        "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softmax", "Softplus",
        "Softsign", "Sqrt", "Swish", "Tanh", "ThresholdedRelu",
    }
)  # fmt: skip
"""Operators whose first output has the shape of their first input, by the specification.

Of a PRelu the slope alone is broadcast, but onnxruntime also runs a slope that is longer than the
data, and gives the longer result: its rule of shapes is another.
"""


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
        weights: Shape | None = shape
        if place is not None:
            weights = call.shape(place) if call.has(place) else None
        if weights is None or len(weights) != len(shape):
            weights = (Unknown("a weight of unknown shape"),) * len(shape)
        notes, key = call.node.notes, (of_row, data, weights[2:])
        sizes: Shape | None = notes.get(key)  # networks repeat the same few windows
        if sizes is None:
            sizes = _sizes(call, row, data)
            if {int}.issuperset(map(type, sizes)):  # an unknown number is that of one node alone
                notes[key] = sizes
        if place is not None:  # a weight that scatters has the channels of one group
            groups = call.of("group", 1)
            channels = (weights[1] * groups if row.transposed else weights[0],)
        return (*shape[:1], *sizes, *channels) if last else (*shape[:1], *channels, *sizes)

    return rule


def _sizes(call: Call, row: Row, data: Shape) -> Shape:
    """The spatial sizes of an output; those at which no window fits are unknown."""
    pools = row.window is not None and row.window.rounding == "pool"
    try:
        sizes = _sizes_read(call, row, data, pools=pools)
    except UnreadError as error:
        return (Unknown(str(error), bool(error.facts.get("disputed"))),) * len(data)
    nothing, least = Unknown("no window fits"), 0 if pools else 1
    return tuple(nothing if isinstance(n, int) and n < least else n for n in sizes)


def _sizes_read(call: Call, row: Row, data: Shape, *, pools: bool) -> list[Extent]:
    slide, *more = _read(call, row)
    if len(slide.axes) != len(data):
        raise UnreadError(f"a kernel of {len(slide.axes)} axes on {len(data)}")
    # Runtimes differ where a node has both.
    is_same = slide.auto_pad.startswith("SAME")
    if slide.pads_written if is_same else slide.auto_pad == "VALID" and is_padded(slide.pads):
        raise UnreadError("auto_pad and pads at once")
    if row.transposed:
        return _transposed_sizes(data, slide, *more)
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
    shape, by_size = call.shape_of(0), call.version >= 11 and call.has(3)
    axes = axes_of(call.of("axes", tuple(range(len(shape)))), len(shape))
    given: Sequence[Any]
    if by_size:
        given = call.integers(3)
        is_odd = call.of("keep_aspect_ratio_policy", "stretch") != "stretch"
    else:
        given = call.value_of(2 if call.version >= 11 else 1).flat
        is_odd = call.of("coordinate_transformation_mode", "") == "tf_crop_and_resize"
    if is_odd or len(given) != len(axes):
        raise UnreadError("a Resize that crops, keeps the aspect ratio, or contradicts its axes")
    sizes = list(shape)
    for axis, asked in zip(axes, given, strict=True):
        sizes[axis] = asked if by_size else resized(shape[axis], asked)
    return tuple(sizes)


def resized(size: Extent, scale: object) -> Extent:
    """Return a size times a scale, rounded down, where the product is exact in float32."""
    high = bounds(size)[1]
    if not isinstance(scale, float) or not 0 < scale < float("inf") or high is None:
        return Unknown(f"a scale of {scale}")
    numerator, denominator = scale.as_integer_ratio()
    if high * (numerator // (numerator & -numerator)) > 2 ** FORMATS[FLOAT][0]:
        return Unknown(f"a size times {scale} is rounded")
    return floor_div(size * numerator, denominator)


SHAPES: dict[str, ShapeRule] = {
    **LAYOUT_SHAPES,
    **dict.fromkeys(KEEPING, _as_data),
    **named(_broadcasting, BROADCASTING + " PRelu"),
    **named(_reduction, "ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum"),
    **named(_global_pool, "GlobalAveragePool GlobalLpPool GlobalMaxPool"),
    **named(_resize, "Resize Upsample"),
    "DynamicQuantizeLinear": lambda call: () if call.output else call.shape_of(0),
    "Gemm": _gemm,
    "MatMul": _matmul,
    **named(
        _as_data,
        "BiasGelu DequantizeLinear FastGelu Gelu QLinearLeakyRelu QLinearSigmoid QLinearSoftmax"
        " QuantizeLinear QuickGelu",
        MICROSOFT,
    ),
    **named(
        lambda call: broadcast([call.shape_of(0), call.shape_of(3)]),
        "QLinearAdd QLinearMul",
        MICROSOFT,
    ),
    **named(_q_linear_concat, "QLinearConcat", MICROSOFT),
    **named(_global_pool, "QLinearGlobalAveragePool", MICROSOFT),
    **{".".join(filter(None, key)): of_row(row) for key, row in {**WINDOWS, **TRANSPOSED}.items()},
}
"""Shape rules by name; the windows of a row come from it."""

SEVERAL: Final = frozenset({"DynamicQuantizeLinear", "MaxPool", "Split"})
"""Operators of which something is known of other outputs than the first."""


def _quantised(call: Call) -> int:
    return call.dtype_of(2) if call.has(2) else call.of("output_dtype", 0) or UINT8


def _dequantised(call: Call) -> int:
    return call.of("output_dtype", 0) or call.dtype_of(1)


DTYPES: dict[str, DtypeRule] = {
    **named(lambda call: BOOL, "And Equal Greater GreaterOrEqual Less LessOrEqual Not Or Xor"),
    **named(lambda call: INT64, "Shape Size"),
    "Cast": lambda call: call.of("to", 0),
    "ConstantOfShape": lambda call: element_of(call)[0],
    "ConvInteger": lambda call: INT32,
    "DynamicQuantizeLinear": lambda call: FLOAT if call.output == 1 else UINT8,
    "MaxPool": lambda call: INT64 if call.output else call.dtype_of(0),
    "QLinearConv": lambda call: call.dtype_of(7),
    **named(lambda call: call.dtype_of(1), "RMSNormalization Where"),
    **named(_quantised, "QuantizeLinear"),
    **named(_dequantised, "DequantizeLinear"),
    **named(_dequantised, "DequantizeLinear", MICROSOFT),
    **named(lambda call: call.dtype_of(2), "QLinearConcat", MICROSOFT),
    **named(lambda call: call.dtype_of(7), "QLinearConv", MICROSOFT),
    **named(_quantised, "QuantizeLinear", MICROSOFT),
}
"""Operators with a shape rule whose output type is not that of input 0."""
