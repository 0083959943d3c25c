"""Finds window operators whose padding differs between two models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent, Size, Unknown, always, equal
from onnxpad.arithmetic.window import pool_output_size
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, describe
from onnxpad.padding.reading import Site, SiteReader, added, own_padding
from onnxpad.semantics.amounts import ExtentPairs, Pair, numbers_of
from onnxpad.semantics.operators import operator_named
from onnxpad.semantics.read_nodes import (
    UnreadableError,
    WindowOp,
    read_transposed,
    read_window,
)
from onnxpad.sizes.domain import SizeDomain, analysed_domains
from onnxpad.validation.result import PaddingDifference


def padding_differences(
    original: Graph, rewritten: Graph, domain: SizeDomain | None = None
) -> tuple[PaddingDifference, ...]:
    """The window operators whose total padding differs: their own and that of `Pad`s in front.

    How the padding is split between an operator and the `Pad`s in front of it makes no difference.
    Nor does padding that no window reads. What sizes differ because of another operator upstream is
    not held against an operator: both are judged at the sizes of the original.
    Operators are matched by the name of their output, else by the name of the node, else by order,
    provided that the remaining operators are the same in both models. Transposed convolutions are
    matched by the name of their output alone.

    Args:
        original: The graph of the original.
        rewritten: The graph of the rewritten model.
        domain: The sizes that both are meant for; all where it is None.
    """
    dims = analysed_domains(original, domain)[-1].domain.extents(original)  # at which it runs
    ours, theirs = (list(_sites(each, Analysis(each, dims))) for each in (original, rewritten))
    found = []
    for one, other in _matched(ours, theirs):
        before, after, renamed = _total(one), _total(other), ""
        if before is None or after is None or before == after:
            continue
        if _output(one) != _output(other):
            renamed = _output(other)
        # What a Slice behind one cropped, the pads of the other may crop.
        if (one.is_transposed and renamed) or _is_same(one, other):
            continue
        labels, totals = (_label(one), _label(other)), (_told(before), _told(after))
        found.append(PaddingDifference(_output(one), labels, totals, renamed))
    return tuple(found)


def _sites(graph: Graph, analysis: Analysis) -> Iterator[Site]:
    """The window operators that can be read."""
    reader = SiteReader(graph, analysis)
    for node in graph.nodes:
        row = operator_named(graph, node)
        if row is not None and node.outputs:
            with suppress(ModelError, UnreadableError):
                read = read_transposed if row.scatters else read_window
                yield reader.of(read(graph, analysis, node))


def _output(site: Site) -> str:
    return site.node.outputs[0].name


def _label(site: Site) -> str:
    return f"{describe(site.node)} ({site.node.op})"


_BY: Final[Sequence[Callable[[Site], str]]] = (_output, lambda site: site.node.name)
"""The names by which operators are matched, the surest first."""


def _matched(ours: Sequence[Site], theirs: Sequence[Site]) -> Iterator[tuple[Site, Site]]:
    """Pairs of matching operators, in the original's order."""
    found: dict[Site, Site] = {}
    rest = [*theirs]
    for name in _BY:
        known = {name(site): site for site in rest if name(site)}
        for site in ours:
            other = known.get(name(site))
            if other in rest and site not in found and other.node.op == site.node.op:
                found[site] = other
                rest.remove(other)
    lone = [site for site in ours if site not in found]
    if [site.node.op for site in lone] == [site.node.op for site in rest]:
        found |= zip(lone, rest, strict=True)
    return ((site, found[site]) for site in ours if site in found)


def _total(site: Site) -> ExtentPairs | None:
    """All padding of an operator, the same at every size where that is possible."""
    return site.own if site.is_transposed else added(site.in_effect, site.front.amounts)


def _is_same(one: Site, other: Site) -> bool:
    """Whether two totals are not known to differ at the sizes of the first one."""
    (before, starts), (after, others) = (_at(each, one.source_sizes) for each in (one, other))
    if before is None or after is None or len(before) != len(after):
        return True
    begins = ([begin for begin, _ in pairs] for pairs in (before, after))
    if starts and starts == others and next(begins) == next(begins):
        return True  # all windows start at the same places
    pairs = zip(before, after, strict=True)
    return all(_may_be_same(*ends) for pair in pairs for ends in zip(*pair, strict=True))


def _at(site: Site, sizes: Sequence[Extent]) -> tuple[ExtentPairs | None, tuple[Extent, ...]]:
    """The total of an operator and its windows over data of some sizes; no windows if unknown."""
    op, front = site.op, site.front.amounts
    if not isinstance(op, WindowOp) or front is None or len(front) != len(sizes):
        return _total(site), ()
    pairs = zip(sizes, front, strict=True)
    data = tuple(size + begin + end for size, (begin, end) in pairs)
    own, _ = own_padding(op, data)
    if own is None or any(isinstance(size, Unknown) for size in data):
        return _total(site), ()
    each = zip(data, op.windows, own, strict=True)
    return added(own, front), tuple(
        pool_output_size(size, window, begin, end, ceil_mode=op.ceil_mode)
        for size, window, (begin, end) in each
    )


def _may_be_same(before: Extent, after: Extent) -> bool:
    same = always(equal(before, after))
    if same is not None:
        return same
    # They differ at some sizes, if both depend on the same symbols.
    sides = [side for side in (before, after) if isinstance(side, Size)]
    is_other = len(sides) == 2 and sides[0].symbols != sides[1].symbols
    return is_other or any(side.kinds for side in sides)


def _told(pairs: ExtentPairs) -> tuple[Pair, ...] | str:
    """The amounts if all are numbers; else as text, in ONNX order."""
    amounts = [begin for begin, _ in pairs] + [end for _, end in pairs]
    numbers = numbers_of(pairs)
    return f"[{', '.join(map(str, amounts))}]" if numbers is None else numbers
