"""Element types of the operators' outputs."""

from __future__ import annotations

from onnx import TensorProto

from onnxpad.analysis.rule_api import Call, DtypeRule, named
from onnxpad.analysis.value import BOOL, FLOAT, INT32, INT64, UINT8
from onnxpad.semantics.operators import MICROSOFT


def first_input_dtype(call: Call) -> int:
    """Return the type of input 0, which most operators give."""
    return call.dtype_of(0)


def input_dtype(index: int) -> DtypeRule:
    """Return a rule that gives the type of one input."""

    def rule(call: Call) -> int:
        return call.dtype_of(index)

    return rule


def _of_outputs(*dtypes: int | None) -> DtypeRule:
    """Give a type for each output (None: that of input 0); the last is for all further ones."""

    def rule(call: Call) -> int:
        dtype = dtypes[min(call.output, len(dtypes) - 1)]
        return call.dtype_of(0) if dtype is None else dtype

    return rule


def _of_attribute(name: str, default: int | None) -> DtypeRule:
    """Give the type in an attribute; without it the default, or for None that of input 0."""

    def rule(call: Call) -> int:
        dtype = call.integer(name, TensorProto.UNDEFINED)
        if dtype:
            return dtype
        return call.dtype_of(0) if default is None else default

    return rule


def _constant_of_shape(call: Call) -> int:
    value = call.tensor("value")
    return FLOAT if value is None else int(value.data_type)


def _batch_normalization(call: Call) -> int:
    return call.dtype_of(0 if call.output == 0 else 3)


def _dropout(call: Call) -> int:
    if call.output > 0 and call.version >= 10:
        return BOOL
    return call.dtype_of(0)


def _layer_normalization(call: Call) -> int:
    if call.output > 0:
        return call.integer("stash_type", FLOAT)
    return call.dtype_of(0)


def _quantize_linear(call: Call) -> int:
    if call.has(2):
        return call.dtype_of(2)
    return call.integer("output_dtype", 0) or UINT8


def _dequantize_linear(call: Call) -> int:
    return call.integer("output_dtype", 0) or call.dtype_of(1)


DTYPES: dict[str, DtypeRule] = {
    **named(
        _of_outputs(BOOL),
        "And Equal Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual Not Or Xor",
    ),
    **named(_of_outputs(INT64), "Shape Size"),
    **named(_of_outputs(INT32), "ConvInteger MatMulInteger"),
    **named(_of_outputs(None, INT64), "MaxPool"),
    **named(input_dtype(7), "QLinearConv"),
    **named(input_dtype(1), "CastLike RMSNormalization Where"),
    **named(_of_attribute("dtype", None), "Bernoulli EyeLike RandomNormalLike RandomUniformLike"),
    "BatchNormalization": _batch_normalization,
    "Cast": _of_attribute("to", None),
    "ConstantOfShape": _constant_of_shape,
    "DequantizeLinear": _dequantize_linear,
    "Dropout": _dropout,
    "DynamicQuantizeLinear": _of_outputs(UINT8, FLOAT, UINT8),
    "LayerNormalization": _layer_normalization,
    "QuantizeLinear": _quantize_linear,
    **named(_dequantize_linear, "DequantizeLinear", MICROSOFT),
    **named(input_dtype(2), "QLinearConcat", MICROSOFT),
    **named(input_dtype(7), "QLinearConv", MICROSOFT),
    **named(_quantize_linear, "QuantizeLinear", MICROSOFT),
}
"""Operators with a shape rule whose output type is not that of input 0."""
