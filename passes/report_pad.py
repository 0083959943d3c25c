"""Padding that stays and that no other rule reports, nor looks at, and nodes that none can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxpad.arithmetic.window import axes_text
from onnxpad.errors import and_list, few, without_names
from onnxpad.finding import Finding, Severity
from onnxpad.graph import Graph, Node, Use, held_bodies
from onnxpad.padding.padding import Readers
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.pass_api import Context, Match, Pass
from onnxpad.rewrite.scopes import PADDING, covers, pads
from onnxpad.semantics.operators import MICROSOFT, PadOp, gathering, is_transposed, windowed
from onnxpad.semantics.rows import UnreadError

MOST_READERS = 4
"""A reason names at most this many readers."""


class ReportPad(Pass):
    """A `Pad` that no other rule reports, with what keeps its readers from taking it over.

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
            is_pad = node.op == "Pad" and node.outputs
            if not is_pad or id(node) in context.reported or graph.is_function(node):
                continue
            pad = context.pad(node) if graph.names_standard(node) else None
            if isinstance(pad, UnreadError):
                continue  # the rule on unreadable nodes reports it
            found, path = readers.of(node.outputs[0]), readers.path(node.outputs[0])
            if causes := [*_causes(context, found, node, pad, path)]:
                told, label = dict.fromkeys(map(str, causes)), graph.label
                uses = [use for use in found if use is not None]
                brief = "; ".join(dict.fromkeys(map(without_names, told)))
                reason = RefusalError(
                    causes[0].code,
                    few(told, MOST_READERS, "; "),
                    brief,
                    summary=brief,
                    mode=pad and pad.mode,
                    amounts=pad and pad.constant_amounts,
                    value=pad.value if pad and pad.mode == "constant" else None,
                    readers=[
                        {"node": label(use.node), "op_type": use.node.op, "input": use.index}
                        for use in uses
                    ],
                    output=None in found,
                    steps=[label(use.node) for use in path[:-1]],
                    window=label(path[-1].node) if path else None,
                )
                yield self.refused(context, node, _described(node, pad), reason)


def _causes(
    context: Context,
    found: Sequence[Use | None],
    node: Node,
    pad: PadOp | None,
    path: Sequence[Use],
) -> Iterator[RefusalError]:
    """Why a `Pad` stays: for itself, on the way to a window, and for each reader that lets it."""
    graph, told = context.graph, path[0].node if len(path) > 1 else None
    if pad is None:
        yield not_covered(graph, node)
    if not found:
        yield RefusalError(Reason.UNUSED, "nothing reads it")
    if told is not None and pad and pad.mode != "constant":
        yield RefusalError(Reason.COPIES_DATA, f"it copies data ({pad.mode})")
    elif told is not None:
        yield _way(graph, path)
    for use in found:
        if use is None:
            yield RefusalError(Reason.GRAPH_OUTPUT, "it is an output of the graph")
        elif use.node is not told and (why := _declined(context, pad, use)):
            yield why


def not_covered(graph: Graph, node: Node) -> RefusalError:
    """Why nothing is known of what an operator without a row pads."""
    text = f"onnxpad does not cover {node.op}" + f" of {node.domain}" * bool(node.domain)
    if graph.is_standard(node) or node.domain == MICROSOFT:
        return RefusalError(Reason.OPERATOR_NOT_COVERED, text)
    own = "it is a function" if graph.is_function(node) else "only its author defines how it pads"
    return RefusalError(Reason.CUSTOM_OPERATOR, f"{text}: {own}")


def _declined(context: Context, pad: PadOp | None, use: Use) -> RefusalError | None:
    """Why a reader of a `Pad` does not take over its padding; None where the style wants that."""
    (node, index), graph = use, context.graph
    told = f"{node.op} {graph.label(node)!r}"
    if index < 0:
        return RefusalError(Reason.READ_IN_BODY, f"{told} reads it in a body")
    if index and windowed(graph, node):
        return RefusalError(Reason.READ_AS_OPERAND, f"{told} reads it as input {index}")
    if gathering(graph, node) is None:
        return _way(graph, (use,))
    if isinstance(op := context.read(node), UnreadError):
        return RefusalError(Reason.READER_UNREADABLE, f"{told}: it cannot be read itself: {op}")
    is_plain = pad is not None and pad.mode == "constant"
    if is_plain and context.wanted(node).style in {"pad", "symmetric"}:
        return None
    return RefusalError(Reason.AS_ASKED, f"{told}: it takes the Pad as it came")


def _way(graph: Graph, path: Sequence[Use]) -> RefusalError:
    """Why padding is not taken over at the end of a path: by its operator, or by its steps."""
    *steps, (end, _) = path
    code, why = Reason.STEPS_BETWEEN, ""
    if not steps:
        is_window = windowed(graph, end)
        code = Reason.OPERATOR_NOT_COVERED if is_window else Reason.NO_WINDOW
        why = ": onnxpad does not cover it" if is_window else ": it is not known to have a window"
    if is_transposed(graph, end):
        why = ": its own pads would crop"
    *between, last = (f"{use.node.op} {graph.label(use.node)!r}" for use in path)
    past = f" past {and_list(between)}" * bool(between)
    return RefusalError(code, f"{last} reads it{past}{why}")


def _described(node: Node, pad: PadOp | None) -> str:
    """A `Pad` in words; for one of another domain, only the domain."""
    if pad is None:
        return f"Pad of {node.domain}"
    known = pad.constant_amounts
    amounts = ", amounts computed" if known is None else f" {axes_text(known, pad.axes)}"
    how = f" ({pad.mode})" if pad.mode != "constant" else f" with {pad.value}" * bool(pad.value)
    return f"Pad{amounts}{how}"


class ReportAutoPad(Pass):
    """`auto_pad` on an operator that onnxpad does not cover.

    ## What it does
    Names it: NhwcConv, NhwcFusedConv of com.microsoft, other domains, functions of the model.
    ## Why it matters
    Many importers reject it; outside of the standard, its author or an `onnxpad.Row` defines it.
    ## Example
        y = com.microsoft.NhwcConv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)
    stays
    where
        float[1, 8, 8, 2] x, float[3, 3, 3, 2] w
    ## When it is exact
    Nothing is changed. NOTSET leaves nothing to the runtime, so it is not reported.
    ## References
    onnxruntime, docs/ContribOperators.md, NhwcConv.
    """

    code = "PAD103"
    severity = Severity.INFO
    rewrites = False
    rest = True

    def find(self, context: Context) -> Iterator[Match]:
        """Every remaining `auto_pad` other than NOTSET, in file order."""
        told = context.reported.union(id(node) for node, _ in context.unreadable())
        for node in context.graph.nodes:
            auto_pad = reported_auto_pad(node)
            if auto_pad and id(node) not in told:
                why, facts = not_covered(context.graph, node), {"domain": node.domain or ""}
                message = f"auto_pad={auto_pad}"
                yield self.refused(context, node, message, why, auto_pad=auto_pad, **facts)


def reported_auto_pad(node: Node) -> str:
    """Its `auto_pad`: "" for NOTSET, "@name" for an attribute of the function, "?" if no string."""
    value = node.attrs.get("auto_pad", "NOTSET")
    if reference := getattr(value, "ref_attr_name", ""):
        return f"@{reference}"
    text = value if isinstance(value, str) else "?"
    return "" if text == "NOTSET" else text


class ReportUnreadable(Pass):
    """A node with attributes, inputs or outputs that no rule can rely on.

    ## What it does
    Names what is wrong with it, or which attributes each call of the function sets. Nothing is
    rewritten around it. Without a window, and no `Pad`, it need only fit its schema: types of
    attributes, numbers of inputs and outputs.
    ## Why it matters
    Such a model loads in one runtime, and fails or means something else in another.
    ## Example
        y = Conv <auto_pad = "SAME"> (x, w)
    stays
    where
        float[1, 2, 8, 8] x, float[3, 2, 3, 3] w
    ## When it is exact
    Nothing is changed.
    ## References
    ONNX Conv-22, "auto_pad" and "pads": the values allowed.
    """

    code = "PAD901"
    severity = Severity.INFO
    rewrites = False

    def find(self, context: Context) -> Iterator[Match]:
        """Every node that cannot be read."""
        for node, error in context.unreadable():
            if context.graph.refers(node) and node.op != "Pad" and not PADDING & node.attrs.keys():
                continue  # where it reads a Pad, the finding about that says so
            refusal = RefusalError(Reason.UNREADABLE, str(error))
            yield self.refused(context, node, f"{node.op} that no rule reads", refusal)


class ReportScopes(Pass):
    """Padding in a body or a function that cannot be rewritten as a whole.

    ## What it does
    Names each `Pad` and `auto_pad` where no other rule looks: in bodies of custom operators, Scan
    and SequenceMap, and functions of an unknown opset. It says where:
    `mine.While 'x' > body > Conv 'c'`.
    ## Why it matters
    The padding that the other rules find is not all the padding of the model.
    ## Example
        y = mine.Run (x) <body = some () => (float[] y) { y = Pad (x, pads) }>
    stays
    where
        float[1, 2, 8, 8] x
        int64[8] pads = {0, 0, 0, 0, 0, 0, 1, 1}
    ## When it is exact
    Nothing is changed. Explicit `pads` of a Conv or a pool are not reported.
    ## References
    ONNX IR, "Graphs" and "Functions"; If-25, Loop-25, Scan-25.
    """

    code = "PAD903"
    severity = Severity.INFO
    rewrites = False
    scopes = True

    def find(self, context: Context) -> Iterator[Match]:
        """All padding that no other rule looks at in a graph, its bodies, and the functions."""
        graph = context.graph
        if context.closed:
            yield from self._padding(graph, context.closed)
        for node in graph.running():
            yield from self._in_bodies(graph, node)

    def _in_bodies(self, graph: Graph, node: Node, reason: str = "") -> Iterator[Match]:
        """The padding in the bodies of a node; without a reason only where others do not look."""
        if not any(pads(light.node) for _, light in held_bodies(node)):
            return
        if reason or not covers(graph, node):
            reason = reason or f"what {node.op} hands to its bodies is not known"
            for body in graph.bodies(node):
                yield from self._padding(body, reason)
                for inner in body.running():
                    yield from self._in_bodies(body, inner, reason)

    def _padding(self, graph: Graph, reason: str) -> Iterator[Match]:
        """The padding of a body or function, without that of bodies inside it."""
        for node in graph.nodes:
            if node.op == "Pad" and not graph.is_function(node):
                yield self._match(graph, node, "Pad", reason, scope=graph.place)
            if auto_pad := reported_auto_pad(node):
                facts = {"scope": graph.place, "auto_pad": auto_pad}
                yield self._match(graph, node, f"auto_pad={auto_pad}", reason, **facts)

    def _match(self, graph: Graph, node: Node, message: str, reason: str, **facts: object) -> Match:
        """A finding about a node of a graph."""
        said = self.code, Severity.INFO, graph.place_of(node), node.op, message, reason, facts
        place = graph.location(node)
        return Match(Finding(*said, reason_code=Reason.OTHER_SCOPE, location=place), node)
