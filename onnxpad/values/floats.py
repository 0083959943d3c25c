"""Floats as ONNX operators compute them, where that is exact or rounded once. Imports `size`.

A float that varies with a size is known in two cases only:

- `Scaled`: it is exact. An integer of at most p bits times a power of two, where p is the precision
  of its type (24 for float32); sums, products and comparisons of such numbers are exact while they
  stay such numbers, so no order of evaluation and no wider intermediate type changes them.
- `Quotient`: one division a / b of exact numbers, rounded once. With integers |a| < 2^p and b, its
  floor, ceiling and truncation are those of the true quotient: the rounding error is at most |a /
  b| 2^-p < 1 / |b|, and a / b is no nearer than that to an integer that it is not. One integer may
  be added to it, where what that rounds off leaves the error below 1 / |b|. Nothing else may be
  done with it.

A constant is a Python float that its type holds exactly. It is computed in the type's own
precision; double arithmetic rounded to float32 is float32 arithmetic, since 53 >= 2 * 24 + 2
(Figueroa, "When is double rounding innocuous?", 1995). onnxruntime computes some float16 operators
in float32 and rounds later, so float16 results are known only where they are exact. Infinities and
NaN are never computed with.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from onnx import TensorProto

from onnxpad import size
from onnxpad.size import Extent, Size, Unknown, always, bounds, floor_div, modulo, trunc_div


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point type.

    Attributes:
        precision: Bits of the significand, the hidden one counted.
        smallest: Exponent of the least positive number.
        largest: Exponent of the first power of two that overflows.
        scalar: numpy's type.
    """

    precision: int
    smallest: int
    largest: int
    scalar: Callable[[float], np.floating[Any]]

    @property
    def greatest(self) -> float:
        """The greatest finite number."""
        return math.ldexp(2.0**self.precision - 1, self.largest - self.precision)

    @property
    def normal(self) -> float:
        """The least positive number of full precision."""
        return math.ldexp(1.0, self.smallest + self.precision - 1)


FLOAT16 = int(TensorProto.FLOAT16)
FLOATS: dict[int, Format] = {
    int(TensorProto.FLOAT): Format(24, -149, 128, np.float32),
    int(TensorProto.DOUBLE): Format(53, -1074, 1024, np.float64),
    FLOAT16: Format(11, -24, 16, np.float16),
}


@dataclass(frozen=True, slots=True)
class Scaled:
    """Exactly `mantissa` * 2^`exponent`."""

    mantissa: Size
    exponent: int


@dataclass(frozen=True, slots=True)
class Quotient:
    """`numerator` / `denominator`, rounded by less than 1 / |`denominator`|, which is not 0.

    Attributes:
        numerator: An integer.
        denominator: An integer.
        moved: Whether an integer was added to the quotient, and so is in it.
    """

    numerator: Size
    denominator: int
    moved: bool = False


Real: TypeAlias = float | Scaled | Quotient | Unknown


def constant(number: float, dtype: int) -> Real:
    """Round a result of double arithmetic to a type, where that is the type's own result."""
    kind = FLOATS[dtype]
    if not abs(number) <= kind.greatest:
        return Unknown("a float that is not finite")
    rounded = float(kind.scalar(number))
    if rounded != number and (dtype == FLOAT16 or abs(rounded) < kind.normal):
        return Unknown("a float that may be rounded in more than one way")
    return rounded


def scaled(mantissa: Extent, exponent: int, dtype: int) -> Real:
    """Return mantissa * 2^exponent where the type holds it exactly at every size."""
    kind = FLOATS[dtype]
    low, high = bounds(mantissa)
    if isinstance(mantissa, Unknown) or low is None or high is None:
        return _unknown(mantissa)
    while max(-low, high) > 2**kind.precision and always(modulo(mantissa, 2)) is False:
        mantissa, low, high, exponent = floor_div(mantissa, 2), low // 2, high // 2, exponent + 1
    largest = max(-low, high)
    if largest > 2**kind.precision or exponent < kind.smallest:
        return Unknown(f"a float that is exact only up to 2^{kind.precision}")
    if largest.bit_length() + exponent > kind.largest:
        return Unknown("a float that may overflow")
    if isinstance(mantissa, Size):
        return Scaled(mantissa, exponent)
    return math.ldexp(float(largest if high > 0 else -largest), exponent)


def from_integer(number: Extent, dtype: int) -> Real:
    """Cast an integer to a float type."""
    if isinstance(number, int) and abs(number) <= 2**53:
        return constant(float(number), dtype)
    return scaled(number, 0, dtype)


def to_integer(a: Real) -> Extent:
    """Cast a float to an integer without limits: toward zero."""
    if isinstance(a, float):
        return int(a) if math.isfinite(a) else Unknown("a float that is not finite")
    return _divided(trunc_div, a)


def convert(a: Real, dtype: int) -> Real:
    """Cast a float to another float type."""
    return constant(a, dtype) if isinstance(a, float) else scaled(*_parts(a), dtype)


def add(a: Real, b: Real, dtype: int) -> Real:
    """Return a + b."""
    if isinstance(a, float) and isinstance(b, float):
        return constant(a + b, dtype)
    for quotient, number in ((a, b), (b, a)):
        if isinstance(quotient, Quotient) and isinstance(number, float) and number.is_integer():
            return _moved(quotient, int(number), dtype)
    x, y, exponent = _aligned(a, b)
    return scaled(x + y, exponent, dtype)


def _moved(a: Quotient, number: int, dtype: int) -> Real:
    """Return a quotient plus an integer, where its floor is still the true one's.

    The sum is a multiple of the quotient's last bit, so it is rounded only where it reaches a power
    of two that the quotient does not: by as much as half of its last bit there, and the quotient
    before by half of that.
    """
    low, high = bounds(a.numerator)
    assert low is not None
    assert high is not None
    largest = max(-low, high) // abs(a.denominator) + 1 + abs(number)
    power = 1 << (largest.bit_length() - 1)
    if a.moved or 3 * power * abs(a.denominator) >= 2 ** (FLOATS[dtype].precision + 1):
        return Unknown("a quotient plus a number, rounded twice")
    numerator = a.numerator + number * a.denominator
    if not isinstance(numerator, Size):
        return _unknown(numerator)
    return Quotient(numerator, a.denominator, moved=True)


def subtract(a: Real, b: Real, dtype: int) -> Real:
    """Return a - b."""
    return add(a, negative(b, dtype), dtype)


def multiply(a: Real, b: Real, dtype: int) -> Real:
    """Return a * b."""
    if isinstance(a, float) and isinstance(b, float):
        return constant(a * b, dtype)
    (x, e), (y, f) = _parts(a), _parts(b)
    return scaled(x * y, e + f, dtype)


def divide(a: Real, b: Real, dtype: int) -> Real:
    """Return a / b: exact for a power of two, else a quotient that is rounded once."""
    if not isinstance(b, float):
        return _unknown(b, "a division by a float that varies")
    if b == 0 or not math.isfinite(b):
        return Unknown(f"a division by {b}")
    if isinstance(a, float):
        return constant(a / b, dtype)
    (numerator, e), (denominator, f) = _parts(a), _odd(b)
    if abs(denominator) == 1:
        return scaled(numerator * denominator, e - f, dtype)
    if e > f:
        numerator = numerator * 2 ** (e - f)
    else:
        denominator = denominator * 2 ** (f - e)
    low, high = bounds(numerator)
    if isinstance(numerator, Size) and low is not None and high is not None:
        if max(-low, high) < 2 ** FLOATS[dtype].precision:
            return Quotient(numerator, denominator)
        return Unknown(f"a quotient of more than {FLOATS[dtype].precision} bits")
    return _unknown(numerator)


def remainder(a: Real, b: Real, dtype: int) -> Real:
    """Return C's fmod(a, b), which is never rounded; of constants only."""
    if isinstance(a, float) and isinstance(b, float) and math.isfinite(a) and b:
        return constant(math.fmod(a, b), dtype)
    return Unknown("a remainder of floats")


def minimum(a: Real, b: Real, dtype: int) -> Real:
    """Return the lesser of both."""
    if isinstance(a, float) and isinstance(b, float):
        return Unknown("a minimum with NaN") if math.isnan(a + b) else min(a, b)
    for bound, other in ((a, b), (b, a)):
        if bound == math.inf and isinstance(other, Scaled):
            return other
    x, y, exponent = _aligned(a, b)
    return scaled(size.minimum(x, y), exponent, dtype)


def maximum(a: Real, b: Real, dtype: int) -> Real:
    """Return the greater of both."""
    return negative(minimum(negative(a, dtype), negative(b, dtype), dtype), dtype)


def negative(a: Real, dtype: int) -> Real:
    """Return -a."""
    if isinstance(a, float):
        return -a
    if isinstance(a, Quotient):
        return replace(a, denominator=-a.denominator)
    mantissa, exponent = _parts(a)
    return scaled(-mantissa, exponent, dtype)


def absolute(a: Real, dtype: int) -> Real:
    """Return |a|."""
    if isinstance(a, float):
        return abs(a)
    mantissa, exponent = _parts(a)
    return scaled(size.absolute(mantissa), exponent, dtype)


def floor(a: Real, dtype: int) -> Real:
    """Return the greatest integer not above a."""
    if isinstance(a, float):
        return float(math.floor(a)) if math.isfinite(a) else a
    if isinstance(a, Scaled) and a.exponent >= 0:
        return a
    return scaled(_divided(floor_div, a), 0, dtype)


def ceil(a: Real, dtype: int) -> Real:
    """Return the least integer not below a."""
    if isinstance(a, float):
        return float(math.ceil(a)) if math.isfinite(a) else a
    if isinstance(a, Scaled) and a.exponent >= 0:
        return a
    return scaled(_divided(size.ceil_div, a), 0, dtype)


def nearest(a: Real, dtype: int) -> Real:
    """Return the nearest integer, ties to even."""
    if isinstance(a, float):
        return float(round(a)) if math.isfinite(a) else a
    if isinstance(a, Scaled) and a.exponent >= 0:
        return a
    return _unknown(a, "a float rounded to the nearest integer")


def less(a: Real, b: Real) -> Extent:
    """Return 1 where a < b, else 0."""
    if isinstance(a, float) and isinstance(b, float):
        return int(a < b)
    x, y, _ = _aligned(a, b)
    return size.less(x, y)


def less_equal(a: Real, b: Real) -> Extent:
    """Return 1 where a <= b, else 0."""
    if isinstance(a, float) and isinstance(b, float):
        return int(a <= b)
    x, y, _ = _aligned(a, b)
    return size.less_equal(x, y)


def equal(a: Real, b: Real) -> Extent:
    """Return 1 where a = b, else 0."""
    if isinstance(a, float) and isinstance(b, float):
        return int(a == b)
    x, y, _ = _aligned(a, b)
    return size.equal(x, y)


def where(condition: Extent, a: Real, b: Real, dtype: int) -> Real:
    """Return a where the condition is not 0, else b."""
    truth = always(condition)
    if truth is not None:
        return a if truth else b
    x, y, exponent = _aligned(a, b)
    return scaled(size.where(condition, x, y), exponent, dtype)


def _unknown(a: object, reason: str = "a float that is not exact") -> Unknown:
    """Return why a number is unknown, or the reason given where it is known."""
    return a if isinstance(a, Unknown) else Unknown(reason)


def _odd(number: float) -> tuple[int, int]:
    """Return an odd integer and an exponent whose product is a number that is finite and not 0."""
    numerator, denominator = number.as_integer_ratio()
    twos = (numerator & -numerator).bit_length() - 1
    return numerator >> twos, twos - (denominator.bit_length() - 1)


def _parts(a: Real) -> tuple[Extent, int]:
    """Return mantissa and exponent of an exact number; an unknown mantissa for any other."""
    if isinstance(a, Scaled):
        return a.mantissa, a.exponent
    if isinstance(a, float) and math.isfinite(a):
        return _odd(a) if a else (0, 0)
    return _unknown(a), 0


def _aligned(a: Real, b: Real) -> tuple[Extent, Extent, int]:
    """Return both mantissas for the lesser of both exponents, and that exponent."""
    (x, e), (y, f) = _parts(a), _parts(b)
    exponent = min(e, f)
    return x * 2 ** (e - exponent), y * 2 ** (f - exponent), exponent


def _divided(division: Callable[[Extent, Extent], Extent], a: Real) -> Extent:
    """Return the integer that a division makes of a number that varies."""
    if isinstance(a, Quotient):
        return division(a.numerator, a.denominator)
    mantissa, exponent = _parts(a)
    if exponent >= 0:
        product: Extent = mantissa * 2**exponent
        return product
    return division(mantissa, 2**-exponent)
