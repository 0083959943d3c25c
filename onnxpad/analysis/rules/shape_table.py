"""Rules for the shapes of all other operators, and the table of all of them.

The output shape of an operator without a rule is unknown. Sources: the operators' pages of the ONNX
specification. Where opsets differ, the code says which opset it asks for. Of onnxruntime's own
operators there are those that its quantiser puts into models, and a few more; source: onnxruntime,
docs/ContribOperators.md.
"""

from __future__ import annotations

from typing import Final

from onnxpad.analysis.rule_api import Call, ShapeRule, named
from onnxpad.analysis.rules.axis_math import broadcast
from onnxpad.analysis.rules.layout_shapes import LAYOUT_SHAPES, concatenated
from onnxpad.analysis.value import Shape
from onnxpad.arithmetic.size import Unknown
from onnxpad.semantics.operators import MICROSOFT
from onnxpad.semantics.rows import UnreadError, axes_of, axis_of


def _as_data(call: Call) -> Shape:
    return call.shape_of(0)


def _broadcasting(call: Call) -> Shape:
    # Before opset 7 the second input was broadcast to the first.
    return call.shape_of(0) if call.version < 7 else broadcast(call.shapes())


def _normalization(call: Call) -> Shape:
    """Give the shape of the data; that of the statistics has 1 on the normalised axes."""
    shape = call.shape_of(0)
    if call.output == 0:
        return shape
    axis = axis_of(call.integer("axis", -1), len(shape))
    return (*shape[:axis], *(1 for _ in shape[axis:]))


def _matmul(call: Call) -> Shape:
    """Give the shape of the matrix product of two inputs, by numpy's rules."""
    a, b = call.shape_of(0), call.shape_of(1)
    if not a or not b:
        raise UnreadError("a matrix product of a scalar")
    columns = b[-1:] if len(b) > 1 else ()
    return (*broadcast([a[:-2], b[:-2]]), *a[-2:-1], *columns)


def _gemm(call: Call) -> Shape:
    a = call.shape_of(0)
    b = call.shape_of(1)
    if len(a) != 2 or len(b) != 2:
        raise UnreadError("a Gemm of tensors that are not matrices")
    return a[1 if call.flag("transA") else 0], b[0 if call.flag("transB") else 1]


_AXES_SINCE = {"ReduceSum": 13}
"""The opset from which a reduction's axes are an input; 18 for the others."""


def reduced_axes(call: Call, rank: int) -> tuple[int, ...]:
    """Return the axes that a reduction reduces."""
    axes = axes_of(call.axes(_AXES_SINCE.get(call.node.op, 18)) or (), rank)
    if axes or call.flag("noop_with_empty_axes"):
        return axes
    return tuple(range(rank))


def _reduction(call: Call) -> Shape:
    shape = call.shape_of(0)
    keep = call.flag("keepdims", default=True)
    try:
        axes = reduced_axes(call, len(shape))
    except UnreadError:
        if not keep:
            raise
        return tuple(Unknown("a reduction over unknown axes") for _ in shape)
    if keep:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def _q_linear_elementwise(call: Call) -> Shape:
    return broadcast([call.shape_of(0), call.shape_of(3)])


def _q_linear_concat(call: Call) -> Shape:
    """Give the shape of a QLinearConcat: inputs 2, 5, 8 and so on are the parts."""
    parts = [call.shape_of(index) for index in range(2, len(call.node.inputs), 3)]
    return concatenated(parts, call.integer("axis", 1))


BROADCASTING = (
    "Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less"
    " LessOrEqual Max Mean Min Mod Mul Or Pow Sub Sum Where Xor"
)
"""Operators whose inputs are broadcast to one shape, from opset 7 on (some from 8)."""

KEEPING: Final = frozenset(
    {
        "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BatchNormalization", "Bernoulli",
        "BitwiseNot", "Cast", "CastLike", "Ceil", "Celu", "Clip", "Cos", "Cosh", "CumProd",
        "CumSum", "DequantizeLinear", "Dropout", "Elu", "Erf", "Exp", "EyeLike", "Floor", "Gelu",
        "GroupNormalization", "HardSigmoid", "HardSwish", "Hardmax", "Identity",
        "InstanceNormalization", "IsInf", "IsNaN", "LRN", "LeakyRelu", "Log", "LogSoftmax",
        "LpNormalization", "MeanVarianceNormalization", "Mish", "Neg", "Not", "PRelu",
        "QuantizeLinear", "RandomNormalLike", "RandomUniformLike", "Reciprocal", "Relu",
        "ReverseSequence", "Round", "Scatter", "ScatterElements", "ScatterND", "Selu", "Shrink",
        "Sigmoid", "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Softsign", "Sqrt", "Swish", "Tan",
        "Tanh", "ThresholdedRelu", "Trilu",
    }
)  # fmt: skip
"""Operators whose first output has the shape of their first input, by the specification.

Of a PRelu the slope alone is broadcast, but onnxruntime also runs a slope that is longer than the
data, and gives the longer result: its rule of shapes is another.
"""

SHAPES: dict[str, ShapeRule] = {
    **LAYOUT_SHAPES,
    **dict.fromkeys(KEEPING, _as_data),
    **named(_broadcasting, BROADCASTING),
    **named(
        _reduction,
        "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd"
        " ReduceSum ReduceSumSquare",
    ),
    **named(_matmul, "MatMul MatMulInteger"),
    **named(_normalization, "LayerNormalization RMSNormalization"),
    "BatchNormalization": lambda call: call.shape_of(int(call.output > 0)),
    "DynamicQuantizeLinear": lambda call: () if call.output else call.shape_of(0),
    "Gemm": _gemm,
    "PRelu": _broadcasting,
    **named(
        _as_data,
        "BiasGelu DequantizeLinear FastGelu Gelu QLinearLeakyRelu QLinearSigmoid QLinearSoftmax"
        " QuantizeLinear QuickGelu",
        MICROSOFT,
    ),
    **named(_q_linear_elementwise, "QLinearAdd QLinearMul", MICROSOFT),
    **named(_q_linear_concat, "QLinearConcat", MICROSOFT),
}
"""Shape rules of operators without a sliding window."""
