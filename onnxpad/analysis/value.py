"""A tensor's content and shape, element by element, where some elements may be symbolic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from onnx import TensorProto

from onnxpad.arithmetic.size import Extent, Unknown, bounds
from onnxpad.semantics.rows import FLOATS, INTEGERS

Shape: TypeAlias = tuple[Extent, ...]
Elements: TypeAlias = npt.NDArray[np.object_]

BOOL = int(TensorProto.BOOL)
INT32 = int(TensorProto.INT32)
INT64 = int(TensorProto.INT64)
UINT8 = int(TensorProto.UINT8)
FLOAT = int(TensorProto.FLOAT)

REALS = FLOATS - {TensorProto.BFLOAT16}
"""The floating-point types that are evaluated."""


class Value(Struct, frozen=True, dict=True):
    """The content of a tensor, element by element.

    Attributes:
        dtype: Element type, a number of ONNX's `TensorProto.DataType`.
        data: Object array of the tensor's shape. Integers are `Extent`s; truth values are
            `Extent`s that are 0 or 1; floats are `Real`s: Python floats that the type holds
            exactly, or one of the classes of `analysis.floats` for a float that varies.
    """

    dtype: int
    data: Elements

    @cached_property
    def flat(self) -> tuple[Any, ...]:
        """Its elements in order."""
        return tuple(self.data.reshape(-1).tolist())


def is_constant(value: Value | None) -> bool:
    """Whether each element of a tensor is a number."""
    return value is not None and {int, float}.issuperset(map(type, value.flat))


def elements(items: Iterable[object], shape: Sequence[int]) -> Elements:
    """Return an object array of a shape, in the order of `items`."""
    data = np.empty(math.prod(shape), dtype=object)
    data[:] = list(items)
    return data.reshape(tuple(shape))


def filled(item: object, shape: Sequence[int]) -> Elements:
    """Return an object array of a shape with one item everywhere."""
    data = np.empty(tuple(shape), dtype=object)
    data[...] = item
    return data


def each(function: Callable[..., object], *operands: Elements) -> Elements:
    """Apply a function element by element, with numpy's broadcasting.

    Raises:
        ValueError: The operands do not broadcast.
    """
    with np.errstate(all="ignore"):  # numpy would warn of Python's own inf * 0
        result = np.frompyfunc(function, len(operands), 1)(*operands)
    return result if isinstance(result, np.ndarray) else elements([result], ())


def constant_elements(array: npt.NDArray[np.generic], dtype: int) -> Elements | None:
    """Return the elements of a constant; None for a type that is not evaluated."""
    if dtype in INTEGERS:
        return array.astype(object)
    if dtype == BOOL:
        return array.astype(np.int8).astype(object)
    if dtype in REALS:
        return array.astype(np.float64).astype(object)
    return None


def fit(number: Extent, dtype: int) -> Extent:
    """Return the integer where its type holds it; one that overflows is unknown."""
    least, greatest = INTEGERS[dtype]
    if isinstance(number, int):
        return number if least <= number <= greatest else Unknown(f"{number} overflows its type")
    low, high = bounds(number)
    if low is None or high is None or (least <= low and high <= greatest):
        return number
    return Unknown(f"{low} to {high} overflows the type")
