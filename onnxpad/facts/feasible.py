"""The open sizes at which a graph runs, and the domains of sizes that proofs are tried in.

Concat and broadcasting operators need axes that fit each other: a U-Net that halves its data,
doubles it and joins both runs only at even sizes. A window needs data that it fits in. A size at
which such an operator stops is infeasible, provided that every output of the graph needs it. A
graph is analysed for ever fewer sizes, so that a proof can use the weakest assumptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, islice, zip_longest

from msgspec import Struct, field
from msgspec.structs import replace

from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Sizes,
    equal,
    less_equal,
    maximum,
    minimum,
    solutions,
    symbol,
)
from onnxpad.errors import MismatchError, ModelError
from onnxpad.facts import LARGEST_SIZE, OPEN_SIZES, Analysis, OpenAxis, Shape, open_axes
from onnxpad.facts.shape_rules import BROADCASTING, Call
from onnxpad.finding import Assumption
from onnxpad.graph import Graph, Node
from onnxpad.semantics.moving import at_least
from onnxpad.semantics.operators import Operator, operator_of
from onnxpad.semantics.rows import UnreadError
from onnxpad.semantics.window import auto_pad_of

Conditions = Iterator[Extent]
"""Conditions on sizes: each is 1 where it holds and else 0, and varies with one symbol at most."""

_SIZES = 16
"""At most this many sizes that must fit each other are compared; the rest limits nothing."""


def feasible_sizes(graph: Graph, analysis: Analysis) -> tuple[dict[str, Sizes], Node | None]:
    """The open sizes at which all operators run that every output of the graph needs.

    That is the closest range around those of each symbol that is limited, by name; or a node that
    runs at none of the sizes.
    """
    conditions: dict[str, Extent] = {}
    seen: set[Extent] = set()
    for node in _needed(graph):
        for condition in conditions_of(node, graph, analysis):
            both = condition
            if isinstance(condition, Size) and condition not in seen:
                seen.add(condition)
                (varied,) = condition.symbols
                name = varied.name
                conditions[name] = both = minimum(conditions.get(name, 1), condition)
            if both == 0:
                return {}, node
    found = {name: solutions(each) for name, each in conditions.items() if isinstance(each, Size)}
    return {name: limit for name, limit in found.items() if limit is not None}, None


def _needed(graph: Graph) -> list[Node]:
    """The nodes that every output depends on, other than by a body."""
    needed: list[Node] = []
    reached = {name: 1 << index for index, name in enumerate(graph.outputs)}
    everything = (1 << len(graph.outputs)) - 1
    for node in reversed(list(graph.nodes)):
        outputs = 0
        for tensor in node.outputs:
            outputs |= reached.get(tensor.name, 0) if tensor.name else 0
        for tensor in node.inputs if outputs else ():
            reached[tensor.name] = reached.get(tensor.name, 0) | outputs
        if outputs == everything:
            needed.append(node)
    return needed


def _concatenated(call: Call) -> Conditions:
    shapes = call.shapes()
    axis = call.axis(len(shapes[0]), 1)
    if len({*map(len, shapes)}) > 1 or not all(at_least(each, 1) for each in chain(*shapes)):
        raise UnreadError("engines accept an empty tensor even where it does not fit")
    for place, sizes in enumerate(zip(*shapes, strict=True)):
        first, *others = dict.fromkeys(sizes)
        yield from (equal(first, other) for other in others if place != axis)


def _fitting(shapes: Sequence[Shape]) -> Conditions:
    """Conditions that shapes broadcast: on each axis all sizes other than 1 are equal."""
    for each in zip_longest(*map(reversed, shapes), fillvalue=1):
        sizes = dict.fromkeys(size for size in each if size != 1)
        for a, b in combinations(islice(sizes, _SIZES), 2):
            yield maximum(equal(a, b), maximum(equal(a, 1), equal(b, 1)))


def _windowed(call: Call, row: Operator) -> Conditions:
    """Conditions that a window operator runs.

    Conv needs room for a window; pools without one give an empty tensor. Pools and SAME need at
    least one element on each axis, except pools of an empty batch. A transposed convolution must
    give something on each axis.
    """
    layout, least = row.layout, 0 if row.pools else 1
    yield from (less_equal(least, size) for size in layout.spatial(call.result_shape() or ()))
    read = () if row.scatters else call.shape_of(0)
    is_same = auto_pad_of(call.node).startswith("SAME")
    if read and (at_least(read[layout.batch], 1) if row.pools else is_same):
        yield from (less_equal(1, size) for size in layout.spatial(read))


def conditions_of(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    """The conditions that an operator runs, as far as they are known."""
    row, call = operator_of(graph, node), Call(graph, analysis, node)
    try:
        if row is not None:
            yield from _windowed(call, row)
        elif call.op == "Concat":
            yield from _concatenated(call)
        elif call.op in BROADCASTING and call.version >= 7:
            yield from _fitting(call.shapes())
    except (ModelError, UnreadError):
        return


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
        """The sizes as a certificate names them, as `height 32..1024 in steps of 32`, if any."""
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
        """The sizes that dimensions may have in a run, by name, where all axes have one limit."""
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
    """Sizes that operators need in words, as `height from 4 on in steps of 4, width 3..9`."""
    return ", ".join(f"{name} {_text(sizes)}" for name, sizes in needed.items())


def _text(sizes: Sizes) -> str:
    if sizes.last + sizes.step <= LARGEST_SIZE:  # the operators exclude greater sizes
        return str(sizes)
    return f"from {sizes.first} on" + (f" in steps of {sizes.step}" if sizes.step > 1 else "")


class AnalysedDomain(Struct, frozen=True):
    """A domain of sizes, and the analysis of a graph for it."""

    domain: SizeDomain
    analysis: Analysis


AnalysedDomains = tuple[AnalysedDomain, ...]


def analysed_domains(
    graph: Graph, domain: SizeDomain | None = None, known: AnalysedDomains = ()
) -> AnalysedDomains:
    """Analyses a graph at all sizes first, then at ever fewer, down to those of a domain.

    Each step comes once with all of its sizes, and once with only those at which the graph runs;
    the weakest assumption first. Sizes that only an analysis at these would rule out limit nothing.
    Analyses of `known` domains are taken, as they still hold.

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

    def analysed(domain: SizeDomain) -> AnalysedDomain:
        same = (each for each in known if each.domain == domain)
        return next(same, None) or AnalysedDomain(domain, Analysis(graph, domain.extents(graph)))

    found: list[AnalysedDomain] = []
    stops: Node | None = None
    for each in map(analysed, allowed):
        found.append(each)
        sizes, stops = feasible_sizes(graph, each.analysis) if wanted else ({}, None)
        if sizes:
            found.append(analysed(replace(each.domain, needed={**each.domain.needed, **sizes})))
    if stops is not None and (domain.declared or domain.given):
        raise MismatchError(
            f"the model does not run at the sizes given: node {graph.label(stops)!r} "
            f"({stops.op}) stops there; give others"
        )
    return tuple(found)
