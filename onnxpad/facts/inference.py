"""Compares onnx's shape inference with the analysis, operator by operator.

Shape inference gets each operator alone, with the input shapes that the analysis derived. So a
disagreement shows at the operator where it begins and not downstream of it, shapes that the model
declares in between play no part, and no weight is needed. Operators whose result the analysis does
not know in full are left out, so native code never meets a stride of 0 or a list too short.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

import onnx
from onnx import shape_inference
from onnx.helper import make_tensor, make_tensor_type_proto

from onnxpad.arithmetic.size import NMAX, Extent, Unknown
from onnxpad.errors import let_through
from onnxpad.facts import Analysis, is_constant
from onnxpad.facts.rule_api import FLOAT
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.model import schema_of

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


def disagreements(
    graph: Graph, analysis: Analysis, among: Collection[Node] | None = None
) -> Iterator[Disagreement]:
    """The operators, in file order, for which shape inference gives another output size.

    Args:
        graph: The graph.
        analysis: Its analysis.
        among: The operators to compare, in file order; the first `NODES` of the graph without it.
    """
    for node in islice(graph.nodes, NODES) if among is None else among:
        if not _is_asked(graph, node) or not _is_doubtful(analysis, node):
            continue
        shapes = [analysis.shape(tensor) if tensor.name else () for tensor in node.outputs]
        if any(shape is None or Unknown in map(type, shape) for shape in shapes):
            continue
        inferred = _inferred(graph, analysis, node)
        for tensor, shape in zip(node.outputs, shapes, strict=True):
            derived, sizes = _sizes(shape or ()), inferred.get(tensor.name)
            if sizes is not None and _differ(derived, sizes):
                yield Disagreement(node, tensor, derived, sizes)
                break


def refused(graph: Graph, analysis: Analysis) -> Node | None:
    """The first operator that shape inference refuses at its input sizes; None if it takes all.

    It refuses, for example, a Squeeze of an axis of 3 elements.
    """
    for node in islice(graph.nodes, NODES):
        try:
            if _is_asked(graph, node):
                _infer(graph, analysis, node)
        except Exception as error:  # it raises anything
            let_through(error)
            # It also complains about types, which are not given here.
            if "[ShapeInferenceError]" in str(error):
                return node
    return None


def _is_asked(graph: Graph, node: Node) -> bool:
    """Whether an operator of ONNX reads something, and has no attribute that its opset lacks."""
    if not node.inputs or not graph.is_standard(node):
        return False
    holds = onnx.AttributeProto in map(type, node.attrs.values())
    return not holds and node.attrs.keys() <= schema_of(node.op, graph.opset)[3].keys()


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


def _sizes(shape: Sequence[Extent]) -> Sizes:
    return tuple([extent if isinstance(extent, int) else None for extent in shape])


def _inferred(graph: Graph, analysis: Analysis, node: Node) -> dict[str, Sizes]:
    """The sizes of an operator's outputs by name, as far as shape inference infers any."""
    try:
        found = _infer(graph, analysis, node)
    except Exception as error:  # it raises anything, and without an answer nothing is compared
        let_through(error)
        return {}
    shapes = {name: each.tensor_type for name, each in found.items()}
    return {
        name: tuple(
            [dim.dim_value if dim.HasField("dim_value") else None for dim in told.shape.dim]
        )
        for name, told in shapes.items()
        if told.HasField("shape")
    }


def _infer(graph: Graph, analysis: Analysis, node: Node) -> dict[str, onnx.TypeProto]:
    """What shape inference says of a node, given the elements of its inputs or else their sizes.

    Nothing where the rank of an input is unknown, where it would miscount the elements, in int32 or
    in floats, or where a size is 0, which exporters write for an unknown one.
    """
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for tensor in [each for each in node.inputs if each.name]:
        shape = analysis.shape(tensor)
        if shape is None or math.prod(filter(None, sizes := _sizes(shape))) > NMAX:
            return {}
        is_short = len(sizes) <= 1 and all(size is not None and size <= _SHORT for size in sizes)
        value = analysis.value(tensor) if is_short else None
        dtype = analysis.dtype(tensor) or FLOAT  # no size depends on it
        if value is not None and is_constant(value):
            dtype = value.dtype
            data[tensor.name] = make_tensor("", dtype, value.data.shape, value.flat)
        elif 0 in sizes:
            return {}
        types[tensor.name] = make_tensor_type_proto(dtype, sizes)
    schema = onnx.defs.get_schema(node.op, graph.opset, "")
    return shape_inference.infer_node_outputs(schema, graph.node_proto(node), types, data)


def _differ(derived: Sizes, inferred: Sizes) -> bool:
    pairs = zip(derived, inferred, strict=False)
    return len(derived) != len(inferred) or any(
        None not in pair and len({*pair}) > 1 for pair in pairs
    )
