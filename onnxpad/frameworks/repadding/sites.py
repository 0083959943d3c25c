"""The window operators and `Pad`s of a model's main graph whose padding may be another one.

And how it is written into the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent
from onnxpad.arithmetic.window import Window, pads_text, same_of
from onnxpad.frameworks.reading import Site, SiteReader
from onnxpad.graph import Graph, Node, downstream
from onnxpad.padding.padding import Padding
from onnxpad.padding.write import attributes, set_amounts
from onnxpad.rewrite.pass_api import Context
from onnxpad.semantics.layers import Pairs
from onnxpad.semantics.operators import PadOp, TransposedOp, WindowOp, operator_of

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
        for inner in graph.inside()
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


PADDING = (
    "auto_pad",
    "pads",
    "output_shape",
    "output_padding",
    "ceil_mode",
    "count_include_pad",
)


def write(graph: Graph, site: Site, padding: Padding, pads: Pairs) -> None:
    """Makes an operator pad as chosen.

    SAME becomes `auto_pad` where the size is open and decides, and numbers elsewhere: the pads are
    the amounts at the sizes of the run that decided.
    """
    if site.operator is None:
        pairs = dict(zip(site.axes, pads, strict=True))
        set_amounts(graph, site.node, tuple(pairs.get(i, (0, 0)) for i in range(site.rank)))
        return
    wanted = attributes(settled(site, padding, pads))
    absent = {name: None for name in PADDING if name not in wanted and name in site.node.attrs}
    graph.set_attributes(site.node, {**wanted, **absent})


def settled(site: Site, padding: Padding, pads: Pairs) -> Padding:
    """A padding as it is written: in numbers, unless SAME depends on a size that is open."""
    keeps = site.operator is not None and stays_open(site, padding)
    return padding if keeps else replace(padding, pads=pads)


def stays_open(site: Site, padding: Padding) -> bool:
    """Whether SAME depends on a size that the model leaves open."""
    if not padding.is_same or padding.undilated:
        return False
    return any(
        size is None and window.stride > 1
        for size, window in zip(site.known_sizes, site.windows, strict=True)
    )


def written_as(site: Site, padding: Padding, pads: Pairs) -> str:
    """A padding for people, as it is written: SAME in numbers where the sizes are known."""
    keeps = site.padding == padding or stays_open(site, padding)
    return described(padding if keeps else replace(padding, pads=pads), pads)


def described(padding: Padding, pads: Pairs) -> str:
    """A padding for people, with its amounts if known: `SAME_UPPER, here H 0+1, W 0+1`."""
    parts = [f"pads {pads_text(pads)}"]
    if padding.is_same:
        parts = [f"{same_of(padding.odd)}{' without dilation' * padding.undilated}"]
        parts += [f"here {pads_text(pads)}"] * bool(pads)
    if padding.output_padding and any(padding.output_padding):
        parts.append(f"output_padding {list(padding.output_padding)}")
    if padding.ceil:
        parts.append("rounded up (ceil_mode)")
    if padding.counted:
        parts.append("padding counted (count_include_pad)")
    return ", ".join(parts)


def output_sizes(graph: Graph) -> dict[str, Sequence[Extent]]:
    """The sizes of the outputs of a graph that declare some."""
    analysis = Context(graph).analysis
    return {tensor.name: analysis.shape(tensor) or () for tensor, _ in [*graph.claims("output")]}


def declare_anew(
    graph: Graph, changed: Iterable[Node], before: Mapping[str, Sequence[Extent]]
) -> None:
    """Drops declared sizes downstream of changed operators that may have become wrong.

    Sizes of outputs that were derived become what they are now; others are left open. Before are
    the `output_sizes` before the change.
    """
    outputs = (output for node in changed for output in node.outputs)
    found = downstream(outputs, lambda use: use.node.outputs, most=None)
    moved = {tensor.name for tensor in found if tensor is not None}
    for each in (graph, *graph.inside()):
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
