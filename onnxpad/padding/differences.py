"""Finds window operators whose padding differs between two models."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent, Size, Unknown, always, equal, symbol
from onnxpad.arithmetic.window import (
    constant_in_effect,
    odd_side,
    pool_output_size,
    same_pads,
)
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, Node
from onnxpad.operators.read import (
    UnreadableError,
    WindowOp,
    integers_of,
    pad_giving,
    read_slide,
    read_window,
)
from onnxpad.operators.table import (
    CHANNELS_FIRST,
    Direction,
    Layout,
    operator_named,
    operator_of,
    uncovered,
)
from onnxpad.padding.sinking import Sinking
from onnxpad.records import dataclass
from onnxpad.sizes.analysed import analysed_domains
from onnxpad.sizes.domain import SizeDomain
from onnxpad.validation.result import PaddingDifference

Pairs: TypeAlias = tuple[tuple[Extent, Extent], ...]

_THROUGH = frozenset({"Identity", "Dropout"})  # operators that pass padding on unchanged


@dataclass(frozen=True, slots=True)
class _Site:
    """A window operator with its total padding.

    Attributes:
        output: Its first output.
        node: Its name.
        label: Its name in reports.
        op_type: Its operator.
        op: How it slides; None where it has no row or cannot be read.
        front: (begin, end) per spatial axis of the `Pad`s in front; None where unknown.
        total: The same with its own; None where unknown.
        effect: Constant amounts that read the same at every size; None where there are none.
        sizes: The sizes of its data without any padding; None where unknown.
        windows: The number of windows per spatial axis; None where unknown.
        crops: Whether it is a transposed convolution, whose pads crop its output.
        unread: Its `pads` as written, where it contradicts its schema; else empty.
    """

    output: str
    node: str
    label: str
    op_type: str
    op: WindowOp | None
    front: Pairs | None
    total: Pairs | None
    effect: Pairs | None
    sizes: tuple[Extent, ...] | None
    windows: tuple[Extent, ...] | None
    crops: bool
    unread: str


def padding_differences(
    original: Graph,
    rewritten: Graph,
    outputs: Mapping[str, str] | None = None,
    domain: SizeDomain | None = None,
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
        outputs: The rewritten model's names of the original's graph outputs, where they differ.
        domain: The sizes that both are meant for; all where it is None.
    """
    dims = analysed_domains(original, domain)[-1].domain.extents(original)  # at which it runs
    ours, theirs = (list(_sites(each, Analysis(each, dims))) for each in (original, rewritten))
    found = []
    for one, other in _matched(ours, theirs, outputs or {}):
        if one.total is None:
            continue
        kept = (outputs or {}).get(one.output, one.output) == other.output
        if other.total is None:
            if one.unread or not other.unread:
                continue
            pads = _told(one.total), other.unread
        # What a Slice behind one cropped, the pads of the other may crop.
        elif _is_same(one, other) or (one.crops and not kept):
            continue
        else:
            pads = _told(one.total), _told(other.total)
        labels = one.label, other.label
        found.append(PaddingDifference(one.output, labels, pads, "" if kept else other.output))
    return tuple(found)


def _matched(
    ours: Sequence[_Site], theirs: Sequence[_Site], outputs: Mapping[str, str]
) -> Iterator[tuple[_Site, _Site]]:
    """Pairs of matching operators, in the original's order."""
    found: dict[str, _Site] = {}
    rest = {site.output: site for site in theirs}
    for site in ours:
        name = outputs.get(site.output, site.output)
        if name in rest and rest[name].op_type == site.op_type:
            found[site.output] = rest.pop(name)
    named = {site.node: site for site in rest.values() if site.node}
    for site in ours:
        other = named.get(site.node)
        if site.output not in found and other is not None and other.op_type == site.op_type:
            found[site.output] = rest.pop(named.pop(site.node).output)
    lone = [site for site in ours if site.output not in found]
    if [site.op_type for site in lone] == [site.op_type for site in rest.values()]:
        found |= {site.output: other for site, other in zip(lone, rest.values(), strict=True)}
    for site in ours:
        if site.output in found:
            yield site, found[site.output]


def _is_same(one: _Site, other: _Site) -> bool:
    """Whether two totals are equal, or not known to differ, at the sizes of the first one."""
    if one.total is None or other.total is None or len(one.total) != len(other.total):
        return True
    if one.total == other.total or (one.effect is not None and one.effect == other.effect):
        return True
    if one.op is not None and other.op is not None and one.sizes and other.sizes is None:
        # Another operator upstream broke the sizes here, and with them what is known of `Pad`s.
        own = [(each.auto_pad, each.pads) for each in (one.op, other.op)]
        if own[0] == own[1]:
            return True
    total, windows = _at(other, one.sizes)
    pairs = list(zip(one.total, total, strict=True))
    divided = all(  # by where the pads end
        each.op is not None and each.op.ceil_mode and each.op.count_include_pad
        for each in (one, other)
    )
    begins_alike = all(before == after for (before, _), (after, _) in pairs)
    if begins_alike and not divided and windows is not None and one.windows == windows:
        return True  # all windows start at the same places
    return all(_may_be_same(*ends) for pair in pairs for ends in zip(*pair, strict=True))


def _at(site: _Site, sizes: Sequence[Extent] | None) -> tuple[Pairs, tuple[Extent, ...] | None]:
    """The total padding of an operator and its number of windows, over data of other sizes."""
    assert site.total is not None
    if site.op is None or site.front is None or sizes is None:
        return site.total, site.windows
    data = tuple(size + begin + end for size, (begin, end) in zip(sizes, site.front, strict=True))
    own, _ = _own(site.op, data)
    total = _sum(own, site.front)
    if own is None or total is None:
        return site.total, site.windows
    each = zip(data, site.op.windows, own, strict=True)
    return total, tuple(
        pool_output_size(size, window, begin, end, ceil_mode=site.op.ceil_mode)
        for size, window, (begin, end) in each
    )


def _may_be_same(before: Extent, after: Extent) -> bool:
    same = always(equal(before, after))
    if same is None:  # they differ at some sizes, if both depend on the same symbols
        sides = [side for side in (before, after) if isinstance(side, Size)]
        if any(side.kinds for side in sides):
            return True
        return len(sides) == 2 and sides[0].symbols != sides[1].symbols
    return same


def _sites(graph: Graph, analysis: Analysis) -> Iterator[_Site]:
    sinking = Sinking(graph, analysis)
    for node in graph.nodes:
        if not node.outputs or not node.inputs:
            continue
        row = operator_named(graph, node)
        window = row or uncovered(graph, node)
        if window is None:
            continue
        layout = CHANNELS_FIRST if row is None else row.layout
        op, unread = None, ""
        try:
            if graph.contradiction(node):
                raise UnreadableError("it contradicts its schema")
            if row is not None:
                op = read_window(graph, analysis, node)
                own, effect = own_padding(analysis, op)
            else:
                own = effect = _written(analysis, node, layout)
            front = (
                None if own is None else padding_in_front(graph, analysis, node, len(own), sinking)
            )
        except (ModelError, UnreadableError):
            own = effect = front = None
            unread = str(node.attrs.get("pads", ""))
        yield _Site(
            node.outputs[0].name,
            node.name,
            f"{graph.label(node)} ({node.op})",
            node.op,
            op,
            front,
            _sum(own, front),
            _sum(effect, front),
            _unpadded(analysis, op, front),
            None if row is None else _windows(analysis, node, layout),
            window.direction is Direction.SCATTERS,
            unread,
        )


def _unpadded(
    analysis: Analysis, op: WindowOp | None, front: Pairs | None
) -> tuple[Extent, ...] | None:
    """The spatial sizes of an operator's data without the padding in front; None where unknown."""
    shape = None if op is None else analysis.shape(op.data)
    if op is None or front is None or shape is None or len(shape) != op.rank:
        return None
    sizes = zip(op.operator.layout.spatial(shape), front, strict=True)
    found = tuple(size - begin - end for size, (begin, end) in sizes)
    return None if any(isinstance(size, Unknown) for size in found) else found


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
    slide = read_slide(node, (symbol("?"),) * count)
    if not count or slide.auto_pad.startswith("SAME") or "output_shape" in node.attrs:
        return None
    appended = integers_of(node, "output_padding", count) or (0,) * count
    pads = slide.pads if slide.auto_pad == "NOTSET" else ((0, 0),) * count
    return tuple((begin, end - more) for (begin, end), more in zip(pads, appended, strict=True))


def own_padding(analysis: Analysis, op: WindowOp) -> tuple[Pairs | None, Pairs | None]:
    """An operator's own padding, and constant amounts that read the same; None where unknown."""
    return _own(op, op.operator.layout.spatial(analysis.shape(op.data) or ()))


def _own(op: WindowOp, sizes: Sequence[Extent]) -> tuple[Pairs | None, Pairs | None]:
    rank = len(op.windows)
    if op.auto_pad == "NOTSET":
        return op.pads, op.pads
    if op.auto_pad == "VALID":
        return ((0, 0),) * rank, ((0, 0),) * rank
    if len(sizes) != rank or any(isinstance(size, Unknown) for size in sizes):
        return None, None
    odd = odd_side(op.auto_pad)
    axes = list(zip(sizes, op.windows, strict=True))
    if not all(isinstance(window.kernel, int) for _, window in axes):
        return None, None
    effect = [constant_in_effect(size, window, odd=odd) for size, window in axes]
    constant = tuple(pair for pair in effect if pair is not None)
    total = tuple(same_pads(size, window, odd=odd) for size, window in axes)
    return total, constant if len(constant) == rank else None


def padding_in_front(
    graph: Graph, analysis: Analysis, node: Node, count: int, sinking: Sinking
) -> Pairs | None:
    """The amounts that `Pad`s in front of an operator add to its spatial axes; None where unknown.

    Transposes in between are followed, and the steps that a `Pad` can be moved past.

    Args:
        graph: The graph.
        analysis: Its analysis.
        node: The operator.
        count: How many spatial axes it has.
        sinking: Knows which steps a `Pad` can be moved past, for the same graph.
    """
    total: list[tuple[Extent, Extent]] = [(0, 0)] * count
    row = operator_of(graph, node)
    layout = CHANNELS_FIRST if row is None else row.layout
    rank = layout.rank(count)
    places = list(range(rank))  # where each axis of the operator's data is

    def add(amounts: Sequence[tuple[Extent, Extent]]) -> None:
        for each, axis in enumerate(layout.axes(rank)):
            begin, end = amounts[places[axis]]
            total[each] = total[each][0] + begin, total[each][1] + end

    tensor = node.inputs[0]
    while (producer := graph.producer(tensor)) is not None:
        op = producer.op if graph.is_standard(producer) else ""
        if op == "Pad":
            pad = pad_giving(graph, analysis, tensor)
            amounts = None if pad is None else pad.extents_over(rank)
            if amounts is None:
                return None
            add(amounts)
        elif op == "Transpose":
            perm = producer.attrs.get("perm") or list(range(rank))[::-1]
            if sorted(perm) != list(range(rank)):
                return None
            places = [perm[place] for place in places]
        elif op not in _THROUGH:
            around = sinking.around(tensor)
            if around is not None and len(around) == rank:
                add(around)
            break
        tensor = producer.inputs[0]
    return tuple(total)


def _sum(own: Pairs | None, front: Pairs | None) -> Pairs | None:
    """The sum of both; None where a part of it is unknown."""
    if own is None or front is None:
        return None
    found = tuple((a + c, b + d) for (a, b), (c, d) in zip(own, front, strict=True))
    return None if any(isinstance(each, Unknown) for each in _flat(found)) else found


def _flat(pairs: Pairs) -> list[Extent]:
    return [amount for pair in pairs for amount in pair]


def _told(pairs: Pairs) -> str:
    """Amounts in ONNX order."""
    amounts = [begin for begin, _ in pairs] + [end for _, end in pairs]
    return f"[{', '.join(map(str, amounts))}]"
