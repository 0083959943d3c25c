"""Steps between floats and the integers that stand for them.

Source: the pages of QuantizeLinear and DequantizeLinear in the ONNX specification.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from onnx import TensorProto

from onnxpad.semantics import numbers
from onnxpad.semantics.layers import Layers
from onnxpad.semantics.moving import check_free, rank_of
from onnxpad.semantics.numbers import Number, Numbers
from onnxpad.semantics.pointwise import filled
from onnxpad.semantics.rows import FLOATS, Call, Passed, UnreadError, axis_of, named

_SHORT: Final = frozenset(
    {TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16}
)


def quantize(call: Call, inner: Sequence[Layers]) -> Passed:
    """QuantizeLinear, to integers of 8 or 16 bits."""
    (layers,) = inner
    if not layers:
        return named(call, ())
    pairs, scaled = _scaling(call, layers)
    dtype, points = call.dtype(), call.constant_dtype(2)
    written = call.attribute("output_dtype") if call.version >= 21 else 0
    to = points or written or TensorProto.UINT8
    if to not in _SHORT or written not in (0, to) or dtype not in FLOATS:
        raise UnreadError("element types of which nothing is known")

    def quantised(number: Number) -> Numbers:
        if number and {dtype, scaled} != {TensorProto.FLOAT}:
            raise UnreadError("an element type whose quotients are rounded")
        return [numbers.quantised(number, scale, point, to) for scale, point in pairs]

    return named(call, filled(call, layers, quantised, to))


def dequantize(call: Call, inner: Sequence[Layers]) -> Passed:
    """DequantizeLinear, of integers of 8, 16 or 32 bits."""
    (layers,) = inner
    if not layers:
        return named(call, ())
    pairs, scaled = _scaling(call, layers)
    dtype, points = call.dtype(), call.constant_dtype(2)
    written = call.attribute("output_dtype") if call.version >= 23 else 0
    is_of_points = dtype in _SHORT | {TensorProto.INT32} and points in (None, dtype)
    if not is_of_points or written not in (0, scaled):
        raise UnreadError("element types of which nothing is known")
    if dtype == TensorProto.INT32 and any(point for _, point in pairs):
        raise UnreadError("a zero point of 32 bits")

    def dequantised(number: Number) -> Numbers:
        return [
            numbers.computed("Mul", numbers.exact(number - point, scaled), scale, scaled)
            for scale, point in pairs
        ]

    return named(call, filled(call, layers, dequantised, scaled))


def _scaling(call: Call, layers: Layers) -> tuple[list[tuple[float, int]], int]:
    """Distinct pairs of scale and zero point, per tensor or along an axis; the scales' type.

    Raises:
        UnreadError: They are unknown, or along a padded axis, or in blocks.
    """
    if any(call.node.attrs.get(name) for name in ("block_size", "precision")):
        raise UnreadError("a quantisation in blocks, or of a precision of its own")
    scales, scaled, points = call.constant(1), call.constant_dtype(1), call.constant(2)
    if scales is None or scaled not in FLOATS:
        raise UnreadError("the scale is no constant of floats")
    if points is None:
        if call.operand(2) is not None:
            raise UnreadError("the zero point is no constant")
        points = np.zeros(scales.shape, np.int64)
    if scales.size != points.size or not scales.size or max(scales.ndim, points.ndim) > 1:
        raise UnreadError("scale and zero point are no numbers, and no vectors")
    if scales.size > 1:
        rank = rank_of(call, layers)
        if call.version < 13:
            raise UnreadError("the scale varies in a version without an axis")
        check_free(layers, [axis_of(call.attribute("axis"), rank)])
    flat = np.asarray(scales, np.float64).reshape(-1).tolist()
    if not all(0 < numbers.exact(scale, scaled) < math.inf for scale in flat):
        raise UnreadError("a scale that is not positive and finite")
    pairs = zip(flat, map(int, points.reshape(-1).tolist()), strict=True)
    return list(dict.fromkeys(pairs)), scaled
