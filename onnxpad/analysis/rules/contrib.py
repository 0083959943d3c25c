"""Shapes and types of onnxruntime's own operators (domain com.microsoft).

These are the ones that its quantiser puts into models, and a few more. Source: onnxruntime,
docs/ContribOperators.md.
"""

from __future__ import annotations

from onnxpad.analysis.rule_api import Ask, Call, DtypeRule, ShapeRule, named
from onnxpad.analysis.rules.axis_math import broadcast
from onnxpad.analysis.rules.dtypes import DTYPES, input_dtype
from onnxpad.analysis.rules.layout_shapes import concatenated
from onnxpad.analysis.rules.pools_and_convs import WINDOWS
from onnxpad.analysis.rules.shape_table import SHAPES
from onnxpad.analysis.value import FLOAT, Shape

DOMAIN = "com.microsoft"


def _elementwise(call: Call) -> Ask[Shape]:
    left = yield from call.shape_of(0)
    right = yield from call.shape_of(3)
    return broadcast([left, right])


def _concat(call: Call) -> Ask[Shape]:
    """Give the shape of a QLinearConcat: inputs 2, 5, 8 and so on are the parts."""
    shapes = []
    for index in range(2, len(call.node.inputs), 3):
        shape = yield from call.shape_of(index)
        shapes.append(shape)
    return concatenated(shapes, call.integer("axis", 1))


def _gemm(call: Call) -> Ask[Shape]:
    a = yield from call.ranked_shape_of(0, 2)
    b = yield from call.ranked_shape_of(3, 2)
    return a[1 if call.flag("transA") else 0], b[0 if call.flag("transB") else 1]


def _gemm_dtype(call: Call) -> Ask[int]:
    return (yield from call.dtype_of(8)) if call.has(8) else FLOAT


CONTRIB_SHAPES: dict[str, ShapeRule] = {
    **named(
        SHAPES["Relu"],
        "BiasGelu DequantizeLinear FastGelu Gelu QLinearLeakyRelu QLinearSigmoid QLinearSoftmax"
        " QuantizeLinear QuickGelu",
    ),
    **named(_elementwise, "QLinearAdd QLinearMul"),
    "QGemm": _gemm,
    "QLinearConcat": _concat,
    "QLinearGlobalAveragePool": WINDOWS["GlobalAveragePool"],
}
"""Shape rules by name of the operator, without the domain; those with a window are in `WINDOWS`."""

CONTRIB_DTYPES: dict[str, DtypeRule] = {
    "DequantizeLinear": DTYPES["DequantizeLinear"],
    "QGemm": _gemm_dtype,
    "QLinearConcat": input_dtype(2),
    "QLinearConv": DTYPES["QLinearConv"],
    "QuantizeLinear": DTYPES["QuantizeLinear"],
}
"""Operators whose output type is not that of input 0."""
