"""Finds window operators whose padding differs between two models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from onnxpad.arithmetic.size import Size
from onnxpad.facts.domain import SizeDomain
from onnxpad.graph import Graph
from onnxpad.inventory.collect import sites_in
from onnxpad.inventory.padding_site import AxisPadding, PaddingSite
from onnxpad.rewrite.context import Context
from onnxpad.semantics.amounts import Pairs, pairs_of
from onnxpad.validation.result import PaddingDifference


def padding_differences(
    original: Graph, rewritten: Graph, domain: SizeDomain | None = None
) -> tuple[PaddingDifference, ...]:
    """The window operators whose total padding differs: their own and that of `Pad`s in front.

    How the padding is split between an operator and the `Pad`s in front of it makes no difference.
    Nor does padding that no window reads. What sizes differ because of another operator upstream is
    not held against an operator that is written alike.
    Operators are matched by the name of their output, else by order, provided that the remaining
    operators are the same in both models. Transposed convolutions are matched by the name of their
    output alone.

    Args:
        original: The graph of the original.
        rewritten: The graph of the rewritten model.
        domain: The sizes that both are meant for; all where it is None.
    """
    ours, theirs = (
        [site for site in sites_in([Context(graph, domain=domain)]) if _is_known(site)]
        for graph in (original, rewritten)
    )
    found = []
    for one, other in _matched(ours, theirs):
        name, now = one.tensors[0], other.tensors[0]
        if not _is_same(one, other) and (name == now or one.kind != "transposed"):
            labels = f"{one.node} ({one.op_type})", f"{other.node} ({other.op_type})"
            renamed = now if name != now else ""
            found.append(PaddingDifference(name, labels, (_total(one), _total(other)), renamed))
    return tuple(found)


def _is_known(site: PaddingSite) -> bool:
    """Whether a site is one of a window operator of the main graph whose total is known."""
    is_told = site.kind == "malformed" or (bool(site.windows) and "?" not in site.amounts)
    return is_told and not site.scope


def _total(site: PaddingSite) -> Pairs | str:
    """The amounts if all are numbers; else in words."""
    return pairs_of(site.pads) if site.pads is not None else site.amounts or site.written


def _matched(
    ours: Sequence[PaddingSite], theirs: Sequence[PaddingSite]
) -> Iterator[tuple[PaddingSite, PaddingSite]]:
    """Pairs of matching operators, in the original's order."""
    rest = {(each.tensors[0], each.op_type): each for each in theirs}
    others = [rest.pop((one.tensors[0], one.op_type), None) for one in ours]
    lone = [one.op_type for one, other in zip(ours, others, strict=True) if other is None]
    by_order = iter(rest.values() if lone == [op for _, op in rest] else ())
    for one, other in zip(ours, others, strict=True):
        if match := other or next(by_order, None):
            yield one, match


def _is_same(one: PaddingSite, other: PaddingSite) -> bool:
    """Whether two totals are equal, or not known to differ."""
    sites = one, other
    if any(each.kind == "malformed" for each in sites):
        return one.kind == other.kind
    written = [(each.auto_pad, each.windows, [pad.pads for pad in each.outer]) for each in sites]
    if one.auto_pad and written[0] == written[1]:
        return True  # what differs is the size
    slides = one.kind == "window" and not (one.ceil_mode or other.ceil_mode)
    return all(_reads_alike(*axes, slides) for axes in zip(one.axes, other.axes, strict=False))


def _reads_alike(one: AxisPadding, other: AxisPadding, slides: bool) -> bool:
    """Whether the same is read along an axis of the size of the first one, as far as is known."""
    there = replace(other, extent=one.extent)
    if slides and one.pair[0] == other.pair[0] and one.count == there.count:
        return True  # all windows start at the same places
    pairs = zip(one.pair, other.pair, strict=True)
    return all(a == b or (isinstance(a, Size) and isinstance(b, Size)) for a, b in pairs)
