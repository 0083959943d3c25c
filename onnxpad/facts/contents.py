"""Floats as ONNX operators compute them, where that is exact or rounded once.

A float that varies with a size is known in two cases only:

- `Scaled`: it is exact. An integer of at most p bits times a power of two, where p is the precision
  of its type (24 for float32); sums, products and comparisons of such numbers are exact while they
  stay such numbers, so no order of evaluation and no wider intermediate type changes them.
- `Quotient`: one division a / b of exact numbers, rounded once. With integers |a| < 2^p and b, its
  floor, ceiling and truncation are those of the true quotient: the rounding error is at most |a /
  b| 2^-p < 1 / |b|, and unless a / b is an integer, it is at least 1 / |b| away from the nearest
  one. One integer may be added to it, where the rounding of that sum leaves the error below
  1 / |b|. After any other operation the result is unknown.

A constant is a Python float that its type holds exactly. It is computed in the type's own
precision; double arithmetic rounded to float32 is float32 arithmetic, since 53 >= 2 * 24 + 2
(Figueroa, "When is double rounding innocuous?", 1995). onnxruntime computes some float16 operators
in float32 and rounds later, or not at all: an inexact float16 result is unknown. So is arithmetic
with infinities and NaN.

The sign of a zero is kept, since it shows in the fill of a `Pad`. Where engines may give either
zero, or where the sign is not traced, the number is `ZERO`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.arithmetic import size
from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Unknown,
    always,
    bounds,
    floor_div,
    modulo,
    trunc_div,
)
from onnxpad.facts.rule_api import BOOL, REALS, Call, Elements, ValueRule, each, elements, fit
from onnxpad.semantics.rows import FORMATS, INTEGERS, UnreadError


class Scaled(Struct, frozen=True):
    """Exactly `mantissa` * 2^`exponent`; a zero may be 0.0 or -0.0."""

    mantissa: Extent
    exponent: int


ZERO = Scaled(0, 0)
"""0.0 or -0.0."""


class Quotient(Struct, frozen=True):
    """`numerator` / `denominator`, rounded by less than 1 / |`denominator`|, which is not 0.

    Attributes:
        numerator: An integer.
        denominator: An integer.
        moved: Whether an integer was added to the quotient; `numerator` includes it.
    """

    numerator: Size
    denominator: int
    moved: bool = False


Real: TypeAlias = float | Scaled | Quotient | Unknown


def scaled(mantissa: Extent, exponent: int, dtype: int) -> Real:
    """Return mantissa * 2^exponent where the type holds it exactly at every size."""
    precision, smallest, greatest = FORMATS[dtype]
    low, high = bounds(mantissa)
    if isinstance(mantissa, Unknown) or low is None or high is None:
        return _unknown(mantissa)
    while max(-low, high) > 2**precision and always(modulo(mantissa, 2)) is False:
        mantissa, low, high, exponent = floor_div(mantissa, 2), low // 2, high // 2, exponent + 1
    largest = max(-low, high)
    if largest > 2**precision or exponent <= smallest - precision:
        return Unknown(f"a float that is exact only up to 2^{precision}")
    if largest.bit_length() + exponent > greatest + 1:
        return Unknown("a float that may overflow")
    if isinstance(mantissa, Size):
        return Scaled(mantissa, exponent)
    if not mantissa:
        return ZERO
    return math.ldexp(float(largest if high > 0 else -largest), exponent)


def constant(number: float, dtype: int) -> float | Unknown:
    """Round a double result to a type, where every engine gives the same.

    An engine may keep a float32 number between two operations on float16, and round in the end.
    """
    precision, smallest, greatest = FORMATS[dtype]
    if not abs(number) <= math.ldexp(2.0**precision - 1, greatest + 1 - precision):
        return Unknown("a float that is not finite")
    rounded = float(tensor_dtype_to_np_dtype(dtype).type(number))
    is_normal = math.ldexp(1.0, smallest) <= abs(rounded) < math.inf
    if rounded != number and (dtype == TensorProto.FLOAT16 or not is_normal):
        return Unknown("a float that may be rounded in more than one way")
    return rounded


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
    """Return a quotient plus an integer, where its floor is still that of the exact sum.

    The sum is a multiple of the quotient's last bit. So it is rounded only where it reaches a
    power of two that the quotient does not: by at most half of its own last bit. The quotient was
    rounded by at most half of that before.
    """
    low, high = bounds(a.numerator)
    assert low is not None
    assert high is not None
    largest = max(-low, high) // abs(a.denominator) + 1 + abs(number)
    power = 1 << (largest.bit_length() - 1)
    if a.moved or 3 * power * abs(a.denominator) >= 2 ** (FORMATS[dtype][0] + 1):
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
    if a == ZERO:
        return ZERO
    if abs(denominator) == 1:
        return scaled(numerator * denominator, e - f, dtype)
    if e > f:
        numerator = numerator * 2 ** (e - f)
    else:
        denominator = denominator * 2 ** (f - e)
    low, high = bounds(numerator)
    if isinstance(numerator, Size) and low is not None and high is not None:
        if max(-low, high) < 2 ** FORMATS[dtype][0]:
            return Quotient(numerator, denominator)
        return Unknown(f"a quotient of more than {FORMATS[dtype][0]} bits")
    return _unknown(numerator)


def minimum(a: Real, b: Real, dtype: int) -> Real:
    """Return the lesser of both."""
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return Unknown("a minimum with NaN")
        return min(a, b) if a != b or repr(a) == repr(b) else ZERO
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


def floor(a: Real, dtype: int) -> Real:
    """Return the greatest integer not above a."""
    return _whole(math.floor, floor_div, a, dtype)


def ceil(a: Real, dtype: int) -> Real:
    """Return the least integer not below a."""
    return _whole(math.ceil, size.ceil_div, a, dtype)


def _whole(
    function: Callable[[float], int],
    division: Callable[[Extent, Extent], Extent],
    a: Real,
    dtype: int,
) -> Real:
    """Round to an integer; engines differ on the sign where the constant -0.5 is rounded to 0."""
    if isinstance(a, float):
        whole = float(function(a)) if a and math.isfinite(a) else a
        return whole if whole or a >= 0 or not a else ZERO
    if isinstance(a, Scaled) and a.exponent >= 0:
        return a
    return scaled(_divided(division, a), 0, dtype)


def _unknown(a: object, reason: str = "a float that is not exact") -> Unknown:
    """Return `a` where it is unknown, else an unknown with the reason given."""
    return a if isinstance(a, Unknown) else Unknown(reason)


def _odd(number: float) -> tuple[int, int]:
    """Return an odd m and an e with number = m * 2^e, for a finite number that is not 0."""
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
    """Return the mantissas of both at the lesser exponent, and that exponent."""
    (x, e), (y, f) = _parts(a), _parts(b)
    exponent = min(e, f)
    return x * 2 ** (e - exponent), y * 2 ** (f - exponent), exponent


def _divided(division: Callable[[Extent, Extent], Extent], a: Real) -> Extent:
    """Return a varying number as an integer, rounded as `division` rounds."""
    if isinstance(a, Quotient):
        return division(a.numerator, a.denominator)
    mantissa, exponent = _parts(a)
    if exponent >= 0:
        product: Extent = mantissa * 2**exponent
        return product
    return division(mantissa, 2**-exponent)


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
        (1, "min", size.maximum, maximum),
        (2, "max", size.minimum, minimum),
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
            return lambda a: convert(a, target)
        if target in INTEGERS:
            return lambda a: fit(to_integer(a), target)
    elif source in INTEGERS or source == BOOL:
        if target in REALS:
            return lambda a: from_integer(a, target)
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
    "Add": _elementwise(2, operator.add, add),
    "And": _logic(2, size.minimum),
    "Cast": _cast,
    "Ceil": _elementwise(1, None, ceil),
    "Clip": _clip,
    "Div": _elementwise(2, _quotient, divide),
    "Equal": _comparison(size.equal),
    "Floor": _elementwise(1, None, floor),
    "Greater": _comparison(lambda a, b: size.less(b, a)),
    "GreaterOrEqual": _comparison(lambda a, b: size.less_equal(b, a)),
    "Less": _comparison(size.less),
    "LessOrEqual": _comparison(size.less_equal),
    "Max": _variadic(size.maximum, maximum),
    "Min": _variadic(size.minimum, minimum),
    "Mod": _mod,
    "Mul": _elementwise(2, operator.mul, multiply),
    "Neg": _elementwise(1, operator.neg, negative),
    "Not": _logic(1, lambda a: 1 - a),
    "Or": _logic(2, size.maximum),
    "Relu": _elementwise(1, lambda a: size.maximum(a, 0), lambda a, dtype: maximum(a, 0.0, dtype)),
    "Sign": _elementwise(1, _sign, None),
    "Sub": _elementwise(2, operator.sub, subtract),
    "Where": _where,
    "Xor": _logic(2, lambda a, b: 1 - size.equal(a, b)),
}
"""Value rules of operators that compute new elements."""
