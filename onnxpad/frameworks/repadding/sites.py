"""The window operators and `Pad`s of a model's main graph whose padding may be another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onnxpad.arithmetic.window import Window
from onnxpad.graph import Node
from onnxpad.padding.reading import Site, SiteReader
from onnxpad.rewrite.context import Context
from onnxpad.semantics.operators import operator_of
from onnxpad.semantics.read_nodes import PadOp, TransposedOp, WindowOp

_PAD_AS_INPUT = 11
"""The first opset whose Pad takes its amounts as an input."""


def sites_of(context: Context) -> tuple[list[Site], list[tuple[Node, str]]]:
    """The window operators of a graph, in file order, and those that cannot be varied, with why."""
    found: list[tuple[int, Site]] = []
    left: list[tuple[Node, str]] = []
    order = {id(node): place for place, node in enumerate(context.graph.nodes)}
    ops: Iterator[WindowOp | TransposedOp] = iter((*context.windows(), *context.transposed()))
    reader = SiteReader(context.graph, context.analysis)
    for op in ops:
        site = reader.of(op)
        if why := _fixed(site):
            left.append((op.node, why))
        else:
            found.append((order[id(op.node)], site))
    left += [(node, str(why)) for node, why in context.unreadable()]
    return [site for _, site in sorted(found, key=lambda each: each[0])], left


def with_pads(context: Context, sites: Sequence[Site]) -> tuple[list[Site], list[tuple[str, str]]]:
    """The sites of a graph and its `Pad`s, in file order, and what cannot be varied, with why.

    That includes operators in bodies and functions.
    """
    graph = context.graph
    order = {id(node): place for place, node in enumerate(graph.nodes)}
    known = {id(site.node): site for site in sites}
    found, left = [*sites], []
    reader = SiteReader(graph, context.analysis)
    for pad in context.pads():
        each = _pad(context, reader, pad, known)
        if isinstance(each, Site):
            found.append(each)
        elif each:
            left.append((context.label(pad.node), each))
    left += [
        (inner.place_of(node), "it is in a body or a function")
        for inner in (*graph.inside(), *graph.functions())
        for node in inner.nodes
        if operator_of(inner, node) is not None
    ]
    return sorted(found, key=lambda each: order[id(each.node)]), left


def has_padding_to_vary(context: Context) -> bool:
    """Whether a graph has a `Pad`, or a window that another padding would let read other data."""
    windows = [op.windows for op in context.windows()]
    windows += [op.windows for op in context.transposed()]
    has_pads = next(context.pads(), None) is not None
    return has_pads or any(window.extent != 1 for each in windows for window in each)


def _fixed(site: Site) -> str:
    """Why the padding of an operator cannot be varied; empty where it can."""
    if not site.windows:
        return "its kernel is unknown until run time"
    if site.row.declaration is not None:
        return "its operator is the user's own"
    if isinstance(site.op, WindowOp) and site.op.read.has_indices:
        return "it gives indices"
    return "" if site.written else "its output_shape or auto_pad cannot be written as pads"


def _pad(context: Context, reader: SiteReader, pad: PadOp, known: Mapping[int, Site]) -> Site | str:
    """A `Pad`, or why its amounts cannot be varied; empty if it pads nothing."""
    graph, pairs = context.graph, pad.constant_amounts
    if pairs is None:
        return "its amounts are computed"
    if graph.opset < _PAD_AS_INPUT and "pads" not in pad.node.attrs:
        return f"opset {graph.opset} has another Pad"
    shape = context.analysis.shape(pad.data)
    whole = pad.over(len(shape) if shape is not None else len(pairs) if pad.axes is None else 0)
    if whole is None:
        return "the rank of its data is unknown"
    readers = {id(use.node): use.index for use in graph.uses(pad.node.outputs[0])}
    window = known.get(next(iter(readers))) if len(readers) == 1 else None
    if window is not None and (window.is_transposed or window.rank != len(whole)):
        window = None
    padded = tuple(axis for axis, pair in enumerate(whole) if pair != (0, 0))
    axes = padded if window is None else window.axes
    if not {*padded} <= {*axes}:
        axes, window = padded, None
    if not axes:
        return ""
    windows = (Window(1),) * len(axes) if window is None else window.windows
    return reader.of_pad(pad, whole, axes, windows)
