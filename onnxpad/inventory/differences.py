"""Finds window operators whose padding differs between two models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent, Size, Unknown
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, describe
from onnxpad.padding.reading import Site, SiteReader, added
from onnxpad.records import NamedTuple
from onnxpad.semantics.amounts import ExtentPairs, Pair, numbers_of
from onnxpad.semantics.operators import operator_named
from onnxpad.semantics.read_nodes import UnreadableError, read_transposed, read_window
from onnxpad.sizes.domain import SizeDomain, analysed_domains
from onnxpad.validation.result import PaddingDifference


class _Total(NamedTuple):
    """The total padding of a window operator.

    Attributes:
        site: The operator.
        amounts: (begin, end) per spatial axis, the same at every size where that is possible.
        shape: The shape of what it gives; empty if a size is unknown.
    """

    site: Site
    amounts: ExtentPairs
    shape: tuple[Extent, ...]

    @property
    def output(self) -> str:
        """The name of its output."""
        return self.site.node.outputs[0].name

    @property
    def op(self) -> str:
        """The type of the operator."""
        return str(self.site.node.op)

    @property
    def label(self) -> str:
        """The name of the operator in reports."""
        return f"{describe(self.site.node)} ({self.op})"

    @property
    def told(self) -> tuple[Pair, ...] | str:
        """The amounts if all are numbers; else as text, in ONNX order."""
        sides = [str(each) for side in zip(*self.amounts, strict=True) for each in side]
        return numbers_of(self.amounts) or f"[{', '.join(sides)}]"


def padding_differences(
    original: Graph, rewritten: Graph, domain: SizeDomain | None = None
) -> tuple[PaddingDifference, ...]:
    """The window operators whose total padding differs: their own and that of `Pad`s in front.

    How the padding is split between an operator and the `Pad`s in front of it makes no difference.
    Nor does padding that no window reads. What sizes differ because of another operator upstream is
    not held against an operator that is written alike.
    Operators are matched by the name of their output, else by order, provided that the remaining
    operators are the same in both models. Transposed convolutions are
    matched by the name of their output alone: what a Slice behind one cropped, the pads of another
    may crop.

    Args:
        original: The graph of the original.
        rewritten: The graph of the rewritten model.
        domain: The sizes that both are meant for; all where it is None.
    """
    dims = analysed_domains(original, domain)[-1].domain.extents(original)  # at which it runs
    ours, theirs = (list(_totals(each, Analysis(each, dims))) for each in (original, rewritten))
    return tuple(
        PaddingDifference(one.output, (one.label, other.label), (one.told, other.told), renamed)
        for one, other in _matched(ours, theirs)
        for renamed in ["" if one.output == other.output else other.output]
        if not (one.site.is_transposed and renamed) and not _is_same(one, other)
    )


def _totals(graph: Graph, analysis: Analysis) -> Iterator[_Total]:
    """The window operators whose total padding is known."""
    reader = SiteReader(graph, analysis)
    for node in graph.nodes:
        row = operator_named(graph, node)
        if row is None or not node.outputs:
            continue
        with suppress(ModelError, UnreadableError):
            read = read_transposed if row.scatters else read_window
            site = reader.of(read(graph, analysis, node))
            front = site.front.amounts
            amounts = site.own if site.is_transposed else added(site.in_effect, front)
            shape = tuple(analysis.shape(node.outputs[0]) or ())
            if amounts is not None:
                is_known = not any(isinstance(size, Unknown) for size in shape)
                yield _Total(site, amounts, shape if is_known else ())


def _matched(ours: Sequence[_Total], theirs: Sequence[_Total]) -> Iterator[tuple[_Total, _Total]]:
    """Pairs of matching operators, in the original's order."""
    rest = {(each.output, each.op): each for each in theirs}
    found = {one.output: rest.pop(key) for one in ours if (key := (one.output, one.op)) in rest}
    lone = [one for one in ours if one.output not in found]
    if [one.op for one in lone] == [other.op for other in rest.values()]:
        found |= zip((one.output for one in lone), rest.values(), strict=True)
    return ((one, found[one.output]) for one in ours if one.output in found)


def _is_same(one: _Total, other: _Total) -> bool:
    """Whether two totals are equal, or not known to differ."""
    before, after, site, now = one.amounts, other.amounts, one.site, other.site
    if before == after or len(before) != len(after):
        return True
    if site.written == now.written and site.front.amounts == now.front.amounts:
        return True
    starts = [[begin for begin, _ in pairs] for pairs in (before, after)]
    if one.shape and one.shape == other.shape and starts[0] == starts[1]:
        return True  # all windows start at the same places
    named = [_symbols(pairs) for pairs in (before, after)]
    return all(named) and named[0] != named[1]


def _symbols(pairs: ExtentPairs) -> set[object]:
    """The open sizes that amounts depend on."""
    return {
        name for pair in pairs for each in pair if isinstance(each, Size) for name in each.symbols
    }
