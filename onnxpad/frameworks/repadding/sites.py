"""The window operators of a model's main graph whose padding may be another one.

And how it is written into the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from onnxpad.arithmetic.window import Window, pads_text, same_of
from onnxpad.frameworks.reading import Site, SiteReader
from onnxpad.graph import Graph, Node, downstream
from onnxpad.padding.padding import Padding
from onnxpad.padding.write import attributes
from onnxpad.rewrite.pass_api import Context
from onnxpad.semantics.operators import TransposedOp, WindowOp, operator_of

PADDING = ("auto_pad", "pads", "output_shape", "output_padding", "ceil_mode", "count_include_pad")
"""The attributes that say how an operator pads."""


def sites_of(context: Context) -> tuple[list[Site], list[tuple[Node, str]]]:
    """The window operators of a graph, in file order, and those that cannot be varied, with why."""
    order = {id(node): place for place, node in enumerate(context.graph.nodes)}
    reader = SiteReader(context.graph, context.analysis)
    ops: list[WindowOp | TransposedOp] = [*context.windows(), *context.transposed()]
    whys = {site: _fixed(site) for site in map(reader.of, ops)}
    left = [(site.node, why) for site, why in whys.items() if why]
    left += [(node, str(why)) for node, why in context.unreadable()]
    found = [site for site, why in whys.items() if not why]
    return sorted(found, key=lambda each: order[id(each.node)]), left


def _fixed(site: Site) -> str:
    if site.row.declaration is not None:
        return "its operator is the user's own"
    if isinstance(site.op, WindowOp) and site.op.read.has_indices:
        return "it gives indices"
    return "" if site.written else "its output_shape or auto_pad cannot be written as pads"


def has_padding_to_vary(context: Context) -> bool:
    """Whether a graph has a window that another padding would let read other data."""
    ops = (*context.windows(), *context.transposed())
    return any(window.extent != 1 for op in ops for window in op.windows)


def in_bodies(graph: Graph) -> list[tuple[str, str]]:
    """The window operators of bodies and functions by name, with their types."""
    return [
        (inner.place_of(node), node.op)
        for inner in graph.inside()
        for node in inner.nodes
        if operator_of(inner, node) is not None
    ]


def write(graph: Graph, site: Site, padding: Padding) -> None:
    """Makes an operator pad as chosen, which is `settled`."""
    wanted = attributes(padding)
    absent = {name: None for name in PADDING if name not in wanted and name in site.node.attrs}
    graph.set_attributes(site.node, {**wanted, **absent})


def settled(site: Site, padding: Padding, sizes: tuple[int, ...], opset: int) -> Padding:
    """A padding as attributes tell it in an opset, and the runtime runs it, at these sizes.

    SAME stays where it depends on an open size; onnxruntime refuses it with dilations. Older opsets
    have pools without ceil_mode.
    """
    if padding.ceil and opset < site.row.since("ceil_mode") and not padding.counted:
        return replace(padding, pads=padding.reached(sizes, site.windows), ceil=False)
    known = [*zip(site.known_sizes, site.windows, strict=True)]
    is_open = any(size is None and window.stride > 1 for size, window in known)
    is_dilated = any(window.dilation > 1 for window in site.windows)
    is_kept = padding.is_same and is_open and not is_dilated
    return padding if is_kept else replace(padding, pads=padding.amounts(sizes, site.windows))


def described(padding: Padding, sizes: tuple[int, ...], windows: tuple[Window, ...]) -> str:
    """A padding for people, with amounts if sizes are given: `SAME_UPPER, here H 0+1, W 0+1`."""
    parts = [same_of(padding.odd) if padding.is_same else f"pads {pads_text(padding.pads or ())}"]
    if padding.is_same and sizes:
        parts.append(f"here {pads_text(padding.amounts(sizes, windows))}")
    if any(padding.output_padding):
        parts.append(f"output_padding {list(padding.output_padding)}")
    parts += ["rounded up (ceil_mode)"] * padding.ceil
    parts += ["padding counted (count_include_pad)"] * padding.counted
    return ", ".join(parts)


@contextmanager
def redeclared(graph: Graph) -> Iterator[list[Node]]:
    """Drops declared sizes that may have become wrong, downstream of operators that are added.

    Sizes of outputs that were derived become what they are now; others are left open.
    """
    analysis, changed = Context(graph).analysis, list[Node]()
    before = {tensor.name: analysis.shape(tensor) or () for tensor, _ in graph.claims("output")}
    yield changed
    outputs = (output for node in changed for output in node.outputs)
    found = downstream(outputs, lambda use: use.node.outputs, most=None)
    moved = {tensor.name for tensor in filter(None, found)}
    for each in (graph, *graph.inside()) if changed else ():
        for tensor, _ in [*each.claims("value_info")]:
            if each is not graph or tensor.name in moved:
                each.undeclare(tensor)
    analysis = Context(graph).analysis
    for tensor, shape in [*graph.claims("output")]:
        now, was = analysis.shape(tensor), before[tensor.name]
        if tensor.name in moved and now is not None and len(now) == len(was) == len(shape):
            triples = zip(shape, was, now, strict=True)
            sizes = (n if isinstance(n, int) else d if w == n else None for d, w, n in triples)
            graph.declare_output(tensor.name, tuple(sizes))
