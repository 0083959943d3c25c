"""Writes a padding to the node that has it, and to a `Pad` in front of that; parts a `Pad` in two.

An operator's own pads cannot be negative, and are those of its spatial axes. So a `Pad` that does
more can be folded only in part; the other part stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.arithmetic.window import same_of
from onnxpad.facts import Analysis
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.padding.padding import Padding
from onnxpad.proof.read import layers_of
from onnxpad.reasons import RefusalError
from onnxpad.semantics.amounts import (
    Pairs,
    is_padded,
    is_plain_zero,
    less,
    onnx_order,
)
from onnxpad.semantics.operators import Layout, gathering
from onnxpad.semantics.read_nodes import (
    PadOp,
    TransposedOp,
    UnreadableError,
    WindowOp,
    pad_giving,
    read_window,
)
from onnxpad.semantics.table import amounts_attribute

if TYPE_CHECKING:
    from onnxpad.padding.site import Sites


def write(
    graph: Graph,
    analysis: Analysis,
    op: WindowOp | TransposedOp,
    padding: Padding,
    pad: PadOp | None = None,
    computed: Tensor | None = None,
) -> None:
    """Makes a site pad so; `Graph.sweep` removes the nodes that this leaves unused.

    Args:
        graph: The graph, which is edited.
        analysis: The analysis of the graph.
        op: The operator as it is.
        padding: How it is to pad, and what a `Pad` in front of it is to do.
        pad: The `Pad` in front of it of which that is all.
        computed: The amounts of the `Pad` where nodes compute them, instead of those in `padding`.
    """
    node, changed, inputs = op.node, changes(op, padding), op.node.inputs
    if isinstance(op, WindowOp):
        source, data = op.data if pad is None else pad.data, op.operator.inputs.data
        outside = op.operator.layout.full(padding.outside, (0, 0)) if padding.outside else None
        if pad is not None and outside is not None and pad.over(op.rank) == outside:
            source = op.data  # the `Pad` stays, whatever it writes
        elif outside is not None or computed is not None:
            amounts = computed or onnx_order(outside or ())
            dtype = analysis.dtype(source)
            fill = op.fill(dtype)
            assert dtype is not None
            assert fill is not None
            source = write_pad(graph, node, source, amounts, fill, dtype)
        if source is not op.data:
            inputs = (*inputs[:data], source, *inputs[data + 1 :])
    if changed or inputs is not node.inputs:
        graph.set_attributes(node, changed, inputs)


def attributes(padding: Padding) -> dict[str, object]:
    """The attributes of an operator that itself pads so; those left out are defaults."""
    found: dict[str, object] = {}
    if padding.is_same:
        found["auto_pad"] = same_of(padding.odd)
    elif is_padded(padding.numbers):
        found["pads"] = onnx_order(padding.numbers)
    if any(padding.output_padding):
        found["output_padding"] = [*padding.output_padding]
    if padding.ceil:
        found["ceil_mode"] = 1
    if padding.counted:
        found["count_include_pad"] = 1
    return found


def changes(op: WindowOp | TransposedOp, padding: Padding) -> dict[str, object | None]:
    """The attributes to write so that an operator itself pads so; None removes one.

    What is written already stays, be it a default; but the pads of a transposed convolution come
    after its other attributes.
    """
    key = changes, padding
    known: dict[str, object | None] | None = op.node.notes.get(key)
    if known is not None:  # networks repeat the same few windows
        return known
    wanted, now = attributes(padding), op.node.attrs
    zeros = None if padding.is_same else [0] * (2 * len(op.windows))
    usual: dict[str, object] = {"auto_pad": "NOTSET", "pads": zeros, "output_shape": None}
    usual |= {"output_padding": None, "ceil_mode": 0, "count_include_pad": 0}
    if op.pads_written:
        wanted.setdefault("pads", zeros)
    found = op.node.notes[key] = {
        name: wanted.get(name)
        for name, default in usual.items()
        if wanted.get(name, default) != now.get(name, default)
        or (name == "pads" and isinstance(op, TransposedOp))
    }
    return found


def set_amounts(graph: Graph, pad: Node, amounts: Pairs | Tensor) -> None:
    """Gives a `Pad` amounts: (begin, end) for each axis of its data, or a tensor with them."""
    if not isinstance(amounts, Tensor):
        flat = onnx_order(amounts)
        if graph.opset < 11:
            graph.set_attribute(pad, amounts_attribute(graph.opset), flat)
            return
        name = f"{pad.name or pad.outputs[0].name}_pads"
        amounts = graph.add_initializer(np.asarray(flat, np.int64), name)
    graph.set_input(pad, 1, amounts)
    if len(pad.inputs) > 3:
        graph.set_input(pad, 3, None)  # its axes


def write_pad(
    graph: Graph,
    before: Node,
    source: Tensor,
    amounts: Tensor | Sequence[int],
    fill: float | int,
    dtype: int,
) -> Tensor:
    """Inserts a constant `Pad` of a tensor in front of a node, and returns its output.

    Its amounts are those over all axes in ONNX order, or the tensor that holds them.
    """
    name = f"{before.name or before.outputs[0].name}_pad"
    if graph.opset < 11:
        attributes = {"mode": "constant", "pads": amounts, "value": float(fill)}
        return graph.insert("Pad", [source], attributes, before=before, name=name)
    if not isinstance(amounts, Tensor):
        amounts = graph.add_initializer(np.asarray(amounts, np.int64), f"{name}_pads")
    inputs = [source, amounts]
    if not is_plain_zero(fill):
        value = np.asarray(fill, tensor_dtype_to_np_dtype(dtype))
        inputs.append(graph.add_initializer(value, f"{name}_value"))
    return graph.insert("Pad", inputs, {"mode": "constant"}, before=before, name=name)


# A Pad in two parts


def parts(
    graph: Graph, analysis: Analysis, pad: PadOp, readers: Sequence[Node]
) -> tuple[Pairs, Pairs] | None:
    """The amounts of a `Pad` that stay, and those that the nodes that read it could take over.

    Both are over all axes. None where one of them is nothing, or not all that reads it is a window
    operator.
    """
    rows = [row for reader in readers if (row := gathering(graph, reader)) is not None]
    shape = analysis.shape(pad.data) if pad.axes else pad.constant_amounts
    amounts = None if shape is None else pad.over(len(shape))
    if amounts is None or not rows or len(rows) < len(readers):
        return None
    stays, goes = _parted(amounts, frozenset([row.layout for row in rows]))
    is_both = is_padded(stays) and is_padded(goes)
    return (stays, goes) if is_both and layers_of(graph, analysis, pad.node) else None


@lru_cache(maxsize=256)
def _parted(amounts: Pairs, layouts: frozenset[Layout]) -> tuple[Pairs, Pairs]:
    """Amounts in those that stay, and those that windows of all these layouts can have."""
    rank = len(amounts)
    spatial = set(range(rank)).intersection(*(layout.axes(rank) for layout in layouts))
    goes = tuple(
        (max(begin, 0), max(end, 0)) if axis in spatial else (0, 0)
        for axis, (begin, end) in enumerate(amounts)
    )
    return less(amounts, goes), goes


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
        given = pad_giving(graph, analysis, pad.outputs[0])
        amounts = None if given is None else parts(graph, analysis, given, readers)
        if amounts is None:
            return False
        part(graph, pad, amounts)
        ops = [read_window(graph, analysis, reader) for reader in readers]
        # Where the pads stay as they are, the style wants the part in a Pad.
        return all(sites.planned(op, style_of(op.node))[0].pads != op.pads for op in ops)
    except (RefusalError, UnreadableError):
        return False
