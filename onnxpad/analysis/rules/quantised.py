"""Rules for the contents of quantised tensors.

Some runtimes divide by the scale, others multiply by its inverse. Where these differ, the result is
unknown. Source: the operators' pages of the ONNX specification.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from onnx import TensorProto

from onnxpad.analysis import floats
from onnxpad.analysis.rounding import FLOATS
from onnxpad.analysis.rule_api import Ask, Call, UndeterminedError, ValueRule, axis_in, named
from onnxpad.analysis.value import FLOAT, INTEGERS, Elements, each, filled
from onnxpad.arithmetic.size import Unknown
from onnxpad.semantics.operators import MICROSOFT

_QUANTISED = frozenset({TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16})


def _quantize(call: Call) -> Ask[Elements]:
    value = yield from call.value_of(0)
    if call.dtype not in _QUANTISED or value.dtype not in FLOATS:
        raise UndeterminedError("a QuantizeLinear of other types")
    scale = yield from _parameter(call, 1, value.dtype, value.data)
    zero = filled(0, ())
    if call.has(2):
        zero = yield from _parameter(call, 2, call.dtype, value.data)
    least, greatest = INTEGERS[call.dtype]

    def quantized(x: Any, scale: Any, zero: Any) -> object:
        whole = _quotient(x, scale, value.dtype)
        if isinstance(whole, Unknown) or not isinstance(zero, int):
            return Unknown("a number that may be quantised in more than one way")
        return min(max(whole + zero, least), greatest)

    return each(quantized, value.data, scale, zero)


def _quotient(x: Any, scale: Any, dtype: int) -> int | Unknown:
    """Return x / scale as the nearest integer, ties to even, where all runtimes agree."""
    if not isinstance(scale, float) or not 0 < scale < math.inf:
        return Unknown("a scale that is not a positive number")
    if not isinstance(x, float) or not math.isfinite(x):
        return Unknown("an unknown number")
    inverse = floats.divide(1.0, scale, dtype)
    found: set[int] = set()
    for way in (x / scale, floats.divide(x, scale, dtype), floats.multiply(x, inverse, dtype)):
        nearest = floats.nearest(way, dtype)
        whole = floats.to_integer(nearest)
        if not isinstance(whole, int):
            return Unknown("an unknown quotient")
        found.add(whole)
    return found.pop() if len(found) == 1 else Unknown("a quotient near a tie")


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


def _arithmetic(function: Callable[[Any, Any], Any]) -> ValueRule:
    """Combine two quantised tensors, where the exact result is far enough from a tie."""

    def rule(call: Call) -> Ask[Elements]:
        if call.dtype not in _QUANTISED or not call.has(6):
            raise UndeterminedError(f"{call.op} of other types")
        left = yield from call.operand(0, call.dtype)
        right = yield from call.operand(3, call.dtype)
        scales, zeros = [], []
        for index in (1, 4, 6):
            scales.append((yield from _parameter(call, index, FLOAT, filled(0, ()))).item())
            zero = filled(0, ())
            if call.has(index + 1):
                zero = yield from _parameter(call, index + 1, call.dtype, filled(0, ()))
            zeros.append(zero.item())
        if not all(isinstance(scale, float) and 0 < scale < math.inf for scale in scales):
            raise UndeterminedError("a scale that is not a positive number")
        from fractions import Fraction  # with decimal, 5 ms

        first, second, third = map(Fraction, scales)
        least, greatest = INTEGERS[call.dtype]

        def combined(a: Any, b: Any) -> object:
            if not {type(a), type(b), *map(type, zeros)} <= {int}:
                return Unknown("an unknown number")
            x, y = (a - zeros[0]) * first, (b - zeros[1]) * second
            exact = function(x, y) / third
            # A bound on the rounding error of a few float32 steps with operands of this size.
            error = (abs(x / third) + abs(y / third) + abs(exact) + greatest) / 2**20
            low, high = round(exact - error), round(exact + error)
            if low != high:
                return Unknown("a number near a tie")
            return min(max(low + zeros[2], least), greatest)

        return each(combined, left, right)

    return rule


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
    "QuantizeLinear": _quantize,
    **named(_dequantize, "DequantizeLinear", MICROSOFT),
    **named(_quantize, "QuantizeLinear", MICROSOFT),
    **named(_arithmetic(operator.add), "QLinearAdd", MICROSOFT),
    **named(_arithmetic(operator.mul), "QLinearMul", MICROSOFT),
}
"""Value rules; onnxruntime's own operators of the standard names do the same."""
