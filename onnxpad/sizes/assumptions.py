"""Proofs that take as little for granted as they can."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from onnxpad.analysis import LARGEST_SIZE, Analysis, open_axes
from onnxpad.arithmetic.size import Extent, Size, Symbol, symbol
from onnxpad.errors import MismatchError
from onnxpad.graph import Graph
from onnxpad.operators.table import operator_of
from onnxpad.sizes.admitted import EQUAL_NAMES, Admitted
from onnxpad.sizes.feasible import NONE, Limits, defined, listed

_ROUNDS: Final = 16

SHORT_AXES: Final = f"no axis is longer than {LARGEST_SIZE:,}"
"""An assumption: for longer axes, float32 makes other pads than an exporter means."""


@dataclass(frozen=True, slots=True)
class Premise:
    """What sizes may be taken for.

    Attributes:
        analysis: What is known of the graph then.
        dims: The extents of its open axes, by name of the symbol, where they are limited.
        sizes: The sizes that a certificate holds for, in words; empty where its own words do.
        assumptions: What a certificate names.
        limits: What the graph's operators ask of these sizes.
    """

    analysis: Analysis
    dims: Mapping[str, Extent]
    sizes: str = ""
    assumptions: tuple[str, ...] = ()
    limits: Limits = NONE


Premises: TypeAlias = tuple[Premise, ...]


def premises(graph: Graph, admitted: Admitted | None = None) -> Premises:
    """From nothing but the graph's inputs to all that is admitted.

    At each step also with the sizes left out at which the graph is not defined.

    Raises:
        MismatchError: It is defined at none of the sizes that a user gave.
    """
    admitted = admitted or Admitted()
    wanted = bool(admitted.declared) or _may_gain(graph)
    found = [*_premises(graph, {}, wanted)]
    if admitted.ranges:
        found += _premises(graph, admitted.dims, wanted, str(admitted))
    if admitted.trusted is not None:
        found += _premises(graph, admitted.trusted, wanted, str(admitted), (EQUAL_NAMES,))
    stops = found[-1].limits.stops
    if stops is not None and (admitted.declared or admitted.ranges):
        original = graph.pristine()
        runs = listed(defined(original, Analysis(original)))
        raise MismatchError(
            f"the model is not defined at the sizes given: node {graph.label(stops)!r} "
            f"({stops.op}) stops there; give others{f', as {runs}' if runs else ''}"
        )
    return tuple(found)


def _premises(
    graph: Graph,
    dims: Mapping[str, Extent],
    wanted: bool,
    sizes: str = "",
    assumptions: tuple[str, ...] = (),
) -> Iterator[Premise]:
    analysis = Analysis(graph, dims)
    limits = defined(graph, analysis) if wanted else NONE
    plain = Premise(analysis, dims, sizes, assumptions, limits)
    yield plain
    symbols: dict[str, Symbol] = {}
    narrow = _narrow(graph, plain, sizes, symbols, lambda limits: limits.symbols)
    if narrow is not plain:
        yield narrow
    short = _narrow(graph, narrow, sizes, symbols, lambda limits: limits.short)
    if short is not narrow:
        yield replace(short, assumptions=(*assumptions, SHORT_AXES))


def _narrow(
    graph: Graph,
    premise: Premise,
    sizes: str,
    symbols: dict[str, Symbol],
    which: Callable[[Limits], Mapping[str, Symbol]],
) -> Premise:
    """A premise with those sizes left out that its limits leave out, which go to `symbols`.

    With sizes left out more is known, and so more may be asked.
    """
    for _ in range(_ROUNDS):
        asked = which(premise.limits)
        if not asked:
            break
        symbols.update(asked)
        dims = {**premise.dims, **dict(_narrowed(graph, premise.dims, asked))}
        analysis = Analysis(graph, dims)
        told = f"every size at which the model is defined: {listed(Limits(symbols))}"
        told = f"{sizes}, {told}" if sizes else told
        premise = replace(
            premise, analysis=analysis, dims=dims, sizes=told, limits=defined(graph, analysis)
        )
    return premise


def ranges(graph: Graph, premise: Premise, given: Mapping[str, Extent]) -> dict[str, range]:
    """The sizes that limited open axes may have, by name of the dimension.

    They end where those given do: a lower end comes from what is large in between, which nobody
    means to run. A dimension whose axes are limited differently is left out.
    """
    found: dict[str, range | None] = {}
    for axis in open_axes(graph.inputs):
        sizes = _range(premise.dims.get(axis.symbol), given.get(axis.symbol))
        found[axis.label] = sizes if found.get(axis.label, sizes) == sizes else None
    return {name: sizes for name, sizes in found.items() if sizes is not None}


def _range(size: Extent | None, given: Extent | None) -> range | None:
    if isinstance(size, Size):
        (limit,) = size.symbols
        last = given.symbols[0].maximum if isinstance(given, Size) else LARGEST_SIZE
        return range(limit.minimum, last + 1, limit.step)
    return range(size, size + 1) if isinstance(size, int) else None


def _may_gain(graph: Graph) -> bool:
    """Whether padding may depend on an open size: all but a batch's."""
    return any(axis.axis for axis in open_axes(graph.inputs)) and any(
        node.op == "Pad" or operator_of(graph, node) is not None for node in graph.nodes
    )


def _narrowed(
    graph: Graph, dims: Mapping[str, Extent], limits: Mapping[str, Symbol]
) -> Iterator[tuple[str, Extent]]:
    """The extents of open axes whose symbols are limited."""
    for axis in open_axes(graph.inputs):
        known = dims.get(axis.symbol)
        name = known.symbols[0].name if isinstance(known, Size) else axis.symbol
        if name in limits:
            limit = limits[name]
            yield axis.symbol, symbol(name, limit.minimum, limit.maximum, limit.step)
