"""Lower bounds of the elements of tensors: a table with one rule for each operator.

A rule returns a number that no element is below, or `NONE`. NaN is below no number. Rules do not
calculate with bounds: of what is computed from floating-point numbers that are not negative it is
said at most that it is not negative either. Integers wrap around, and have the bound of their type.
That operators keep to their rules was measured on onnxruntime's CPU provider (1.21 and 1.31),
extreme values included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy.typing as npt
from onnx import TensorProto

from onnxpad.analysis.rule_api import NONE, Bound, Call, named
from onnxpad.analysis.value import BOOL, INT64
from onnxpad.semantics.operators import MICROSOFT
from onnxpad.semantics.rows import FLOATS, INTEGERS

Rule: TypeAlias = Callable[[Call], Bound]

# The least element of each type that has one, other than -inf.
_LEAST: Final[Mapping[int | None, Bound]] = {
    BOOL: 0,
    **{dtype: least for dtype, (least, _) in INTEGERS.items()},
}


def bound_of(call: Call | None, dtype: int | None) -> Bound:
    """The bound of a tensor of a type, given the operator that computes it."""
    rule = None if call is None else BOUNDS.get(call.op)
    bound = NONE
    if call is not None and rule is not None and (not call.output or call.op == "Split"):
        call.kind = dtype or 0
        bound = rule(call)
    return bound if bound >= 0 else max(bound, _LEAST.get(dtype, NONE))


def _all(call: Call) -> Bound:
    """The least bound of the inputs, whose elements are put together."""
    places = range(call.op == "Where", len(call.node.inputs))
    return min(map(call.bound_of, places), default=math.inf)


def _keeps_sign(call: Call) -> Bound:
    """0 where the first input is not negative: means, and functions that map such numbers so."""
    return 0 if call.kind in FLOATS and call.bound_of(0) >= 0 else NONE


def _keeps_signs(call: Call) -> Bound:
    return 0 if call.kind in FLOATS and _all(call) >= 0 else NONE


def _positive(call: Call) -> Bound:
    """0, whatever is read; for floating point, as the magnitude of an integer may wrap around."""
    return 0 if call.kind in FLOATS else NONE


def _is_narrow(call: Call) -> bool:
    """Whether onnxruntime compares all bits of an element: not always of 64-bit integers."""
    return call.kind not in {0, INT64, TensorProto.UINT64}


def _greatest(call: Call) -> Bound:
    """The greatest bound; inputs after one that is not negative are not asked for."""
    greatest: Bound = NONE
    for place in range(len(call.node.inputs)) if _is_narrow(call) else ():
        greatest = max(greatest, call.bound_of(place))
        if greatest >= 0:
            break
    return greatest


def _clip(call: Call) -> Bound:
    """The lower limit or the data's bound, whichever is greater, unless the upper one is lower."""
    if call.version < 11:
        low, high = call.real("min", NONE), call.real("max", math.inf)
    else:
        low = call.bound_of(1) if call.has(1) else NONE
        high = call.bound_of(2) if call.has(2) else math.inf
    if not low >= 0:  # a limit may be NaN
        low = max(NONE if math.isnan(low) else low, call.bound_of(0))
    return NONE if math.isnan(high) or not _is_narrow(call) else min(low, high)


def _pad(call: Call) -> Bound:
    """The bound of the data, and of the fill where the mode is constant."""
    data = call.bound_of(0)
    if call.string("mode", "constant") != "constant":
        return data
    if call.version < 11:
        return min(data, call.real("value", 0.0))
    return min(data, call.bound_of(2) if call.has(2) else 0)


def _max_pool(call: Call) -> Bound:
    """The bound of the data; a dilated window wholly in its padding gives the lowest number."""
    return call.bound_of(0) if {*call.ints("dilations", ())} <= {1} else NONE


def _cast(call: Call) -> Bound:
    """0 for floating-point numbers of what is not negative: a bound above might be rounded up."""
    dtype = call.dtype(0)
    is_number = dtype in FLOATS or dtype in INTEGERS or dtype == BOOL
    return _keeps_sign(call) if is_number else NONE


def _quantised(call: Call) -> Bound:
    """The zero point, which stands for 0, where the data is not negative."""
    (scale, _), (point, _) = _limits(call, 1), _limits(call, 2)
    if not scale > 0 or math.isnan(point) or call.kind not in INTEGERS:
        return NONE
    return point if call.bound_of(0) >= 0 else NONE


def _dequantised(call: Call) -> Bound:
    """0, where the data is not below its zero point."""
    if not _limits(call, 1)[0] >= 0 or call.dtype(0) not in INTEGERS:
        return NONE
    return 0 if call.bound_of(0) >= _limits(call, 2)[1] else NONE


def _limits(call: Call, place: int) -> tuple[Bound, Bound]:
    """The least and the greatest element of a constant input; NaN where it is none.

    One that is left out is 0.
    """
    array = call.constant(place)
    if array is None or not array.size or not _is_number(array):
        return (math.nan, math.nan) if call.has(place) else (0, 0)
    return float(array.min()), float(array.max())


def _activated(call: Call) -> Bound:
    """The least that the activation gives, which a FusedConv applies last."""
    kind, limits = call.string("activation", ""), call.attribute("activation_params", ())
    if kind == "Clip" and len(limits) == 2:
        return max(NONE, float(min(limits)))  # a limit may be NaN
    return 0 if kind in {"HardSigmoid", "Relu", "Sigmoid"} else NONE


def least_element(array: npt.NDArray[Any]) -> Bound:
    """The least element of an array; `NONE` where there is none, or where one is NaN."""
    least = float(array.min()) if array.size and _is_number(array) else NONE
    return NONE if math.isnan(least) else least


def _is_number(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind in "fiub" or array.dtype.name == "bfloat16"


BOUNDS: Final[dict[str, Rule]] = {
    **named(
        lambda call: call.bound_of(0),
        "DepthToSpace Expand Flatten Gather GatherElements GlobalMaxPool Identity Reshape Slice"
        " SpaceToDepth Split Squeeze Tile Transpose Unsqueeze",
    ),
    **named(_all, "Concat Where"),
    **named(
        _keeps_sign,
        "AveragePool Ceil Celu Dropout Elu Erf Floor Gelu GlobalAveragePool HardSwish LeakyRelu"
        " Mish PRelu ReduceMean ReduceSum Round Softsign Sqrt Swish Tanh",
    ),
    **named(_keeps_signs, "Add Mean Mul Sum"),
    **named(_positive, "Abs Exp HardSigmoid Sigmoid Softmax Softplus"),
    "Cast": _cast,
    "Clip": _clip,
    "DequantizeLinear": _dequantised,
    "Max": _greatest,
    "MaxPool": _max_pool,
    "Pad": _pad,
    "QuantizeLinear": _quantised,
    "Relu": lambda call: 0,
    **named(_activated, "FusedConv", MICROSOFT),
}
"""Operators whose result has a lower bound. Others, and further outputs but of Split, have none."""
