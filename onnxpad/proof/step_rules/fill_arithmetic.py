"""Arithmetic on the fill of padding: a result is exact, or rounded as IEEE 754 alone allows.

What an engine may compute in another way is refused: subnormal numbers, which some flush to zero,
overflow, NaN, and any rounding in the types of 16 bits, which some compute in 32.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from onnx import TensorProto

from onnxpad.proof.layers import NEGATIVE_ZERO
from onnxpad.proof.meaning import MeaninglessError
from onnxpad.records import NamedTuple

Number: TypeAlias = float | int


class SignlessZero(float):
    """A zero whose sign depends on the engine, or on the element of a constant."""


_EITHER: Final = SignlessZero(0)


class _Format(NamedTuple):
    """A binary floating-point type of IEEE 754, or bfloat16.

    Attributes:
        precision: Bits of the significand, the hidden one included.
        least: Exponent of the least normal number.
        greatest: Exponent of the greatest power of two.
    """

    precision: int
    least: int
    greatest: int


_FORMATS: Final[Mapping[int, _Format]] = {
    TensorProto.FLOAT: _Format(24, -126, 127),
    TensorProto.DOUBLE: _Format(53, -1022, 1023),
    TensorProto.FLOAT16: _Format(11, -14, 15),
    TensorProto.BFLOAT16: _Format(8, -126, 127),
}
_INTEGERS: Final[Mapping[int, tuple[int, int]]] = {
    TensorProto.BOOL: (0, 1),
    TensorProto.INT8: (-(2**7), 2**7 - 1),
    TensorProto.INT16: (-(2**15), 2**15 - 1),
    TensorProto.INT32: (-(2**31), 2**31 - 1),
    TensorProto.INT64: (-(2**63), 2**63 - 1),
    TensorProto.UINT8: (0, 2**8 - 1),
    TensorProto.UINT16: (0, 2**16 - 1),
    TensorProto.UINT32: (0, 2**32 - 1),
    TensorProto.UINT64: (0, 2**64 - 1),
}
_ROUNDED: Final[Mapping[int, Callable[[float], Any]]] = {
    TensorProto.FLOAT: np.float32,
    TensorProto.DOUBLE: np.float64,
}
_OPERATIONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": operator.truediv,
}
_FROM_A_TIE: Final = 1000
"""A quotient must be one part in so many from a tie."""


def number_of(fill: float | int | str, dtype: int) -> Number:
    """The number that a fill is in an element type.

    Raises:
        MeaninglessError: It is no number, or the type does not hold it exactly.
    """
    if isinstance(fill, str):
        if fill != NEGATIVE_ZERO:
            raise MeaninglessError(f"padding that is {fill} is no number")
        fill = -0.0
    return exact_in(fill, dtype)


def exact_in(number: Number, dtype: int) -> Number:
    """A number as an element type holds it: a float in a floating-point type, else an integer.

    Raises:
        MeaninglessError: The type does not hold it exactly, or it is NaN or subnormal there.
    """
    if isinstance(number, SignlessZero) and dtype in _FORMATS:
        return number
    if not (_is_float(number, dtype) if dtype in _FORMATS else _is_integer(number, dtype)):
        raise MeaninglessError(f"{number} is no normal number of element type {dtype}")
    return float(number) if dtype in _FORMATS else int(number)


def is_plus_zero(number: Number) -> bool:
    """Whether a number is 0, and not -0.0."""
    return number == 0 and math.copysign(1, number) > 0 and not isinstance(number, SignlessZero)


def one_of(numbers: Iterable[Number]) -> Number:
    """The one number that all numbers are; for 0.0 and -0.0 a zero of either sign.

    Raises:
        MeaninglessError: They differ.
    """
    found = list(numbers)
    first, *others = found
    if any(number != first for number in others):
        raise MeaninglessError("the fill varies with an operand")
    signs = {(math.copysign(1, number), type(number) is SignlessZero) for number in found}
    return first if first != 0 or len(signs) == 1 else _EITHER


def computed(op: str, a: Number, b: Number, dtype: int) -> Number:
    """The result of Add, Sub, Mul or Div of two numbers of an element type.

    Raises:
        MeaninglessError: Engines may differ on it.
    """
    if dtype not in _FORMATS:
        if op == "Div":
            raise MeaninglessError("a quotient of integers is not specified for every sign")
        return exact_in(_OPERATIONS[op](a, b), dtype)
    if op == "Div" and b == 0:
        raise MeaninglessError("a division by 0")
    from fractions import Fraction  # with decimal, 2 ms

    kind = _ROUNDED.get(dtype, np.float64)
    with np.errstate(all="ignore"):
        result = float(_OPERATIONS[op](kind(a), kind(b)))
    if math.isinf(a) or math.isinf(b):
        return exact_in(result, dtype)
    exact = _OPERATIONS[op](Fraction(a), Fraction(b))
    if math.isinf(result) or (exact and abs(exact) < Fraction(2) ** _FORMATS[dtype].least):
        raise MeaninglessError("a result that overflows, or is subnormal")
    if dtype not in _ROUNDED and Fraction(result) != exact:
        raise MeaninglessError("a result that is rounded to 16 bits")
    return exact_in(result, dtype)


def greatest(a: Number, b: Number) -> Number:
    """The greater of two numbers; of 0.0 and -0.0 engines may take either."""
    return one_of((a, b)) if a == b else max(a, b)


def least(a: Number, b: Number) -> Number:
    """The lesser of two numbers; of 0.0 and -0.0 engines may take either."""
    return one_of((a, b)) if a == b else min(a, b)


def rounded(number: Number, to_whole: Callable[[float], int]) -> Number:
    """A number of a floating-point type, rounded to a whole one."""
    if math.isinf(number) or number == int(number):
        return number
    whole = float(to_whole(number))
    return _EITHER if whole == 0 and number < 0 else whole


def quantized(number: Number, scale: Number, zero_point: Number, dtype: int) -> Number:
    """A float divided by a scale, rounded half to even, plus a zero point, saturated to a type.

    Raises:
        MeaninglessError: It is infinite, overflows, or is so close to a tie that engines which
            multiply by the reciprocal of the scale may round it otherwise.
    """
    low, high = _INTEGERS[dtype]
    if math.isinf(number):
        raise MeaninglessError("a quantised infinity")
    from fractions import Fraction

    quotient = Fraction(number) / Fraction(scale)
    if abs(quotient) >= 2**127:
        raise MeaninglessError("a quotient that overflows")
    if quotient <= low - int(zero_point) - 1:
        return low
    if quotient >= high - int(zero_point) + 1:
        return high
    from_a_tie = abs(quotient - math.floor(quotient) - Fraction(1, 2))
    if from_a_tie < max(Fraction(1, _FROM_A_TIE), abs(quotient) / 2**21):
        raise MeaninglessError("a quotient close to a tie")
    return min(max(round(quotient) + int(zero_point), low), high)


def dequantized(number: Number, scale: Number, zero_point: Number, dtype: int) -> Number:
    """An integer minus a zero point, times a scale of a floating-point type.

    Raises:
        MeaninglessError: Engines may differ on the result.
    """
    return computed("Mul", exact_in(number - zero_point, dtype), scale, dtype)


def _is_float(number: Number, dtype: int) -> bool:
    """Whether a floating-point type holds a number as a normal one, a zero or an infinity."""
    precision, low, high = _FORMATS[dtype]
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
    """Whether an integer type holds a number; False for all other types."""
    low, high = _INTEGERS.get(dtype, (1, 0))
    return math.isfinite(number) and low <= number <= high and number == int(number)
