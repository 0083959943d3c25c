"""The value that an operator makes of a fill, where its result is certain.

A result is certain where one correctly rounded operation of IEEE 754 fixes it, or at a listed
point, such as 0 through Tanh. Whatever is not certain is refused: results of several roundings,
NaN, overflow and subnormal numbers. A zero whose sign is a matter of the kernel is a value of its
own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.analysis.value import INTEGERS
from onnxpad.messages import Named
from onnxpad.operators.amounts import is_negative_zero, is_plain_zero
from onnxpad.operators.table import FLOATS
from onnxpad.reasons import Reason, RefusalError

Number: TypeAlias = float | int

_NATIVE: Final = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})
# Rounding to even decides between two integers only if a quotient is this near to their middle.
_TIE: Final = 1e-3

KEEPS_ZERO: Final = frozenset(
    {
        "Asinh", "Atanh", "Celu", "Elu", "Erf", "Gelu", "HardSwish", "LeakyRelu", "Selu",
        "Sin", "Sinh", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu",
    }
)  # fmt: skip
"""Operators that make 0 of 0, though nothing certain of other values.

Not Asin, Atan and Mish: what onnxruntime computes of an element depends on its place in the tensor.
"""


class EitherZero(float):
    """0.0 or -0.0, as the runtime or the element of a constant makes it."""


EITHER_ZERO: Final = EitherZero(0)


class UncertainError(Exception):
    """The result of an operation is not certain; the message says why."""


def refusal_of_uncertain(op: str, value: Number, why: Named) -> RefusalError:
    """The refusal of a fill of which an operator makes nothing certain."""
    said = Named(*(f"{op} between turns its value {value} into {each}" for each in why))
    return RefusalError(Reason.FILL_CHANGES, said, value=value, operator=op)


def one_of(results: Iterable[Number]) -> Number:
    """The result that is the same for all elements of a constant; for 0.0 and -0.0 either zero.

    Raises:
        UncertainError: Results differ.
    """
    found = list(results)
    if len(dict.fromkeys(found)) != 1:
        raise UncertainError("several values, one for each element of its constant")
    signs = {(is_negative_zero(each), isinstance(each, EitherZero)) for each in found}
    return found[0] if len(signs) == 1 else EITHER_ZERO


def computed(
    operation: Callable[[Any, Any], Any], one: Number, other: Number, dtype: int
) -> Number:
    """The result of one arithmetic operation in an element type.

    Raises:
        UncertainError: It is not certain.
    """
    if dtype in FLOATS:
        kind = tensor_dtype_to_np_dtype(dtype) if dtype in _NATIVE else np.dtype(np.float64)
        with np.errstate(all="ignore"):
            result = float(operation(kind.type(one), kind.type(other)))
        return _sound(result, dtype, finite=math.isfinite(one) and math.isfinite(other))
    if not (math.isfinite(one) and math.isfinite(other)):
        raise UncertainError("a number that its type does not hold")
    least, greatest = _limits(dtype)
    result = operation(int(one), int(other))
    if not isinstance(result, int):
        raise UncertainError("a quotient of integers")
    if not least <= result <= greatest:
        raise UncertainError("a number that its type does not hold")
    return result


def _limits(dtype: int) -> tuple[int, int]:
    """The least and greatest value of a type of integers.

    Raises:
        UncertainError: It is another type.
    """
    limits = INTEGERS.get(dtype)
    if limits is None:
        raise UncertainError("a number of a type in which nothing is computed")
    return limits


def _sound(result: float, dtype: int, *, finite: bool) -> float:
    """A result of floating point.

    Raises:
        UncertainError: It is NaN, has overflowed, is subnormal, or would be rounded twice.
    """
    if math.isnan(result) or (finite and math.isinf(result)):
        raise UncertainError("NaN, or an overflow")
    if dtype not in _NATIVE and not holds(result, dtype):
        raise UncertainError("a number that is rounded, perhaps more than once")
    if result and math.isfinite(result) and abs(result) < _least_normal(dtype):
        raise UncertainError("a number so small that runtimes may make it 0")
    return result


def _least_normal(dtype: int) -> float:
    if dtype in (TensorProto.FLOAT, TensorProto.BFLOAT16):
        return float(np.finfo(np.float32).tiny)
    return float(np.finfo(tensor_dtype_to_np_dtype(dtype)).tiny)


def holds(value: Number, dtype: int) -> bool:
    """Whether an element type has a value exactly."""
    if dtype not in FLOATS:
        kind = np.dtype(tensor_dtype_to_np_dtype(dtype))
        if kind.kind not in "iu" or not math.isfinite(value) or value != int(value):
            return False
        return bool(np.iinfo(kind).min <= value <= np.iinfo(kind).max)
    with np.errstate(all="ignore"):
        if dtype == TensorProto.BFLOAT16:
            bits = int(np.float32(value).view(np.uint32))
            return float(np.float32(value)) == value and bits & 0xFFFF == 0
        return float(tensor_dtype_to_np_dtype(dtype).type(value)) == value


def lesser(one: Number, other: Number) -> Number:
    """The lesser of two values; of 0.0 and -0.0 runtimes take either.

    Raises:
        UncertainError: One is NaN.
    """
    return _chosen(one, other, min)


def greater(one: Number, other: Number) -> Number:
    """The greater of two values; of 0.0 and -0.0 runtimes take either.

    Raises:
        UncertainError: One is NaN.
    """
    return _chosen(one, other, max)


def _chosen(one: Number, other: Number, choose: Callable[[Number, Number], Number]) -> Number:
    if math.isnan(one) or math.isnan(other):
        raise UncertainError("NaN")
    return one_of((one, other)) if one == other else choose(one, other)


def zero_to_zero(value: Number) -> Number:
    """An operator with an inexact kernel that makes 0 of 0.

    Raises:
        UncertainError: The value is not 0, or -0.0.
    """
    if not is_plain_zero(value):
        raise UncertainError("a number that runtimes may compute differently")
    return value


def _negated(value: Number, dtype: int) -> Number:
    if dtype in FLOATS:
        return -float(value)
    return computed(lambda a, b: a - b, 0, value, dtype)


def _rounded(value: Number) -> Number:
    if math.isfinite(value) and value != int(value):
        raise UncertainError("a rounded number")
    return value


def _magnitude(value: Number, dtype: int) -> Number:
    return abs(value) if dtype in FLOATS or value >= 0 else _negated(value, dtype)


UNARY: Final[Mapping[str, Callable[[Number, int], Number]]] = {
    "Abs": _magnitude,
    "Ceil": lambda value, _: _rounded(value),
    "Floor": lambda value, _: _rounded(value),
    "Neg": _negated,
    "Relu": lambda value, dtype: greater(value, 0.0 if dtype in FLOATS else 0),
    "Round": lambda value, _: _rounded(value),
    **{op: lambda value, _: zero_to_zero(value) for op in KEEPS_ZERO},
}
"""The results of operators of one input for a value, in an element type."""

BINARY: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "Add": lambda a, b: a + b,
    "Div": lambda a, b: a / b,
    "Mul": lambda a, b: a * b,
    "Sub": lambda a, b: a - b,
}
"""Operators of two inputs that round once."""


def quantised(value: Number, scale: float, zero_point: int, dtype: int) -> int:
    """QuantizeLinear of one value.

    Source: QuantizeLinear-10: saturate(round(x / scale) + zero_point), rounding ties to even.

    Raises:
        UncertainError: The quotient is not finite, or near the middle of two integers.
    """
    if value == 0:
        return zero_point
    if not math.isfinite(value) or not math.isfinite(scale) or scale == 0:
        raise UncertainError("a value that is not finite")
    with np.errstate(all="ignore"):
        quotient = float(np.float32(value) / np.float32(scale))
    if not math.isfinite(quotient) or abs(quotient - math.floor(quotient) - 0.5) < _TIE:
        raise UncertainError("a number that rounding decides")
    least, greatest = _limits(dtype)
    return max(least, min(greatest, round(quotient) + zero_point))


def dequantised(value: int, scale: float, zero_point: int) -> float:
    """DequantizeLinear of one value: (x - zero_point) * scale, in float32.

    Raises:
        UncertainError: It is not certain.
    """
    if abs(value - zero_point) > 2**24:
        raise UncertainError("a rounded number")
    return float(computed(lambda a, b: a * b, float(value - zero_point), scale, TensorProto.FLOAT))
