"""Shapes in bodies and functions that onnxruntime must not learn, and what it would do.

It believes onnx's shape inference, which is wrong about some operators, and allocates what bodies
hand on in the shapes that it infers. It runs the nodes of a function with the model's opset. And
before If 11 it refuses branches of different sizes, where it knows these.

Shape inference gets each operator alone, with the input shapes that the analysis derived. So a
disagreement shows at the operator where it begins and not downstream of it, shapes that the model
declares in between play no part, and no weight is needed. Operators whose result the analysis does
not know in full are left out, so native code never meets a stride of 0 or a list too short.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice

import onnx
from onnx import shape_inference
from onnx.helper import make_tensor, make_tensor_type_proto

from onnxpad.arithmetic.size import NMAX, Unknown
from onnxpad.errors import RUNTIME, ModelError, let_through
from onnxpad.facts import Analysis, is_constant
from onnxpad.facts.shape_rules import FLOAT
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.model import schema_of
from onnxpad.reasons import Reason
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.onnxruntime.departures import CHANGED, Hazard
from onnxpad.semantics.operators import is_transposed, operator_of

Call = tuple[Context, Node]
"""A call of a function, or a node with a body, with the graph that it is in."""
Captured = tuple[Context, Tensor, Tensor]
"""A tensor of another graph, with the context of that graph, and what it is in this one."""

Sizes = tuple[int | None, ...]
"""Sizes of axes, None for those that are open."""

NODES = 2_000
"""Only this many operators of a graph are compared, the first ones."""

_SHORT = 16  # elements: longer lists are not shapes, axes or pads

WITH_BODIES = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""Operators of ONNX whose bodies compute with what the node passes and what they capture."""

_UNLIKE_SINCE = 11
"""The first version of If whose branches may give results of different sizes."""


def disagreements(
    graph: Graph, analysis: Analysis, among: Collection[Node] | None = None
) -> Iterator[Node]:
    """The operators for which shape inference gives another output size than the analysis derives.

    Of those `among` the nodes, in file order too, or of the first `NODES` of the graph.
    """
    for node in islice(graph.nodes, NODES) if among is None else among:
        if not _is_asked(graph, node) or not _is_doubtful(analysis, node):
            continue
        result = node.outputs[0]  # positions, where a pool gives them, are as many
        shape = analysis.shape(result)
        if shape is None or Unknown in map(type, shape):
            continue
        sizes = (_inferred(graph, analysis, node) or {}).get(result.name)
        pairs = zip(sizes or (), _sizes(shape), strict=False)
        differ = any(None not in pair and len({*pair}) > 1 for pair in pairs)
        if sizes is not None and (differ or len(sizes) != len(shape)):
            yield node


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


def _sizes(shape: Sequence[object]) -> Sizes:
    return tuple([extent if isinstance(extent, int) else None for extent in shape])


def _inferred(graph: Graph, analysis: Analysis, node: Node) -> dict[str, Sizes] | None:
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
            sizes = _sizes(shape or ())
            if shape is None or math.prod(filter(None, sizes)) > NMAX:
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
        name: tuple([d.dim_value if d.HasField("dim_value") else None for d in each.shape.dim])
        for name, each in told.items()
        if each.HasField("shape")
    }


def runs_otherwise(graph: Graph, opset: int) -> str:
    """Why the runtime computes something else in a function than it says; empty if it does not.

    It runs the nodes of a function with the model's opset, whatever the function imports.
    """
    for node in graph.nodes if (graph.opset < CHANGED) != (opset < CHANGED) else ():
        if node.op == "AveragePool" and graph.is_standard(node):
            return (
                f"its opset is {graph.opset}, and {RUNTIME} runs {node.op} "
                f"{graph.label(node)!r} in it with the model's, {opset}"
            )
    return ""


def misjudged(graph: Graph, analysis: Analysis) -> str:
    """Why the runtime must not learn more about the shapes in a graph; empty if it may.

    When it loads a model, it refuses one with a node that shape inference refuses, such as a
    Squeeze of an axis of 3, although a branch with it may never be taken. And it allocates the
    results of a body in the shapes that are inferred, which is sometimes wrong.
    """
    with suppress(ModelError):  # a constant is malformed, and whoever reads it says so
        for node in islice(graph.nodes, NODES):
            if _is_asked(graph, node) and _inferred(graph, analysis, node) is None:
                return f"{node.op} {graph.label(node)!r} in it stops wherever it runs"
        for node in disagreements(graph, analysis):
            return f"onnx's shape inference is wrong about {node.op} {graph.label(node)!r} in it"
    return ""


def at_border(context: Context) -> Iterator[tuple[Tensor, Hazard]]:
    """The tensors around a body whose shapes it must not learn, each with what would happen."""
    graph, owner = context.graph, context.graph.owner
    assert owner is not None
    shut: Hazard | None = None
    if context.closed:
        does = f"know the sizes in {graph.place}, but {context.closed}"
        shut = Hazard(owner, Reason.SHAPE_REFUSED, does)

    def behind(tensor: Tensor) -> Hazard | None:
        return shut or context.blocked_pools.behind(tensor)

    for tensor in graph.captured():
        assert tensor.outer is not None
        if hazard := behind(tensor):
            yield tensor.outer, hazard
    hazard = next(filter(None, map(behind, map(graph.tensor, graph.inputs))), shut)
    if hazard is not None:
        yield from ((tensor, hazard) for tensor in owner.inputs if tensor.name)


def _is_untold(graph: Graph, analysis: Analysis, node: Node) -> bool:
    """Whether shape inference may be wrong about a node in a way that is not known here.

    A body that is in no context may declare or lead to a wrong shape, or hold what is refused. A
    ConvTranspose with `output_shape` over data of which not all sizes are known may lose axes,
    where that is shorter than its data. And a call of a function may set what decides. A `Pad` is
    refused once the rank of its data is known, if an axis is named twice or at run time only.
    """
    if node.op in WITH_BODIES:
        return graph.is_standard(node)
    if graph.refers(node):
        return graph.is_standard(node) and _is_doubtful(analysis, node)
    if node.op == "Pad" and (axes := node.operand(3)) is not None:
        value, rank = analysis.value(axes), len(analysis.shape(node.inputs[0]) or ())
        if value is None or not is_constant(value):
            return True
        named = {int(axis) % (rank or NMAX) for axis in value.flat}
        return len(named) < len(value.flat)
    if "output_shape" not in node.attrs or not is_transposed(graph, node):
        return False
    shape = analysis.shape(node.inputs[0])
    return shape is None or Unknown in map(type, shape)


class Misjudged:
    """The nodes of one graph about which onnx's shape inference is, or may be, wrong.

    Where an If, Loop or Scan hands on their results, the runtime allocates these in the wrong
    shape, and stops. It also stops where a node downstream is refused with what it infers, as a
    Squeeze of an axis of 2, and where it puts a tensor in the place of one that it takes to be as
    large. What is computed keeps it from inferring: that stays.
    """

    def __init__(
        self,
        context: Context,
        holders: Sequence[Call],
        captured: Callable[[], Iterator[Captured]],
        others: dict[int, Misjudged],
    ) -> None:
        """Lets the pools of the graph know; looks for the nodes at the first question.

        `holders` are the nodes that run the graph, `captured` gives what it reads of others, and
        `others` are those of all graphs before this one, by the identity of the context.
        """
        self._context = context
        self._callers = holders if context.outer is None else ()
        self._inside = defaultdict[Node, list[Misjudged]](list)
        for outer, node in holders:
            others[id(outer)]._inside[node].append(self)
        self._captured = captured
        self._others = others
        others[id(context)] = self
        self._found: tuple[int, dict[Node, Hazard]] | None = None
        context.blocked_pools.missized = lambda: self._wrong().keys()
        if not context.closed:
            context.blocked_pools.inside.append(self._hidden)

    def _hidden(self) -> Iterator[tuple[Tensor, Hazard]]:
        """The tensors whose shapes the runtime must not learn, each with what would happen."""
        graph = self._context.graph
        for node, hazard in self._nodes().items():
            yield from ((each, hazard) for each in graph.sources(node) if each.name)
        for name, hazard in self._wrong().items():
            pad = graph.tensor(name).producer
            if pad is not None and pad.op == "Pad":  # computed amounts hide the wrong size
                yield graph.tensor(name), hazard
        if graph.owner is not None:  # a body must give what it declares
            yield from ((each, hazard) for each, hazard in self._misdeclared() if each.producer)
            if graph.owner.op == "If" and graph.opset < _UNLIKE_SINCE:
                does = "know the sizes in branches, and refuse branches of different sizes"
                hazard = Hazard(graph.owner, Reason.SHAPE_REFUSED, does)
                yield from ((graph.tensor(name), hazard) for name in graph.results)
        for caller, node in self._callers:
            for output, name in zip(node.outputs, graph.results, strict=False):
                if harm := caller.blocked_pools.behind(output):
                    yield graph.tensor(name), harm

    def _wrong(self) -> dict[str, Hazard]:
        """The names of the tensors whose sizes follow from a wrong one, each with the harm."""
        graph = self._context.graph
        pending = [(out, hazard) for node, hazard in self._nodes().items() for out in node.outputs]
        pending += self._misdeclared()
        outside = cache(lambda other: self._others[other]._wrong())
        for context, theirs, ours in self._captured():
            if harm := outside(id(context)).get(theirs.name):
                pending.append((ours, harm))
        found: dict[str, Hazard] = {}
        while pending:
            tensor, hazard = pending.pop()
            if tensor.name and tensor.name not in found:
                found[tensor.name] = hazard
                pending += [(out, hazard) for use in graph.uses(tensor) for out in use.node.outputs]
        return found

    def _misdeclared(self) -> Iterator[tuple[Tensor, Hazard]]:
        """Outputs, and a body's inputs, that are not known to have the shape they are declared in.

        The runtime believes that shape, as it believes shape inference.
        """
        graph = self._context.graph
        for tensor, claimed in graph.claims("output", "input"):
            node = tensor.producer or graph.owner
            shape = self._context.analysis.shape(tensor)
            pairs = zip(_sizes(claimed), shape or (), strict=False)
            is_like = all(n is None or n == size for n, size in pairs)
            is_ranked = shape is not None and len(shape) == len(claimed)
            if not (is_ranked and is_like) and node is not None:
                does = f"take wrong sizes: {tensor.name!r} may not have the shape it is declared in"
                yield tensor, Hazard(node, Reason.SHAPE_REFUSED, does)

    def _nodes(self) -> dict[Node, Hazard]:
        """The nodes as the graph is now: a rewrite may spell out what inference is wrong about."""
        graph = self._context.graph
        version, found = self._found or (-1, None)
        if found is None or (found and version != graph.version):
            among = None if found is None else [each for each in graph.nodes if each in found]
            does = "take wrong sizes: onnx's shape inference is wrong about"
            told = {node: f"{does} {node.op} {graph.label(node)!r}" for node in self._find(among)}
            found = {n: Hazard(n, Reason.SHAPE_REFUSED, does) for n, does in told.items()}
        self._found = graph.version, found
        return found

    def _find(self, among: Collection[Node] | None) -> Iterator[Node]:
        """The nodes of the graph, or of these."""
        graph, analysis = self._context.graph, self._context.analysis
        for node in graph.nodes if among is None else among:
            inside = self._inside.get(node)
            if node.op == "If" and graph.opset < _UNLIKE_SINCE and graph.is_standard(node):
                yield node
            elif inside is not None:
                if any(each._context.closed or each._is_wrong() for each in inside):
                    yield node
            elif _is_untold(graph, analysis, node):
                yield node
        with suppress(ModelError):  # a constant is malformed, and whoever reads it says so
            # What a Scan hands to its body, or a call to a function, is known to the runtime alone.
            holding = (node.op in WITH_BODIES or graph.is_function(node) for node in graph.nodes)
            holds = not graph.is_main or any(holding)
            for node in graph.nodes:
                doubted = holds and _is_asked(graph, node) and _is_doubtful(analysis, node)
                asked = doubted or operator_of(graph, node)
                shape = analysis.shape(node.outputs[0]) if asked else ()
                unknown = [n for n in shape or () if isinstance(n, Unknown)]
                if (doubted and (shape is None or unknown)) or any(n.is_disputed for n in unknown):
                    yield node
            yield from disagreements(graph, analysis, among)

    def _is_wrong(self) -> bool:
        return bool(self._nodes()) or any(True for _ in self._misdeclared())
