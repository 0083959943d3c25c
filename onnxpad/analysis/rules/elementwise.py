"""Rules for the contents that arithmetic operators compute.

An element that overflows its type, or that engines may round in more than one way, is unknown.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import accumulate, chain
from typing import Any

import numpy as np
from onnx import TensorProto

from onnxpad.analysis import floats
from onnxpad.analysis.rounding import FLOATS
from onnxpad.analysis.rule_api import Ask, Call, UndeterminedError, ValueRule, axis_in
from onnxpad.analysis.rules.shape_table import reduced_axes
from onnxpad.analysis.value import BOOL, INTEGERS, Elements, each, elements, fit
from onnxpad.arithmetic import size
from onnxpad.arithmetic.size import Extent, Unknown

IntegerFunction = Callable[..., Extent]
FloatFunction = Callable[..., Any]


def _applied(dtype: int, integer: IntegerFunction | None, real: FloatFunction | None) -> Any:
    """Return the function for elements of a type, with its result in that type."""
    if dtype in INTEGERS and integer is not None:
        return lambda *operands: fit(integer(*operands), dtype)
    if dtype in FLOATS and real is not None:
        return lambda *operands: real(*operands, dtype)
    raise UndeterminedError(f"elements of type {TensorProto.DataType.Name(dtype)} are not computed")


def _elementwise(
    count: int, integer: IntegerFunction | None, real: FloatFunction | None
) -> ValueRule:
    """Apply a function to the elements of one or two inputs."""

    def rule(call: Call) -> Ask[Elements]:
        _refuse_old_broadcast(call)
        operands = yield from call.operands(call.dtype, count)
        return each(_applied(call.dtype, integer, real), *operands)

    return rule


def _variadic(integer: IntegerFunction, real: FloatFunction) -> ValueRule:
    """Fold the inputs, from the first on."""

    def rule(call: Call) -> Ask[Elements]:
        operands = yield from call.operands(call.dtype)
        return reduce(partial(each, _applied(call.dtype, integer, real)), operands)

    return rule


def _refuse_old_broadcast(call: Call) -> None:
    if call.has_attribute("broadcast"):
        raise UndeterminedError("broadcasting of opset 6 and before")


def _comparison(integer: IntegerFunction, real: FloatFunction) -> ValueRule:
    """Compare two inputs."""

    def rule(call: Call) -> Ask[Elements]:
        _refuse_old_broadcast(call)
        dtype = yield from call.dtype_of(0)
        operands = yield from call.operands(dtype, 2)
        return each(real if dtype in FLOATS else integer, *operands)

    return rule


def _sign(a: Extent) -> Extent:
    return size.less(0, a) - size.less(a, 0)


def _power(base: Extent, exponent: Extent) -> Extent:
    """Return base^exponent where a double holds it exactly: onnxruntime computes in doubles."""
    if not isinstance(exponent, int) or not 0 <= exponent <= 64:
        return Unknown("a power that is not small")
    power: Extent = 1
    for _ in range(exponent):
        power = power * base
        low, high = size.bounds(power)
        if low is None or high is None or max(-low, high) > 2**53:
            return Unknown("a power that is not small")
    return power


def _pow(call: Call) -> Ask[Elements]:
    base = yield from call.value_of(0)
    exponent = yield from call.value_of(1)
    powers = exponent.data
    if base.dtype in FLOATS:
        if exponent.dtype in INTEGERS:
            powers = each(lambda a: floats.from_integer(a, base.dtype), powers)
        return each(lambda a, b: floats.power(a, b, call.dtype), base.data, powers)
    if exponent.dtype in FLOATS:
        powers = each(lambda a: int(a) if isinstance(a, float) and a.is_integer() else a, powers)
    if base.dtype not in INTEGERS:
        raise UndeterminedError("a power of floats")
    return each(lambda a, b: fit(_power(a, b), call.dtype), base.data, powers)


def _clip(call: Call) -> Ask[Elements]:
    data = (yield from call.value_of(0)).data
    for index, name, integer, real in (
        (1, "min", size.maximum, floats.maximum),
        (2, "max", size.minimum, floats.minimum),
    ):
        if call.opset >= 11 and call.has(index):
            bound = (yield from call.operand(index, call.dtype)).reshape(())
        elif call.opset < 11 and call.has_attribute(name):
            bound = elements([call.real(name, 0.0)], ())
        else:
            continue
        data = each(_applied(call.dtype, integer, real), data, bound)
    return data


def _where(call: Call) -> Ask[Elements]:
    condition = yield from call.operand(0, BOOL)
    left = yield from call.operand(1, call.dtype)
    right = yield from call.operand(2, call.dtype)
    if call.dtype in FLOATS:
        return each(partial(floats.where, dtype=call.dtype), condition, left, right)
    return each(size.where, condition, left, right)


def _cast(call: Call) -> Ask[Elements]:
    value = yield from call.value_of(0)
    return each(_conversion(value.dtype, call.dtype), value.data)


def _conversion(source: int, target: int) -> Callable[[Any], object]:
    """Return the function that casts an element."""
    if source == target:
        return lambda a: a
    if source in FLOATS:
        if target in FLOATS:
            return lambda a: floats.convert(a, target)
        if target in INTEGERS:
            return lambda a: fit(floats.to_integer(a), target)
        if target == BOOL:
            return lambda a: 1 - floats.equal(a, 0.0)
    elif source in INTEGERS or source == BOOL:
        if target in FLOATS:
            return lambda a: floats.from_integer(a, target)
        if target in INTEGERS:
            return lambda a: fit(a, target)
        if target == BOOL:
            return lambda a: 1 - size.equal(a, 0)
    raise UndeterminedError("a cast between types that are not computed")


def _reduction(integer: IntegerFunction, real: FloatFunction | None, empty: object) -> ValueRule:
    """Fold the elements along axes."""

    def rule(call: Call) -> Ask[Elements]:
        data = (yield from call.value_of(0)).data
        axes = yield from reduced_axes(call, data.ndim)
        kept = [axis for axis in range(data.ndim) if axis not in axes]
        count = int(np.prod([data.shape[axis] for axis in axes], dtype=np.int64))
        if not axes:
            return data
        if count == 0 and empty is None:
            raise UndeterminedError("a reduction of no elements")
        rows = data.transpose([*kept, *axes]).reshape(-1, count)
        results = [_fold(list(row), call.dtype, integer, real, empty) for row in rows]
        return elements(results, call.shape)

    return rule


def _fold(
    row: Sequence[Any],
    dtype: int,
    integer: IntegerFunction,
    real: FloatFunction | None,
    empty: object,
) -> object:
    function = _applied(dtype, integer, real)
    return reduce(function, row[1:], row[0]) if len(row) else empty


def _cumulative(call: Call) -> Ask[Elements]:
    """Compute the running sums along an axis."""
    data = (yield from call.value_of(0)).data
    (axis,) = yield from call.known_integers_of(1)
    add = _applied(call.dtype, operator.add, floats.sum_of_two)
    along = np.moveaxis(data, axis_in(axis, data.ndim), -1)
    if call.flag("reverse"):
        along = along[..., ::-1]
    zero = 0 if call.dtype in INTEGERS else 0.0
    sums = (list(accumulate(row, add, initial=zero)) for row in along.reshape(-1, along.shape[-1]))
    rows = [line[:-1] if call.flag("exclusive") else line[1:] for line in sums]
    result = elements(chain.from_iterable(rows), along.shape)
    if call.flag("reverse"):
        result = result[..., ::-1]
    return np.moveaxis(result, -1, axis_in(axis, data.ndim))


def _dropout(call: Call) -> Ask[Elements]:
    """Copy the data, as in inference."""
    if call.opset < 7 or call.output or (call.opset >= 12 and call.has(2)):
        raise UndeterminedError("a Dropout that may drop something")
    return (yield from call.value_of(0)).data


def _bits(function: Callable[[int, int], int]) -> ValueRule:
    """Combine the bits of known integers."""

    def combined(a: Extent, b: Extent) -> Extent:
        if isinstance(a, int) and isinstance(b, int):
            return function(a, b)
        return Unknown("bits of an unknown number")

    return _elementwise(2, combined, None)


def _bitwise_not(call: Call) -> Ask[Elements]:
    data = yield from call.operand(0, call.dtype)
    least, greatest = INTEGERS.get(call.dtype, (0, 0))
    if not greatest:
        raise UndeterminedError("the bits of numbers that are not integers")
    return each(lambda a: least + greatest - a, data)


def _bit_shift(call: Call) -> Ask[Elements]:
    direction = call.string("direction", "")
    if direction not in ("LEFT", "RIGHT") or INTEGERS.get(call.dtype, (1, 0))[0]:
        raise UndeterminedError("a BitShift that is undefined")
    limit = INTEGERS[call.dtype][1].bit_length()

    def shifted(a: int, b: int) -> int:
        # C leaves a shift by the width or more undefined.
        if b >= limit:
            raise UndeterminedError("a shift by all bits")
        return a << b if direction == "LEFT" else a >> b

    return (yield from _bits(shifted)(call))


def _leaky(call: Call) -> Ask[Elements]:
    slope = float(np.float32(call.real("alpha", 0.01)))

    def leaky(a: floats.Real, dtype: int) -> floats.Real:
        return floats.leaky(a, slope, dtype)

    return (yield from _elementwise(1, None, leaky)(call))


def _is_nan(call: Call) -> Ask[Elements]:
    data = (yield from call.value_of(0)).data
    return each(floats.is_nan, data)


def _logic(count: int, function: Callable[..., Extent]) -> ValueRule:
    """Apply a function to inputs whose elements are 0 or 1."""

    def rule(call: Call) -> Ask[Elements]:
        _refuse_old_broadcast(call)
        return each(function, *(yield from call.operands(BOOL, count)))

    return rule


def _quotient(a: Extent, b: Extent) -> Extent:
    return size.trunc_div(a, b) if b != 0 else Unknown("a division by 0")


def _mod(call: Call) -> Ask[Elements]:
    if call.flag("fmod"):
        rule = _elementwise(2, _nonzero(size.fmod), floats.remainder)
    else:
        rule = _elementwise(2, _nonzero(size.modulo), None)
    return (yield from rule(call))


def _nonzero(function: IntegerFunction) -> IntegerFunction:
    return lambda a, b: function(a, b) if b != 0 else Unknown("a division by 0")


ARITHMETIC: dict[str, ValueRule] = {
    "Abs": _elementwise(1, size.absolute, floats.absolute),
    "Add": _elementwise(2, operator.add, floats.add),
    "And": _logic(2, size.minimum),
    "BitShift": _bit_shift,
    "BitwiseAnd": _bits(operator.and_),
    "BitwiseNot": _bitwise_not,
    "BitwiseOr": _bits(operator.or_),
    "BitwiseXor": _bits(operator.xor),
    "Cast": _cast,
    "CastLike": _cast,
    "Ceil": _elementwise(1, None, floats.ceil),
    "Clip": _clip,
    "CumSum": _cumulative,
    "Div": _elementwise(2, _quotient, floats.divide),
    "Dropout": _dropout,
    "Equal": _comparison(size.equal, floats.equal),
    "Floor": _elementwise(1, None, floats.floor),
    "Greater": _comparison(lambda a, b: size.less(b, a), lambda a, b: floats.less(b, a)),
    "GreaterOrEqual": _comparison(
        lambda a, b: size.less_equal(b, a), lambda a, b: floats.less_equal(b, a)
    ),
    "IsNaN": _is_nan,
    "LeakyRelu": _leaky,
    "Less": _comparison(size.less, floats.less),
    "LessOrEqual": _comparison(size.less_equal, floats.less_equal),
    "Max": _variadic(size.maximum, floats.maximum),
    "Min": _variadic(size.minimum, floats.minimum),
    "Mod": _mod,
    "Mul": _elementwise(2, operator.mul, floats.multiply),
    "Neg": _elementwise(1, operator.neg, floats.negative),
    "Not": _logic(1, lambda a: 1 - a),
    "Or": _logic(2, size.maximum),
    "Pow": _pow,
    "ReduceMax": _reduction(size.maximum, floats.maximum, None),
    "ReduceMin": _reduction(size.minimum, floats.minimum, None),
    "ReduceProd": _reduction(operator.mul, None, 1),
    "ReduceSum": _reduction(operator.add, None, 0),
    "Relu": _elementwise(1, lambda a: size.maximum(a, 0), floats.rectified),
    "Round": _elementwise(1, None, floats.nearest),
    "Sign": _elementwise(1, _sign, floats.sign),
    "Sqrt": _elementwise(1, None, floats.root),
    "Sub": _elementwise(2, operator.sub, floats.subtract),
    "Sum": _variadic(operator.add, floats.add),
    "Where": _where,
    "Xor": _logic(2, lambda a, b: 1 - size.equal(a, b)),
}
"""Value rules of operators that compute new elements."""
