"""A `Pad` that no other rule reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.notation import axes_text
from onnxpad.finding import Severity
from onnxpad.graph import Graph, Node, Use
from onnxpad.messages import Named, and_list, few
from onnxpad.operators.no_padding import why_no_padding
from onnxpad.operators.read import PadOp, UnreadableError, WindowOp
from onnxpad.operators.table import MICROSOFT, Inputs, crops, key_of
from onnxpad.padding.padding import has_amounts
from onnxpad.padding.readers import Readers
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Example, Match, Pass

MOST_READERS: Final = 4
"""A reason names at most this many readers."""


class ReportPad(Pass):
    """A `Pad` that reaches no Conv or pool which could take over its padding.

    ## What it does
    Names the readers of the `Pad`, and the nodes between it and the next Conv or pool, such as a
    Sigmoid or a Resize. A `Pad` that stays because the style wants it there is not
    reported.

    ## Why it matters
    Such a `Pad` stays, with all that it costs. The nodes in between show what to change in the
    exporter, or in the model, so that it folds.

    ## When it is exact
    Nothing is changed.

    ## References
    ONNX Pad-25.
    """

    code = "PAD206"
    severity = Severity.INFO
    rewrites = False
    rest = True
    examples = (
        Example(
            given="""
                float[1, 2, 8, 8] x
                int64[8] pads = {0, 0, 0, 0, 0, 0, 1, 1}
            """,
            before="""
                p = Pad (x, pads)
                s = Sigmoid (p)
                y = MaxPool <kernel_shape = [3, 3]> (s)
            """,
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """Every `Pad` that remains, in file order."""
        graph = context.graph
        left = [
            node for node in graph.nodes if node.op == "Pad" and id(node) not in context.reported
        ]
        readers = Readers(graph)
        for node in left:
            if graph.is_function(node) or not node.outputs:
                continue  # the rule on functions reports it
            is_own = graph.is_standard(node)
            pad = context.pad(node) if is_own else None
            if isinstance(pad, UnreadableError) or (graph.names_standard(node) and not is_own):
                continue  # the rule on unreadable nodes reports it
            found = readers.of(node.outputs[0])
            others = [
                each
                for each in found
                if pad is None or not self._is_asked(context, readers, pad, each)
            ]
            if found and not others:
                continue
            path = readers.path(node.outputs[0])
            causes = [*_foreign(node, pad), *_causes(context, readers, pad, others, path)]
            refusal = RefusalError(
                causes[0].code,
                Named(
                    few(dict.fromkeys(map(str, causes)), MOST_READERS, "; "),
                    "; ".join(dict.fromkeys(cause.general for cause in causes)),
                ),
                "; ".join(dict.fromkeys(cause.brief or _general(cause) for cause in causes))
                if any(cause.brief for cause in causes)
                else "",
                summary="; ".join(dict.fromkeys(map(_general, causes))),
                **_facts(context, pad, found, path),
                options=_help_all(causes),
            )
            message = Named.of(described_pad(context.analysis, node, pad))
            yield self.refused(context, node, message, refusal)

    def _is_asked(self, context: Context, readers: Readers, pad: PadOp, use: Use | None) -> bool:
        """Whether a reader is a window operator before which the style wants this `Pad`."""
        if use is None or (style := context.style_of(use.node)) == "fold":
            return False
        op = context.window(use.node) if readers.slides(use.node) else None
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


_CROPS: Final = "whose own pads would crop"
_NOT_COVERED: Final = "which onnxpad does not cover"
"""Words about a window that takes no `Pad`: one that scatters, and any other."""


def _general(cause: RefusalError) -> str:
    """A cause without names of readers, which groups equal ones."""
    return str(cause.facts.get("summary", cause.general))


def _foreign(node: Node, pad: PadOp | None) -> Iterator[RefusalError]:
    """Why a `Pad` of another domain stays."""
    if pad is None and node.domain == MICROSOFT:
        text = f"onnxpad does not cover {node.op} of {node.domain}"
        yield RefusalError(Reason.OPERATOR_NOT_COVERED, text)
    elif pad is None:
        text = f"{node.op} is a custom operator of {node.domain}"
        yield RefusalError(Reason.CUSTOM_OPERATOR, text)


def _causes(
    context: Context,
    readers: Readers,
    pad: PadOp | None,
    found: Sequence[Use | None],
    path: Sequence[Use],
) -> Iterator[RefusalError]:
    """Why the readers of a `Pad` do not take over its padding."""
    if not found:
        yield RefusalError(Reason.UNUSED, "nothing reads it")
    if len(path) > 1:
        yield _in_itself(context, pad, path) or _between(context, readers, path)
    for use in found:
        if use is None:
            yield RefusalError(Reason.GRAPH_OUTPUT, "it is an output of the graph")
            continue
        node, index = use
        name, inputs = _name(context, node), readers.inputs(node)
        if index < 0:
            said = Named(*(f"a body of {each} reads it" for each in name))
            yield RefusalError(Reason.READ_IN_BODY, said)
        elif readers.slides(node) and inputs is not None and index == inputs.data:
            yield _declined(context, node, name)
        elif inputs is not None and index == inputs.data:
            form = f"reads it, {_CROPS if crops(context.graph, node) else _NOT_COVERED}"
            why = why_no_padding(context.graph, node, index)
            form += f": {why}" * bool(why)
            yield RefusalError(Reason.OPERATOR_NOT_COVERED, _does(name, form))
        elif inputs is not None:
            form = f"reads it as {_operand(inputs, index)}"
            yield RefusalError(Reason.READ_AS_OPERAND, _does(name, form))
        elif len(path) < 2 or path[0].node is not node:
            yield _windowless(context, readers, node, index)


def _windowless(context: Context, readers: Readers, node: Node, index: int) -> RefusalError:
    """Why an operator without a window does not take over the padding that it reads."""
    graph, name = context.graph, _name(context, node)
    if why := why_no_padding(graph, node, index):
        return RefusalError(Reason.TAKES_NO_PADDING, _does(name, f"reads it: {why}"))
    path = readers.dead_end(node.outputs[0]) if readers.hands_on(node, index) else ()
    if not path:
        form = "reads it, which has no window"
        if _is_unknown(graph, node):
            form = (
                f"of {node.domain} reads it, which onnxpad does not know (onnxpad docs operators)"
            )
        return RefusalError(Reason.NO_WINDOW, _does(name, form))
    why, end = why_no_padding(graph, *path[-1]), _name(context, path[-1].node)
    said = Named(
        *(f"{one} hands it on to {other}: {why}" for one, other in zip(name, end, strict=True))
    )
    return RefusalError(Reason.TAKES_NO_PADDING, said)


def _is_unknown(graph: Graph, node: Node) -> bool:
    """Whether a node is of a domain of somebody else, and not declared or a function."""
    key = key_of(graph, node)
    return key is not None and key[0] not in {"", MICROSOFT} and not key[0].startswith("ai.onnx.")


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
    """The cause that nodes stand between a `Pad` and the next window."""
    *between, window = (use.node for use in path)
    stands = "stand" if len(between) > 1 else "stands"
    further = f", {_CROPS if crops(context.graph, window) else _NOT_COVERED}"
    further *= not readers.slides(window)
    for op, why in {step.op: why_no_padding(context.graph, step, 0) for step in between}.items():
        further += f"; {op}: {why}" * bool(why)
    steps = map(and_list, zip(*(_name(context, step) for step in between), strict=True))
    ends = zip(steps, _name(context, window), strict=True)
    said = Named(*(f"{each} {stands} between it and {end}{further}" for each, end in ends))
    return RefusalError(Reason.STEPS_BETWEEN, said)


def _declined(context: Context, node: Node, name: Named) -> RefusalError:
    """Why a window operator does not take over the padding of the `Pad` that it reads."""
    op = context.window(node)
    if isinstance(op, UnreadableError):
        form = f"reads it, and cannot be read itself: {op}"
        return RefusalError(Reason.READER_UNREADABLE, _does(name, form))
    style = context.style_of(node)
    try:
        context.sites.planned(op, style)
    except RefusalError as refusal:
        brief = f"{node.op}: {refusal.brief}" if refusal.brief else ""
        said = Named(f"{name.text}: {refusal}", f"{name.general}: {refusal.general}")
        summary = f"{node.op}: {refusal}"
        return RefusalError(refusal.code, said, brief, summary=summary, options=refusal.options)
    said = Named(*(f"in style {style} it stays before {each}" for each in name))
    return RefusalError(Reason.AS_ASKED, said)


def _help_all(causes: Sequence[RefusalError]) -> tuple[str, ...]:
    """The options that do away with every cause."""
    first, *others = causes
    return tuple(each for each in first.options if all(each in cause.options for cause in others))


def _operand(inputs: Inputs, index: int) -> str:
    told = {inputs.weight: "its weight", inputs.bias: "its bias"}
    return told.get(index, f"input {index}")


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


def _name(context: Context, node: Node) -> Named:
    """A node with its label, and its operator alone."""
    return Named(f"{node.op} {context.graph.label(node)!r}", node.op)


def _does(name: Named, form: str) -> Named:
    """A sentence of which a node is the subject."""
    return Named(*(f"{each} {form}" for each in name))


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
