"""The open sizes at which a graph runs, and the domains of sizes that proofs are tried in.

Concat, Reshape and broadcasting operators need axes that fit each other: a U-Net that halves its
data, doubles it and joins both runs only at even sizes. A window needs data that it fits in. A size
at which such an operator stops is infeasible, provided that every output of the graph needs it. A
graph is analysed for ever fewer sizes, so that a proof can use the weakest assumptions.

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
from msgspec.structs import replace
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
    symbol,
)
from onnxpad.errors import MismatchError, ModelError, let_through
from onnxpad.facts import (
    BROADCASTING,
    LARGEST_SIZE,
    OPEN_SIZES,
    Analysis,
    OpenAxis,
    Shape,
    is_constant,
    open_axes,
)
from onnxpad.facts.reshaping import at_least, product
from onnxpad.facts.rule_api import FLOAT, Call
from onnxpad.finding import Assumption
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


class SizeDomain(Struct, frozen=True):
    """The sizes that the open axes of a model's inputs may have.

    Attributes:
        declared: The shapes of inputs in which a user fixed sizes, by name; the graph declares
            them too.
        given: The sizes that a user gave for dimensions that stay open, by name.
        needed: The sizes at which the model's operators run, by name of the symbol.
        by_name: Whether axes whose dimensions share a name share one size, and so one symbol.
        shaped: The inputs of which the user gave a shape, by name.
        named: The dimensions of which the user gave a size or a range, by name.
    """

    declared: Mapping[str, tuple[int | str | None, ...]] = field(default_factory=dict)
    given: Mapping[str, Sizes] = field(default_factory=dict)
    needed: Mapping[str, Sizes] = field(default_factory=dict)
    by_name: bool = False
    shaped: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """The sizes as a certificate names them, as `height 32..1024 in steps of 32, width 1..64`.

        Empty where every size is allowed.
        """
        parts = [f"{name} {sizes}" for name, sizes in self.given.items()]
        if self.needed:
            parts.append(f"every size at which the model is defined: {in_words(self.needed)}")
        return ", ".join(parts)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """The assumptions that this domain makes."""
        return (Assumption.EQUAL_NAMES,) if self.by_name else ()

    def facts(self, graph: Graph) -> dict[str, dict[str, object]]:
        """The limited sizes of a graph's open axes as data, by symbol; as `Sizes.as_data`."""
        return {name: sizes.as_data() for _, name, sizes in self._axes(graph) if sizes is not None}

    def extents(self, graph: Graph) -> dict[str, Extent]:
        """The sizes of a graph's open axes, by name of the symbol, for all that are limited."""
        found: dict[str, Extent] = {}
        for axis, name, sizes in self._axes(graph):
            if sizes is not None or self.by_name:
                found[axis.symbol] = symbol(name, sizes or OPEN_SIZES)
        return found

    def to_draw(self, graph: Graph) -> dict[str, Sizes]:
        """The sizes that limited dimensions may have in a run of the model, by name.

        A dimension whose axes have different limits is left out.
        """
        found: dict[str, Sizes | None] = {}
        for axis, _, sizes in self._axes(graph):
            found[axis.label] = sizes if found.get(axis.label, sizes) == sizes else None
        return {name: sizes for name, sizes in found.items() if sizes is not None}

    def _axes(self, graph: Graph) -> Iterator[tuple[OpenAxis, str, Sizes | None]]:
        """The open axes, the name of the symbol of each, and its sizes where they are limited."""
        for axis in open_axes(graph.model.main.inputs):
            name = axis.label if self.by_name else axis.symbol
            yield axis, name, self.needed.get(name, self.given.get(axis.label))


def in_words(needed: Mapping[str, Sizes]) -> str:
    """Sizes that operators need in words, as `height a multiple of 4, width from 3 on`."""
    return ", ".join(f"{name} {_text(sizes)}" for name, sizes in needed.items())


def _text(sizes: Sizes) -> str:
    first, last, step = sizes.first, sizes.last, sizes.step
    if first == last:
        return str(first)
    is_limited = last + step <= LARGEST_SIZE  # the operators exclude greater sizes
    if first == step > 1:
        return f"a multiple of {step}{f' up to {last}' if is_limited else ''}"
    steps = f" in steps of {step}" if step > 1 else ""
    return f"from {first} {f'to {last}' if is_limited else 'on'}{steps}"


class AnalysedDomain(Struct, frozen=True):
    """A domain of sizes with the analysis of a graph for it.

    Attributes:
        domain: The sizes.
        analysis: The analysis of the graph at these sizes.
    """

    domain: SizeDomain
    analysis: Analysis


AnalysedDomains: TypeAlias = tuple[AnalysedDomain, ...]


def analysed_domains(
    graph: Graph, domain: SizeDomain | None = None, known: AnalysedDomains = ()
) -> AnalysedDomains:
    """Analyses a graph at all sizes first, then at ever fewer, down to those of a domain.

    Each step comes once with all of its sizes, and once with only those at which the graph runs.
    Sizes that only an analysis at these would rule out limit nothing.

    Args:
        graph: The graph.
        domain: The sizes that the user allows; all without it.
        known: Domains of the same graph whose analyses still hold.

    Returns:
        The steps, the weakest assumption first.

    Raises:
        MismatchError: The graph runs at none of the sizes that a user gave.
    """
    domain = domain or SizeDomain()
    wanted = bool(domain.declared) or any(axis.axis for axis in open_axes(graph.inputs))
    allowed = [SizeDomain()]
    if domain.given:
        allowed.append(replace(domain, by_name=False))
    if domain.by_name:
        allowed.append(domain)

    def analyse(domain: SizeDomain) -> Analysis:
        same = (each.analysis for each in known if each.domain == domain)
        return next(same, None) or Analysis(graph, domain.extents(graph))

    found = []
    for each in allowed:
        analysis = analyse(each)
        found.append(AnalysedDomain(each, analysis))
        feasible = feasible_sizes(graph, analysis) if wanted else EVERYWHERE
        if feasible.sizes:
            runs = replace(each, needed={**each.needed, **feasible.sizes})
            found.append(AnalysedDomain(runs, analyse(runs)))
    stops = feasible.stops
    if stops is not None and (domain.declared or domain.given):
        original = graph.pristine()
        sizes = in_words(feasible_sizes(original, Analysis(original)).sizes)
        raise MismatchError(
            f"the model does not run at the sizes given: node {graph.label(stops)!r} "
            f"({stops.op}) stops there; give others{f', as {sizes}' if sizes else ''}"
        )
    return tuple(found)
