"""Element types of the operators' outputs."""

from __future__ import annotations

from onnxpad.analysis.rule_api import Call, DtypeRule, named
from onnxpad.analysis.value import BOOL, FLOAT, INT32, INT64, UINT8
from onnxpad.semantics.operators import MICROSOFT


def first_input_dtype(call: Call) -> int:
    """Return the type of input 0, which most operators give."""
    return call.dtype_of(0)


def _constant_of_shape(call: Call) -> int:
    value = call.tensor("value")
    return FLOAT if value is None else int(value.data_type)


def _dropout(call: Call) -> int:
    return BOOL if call.output and call.version >= 10 else call.dtype_of(0)


def _quantised(call: Call) -> int:
    return call.dtype_of(2) if call.has(2) else call.integer("output_dtype", 0) or UINT8


def _dequantised(call: Call) -> int:
    return call.integer("output_dtype", 0) or call.dtype_of(1)


def _normalised(call: Call) -> int:
    return call.integer("stash_type", FLOAT) if call.output else call.dtype_of(0)


DTYPES: dict[str, DtypeRule] = {
    **named(
        lambda call: BOOL,
        "And Equal Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual Not Or Xor",
    ),
    **named(lambda call: INT64, "Shape Size"),
    **named(lambda call: INT32, "ConvInteger MatMulInteger"),
    **named(lambda call: call.dtype_of(1), "CastLike RMSNormalization Where"),
    **named(
        lambda call: call.integer("dtype", 0) or call.dtype_of(0),
        "Bernoulli EyeLike RandomNormalLike RandomUniformLike",
    ),
    "BatchNormalization": lambda call: call.dtype_of(3 if call.output else 0),
    "Cast": lambda call: call.integer("to", 0) or call.dtype_of(0),
    "ConstantOfShape": _constant_of_shape,
    "DequantizeLinear": _dequantised,
    "Dropout": _dropout,
    "DynamicQuantizeLinear": lambda call: FLOAT if call.output == 1 else UINT8,
    "LayerNormalization": _normalised,
    "MaxPool": lambda call: INT64 if call.output else call.dtype_of(0),
    "QLinearConv": lambda call: call.dtype_of(7),
    "QuantizeLinear": _quantised,
    **named(_dequantised, "DequantizeLinear", MICROSOFT),
    **named(lambda call: call.dtype_of(2), "QLinearConcat", MICROSOFT),
    **named(lambda call: call.dtype_of(7), "QLinearConv", MICROSOFT),
    **named(_quantised, "QuantizeLinear", MICROSOFT),
}
"""Operators with a shape rule whose output type is not that of input 0."""
