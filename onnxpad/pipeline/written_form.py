"""How the padding of a place in a graph is written, for changes and findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, Literal

from onnxpad.arithmetic.notation import named
from onnxpad.errors import ModelError
from onnxpad.finding import Finding
from onnxpad.graph import Graph, Node, Tensor, normal_domain
from onnxpad.operators.amounts import is_padded, onnx_order
from onnxpad.operators.read import (
    PadOp,
    TransposedOp,
    UnreadableError,
    WindowOp,
    is_pad,
    is_transposed,
)
from onnxpad.operators.table import gathering
from onnxpad.process import gc_paused
from onnxpad.rewrite.context import Context
from onnxpad.site_form import SiteForm, StepForm, WrittenAmounts
from onnxpad.sites.cropped_form import amounts_of

_MOST_READERS: Final = 3
_SLIDING: Final = (WindowOp, TransposedOp)
_MOVES: Final = {"Transpose": "perm", "Concat": "axis"}
"""Operators that move axes, with the attribute that says how."""


def written_form(
    context: Context, node: Node, tensor: Tensor, roots: Sequence[str], computing: int = 0
) -> tuple[SiteForm, Sequence[Node]]:
    """How the padding of a node is written, from the tensors that are padded to the node.

    With the `Pad`s in it, in the same order.

    Args:
        context: The graph and what is known of it.
        node: The node.
        tensor: Its output, or the tensor that replaces it.
        roots: Names of the tensors that are padded; where several are joined, the first counts.
        computing: How many nodes compute its amounts; 0 where that need not be told.
    """
    graph = context.graph
    slides = gathering(graph, node) is not None
    op = context.window(node) if slides else None
    is_step = not slides and node.op != "Pad"
    steps = [] if op is None else [_window(node.op, op)]
    found: list[Node] = []
    tensor = graph.origin(node.inputs[0] if slides else tensor)
    while tensor.name not in roots:
        above = graph.producer(tensor)
        pads = above is not None and is_pad(graph, above)
        if above is None or not (pads or is_step):
            break
        if pads:
            found.append(above)
            step = _pad(context, above, op, computing if above is node else 0)
            steps.append(replace(step, fill=_fill(context, above)) if is_step else step)
        else:
            steps.append(_step(context, above))
        data = (each for each in above.inputs if pads or graph.constant(each) is None)
        tensor = graph.origin(next(data, above.inputs[0]))
    return SiteForm(tuple(reversed(steps))), found[::-1]


@gc_paused()
def with_forms(contexts: Iterable[Context], findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings with the form of each node that is in one of some graphs, as they are now."""
    if not (listed := tuple(findings)):
        return listed
    by_scope = {each.graph.scope: each for each in contexts if each.graph.is_there()}

    named: dict[Context, dict[tuple[str, str], Node]] = {}

    def form(finding: Finding) -> SiteForm:
        scope, name, output = finding.location
        context = by_scope.get(scope)
        if context is None:
            return SiteForm()
        graph = context.graph
        node = graph.producer(graph.tensor(output)) if graph.has_tensor(output) else None
        if node is None or (node.name, node.op) != (name, finding.op_type):
            if context not in named:
                nodes = (each for each in graph.nodes if each.name)
                named[context] = {(each.name, str(each.op)): each for each in nodes}
            node = named[context].get((name, finding.op_type))  # changes gave it another output
        return SiteForm() if node is None else node_form(context, node)

    return tuple([replace(each, form=form(each)) for each in listed])


def node_form(context: Context, node: Node) -> SiteForm:
    """How a node is written where it stays, and of a `Pad` also the first nodes that read it.

    Of one that cannot be read there is no more than the operator.
    """
    try:
        return _whole_form(context, node)
    except ModelError:
        return SiteForm((StepForm(str(node.op)),))


def _whole_form(context: Context, node: Node) -> SiteForm:
    graph = context.graph
    step = _node(context, node)
    if step.kind != "pad" or not node.outputs:
        return SiteForm((step,))
    uses = graph.uses(node.outputs[0])
    reads = ((context.read(use.node), use.index) for use in uses)
    slides = ((op, index) for op, index in reads if isinstance(op, _SLIDING))
    op = next((op for op, index in slides if index == op.operator.inputs.data), None)
    pad = context.pad(node)
    if op is not None and isinstance(pad, PadOp):
        step = replace(step, amounts=_amounts(pad, op))
    if step.source == "computed":
        step = replace(step, computing=context.open_sites.computing(node.inputs[1]))
    readers = list({id(use.node): use.node for use in uses}.values())[:_MOST_READERS]
    return SiteForm((step,), readers=tuple(_node(context, each) for each in readers))


def _op(node: Node) -> str:
    """The type of an operator, with its domain."""
    return ".".join(filter(None, (normal_domain(node.domain), str(node.op))))


def _node(context: Context, node: Node) -> StepForm:
    """One node by itself."""
    graph = context.graph
    if is_pad(graph, node):
        return replace(_pad(context, node, None, 0), fill=_fill(context, node))
    if gathering(graph, node) is not None:
        return _window(str(node.op), context.window(node))
    if is_transposed(graph, node):
        return _step(context, node)
    name = _MOVES.get(str(node.op), "")
    moved = node.attrs.get(name) if graph.is_standard(node) else None
    return StepForm(_op(node), beside=(f"{name} {moved}",) * isinstance(moved, int | list))


# Networks repeat the same few forms.
_form = lru_cache(maxsize=1024)(StepForm)


def _window(name: str, op: WindowOp | UnreadableError) -> StepForm:
    if isinstance(op, UnreadableError):
        return _form(name)
    notes, key = op.node.notes, (_window, op.windows)
    form: StepForm | None = notes.get(key)
    if form is None:
        form = notes[key] = _window_form(name, op)
    return form


def _window_form(name: str, op: WindowOp) -> StepForm:
    form = StepForm(name, "window", rounds_up=op.ceil_mode, windows=_windows(op))
    if op.auto_pad != "NOTSET":
        return replace(form, auto_pad=op.auto_pad)
    if not is_padded(op.pads):
        return form
    amounts = WrittenAmounts(named(op.pads), (("pads", tuple(onnx_order(op.pads))),))
    return replace(form, amounts=amounts, has_pads=True, is_counted=op.count_include_pad)


def _windows(op: WindowOp | TransposedOp) -> tuple[tuple[int | None, int, int], ...]:
    return tuple(
        (window.kernel if isinstance(window.kernel, int) else None, window.stride, window.dilation)
        for window in op.windows
    )


def _step(context: Context, node: Node) -> StepForm:
    name = str(node.op)
    if not is_transposed(context.graph, node):
        return StepForm(name)
    op = context.transposed_of(node)
    if isinstance(op, UnreadableError):
        return StepForm(name, "transposed")
    auto_pad = "" if op.auto_pad == "NOTSET" else op.auto_pad
    beside = ("output_shape",) * (op.output_shape is not None)
    beside += ("output_padding",) * any(op.output_padding)
    amounts, windows = amounts_of(op), _windows(op)
    return _form(name, "transposed", amounts, auto_pad=auto_pad, beside=beside, windows=windows)


def _fill(context: Context, node: Node) -> float | int | str | None:
    """The value of a `Pad`; None for 0 and for one that is not known."""
    pad = context.pad(node)
    return None if isinstance(pad, UnreadableError) else pad.value or None


def _pad(
    context: Context, node: Node, op: WindowOp | UnreadableError | None, computing: int
) -> StepForm:
    pad = context.pad(node)
    if isinstance(pad, UnreadableError):
        return _form("Pad", "pad")
    source = _source(context.graph, node)
    slides = (op.operator.layout, len(op.windows)) if isinstance(op, _SLIDING) else None
    key = _pad, pad.axes, pad.constant_amounts, computing, source, slides
    form: StepForm | None = node.notes.get(key)
    if form is None:
        mode = "" if pad.mode == "constant" else pad.mode
        guarded = len(node.inputs) == 3 and not node.inputs[2].name
        form = StepForm("Pad", "pad", _amounts(pad, op), None, computing, source, mode, guarded)
        node.notes[key] = form
    return form


def _amounts(
    pad: PadOp, op: WindowOp | TransposedOp | UnreadableError | None
) -> WrittenAmounts | None:
    """The constant amounts of a `Pad`: by name of the axis where a window reads it."""
    if pad.constant_amounts is None:
        return None
    if isinstance(op, _SLIDING):
        layout = op.operator.layout
        full = pad.over(layout.rank(len(op.windows)))
        if full is not None:
            return WrittenAmounts(layout.named(full))
    axes = range(len(pad.constant_amounts)) if pad.axes is None else pad.axes
    padded = zip(axes, pad.constant_amounts, strict=True)
    return WrittenAmounts(tuple((f"axis {axis}", *pair) for axis, pair in padded if any(pair)))


def _source(graph: Graph, node: Node) -> Literal["", "computed", "external"]:
    """Where the amounts of a `Pad` come from that are not constant."""
    if graph.opset < 11:
        return ""
    if graph.is_external(node.inputs[1]):
        return "external"
    return "computed" if graph.constant(node.inputs[1]) is None else ""
