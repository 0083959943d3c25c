"""Parts a `Pad` in two: what it crops and adds to batch and channels, and the rest.

An operator's own pads cannot be negative, and are those of its spatial axes. So a `Pad` that does
more can be folded only in part; the other part stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import always, less_equal
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.operators.amounts import Pair, Pairs, is_padded, onnx_order
from onnxpad.operators.read import PadOp, UnreadableError, read_pad, read_window
from onnxpad.operators.table import gathering
from onnxpad.padding.site import Sites
from onnxpad.padding.write import set_amounts
from onnxpad.reasons import RefusalError


def sound_amounts(analysis: Analysis, pad: PadOp) -> Pairs | None:
    """(begin, end) for each axis of a `Pad`'s data.

    None where they are unknown, or where it may crop more than the data has, and so what it pads on
    the other side.
    """
    known, shape = pad.constant_amounts, analysis.shape(pad.data)
    if known is None or (pad.axes is not None and shape is None):
        return None
    full = pad.over(len(known) if shape is None else len(shape))
    if min(map(min, known), default=0) >= 0:
        return full
    for axis, (begin, end) in enumerate(full or ()):
        crop = -min(begin, 0) - min(end, 0)
        if crop and (shape is None or always(less_equal(crop, shape[axis])) is not True):
            return None
    return full


def parts(
    graph: Graph, analysis: Analysis, pad: PadOp, readers: Sequence[Node]
) -> tuple[Pairs, Pairs] | None:
    """The amounts that stay, and those that window operators could take over.

    Args:
        graph: The graph.
        analysis: Its analysis.
        pad: The `Pad`.
        readers: The window operators that read it.

    Returns:
        Both over all axes; None where one of them is nothing, or the amounts are unknown.
    """
    rows = [gathering(graph, reader) for reader in readers]
    known = sound_amounts(analysis, pad)
    if not rows or not all(rows) or known is None or pad.mode != "constant":
        return None
    rank, found = len(known), list[tuple[int, ...]]()
    for row in rows:
        assert row is not None
        found.append(row.layout.axes(rank))
    spatial = set(found[0]).intersection(*found)
    apart = [pair for axis, pair in enumerate(known) if axis not in spatial]
    if not is_padded(apart) and min(map(min, known), default=0) >= 0:
        return None  # nothing would stay
    nothing: Pair = (0, 0)
    stays: list[Pair] = []
    goes: list[Pair] = []
    for axis, (begin, end) in enumerate(known):
        moved = (max(begin, 0), max(end, 0)) if axis in spatial else nothing
        goes.append(moved)
        stays.append((begin - moved[0], end - moved[1]))
    both = tuple(stays), tuple(goes)
    return both if all(map(is_padded, both)) else None


def part(graph: Graph, pad: PadOp, amounts: tuple[Pairs, Pairs]) -> None:
    """Gives a `Pad` the amounts that could be folded, behind a new one with those that stay."""
    node, (stays, goes) = pad.node, amounts
    name = f"{node.name or node.outputs[0].name}_first"
    if graph.opset < 11:
        given = {**node.attrs, "pads": onnx_order(stays)}
        first = graph.insert("Pad", [pad.data], given, before=node, name=name)
    else:
        inputs: list[Tensor] = list(node.inputs[:3])
        if not inputs[-1].name:
            inputs.pop()
        inputs[1] = graph.add_initializer(np.asarray(onnx_order(stays), np.int64), f"{name}_pads")
        first = graph.insert("Pad", inputs, dict(node.attrs), before=node, name=name)
    set_amounts(graph, node, goes, f"{name}_rest")
    graph.set_input(node, 0, first)


def parted(
    graph: Graph,
    analysis: Analysis,
    sites: Sites,
    style_of: Callable[[Node], str],
    pad: Node,
    readers: Sequence[Node],
) -> bool:
    """Parts a `Pad`, and returns whether all its readers could take over their part.

    Whoever calls this must roll the graph back.
    """
    try:
        read = read_pad(graph, analysis, pad)
        amounts = parts(graph, analysis, read, readers)
        if amounts is None:
            return False
        part(graph, read, amounts)
        for reader in readers:
            op = read_window(graph, analysis, reader)
            padding, *_ = sites.planned(op, style_of(reader))
            if padding.pads == op.pads:
                return False  # the style wants it in a Pad
    except (RefusalError, UnreadableError):
        return False
    return True
