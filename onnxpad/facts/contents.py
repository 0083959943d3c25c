"""The contents that arithmetic operators compute: integers, truth values, and floats.

An element that overflows its type, or that engines may round in more than one way, is unknown.

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
import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic import size
from onnxpad.arithmetic.size import Extent, Unknown, always, bounds, modulo
from onnxpad.facts.rule_api import (
    BOOL,
    REALS,
    Call,
    Elements,
    ValueRule,
    each,
    elements,
    filled,
    fit,
    known,
    named,
)
from onnxpad.facts.shapes import (
    dimensions,
    element_of,
    pads_of,
    perm_of,
    product,
    slice_start,
    split_sizes,
)
from onnxpad.semantics.moving import bounds_of
from onnxpad.semantics.rows import FORMATS, INTEGERS, UnreadError, axis_of


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

Real: TypeAlias = float | Ratio | Unknown


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


Function: TypeAlias = Callable[..., Any]


def _computed(
    integer: Function | None, real: Function | None = None, *, unary: bool = False
) -> ValueRule:
    """Apply a function of one element, or of two: pair by pair to all inputs."""

    def rule(call: Call) -> Elements:
        function, operands = _applied(call.kind, integer, real), _operands(call, call.kind)
        return each(function, *operands) if unary else reduce(partial(each, function), operands)

    return rule


def _applied(dtype: int, integer: Function | None, real: Function | None) -> Function:
    """Return the function for elements of a type, with its result in that type."""
    if dtype in INTEGERS and integer is not None:
        return lambda *operands: fit(integer(*operands), dtype)
    if dtype in REALS and real is not None:
        return lambda *operands: real(*operands, dtype)
    raise UnreadError(f"elements of type {dtype} are not computed")


def _operands(call: Call, dtype: int) -> list[Elements]:
    if "broadcast" in call.node.attrs:
        raise UnreadError("broadcasting of opset 6 and before")
    return call.all_elements(dtype)


def _comparison(function: Function) -> ValueRule:

    def rule(call: Call) -> Elements:
        dtype = call.element_type(0)
        if dtype in REALS:
            raise UnreadError("a comparison of floats")
        return each(function, *_operands(call, dtype))

    return rule


def _clip(call: Call) -> Elements:
    if call.version < 11:
        raise UnreadError("a Clip of opset 10 or before")
    data = call.value_of(0).data
    for index, integer, real in ((1, size.maximum, maximum), (2, size.minimum, minimum)):
        if call.has(index):
            bound = call.elements_of(index, call.kind).reshape(())
            data = each(_applied(call.kind, integer, real), data, bound)
    return data


def _where(call: Call) -> Elements:
    if call.kind in REALS:
        raise UnreadError("a choice of floats")
    condition, chosen = call.elements_of(0, BOOL), (1, 2)
    return each(size.where, condition, *(call.elements_of(place, call.kind) for place in chosen))


def _cast(call: Call) -> Elements:
    value = call.value_of(0)
    return each(_conversion(value.dtype, call.kind), value.data)


def _conversion(source: int, target: int) -> Function:
    is_real = source in REALS
    if is_real or source in INTEGERS or source == BOOL:
        if target in REALS:
            return partial(convert if is_real else from_integer, dtype=target)
        if target in INTEGERS:
            return lambda a: fit(to_integer(a) if is_real else a, target)
        if target == BOOL and not is_real:
            return lambda a: 1 - size.equal(a, 0)
    raise UnreadError("a cast between types that are not computed")


def _logic(function: Callable[..., Extent]) -> ValueRule:
    """Apply a function to inputs whose elements are 0 or 1."""
    return lambda call: each(function, *call.all_elements(BOOL))


def _sign(a: Extent) -> Extent:
    return size.less(0, a) - size.less(a, 0)


def _by(divide: Callable[[Extent, Extent], Extent]) -> Function:
    return lambda a, b: divide(a, b) if b != 0 else Unknown("a division by 0")


def _mod(call: Call) -> Elements:
    if call.flag("fmod"):
        raise UnreadError("a remainder with the sign of the dividend")
    return _computed(_by(size.modulo))(call)


# Operators that create, move or repeat elements. They may rely on `call.sizes`, known and small.


def _transposed(call: Call) -> Elements:
    data = call.value_of(0).data
    return data.transpose(perm_of(call, data.ndim))


def _joined(call: Call) -> Elements:
    parts = call.all_elements(call.kind)
    return np.concatenate(parts, call.axis(len(call.sizes), 1))


def _part(call: Call) -> Elements:
    data = call.value_of(0).data
    axis = call.axis(data.ndim)
    sizes = known(tuple(split_sizes(call, data.shape[axis])))
    begin = sum(sizes[: call.output])
    return np.take(data, range(begin, begin + sizes[call.output]), axis)


def _sliced(call: Call) -> Elements:
    data = call.value_of(0).data
    for axis, (start, _, step) in bounds_of(call, data.ndim).items():
        (first,) = known((slice_start(data.shape[axis], start, step),))
        data = np.take(data, first + step * np.arange(call.sizes[axis]), axis)
    return data


def _gathered(call: Call) -> Elements:
    data, shape = call.value_of(0).data, known(call.shape_of(1))
    axis = call.axis(data.ndim)
    positions = [axis_of(index, data.shape[axis]) for index in call.numbers(1)]
    taken = np.take(data, np.reshape(np.array(positions, dtype=np.intp), shape), axis)
    return np.asarray(taken, dtype=object)


def _padded(call: Call) -> Elements:
    data = call.value_of(0).data
    begins = known(tuple(begin for begin, _ in pads_of(call, data.ndim)))
    if call.version < 11 or call.of("mode", "constant") != "constant" or min(begins) < 0:
        raise UnreadError("a Pad that copies or crops, or of opset 10 or before")
    zero = 0 if call.kind in INTEGERS else 0.0
    item = call.elements_of(2, call.kind).reshape(()).item() if call.has(2) else zero
    result = filled(item, call.sizes)
    result[tuple(map(slice, begins, np.add(begins, data.shape)))] = data
    return result


def _constant_of_shape(call: Call) -> Elements:
    element = element_of(call)[1]
    if element is None:
        raise UnreadError("a ConstantOfShape of something that is no number")
    return filled(element, call.sizes)


VALUES: dict[str, ValueRule] = {
    **named(lambda call: call.value_of(0).data.reshape(call.sizes), "Reshape Squeeze Unsqueeze"),
    "Concat": _joined,
    "ConstantOfShape": _constant_of_shape,
    "Expand": lambda call: np.broadcast_to(call.value_of(0).data, call.sizes),
    "Gather": _gathered,
    "Identity": lambda call: call.value_of(0).data,
    "Pad": _padded,
    "Shape": lambda call: elements(dimensions(call), call.sizes),
    "Size": lambda call: filled(fit(product(call.shape_of(0)), call.kind), ()),
    "Slice": _sliced,
    "Split": _part,
    "Transpose": _transposed,
    "Add": _computed(operator.add, add),
    "And": _logic(size.minimum),
    "Cast": _cast,
    "Ceil": _computed(None, ceil, unary=True),
    "Clip": _clip,
    "Div": _computed(_by(size.trunc_div), divide),
    "Equal": _comparison(size.equal),
    "Floor": _computed(None, floor, unary=True),
    "Greater": _comparison(lambda a, b: size.less(b, a)),
    "Less": _comparison(size.less),
    "Max": _computed(size.maximum, maximum),
    "Min": _computed(size.minimum, minimum),
    "Mod": _mod,
    "Mul": _computed(operator.mul, multiply),
    "Neg": _computed(operator.neg, negative, unary=True),
    "Not": _logic(lambda a: 1 - a),
    "Relu": _computed(
        partial(size.maximum, 0), lambda a, dtype: maximum(a, 0.0, dtype), unary=True
    ),
    "Sign": _computed(_sign, unary=True),
    "Sub": _computed(operator.sub, subtract),
    "Where": _where,
    "Xor": _logic(lambda a, b: 1 - size.equal(a, b)),
}
"""Value rules by name."""
