"""The sizes that the open axes of a model's inputs may have, and the graph analysed at these.

A graph is analysed for ever fewer sizes, so that a proof can use the weakest assumptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent, Sizes, symbol
from onnxpad.errors import MismatchError
from onnxpad.facts import LARGEST_SIZE, OPEN_SIZES, Analysis, OpenAxis, open_axes
from onnxpad.facts.feasible import EVERYWHERE, Feasible, feasible_sizes
from onnxpad.finding import Assumption
from onnxpad.graph import Graph

_ROUNDS: Final = 16


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
        feasible: The sizes among them at which the graph runs.
    """

    domain: SizeDomain
    analysis: Analysis
    feasible: Feasible


AnalysedDomains: TypeAlias = tuple[AnalysedDomain, ...]
_Analyse: TypeAlias = Callable[[SizeDomain], AnalysedDomain]


def analysed_domains(
    graph: Graph, domain: SizeDomain | None = None, known: AnalysedDomains = ()
) -> AnalysedDomains:
    """Analyses a graph at all sizes first, then at ever fewer, down to those of a domain.

    Each step comes once with all of its sizes, and once with only those at which the graph runs.

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

    def analyse(domain: SizeDomain) -> AnalysedDomain:
        same = (each.analysis for each in known if each.domain == domain)
        analysis = next(same, None) or Analysis(graph, domain.extents(graph))
        feasible = feasible_sizes(graph, analysis) if wanted else EVERYWHERE
        return AnalysedDomain(domain, analysis, feasible)

    found = [step for each in allowed for step in _steps(analyse, each)]
    stops = found[-1].feasible.stops
    if stops is not None and (domain.declared or domain.given):
        original = graph.pristine()
        runs = in_words(feasible_sizes(original, Analysis(original)).sizes)
        raise MismatchError(
            f"the model does not run at the sizes given: node {graph.label(stops)!r} "
            f"({stops.op}) stops there; give others{f', as {runs}' if runs else ''}"
        )
    return tuple(found)


def _steps(analyse: _Analyse, domain: SizeDomain) -> Iterator[AnalysedDomain]:
    """Yields a domain, then its feasible sizes, until these show no more infeasible ones."""
    at = whole = analyse(domain)
    yield whole
    for _ in range(_ROUNDS):
        if not (needed := at.feasible.sizes):
            break
        at = analyse(replace(at.domain, needed={**at.domain.needed, **needed}))
    if at is not whole:
        yield at
