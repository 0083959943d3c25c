"""Lower bounds of the elements of tensors: a table with one rule for each operator.

A rule is a generator. It asks for the bounds of tensors that the node reads, and returns that of
the tensor that it computes: a number that no element is below, or `NONE`. NaN is below no number.
Rules do not calculate with bounds: of what is computed from floating-point numbers that are not
negative it is said at most that it is not negative either. Integers wrap around, and have the bound
of their type. That operators keep to their rules was measured on onnxruntime's CPU provider (1.21
and 1.31), extreme values included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any, Final, TypeAlias

import numpy.typing as npt
from msgspec import Struct
from onnx import TensorProto

from onnxpad.analysis.analysis import Analysis
from onnxpad.analysis.rule_api import NONE, Bound, Call, named, rule_name
from onnxpad.analysis.value import BOOL, INT64, INTEGERS
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.semantics.operators import MICROSOFT
from onnxpad.semantics.rows import FLOATS

Ask: TypeAlias = Generator[Tensor, Bound, Bound]
"""A computation that asks for the bounds of tensors and returns a bound."""


class ComputedTensor(Struct, frozen=True):
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
    def is_float(self) -> bool:
        """Whether the node computes floating-point numbers, which do not wrap around."""
        return self.analysis.dtype(self.tensor) in FLOATS

    @property
    def is_narrow(self) -> bool:
        """Whether onnxruntime compares all bits of an element: not always of 64-bit integers."""
        return self.analysis.dtype(self.tensor) not in {None, INT64, TensorProto.UINT64}

    def limits(self, index: int) -> tuple[Bound, Bound]:
        """The least and the greatest element of a constant input; NaN where it is none.

        One that is left out is 0.
        """
        tensor = self.node.operand(index)
        array = None if tensor is None else self.graph.constant(tensor)
        if array is None or not array.size or not _is_number(array):
            return (0, 0) if tensor is None else (math.nan, math.nan)
        return float(array.min()), float(array.max())


Rule: TypeAlias = Callable[[ComputedTensor], Ask]


def bound_of(tensor: Tensor, graph: Graph, analysis: Analysis) -> Ask:
    """The bound of a tensor that a node computes."""
    node = tensor.producer
    rule = None if node is None or graph.refers(node) else BOUNDS.get(rule_name(graph, node))
    if node is None or rule is None or (tensor is not node.outputs[0] and node.op != "Split"):
        return NONE
    return (yield from rule(ComputedTensor(node, tensor, graph, analysis)))


def _first(case: ComputedTensor) -> Ask:
    """The bound of the first input, whose elements are moved, dropped or repeated."""
    return (yield case.node.inputs[0])


def _all(case: ComputedTensor) -> Ask:
    """The least bound of the inputs, whose elements are put together."""
    least: Bound = math.inf
    for tensor in case.node.inputs[1 if case.node.op == "Where" else 0 :]:
        least = min(least, (yield tensor))
    return least


def _keeps_sign(case: ComputedTensor) -> Ask:
    """0 where the first input is not negative: means, and functions that map such numbers so."""
    return 0 if case.is_float and (yield case.node.inputs[0]) >= 0 else NONE


def _keeps_signs(case: ComputedTensor) -> Ask:
    """0 where no input is negative."""
    return 0 if case.is_float and (yield from _all(case)) >= 0 else NONE


def _never_negative(case: ComputedTensor) -> Ask:
    """0, whatever is read; for floating point, as the magnitude of an integer may wrap around."""
    return 0 if case.is_float else NONE
    yield


def _relu(case: ComputedTensor) -> Ask:
    return 0
    yield


def _greatest(case: ComputedTensor) -> Ask:
    """The greatest bound; inputs after one that is not negative are not asked for."""
    greatest: Bound = NONE
    for tensor in case.node.inputs if case.is_narrow else ():
        greatest = max(greatest, (yield tensor))
        if greatest >= 0:
            break
    return greatest


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


def _cast(case: ComputedTensor) -> Ask:
    """0 for floating-point numbers of what is not negative: a bound above might be rounded up."""
    dtype = case.analysis.dtype(case.node.inputs[0])
    is_number = dtype in FLOATS or dtype in INTEGERS or dtype == BOOL
    return (yield from _keeps_sign(case)) if is_number else NONE


def _quantised(case: ComputedTensor) -> Ask:
    """The zero point, which stands for 0, where the data is not negative."""
    scale, point = case.limits(1)[0], case.limits(2)[0]
    is_known = scale > 0 and not math.isnan(point)
    if not is_known or case.analysis.dtype(case.tensor) not in INTEGERS:
        return NONE
    return point if (yield case.node.inputs[0]) >= 0 else NONE


def _dequantised(case: ComputedTensor) -> Ask:
    """0, where the data is not below its zero point."""
    if not case.limits(1)[0] >= 0 or case.analysis.dtype(case.node.inputs[0]) not in INTEGERS:
        return NONE
    return 0 if (yield case.node.inputs[0]) >= case.limits(2)[1] else NONE


def _activated(case: ComputedTensor) -> Ask:
    """The least that the activation gives, which a FusedConv applies last."""
    kind, limits = case.says.string("activation", ""), case.says.reals("activation_params")
    if kind == "Clip" and len(limits) == 2:
        return min(limits)
    return 0 if kind in {"HardSigmoid", "Relu", "Sigmoid"} else NONE
    yield


def least_element(array: npt.NDArray[Any]) -> Bound:
    """The least element of an array; `NONE` where there is none, or where one is NaN."""
    least = float(array.min()) if array.size and _is_number(array) else NONE
    return NONE if math.isnan(least) else least


def _is_number(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind in "fiub" or array.dtype.name == "bfloat16"


BOUNDS: Final[dict[str, Rule]] = {
    **named(
        _first,
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
    **named(_never_negative, "Abs Exp HardSigmoid Sigmoid Softmax Softplus"),
    "Cast": _cast,
    "Clip": _clip,
    "DequantizeLinear": _dequantised,
    "Max": _greatest,
    "MaxPool": _max_pool,
    "Pad": _pad,
    "QuantizeLinear": _quantised,
    "Relu": _relu,
    **named(_activated, "FusedConv", MICROSOFT),
}
"""Operators whose result has a lower bound. Others, and further outputs but of Split, have none."""
