"""A `Pad` that no other rule reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.notation import axes_text
from onnxpad.finding import Severity
from onnxpad.graph import Node, Use
from onnxpad.messages import Named, and_list, few, named
from onnxpad.padding.padding import has_amounts
from onnxpad.padding.readers import Readers
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass
from onnxpad.semantics.no_padding import why_no_padding
from onnxpad.semantics.operators import MICROSOFT, crops, gathering
from onnxpad.semantics.read_nodes import PadOp, UnreadableError, WindowOp

MOST_READERS: Final = 4
"""A reason names at most this many readers."""


class ReportPad(Pass):
    """A `Pad` that reaches no Conv or pool which could take over its padding.

    ## What it does
    Names its readers, and the nodes (a Sigmoid, a Resize) between it and the next Conv or pool. One
    that the style wants is not reported.

    ## Why it matters
    It costs a pass over memory. The nodes between show what to change, so that it folds.

    ## Example
        p = Pad (x, pads)
        s = Sigmoid (p)
        y = MaxPool <kernel_shape = [3, 3]> (s)
    stays
    where
        float[1, 2, 8, 8] x
        int64[8] pads = {0, 0, 0, 0, 0, 0, 1, 1}

    ## When it is exact
    Nothing is changed.

    ## References
    ONNX Pad-25.
    """

    code = "PAD206"
    severity = Severity.INFO
    rewrites = False
    rest = True

    def find(self, context: Context) -> Iterator[Match]:
        """Every `Pad` that remains, in file order."""
        graph, readers = context.graph, Readers(context.graph)
        for node in graph.nodes:
            if node.op != "Pad" or id(node) in context.reported:
                continue
            if graph.is_function(node) or not node.outputs:
                continue  # the rule on functions reports it
            is_own = graph.is_standard(node)
            pad = context.pad(node) if is_own else None
            if isinstance(pad, UnreadableError) or (graph.names_standard(node) and not is_own):
                continue  # the rule on unreadable nodes reports it
            found = readers.of(node.outputs[0])
            left = [e for e in found if pad is None or not _is_asked(context, pad, e)]
            if left or not found:
                message = described_pad(context.analysis, node, pad)
                path = readers.path(node.outputs[0])
                causes = [*_causes(context, readers, node, pad, left, path)]
                general = "; ".join(dict.fromkeys(cause.general for cause in causes))
                reason = RefusalError(
                    causes[0].code,
                    Named(few(dict.fromkeys(map(str, causes)), MOST_READERS, "; "), general),
                    "; ".join(dict.fromkeys(cause.brief or cause.general for cause in causes)),
                    summary=general,
                    options=[o for o in causes[0].options if all(o in c.options for c in causes)],
                    **_facts(context, pad, found, path),
                )
                yield self.refused(context, node, Named.of(message), reason)


def _is_asked(context: Context, pad: PadOp, use: Use | None) -> bool:
    """Whether a reader is a window operator before which the style wants this `Pad`."""
    if use is None or (style := context.style_of(use.node)) == "fold":
        return False
    op = context.window(use.node) if gathering(context.graph, use.node) else None
    known = pad.constant_amounts
    if not isinstance(op, WindowOp) or pad.mode != "constant" or known is None:
        return False
    if use.index != op.operator.inputs.data:
        return False
    if style == "pad":
        return min(map(min, known), default=0) >= 0
    try:
        padding, _, around = context.sites.planned(op, style)
    except RefusalError:
        return False
    return padding.outside == around and has_amounts(op, pad, around)


def _causes(
    context: Context,
    readers: Readers,
    node: Node,
    pad: PadOp | None,
    found: Sequence[Use | None],
    path: Sequence[Use],
) -> Iterator[RefusalError]:
    """Why a `Pad` stays: in itself, for what stands behind it, and for each reader."""
    if pad is None and node.domain == MICROSOFT:
        text = f"onnxpad does not cover {node.op} of {node.domain}"
        yield RefusalError(Reason.OPERATOR_NOT_COVERED, text)
    elif pad is None:
        text = f"{node.op} is a custom operator of {node.domain}"
        yield RefusalError(Reason.CUSTOM_OPERATOR, text)
    if not found:
        yield RefusalError(Reason.UNUSED, "nothing reads it")
    if len(path) > 1:
        yield _in_itself(context, pad, path) or _between(context, readers, path)
    for use in found:
        if use is None:
            yield RefusalError(Reason.GRAPH_OUTPUT, "it is an output of the graph")
        elif len(path) < 2 or path[0].node is not use.node:
            yield _declined(context, readers, use)


def _in_itself(context: Context, pad: PadOp | None, path: Sequence[Use]) -> RefusalError | None:
    """Why a `Pad` folds into no operator, whatever stands between; None if it might."""
    if pad is None:
        return None
    if pad.mode != "constant":
        said = f"it copies data ({pad.mode}), as no operator's pads do"
        return RefusalError(Reason.COPIES_DATA, said)
    shape = context.analysis.shape(pad.data)
    known = None if shape is None else pad.over(len(shape))
    keeps_axes = _MOVING.isdisjoint(use.node.op for use in path)
    if known is not None and keeps_axes and any(map(any, known[:2])):
        said = "it pads the batch or the channels, as no operator's pads do"
        return RefusalError(Reason.PADS_BATCH_OR_CHANNELS, said)
    return None


_MOVING: Final = frozenset({"Transpose", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Expand"})
"""Steps behind which an axis may be another one."""


def _between(context: Context, readers: Readers, path: Sequence[Use]) -> RefusalError:
    """The cause that nodes stand between a `Pad` and the next operator that takes none, or one."""
    graph, label = context.graph, context.graph.label
    *between, end = path
    why = {each.node.op: why_no_padding(graph, *each) for each in path}
    if not gathering(graph, end.node):
        why[end.node.op] = why[end.node.op] or _takes_none(context, end)
    further = "".join(f"; {op}: {each}" for op, each in why.items() if each)
    said = named(
        lambda name: (
            f"{and_list(f'{each.node.op}{name(label(each.node))}' for each in between)} "
            f"{'stand' if len(between) > 1 else 'stands'} between it and {end.node.op}"
            f"{name(label(end.node))}{further}"
        )
    )
    is_window = readers.inputs(end.node) is not None
    return RefusalError(Reason.STEPS_BETWEEN if is_window else Reason.TAKES_NO_PADDING, said)


def _declined(context: Context, readers: Readers, use: Use) -> RefusalError:
    """Why a reader of a `Pad` does not take over its padding."""
    graph, (node, index) = context.graph, use
    label, inputs, why = graph.label(node), readers.inputs(node), why_no_padding(graph, *use)
    if inputs is not None and index == inputs.data and gathering(graph, node):
        return _verdict(context, node)
    if index < 0:
        code, does = Reason.READ_IN_BODY, "reads it in a body"
    elif inputs is not None and index != inputs.data:
        code, does = Reason.READ_AS_OPERAND, f"reads it as input {index}"
    elif inputs is not None or why:
        code = Reason.TAKES_NO_PADDING if inputs is None else Reason.OPERATOR_NOT_COVERED
        does = f"reads it: {why or _takes_none(context, use)}"
    elif readers.hands_on(node, index) and (way := readers.dead_end(node.outputs[0])):
        return _between(context, readers, (use, *way))
    else:
        code, does = Reason.NO_WINDOW, "reads it, and is not known to have a window"
    return RefusalError(code, named(lambda name: f"{node.op}{name(label)} {does}"))


def _takes_none(context: Context, use: Use) -> str:
    is_crop = crops(context.graph, use.node)
    return "its own pads would crop" if is_crop else "onnxpad does not cover it"


def _verdict(context: Context, node: Node) -> RefusalError:
    op, style, label = context.window(node), context.style_of(node), context.graph.label(node)
    why = RefusalError(Reason.AS_ASKED, f"in style {style} the Pad stays before it")
    if isinstance(op, UnreadableError):
        why = RefusalError(Reason.READER_UNREADABLE, f"it cannot be read itself: {op}")
    elif isinstance(op, WindowOp):
        try:
            context.sites.planned(op, style)
        except RefusalError as refusal:
            why = refusal
    said = Named(f"{node.op} {label!r}: {why}", f"{node.op}: {why.general}")
    brief = f"{node.op}: {why.brief}" if why.brief else ""
    return RefusalError(why.code, said, brief, options=why.options)


def described_pad(analysis: Analysis, node: Node, pad: PadOp | None) -> str:
    """A `Pad` in words; for one of another domain, only the domain."""
    if pad is None:
        return f"Pad of {node.domain}"
    shape = analysis.shape(pad.data)
    known = pad.constant_amounts
    if known is None:
        amounts = ", amounts computed"
    elif pad.axes is None or shape is None:
        amounts = f" {axes_text(known, pad.axes)}"
    else:
        amounts = f" {axes_text(pad.over(len(shape)) or known)}"
    how = f" ({pad.mode})" if pad.mode != "constant" else f" with {pad.value}" * bool(pad.value)
    return f"Pad{amounts}{how}"


def _facts(
    context: Context, pad: PadOp | None, found: Sequence[Use | None], path: Sequence[Use]
) -> dict[str, object]:
    label = context.graph.label
    return {
        "mode": pad.mode if pad is not None else None,
        "amounts": None if pad is None else pad.constant_amounts,
        "value": None if pad is None or pad.mode != "constant" else pad.value,
        "readers": [
            {"node": label(use.node), "op_type": use.node.op, "input": use.index}
            for use in found
            if use is not None
        ],
        "output": None in found,
        "steps": [label(use.node) for use in path[:-1]],
        "window": label(path[-1].node) if path else None,
    }
