"""Lower bounds of elements, what puts infinities in tensors, and what tells their zeros apart.

A rule of the table returns a number that no element is below, or `NONE`. NaN is below no number.
Rules do not calculate with bounds: of what is computed from floating-point numbers that are not
negative it is said at most that it is not negative either. Integers wrap around, and have the bound
of their type. That operators keep to their rules was measured on onnxruntime's CPU provider (1.21
and 1.31), extreme values included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from onnxpad.facts.shape_rules import BOOL, NONE, Bound, Call, named
from onnxpad.graph import Graph, Node, Tensor, Use, downstream
from onnxpad.semantics.operators import MICROSOFT, gathering, operator_of, pad_giving
from onnxpad.semantics.rows import FLOATS, INTEGERS

Rule = Callable[[Call], Bound]

Facts = Any
"""An `Analysis`, whose module imports this one."""

_NEAR = 24
"""Tensors upstream that are looked at: it is done for each pool, and finds infinities near."""

_GROWTH = 256
"""By how much operators are taken to multiply magnitudes, as slopes do and sums of elements."""

# Operators that make infinities of finite constants.
_POLES = frozenset({"Div", "Exp", "Log", "Reciprocal"})

# Operators that may make other numbers of 0.0 and -0.0, and the input at which they do.
_TELLING = {
    "BitCast": 0, "Cast": 0, "Div": 1, "Pow": 0, "QuantizeLinear": 1, "Reciprocal": 0
}  # fmt: skip

_NUMBERS = (BOOL, *FLOATS, *INTEGERS)
"""Types to which a Cast keeps numbers alike; a function's Cast may be to another one."""

# The least element of each type that has one, other than -inf.
_LEAST: Mapping[int | None, Bound] = {
    BOOL: 0,
    **{dtype: least for dtype, (least, _) in INTEGERS.items()},
}


def infinite(analysis: Facts, tensor: Tensor) -> Tensor | None:
    """Where infinities or NaN in a tensor come from; None is no proof that it holds none.

    They are in a constant, or operators make them of constants alone. Numbers near the greatest
    one of their type are taken for infinite. Only few tensors upstream are looked at.
    """
    graph, near = analysis.graph, [tensor]
    for at in near:
        array, node, read = graph.constant(at), at.producer, tuple[Tensor, ...]()
        if array is not None:
            if _is_infinite(array):
                return at
        elif at.outer is not None:
            if (found := infinite(analysis.outer, at.outer)) is not None:
                return found
        elif node is not None and graph.is_standard(node) and not graph.refers(node):
            fill: Any = node.attrs.get("value", 0.0) if node.op == "Pad" else 0.0
            given = [graph.constant(each) is not None for each in node.inputs]
            if (node.op in _POLES and all(given)) or _is_infinite(np.array(fill, np.float32)):
                return at
            if node.op != "MaxPool" or _passes_fill(analysis, node):
                read = node.inputs[: 1 if node.op == "Clip" else None]
        for each in read:
            if each.name and each not in near and len(near) < _NEAR:
                near.append(each)
    return None


def _passes_fill(analysis: Facts, pool: Node) -> bool:
    """Whether a window of a MaxPool may lie wholly in padding, whose fill it then gives."""
    kernel = np.array(pool.attrs.get("kernel_shape"))
    total = np.array(pool.attrs.get("pads") or [0] * (2 * len(kernel))).reshape(2, -1)
    tensor, rank = pool.inputs[0], len(kernel) + 2
    while (pad := pad_giving(analysis.graph, analysis, tensor)) is not None:
        total = total + np.array(pad.over(rank) or ((0, 0),) * rank)[2:].T
        tensor = pad.data
    return bool((total >= (kernel - 1) * (pool.attrs.get("dilations") or 1) + 1).any())


def _is_infinite(array: np.ndarray[Any, Any]) -> bool:
    if array.dtype.kind != "f" or not array.size:
        return False
    return not (np.abs(array) <= np.finfo(array.dtype).max / _GROWTH).all()


def telling(analysis: Facts, tensor: Tensor) -> str:
    """What downstream may make other numbers of 0.0 and -0.0 in a tensor; empty where nothing does.

    An output that shows -0.0 for 0.0 is no other number. A window operator that adds products
    to 0.0 loses the sign, as does a tensor without zeros, or without fractions.
    """
    graph = analysis.graph
    if not _are_told(graph):
        return ""
    for current in downstream([tensor], partial(_keeping_signs, analysis)):
        if current is None or (graph.is_output(current) and not graph.is_main):
            return f"what is computed from {(current or tensor).name!r}"
        for use in graph.uses(current):
            if graph.runs_graphs(use.node) or _tells(graph, use.node, use.index):
                return f"{use.node.op} {graph.label(use.node)!r}"
    return ""


def _keeping_signs(analysis: Facts, use: Use) -> Iterator[Tensor]:
    """The results of a node in which the signs of an input's zeros may show."""
    row = operator_of(analysis.graph, use.node)
    if use.index or row is None or not row.loses_signs:
        for each in use.node.outputs:
            if analysis.dtype(each) in {None, *FLOATS} and analysis.bound(each) <= 0:
                yield each


def _are_told(graph: Graph) -> bool:
    """Whether anything in a model may tell zeros apart; edits bring nothing that does."""
    notes, main = graph.model.notes, graph.model.main
    if _are_told not in notes:
        notes[_are_told] = any(
            not each.runs_graphs(node) and _tells(each, node, index)
            for each in (main, *main.inside())
            for node in each.nodes
            for index in range(len(node.inputs))
        )
    return bool(notes[_are_told])


def _tells(graph: Graph, node: Node, index: int) -> bool:
    """Whether a node without bodies may make other numbers of 0.0 and -0.0 in an input."""
    if not graph.is_standard(node):
        return gathering(graph, node) is None
    if _TELLING.get(node.op) != index or graph.constant(node.inputs[index]) is not None:
        return False
    if node.op == "Cast":
        return node.attrs.get("to") not in _NUMBERS
    other = graph.constant(node.inputs[1]) if len(node.inputs) > 1 else None
    if node.op == "Pow" and other is not None:
        return not bool((other >= 0).all())
    return index == 0 or other is None


def bound_of(call: Call | None, dtype: int | None) -> Bound:
    """The bound of a tensor of a type, given the operator that computes it."""
    least = _LEAST.get(dtype, NONE)
    if call is None or call.op not in BOUNDS or (call.output and call.op != "Split"):
        return least
    call.kind = dtype or 0
    return max(BOUNDS[call.op](call), least)


def least_element(array: npt.NDArray[Any]) -> Bound:
    """The least element of an array; `NONE` where there is none, or where one is NaN."""
    is_number = array.dtype.kind in "fiub" or array.dtype.name == "bfloat16"
    least = float(array.min()) if array.size and is_number else NONE
    return NONE if math.isnan(least) else least


def _first(call: Call) -> Bound:
    return call.bound_of(0)


def _all(call: Call) -> Bound:
    places = range(call.op == "Where", len(call.node.inputs))
    return min(map(call.bound_of, places), default=math.inf)


def _sign(of: Rule) -> Rule:
    """0 for floating point where a bound is not negative: the magnitude of integers may wrap."""
    return lambda call: 0 if call.kind in FLOATS and of(call) >= 0 else NONE


def _clip(call: Call) -> Bound:
    """The lower limit or the data's bound, unless the upper one is lower; a limit may be NaN."""
    if call.kind not in FLOATS or call.version < 11:
        return NONE
    low = max(call.bound_of(0), call.bound_of(1) if call.has(1) else NONE)
    high = call.bound_of(2) if call.has(2) else math.inf
    return min(low, high)


def _pad(call: Call) -> Bound:
    data = call.bound_of(0)
    if call.of("mode", "constant") != "constant":
        return data
    if call.version < 11:
        return min(data, call.of("value", 0.0))
    return min(data, call.bound_of(2) if call.has(2) else 0)


def _max_pool(call: Call) -> Bound:
    """The bound of the data; a dilated window wholly in its padding gives the lowest number."""
    return call.bound_of(0) if {*call.of("dilations", ())} <= {1} else NONE


def _dequantised(call: Call) -> Bound:
    """0, where the data is not below its zero point; one for all, as the scale is, above 0."""
    scale, point = call.element(1), call.element(2) if call.has(2) else 0
    if scale is None or point is None:
        return NONE
    return 0 if scale > 0 and call.bound_of(0) >= point else NONE


def _activated(call: Call) -> Bound:
    """0 for an activation that gives nothing below it, which a FusedConv applies last."""
    return 0 if call.of("activation", "") in {"HardSigmoid", "Relu", "Sigmoid"} else NONE


BOUNDS: dict[str, Rule] = {
    **named(
        _first,
        "DepthToSpace Expand Gather GlobalMaxPool Identity Reshape Slice SpaceToDepth Split Squeeze"
        " Tile Transpose Unsqueeze",
    ),
    **named(_all, "Concat Where"),
    **named(
        _sign(_first),
        "AveragePool Cast Dropout Elu Gelu GlobalAveragePool HardSwish LeakyRelu ReduceMean Sqrt"
        " Swish Tanh",
    ),
    **named(_sign(_all), "Add Mean Mul Sum"),
    **named(_sign(lambda call: 0), "Abs Exp HardSigmoid Sigmoid Softmax Softplus"),
    "Clip": _clip,
    "DequantizeLinear": _dequantised,
    "MaxPool": _max_pool,
    "Pad": _pad,
    "Relu": lambda call: 0,
    **named(_activated, "FusedConv", MICROSOFT),
}
"""Operators whose result has a lower bound. Others, and further outputs but of Split, have none."""
