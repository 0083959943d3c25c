"""Floating-point constants, rounded as their type rounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from onnx import TensorProto

from onnxpad.arithmetic.size import Unknown


class FloatFormat(Struct, frozen=True):
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


def constant(number: float, dtype: int) -> float | Unknown:
    """Round a double result to a type, where every engine gives the same.

    An engine may keep a float32 number between two operations on float16, and round in the end.
    """
    kind = FLOATS[dtype]
    if not abs(number) <= kind.greatest:
        return Unknown("a float that is not finite")
    rounded = float(kind.scalar(number))
    if rounded == number:
        return rounded
    if abs(rounded) < kind.normal or not math.isfinite(rounded):
        return Unknown("a float that may be rounded in more than one way")
    if dtype == FLOAT16:
        return Unknown("a float16 number that may be rounded later")
    return rounded
