"""Floats that are computed of sizes, as far as every engine computes the same.

A computed float is known in two cases only:

- It is exact: an integer of at most p bits times a power of two, where p is the precision of its
  type (24 for float32). Sums, products and comparisons of such numbers are exact while they stay
  such numbers, so no order of evaluation and no wider intermediate type changes them.
- It is one division a / b of exact numbers, rounded once. With integers |a| < 2^p and b, its floor,
  ceiling and truncation are those of the true quotient: the rounding error is at most |a / b| 2^-p
  < 1 / |b|, and unless a / b is an integer, it is at least 1 / |b| away from the nearest one. One
  integer may be added to it, where the rounding of that sum leaves the error below 1 / |b|. After
  any other operation the result is unknown.

The sign of a zero is kept where nothing is computed, since it shows in the fill of a `Pad`. Where
the sign is not traced, the number is `ZERO`.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic import size
from onnxpad.arithmetic.size import Extent, Unknown, always, bounds, modulo
from onnxpad.semantics.rows import FORMATS


class Ratio(Struct, frozen=True):
    """A float that varies, or a zero of either sign.

    Attributes:
        numerator: An integer.
        denominator: An integer other than 0; of an exact number, a positive power of two.
        rounded: 0 where the number is exact; 1 where it is rounded, by less than 1 / |denominator|;
            2 where an integer was added to it since, which the numerator includes.
    """

    numerator: Extent
    denominator: int = 1
    rounded: int = 0


ZERO = Ratio(0)
"""0.0 or -0.0."""

INEXACT = Unknown("a float that is not exact")

Real = float | Ratio | Unknown


def exact(numerator: Extent, denominator: int, dtype: int) -> Real:
    """Return a fraction where the type holds it exactly at every size, of a power of two."""
    precision, smallest, greatest = FORMATS[dtype]
    largest, exponent = _magnitude(numerator), 1 - denominator.bit_length()
    if largest is None or largest.bit_length() + exponent > greatest + 1:
        return INEXACT
    zeros = max((largest - 1).bit_length() - precision, 0)  # which the last bits must be
    is_held = not zeros or always(modulo(numerator, 2**zeros)) is False
    if not is_held or exponent + zeros <= smallest - precision:
        return INEXACT
    if isinstance(numerator, int):
        return numerator / denominator if numerator else ZERO
    return Ratio(numerator, denominator)


def _magnitude(number: Extent) -> int | None:
    """Return the greatest absolute value; None where unknown."""
    low, high = bounds(number)
    return None if low is None or high is None else max(-low, high)


def from_integer(number: Extent, dtype: int) -> Real:
    """Cast an integer to a float type."""
    return 0.0 if number == 0 else exact(number, 1, dtype)


def to_integer(a: Real) -> Extent:
    """Cast a float to an integer without limits: toward zero."""
    return size.trunc_div(*_fraction(a))


def convert(a: Real, dtype: int) -> Real:
    """Cast a float to another float type, all of which hold zeros and infinities."""
    is_held = isinstance(a, float) and (not a or math.isinf(a))
    return a if is_held else exact(*_parts(a), dtype)


def add(a: Real, b: Real, dtype: int) -> Real:
    """Return a + b."""
    for quotient, number in ((a, b), (b, a)):
        if isinstance(quotient, Ratio) and quotient.rounded and isinstance(number, float):
            return _moved(quotient, number, dtype)
    x, y, denominator = _aligned(a, b)
    return exact(x + y, denominator, dtype)


def _moved(a: Ratio, number: float, dtype: int) -> Real:
    """Return a quotient plus an integer, where its floor is still that of the exact sum.

    The sum is a multiple of the quotient's last bit. So it is rounded only where it reaches a
    power of two that the quotient does not: by at most half of its own last bit. The quotient was
    rounded by at most half of that before.
    """
    greatest, divisor = _magnitude(a.numerator), abs(a.denominator)
    if greatest is not None and a.rounded == 1 and number.is_integer():
        largest = greatest // divisor + 1 + abs(int(number))
        power = 1 << (largest.bit_length() - 1)
        if 3 * power * divisor < 2 ** (FORMATS[dtype][0] + 1):
            return Ratio(a.numerator + int(number) * a.denominator, a.denominator, 2)
    return INEXACT


def subtract(a: Real, b: Real, dtype: int) -> Real:
    """Return a - b."""
    return add(a, negative(b, dtype), dtype)


def multiply(a: Real, b: Real, dtype: int) -> Real:
    """Return a * b."""
    (x, d), (y, e) = _parts(a), _parts(b)
    return exact(x * y, d * e, dtype)


def divide(a: Real, b: Real, dtype: int) -> Real:
    """Return a / b: exact for a power of two, else a quotient that is rounded once."""
    if not isinstance(b, float) or not b or not math.isfinite(b):
        return INEXACT
    (x, d), (y, e) = _parts(a), b.as_integer_ratio()
    if isinstance(x, int):
        common = math.gcd(x, y)
        x, y = x // common, y // common
    common = min(d, e)  # both are powers of two
    numerator, denominator = x * (e // common), d // common * y
    if abs(y).bit_count() == 1:
        return exact(numerator if y > 0 else -numerator, abs(denominator), dtype)
    largest = _magnitude(numerator)
    if largest and largest < 2 ** FORMATS[dtype][0]:
        return Ratio(numerator, denominator, 1)
    return INEXACT


def minimum(a: Real, b: Real, dtype: int) -> Real:
    """Return the lesser of both."""
    x, y, denominator = _aligned(a, b)
    return exact(size.minimum(x, y), denominator, dtype)


def maximum(a: Real, b: Real, dtype: int) -> Real:
    """Return the greater of both."""
    return negative(minimum(negative(a, dtype), negative(b, dtype), dtype), dtype)


def negative(a: Real, dtype: int) -> Real:
    """Return -a."""
    if isinstance(a, float):
        return -a
    return replace(a, numerator=-a.numerator) if isinstance(a, Ratio) else a


def floor(a: Real, dtype: int) -> Real:
    """Return the greatest integer not above a."""
    return exact(size.floor_div(*_fraction(a)), 1, dtype)


def ceil(a: Real, dtype: int) -> Real:
    """Return the least integer not below a."""
    return exact(size.ceil_div(*_fraction(a)), 1, dtype)


def _fraction(a: Real) -> tuple[Extent, int]:
    """Return numerator and denominator; an unknown numerator where there are none."""
    if isinstance(a, Ratio):
        return a.numerator, a.denominator
    return a.as_integer_ratio() if isinstance(a, float) and math.isfinite(a) else (INEXACT, 1)


def _parts(a: Real) -> tuple[Extent, int]:
    """Return numerator and denominator of an exact number; an unknown numerator for any other."""
    return (INEXACT, 1) if isinstance(a, Ratio) and a.rounded else _fraction(a)


def _aligned(a: Real, b: Real) -> tuple[Extent, Extent, int]:
    """Return the numerators of both over one denominator, and that."""
    (x, d), (y, e) = _parts(a), _parts(b)
    common = max(d, e)
    return x * (common // d), y * (common // e), common
