"""Analyses a graph for ever fewer sizes, so that a proof can use the weakest assumptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from onnxpad.analysis import Analysis, open_axes
from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import MismatchError
from onnxpad.graph import Graph
from onnxpad.operators.table import operator_of
from onnxpad.records import dataclass
from onnxpad.sizes.domain import SizeDomain, in_words
from onnxpad.sizes.feasible import EVERYWHERE, Feasible, feasible_sizes

_ROUNDS: Final = 16


@dataclass(frozen=True, slots=True)
class AnalysedDomain:
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


def analysed_domains(graph: Graph, domain: SizeDomain | None = None) -> AnalysedDomains:
    """Analyses a graph at all sizes first, then at ever fewer, down to those of a domain.

    Each step comes once with all of its sizes, and once with only those at which the graph runs.

    Args:
        graph: The graph.
        domain: The sizes that the user allows; all without it.

    Returns:
        The steps, the weakest assumption first.

    Raises:
        MismatchError: The graph runs at none of the sizes that a user gave.
    """
    domain = domain or SizeDomain()
    wanted = bool(domain.declared) or _may_gain(graph)
    found = [*_steps(graph, SizeDomain(), wanted)]
    if domain.given:
        found += _steps(graph, replace(domain, by_name=False), wanted)
    if domain.by_name:
        found += _steps(graph, domain, wanted)
    stops = found[-1].feasible.stops
    if stops is not None and (domain.declared or domain.given):
        original = graph.pristine()
        runs = in_words(feasible_sizes(original, Analysis(original)).sizes)
        raise MismatchError(
            f"the model does not run at the sizes given: node {graph.label(stops)!r} "
            f"({stops.op}) stops there; give others{f', as {runs}' if runs else ''}"
        )
    return tuple(found)


def _steps(graph: Graph, domain: SizeDomain, wanted: bool) -> Iterator[AnalysedDomain]:
    """Yields a domain, then its feasible sizes, then those without too large axes in between."""
    whole = _analysed(graph, domain, wanted)
    yield whole
    runs = _narrowed(graph, whole, lambda feasible: feasible.sizes)
    if runs is not whole:
        yield runs
    short = _narrowed(graph, runs, lambda feasible: feasible.short)
    if short is not runs:
        yield replace(short, domain=replace(short.domain, short=True))


def _narrowed(
    graph: Graph, at: AnalysedDomain, which: Callable[[Feasible], Mapping[str, Sizes]]
) -> AnalysedDomain:
    """Narrows a domain to feasible sizes until that no longer shows more infeasible ones."""
    for _ in range(_ROUNDS):
        if not (needed := which(at.feasible)):
            break
        at = _analysed(graph, at.domain.narrowed(needed))
    return at


def _analysed(graph: Graph, domain: SizeDomain, wanted: bool = True) -> AnalysedDomain:
    analysis = Analysis(graph, domain.extents(graph))
    return AnalysedDomain(
        domain, analysis, feasible_sizes(graph, analysis) if wanted else EVERYWHERE
    )


def _may_gain(graph: Graph) -> bool:
    """Whether padding may depend on an open size other than the batch."""
    return any(axis.axis for axis in open_axes(graph.inputs)) and any(
        node.op == "Pad" or operator_of(graph, node) is not None or graph.runs_graphs(node)
        for node in graph.nodes
    )
