"""Compares onnx's shape inference with the analysis, operator by operator.

Shape inference gets each operator alone, with the input shapes that the analysis derived. So a
disagreement shows at the operator where it begins and not downstream of it, shapes that the model
declares in between play no part, and no weight is needed. Operators whose result the analysis does
not know in full are left out, so native code never meets a stride of 0 or a list too short.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

import onnx
from msgspec import Struct
from onnx import TensorProto, shape_inference
from onnx.helper import make_tensor, make_tensor_value_info

from onnxpad.analysis import Analysis, is_constant
from onnxpad.arithmetic.size import NMAX, Extent, Unknown
from onnxpad.errors import let_through
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.schema import schema_of

Sizes: TypeAlias = tuple[int | None, ...]
"""Sizes of axes, None for those that are open."""

NODES: Final = 2_000
"""Only this many operators of a graph are compared, the first ones."""

_SHORT: Final = 16  # elements: longer lists are not shapes, axes or pads


class Disagreement(NamedTuple):
    """An operator on whose output sizes the two disagree.

    Attributes:
        node: The operator.
        output: The first of its outputs that differs.
        derived: Its sizes as the analysis derives them.
        inferred: Its sizes as shape inference infers them.
    """

    node: Node
    output: Tensor
    derived: Sizes
    inferred: Sizes


class _Question(Struct, frozen=True):
    """An operator as shape inference gets it.

    Attributes:
        inputs: Each with its elements where these are known, else with its sizes; None for one that
            is left out.
        outputs: The sizes that the analysis derived.
    """

    inputs: Sequence[onnx.TensorProto | onnx.ValueInfoProto | None]
    outputs: Sequence[Sizes | None]


_Questions: TypeAlias = Mapping[Node, _Question]


def disagreements(
    graph: Graph, analysis: Analysis, among: Collection[Node] | None = None
) -> Iterator[Disagreement]:
    """The operators, in file order, for which shape inference gives another output size.

    Args:
        graph: The graph.
        analysis: Its analysis.
        among: The operators to compare, in file order; the first `NODES` of the graph without it.
    """
    nodes = islice(graph.nodes, NODES) if among is None else among
    questions = _questions(graph, analysis, nodes)
    for node, answer in _answers(graph, questions) if questions else ():
        derived = questions[node].outputs
        place = _difference(derived, answer)
        if place is not None:
            yield Disagreement(node, node.outputs[place], derived[place] or (), answer[place] or ())


def _is_doubtful(analysis: Analysis, node: Node) -> bool:
    """Whether shape inference may be wrong about an operator; it is not about any other.

    It counts in floats what a Resize gives, and does not know that a slope may widen its data, what
    an empty list of axes means, nor, before opset 11, a negative axis. Without a question, onnx
    need not make its schemas.
    """
    attrs, op = node.attrs, node.op
    if op == "ConvTranspose":
        return "output_shape" in attrs or str(attrs.get("auto_pad")).startswith("SAME")
    if op in {"Squeeze", "Unsqueeze"}:
        if "axes" in attrs:
            return min(attrs["axes"], default=-1) < 0
        return (0,) in map(analysis.shape, node.inputs[1:])
    return bool(attrs.get("ceil_mode")) or op in {"PRelu", "Resize", "Upsample"}


def refused(graph: Graph, analysis: Analysis) -> Node | None:
    """The first operator that shape inference refuses at its input sizes; None if it takes all.

    It refuses, for example, a Squeeze of an axis of 3 elements.
    """
    questions = _questions(graph, analysis, islice(graph.nodes, NODES), complete=False)
    if not questions or not _complaint(graph, questions):
        return None
    for node, question in questions.items():
        # It also complains about types, which are not given here.
        if "[ShapeInferenceError]" in _complaint(graph, {node: question}).rpartition("op_type")[2]:
            return node
    return None


def _complaint(graph: Graph, questions: _Questions) -> str:
    """The message with which shape inference refuses operators; empty if it takes all."""
    try:
        shape_inference.infer_shapes(_model(graph, questions), strict_mode=True)
    except Exception as error:  # it raises anything
        let_through(error)
        return str(error)
    return ""


def _questions(
    graph: Graph, analysis: Analysis, nodes: Iterable[Node], *, complete: bool = True
) -> _Questions:
    """The questions about those nodes of which the analysis knows enough.

    Args:
        graph: The graph.
        analysis: Its analysis.
        nodes: The nodes.
        complete: Whether only those that it may be wrong about, of known output sizes.
    """
    asked = ((node, _question(graph, analysis, node, complete)) for node in nodes)
    return {node: question for node, question in asked if question is not None}


def _question(graph: Graph, analysis: Analysis, node: Node, complete: bool) -> _Question | None:
    if not node.inputs or not graph.is_standard(node):
        return None
    holds = onnx.AttributeProto in map(type, node.attrs.values())
    if holds or not node.attrs.keys() <= schema_of(node.op, graph.opset)[3].keys():
        return None
    if complete and not _is_doubtful(analysis, node):
        return None
    shapes = [analysis.shape(tensor) if tensor.name else () for tensor in node.outputs]
    if complete and any(shape is None or Unknown in map(type, shape) for shape in shapes):
        return None
    inputs = []
    for tensor in node.inputs:
        known = _known(analysis, tensor) if tensor.name else None
        if tensor.name and known is None:
            return None
        inputs.append(known)
    return _Question(inputs, [None if shape is None else _sizes(shape) for shape in shapes])


def _sizes(shape: Sequence[Extent]) -> Sizes:
    return tuple([extent if isinstance(extent, int) else None for extent in shape])


def _known(analysis: Analysis, tensor: Tensor) -> onnx.TensorProto | onnx.ValueInfoProto | None:
    """What shape inference gets of a tensor; None where its rank is unknown.

    Nor is there anything where it would miscount the elements, in int32 or in floats, or where a
    size is 0, which exporters write for an unknown one.
    """
    shape = analysis.shape(tensor)
    if shape is None or math.prod(filter(None, sizes := _sizes(shape))) > NMAX:
        return None
    if len(sizes) <= 1 and all(size is not None and size <= _SHORT for size in sizes):
        value = analysis.value(tensor)
        if value is not None and is_constant(value):
            return make_tensor("", value.dtype, value.data.shape, value.flat)
    # No size depends on the type.
    return None if 0 in sizes else make_tensor_value_info("", TensorProto.FLOAT, sizes)


def _answers(graph: Graph, questions: _Questions) -> Iterator[tuple[Node, Sequence[Sizes | None]]]:
    """Each operator with the output sizes that shape inference infers, None where unknown."""
    try:
        inferred = shape_inference.infer_shapes(_model(graph, questions))
    except Exception as error:  # it raises anything, and without an answer nothing is compared
        let_through(error)
        return
    sizes = {value.name: _read(value.type.tensor_type) for value in inferred.graph.value_info}
    for number, node in enumerate(questions):
        yield node, [sizes.get(f"{number}>{place}") for place in range(len(node.outputs))]


def _model(graph: Graph, questions: _Questions) -> onnx.ModelProto:
    """A model with all the operators side by side: none reads an output of another."""
    model = onnx.ModelProto(ir_version=onnx.IR_VERSION)
    model.opset_import.add(version=graph.opset)
    for number, (asked, question) in enumerate(questions.items()):
        node = graph.node_proto(asked)
        node.ClearField("domain")
        node.ClearField("input")
        for place, known in enumerate(question.inputs):
            node.input.append(f"{number}<{place}" if known else "")
            if known is not None:
                known.name = node.input[-1]
                is_held = isinstance(known, onnx.TensorProto)
                (model.graph.initializer if is_held else model.graph.input).append(known)
        node.output[:] = [f"{number}>{place}" for place in range(len(question.outputs))]
        model.graph.node.append(node)
    return model


def _read(tensor: onnx.TypeProto.Tensor) -> Sizes | None:
    if not tensor.HasField("shape"):
        return None
    return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim)


def _difference(derived: Sequence[Sizes | None], inferred: Sequence[Sizes | None]) -> int | None:
    for place, (ours, theirs) in enumerate(zip(derived, inferred, strict=True)):
        if ours is None or theirs is None:
            continue
        pairs = zip(ours, theirs, strict=False)
        if len(ours) != len(theirs) or any(None not in pair and len({*pair}) > 1 for pair in pairs):
            return place
    return None
