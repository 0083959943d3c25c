"""Floating-point constants, rounded as their type rounds; float16 may round in several ways."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from itertools import product
from typing import Any, TypeVar

import numpy as np
from onnx import TensorProto

from onnxpad.arithmetic.size import Unknown
from onnxpad.records import dataclass


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary floating-point type.

    Attributes:
        precision: Bits of the significand, the hidden one included.
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


FLOAT = int(TensorProto.FLOAT)
FLOAT16 = int(TensorProto.FLOAT16)
FLOATS: dict[int, FloatFormat] = {
    FLOAT: FloatFormat(24, -149, 128, np.float32),
    int(TensorProto.DOUBLE): FloatFormat(53, -1074, 1024, np.float64),
    FLOAT16: FloatFormat(11, -24, 16, np.float16),
}


@dataclass(frozen=True, slots=True)
class Either:
    """One of a few constants: engines may or may not round to float16 after each step."""

    numbers: tuple[float, ...]


_MOST = 8  # numbers in one `Either`

_Function = TypeVar("_Function", bound=Callable[..., Any])


def each(function: _Function) -> _Function:
    """Have a function take `Either` too: the result is unique, or again `Either`."""

    @wraps(function)
    def tried(*operands: Any) -> Any:
        if Either not in map(type, operands):
            return function(*operands)
        choices = [one.numbers if isinstance(one, Either) else (one,) for one in operands]
        return _one_of([function(*choice) for choice in product(*choices)])

    return tried  # type: ignore[return-value]


def _one_of(results: list[Any]) -> Any:
    """Return the one result if all are equal; `Either` of them if all are constants."""
    flat = [b for a in results for b in (a.numbers if isinstance(a, Either) else (a,))]
    if all(isinstance(a, float) for a in flat):
        numbers = {(a, math.copysign(1.0, a)): a for a in flat}
        if 1 < len(numbers) <= _MOST:
            return Either(tuple(sorted(numbers.values())))
        return flat[0] if len(numbers) == 1 else Unknown("a float that is rounded too often")
    if all(a == flat[0] for a in flat):
        return flat[0]
    return Unknown("a number that depends on when a float is rounded")


def constant(number: float, dtype: int) -> float | Either | Unknown:
    """Round a double result to a type, where the type's own arithmetic gives the same."""
    kind = FLOATS[dtype]
    if not abs(number) <= kind.greatest:
        return Unknown("a float that is not finite")
    rounded = float(kind.scalar(number))
    if rounded == number:
        return rounded
    if abs(rounded) < kind.normal or not math.isfinite(rounded):
        return Unknown("a float that may be rounded in more than one way")
    if dtype != FLOAT16:
        return rounded
    # An engine may keep the float32 number between two steps, and round to float16 in the end.
    later = float(np.float32(number))
    found: float | Either | Unknown = _one_of([rounded, later, float(np.float16(later))])
    return found
