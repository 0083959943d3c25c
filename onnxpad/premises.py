"""Proofs that take as little for granted as they can.

May import: admitted, certify, defined, errors, finding, graph, operators, signs, size, values.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

from onnxpad.admitted import EQUAL_NAMES, Admitted
from onnxpad.certify import Certifier, Reading, UncertifiedError
from onnxpad.defined import NONE, Limits, defined, listed
from onnxpad.errors import MismatchError
from onnxpad.finding import Certificate
from onnxpad.graph import Graph
from onnxpad.operators import operator_of
from onnxpad.signs import Signs
from onnxpad.size import Extent, Size, Symbol, symbol
from onnxpad.values import LARGEST_SIZE, Analysis, open_axes

Tensor: TypeAlias = Any

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


class Readings(NamedTuple):
    """What a tensor's elements are made of, under each premise; None where that is not known."""

    each: tuple[Reading | None, ...]
    root: str


class Prover:
    """Certifies under the first of the premises that suffices."""

    def __init__(self, graph: Graph, premises: Premises, signs: Signs) -> None:
        """Reads the graph as it is at each call; the last premise is what passes decide by."""
        self._premises = premises
        self._certifiers = [Certifier(graph, each.analysis, signs) for each in premises]

    def window(self, tensor: Tensor, root: str = "") -> Readings:
        """What the elements of a window operator's first output are made of, back to `root`.

        Raises:
            UncertifiedError: Its producer is no such operator, or cannot be read.
        """
        return self._read(lambda certifier: certifier.window(tensor, root))

    def padding(self, tensor: Tensor, root: str = "") -> Readings:
        """What the elements of a tensor are made of, through the `Pad`s behind it, back to `root`.

        Raises:
            UncertifiedError: One of them says something that cannot be read.
        """
        return self._read(lambda certifier: certifier.padding(tensor, root))

    def _read(self, read: Callable[[Certifier], Reading]) -> Readings:
        *weaker, last = self._certifiers
        found: list[Reading | None] = []
        for certifier in weaker:
            try:
                found.append(read(certifier))
            except UncertifiedError:
                found.append(None)
        reading = read(last)
        return Readings((*found, reading), reading.root)

    def certify(self, before: Readings, after: Readings) -> Certificate:
        """Why two tensors are the same, on as little as it takes.

        Raises:
            UncertifiedError: They differ, or could not be compared; the message says how.
        """
        failure = UncertifiedError("nothing is known of it")
        for premise, certifier, old, new in zip(
            self._premises, self._certifiers, before.each, after.each, strict=True
        ):
            if old is None or new is None:
                continue
            try:
                certificate = certifier.certify(old, new)
            except UncertifiedError as error:
                failure = error
                continue
            if not premise.sizes and not premise.assumptions:
                return certificate
            return replace(
                certificate,
                sizes=premise.sizes or certificate.sizes,
                assumptions=(*certificate.assumptions, *premise.assumptions),
            )
        raise failure
