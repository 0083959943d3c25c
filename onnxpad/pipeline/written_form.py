"""How the padding of a place in a graph is written, for changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from onnxpad.arithmetic.notation import named
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.padding.crops import amounts_of
from onnxpad.rewrite.context import Context
from onnxpad.semantics.amounts import Pairs, is_padded, onnx_order
from onnxpad.semantics.operators import Layout, gathering
from onnxpad.semantics.read_nodes import PadOp, TransposedOp, UnreadableError, WindowOp, is_pad
from onnxpad.semantics.table import over_axes
from onnxpad.site_form import Kind, SiteForm, StepForm, WrittenAmounts

_KINDS: Final[Mapping[str, Kind]] = {"Pad": "pad", "ConvTranspose": "transposed"}
_Op: TypeAlias = WindowOp | TransposedOp | PadOp | UnreadableError | None


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
    window = context.window(node) if slides else None
    is_step = not slides and node.op != "Pad"
    steps: list[StepForm] = []
    if isinstance(window, WindowOp):
        said = window.auto_pad, window.pads, window.ceil_mode, window.count_include_pad
        steps.append(_window(node.op, *said))
    elif slides:
        steps.append(StepForm(node.op))
    tensor = graph.origin(node.inputs[0] if slides else tensor)
    while tensor.name not in roots:
        above = tensor.producer
        pads = above is not None and is_pad(graph, above)
        if above is None or not (pads or is_step):
            break
        op = context.pad(above) if pads else context.read(above)
        data = above.inputs
        if isinstance(op, PadOp):
            step = _pad(graph, op, window)
            steps.append(replace(step, fill=op.value or None) if is_step else step)
        else:
            steps.append(_step(above, op))
            data = tuple(each for each in data if graph.constant(each) is None) or data
        tensor = graph.origin(data[0])
    return SiteForm(tuple(reversed(steps)))


@lru_cache(maxsize=256)
def _window(op: str, auto_pad: str, pads: Pairs, ceil_mode: bool, counts: bool) -> StepForm:
    form = StepForm(op, "window", rounds_up=ceil_mode)
    if auto_pad != "NOTSET":
        return replace(form, auto_pad=auto_pad)
    if not is_padded(pads):
        return form
    amounts = WrittenAmounts(named(pads), (("pads", tuple(onnx_order(pads))),))
    return replace(form, amounts=amounts, has_pads=True, is_counted=counts)


def _step(node: Node, op: _Op) -> StepForm:
    """What is no `Pad`, or one that cannot be read."""
    if not isinstance(op, TransposedOp):
        return StepForm(node.op, _KINDS.get(node.op, "step"))
    auto_pad = "" if op.auto_pad == "NOTSET" else op.auto_pad
    beside = ("output_shape",) * (op.output_shape is not None)
    beside += ("output_padding",) * any(op.output_padding)
    return StepForm(node.op, "transposed", amounts_of(op), auto_pad=auto_pad, beside=beside)


def _pad(graph: Graph, pad: PadOp, window: _Op) -> StepForm:
    mode = "" if pad.mode == "constant" else pad.mode
    inputs = pad.node.inputs
    source: Literal["", "computed", "external"] = ""
    if graph.opset >= 11 and graph.is_external(inputs[1]):
        source = "external"
    elif graph.opset >= 11 and graph.constant(inputs[1]) is None:
        source = "computed"
    layout, rank = None, None
    if isinstance(window, WindowOp):
        layout, rank = window.operator.layout, window.rank
    amounts = _amounts(pad.constant_amounts, pad.axes, layout, rank)
    guarded = len(inputs) == 3 and not inputs[2].name
    return StepForm("Pad", "pad", amounts, None, source, mode, guarded)


@lru_cache(maxsize=256)
def _amounts(
    pairs: Pairs | None, axes: tuple[int, ...] | None, layout: Layout | None, rank: int | None
) -> WrittenAmounts | None:
    """The constant amounts of a `Pad`: by name of the axis where a window reads it."""
    if pairs is None:
        return None
    full = None if layout is None else over_axes(pairs, axes, rank)
    if layout is not None and full is not None:
        return WrittenAmounts(layout.named(full))
    padded = zip(range(len(pairs)) if axes is None else axes, pairs, strict=True)
    return WrittenAmounts(tuple((f"axis {axis}", *pair) for axis, pair in padded if any(pair)))
