"""The open sizes at which a graph runs, derived from its operators, and what onnx infers of them.

Concat, Reshape and broadcasting operators need axes that fit each other: a U-Net that halves its
data, doubles it and joins both runs only at even sizes. A window needs data that it fits in. A size
at which such an operator stops is infeasible, provided that every output of the graph needs it.

Shape inference gets each operator alone, with the input shapes that the analysis derived. So a
disagreement shows at the operator where it begins and not downstream of it, shapes that the model
declares in between play no part, and no weight is needed. Operators whose result the analysis does
not know in full are left out, so native code never meets a stride of 0 or a list too short.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice
from typing import Final, NamedTuple, TypeAlias

import onnx
from msgspec import Struct, field
from onnx import shape_inference
from onnx.helper import make_tensor, make_tensor_type_proto

from onnxpad.arithmetic.size import (
    NMAX,
    Extent,
    Size,
    Sizes,
    Unknown,
    equal,
    less_equal,
    maximum,
    minimum,
    solutions,
)
from onnxpad.errors import ModelError, let_through
from onnxpad.facts import BROADCASTING, Analysis, Shape, is_constant
from onnxpad.facts.reshaping import at_least, product
from onnxpad.facts.rule_api import FLOAT, Call
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.model import schema_of
from onnxpad.semantics.operators import Operator, operator_of
from onnxpad.semantics.rows import UnreadError
from onnxpad.semantics.window import auto_pad_of

Conditions: TypeAlias = Iterator[Extent]
"""Conditions on the sizes: each is 1 where it holds and 0 where it does not."""

_OUTPUTS: Final = 256
_BROADCASTING: Final = frozenset({*BROADCASTING.split(), "PRelu"})
_SIZES: Final = 16
"""At most this many sizes that must fit each other are compared; the rest limits nothing."""


class Feasible(Struct, frozen=True):
    """The open sizes at which a graph runs.

    Attributes:
        sizes: The closest range around the feasible sizes of each symbol that is limited, by name.
        stops: A node that runs at none of the sizes; None where every node runs at some.
    """

    sizes: Mapping[str, Sizes] = field(default_factory=dict)
    stops: Node | None = None


EVERYWHERE: Final = Feasible()


def feasible_sizes(graph: Graph, analysis: Analysis) -> Feasible:
    """Derives the open sizes at which all operators run that every output of the graph needs."""
    conditions: dict[str, Size] = {}
    seen: set[Extent] = set()
    for node in _needed(graph):
        for condition in _conditions(node, graph, analysis):
            both = condition
            if isinstance(condition, Size) and condition not in seen:
                seen.add(condition)
                if len(condition.symbols) == 1:
                    name = condition.symbols[0].name
                    both = minimum(conditions.get(name, 1), condition)
                    if isinstance(both, Size):
                        conditions[name] = both
            if both == 0:
                return Feasible(stops=node)
    found = {name: solutions(each) for name, each in conditions.items()}
    return Feasible({name: limit for name, limit in found.items() if limit is not None})


def stopping(graph: Graph, analysis: Analysis) -> Node | None:
    """A node that stops wherever it runs, by its own sizes or onnx's shape inference; or None.

    A runtime that finds this out when it loads a model refuses it, although a branch with such a
    node may never be taken.
    """
    for node in graph.nodes:
        is_window = operator_of(graph, node) is not None
        if not is_window and any(each == 0 for each in _conditions(node, graph, analysis)):
            return node
    return refused(graph, analysis)


def _needed(graph: Graph) -> list[Node]:
    """The nodes that every output of the graph depends on; none if it has very many outputs.

    Tensors that a body of If, Loop or Scan captures do not count as inputs of its node here.
    """
    needed: list[Node] = []
    if not 0 < len(graph.outputs) <= _OUTPUTS:
        return needed
    reached = {name: 1 << index for index, name in enumerate(graph.outputs)}
    everything = (1 << len(graph.outputs)) - 1
    for node in reversed(list(graph.nodes)):
        outputs = 0
        for tensor in node.outputs:
            outputs |= reached.get(tensor.name, 0) if tensor.name else 0
        if outputs:
            for tensor in node.inputs:
                reached[tensor.name] = reached.get(tensor.name, 0) | outputs
        if outputs == everything:
            needed.append(node)
    return needed


def _is_positive(size: Extent) -> bool:
    return at_least(size, 1)


def _concatenated(call: Call) -> Conditions:
    shapes = call.shapes()
    axis = call.axis(len(shapes[0]), 1)
    # Engines accept an empty tensor even where it does not fit.
    fits = len({*map(len, shapes)}) == 1 and all(map(_is_positive, chain(*shapes)))
    for place, sizes in enumerate(zip(*shapes, strict=True) if fits else ()):
        first, *others = dict.fromkeys(sizes)
        yield from (equal(first, other) for other in others if place != axis)


def _fitting(shapes: Sequence[Shape]) -> Conditions:
    """Conditions that shapes broadcast: on each axis all sizes other than 1 are equal."""
    for place in range(1, max(map(len, shapes), default=0) + 1):
        each = (shape[-place] for shape in shapes if len(shape) >= place)
        sizes = dict.fromkeys(size for size in each if size != 1)
        for a, b in combinations(islice(sizes, _SIZES), 2):
            yield maximum(equal(a, b), maximum(equal(a, 1), equal(b, 1)))


def _reshaped(call: Call) -> Conditions:
    """The condition that a Reshape keeps the number of elements; equal sizes cancel first."""
    before, after = list(call.shape_of(0)), list(call.result_shape() or ())
    for size in call.shape_of(0):
        if size in after:
            before.remove(size)
            after.remove(size)
    if call.result_shape() is not None:
        yield equal(product(before), product(after))


def _windowed(call: Call, row: Operator) -> Conditions:
    """Conditions that a window operator runs.

    Conv needs room for a window; pools without one give an empty tensor. Pools and SAME need at
    least one element on each axis, except pools of an empty batch. A transposed convolution must
    give something on each axis.
    """
    layout = row.layout
    shape = call.result_shape() or ()
    yield from (less_equal(0 if row.pools else 1, size) for size in layout.spatial(shape))
    if row.scatters:
        return
    read = call.shape_of(0)
    is_same = auto_pad_of(call.node).startswith("SAME")
    if read and (_is_positive(read[layout.batch]) if row.pools else is_same):
        yield from (less_equal(1, size) for size in layout.spatial(read))


def _conditions(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    """The conditions that an operator runs, as far as they are known."""
    row, call = operator_of(graph, node), analysis.call(node)
    try:
        if row is not None and node.inputs:
            yield from _windowed(call, row)
        elif call.op == "Concat":
            yield from _concatenated(call)
        elif call.op == "Reshape":
            yield from _reshaped(call)
        elif call.op in _BROADCASTING and call.version >= 7:
            yield from _fitting(call.shapes())
    except (ModelError, UnreadError):
        return


Inferred: TypeAlias = tuple[int | None, ...]
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
    derived: Inferred
    inferred: Inferred


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
        inferred = _inferred(graph, analysis, node) or {}
        for tensor, shape in zip(node.outputs, shapes, strict=True):
            derived, sizes = _sizes(shape or ()), inferred.get(tensor.name)
            pairs = zip(derived, sizes or (), strict=False)
            differ = any(None not in pair and len({*pair}) > 1 for pair in pairs)
            if sizes is not None and (differ or len(derived) != len(sizes)):
                yield Disagreement(node, tensor, derived, sizes)
                break


def refused(graph: Graph, analysis: Analysis) -> Node | None:
    """The first operator that shape inference refuses at its input sizes; None if it takes all.

    It refuses, for example, a Squeeze of an axis of 3 elements.
    """
    asked = (node for node in islice(graph.nodes, NODES) if _is_asked(graph, node))
    return next((node for node in asked if _inferred(graph, analysis, node) is None), None)


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


def _sizes(shape: Sequence[Extent]) -> Inferred:
    return tuple([extent if isinstance(extent, int) else None for extent in shape])


def _inferred(graph: Graph, analysis: Analysis, node: Node) -> dict[str, Inferred] | None:
    """The sizes of an operator's outputs by name, given the elements or the sizes of its inputs.

    None where shape inference refuses them. Nothing where the rank of an input is unknown, where it
    would miscount the elements, in int32 or in floats, or where a size is 0, which exporters write
    for an unknown one.
    """
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    try:
        for tensor in [each for each in node.inputs if each.name]:
            shape = analysis.shape(tensor)
            if shape is None or math.prod(filter(None, sizes := _sizes(shape))) > NMAX:
                return {}
            is_short = len(sizes) <= 1 and all(n is not None and n <= _SHORT for n in sizes)
            value = analysis.value(tensor) if is_short else None
            dtype = analysis.dtype(tensor) or FLOAT  # no size depends on it
            if value is not None and is_constant(value):
                dtype = value.dtype
                data[tensor.name] = make_tensor("", dtype, value.data.shape, value.flat)
            elif 0 in sizes:
                return {}
            types[tensor.name] = make_tensor_type_proto(dtype, sizes)
        schema = onnx.defs.get_schema(node.op, graph.opset, "")
        found = shape_inference.infer_node_outputs(schema, graph.node_proto(node), types, data)
    except Exception as error:  # it raises anything, and complains about types, which are not given
        let_through(error)
        return None if "[ShapeInferenceError]" in str(error) else {}
    told = {name: each.tensor_type for name, each in found.items()}
    return {
        name: tuple(
            [dim.dim_value if dim.HasField("dim_value") else None for dim in each.shape.dim]
        )
        for name, each in told.items()
        if each.HasField("shape")
    }
