"""Operators that padding commutes with, written from the specification's text for the proof.

Such a step gives the same wherever the padding is: step(Pad(x)) == Pad'(step'(x)), where step' is
the step without the padding (a Reshape to a shape without it), and Pad' the padding as the step
hands it on. This table names the versions of each operator that it was compared with; a newer one
is no step. Like the rest of the proof's reading, it knows nothing of passes, and shares no line
with the table that they use.

Sources: the operators' pages of the ONNX specification, and IEEE 754 for what becomes of a fill.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from onnxpad.analysis import Analysis
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, Node
from onnxpad.proof.layers import (
    EITHER_ZERO,
    NEGATIVE_ZERO,
    Amounts,
    Layers,
    without_crops,
    without_sign,
)
from onnxpad.proof.meaning import MeaninglessError, check_arity, version_of
from onnxpad.proof.step_rules.computing_steps import (
    cast,
    clip,
    dequantize,
    keeps_zero,
    operated,
    quantize,
    rectified,
    sign_of,
    to_whole_numbers,
    unary,
)
from onnxpad.proof.step_rules.moving_steps import (
    Bounds,
    concat,
    crops,
    dropout,
    expand,
    reshape,
    sliced,
    split,
    squeeze,
    transpose,
    unsqueeze,
)
from onnxpad.proof.step_rules.step_node import Passed, Rule, StepNode
from onnxpad.records import dataclass


@dataclass(frozen=True, slots=True)
class StepRule:
    """One operator that padding commutes with.

    Attributes:
        versions: The versions of the operator with this meaning, by the schema's `since_version`.
        rule: What it makes of padded data; raises MeaninglessError where it is no step.
        data: The inputs that may be padded: the first, all, or the operand that is not constant.
        parts: Whether all of its outputs are parts of the data.
    """

    versions: frozenset[int]
    rule: Rule
    data: str = "first"
    parts: bool = False


def data_inputs(graph: Graph, analysis: Analysis, node: Node) -> tuple[int, ...]:
    """The inputs of a node whose padding a step hands on; none where the node is no step.

    Args:
        graph: The graph that has the node.
        analysis: Its analysis.
        node: Any node.
    """
    step = STEPS.get(node.op) if graph.is_standard(node) else None
    if step is None or not node.outputs or not node.inputs:
        return ()
    try:
        version_of(node.op, graph.opset, node.attrs, step.versions)
        check_arity(graph, node)
    except MeaninglessError:
        return ()
    if not step.parts and any(map(graph.is_read, node.outputs[1:])):
        return ()
    found: tuple[int, ...] = (0,)
    if step.data == "all":
        found = tuple(range(len(node.inputs)))
    elif step.data == "operand":
        try:
            varying = [graph.constant(tensor) is None for tensor in node.inputs if tensor.name]
        except ModelError:
            return ()
        if len(varying) < len(node.inputs) or sum(varying) != 1:
            return ()
        found = tuple(place for place, varies in enumerate(varying) if varies)
    return found if all(node.inputs[place].name for place in found) else ()


def through(
    graph: Graph, analysis: Analysis, node: Node, output_index: int, inner: Sequence[Layers]
) -> Passed | None:
    """The result of a node on padded data, where it is a step.

    Args:
        graph: The graph that has the node.
        analysis: Its analysis.
        node: Any node.
        output_index: Which of its outputs is asked about.
        inner: The layers around each of `data_inputs`, with amounts over all axes of that input;
            none of them where it is not padded. They must be the same for all, apart from crops of
            axes that no layer pads, and the signs of zeros.

    Returns:
        None where it is not known to be a step for these layers.
    """
    passed = _tried(graph, analysis, node, output_index, inner)
    if passed is not None:
        return passed
    # A Slice of axes that are not padded: what it leaves is the data. Not more of it than must be.
    rank = max((len(layer.amounts) for layers in inner for layer in layers), default=0)
    for axis in (*range(rank), None):
        apart = [without_crops(layers, axis) for layers in inner]
        if not any(crops for crops, _ in apart):
            continue
        passed = _tried(graph, analysis, node, output_index, [layers for _, layers in apart])
        if passed is not None:
            key = "cropped", tuple(crops for crops, _ in apart), *passed.key
            return passed._replace(key=key, crops=True)
    return None


def _tried(
    graph: Graph, analysis: Analysis, node: Node, output_index: int, inner: Sequence[Layers]
) -> Passed | None:
    data = data_inputs(graph, analysis, node)
    if not data or len(inner) != len(data):
        return None
    step = STEPS[node.op]
    every = [layer for layers in inner for layer in layers]
    fills = {layer.fill for layer in every if isinstance(layer.fill, str)}
    if not fills <= {NEGATIVE_ZERO, EITHER_ZERO}:
        return None
    compared = [without_sign(each) for each in inner]
    if any(each != compared[0] for each in compared):
        return None
    if not 0 <= output_index < len(node.outputs) or (output_index and not step.parts):
        return None
    try:
        version = version_of(node.op, graph.opset, node.attrs, step.versions)
        return step.rule(StepNode(graph, analysis, node, version, output_index, data, tuple(inner)))
    except (MeaninglessError, ModelError):
        return None


def crop_of(graph: Graph, analysis: Analysis, node: Node) -> tuple[Amounts, Bounds] | None:
    """The amounts, 0 or below, that a Slice of constant bounds takes off each axis of its data.

    Args:
        graph: The graph that has the node.
        analysis: Its analysis.
        node: Any node.

    Returns:
        (begin, end) for each axis, and the bounds of a Slice of further axes, which must not be
        padded. None where the node is no Slice, where its bounds or the rank are unknown, or where
        nothing but such further axes is sliced.
    """
    if node.op != "Slice" or not data_inputs(graph, analysis, node):
        return None
    version = version_of(node.op, graph.opset, node.attrs, STEPS["Slice"].versions)
    call = StepNode(graph, analysis, node, version, 0, (0,), ())
    try:
        amounts, others = crops(call)
        nothing = others and all(pair == (0, 0) for pair in amounts)
        return None if nothing else (amounts, others)
    except (MeaninglessError, ModelError):
        return None


_TYPES_ONLY: Final = frozenset({21, 23, 24, 25})  # versions that only added element types
_ZERO: Final[Mapping[str, frozenset[int]]] = {
    "Asin": frozenset({7, 22}),
    "Asinh": frozenset({9, 22}),
    "Atan": frozenset({7, 22}),
    "Atanh": frozenset({9, 22}),
    "Celu": frozenset({12, 28}),
    "Elu": frozenset({6, 22}),
    "Erf": frozenset({9, 13}),
    "Gelu": frozenset({20}),
    "HardSwish": frozenset({14, 22}),
    "LeakyRelu": frozenset({6, 16}),
    "Mish": frozenset({18, 22}),
    "Selu": frozenset({6, 22}),
    "Sin": frozenset({7, 22}),
    "Sinh": frozenset({9, 22}),
    "Softsign": frozenset({1, 22}),
    "Sqrt": frozenset({6, 13}),
    "Swish": frozenset({24}),
    "Tan": frozenset({7, 22}),
    "Tanh": frozenset({6, 13}),
    "ThresholdedRelu": frozenset({10, 22}),
}
"""Operators that give 0 for 0, at which no engine rounds, with their versions."""

STEPS: Final[dict[str, StepRule]] = {
    "Transpose": StepRule(frozenset({1, 13}) | _TYPES_ONLY, transpose),
    "Unsqueeze": StepRule(frozenset({1, 11, 13}) | _TYPES_ONLY, unsqueeze),
    "Squeeze": StepRule(frozenset({1, 11, 13}) | _TYPES_ONLY, squeeze),
    "Reshape": StepRule(frozenset({1, 5, 13, 14, 19}) | _TYPES_ONLY, reshape),
    "Flatten": StepRule(frozenset({1, 9, 11, 13}) | _TYPES_ONLY, reshape),
    "Expand": StepRule(frozenset({8, 13}), expand),
    "Dropout": StepRule(frozenset({1, 6, 7, 10, 12, 13, 22}), dropout),
    "Concat": StepRule(frozenset({1, 4, 11, 13}), concat, data="all"),
    "Split": StepRule(frozenset({2, 11, 13, 18}), split, parts=True),
    "Slice": StepRule(frozenset({1, 10, 11, 13}), sliced),
    "Cast": StepRule(frozenset({6, 9, 13, 19, 21, 23, 24, 25, 28}), cast),
    "Relu": StepRule(frozenset({6, 13, 14}), unary(rectified)),
    "Neg": StepRule(frozenset({6, 13}), unary(lambda number: -number)),
    "Abs": StepRule(frozenset({6, 13}), unary(abs)),
    "Sign": StepRule(frozenset({9, 13}), unary(sign_of)),
    "Floor": StepRule(frozenset({6, 13}), to_whole_numbers(math.floor)),
    "Ceil": StepRule(frozenset({6, 13}), to_whole_numbers(math.ceil)),
    "Round": StepRule(frozenset({11, 22}), to_whole_numbers(round)),
    "Clip": StepRule(frozenset({6, 11, 12, 13}), clip),
    "Add": StepRule(frozenset({7, 13, 14}), operated, data="operand"),
    "Sub": StepRule(frozenset({7, 13, 14}), operated, data="operand"),
    "Mul": StepRule(frozenset({7, 13, 14}), operated, data="operand"),
    "Div": StepRule(frozenset({7, 13, 14}), operated, data="operand"),
    "QuantizeLinear": StepRule(frozenset({10, 13, 19, 21, 23, 24, 25, 28}), quantize),
    "DequantizeLinear": StepRule(frozenset({10, 13, 19, 21, 23, 24, 25, 28}), dequantize),
    **{op: StepRule(versions, keeps_zero) for op, versions in _ZERO.items()},
}
"""Operators that padding commutes with. Without a row here, nothing is proved through one."""
