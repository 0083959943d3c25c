"""Rules of steps that compute each element from one element of the data, and constants.

Sources: the operators' pages of the ONNX specification, and IEEE 754 for what becomes of a fill.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from onnx import TensorProto

from onnxpad.arithmetic.size import Size
from onnxpad.proof.layers import never_pads
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


def leaky_relu(call: StepNode) -> Passed:
    """The rule of LeakyRelu, which rounds once."""
    alpha = call.attribute("alpha", float(np.float32(0.01)))
    return named(call, call.mapped(lambda number: fills.leaky(number, alpha, call.dtype)))


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


# Steps with constant operands


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


def _check_equally_long(call: StepNode) -> None:
    """Checks that none of several padded operands is broadcast along a padded axis.

    Raises:
        MeaninglessError: One may be.
    """
    first, *others = (call.analysis.shape(call.node.inputs[place]) for place in call.data)
    for other in others:
        if first is None or other is None or not len(first) == len(other) == call.rank:
            raise MeaninglessError("the shapes of the operands are unknown")
        for axis, (one, two) in enumerate(zip(first, other, strict=True)):
            if call.is_padded(axis) and not (one == two and isinstance(one, int | Size)):
                raise MeaninglessError("an operand may be broadcast along a padded axis")


def with_constants(function: Callable[[StepNode, Number, Number], Number]) -> Rule:
    """The rule of an operator of data and constants, which broadcast as in numpy."""

    def rule(call: StepNode) -> Passed:
        if not call.layers:
            return named(call, ())
        _check_equally_long(call)
        constants, added = [], 0
        for place, _ in call.others():
            added = max(added, _axes_in_front(call, place))
            constants.append(_elements(call, place))
            if call.dtype in FLOATS and not all(map(math.isfinite, constants[-1])):
                raise MeaninglessError("an operand is not finite")

        def combined(numbers: Sequence[Number]) -> Number:
            number, *others = numbers
            for other in others:
                number = function(call, number, other)
            for elements in constants:
                number = fills.one_of(function(call, number, element) for element in elements)
            return number

        return named(call, widened(call.combined(combined), added))

    return rule


def operated(call: StepNode, number: Number, operand: Number) -> Number:
    """Add, Sub, Mul or Div of the data and another operand, in the order of the inputs."""
    pair = (number, operand) if call.data[0] == 0 else (operand, number)
    return fills.computed(call.node.op, *pair, call.dtype)


def prelu(call: StepNode) -> Passed:
    """The rule of PRelu, whose slope is broadcast to the data, and not the data to the slope."""
    if call.layers and _axes_in_front(call, 1):
        raise MeaninglessError("a slope that has more axes than the data")
    return with_constants(_sloped)(call)


def _sloped(call: StepNode, number: Number, slope: Number) -> Number:
    if math.isinf(number):  # onnxruntime before 1.27 multiplies it by 0 and adds NaN
        raise MeaninglessError("an infinite number")
    return fills.leaky(number, slope, call.dtype)


def greatest(call: StepNode, number: Number, operand: Number) -> Number:
    """Max of two numbers."""
    return fills.greatest(number, operand)


def least(call: StepNode, number: Number, operand: Number) -> Number:
    """Min of two numbers."""
    return fills.least(number, operand)


def batch_normalization(call: StepNode) -> Passed:
    """With mean and bias 0, 0 stays 0 in whatever order an engine multiplies."""
    trains = call.version >= 14 and is_set(call.node.attrs, "training_mode")
    if trains or any(output.name for output in call.node.outputs[1:]):
        raise MeaninglessError("a BatchNormalization that trains")
    if not call.attribute("spatial", 1):
        raise MeaninglessError("a BatchNormalization by element")
    if not call.layers:
        return named(call, ())
    if (call.rank or 0) < 2 or call.is_padded(1):
        raise MeaninglessError("the channels are padded")
    if all(never_pads(layer.amounts) for layer in call.layers):
        return named(call, call.mapped(_same_zero))
    scales, biases, means, variances = (_parameters(call, place) for place in range(1, 5))
    if not all(map(fills.is_plus_zero, (*biases, *means))):
        raise MeaninglessError("a mean or a bias that is not 0")
    epsilon = call.attribute("epsilon", float(np.float32(1e-5)))
    root = fills.normal_root(min(variances) + epsilon, call.dtype)
    factor = max(map(abs, scales)) / min(root, 1)
    if fills.overflows(max(variances) + epsilon, call.dtype) or fills.overflows(factor, call.dtype):
        raise MeaninglessError("a factor that may overflow")
    return named(call, call.mapped(_same_zero))


def _parameters(call: StepNode, place: int) -> list[float]:
    """The elements of a vector of floating-point numbers, which may be of another such type."""
    tensor = call.node.operand(place)
    declared = None if tensor is None else call.graph.declared(tensor)
    dtype = TensorProto.UNDEFINED if declared is None else declared.dtype
    array = call.constant(place, dtype)
    found = [float(number) for number in np.asarray(array, np.float64).reshape(-1).tolist()]
    if dtype not in FLOATS or array.ndim != 1 or not all(map(math.isfinite, found)):
        raise MeaninglessError("a parameter that is no vector of finite floats")
    return found


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
