"""Rules for the contents that arithmetic operators compute.

An element that overflows its type, or that engines may round in more than one way, is unknown.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from onnx import TensorProto

from onnxpad.analysis import floats
from onnxpad.analysis.rule_api import Call, ValueRule
from onnxpad.analysis.value import BOOL, REALS, Elements, each, elements, fit
from onnxpad.arithmetic import size
from onnxpad.arithmetic.size import Extent, Unknown
from onnxpad.semantics.rows import INTEGERS, UnreadError

IntegerFunction = Callable[..., Extent]
FloatFunction = Callable[..., Any]


def _applied(dtype: int, integer: IntegerFunction | None, real: FloatFunction | None) -> Any:
    """Return the function for elements of a type, with its result in that type."""
    if dtype in INTEGERS and integer is not None:
        return lambda *operands: fit(integer(*operands), dtype)
    if dtype in REALS and real is not None:
        return lambda *operands: real(*operands, dtype)
    raise UnreadError(f"elements of type {TensorProto.DataType.Name(dtype)} are not computed")


def _elementwise(
    count: int, integer: IntegerFunction | None, real: FloatFunction | None
) -> ValueRule:
    """Apply a function to the elements of one or two inputs."""

    def rule(call: Call) -> Elements:
        _refuse_old_broadcast(call)
        operands = call.all_elements(call.kind, count)
        return each(_applied(call.kind, integer, real), *operands)

    return rule


def _variadic(integer: IntegerFunction, real: FloatFunction) -> ValueRule:

    def rule(call: Call) -> Elements:
        operands = call.all_elements(call.kind)
        return reduce(partial(each, _applied(call.kind, integer, real)), operands)

    return rule


def _refuse_old_broadcast(call: Call) -> None:
    if "broadcast" in call.node.attrs:
        raise UnreadError("broadcasting of opset 6 and before")


def _comparison(function: IntegerFunction) -> ValueRule:

    def rule(call: Call) -> Elements:
        _refuse_old_broadcast(call)
        dtype = call.dtype_of(0)
        if dtype in REALS:
            raise UnreadError("a comparison of floats")
        return each(function, *call.all_elements(dtype, 2))

    return rule


def _clip(call: Call) -> Elements:
    data = call.value_of(0).data
    for index, name, integer, real in (
        (1, "min", size.maximum, floats.maximum),
        (2, "max", size.minimum, floats.minimum),
    ):
        if call.version >= 11 and call.has(index):
            bound = call.elements_of(index, call.kind).reshape(())
        elif call.version < 11 and name in call.node.attrs:
            bound = elements([call.real(name, 0.0)], ())
        else:
            continue
        data = each(_applied(call.kind, integer, real), data, bound)
    return data


def _where(call: Call) -> Elements:
    condition = call.elements_of(0, BOOL)
    left = call.elements_of(1, call.kind)
    right = call.elements_of(2, call.kind)
    if call.kind in REALS:
        raise UnreadError("a choice of floats")
    return each(size.where, condition, left, right)


def _cast(call: Call) -> Elements:
    value = call.value_of(0)
    return each(_conversion(value.dtype, call.kind), value.data)


def _conversion(source: int, target: int) -> Callable[[Any], object]:
    if source == target:
        return lambda a: a
    if source in REALS:
        if target in REALS:
            return lambda a: floats.convert(a, target)
        if target in INTEGERS:
            return lambda a: fit(floats.to_integer(a), target)
    elif source in INTEGERS or source == BOOL:
        if target in REALS:
            return lambda a: floats.from_integer(a, target)
        if target in INTEGERS:
            return lambda a: fit(a, target)
        if target == BOOL:
            return lambda a: 1 - size.equal(a, 0)
    raise UnreadError("a cast between types that are not computed")


def _logic(count: int, function: Callable[..., Extent]) -> ValueRule:
    """Apply a function to inputs whose elements are 0 or 1."""
    return lambda call: each(function, *call.all_elements(BOOL, count))


def _sign(a: Extent) -> Extent:
    return size.less(0, a) - size.less(a, 0)


def _quotient(a: Extent, b: Extent) -> Extent:
    return size.trunc_div(a, b) if b != 0 else Unknown("a division by 0")


def _remainder(a: Extent, b: Extent) -> Extent:
    return size.modulo(a, b) if b != 0 else Unknown("a division by 0")


def _mod(call: Call) -> Elements:
    if call.flag("fmod"):
        raise UnreadError("a remainder with the sign of the dividend")
    return _elementwise(2, _remainder, None)(call)


ARITHMETIC: dict[str, ValueRule] = {
    "Abs": _elementwise(1, size.absolute, None),
    "Add": _elementwise(2, operator.add, floats.add),
    "And": _logic(2, size.minimum),
    "Cast": _cast,
    "Ceil": _elementwise(1, None, floats.ceil),
    "Clip": _clip,
    "Div": _elementwise(2, _quotient, floats.divide),
    "Equal": _comparison(size.equal),
    "Floor": _elementwise(1, None, floats.floor),
    "Greater": _comparison(lambda a, b: size.less(b, a)),
    "GreaterOrEqual": _comparison(lambda a, b: size.less_equal(b, a)),
    "Less": _comparison(size.less),
    "LessOrEqual": _comparison(size.less_equal),
    "Max": _variadic(size.maximum, floats.maximum),
    "Min": _variadic(size.minimum, floats.minimum),
    "Mod": _mod,
    "Mul": _elementwise(2, operator.mul, floats.multiply),
    "Neg": _elementwise(1, operator.neg, floats.negative),
    "Not": _logic(1, lambda a: 1 - a),
    "Or": _logic(2, size.maximum),
    "Relu": _elementwise(
        1, lambda a: size.maximum(a, 0), lambda a, dtype: floats.maximum(a, 0.0, dtype)
    ),
    "Sign": _elementwise(1, _sign, None),
    "Sub": _elementwise(2, operator.sub, floats.subtract),
    "Where": _where,
    "Xor": _logic(2, lambda a, b: 1 - size.equal(a, b)),
}
"""Value rules of operators that compute new elements."""
