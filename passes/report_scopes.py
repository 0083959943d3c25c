"""Padding in bodies of nodes and in functions."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import onnx

from onnxpad.analysis import Analysis
from onnxpad.errors import ModelError
from onnxpad.finding import Finding, Severity
from onnxpad.graph import Graph, Node, function_label, held_bodies
from onnxpad.operators.read import UnreadableError, read_pad
from onnxpad.padding.readers import Readers
from onnxpad.passes.report_auto_pad import described_auto_pad, reported_auto_pad
from onnxpad.passes.report_pad import described_pad
from onnxpad.reasons import Reason
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.rule import Example, Match, Pass

BODIES: Final = "onnxpad rewrites nothing in bodies of nodes"
FUNCTIONS: Final = "onnxpad rewrites nothing in functions"


class ReportScopes(Pass):
    """Padding in a body or a function, where onnxpad rewrites nothing.

    ## What it does
    Names each `Pad`, and each operator with `auto_pad`, in the bodies of If, Loop, Scan,
    SequenceMap or any other node, and in the functions of the model. It says where each one is, as
    `If 'x' > then_branch > Conv 'c'`. Padding in a function is named once, however often the
    function is called.

    ## Why it matters
    The padding that onnxpad finds in the main graph is not all the padding of the model.

    ## When it is exact
    Nothing is changed. Explicit `pads` of a Conv or a pool are not reported.

    ## References
    ONNX IR, "Graphs" and "Functions"; If-25, Loop-25, Scan-25.
    """

    code = "PAD903"
    severity = Severity.INFO
    rewrites = False
    examples = (
        Example(
            given="""
                float[1, 2, 8, 8] x
                bool ok = {1}
                int64[8] pads = {0, 0, 0, 0, 0, 0, 1, 1}
            """,
            before="""
                y = If (ok) <then_branch = some () => (float[] y) { y = Pad (x, pads) },
                    else_branch = none () => (float[] y) { y = Identity (x) }>
            """,
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """All padding in bodies, in file order, then in functions."""
        graph = context.graph
        yield from self._inside(graph, context.analysis, BODIES)
        for index, light in enumerate(graph.model.skeleton.light.functions):
            if not _pads(light.node):
                continue
            try:
                function = graph.function(index)
            except ModelError as error:
                place = function_label(light)
                yield self._match(place, Node("function", place, {}, None), str(error), FUNCTIONS)
                continue
            analysis = Analysis(function)
            yield from self._listed(function, analysis, FUNCTIONS)
            yield from self._inside(function, analysis, FUNCTIONS)

    def _inside(self, graph: Graph, analysis: Analysis, reason: str) -> Iterator[Match]:
        """All padding in the bodies of a graph's nodes."""
        for node in graph.nodes:
            if not any(_pads(light.node) for _, light in held_bodies(node)):
                continue
            try:
                found = list(graph.bodies(node))
            except ModelError as error:
                yield self._match(_within(graph, node), node, str(error), reason)
                continue
            for body in found:
                inner = Analysis(body, outer=analysis)
                yield from self._listed(body, inner, reason)
                yield from self._inside(body, inner, reason)

    def _listed(self, graph: Graph, analysis: Analysis, reason: str) -> Iterator[Match]:
        """The padding of a body or function, without that of bodies inside it."""
        readers = Readers(graph)
        for node in graph.nodes:
            if node.op == "Pad" and not graph.is_function(node):
                message, facts = _described(graph, analysis, readers, node)
                facts["scope"] = graph.place
                yield self._match(_within(graph, node), node, message, reason, facts)
            if auto_pad := reported_auto_pad(node):
                message = described_auto_pad(node, auto_pad)
                facts = {"scope": graph.place, "auto_pad": auto_pad}
                yield self._match(_within(graph, node), node, message, reason, facts)

    def _match(
        self,
        label: str,
        node: Node,
        message: str,
        reason: str,
        facts: Mapping[str, object] = MappingProxyType({}),
    ) -> Match:
        finding = Finding(
            self.code,
            Severity.INFO,
            label,
            node.op,
            message,
            reason,
            MappingProxyType(dict(facts)),
            reason_code=Reason.OTHER_SCOPE,
        )
        return Match(finding, node)


def _pads(nodes: Iterable[onnx.NodeProto]) -> bool:
    """Whether nodes, or those in their bodies, may pad: a quick look before these are read."""
    for node in nodes:
        if node.op_type == "Pad":
            return True
        for attribute in node.attribute:
            held = [attribute.g] if attribute.HasField("g") else attribute.graphs
            if attribute.name == "auto_pad" or any(_pads(body.node) for body in held):
                return True
    return False


def _described(
    graph: Graph, analysis: Analysis, readers: Readers, node: Node
) -> tuple[str, dict[str, object]]:
    """A `Pad` and its readers, in words and as facts, as far as they can be read."""
    facts: dict[str, object] = {}
    referring = {
        name: value.ref_attr_name
        for name, value in node.attrs.items()
        if isinstance(value, onnx.AttributeProto)
    }
    if not graph.is_standard(node):
        version = graph.opsets.get("")
        of = node.domain or ("no known opset" if version is None else f"opset {version}")
        text = f"Pad of {of}"
    elif referring:
        text = f"Pad with {', '.join(f'{name}=@{value}' for name, value in referring.items())}"
    else:
        try:
            pad = read_pad(graph, analysis, node)
        except (ModelError, UnreadableError) as error:
            text = f"Pad that cannot be read: {error}"
        else:
            text = described_pad(analysis, node, pad)
            facts = {"mode": pad.mode, "amounts": pad.constant_amounts}
    found = readers.of(node.outputs[0]) if node.outputs else []
    after = [each.node for each in found if each.node is not None]
    if after:
        more = f" and {len(after) - 1} more" * (len(after) > 1)
        text += f" before {_named(graph, after[0])}{more}"
    return text, facts


def _within(graph: Graph, node: Node) -> str:
    """The label of a node, with the bodies or function around it."""
    return f"{graph.place} > {_named(graph, node)}" if graph.place else graph.label(node)


def _named(graph: Graph, node: Node) -> str:
    return f"{node.op} {graph.label(node)!r}"
