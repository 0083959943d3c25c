"""How the padding of a place in a graph is written, for changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, Literal

from onnxpad.arithmetic.notation import named
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.padding.crops import amounts_of
from onnxpad.rewrite.context import Context
from onnxpad.semantics.amounts import is_padded, onnx_order
from onnxpad.semantics.operators import gathering
from onnxpad.semantics.read_nodes import (
    PadOp,
    TransposedOp,
    UnreadableError,
    WindowOp,
    is_pad,
    is_transposed,
)
from onnxpad.site_form import SiteForm, StepForm, WrittenAmounts

_SLIDING: Final = (WindowOp, TransposedOp)


def written_form(context: Context, node: Node, tensor: Tensor, roots: Sequence[str]) -> SiteForm:
    """How the padding of a node is written, from the tensors that are padded to the node.

    Args:
        context: The graph and what is known of it.
        node: The node.
        tensor: Its output, or the tensor that replaces it.
        roots: Names of the tensors that are padded; where several are joined, the first counts.
    """
    graph = context.graph
    slides = gathering(graph, node) is not None
    op = context.window(node) if slides else None
    is_step = not slides and node.op != "Pad"
    steps = [] if op is None else [_window(node.op, op)]
    tensor = graph.origin(node.inputs[0] if slides else tensor)
    while tensor.name not in roots:
        above = tensor.producer
        pads = above is not None and is_pad(graph, above)
        if above is None or not (pads or is_step):
            break
        if pads:
            step = _pad(context, above, op)
            steps.append(replace(step, fill=_fill(context, above)) if is_step else step)
        else:
            steps.append(_step(context, above))
        data = () if pads else (each for each in above.inputs if graph.constant(each) is None)
        tensor = graph.origin(next(iter(data), above.inputs[0]))
    return SiteForm(tuple(reversed(steps)))


# Networks repeat the same few forms.
_form = lru_cache(maxsize=1024)(StepForm)


def _window(name: str, op: WindowOp | UnreadableError) -> StepForm:
    if isinstance(op, UnreadableError):
        return _form(name)
    notes, key = op.node.notes, (_window, len(op.windows))
    form: StepForm | None = notes.get(key)
    if form is None:
        form = notes[key] = _window_form(name, op)
    return form


def _window_form(name: str, op: WindowOp) -> StepForm:
    form = StepForm(name, "window", rounds_up=op.ceil_mode)
    if op.auto_pad != "NOTSET":
        return replace(form, auto_pad=op.auto_pad)
    if not is_padded(op.pads):
        return form
    amounts = WrittenAmounts(named(op.pads), (("pads", tuple(onnx_order(op.pads))),))
    return replace(form, amounts=amounts, has_pads=True, is_counted=op.count_include_pad)


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
    return _form(name, "transposed", amounts_of(op), auto_pad=auto_pad, beside=beside)


def _fill(context: Context, node: Node) -> float | int | str | None:
    """The value of a `Pad`; None for 0 and for one that is not known."""
    pad = context.pad(node)
    return None if isinstance(pad, UnreadableError) else pad.value or None


def _pad(context: Context, node: Node, op: WindowOp | UnreadableError | None) -> StepForm:
    pad = context.pad(node)
    if isinstance(pad, UnreadableError):
        return _form("Pad", "pad")
    source = _source(context.graph, node)
    slides = (op.operator.layout, len(op.windows)) if isinstance(op, _SLIDING) else None
    key = _pad, pad.axes, pad.constant_amounts, source, slides
    form: StepForm | None = node.notes.get(key)
    if form is None:
        mode = "" if pad.mode == "constant" else pad.mode
        guarded = len(node.inputs) == 3 and not node.inputs[2].name
        form = StepForm("Pad", "pad", _amounts(pad, op), None, source, mode, guarded)
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
