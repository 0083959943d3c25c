"""Shapes that onnxruntime must not learn, and what it would do.

It chooses kernels by them (see `departures`). It believes onnx's shape inference, which is wrong
about some operators, and allocates what bodies hand on in the shapes that it infers. And before
If 11 it refuses branches of different sizes, where it knows these. Downstream of a `Pad` with
computed amounts it does not: a rewrite that makes them constant, or removes the `Pad`, would tell.

Shape inference gets each operator alone, with the input shapes that the analysis derived. So a
disagreement shows at the operator where it begins, what the model declares in between plays no
part, and native code never meets a stride of 0 or a list too short.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol

import onnx
from onnx import TensorProto, shape_inference
from onnx.helper import make_tensor, make_tensor_type_proto

from onnxpad.arithmetic.size import NMAX, Unknown
from onnxpad.errors import RUNTIME, ModelError, let_through
from onnxpad.facts import Analysis, is_constant
from onnxpad.facts.shape_rules import FLOAT
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.model import schema_of
from onnxpad.reasons import Reason
from onnxpad.runtimes.onnxruntime.departures import BLOCKED, CHANGED, Hazard, hazard_of
from onnxpad.semantics.operators import is_transposed, operator_of, read_window
from onnxpad.semantics.rows import UnreadError

Sizes = tuple[int | None, ...]
"""Sizes of axes, None for those that are open."""
Place = tuple[Graph, Tensor]
"""A tensor, with the graph that it is in."""
Harmed = tuple[Graph, Tensor, Hazard]
"""A place, with what onnxruntime would do, or does."""

_SHORT = 16  # elements: longer lists are not shapes, axes or pads
_WITH_BODIES = frozenset({"If", "Loop", "Scan", "SequenceMap"})
_UNLIKE_SINCE = 11
"""The first version of If whose branches may give results of different sizes."""


def disagreements(graph: Graph, analysis: Analysis) -> Iterator[Node]:
    """The operators for which shape inference gives another output size than the analysis derives.

    They come in file order.
    """
    for node in graph.nodes:
        is_doubtful = _is_asked(graph, node) and _is_doubtful(analysis, node)
        if is_doubtful and _is_misinferred(graph, analysis, node):
            yield node


def _is_misinferred(graph: Graph, analysis: Analysis, node: Node) -> bool:
    shape = analysis.shape(node.outputs[0])  # positions, where a pool gives them, are as many
    if shape is None or Unknown in map(type, shape):
        return False
    sizes = _inferred(graph, analysis, node)
    if sizes is None or isinstance(sizes, str):
        return False
    pairs = zip(sizes, _sizes(shape), strict=False)
    differ = any(None not in pair and len({*pair}) > 1 for pair in pairs)
    return differ or len(sizes) != len(shape)


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


def _inferred(graph: Graph, analysis: Analysis, node: Node) -> Sizes | str | None:
    """The sizes of an operator's first output, given the elements or the sizes of its inputs.

    None where the rank of an input is unknown, where shape inference would miscount the elements,
    in int32 or in floats, or where a size is 0, which exporters write for an unknown one. In
    words, why it refuses them.
    """
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    try:
        for tensor in [each for each in node.inputs if each.name]:
            shape = analysis.shape(tensor)
            sizes = _sizes(shape or ())
            if shape is None or math.prod(filter(None, sizes)) > NMAX:
                return None
            is_short = len(sizes) <= 1 and all(n in range(_SHORT + 1) for n in sizes)
            value = analysis.value(tensor) if is_short else None
            dtype = analysis.dtype(tensor) or FLOAT  # no size depends on it
            if is_constant(value):
                dtype = value.dtype
                data[tensor.name] = make_tensor("", dtype, value.data.shape, value.flat)
            elif 0 in sizes:
                return None
            types[tensor.name] = make_tensor_type_proto(dtype, sizes)
        schema = onnx.defs.get_schema(node.op, graph.opset, "")
        told = shape_inference.infer_node_outputs(schema, graph.node_proto(node), types, data)
    except Exception as error:  # it raises anything, and complains about types, which are not given
        let_through(error)
        return str(error) if "[ShapeInferenceError]" in str(error) else None
    found = told.get(node.outputs[0].name, onnx.TypeProto()).tensor_type
    if not found.HasField("shape"):
        return None
    return tuple([d.dim_value if d.HasField("dim_value") else None for d in found.shape.dim])


def why_closed(graph: Graph, analysis: Analysis, opset: int) -> str:
    """Why nothing in a body or function may be rewritten; empty if it may.

    The runtime runs the nodes of a function with the model's opset, whatever it imports. It must
    not learn more about shapes where inference is wrong, or refuses a node, such as a Squeeze of an
    axis of 3: then it refuses the model, although a branch with it may never be taken.
    """
    if not graph.opset:
        return "the function imports no version of ONNX's operators that is known"
    is_other = (graph.opset < CHANGED) != (opset < CHANGED)
    for node in graph.nodes if is_other else ():
        if node.op == "AveragePool" and graph.is_standard(node):
            runs = f"{RUNTIME} runs {node.op} {graph.label(node)!r} in it with the model's, {opset}"
            return f"its opset is {graph.opset}, and {runs}"
    with suppress(ModelError):  # a constant is malformed, and whoever reads it says so
        for node in graph.nodes:
            if _is_asked(graph, node) and isinstance(_inferred(graph, analysis, node), str):
                return f"{node.op} {graph.label(node)!r} in it stops wherever it runs"
        for node in disagreements(graph, analysis):
            return f"onnx's shape inference is wrong about {node.op} {graph.label(node)!r} in it"
    return ""


class Scope(Protocol):
    """A graph, its analysis, and why nothing in it is rewritten; empty for most."""

    graph: Graph
    analysis: Analysis
    closed: str


class HiddenShapes:
    """The tensors of a model whose shapes onnxruntime must not learn, and those that it has wrong.

    Shapes are inferred across nodes and calls, and into bodies and out of them: of what goes in or
    comes out there, all counts where one does.
    """

    def __init__(self) -> None:
        """Knows no graph yet; of those that are added, it reads each as it is when asked."""
        self._scopes: dict[Graph, tuple[Scope, Sequence[tuple[Graph, Node]]]] = {}
        self._inside = defaultdict[Node, list[Graph]](list)
        self._doubted: dict[Graph, list[Node]] = {}
        self._pools: dict[Graph, list[Node]] = {}
        self._origins: tuple[int | None, list[Harmed], list[Harmed]] = None, [], []
        self._behind: tuple[int | None, dict[Tensor, Hazard]] = None, {}

    def add(self, scope: Scope, holders: Sequence[tuple[Graph, Node]] = ()) -> None:
        """Adds a graph, after those with the nodes that run it."""
        self._scopes[scope.graph] = scope, holders
        for _, node in holders:
            self._inside[node].append(scope.graph)

    def behind(self, tensor: Tensor) -> Hazard | None:
        """What onnxruntime would do downstream if it knew a tensor's shape; None if no harm."""
        version, missized, hidden = self._now()
        if self._behind[0] != version:
            # Computed amounts hide a wrong size.
            pads = [each for each in missized if (node := each[1].producer) and node.op == "Pad"]
            pools = [each for graph in self._scopes for each in self._blocked(graph)]
            reached = _reached([*hidden, *pads], self._above), _reached(pools, self._unweighed)
            self._behind = version, {tensor: harm for each in reached for _, tensor, harm in each}
        return self._behind[1].get(tensor)

    def missized(self, graph: Graph) -> list[Tensor]:
        """The tensors of a graph whose sizes onnx's shape inference gets, or may get, wrong."""
        return [tensor for there, tensor, _ in self._now()[1] if there is graph]

    def keeps(self, graph: Graph, tensor: Tensor) -> bool:
        """Whether a wrong shape that a tensor is declared in stays, for what it hides."""
        return tensor in self.missized(graph) or self.behind(tensor) is not None

    def in_halves(self, graph: Graph) -> Hazard | None:
        """What onnxruntime would do to a pool of halves: next to a `Pad` it takes 32 bits."""
        return next((harm for *_, harm in self._blocked(graph, TensorProto.FLOAT16)), None)

    def _now(self) -> tuple[int | None, list[Harmed], list[Harmed]]:
        """The version, and what is wrong then: all missized tensors, and where hiding begins."""
        version = next(iter(self._scopes)).version
        if self._origins[0] != version:
            wrong, hidden = list[Harmed](), list[Harmed]()
            misled = defaultdict[Graph, list[Node]](list)
            for graph, (scope, holders) in reversed(self._scopes.items()):
                begins, ends = self._begin(scope, misled[graph])
                wrong += begins
                hidden += ends
                for outer, node in holders if begins or scope.closed else ():
                    misled[outer].append(node)
            self._origins = version, _reached(wrong, self._below), hidden
        return self._origins

    def _begin(self, scope: Scope, misled: Sequence[Node]) -> tuple[list[Harmed], list[Harmed]]:
        """The tensors of a graph where sizes begin to be wrong, and those that must not be known.

        Where an If, Loop or Scan hands on wrong sizes, the runtime allocates these in the wrong
        shape, and stops. It also stops where a node downstream is refused with what it infers, as a
        Squeeze of an axis of 2, and where it puts a tensor in the place of one that it takes to be
        as large. `misled` are nodes that run graphs in which sizes are wrong, or not known to it.
        """
        graph, owner = scope.graph, scope.graph.owner
        wrong, hidden = list[Harmed](), list[Harmed]()
        for node in (*misled, *self._wrong(scope)):
            does = "take wrong sizes: onnx's shape inference is wrong about"
            harm = _refused(node, f"{does} {node.op} {graph.label(node)!r}")
            wrong += ((graph, each, harm) for each in node.outputs)
            hidden += ((graph, each, harm) for each in graph.sources(node))
        for tensor, claimed in graph.claims("output", "input"):
            shape, source = scope.analysis.shape(tensor), tensor.producer or owner
            pairs = zip(_sizes(claimed), shape or (), strict=False)
            is_so = all(n is None or n == size for n, size in pairs)
            if source and not (is_so and shape is not None and len(shape) == len(claimed)):
                does = f"take wrong sizes: {tensor.name!r} may not have the shape it is declared in"
                wrong.append((graph, tensor, _refused(source, does)))
                if owner and tensor.producer:  # a body must give what it declares
                    hidden.append(wrong[-1])
        if owner and owner.op == "If" and graph.opset < _UNLIKE_SINCE:
            harm = _refused(owner, "know sizes in branches, and refuse branches of different sizes")
            hidden += ((graph, graph.tensor(name), harm) for name in graph.results)
        return wrong, hidden

    def _wrong(self, scope: Scope) -> list[Node]:
        """The nodes of a graph that inference is wrong about; a rewrite may make that right."""
        among = self._doubted.get(scope.graph, scope.graph.nodes)
        found = [each for each in among if each.alive and self._is_doubted(scope, each)]
        self._doubted.setdefault(scope.graph, found)
        return found

    def _is_doubted(self, scope: Scope, node: Node) -> bool:
        """Whether onnx's shape inference is, or may be, wrong about a node.

        A body that was not added may declare or lead to a wrong shape, or hold what is refused. A
        call of a function may set what decides. A `Pad` is refused once the rank of its data is
        known, if an axis is named twice or at run time only. A ConvTranspose with `output_shape`
        over data of which not all sizes are known may lose axes. Of what else is not known, only
        bodies, and calls of functions, need to know the sizes.
        """
        graph, analysis = scope.graph, scope.analysis
        if graph.is_standard(node):
            if node.op in _WITH_BODIES:
                return node not in self._inside or (node.op == "If" and graph.opset < _UNLIKE_SINCE)
            if graph.refers(node) and _is_doubtful(analysis, node):
                return True
        with suppress(ModelError):  # a constant is malformed, and whoever reads it says so
            if node.op == "Pad" and (axes := node.operand(3)) is not None:
                value, rank = analysis.value(axes), len(analysis.shape(node.inputs[0]) or ())
                known = value.flat if is_constant(value) else (0, 0)
                return len({int(axis) % (rank or NMAX) for axis in known}) < len(known)
            if "output_shape" in node.attrs and is_transposed(graph, node):
                data = analysis.shape(node.inputs[0])
                if data is None or Unknown in map(type, data):
                    return True
            doubtful = _is_asked(graph, node) and _is_doubtful(analysis, node)
            if not doubtful and operator_of(graph, node) is None:
                return False
            shape = analysis.shape(node.outputs[0])
            unknown = [n for n in shape or () if isinstance(n, Unknown)]
            if any(n.is_disputed for n in unknown):
                return True
            if shape is not None and not unknown:
                return doubtful and _is_misinferred(graph, analysis, node)
            return doubtful and (not graph.is_main or bool(graph.running()))
        return False

    def _blocked(self, graph: Graph, dtype: int | None = None) -> Iterator[Harmed]:
        """What the pools of a graph read, perhaps of one element type alone, with the harm."""
        analysis = self._scopes[graph][0].analysis
        if graph not in self._pools:  # edits add none
            standard = filter(graph.names_standard, graph.nodes)
            self._pools[graph] = [node for node in standard if node.op in BLOCKED]
        for node in self._pools[graph]:
            if node.alive and dtype in {None, analysis.dtype(node.inputs[0])}:
                with suppress(UnreadError):
                    op = read_window(graph, analysis, node)
                    if (harm := hazard_of(graph, analysis, op)) is not None:
                        yield graph, op.data, harm

    def _below(self, graph: Graph, tensor: Tensor) -> Iterator[Place]:
        """The tensors whose sizes follow from that of a tensor."""
        for use in graph.uses(tensor):
            yield from ((graph, each) for each in use.node.outputs)
            for inner in self._inside.get(use.node, ()):
                given = map(inner.tensor, inner.inputs)
                captured = (each for each in inner.captured() if each.outer is tensor)
                yield from ((inner, each) for each in (captured if use.index < 0 else given))

    def _above(self, graph: Graph, tensor: Tensor) -> Iterator[Place]:
        """The tensors from whose shape that of a tensor is inferred."""
        node, holders = tensor.producer, self._scopes[graph][1]
        if tensor.outer is not None:
            yield graph.home(tensor)
        elif node is not None:
            yield from ((graph, each) for each in graph.sources(node))
            for inner in self._inside.get(node, ()):
                yield from ((inner, inner.tensor(name)) for name in inner.results)
        elif tensor.name in graph.inputs:
            yield from ((outer, each) for outer, holder in holders for each in holder.inputs)

    def _unweighed(self, graph: Graph, tensor: Tensor) -> Iterator[Place]:
        """As `_above`, but for a node whose number of output channels a weight tells."""
        row = None if tensor.producer is None else operator_of(graph, tensor.producer)
        weighs = row is not None and row.inputs.weight is not None
        return iter(()) if weighs else self._above(graph, tensor)


def hides(graph: Graph, node: Node) -> bool:
    """Whether a node is a `Pad` or Slice whose result has sizes that onnxruntime cannot infer.

    Something but its data is computed or empty; axes that a Slice before opset 10 names are not
    looked at.
    """
    if node.op not in {"Pad", "Slice"}:
        return False
    operands = node.inputs[1 :: 2 if node.op == "Pad" else 1]
    values = [graph.constant(each) if graph.is_fixed(each) else None for each in operands]
    return "axes" in node.attrs or any(each is None or not each.size for each in values)


def _reached(
    harmed: Sequence[Harmed], onward: Callable[[Graph, Tensor], Iterator[Place]]
) -> list[Harmed]:
    """The tensors that are reached from some, these included, each once with a harm."""
    found, seen, pending = list[Harmed](), set[Tensor](), [*reversed(harmed)]
    while pending:
        graph, tensor, harm = pending.pop()
        if tensor.name and tensor not in seen:
            seen.add(tensor)
            found.append((graph, tensor, harm))
            pending += ((*place, harm) for place in onward(graph, tensor))
    return found


def _refused(node: Node, does: str) -> Hazard:
    return Hazard(node, Reason.SHAPE_REFUSED, does)
