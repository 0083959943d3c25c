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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Final, NamedTuple, TypeAlias

import onnx
from msgspec import Struct
from onnx import shape_inference
from onnx.helper import make_tensor, make_tensor_type_proto

from onnxpad.arithmetic.size import NMAX, Extent, Size, Unknown
from onnxpad.errors import RUNTIME, ModelError, let_through
from onnxpad.facts import Analysis, is_constant
from onnxpad.facts.engine import KNOWN, passed_to_body
from onnxpad.facts.feasible import conditions_of
from onnxpad.facts.shape_rules import FLOAT
from onnxpad.graph import Graph, Node, Tensor, downstream
from onnxpad.graph.model import schema_of
from onnxpad.reasons import Reason
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.onnxruntime.departures import CHANGED, Hazard
from onnxpad.semantics.operators import is_transposed, operator_of

Call: TypeAlias = tuple[Context, Node]
"""A call of a function, or a node with a body, with the graph that it is in."""
Captured: TypeAlias = tuple[Context, Tensor, Tensor]
"""A tensor of another graph, with the context of that graph, and what it is in this one."""

Inferred: TypeAlias = tuple[int | None, ...]
"""Sizes of axes, None for those that are open."""

NODES: Final = 2_000
"""Only this many operators of a graph are compared, the first ones."""

_SHORT: Final = 16  # elements: longer lists are not shapes, axes or pads

WITH_BODIES: Final = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""Operators of ONNX whose bodies compute with what the node passes and what they capture."""

_UNLIKE_SINCE: Final = 11
"""The first version of If whose branches may give results of different sizes."""


class Disagreement(NamedTuple):
    """An operator whose output shape inference gives another size than the analysis derives."""

    node: Node
    derived: Inferred
    inferred: Inferred


def disagreements(
    graph: Graph, analysis: Analysis, among: Collection[Node] | None = None
) -> Iterator[Disagreement]:
    """The operators, in file order, for which shape inference gives another output size.

    Of those `among` the nodes, in file order too, or of the first `NODES` of the graph.
    """
    for node in islice(graph.nodes, NODES) if among is None else among:
        if not _is_asked(graph, node) or not _is_doubtful(analysis, node):
            continue
        result = node.outputs[0]  # positions, where a pool gives them, are as many
        shape = analysis.shape(result)
        if shape is None or Unknown in map(type, shape):
            continue
        derived = _sizes(shape)
        sizes = (_inferred(graph, analysis, node) or {}).get(result.name)
        pairs = zip(derived, sizes or (), strict=False)
        differ = any(None not in pair and len({*pair}) > 1 for pair in pairs)
        if sizes is not None and (differ or len(derived) != len(sizes)):
            yield Disagreement(node, derived, sizes)


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


def _is_refused(graph: Graph, analysis: Analysis, wrong: Disagreement) -> bool:
    """Whether a node downstream is refused with the sizes that are inferred."""
    believed = {wrong.node.outputs[0].name: wrong.inferred}
    for node in graph.nodes:
        if believed.keys().isdisjoint(each.name for each in node.inputs):
            continue
        found = _inferred(graph, analysis, node, believed) if _is_asked(graph, node) else {}
        if found is None:
            return True
        believed |= found
    return False


def _inferred(
    graph: Graph, analysis: Analysis, node: Node, believed: Mapping[str, Inferred] = {}
) -> dict[str, Inferred] | None:
    """The sizes of an operator's outputs by name, given the elements or the sizes of its inputs.

    Sizes that are `believed` stand for those that the analysis derives, by name.
    None where shape inference refuses them. Nothing where the rank of an input is unknown, where it
    would miscount the elements, in int32 or in floats, or where a size is 0, which exporters write
    for an unknown one.
    """
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    try:
        for tensor in [each for each in node.inputs if each.name]:
            shape = analysis.shape(tensor)
            sizes = believed.get(tensor.name) or _sizes(shape or ())
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


def stopping(graph: Graph, analysis: Analysis) -> Node | None:
    """A node that stops wherever it runs, by its own sizes or onnx's shape inference; or None.

    A runtime that finds this out when it loads a model refuses it, although a branch with such a
    node may never be taken. Shape inference refuses, for example, a Squeeze of an axis of 3.
    """
    for node in graph.nodes:
        is_window = operator_of(graph, node) is not None
        if not is_window and any(each == 0 for each in conditions_of(node, graph, analysis)):
            return node
    asked = (node for node in islice(graph.nodes, NODES) if _is_asked(graph, node))
    return next((node for node in asked if _inferred(graph, analysis, node) is None), None)


def runs_otherwise(graph: Graph, opset: int) -> str:
    """Why the runtime computes something else in a function than it says; empty if it does not.

    It runs the nodes of a function with the model's opset, whatever the function imports.
    """
    for node in graph.nodes:
        since = CHANGED.get(node.op) if graph.is_standard(node) else None
        if since is not None and (graph.opset < since) != (opset < since):
            return (
                f"its opset is {graph.opset}, and {RUNTIME} runs {node.op} "
                f"{graph.label(node)!r} in it with the model's, {opset}"
            )
    return ""


def misjudged(context: Context) -> str:
    """Why the runtime must not learn more about the shapes in a graph; empty if it may.

    It refuses a model with a branch in which a node stops wherever it runs. And it allocates the
    results of a body in the shapes that onnx's shape inference gives, which is sometimes wrong.
    """
    graph, analysis = context.graph, context.analysis
    try:
        node = stopping(graph, analysis)
        if node is not None:
            return f"{node.op} {graph.label(node)!r} in it stops wherever it runs"
        for node, *_ in disagreements(graph, analysis):
            return f"onnx's shape inference is wrong about {node.op} {graph.label(node)!r} in it"
    except ModelError:
        return ""  # a constant is malformed, and whoever reads it says so
    return ""


def disputed(context: Context) -> Iterator[Node]:
    """The operators to which the runtime gives another size than the specification."""
    graph = context.graph
    try:
        transposed = [node for node in graph.nodes if is_transposed(graph, node)]
        for node in (*(op.node for op in context.windows()), *transposed):
            shape = context.analysis.shape(node.outputs[0]) or ()
            if any(isinstance(n, Unknown) and n.is_disputed for n in shape):
                yield node
    except ModelError:
        return  # a constant is malformed, and whoever reads it says so


def hide(
    context: Context,
    wrong: Misjudged,
    branches: Sequence[Context],
    found: Sequence[Context],
    callers: Sequence[Call],
) -> None:
    """Lets the pools of a graph know of the shapes that other graphs must not learn.

    Args:
        context: The graph.
        wrong: Its nodes that onnx's shape inference is wrong about.
        branches: The branches of the If that the graph belongs to, if it does.
        found: All graphs.
        callers: The calls of the graph, if it is a function.
    """
    context.blocked_pools.missized = wrong.names
    if not context.closed:
        context.blocked_pools.inside += [
            wrong.before,
            wrong.downstream,
            partial(_unlike, context, branches),
            partial(_unlike_branches, context, found),
            partial(_beyond, context, callers),
        ]


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


def _unlike(context: Context, branches: Sequence[Context]) -> Iterator[tuple[Tensor, Hazard]]:
    """The results of a branch whose sizes another one's may differ from, before If 11.

    The runtime refuses such an If where it knows the sizes of both.
    """
    graph, owner = context.graph, context.graph.owner
    if owner is None or graph.opset >= _UNLIKE_SINCE:
        return
    does = f"know the sizes in {graph.place}, and refuse branches of different sizes"
    hazard = Hazard(owner, Reason.SHAPE_REFUSED, does)
    for place, name in enumerate(graph.results):
        if not _are_alike([(each.graph, each.analysis) for each in branches], place):
            yield graph.tensor(name), hazard


def _are_alike(branches: Sequence[tuple[Graph, Analysis]], place: int) -> bool:
    """Whether the results of branches are known to have the same sizes."""
    shapes = [analysis.shape(graph.tensor(graph.results[place])) for graph, analysis in branches]
    return all(
        shape is not None
        and shape == shapes[0]
        and all(isinstance(size, int | Size) for size in shape)
        for shape in shapes
    )


def _unlike_branches(context: Context, found: Sequence[Context]) -> Iterator[tuple[Tensor, Hazard]]:
    """Reads of branches of an If that are no contexts, where they may differ, before If 11."""
    graph = context.graph
    if graph.opset >= _UNLIKE_SINCE:
        return
    known = {id(each.graph.owner) for each in found}
    for node in graph.nodes:
        if node.op != "If" or not graph.is_standard(node) or id(node) in known:
            continue
        try:
            branches = [
                (each, Analysis(each, outer=context.analysis)) for each in graph.bodies(node)
            ]
            places = range(len(branches[0][0].results)) if branches else range(0)
            alike = all(_are_alike(branches, place) for place in places)
        except ModelError:
            continue  # the rule on scopes reports it
        does = f"refuse branches of different sizes of {node.op} {graph.label(node)!r}"
        hazard = Hazard(node, Reason.SHAPE_REFUSED, does)
        captured = [] if alike else [each for body, _ in branches for each in body.captured()]
        yield from ((each.outer, hazard) for each in captured if each.outer is not None)


def _beyond(context: Context, calls: Sequence[Call]) -> Iterator[tuple[Tensor, Hazard]]:
    """The results of a function whose shapes a caller must not learn."""
    for caller, node in calls:
        for output, name in zip(node.outputs, context.graph.results, strict=False):
            hazard = caller.blocked_pools.behind(output)
            if hazard is not None:
                yield context.graph.tensor(name), hazard


def _misdeclared(graph: Graph, analysis: Analysis) -> Iterator[Tensor]:
    """The outputs, and a body's inputs, that are not known to be as they are declared."""
    for tensor, claimed in graph.claims("output", "input"):
        shape = analysis.shape(tensor)
        if shape is None:
            is_like = not any(isinstance(size, int) for size in claimed)
        else:
            pairs = zip(claimed, shape, strict=False)
            is_like = len(shape) == len(claimed)
            is_like &= all(size == told for told, size in pairs if isinstance(told, int))
        if not is_like:
            yield tensor


def _has_wrong_body(graph: Graph, analysis: Analysis, node: Node) -> bool:
    """Whether a body of a node, in which nothing pads, declares or leads to a wrong shape.

    A body of which nothing is known may.
    """
    if node.op not in WITH_BODIES or not graph.is_standard(node):
        return False
    try:
        for body in graph.bodies(node):
            inner = Analysis(body, outer=analysis, input_facts=passed_to_body(body, analysis))
            wrong = chain(_misdeclared(body, inner), disagreements(body, inner))
            within = (_has_wrong_body(body, inner, each) for each in body.nodes)
            if node.op not in KNOWN or next(wrong, None) is not None or any(within):
                return True
    except ModelError:
        pass  # a constant is malformed, and whoever reads it says so
    return False


def _may_lose_axes(graph: Graph, analysis: Analysis, node: Node) -> bool:
    """Whether shape inference may give a node fewer axes, as where it is shorter than its data.

    That is a ConvTranspose with `output_shape` over data of which not all sizes are known.
    """
    if "output_shape" not in node.attrs or not is_transposed(graph, node):
        return False
    return Unknown in map(type, analysis.shape(node.inputs[0]) or ())


class _Wrong(Struct, frozen=True):
    """A node that onnx's shape inference is wrong about.

    Attributes:
        node: The node.
        hazard: The harm that may do.
        is_refused: Whether a node downstream is refused with the sizes, or the number of axes,
            that are inferred, wherever it is.
        inferred: The sizes that are inferred, where all are known.
    """

    node: Node
    hazard: Hazard
    is_refused: bool = False
    inferred: Inferred | None = None


class Misjudged:
    """The nodes of one graph that onnx's shape inference is wrong about, where that does harm.

    Where an If, Loop or Scan hands on their results, the runtime allocates these in the wrong
    shape, and stops. It also stops where a node downstream is refused with what it infers, as a
    Squeeze of an axis of 2, and where it puts a tensor in the place of one that it takes to be as
    large.
    """

    def __init__(
        self,
        context: Context,
        holders: Iterable[Call],
        captured: Callable[[], Iterator[Captured]],
        others: Mapping[int, Misjudged],
    ) -> None:
        """Looks for the nodes at the first question.

        Args:
            context: The graph.
            holders: The nodes that run the graph, a body or a function.
            captured: Returns what the graph reads of others.
            others: Those of all graphs, by the identity of the context.
        """
        self._context = context
        self._inside: list[tuple[Node, Misjudged]] = []
        for outer, node in holders:
            others[id(outer)]._inside.append((node, self))
        self._captured = captured
        self._others = others
        self._found: tuple[int, list[_Wrong]] | None = None

    def before(self) -> Iterator[tuple[Tensor, Hazard]]:
        """The tensors that these nodes read, each with what would happen."""
        for wrong in self._nodes():
            alike = self._alike(wrong)
            if alike or wrong.is_refused or self._is_handed_on(wrong.node):
                read = self._context.graph.sources(wrong.node)
                yield from ((each, wrong.hazard) for each in read if each.name)
            yield from ((tensor, wrong.hazard) for tensor in alike)
        owner = self._context.graph.owner
        for tensor, wrong in self._misdeclared() if owner is not None else ():
            if tensor.producer is not None:  # a body must give what it declares
                yield tensor, wrong.hazard

    def downstream(self) -> Iterator[tuple[Tensor, Hazard]]:
        """The results of `Pad`s downstream of these nodes, in whatever graph they are.

        Computed amounts hide the wrong size from a body that hands on such a result, and from a
        node that is refused with it.
        """
        for tensor, wrong in self._wrong().values():
            node = tensor.producer
            if node is None or node.op != "Pad":
                continue
            if wrong.is_refused or self._is_handed_on(node):
                yield tensor, wrong.hazard

    def names(self) -> Collection[str]:
        """The names of the tensors whose sizes follow from a wrong one."""
        return self._wrong().keys()

    def _alike(self, wrong: _Wrong) -> list[Tensor]:
        """The tensors that are as large as a result is inferred to be.

        The runtime may put one of them in its place.
        """
        if wrong.inferred is None:
            return []
        context = self._context
        outputs = (tensor for node in context.graph.nodes for tensor in node.outputs)
        return [each for each in outputs if context.analysis.shape(each) == wrong.inferred]

    def _wrong(self) -> dict[str, tuple[Tensor, _Wrong]]:
        """The tensors whose sizes follow from a wrong one, by name, each with its origin."""
        graph = self._context.graph
        pending = [(out, wrong) for wrong in self._nodes() for out in wrong.node.outputs]
        pending += self._misdeclared()
        outside: dict[int, dict[str, tuple[Tensor, _Wrong]]] = {}
        for context, theirs, ours in self._captured():
            other = id(context)
            if other not in outside:
                outside[other] = self._others[other]._wrong()
            if theirs.name in outside[other]:
                pending.append((ours, outside[other][theirs.name][1]))
        pending.sort(key=lambda each: each[1].is_refused)  # the worst is taken first
        found: dict[str, tuple[Tensor, _Wrong]] = {}
        while pending:
            tensor, wrong = pending.pop()
            if tensor.name and tensor.name not in found:
                found[tensor.name] = tensor, wrong
                pending += [(out, wrong) for use in graph.uses(tensor) for out in use.node.outputs]
        return found

    def _misdeclared(self) -> Iterator[tuple[Tensor, _Wrong]]:
        """Outputs, and a body's inputs, that are not known to have the shape they are declared in.

        The runtime believes that shape, as it believes shape inference.
        """
        graph = self._context.graph
        for tensor in _misdeclared(graph, self._context.analysis):
            node = tensor.producer or graph.owner
            if node is not None:
                does = f"take wrong sizes: {tensor.name!r} may not have the shape it is declared in"
                yield tensor, _Wrong(node, Hazard(node, Reason.SHAPE_REFUSED, does), graph.is_main)

    def _nodes(self) -> list[_Wrong]:
        """The nodes as the graph is now: a rewrite may spell out what inference is wrong about."""
        version, found = self._found or (-1, None)
        if found is None:
            found = list(self._find())
        elif found and version != self._context.graph.version:
            graph = self._context.graph
            left = {id(wrong.node) for wrong in found if wrong.node.alive}
            found = list(self._find([node for node in graph.nodes if id(node) in left]))
        self._found = self._context.graph.version, found
        return found

    def _find(self, among: Collection[Node] | None = None) -> Iterator[_Wrong]:
        """The nodes of the graph, or of these."""
        graph, analysis = self._context.graph, self._context.analysis
        for node, inner in self._inside:
            if among is None or node in among:
                found = [*inner._nodes(), *(wrong for _, wrong in inner._misdeclared())]
                if found or inner._context.closed:
                    refused = any(each.is_refused for each in found)
                    yield _Wrong(node, self._hazard(node), refused)
        known = {node for node, _ in self._inside}
        for node in graph.nodes if among is None else among:
            is_wrong = _may_lose_axes(graph, analysis, node)
            if is_wrong or (node not in known and _has_wrong_body(graph, analysis, node)):
                yield _Wrong(node, self._hazard(node), is_refused=True)
        for node in disputed(self._context):
            yield _Wrong(node, self._hazard(node))
        try:
            for each in disagreements(graph, analysis, among):
                sizes = None if None in each.inferred else each.inferred
                refused = len(each.inferred) != len(each.derived) or _is_refused(
                    graph, analysis, each
                )
                yield _Wrong(each.node, self._hazard(each.node), refused, sizes)
        except ModelError:
            return  # a constant is malformed, and whoever reads it says so

    def _is_handed_on(self, node: Node) -> bool:
        """Whether an If, Loop or Scan may hand on what a node computes."""
        graph = self._context.graph
        if not graph.is_main or not WITH_BODIES.isdisjoint(graph.inner_operators(node)):
            return True  # it is inside one, or may be, or has one inside
        below = downstream(node.outputs, lambda use: use.node.outputs, most=None)
        readers = (use.node for each in below if each is not None for use in graph.uses(each))
        return any(each.op in WITH_BODIES or graph.is_function(each) for each in readers)

    def _hazard(self, node: Node) -> Hazard:
        label = self._context.graph.label(node)
        does = f"take wrong sizes: onnx's shape inference is wrong about {node.op} {label!r}"
        return Hazard(node, Reason.SHAPE_REFUSED, does)
