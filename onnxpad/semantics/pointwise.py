"""Steps that compute each element from one element of the data, and constants.

Their layers get another fill, which the last part computes as the operators do. Steps between
floats and the integers that stand for them come before it.

A fill that is computed is exact, or rounded as IEEE 754 alone allows. What an engine may compute in
another way is refused: subnormal numbers, which some flush to zero, overflow, NaN, ties of
quotients, any rounding in the types of 16 bits, which some compute in 32, and zeros of open sign.
Sources: the operators' pages of the ONNX specification, and IEEE 754 for what becomes of a fill.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace
from onnx import TensorProto

from onnxpad.semantics.layers import (
    NEGATIVE_ZERO,
    Fill,
    Layers,
    fill_of,
    made_of,
    never_pads,
    number_of,
)
from onnxpad.semantics.moving import check_free, widened
from onnxpad.semantics.rows import FLOATS, FORMATS, INTEGERS, Call, Passed, Step, UnreadError, named


def filled(
    call: Call,
    layers: Layers,
    function: Callable[[Number], Numbers],
    result: int | None = None,
    place: int = 0,
) -> Layers:
    """The layers with a function of their fill, and 0 for that of layers that only crop.

    Where that is no single number that is certain, the fill is known by what it is made of.
    """
    found = []
    for layer in layers:
        fill: Fill = 0
        if not never_pads(layer.amounts):
            dtype = call.element_type(place)
            try:
                fill = mapped(layer.fill, function, dtype, result)
            except UnreadError:
                fill = made_of(layer.fill)
        found.append(replace(layer, fill=fill))
    return tuple(found)


def unary(function: Callable[[Number], Numbers]) -> Step:
    """An operator that computes a function of each element."""

    def step(call: Call, inner: Sequence[Layers]) -> Passed:
        (layers,) = inner
        return named(call, filled(call, layers, function))

    return step


def rectified(number: Number) -> Numbers:
    """Relu of a number."""
    return greatest(number, type(number)(0))


def negative(number: Number) -> Numbers:
    """Neg of a number."""
    return (-number,)


def absolute(number: Number) -> Numbers:
    """Abs of a number."""
    return (abs(number),)


def cast(call: Call, inner: Sequence[Layers]) -> Passed:
    """Cast to a type of numbers: it keeps the fill."""
    (layers,) = inner
    to = call.attribute("to")
    if layers and to not in NUMBERS:
        raise UnreadError("a Cast to no type of numbers that is known")
    return named(call, filled(call, layers, lambda number: (number,), to))


def keeps_zero(call: Call, inner: Sequence[Layers]) -> Passed:
    """An operator that is known to give 0 for 0; its floats, if any, must be positive."""
    (layers,) = inner
    floats = [value for value in call.node.attrs.values() if isinstance(value, float)]
    if layers and not all(0 < value < math.inf for value in floats):
        raise UnreadError("a factor that is not positive")
    return named(call, filled(call, layers, _zero))


def _zero(number: Number) -> Numbers:
    if number != 0:
        raise UnreadError("nothing is known of other numbers than 0")
    return (number, abs(number))  # of -0.0 it may be either zero


def clip(call: Call, inner: Sequence[Layers]) -> Passed:
    """Clip; absent bounds are those of the type, and no bound to finite numbers."""
    (layers,) = inner
    if layers and call.version < 11:
        raise UnreadError("the bounds are attributes")
    low, high = (_bound(call, place) if layers else None for place in (1, 2))
    if low is not None and high is not None and not low <= high:
        raise UnreadError("bounds that cross")

    def clipped(number: Number) -> Numbers:
        if math.isinf(number) and (low is None or high is None):
            raise UnreadError("an infinity that is clipped to the type's own bounds")
        above = (number,) if low is None else greatest(number, low)
        return above if high is None else [n for each in above for n in least(each, high)]

    return named(call, filled(call, layers, clipped))


def _bound(call: Call, place: int) -> Number | None:
    """A bound of a Clip; None where it is absent."""
    if call.operand(place) is None:
        return None
    found = elements(call, place, call.element_type())
    if len(found) != 1:
        raise UnreadError("a bound of several values")
    return found[0]


def operated(call: Call, inner: Sequence[Layers]) -> Passed:
    """Add, Sub, Mul or Div of data and a constant, which broadcast as in numpy."""
    (layers,) = inner
    if not layers:
        return named(call, ())
    (place,) = call.data_places()
    dtype, array = call.element_type(place), call.constant(1 - place)
    operands = elements(call, 1 - place, dtype)
    assert array is not None  # or it had no elements
    if not all(map(math.isfinite, operands)):
        raise UnreadError("an operand is not finite")
    rank = len(layers[0].amounts)
    sizes = enumerate(array.shape, rank - array.ndim)
    check_free(layers, [axis for axis, size in sizes if size != 1])

    def result(number: Number) -> Numbers:
        pairs = [(number, each) if place == 0 else (each, number) for each in operands]
        return [computed(call.node.op, *pair, dtype) for pair in pairs]

    found = filled(call, layers, result, place=place)
    return named(call, widened(found, max(array.ndim - rank, 0)))


def elements(call: Call, place: int, dtype: int) -> list[Number]:
    """The distinct elements of a constant of an element type; 0.0 and -0.0 are distinct."""
    array = call.constant(place)
    if array is None or not array.size or call.constant_dtype(place) != dtype:
        raise UnreadError(f"input {place} of {call.node.op} is no constant of that type")
    flat = array.reshape(-1)
    if dtype in FLOATS:
        flat = np.ascontiguousarray(flat, np.float64).view(np.int64)
    distinct = np.array(sorted({*flat.tolist()}), flat.dtype)  # np.unique imports numpy.ma: 3 ms
    found = distinct.view(np.float64) if dtype in FLOATS else distinct
    return [exact(number, dtype) for number in found.tolist()]


_SHORT = frozenset({TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16})


def quantize(call: Call, inner: Sequence[Layers]) -> Passed:
    """QuantizeLinear, to integers of 8 or 16 bits: it makes zero points of zeros."""
    (layers,) = inner
    if not layers:
        return named(call, ())
    _, point, _, written = _scaling(call, 21)
    to = call.constant_dtype(2) or written or TensorProto.UINT8
    if to not in _SHORT or written not in (0, to) or call.dtype() not in FLOATS:
        raise UnreadError("element types of which nothing is known")

    def quantised(number: Number) -> Numbers:
        if number:
            raise UnreadError("a quotient that engines may round otherwise")
        return (point,)

    return named(call, filled(call, layers, quantised, to))


def dequantize(call: Call, inner: Sequence[Layers]) -> Passed:
    """DequantizeLinear, of integers of 8, 16 or 32 bits."""
    (layers,) = inner
    if not layers:
        return named(call, ())
    scale, point, scaled, written = _scaling(call, 23)
    dtype, points = call.dtype(), call.constant_dtype(2)
    is_of_points = dtype in _SHORT | {TensorProto.INT32} and points in (None, dtype)
    if not is_of_points or written not in (0, scaled):
        raise UnreadError("element types of which nothing is known")
    if dtype == TensorProto.INT32 and point:
        raise UnreadError("a zero point of 32 bits")

    def dequantised(number: Number) -> Numbers:
        return (computed("Mul", exact(number - point, scaled), scale, scaled),)

    return named(call, filled(call, layers, dequantised, scaled))


def _scaling(call: Call, since: int) -> tuple[float, int, int, int]:
    """Scale and zero point of a whole tensor, the scale's type, and the one that is written."""
    if any(call.node.attrs.get(name) for name in ("block_size", "precision")):
        raise UnreadError("a quantisation in blocks, or of a precision of its own")
    scale, scaled = call.element(1), call.constant_dtype(1)
    point = 0 if call.operand(2) is None else call.element(2)
    if scaled not in FLOATS or scale is None or point is None:
        raise UnreadError("scale and zero point are not one constant number each")
    if not 0 < exact(scale, scaled) < math.inf:
        raise UnreadError("a scale that is not positive and finite")
    written = call.attribute("output_dtype") if call.version >= since else 0
    return float(scale), int(point), scaled, written


Number = float | int
Numbers = Iterable[Number]
"""What a result may be: more than one number only for zeros of both signs."""

NUMBERS = FLOATS | frozenset(INTEGERS)
"""The element types of numbers that are known here."""
_OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": operator.truediv,
}


def mapped(
    fill: Fill, function: Callable[[Number], Numbers], dtype: int, result: int | None = None
) -> Fill:
    """A function of a fill."""
    if not isinstance(fill, float | int) and fill != NEGATIVE_ZERO:
        raise UnreadError("padding that is no number")
    numbers = function(exact(number_of(fill), dtype))
    made = [exact(number, dtype if result is None else result) for number in numbers]
    fills = set(map(fill_of, made))
    if len(fills) > 1:
        raise UnreadError("the fill varies with an operand, or may be 0.0 or -0.0")
    return fills.pop()


def exact(number: Number, dtype: int) -> Number:
    """A number as an element type holds it, if it does so exactly, and it is normal there."""
    if dtype in FORMATS:
        precision, least, most = FORMATS[dtype]
        found = float(number)
        significand, exponent = math.frexp(found)
        is_normal = found == number and least <= exponent - 1 <= most
        is_held = is_normal and math.ldexp(significand, precision).is_integer()
        if found == 0 or math.isinf(found) or is_held:
            return found
    else:
        low, high = (0, 1) if dtype == TensorProto.BOOL else INTEGERS.get(dtype, (1, 0))
        if math.isfinite(number) and low <= number <= high and number == int(number):
            return int(number)
    raise UnreadError(f"{number} is no normal number of element type {dtype}")


def computed(op: str, a: Number, b: Number, dtype: int) -> Number:
    """The result of Add, Sub, Mul or Div of two numbers of a type, if engines agree on it."""
    if op == "Div" and (dtype not in FORMATS or b == 0):
        raise UnreadError("a quotient of integers, or by 0")
    if dtype not in FORMATS:
        return exact(_OPERATIONS[op](a, b), dtype)
    kind = np.float32 if dtype == TensorProto.FLOAT else np.float64
    with np.errstate(all="ignore"):
        result = float(_OPERATIONS[op](kind(a), kind(b)))
    vanishes = result == 0 and a != 0 and (op == "Div" or (op == "Mul" and b != 0))
    is_least = abs(result) == 2.0 ** FORMATS[dtype][1]  # perhaps rounded from a subnormal one
    if vanishes or is_least or (math.isinf(result) and math.isfinite(a) and math.isfinite(b)):
        raise UnreadError("a result that overflows, or is subnormal")
    return exact(result, dtype)


def greatest(a: Number, b: Number) -> Numbers:
    """The greater of two numbers; of 0.0 and -0.0 engines may take either."""
    return (a, b) if a == b else (max(a, b),)


def least(a: Number, b: Number) -> Numbers:
    """The lesser of two numbers; of 0.0 and -0.0 engines may take either."""
    return (a, b) if a == b else (min(a, b),)
