"""What is known of a graph at ever fewer sizes: proofs take as little for granted as they can."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from onnxpad.analysis import Analysis, open_axes
from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import MismatchError
from onnxpad.graph import Graph
from onnxpad.operators.table import operator_of
from onnxpad.sizes.domain import SizeDomain, in_words
from onnxpad.sizes.feasible import EVERYWHERE, Feasible, feasible_sizes

_ROUNDS: Final = 16


@dataclass(frozen=True, slots=True)
class AnalysedDomain:
    """A domain of sizes, and what is known of a graph at these.

    Attributes:
        domain: The sizes.
        analysis: What is known of the graph.
        feasible: At which of the sizes the graph runs.
    """

    domain: SizeDomain
    analysis: Analysis
    feasible: Feasible


AnalysedDomains: TypeAlias = tuple[AnalysedDomain, ...]


def analysed_domains(graph: Graph, domain: SizeDomain | None = None) -> AnalysedDomains:
    """From all sizes, with nothing taken for granted, to those of a domain.

    At each step also without the sizes at which the graph is not defined.

    Raises:
        MismatchError: It is defined at none of the sizes that a user gave.
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
            f"the model is not defined at the sizes given: node {graph.label(stops)!r} "
            f"({stops.op}) stops there; give others{f', as {runs}' if runs else ''}"
        )
    return tuple(found)


def _steps(graph: Graph, domain: SizeDomain, wanted: bool) -> Iterator[AnalysedDomain]:
    """A domain, and what is left of it step by step."""
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
    """What is left at feasible sizes; with others left out more is known, so more may be asked."""
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
    """Whether padding may depend on an open size: all but a batch's."""
    return any(axis.axis for axis in open_axes(graph.inputs)) and any(
        node.op == "Pad" or operator_of(graph, node) is not None for node in graph.nodes
    )
