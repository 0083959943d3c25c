"""Rules of steps that compute each element from one element of the data, and constants.

Sources: the operators' pages of the ONNX specification, and IEEE 754 for what becomes of a fill.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from onnx import TensorProto

from onnxpad.proof.meaning import (
    FLOATS,
    MeaninglessError,
    is_set,
)
from onnxpad.proof.step_rules import fill_arithmetic as fills
from onnxpad.proof.step_rules.fill_arithmetic import Number
from onnxpad.proof.step_rules.step_node import (
    Passed,
    Rule,
    StepNode,
    axis_of,
    named,
    widened,
)

_CASTS: Final = FLOATS | {
    TensorProto.INT8,
    TensorProto.INT16,
    TensorProto.INT32,
    TensorProto.INT64,
    TensorProto.UINT8,
    TensorProto.UINT16,
    TensorProto.UINT32,
    TensorProto.UINT64,
}
_QUANTIZED: Final = frozenset(
    {TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16}
)


# Steps that compute each element from one element


def cast(call: StepNode) -> Passed:
    """The rule of Cast, between types whose numbers the table knows: it keeps the fill."""
    to = call.attribute("to", None)
    if to not in _CASTS:
        raise MeaninglessError("an element type that is not in the table of the proof")
    return named(call, call.mapped(lambda number: number, to))


def unary(function: Callable[[Number], Number]) -> Rule:
    """The rule of an operator that computes a function of each element, without attributes."""
    return lambda call: named(call, call.mapped(function))


def rectified(number: Number) -> Number:
    """Relu of a number."""
    return fills.greatest(number, type(number)(0))


def sign_of(number: Number) -> Number:
    """Sign of a number."""
    sign = type(number)((number > 0) - (number < 0))
    return fills.one_of((number, sign)) if number == 0 else sign


def to_whole_numbers(to_whole: Callable[[float], int]) -> Rule:
    """The rule of an operator that rounds each float to a whole number."""
    return unary(lambda number: fills.rounded(number, to_whole))


def keeps_zero(call: StepNode) -> Passed:
    """An operator that is known to give 0 for 0; its floats, if any, must be positive."""
    factors = [value for value in call.node.attrs.values() if isinstance(value, float)]
    if not all(0 < factor < math.inf for factor in factors):
        raise MeaninglessError("a factor that is not positive")
    return named(call, call.mapped(_same_zero))


def _same_zero(number: Number) -> Number:
    if not fills.is_plus_zero(number):
        raise MeaninglessError("nothing is known of other numbers than 0")
    return number


def clip(call: StepNode) -> Passed:
    """The rule of Clip; absent bounds are those of the type, and no bound to finite numbers."""
    bounds: list[Number | None] = []
    for place, name in enumerate(("min", "max"), 1):
        if call.version < 11:
            bounds.append(call.attribute(name, None))
        elif call.node.operand(place) is None:
            bounds.append(None)
        else:
            distinct = _elements(call, place) if call.layers else ()
            bounds.append(distinct[0] if len(distinct) == 1 else None)
            if call.layers and len(distinct) != 1:
                raise MeaninglessError("a bound of several values")

    def clipped(number: Number) -> Number:
        low, high = (
            None if bound is None else fills.exact_in(bound, call.dtype) for bound in bounds
        )
        if math.isinf(number) and (low is None or high is None):
            raise MeaninglessError("an infinity that is clipped to the type's own bounds")
        if low is not None and high is not None and not low <= high:
            raise MeaninglessError("bounds that cross")
        number = number if low is None else fills.greatest(number, low)
        return number if high is None else fills.least(number, high)

    return named(call, call.mapped(clipped))


# Steps with a constant operand


def _elements(call: StepNode, place: int) -> list[Number]:
    """The distinct elements of a constant of the data's element type; 0.0 and -0.0 are distinct.

    Raises:
        MeaninglessError: It is no such constant, or holds NaN or subnormal numbers.
    """
    flat = call.constant(place, call.dtype).reshape(-1)
    if call.dtype in FLOATS:
        bits = np.ascontiguousarray(flat, np.float64).view(np.int64)
        flat = np.unique(bits).view(np.float64)
    else:
        flat = np.unique(flat)
    return [fills.exact_in(number, call.dtype) for number in flat.tolist()]


def _axes_in_front(call: StepNode, place: int) -> int:
    """How many axes a constant operand has more than the data, which broadcasting puts in front.

    Raises:
        MeaninglessError: It is unknown, or not the same all along each padded axis.
    """
    tensor = call.node.operand(place)
    array = None if tensor is None else call.graph.constant(tensor)
    rank = call.rank
    if array is None or rank is None:
        raise MeaninglessError("an operand or the rank is unknown")
    for axis, size in enumerate(array.shape, rank - array.ndim):
        if size != 1 and axis >= 0 and call.is_padded(axis):
            raise MeaninglessError("an operand varies along a padded axis")
    return max(array.ndim - rank, 0)


def operated(call: StepNode) -> Passed:
    """The rule of Add, Sub, Mul or Div of data and a constant, which broadcast as in numpy."""
    if not call.layers:
        return named(call, ())
    place = 1 - call.data[0]
    elements, added = _elements(call, place), _axes_in_front(call, place)
    if call.dtype in FLOATS and not all(map(math.isfinite, elements)):
        raise MeaninglessError("an operand is not finite")

    def computed(number: Number) -> Number:
        pairs = ((each, number) if place == 0 else (number, each) for each in elements)
        return fills.one_of(fills.computed(call.node.op, *pair, call.dtype) for pair in pairs)

    return named(call, widened(call.mapped(computed), added))


# Quantisation


def _scaling(call: StepNode) -> tuple[list[tuple[float, int]], int, int | None]:
    """The constants of a QuantizeLinear or a DequantizeLinear, per tensor or along an axis.

    Returns:
        Distinct pairs of scale and zero point; the element type of the scales; that of the zero
        points, None where there are none.

    Raises:
        MeaninglessError: They are unknown, or along a padded axis, or in blocks.
    """
    if is_set(call.node.attrs, "block_size") or is_set(call.node.attrs, "precision"):
        raise MeaninglessError("a quantisation in blocks, or of a precision of its own")
    kinds = []
    for place in (1, 2):
        tensor = call.node.operand(place)
        declared = None if tensor is None else call.graph.declared(tensor)
        kinds.append(None if declared is None else declared.dtype)
    scaled, whole = kinds
    if scaled not in FLOATS:
        raise MeaninglessError("the scale is no constant of floats")
    scales = np.asarray(call.constant(1, scaled), np.float64)
    points = np.zeros(scales.shape, np.int64)
    if call.node.operand(2) is not None:
        points = call.constant(2, whole or TensorProto.UNDEFINED)
    if scales.size != points.size or max(scales.ndim, points.ndim) > 1:
        raise MeaninglessError("scale and zero point are no numbers, and no vectors")
    if scales.size > 1 and (call.version < 13 or call.is_padded(_channel_axis(call))):
        raise MeaninglessError("the scale varies along a padded axis")
    if not all(
        0 < fills.exact_in(scale, scaled) < math.inf for scale in scales.reshape(-1).tolist()
    ):
        raise MeaninglessError("a scale that is not positive and finite")
    flat = zip(scales.reshape(-1).tolist(), points.reshape(-1).tolist(), strict=True)
    pairs = dict.fromkeys((float(scale), int(point)) for scale, point in flat)
    return list(pairs), scaled, whole


def _channel_axis(call: StepNode) -> int:
    return axis_of(call.attribute("axis", 1), call.rank)


def quantize(call: StepNode) -> Passed:
    """The rule of QuantizeLinear, to integers of 8 or 16 bits."""
    if not call.layers:
        return named(call, ())
    pairs, scaled, whole = _scaling(call)
    written = call.attribute("output_dtype", 0)
    to = whole or written or TensorProto.UINT8
    if to not in _QUANTIZED or written not in (0, to) or call.dtype not in FLOATS:
        raise MeaninglessError("element types that are not in the table of the proof")

    def quantized(number: Number) -> Number:
        if number and {call.dtype, scaled} != {TensorProto.FLOAT}:
            raise MeaninglessError("an element type whose quotients are rounded")
        return fills.one_of(fills.quantized(number, scale, point, to) for scale, point in pairs)

    return named(call, call.mapped(quantized, to))


def dequantize(call: StepNode) -> Passed:
    """The rule of DequantizeLinear, of integers of 8, 16 or 32 bits."""
    if not call.layers:
        return named(call, ())
    pairs, scaled, whole = _scaling(call)
    if call.dtype not in _QUANTIZED | {TensorProto.INT32} or whole not in (None, call.dtype):
        raise MeaninglessError("element types that are not in the table of the proof")
    if call.attribute("output_dtype", 0) not in (0, scaled):
        raise MeaninglessError("element types that are not in the table of the proof")
    if call.dtype == TensorProto.INT32 and any(point for _, point in pairs):
        raise MeaninglessError("a zero point of 32 bits")

    def dequantized(number: Number) -> Number:
        return fills.one_of(
            fills.dequantized(number, scale, point, scaled) for scale, point in pairs
        )

    return named(call, call.mapped(dequantized, scaled))
