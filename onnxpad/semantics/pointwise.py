"""Steps that compute each element from one element of the data, and constants.

Their layers get another fill. Sources: the operators' pages of the ONNX specification, and IEEE 754
for what becomes of a fill.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec.structs import replace

from onnxpad.semantics import numbers
from onnxpad.semantics.layers import Fill, Layers, made_of, never_pads
from onnxpad.semantics.moving import check_free, rank_of, widened
from onnxpad.semantics.numbers import Number, Numbers
from onnxpad.semantics.rows import FLOATS, Call, Passed, Step, UnreadError, named


def filled(
    call: Call,
    layers: Layers,
    function: Callable[[Number], Numbers],
    result: int | None = None,
    place: int = 0,
) -> Layers:
    """The layers with a function of their fill, and 0 for that of layers that only crop.

    Where that is no single number that is certain, the fill is known by what it is made of.

    Args:
        call: A node.
        layers: Layers around its data.
        function: Of a number of the data's element type.
        result: The element type of the function's result, where that is another.
        place: The input that is the data.

    Raises:
        UnreadError: An element type is unknown.
    """
    found = []
    for layer in layers:
        fill: Fill = 0
        if not never_pads(layer.amounts):
            dtype = call.element_type(place)
            try:
                fill = numbers.mapped(layer.fill, function, dtype, result)
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
    return numbers.greatest(number, type(number)(0))


def negative(number: Number) -> Numbers:
    """Neg of a number."""
    return (-number,)


def absolute(number: Number) -> Numbers:
    """Abs of a number."""
    return (abs(number),)


def sign_of(number: Number) -> Numbers:
    """Sign of a number; that of -0.0 may be either zero."""
    return (number, abs(number)) if number == 0 else (math.copysign(1, number),)


def floor(number: Number) -> Numbers:
    """Floor of a number."""
    return numbers.rounded(number, math.floor)


def ceil(number: Number) -> Numbers:
    """Ceil of a number."""
    return numbers.rounded(number, math.ceil)


def nearest(number: Number) -> Numbers:
    """Round of a number, half to even."""
    return numbers.rounded(number, round)


def cast(call: Call, inner: Sequence[Layers]) -> Passed:
    """Cast to a type of numbers: it keeps the fill."""
    (layers,) = inner
    to = call.attribute("to")
    if layers and to not in numbers.NUMBERS:
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
    low, high = (_bound(call, *at) if layers else None for at in ((1, "min"), (2, "max")))
    if low is not None and high is not None and not low <= high:
        raise UnreadError("bounds that cross")

    def clipped(number: Number) -> Numbers:
        if math.isinf(number) and (low is None or high is None):
            raise UnreadError("an infinity that is clipped to the type's own bounds")
        above = (number,) if low is None else numbers.greatest(number, low)
        return above if high is None else [n for each in above for n in numbers.least(each, high)]

    return named(call, filled(call, layers, clipped))


def _bound(call: Call, place: int, name: str) -> Number | None:
    """A bound of a Clip; None where it is absent."""
    if call.version < 11:
        written: float | None = call.node.attrs.get(name)
        dtype = call.dtype()
        if written is None or dtype is None:
            return written
        return numbers.exact(written, dtype)
    if call.operand(place) is None:
        return None
    found = elements(call, place, call.dtype())
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
    rank = rank_of(call, layers, place)
    if array is None or rank is None or not all(map(math.isfinite, operands)):
        raise UnreadError("an operand is not finite, or the rank is unknown")
    sizes = enumerate(array.shape, rank - array.ndim)
    check_free(layers, [axis for axis, size in sizes if size != 1])

    def result(number: Number) -> Numbers:
        pairs = [(number, each) if place == 0 else (each, number) for each in operands]
        return [numbers.computed(call.node.op, *pair, dtype) for pair in pairs]

    found = filled(call, layers, result, place=place)
    return named(call, widened(found, max(array.ndim - rank, 0)))


def elements(call: Call, place: int, dtype: int | None) -> list[Number]:
    """The distinct elements of a constant of an element type; 0.0 and -0.0 are distinct.

    Raises:
        UnreadError: It is no such constant, is empty, or holds NaN or subnormal numbers.
    """
    array = call.constant(place)
    if array is None or not array.size or dtype is None or call.constant_dtype(place) != dtype:
        raise UnreadError(f"input {place} of {call.node.op} is no constant of that type")
    flat = array.reshape(-1)
    if dtype in FLOATS:
        flat = np.ascontiguousarray(flat, np.float64).view(np.int64)
    distinct = np.array(sorted({*flat.tolist()}), flat.dtype)  # np.unique imports numpy.ma: 3 ms
    found = distinct.view(np.float64) if dtype in FLOATS else distinct
    return [numbers.exact(number, dtype) for number in found.tolist()]
