"""Lower bounds of the elements of tensors: a table with one rule for each operator.

A rule is a generator. It asks for the bounds of tensors that the node reads, and returns that of
the tensor that it computes: a number that no element is below, or `NONE`. NaN is below no number.
Sums and quotients of floating-point numbers that are not negative are not negative either, since
rounding is monotonic. Those of integers wrap around, and have no bound here. That operators keep to
their rules was measured on onnxruntime's CPU provider (1.21 and 1.31), extreme values included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype
from onnx.numpy_helper import to_array

from onnxpad.analysis.analysis import Analysis
from onnxpad.analysis.rule_api import NONE, Bound, Call, named
from onnxpad.analysis.value import BOOL, INT64, INTEGERS, Shape
from onnxpad.arithmetic.size import always, less_equal
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.records import NamedTuple
from onnxpad.semantics.operators import MICROSOFT
from onnxpad.semantics.rows import FLOATS

Numbers: TypeAlias = npt.NDArray[np.float64]

Ask: TypeAlias = Generator[Tensor, Bound, Bound]
"""A computation that asks for the bounds of tensors and returns a bound."""


class ComputedTensor(NamedTuple):
    """A tensor, and the node that computes it.

    Attributes:
        node: The node.
        tensor: The tensor.
        graph: The graph of both.
        analysis: The analysis of that graph.
    """

    node: Node
    tensor: Tensor
    graph: Graph
    analysis: Analysis

    @property
    def says(self) -> Call:
        """The node's attributes."""
        return Call(self.node, self.node.op, self.graph.opset, 0)

    @property
    def is_narrow(self) -> bool:
        """Whether onnxruntime compares all bits of an element: not always of 64-bit integers."""
        return self.analysis.dtype(self.tensor) not in {None, INT64, TensorProto.UINT64}

    @property
    def is_float(self) -> bool:
        """Whether the node computes floating-point numbers, which do not wrap around."""
        return self.analysis.dtype(self.tensor) in FLOATS

    def inputs(self) -> list[Tensor]:
        """The inputs that are there."""
        return [tensor for tensor in self.node.inputs if tensor.name]

    def content(self, index: int) -> Numbers | None:
        """A constant input as numbers; None where it is left out or not constant."""
        tensor = self.node.operand(index)
        array = None if tensor is None else self.graph.constant(tensor)
        return None if array is None else _numbers(array)

    def shape(self, index: int) -> Shape | None:
        """The sizes of an input's axes; None where the rank is unknown."""
        tensor = self.node.operand(index)
        return None if tensor is None else self.analysis.shape(tensor)


Rule: TypeAlias = Callable[[ComputedTensor], Ask]


def _first(case: ComputedTensor) -> Ask:
    """The bound of the first input, whose elements are moved, dropped or repeated."""
    return (yield case.node.inputs[0])


def _least(tensors: list[Tensor]) -> Ask:
    """The least bound of several tensors; those after one without a bound are not asked for."""
    least: Bound = math.inf
    for tensor in tensors:
        least = min(least, (yield tensor))
        if least == NONE:
            break
    return least if tensors else NONE


def _all(case: ComputedTensor) -> Ask:
    """The least bound of the inputs, whose elements are put together."""
    return (yield from _least(case.inputs()))


def _least_of(case: ComputedTensor) -> Ask:
    """The least bound of the inputs, of which the least element comes out."""
    return (yield from _least(case.inputs())) if case.is_narrow else NONE


def _mean(case: ComputedTensor) -> Ask:
    """0 where no input is negative."""
    return 0 if case.is_float and (yield from _least(case.inputs())) >= 0 else NONE


def _either(case: ComputedTensor) -> Ask:
    """The least bound of the two inputs that Where chooses from."""
    return (yield from _least(case.node.inputs[1:3]))


def _keeps_sign(case: ComputedTensor) -> Ask:
    """0 where the first input is not negative: means, and functions that map such numbers so."""
    return 0 if case.is_float and (yield case.node.inputs[0]) >= 0 else NONE


def _reduced_magnitude(case: ComputedTensor) -> Ask:
    """0, unless the node may reduce no axis, and so may copy its input."""
    copies = case.says.integer("noop_with_empty_axes", 0) != 0
    return NONE if copies else (yield from _never_negative(case))


def _never_negative(case: ComputedTensor) -> Ask:
    """0, whatever is read; for floating point, as the magnitude of an integer may wrap around."""
    return 0 if case.is_float else NONE
    yield


def _sum(case: ComputedTensor) -> Ask:
    """The sum of two bounds; of several inputs that are not negative the greatest bound."""
    greatest, least, total = 0.0, math.inf, 0.0
    for tensor in case.inputs() if case.is_float else ():
        bound = yield tensor
        greatest, least = max(greatest, bound), min(least, bound)
        total += bound
        if least == NONE:
            return NONE
    if not case.is_float:
        return NONE
    rounded = _rounded(case, total) if len(case.inputs()) == 2 else NONE
    return max(rounded, greatest) if least >= 0 else rounded


def _difference(case: ComputedTensor) -> Ask:
    """The bound of the first input less the greatest element of the second one, a constant."""
    subtracted = case.content(1)
    if subtracted is None or subtracted.size == 0 or not case.is_float:
        return NONE
    return _rounded(case, (yield case.node.inputs[0]) - float(subtracted.max()))


def _product(case: ComputedTensor) -> Ask:
    """0 for a square; the product of two bounds of which one, that of a constant, is not negative.

    Data that may be negative is lowest times the greatest element of that constant.
    """
    if not case.is_float:
        return NONE
    inputs = [case.graph.origin(tensor) for tensor in case.node.inputs]
    if len(inputs) == 2 and inputs[0] is inputs[1]:
        return 0
    one, other = (yield inputs[0]), (yield inputs[1])
    if min(one, other) >= 0:
        return max(_rounded(case, one * other), 0)
    if min(one, other) == NONE or max(one, other) < 0:
        return NONE
    factors = case.content(0 if one >= 0 else 1)
    return NONE if factors is None else _rounded(case, min(one, other) * float(factors.max()))


def _quotient(case: ComputedTensor) -> Ask:
    """0, unless the dividend may be negative, or the divisor: 1 divided by -0.0 is -inf."""
    if not case.is_float or (yield case.node.inputs[1]) <= 0:
        return NONE
    return 0 if (yield case.node.inputs[0]) >= 0 else NONE


def _rounded(case: ComputedTensor, bound: float) -> Bound:
    """A result of one operation on bounds, as IEEE 754 rounds it, which keeps their order.

    `NONE` in types of 16 bits, where engines may round twice, and for subnormal numbers, which some
    make 0.
    """
    dtype = case.analysis.dtype(case.tensor)
    if dtype not in {TensorProto.FLOAT, TensorProto.DOUBLE} or math.isnan(bound):
        return NONE
    narrow = dtype == TensorProto.FLOAT
    with np.errstate(all="ignore"):
        found = float(np.float32(bound)) if narrow else float(bound)
    least = np.finfo(np.float32 if narrow else np.float64).tiny
    return found if found == 0 or abs(found) >= float(least) else NONE


def _reciprocal(case: ComputedTensor) -> Ask:
    return 0 if case.is_float and (yield case.node.inputs[0]) > 0 else NONE


def _power(case: ComputedTensor) -> Ask:
    """0 for even powers, and for powers of at least 0 of what is not negative."""
    exponents = case.content(1)
    if exponents is None or not case.is_float or not np.isfinite(exponents).all():
        return NONE
    if (np.fmod(exponents, 2) == 0).all():
        return 0
    # -0.0 is not below 0, and its negative odd powers are -inf.
    return 0 if (exponents >= 0).all() and (yield case.node.inputs[0]) >= 0 else NONE


def _greatest(case: ComputedTensor) -> Ask:
    """The greatest bound; inputs after one that is not negative are not asked for."""
    greatest: Bound = NONE
    for tensor in case.inputs() if case.is_narrow else ():
        greatest = max(greatest, (yield tensor))
        if greatest >= 0:
            break
    return greatest


def _relu(case: ComputedTensor) -> Ask:
    return 0
    yield


def _clip(case: ComputedTensor) -> Ask:
    """The lower limit or the data's bound, whichever is greater, unless the upper one is lower."""
    if case.graph.opset < 11:
        low: Bound = case.says.real("min", NONE)
        high: Bound = case.says.real("max", math.inf)
    else:
        lower, upper = case.node.operand(1), case.node.operand(2)
        low = NONE if lower is None else (yield lower)
        high = math.inf if upper is None else (yield upper)
    if not low >= 0:  # a limit may be NaN
        low = max(NONE if math.isnan(low) else low, (yield case.node.inputs[0]))
    return NONE if math.isnan(high) or not case.is_narrow else min(low, high)


def _thresholded(case: ComputedTensor) -> Ask:
    """0 for a threshold of at least 0, below which all becomes 0."""
    return 0 if case.says.real("alpha", 1.0) >= 0 else (yield from _keeps_sign(case))


def _with_zeros(case: ComputedTensor) -> Ask:
    """The bound of the first input, among whose elements zeros come."""
    return min(0, (yield case.node.inputs[0]))


def _pad(case: ComputedTensor) -> Ask:
    """The bound of the data, and of the fill where the mode is constant."""
    data = yield case.node.inputs[0]
    if case.says.string("mode", "constant") != "constant":
        return data
    if case.graph.opset < 11:
        return min(data, case.says.real("value", 0.0))
    fill = case.node.operand(2)
    return min(data, 0 if fill is None else (yield fill))


def _max_pool(case: ComputedTensor) -> Ask:
    """The bound of the data; a dilated window wholly in its padding gives the lowest number."""
    if any(dilation != 1 for dilation in case.says.integers("dilations", ())):
        return NONE
    return (yield case.node.inputs[0])


def _norm(case: ComputedTensor) -> Ask:
    """0 for a power above 0."""
    power = case.node.attrs.get("p", 2)
    return 0 if case.is_float and isinstance(power, int | float) and power > 0 else NONE
    yield


def _reduced_maximum(case: ComputedTensor) -> Ask:
    """The bound of data with elements on every axis; the greatest of none is -inf."""
    shape = case.shape(0)
    if shape is None or not all(always(less_equal(1, size)) is True for size in shape):
        return NONE
    return (yield case.node.inputs[0])


def _resized(case: ComputedTensor) -> Ask:
    """The bound of data that is copied or averaged; cubic weights may be negative."""
    data = yield case.node.inputs[0]
    outside = case.says.real("extrapolation_value", 0.0)
    crops = case.says.string("coordinate_transformation_mode", "") == "tf_crop_and_resize"
    data = min(data, outside) if crops else data
    mode = case.says.string("mode", "nearest")
    if mode == "nearest":
        return data
    return 0 if mode in {"linear", "bilinear"} and case.is_float and data >= 0 else NONE


def _cast(case: ComputedTensor) -> Ask:
    """The bound of the data, where no element wraps around."""
    source, target = case.node.inputs[0], case.analysis.dtype(case.tensor)
    dtype = case.analysis.dtype(source)
    if dtype is None or target is None:
        return NONE
    if target in FLOATS and (dtype in FLOATS or dtype in INTEGERS or dtype == BOOL):
        return 0 if (yield source) >= 0 else NONE  # a bound above 0 might be rounded up
    if dtype in INTEGERS and target in INTEGERS:
        (low, high), (least, greatest) = INTEGERS[dtype], INTEGERS[target]
        return (yield source) if least <= low and high <= greatest else NONE
    return 0 if dtype == BOOL and target in INTEGERS else NONE


def _zero_points(case: ComputedTensor) -> Numbers | None:
    """The zero points of a quantised tensor, 0 where they are left out; None if not constant."""
    points = np.zeros(1) if case.node.operand(2) is None else case.content(2)
    return None if points is None or points.size == 0 else points


def _quantised(case: ComputedTensor) -> Ask:
    """The zero point, which stands for 0, where the data is not negative."""
    scale, points = case.content(1), _zero_points(case)
    if case.analysis.dtype(case.tensor) not in INTEGERS or scale is None or points is None:
        return NONE
    negative = not (scale > 0).all() or (yield case.node.inputs[0]) < 0
    return NONE if negative else int(points.min())


def _dequantised(case: ComputedTensor) -> Ask:
    """0, where the data is not below its zero point; else the least that its type has."""
    scale, points = case.content(1), _zero_points(case)
    dtype = case.analysis.dtype(case.node.inputs[0])
    if scale is None or points is None or not scale.size or dtype not in INTEGERS:
        return NONE
    if not (scale >= 0).all():
        return NONE
    least = yield case.node.inputs[0]
    if least >= points.max():
        return 0
    if dtype not in _SHORT:
        return NONE  # the difference from a zero point may be rounded
    least = max(least, np.iinfo(tensor_dtype_to_np_dtype(dtype)).min)
    return _rounded(case, float(((least - points.max()) * scale).min()))


_SHORT: Final = {TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16}


def _batch_normalised(case: ComputedTensor) -> Ask:
    """0, where nothing is subtracted from what is not negative, and nothing negative is added."""
    scale, bias, mean, variance = (case.content(index) for index in (1, 2, 3, 4))
    trains = case.says.integer("training_mode", 0) or len(case.node.outputs) > 1
    if trains or case.graph.opset < 7 or scale is None or bias is None:
        return NONE
    if mean is None or variance is None:
        return NONE
    epsilon = case.says.real("epsilon", 1e-5)
    divides = epsilon >= 0 and (variance >= (0 if epsilon > 0 else _LEAST_NORMAL)).all()
    signs = (scale >= 0).all() and (bias >= 0).all() and (mean <= 0).all() and divides
    return (yield from _keeps_sign(case)) if signs else NONE


_LEAST_NORMAL: Final = float(np.finfo(np.float32).tiny)


def _locally_normalised(case: ComputedTensor) -> Ask:
    """0, where data that is not negative is divided by something above 0."""
    says = case.says
    above = says.real("alpha", 1e-4) >= 0 and says.real("bias", 1.0) > 0
    return (yield from _keeps_sign(case)) if above else NONE


def _filled(case: ComputedTensor) -> Ask:
    value = case.says.tensor("value")
    return 0 if value is None else least_element(to_array(value))
    yield


def _activated(case: ComputedTensor) -> Ask:
    """The least that the activation gives, which a FusedConv applies last."""
    kind, limits = case.says.string("activation", ""), case.says.reals("activation_params")
    if kind == "Clip" and len(limits) == 2:
        return min(limits)
    return 0 if kind in {"HardSigmoid", "Relu", "Sigmoid"} else NONE
    yield


def _numbers(array: npt.NDArray[Any]) -> Numbers | None:
    """An array as numbers; None where it holds something else, such as text."""
    if array.dtype.kind in "fiub" or array.dtype.name == "bfloat16":
        return array.astype(np.float64)
    return None


def least_element(array: npt.NDArray[Any]) -> Bound:
    """The least element of an array; `NONE` where there is none, or where one is NaN."""
    numbers = _numbers(array)
    least = NONE if numbers is None or numbers.size == 0 else float(numbers.min())
    return NONE if math.isnan(least) else least


BOUNDS: Final[dict[str, Rule]] = {
    **named(
        _first,
        "Compress DepthToSpace Expand Flatten Gather GatherElements GatherND GlobalMaxPool "
        "Identity ReduceMin Reshape ReverseSequence Slice SpaceToDepth Split Squeeze Tile TopK "
        "Transpose Unsqueeze",
    ),
    "Concat": _all,
    **named(
        _keeps_sign,
        "AveragePool Ceil Celu CumSum Elu Erf Floor Gelu GlobalAveragePool HardSwish LeakyRelu "
        "Mish PRelu ReduceMean ReduceProd ReduceSum Round Sign Softsign Sqrt Swish Tanh",
    ),
    **named(
        _never_negative,
        "Abs Cosh Exp HardSigmoid Hardmax Sigmoid Softmax Softplus",
    ),
    **named(_reduced_magnitude, "ReduceL1 ReduceL2 ReduceSumSquare"),
    **named(_norm, "GlobalLpPool LpPool"),
    "Dropout": _keeps_sign,
    "Trilu": _with_zeros,
    **named(_sum, "Add Sum"),
    **named(_resized, "Resize Upsample"),
    **named(_cast, "Cast CastLike"),
    "BatchNormalization": _batch_normalised,
    "Clip": _clip,
    "ConstantOfShape": _filled,
    "DequantizeLinear": _dequantised,
    "Div": _quotient,
    "LRN": _locally_normalised,
    "Max": _greatest,
    "MaxPool": _max_pool,
    "Mean": _mean,
    "Min": _least_of,
    "Mul": _product,
    "Pad": _pad,
    "Pow": _power,
    "QuantizeLinear": _quantised,
    "Reciprocal": _reciprocal,
    "ReduceMax": _reduced_maximum,
    "Relu": _relu,
    "Sub": _difference,
    "ThresholdedRelu": _thresholded,
    "Where": _either,
    **named(_activated, "FusedConv", MICROSOFT),
}
"""Operators whose result has a lower bound. Others, and further outputs but of Split, have none."""
