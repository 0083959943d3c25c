"""Arithmetic on sizes of axes, known or symbolic.

Where an operator runs only if two axes have one size, they are taken to have it: either size
stands for both.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce

from onnxpad.analysis.value import Shape
from onnxpad.arithmetic.size import (
    Extent,
    Unknown,
    bounds,
    ceil_div,
    equal,
    floor_div,
    less,
    maximum,
    minimum,
    where,
)
from onnxpad.semantics.rows import UnreadError


def product(extents: Iterable[Extent]) -> Extent:
    """Return the product of the sizes, which is the number of elements."""
    return reduce(operator.mul, extents, 1)


def at_least(extent: Extent, least: int) -> bool:
    """Whether an extent is known to be at least `least`."""
    low, _ = bounds(extent)
    return low is not None and low >= least


def agreed(extents: Iterable[Extent]) -> Extent:
    """Return the common size of axes that must be equal: an int if there is one, else a `Size`.

    Raises:
        UnreadError: Two of them are different numbers.
    """
    found: Extent = Unknown("no operand's size is known")
    for extent in extents:
        if isinstance(extent, int) and isinstance(found, int) and extent != found:
            raise UnreadError(f"{found} and {extent} where sizes must be equal")
        if isinstance(found, Unknown) or isinstance(extent, int):
            found = extent
    return found


def broadcast(shapes: Iterable[Shape]) -> Shape:
    """Return the shape that shapes broadcast to, by numpy's rules.

    Raises:
        UnreadError: They do not broadcast.
    """
    result: list[Extent] = []
    for shape in shapes:
        missing = len(shape) - len(result)
        result = [1] * missing + result
        offset = len(result) - len(shape)
        for axis, extent in enumerate(shape, offset):
            result[axis] = _broadcast(result[axis], extent)
    return tuple(result)


def _broadcast(a: Extent, b: Extent) -> Extent:
    if isinstance(a, int) and isinstance(b, int):
        if a != b and 1 not in (a, b):
            raise UnreadError(f"{a} and {b} do not broadcast")
        return b if a == 1 else a
    if a == b:
        return a
    if isinstance(b, int):
        a, b = b, a
    # A size other than 1 is the result: the other one is then equal to it, or 1.
    result = where(equal(a, 1), b, a)
    return where(equal(b, 1), a, b) if isinstance(result, Unknown) else result


def slice_size(size: Extent, start: Extent, end: Extent, step: int) -> Extent:
    """Return how many elements a Slice takes of an axis.

    Source: ONNX Slice, which clamps like this.
    """
    first, last = slice_start(size, start, step), _from_begin(size, end)
    last = _clamp(last, 0, size) if step > 0 else _clamp(last, -1, size - 1)
    return maximum(ceil_div(last - first, step), 0)


def slice_start(size: Extent, start: Extent, step: int) -> Extent:
    """Return the first position that a Slice takes of an axis.

    Source: ONNX Slice, which clamps like this.
    """
    return _clamp(_from_begin(size, start), 0, size if step > 0 else size - 1)


def _from_begin(size: Extent, position: Extent) -> Extent:
    """Return a position counted from the begin, given one that counts from the end if negative."""
    return where(less(position, 0), position + size, position)


def _clamp(a: Extent, low: Extent, high: Extent) -> Extent:
    return minimum(maximum(a, low), high)


def remaining(total: Iterable[Extent], taken: Iterable[Extent]) -> Extent:
    """Return the size that Reshape computes for -1: the product of `total` over that of `taken`.

    Equal sizes cancel first, which avoids products of two symbolic sizes.
    """
    factors = list(total)
    divisors: list[Extent] = []
    for extent in taken:
        if extent in factors and at_least(extent, 1):
            factors.remove(extent)
        else:
            divisors.append(extent)
    divisor = product(divisors)
    if not at_least(divisor, 1):
        return Unknown("an axis that the others do not determine")
    return floor_div(product(factors), divisor)
