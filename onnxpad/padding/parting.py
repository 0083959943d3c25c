"""Parts a `Pad` in two: what it crops and adds to batch and channels, and the rest.

An operator's own pads cannot be negative, and are those of its spatial axes. So a `Pad` that does
more can be folded only in part; the other part stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph, Node
from onnxpad.padding.site import Sites
from onnxpad.padding.write import set_amounts
from onnxpad.proof.read import layers_of
from onnxpad.reasons import RefusalError
from onnxpad.semantics.amounts import Pairs, is_padded, less, numbers_of, onnx_order
from onnxpad.semantics.operators import gathering
from onnxpad.semantics.read_nodes import UnreadableError, read_window


def parts(
    graph: Graph, analysis: Analysis, pad: Node, readers: Sequence[Node]
) -> tuple[Pairs, Pairs] | None:
    """The amounts of a `Pad` that stay, and those that the nodes that read it could take over.

    Both are over all axes. None where one of them is nothing, or not all that reads it is a window
    operator.
    """
    rows = [row for reader in readers if (row := gathering(graph, reader)) is not None]
    layers = layers_of(graph, analysis, pad) if rows and len(rows) == len(readers) else None
    amounts = numbers_of(layers[0].amounts) if layers else None
    if amounts is None:
        return None
    rank = len(amounts)
    spatial = set(range(rank)).intersection(*(row.layout.axes(rank) for row in rows))
    goes = tuple(
        (max(begin, 0), max(end, 0)) if axis in spatial else (0, 0)
        for axis, (begin, end) in enumerate(amounts)
    )
    stays = less(amounts, goes)
    return (stays, goes) if is_padded(stays) and is_padded(goes) else None


def part(graph: Graph, pad: Node, amounts: tuple[Pairs, Pairs]) -> None:
    """Gives a `Pad` the amounts that could be folded, behind a new one with those that stay."""
    name = f"{pad.name or pad.outputs[0].name}_first"
    stays, goes = amounts
    inputs, attributes = [each for each in pad.inputs[:3] if each.name], dict(pad.attrs)
    flat = onnx_order(stays)
    if graph.opset < 11:
        attributes["pads"] = flat
    else:
        inputs[1] = graph.add_initializer(np.asarray(flat, np.int64), f"{name}_pads")
    first = graph.insert("Pad", inputs, attributes, before=pad, name=name)
    set_amounts(graph, pad, goes)
    graph.set_input(pad, 0, first)


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
        amounts = parts(graph, analysis, pad, readers)
        if amounts is None:
            return False
        part(graph, pad, amounts)
        ops = [read_window(graph, analysis, reader) for reader in readers]
        # Where the pads stay as they are, the style wants the part in a Pad.
        return all(sites.planned(op, style_of(op.node))[0].pads != op.pads for op in ops)
    except (RefusalError, UnreadableError):
        return False
