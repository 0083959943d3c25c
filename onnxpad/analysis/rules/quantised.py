"""The rule for the contents of what was quantised; source: the page of DequantizeLinear."""

from __future__ import annotations

from typing import Any

from onnxpad.analysis import floats
from onnxpad.analysis.rounding import FLOATS
from onnxpad.analysis.rule_api import Ask, Call, UndeterminedError, ValueRule, axis_in, named
from onnxpad.analysis.value import INTEGERS, Elements, each, filled
from onnxpad.arithmetic.size import Unknown
from onnxpad.semantics.operators import MICROSOFT


def _dequantize(call: Call) -> Ask[Elements]:
    value = yield from call.value_of(0)
    if value.dtype not in INTEGERS or call.dtype not in FLOATS:
        raise UndeterminedError("a DequantizeLinear of other types")
    scale = yield from _parameter(call, 1, call.dtype, value.data)
    zero = filled(0, ())
    if call.has(2):
        zero = yield from _parameter(call, 2, value.dtype, value.data)

    def dequantized(q: Any, scale: Any, zero: Any) -> object:
        difference = q - zero
        if isinstance(difference, int) and abs(difference) > 2 ** FLOATS[call.dtype].precision:
            return Unknown("a difference that is rounded")
        return floats.multiply(floats.from_integer(difference, call.dtype), scale, call.dtype)

    return each(dequantized, value.data, scale, zero)


def _parameter(call: Call, index: int, dtype: int, data: Elements) -> Ask[Elements]:
    """Return a scale or a zero point, reshaped so that it broadcasts to the data."""
    parameter = yield from call.operand(index, dtype)
    if parameter.size == 1 and parameter.ndim <= 1:
        return parameter.reshape(())
    if call.integer("block_size", 0) or parameter.ndim != 1 or not data.ndim:
        raise UndeterminedError(f"{call.op} with one scale per block")
    axis = axis_in(call.integer("axis", 1), data.ndim)
    if parameter.size != data.shape[axis]:
        raise UndeterminedError(f"{call.op} with a scale for another size")
    return parameter.reshape(-1, *(1 for _ in data.shape[axis + 1 :]))


QUANTISED: dict[str, ValueRule] = {
    "DequantizeLinear": _dequantize,
    **named(_dequantize, "DequantizeLinear", MICROSOFT),
}
"""Value rules; onnxruntime's own operators of the standard names do the same."""
