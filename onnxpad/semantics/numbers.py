"""Arithmetic on the fill of layers: a result is exact, or rounded as IEEE 754 alone allows.

What an engine may compute in another way is refused: subnormal numbers, which some flush to zero,
overflow, NaN, ties of quotients, and any rounding in the types of 16 bits, which some compute in
32. Where only the sign of a zero is open, a result is both zeros.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from onnx import TensorProto

from onnxpad.semantics.layers import Fill, either_zero, fill_of, is_either_zero, is_zero, number_of
from onnxpad.semantics.rows import FLOATS, FORMATS, INTEGERS, UnreadError

Number: TypeAlias = float | int
Numbers: TypeAlias = Iterable[Number]
"""What a result may be: more than one number only for zeros of both signs."""

NUMBERS: Final = FLOATS | frozenset(INTEGERS)
"""The element types of numbers that are known here."""
_ROUNDED: Final[Mapping[int, Any]] = {TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64}
_OPERATIONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": operator.truediv,
}
_ZEROS: Final = (0.0, -0.0)
_FROM_A_TIE: Final = 1000
"""A quotient must be one part in so many from a tie."""


def mapped(
    fill: Fill, function: Callable[[Number], Numbers], dtype: int, result: int | None = None
) -> Fill:
    """A function of a fill.

    Args:
        fill: The fill.
        function: Of a number of the data's element type.
        dtype: That type.
        result: The element type of the function's result, where that is another.

    Raises:
        UnreadError: An element type holds a number not exactly, or the function raises it.
    """
    to = dtype if result is None else result
    numbers = [each for number in _numbers(fill, dtype) for each in function(number)]
    return _one_of([exact(number, to) for number in numbers], fill)


def _numbers(fill: Fill, dtype: int) -> list[Number]:
    """The numbers that a fill may be in an element type."""
    if is_either_zero(fill):
        found: Iterable[Number] = _ZEROS
    elif isinstance(fill, float | int) or is_zero(fill):
        found = (number_of(fill),)
    else:
        raise UnreadError("padding that is no number")
    return [exact(number, dtype) for number in found]


def _one_of(numbers: list[Number], of: Fill) -> Fill:
    """The one fill that all numbers are, which a step made of another one."""
    fills = set(map(fill_of, numbers))
    if len(fills) > 1 and any(numbers):
        raise UnreadError("the fill varies with an operand")
    return either_zero(of) if len(fills) > 1 else fills.pop()


def exact(number: Number, dtype: int) -> Number:
    """A number as an element type holds it: a float in a floating-point type, else an integer.

    Raises:
        UnreadError: The type does not hold it exactly, or it is NaN or subnormal there.
    """
    holds = _is_float if dtype in FORMATS else _is_integer
    if not holds(number, dtype):
        raise UnreadError(f"{number} is no normal number of element type {dtype}")
    return float(number) if dtype in FORMATS else int(number)


def _is_float(number: Number, dtype: int) -> bool:
    precision, low, high = FORMATS[dtype]
    found = float(number)
    if found == 0 or math.isinf(found):
        return True
    significand, exponent = math.frexp(found)
    return (
        found == number
        and low <= exponent - 1 <= high
        and math.ldexp(significand, precision).is_integer()
    )


def _is_integer(number: Number, dtype: int) -> bool:
    low, high = (0, 1) if dtype == TensorProto.BOOL else INTEGERS.get(dtype, (1, 0))
    return math.isfinite(number) and low <= number <= high and number == int(number)


def computed(op: str, a: Number, b: Number, dtype: int) -> Number:
    """The result of Add, Sub, Mul or Div of two numbers of an element type.

    Raises:
        UnreadError: Engines may differ on it.
    """
    if dtype not in FORMATS:
        if op == "Div":
            raise UnreadError("a quotient of integers is not specified for every sign")
        return exact(_OPERATIONS[op](a, b), dtype)
    if op == "Div" and b == 0:
        raise UnreadError("a division by 0")
    from fractions import Fraction  # with decimal, 2 ms

    kind = _ROUNDED.get(dtype, np.float64)
    with np.errstate(all="ignore"):
        result = float(_OPERATIONS[op](kind(a), kind(b)))
    if math.isinf(a) or math.isinf(b):
        return exact(result, dtype)
    true = _OPERATIONS[op](Fraction(a), Fraction(b))
    if math.isinf(result) or (true and abs(true) < Fraction(2) ** FORMATS[dtype][1]):
        raise UnreadError("a result that overflows, or is subnormal")
    if dtype not in _ROUNDED and Fraction(result) != true:
        raise UnreadError("a result that is rounded to 16 bits")
    return exact(result, dtype)


def greatest(a: Number, b: Number) -> Numbers:
    """The greater of two numbers; of 0.0 and -0.0 engines may take either."""
    return (a, b) if a == b else (max(a, b),)


def least(a: Number, b: Number) -> Numbers:
    """The lesser of two numbers; of 0.0 and -0.0 engines may take either."""
    return (a, b) if a == b else (min(a, b),)


def rounded(number: Number, to_whole: Callable[[float], int]) -> Numbers:
    """A number, rounded to a whole one; the sign of a zero that was a number below 0 is open."""
    if math.isinf(number) or number == int(number):
        return (number,)
    whole = float(to_whole(number))
    return _ZEROS if whole == 0 and number < 0 else (whole,)


def quantised(number: Number, scale: Number, zero_point: int, dtype: int) -> int:
    """A float divided by a scale, rounded half to even, plus a zero point, saturated to a type.

    Raises:
        UnreadError: It is infinite, overflows, or is so close to a tie that engines which multiply
            by the reciprocal of the scale may round it otherwise.
    """
    low, high = INTEGERS[dtype]
    if math.isinf(number):
        raise UnreadError("a quantised infinity")
    from fractions import Fraction

    quotient = Fraction(number) / Fraction(scale)
    if abs(quotient) >= 2**127:
        raise UnreadError("a quotient that overflows")
    if quotient <= low - zero_point - 1:
        return low
    if quotient >= high - zero_point + 1:
        return high
    from_a_tie = abs(quotient - math.floor(quotient) - Fraction(1, 2))
    if from_a_tie < max(Fraction(1, _FROM_A_TIE), abs(quotient) / 2**21):
        raise UnreadError("a quotient close to a tie")
    return min(max(round(quotient) + zero_point, low), high)
