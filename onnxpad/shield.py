"""Keeps onnxruntime's optimiser from changing what a rewritten model computes.

From its basic level on, onnxruntime folds a `Pad` of zeros into the Conv or pool behind it without
asking whether negative data are pooled, whether the pads stay below the kernel, or how many windows
`ceil_mode` gives: the model then computes something else, or no longer loads
(onnxruntime/core/optimizer/pad_fusion.cc). It asks that the amounts are constant and that no
`auto_pad` is written, so a rewrite that is exact can lay such a `Pad` open to it. A third input
that is there and empty means what an absent one means, and keeps the optimiser away.

Where amounts are computed, it takes a declared shape, which nobody enforces, for what Shape gives.

May import: graph, operators, rule, size.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from onnxpad.graph import Tensor
from onnxpad.operators import PadOp
from onnxpad.rule import Context
from onnxpad.size import Size

Node: TypeAlias = Any

_VALUE: Final = 2
_FUSED: Final = frozenset({"Conv", "MaxPool", "AveragePool"})


def shield(context: Context) -> None:
    """Shields what edits have laid open to it; what was open before stays as it came."""
    _correct_claims(context)
    for pad in _before_copies(context):
        _close(context, pad)
    found = list(_open(context))
    if not found:
        return
    before = {_said(pad) for pad in _open(Context(context.graph.pristine()))}
    for pad in found:
        if _said(pad) in before:
            continue
        _close(context, pad)


def _correct_claims(context: Context) -> None:
    """Drops value_info that contradicts the operators, where an added Shape would be its result."""
    graph = context.graph
    if not any(node.op == "Shape" and graph.is_new(node) for node in graph.nodes):
        return
    for tensor, claimed in list(graph.claims()):
        shape = context.analysis.shape(tensor)
        if shape is None:
            continue
        if len(shape) != len(claimed) or any(
            isinstance(claim, int) and isinstance(size, int | Size) and size != claim
            for claim, size in zip(claimed, shape, strict=True)
        ):
            graph.undeclare(tensor)


def _close(context: Context, pad: PadOp) -> None:
    node = pad.node
    while len(node.inputs) <= _VALUE:
        context.graph.set_input(node, len(node.inputs), Tensor(""))
    context.graph.set_input(node, _VALUE, Tensor(""))


def _before_copies(context: Context) -> Iterator[PadOp]:
    """The `Pad`s of what is also copied to an output of the graph.

    onnxruntime takes the copy away, and then folds the `Pad` into an operator whose input it cannot
    find any more. Only a `Pad` that was put there is meant: the others are as they came.
    """
    graph = context.graph
    if graph.opset < 11:
        return
    copied = {
        node.inputs[0].name
        for node in graph.nodes
        if node.op == "Identity" and graph.is_output(node.outputs[0])
    }
    for pad in context.pads():
        if pad.data.name in copied and graph.is_new(pad.node) and _is_folded(pad):
            yield pad


def _open(context: Context) -> Iterator[PadOp]:
    """The `Pad`s that onnxruntime folds, and should not."""
    if context.graph.opset < 11:
        return
    for op in context.windows():
        if op.operator.op_type not in _FUSED or op.auto_pad != "NOTSET":
            continue
        pad = context.sites.pad_before(op)
        if pad is None or context.graph.constant(pad.node.inputs[1]) is None:
            continue  # amounts that are computed keep the optimiser away, as far as it sees
        if _is_folded(pad) and not context.sites.folds(op, "fold"):
            yield pad


def _said(pad: PadOp) -> tuple[str, object]:
    """What tells a `Pad` from others, and from itself once it pads more."""
    return pad.node.outputs[0].name, pad.constant_amounts


def _is_folded(pad: PadOp) -> bool:
    amounts = pad.constant_amounts
    given = len(pad.node.inputs) <= _VALUE or pad.node.inputs[_VALUE].name
    return (
        pad.mode == "constant"
        and pad.value == 0
        and bool(given)
        and amounts is not None
        and all(begin >= 0 and end >= 0 for begin, end in amounts)
    )
