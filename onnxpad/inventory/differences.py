"""Finds window operators whose padding differs between two models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from onnxpad.analysis import Analysis, open_axes
from onnxpad.arithmetic.notation import axis_names, pair_text
from onnxpad.arithmetic.size import Extent, Size, Unknown, always, equal, symbol
from onnxpad.arithmetic.window import pool_output_size
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, Node, describe
from onnxpad.messages import and_list
from onnxpad.padding.padding import Padding
from onnxpad.padding.reading import Site, SiteReader, added, own_padding
from onnxpad.records import NamedTuple
from onnxpad.semantics.amounts import ExtentPairs, Pair, Pairs, numbers_of, pairs_of
from onnxpad.semantics.operators import CHANNELS_FIRST, Layout, crops, operator_named, windowed
from onnxpad.semantics.read_nodes import UnreadableError, WindowOp, read_window
from onnxpad.semantics.window import integers, slide_of
from onnxpad.sizes.domain import SizeDomain, analysed_domains
from onnxpad.validation.result import PaddingDifference


class _Total(NamedTuple):
    """The total padding of a window operator.

    Attributes:
        node: The operator.
        site: The same with all that pads what it reads; None where it has no row or is not read.
        total: (begin, end) per spatial axis; None where unknown.
        windows: The number of windows per spatial axis; None where unknown.
        unread: Its `pads` as written, where it contradicts its schema; else empty.
    """

    node: Node
    site: Site | None
    total: ExtentPairs | None
    windows: tuple[Extent, ...] | None
    unread: tuple[Pair, ...] | str

    @property
    def output(self) -> str:
        """Its first output, by which operators are matched."""
        return self.node.outputs[0].name

    @property
    def label(self) -> str:
        """Its name in reports."""
        return f"{describe(self.node)} ({self.node.op})"

    @property
    def op(self) -> WindowOp | None:
        """How it slides; None where that is not known."""
        op = None if self.site is None else self.site.op
        return op if isinstance(op, WindowOp) else None

    @property
    def constant(self) -> ExtentPairs | None:
        """Constant amounts that read the same at every size; None where there are none."""
        site = self.site
        return self.total if site is None else added(site.constant, site.front.amounts)

    @property
    def divides(self) -> bool:
        """Whether where its padding ends decides what an average divides by."""
        return self.op is not None and self.op.ceil_mode and self.op.count_include_pad


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
    ours, theirs = (list(_totals(each, Analysis(each, dims))) for each in (original, rewritten))
    found = []
    for one, other in _matched(ours, theirs):
        if one.total is None:
            continue
        kept = one.output == other.output
        if other.total is None:
            if one.unread or not other.unread:
                continue
            now = other.unread
        # What a Slice behind one cropped, the pads of the other may crop.
        elif _is_same(one, other) or (crops(original, one.node) and not kept):
            continue
        else:
            now = _numbers(other.total)
        labels, totals = (one.label, other.label), (_numbers(one.total), now)
        words = _in_words(original, one.total), _in_words(rewritten, other.total)
        renamed = "" if kept else other.output
        found.append(PaddingDifference(one.output, labels, totals, renamed, words))
    return tuple(found)


def _matched(ours: Sequence[_Total], theirs: Sequence[_Total]) -> Iterator[tuple[_Total, _Total]]:
    """Pairs of matching operators, in the original's order."""
    found: dict[str, _Total] = {}
    rest = {site.output: site for site in theirs}
    for site in ours:
        if site.output in rest and rest[site.output].node.op == site.node.op:
            found[site.output] = rest.pop(site.output)
    named = {site.node.name: site for site in rest.values() if site.node.name}
    for site in ours:
        other = named.get(site.node.name)
        if site.output not in found and other is not None and other.node.op == site.node.op:
            found[site.output] = rest.pop(named.pop(site.node.name).output)
    lone = [site for site in ours if site.output not in found]
    if [site.node.op for site in lone] == [site.node.op for site in rest.values()]:
        found |= {site.output: other for site, other in zip(lone, rest.values(), strict=True)}
    for site in ours:
        if site.output in found:
            yield site, found[site.output]


def _is_same(one: _Total, other: _Total) -> bool:
    """Whether two totals are equal, or not known to differ, at the sizes of the first one."""
    if one.total is None or other.total is None or len(one.total) != len(other.total):
        return True
    if one.total == other.total or (one.constant is not None and one.constant == other.constant):
        return True
    if one.op is not None and other.op is not None:
        own = [(op.auto_pad, op.pads) for op in (one.op, other.op)]
        if _has_sizes(one.site) and not _has_sizes(other.site) and own[0] == own[1]:
            # Another operator upstream broke the sizes here, and with them what is known of `Pad`s.
            return True
    total, windows = _at(other, one.site)
    pairs = list(zip(one.total, total, strict=True))
    begins_alike = all(before == after for (before, _), (after, _) in pairs)
    divided = one.divides and other.divides  # by where the pads end
    if begins_alike and not divided and windows is not None and one.windows == windows:
        return True  # all windows start at the same places
    return all(_may_be_same(*ends) for pair in pairs for ends in zip(*pair, strict=True))


def _at(each: _Total, other: Site | None) -> tuple[ExtentPairs, tuple[Extent, ...] | None]:
    """The total padding of an operator and its windows, over data of the sizes of another site."""
    op, site = each.op, each.site
    assert each.total is not None
    if op is None or site is None or other is None or not _has_sizes(other):
        return each.total, each.windows
    front = site.front.amounts
    assert front is not None
    pairs = zip(other.source_sizes, front, strict=True)
    data = tuple(size + begin + end for size, (begin, end) in pairs)
    own, _ = own_padding(op, data)
    total = added(own, front)
    if own is None or total is None:
        return each.total, each.windows
    return total, tuple(
        pool_output_size(size, window, begin, end, ceil_mode=op.ceil_mode)
        for size, window, (begin, end) in zip(data, op.windows, own, strict=True)
    )


def _has_sizes(site: Site | None) -> bool:
    """Whether the sizes of what is padded are known, as numbers or formulas."""
    return site is not None and not any(isinstance(size, Unknown) for size in site.source_sizes)


def _may_be_same(before: Extent, after: Extent) -> bool:
    same = always(equal(before, after))
    if same is None:  # they differ at some sizes, if both depend on the same symbols
        sides = [side for side in (before, after) if isinstance(side, Size)]
        if any(side.kinds for side in sides):
            return True
        return len(sides) == 2 and sides[0].symbols != sides[1].symbols
    return same


def _totals(graph: Graph, analysis: Analysis) -> Iterator[_Total]:
    sites = SiteReader(graph, analysis)
    for node in graph.nodes:
        row = operator_named(graph, node)
        if row is not None and row.scatters:
            row = None  # its pads are compared as written: a Slice downstream may be a part of them
        if not node.outputs or not node.inputs or not (row or windowed(graph, node)):
            continue
        layout = CHANNELS_FIRST if row is None else row.layout
        windows = None if row is None else _windows(analysis, node, layout)
        site = total = None
        unread: tuple[Pair, ...] | str = ""
        try:
            if graph.contradiction(node):
                raise UnreadableError("it contradicts its schema")
            if row is not None:
                site = sites.of(read_window(graph, analysis, node))
                total = site.total
            else:
                own = _written(analysis, node, layout)
                around = own and sites.front(node.inputs[0], layout.rank(len(own))).amounts
                total = added(own, around and layout.spatial(around))
        except (ModelError, UnreadableError):
            unread = _unread(node.attrs.get("pads", ""))
        yield _Total(node, site, total, windows, unread)


def _windows(analysis: Analysis, node: Node, layout: Layout) -> tuple[Extent, ...] | None:
    """The number of windows of an operator on each axis; None where unknown."""
    shape = analysis.shape(node.outputs[0])
    if shape is None or any(isinstance(size, Unknown) for size in shape):
        return None
    return layout.spatial(shape)


def _written(analysis: Analysis, node: Node, layout: Layout) -> Pairs | None:
    """The `pads` of an operator without a row, as written, less what it appends; None with SAME."""
    shape, pads = analysis.shape(node.inputs[0]), node.attrs.get("pads")
    sizes = layout.spatial(shape or ())
    count = len(pads) // 2 if isinstance(pads, list) else len(sizes)
    slide = slide_of(node, (symbol("?"),) * count)
    if not count or slide.auto_pad.startswith("SAME") or "output_shape" in node.attrs:
        return None
    appended = integers(node, "output_padding", count) or (0,) * count
    pads = slide.pads if slide.auto_pad == "NOTSET" else ((0, 0),) * count
    return Padding(pads, output_padding=tuple(appended)).crop


def _unread(pads: Any) -> tuple[Pair, ...] | str:
    """`pads` as written: (begin, end) for each axis if they are an even number of integers."""
    is_list = isinstance(pads, list) and pads and all(type(each) is int for each in pads)
    return pairs_of(pads) if is_list and len(pads) % 2 == 0 else str(pads)


def _in_words(graph: Graph, pairs: ExtentPairs | None) -> str:
    """Amounts by axis, and which sizes of inputs they depend on; empty where they are numbers."""
    if pairs is None or numbers_of(pairs) is not None:
        return ""
    by_axis = zip(axis_names(len(pairs)), map(pair_text, pairs), strict=True)
    amounts = (amount for pair in pairs for amount in pair if isinstance(amount, Size))
    symbols = {each.name for amount in amounts for each in amount.symbols}
    axes = [each for each in open_axes(graph.model.main.inputs) if each.symbol in symbols]
    sources = and_list(
        f"{each.symbol} is axis {each.axis} of input {each.tensor!r}" for each in axes
    )
    return ", ".join(map(" ".join, by_axis)) + (f" ({sources})" if sources else "")


def _numbers(pairs: ExtentPairs) -> tuple[Pair, ...] | str:
    """The amounts if all are numbers; else as text, in ONNX order."""
    amounts = [begin for begin, _ in pairs] + [end for _, end in pairs]
    numbers = numbers_of(pairs)
    return f"[{', '.join(map(str, amounts))}]" if numbers is None else numbers
