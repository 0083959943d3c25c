"""The padding of a place in a graph in words, for the changes of a report."""

from collections.abc import Sequence
from typing import NamedTuple

from onnxpad.arithmetic.notation import told_attribute, told_axes
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.operators.amounts import is_padded
from onnxpad.operators.read import PadOp, UnreadableError, WindowOp, is_transposed
from onnxpad.operators.table import operator_of
from onnxpad.rewrite.context import Context
from onnxpad.transposed.cropped_form import described


class PaddingText(NamedTuple):
    """The padding of a place in words.

    Attributes:
        text: All of it, such as `Pad H 1+2, W 1+2 -> Conv without pads`.
        form: The same without amounts, such as `Pad -> Conv`.
        amounts: The amounts of the last step that has some, such as `H 1+2, W 1+2`.
    """

    text: str
    form: str
    amounts: str


def padding_text(
    context: Context, node: Node, tensor: Tensor, roots: Sequence[str], computing: int = 0
) -> PaddingText:
    """The padding of a node in words, from the tensors that are padded to the node.

    Args:
        context: The graph and what is known of it.
        node: The node.
        tensor: Its output, or the tensor that replaces it.
        roots: Names of the tensors that are padded; where several are joined, the first counts.
        computing: How many nodes compute its amounts; 0 where the text need not say it.
    """
    graph = context.graph
    slides = operator_of(graph, node) is not None
    op = context.window(node) if slides else None
    is_step = not slides and node.op != "Pad"
    steps = [] if op is None else [_window(str(node.op), op)]
    tensor = graph.origin(node.inputs[0] if slides else tensor)
    while tensor.name not in roots:
        above = graph.producer(tensor)
        is_pad = above is not None and above.op == "Pad" and graph.is_standard(above)
        if above is None or not (is_pad or is_step):
            break
        if is_pad:
            step = _pad(context, above, op, computing if above is node else 0)
            filled = _fill(context, above) if is_step else ""
            steps.append(step._replace(text=step.text + filled))
        else:
            steps.append(_step(context, above))
        data = (each for each in above.inputs if graph.constant(each) is None)
        tensor = graph.origin(next(data, above.inputs[0]))
    amounts = next((step.amounts for step in steps if step.amounts), "")
    steps.reverse()
    text = " -> ".join(step.text for step in steps)
    return PaddingText(text, " -> ".join(step.form for step in steps), amounts)


def _window(name: str, op: WindowOp | UnreadableError) -> PaddingText:
    if isinstance(op, UnreadableError):
        return PaddingText(name, name, "")
    rounded = " ceil_mode" if op.ceil_mode else ""
    if op.auto_pad != "NOTSET":
        said = f"{name} auto_pad={op.auto_pad}{rounded}"
        return PaddingText(said, said, "")
    if not is_padded(op.pads):
        return PaddingText(f"{name} without pads{rounded}", f"{name}{rounded}", "")
    counted = " counted" if op.count_include_pad else ""
    text = f"{name} {told_attribute(op.pads)}{counted}{rounded}"
    return PaddingText(text, f"{name} pads{counted}{rounded}", told_attribute(op.pads))


def _step(context: Context, node: Node) -> PaddingText:
    name = str(node.op)
    op = context.transposed_of(node) if is_transposed(context.graph, node) else None
    if op is None or isinstance(op, UnreadableError):
        return PaddingText(name, name, "")
    said = described(op)
    written = [f"auto_pad={op.auto_pad}"] if op.auto_pad != "NOTSET" else []
    written += ["output_shape"] if op.output_shape is not None else []
    written += ["output_padding"] if any(op.output_padding) else []
    form = f"{name} with {', '.join(written)}" if written else name
    return PaddingText(f"{name} {said}", form, said)


def _fill(context: Context, node: Node) -> str:
    """The value of a `Pad` in words; empty for 0."""
    pad = context.pad(node)
    value = None if isinstance(pad, UnreadableError) else pad.value
    return f" with {value}" if value else ""


def _pad(
    context: Context, node: Node, op: WindowOp | UnreadableError | None, computing: int
) -> PaddingText:
    pad = context.pad(node)
    if isinstance(pad, UnreadableError):
        return PaddingText("Pad", "Pad", "")
    amounts = _amounts(pad, op)
    how = f" {pad.mode}" if pad.mode != "constant" else ""
    origin, form = _origin(context.graph, node, computing)
    kept = " with its fill left empty" * (len(node.inputs) == 3 and not node.inputs[2].name)
    text = f"Pad{how}{' ' * bool(amounts)}{amounts}{origin}{kept}"
    return PaddingText(text, f"{form}Pad{how}{kept}", amounts)


def _amounts(pad: PadOp, op: WindowOp | UnreadableError | None) -> str:
    """The constant amounts of a `Pad`: by name of the axis where a window reads it."""
    if pad.constant_amounts is None:
        return ""
    full = pad.over(op.rank) if isinstance(op, WindowOp) else None
    if full is not None and isinstance(op, WindowOp):
        return op.operator.layout.told(full)
    return told_axes(pad.constant_amounts, pad.axes)


def _origin(graph: Graph, node: Node, computing: int) -> tuple[str, str]:
    """Where the amounts of a `Pad` come from, for the text and for the form."""
    if graph.opset < 11:
        return "", ""
    if graph.is_external(node.inputs[1]):
        return " (in another file)", "external "
    if graph.constant(node.inputs[1]) is None:
        return f" (computed by {computing} nodes)" if computing else " (computed)", "computed "
    return "", ""
