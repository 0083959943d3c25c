"""Padding where no rule looks, and nodes that the specification does not allow as written."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.finding import Finding, Severity
from onnxpad.graph import Graph, Node, held_bodies
from onnxpad.passes.report_pad import reported_auto_pad
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.pass_api import Context, Match, Pass
from onnxpad.rewrite.scopes import PADDING, covers, pads


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
        location, code = graph.location(node), Reason.OTHER_SCOPE
        return Match(Finding(*said, reason_code=code, location=location), node)
