"""Padding in bodies of nodes and in functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import onnx

from onnxpad.analysis import Analysis
from onnxpad.analysis.bodies_and_calls import MOST_NODES, Inside
from onnxpad.errors import ModelError
from onnxpad.finding import Finding, Location, Severity
from onnxpad.graph import Graph, Node, function_label, held_bodies
from onnxpad.operators.read import UnreadableError, read_pad
from onnxpad.padding.readers import Readers
from onnxpad.passes.report_auto_pad import described_auto_pad, reported_auto_pad
from onnxpad.passes.report_pad import described_pad
from onnxpad.reasons import Reason
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Example, Match, Pass
from onnxpad.rewrite.scopes import covers, pads


class ReportScopes(Pass):
    """Padding in a body or a function that cannot be rewritten as a whole.

    ## What it does
    The other rules look into the bodies of If, Loop, Scan and SequenceMap, and into functions. This
    one names each `Pad`, and each operator with `auto_pad`, where they cannot: in bodies of custom
    operators, in functions of an unknown opset, and in bodies and functions that are malformed. It
    says where each one is, as `mine.While 'x' > body > Conv 'c'`. It also names the bodies and
    functions that run with too many different sizes to analyse each.

    ## Why it matters
    The padding that the other rules find is not all the padding of the model.

    ## When it is exact
    Nothing is changed. Explicit `pads` of a Conv or a pool are not reported.

    ## References
    ONNX IR, "Graphs" and "Functions"; If-25, Loop-25, Scan-25.
    """

    code = "PAD903"
    severity = Severity.INFO
    rewrites = False
    scopes = True
    examples = (
        Example(
            given="""
                float[1, 2, 8, 8] x
                int64[8] pads = {0, 0, 0, 0, 0, 0, 1, 1}
            """,
            before="y = mine.Run (x) <body = some () => (float[] y) { y = Pad (x, pads) }>",
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """All padding that no other rule looks at in a graph, its bodies, and the functions."""
        graph = context.graph
        if context.closed:
            yield from self._padding_of_scope(graph, context.analysis, context.closed)
        for node in graph.nodes:
            yield from self._in_bodies(graph, context.analysis, node)
        if graph.is_main:
            for index, light in enumerate(graph.model.skeleton.light.functions):
                if pads(light.node):
                    yield from self._of_function(graph, index, light)
            for place, node in Inside.of(graph).left.items():
                reason = (
                    "what reads its results is told nothing of their sizes: of bodies and "
                    f"functions {MOST_NODES:,} nodes are analysed, and more in large models"
                )
                message = "more calls with different sizes than are told apart"
                yield self._match(place, node, message, reason)

    def _in_bodies(self, graph: Graph, analysis: Analysis, node: Node) -> Iterator[Match]:
        """The padding in the bodies of a node that the other rules do not look into."""
        if not any(pads(light.node) for _, light in held_bodies(node)):
            return
        try:
            found = list(graph.bodies(node))
        except ModelError as error:
            yield self._match(graph, node, str(error), "a body is malformed")
            return
        if not covers(graph, node):
            reason = f"only its author defines what {node.op} does with its bodies"
            yield from self._bodies(found, analysis, reason)

    def _of_function(self, main: Graph, index: int, light: onnx.FunctionProto) -> Iterator[Match]:
        try:
            main.function(index)
        except ModelError as error:
            place = function_label(light)
            node = Node("function", place, {}, None)
            yield self._match(place, node, str(error), "the function is malformed")
            return

    def _inside(self, graph: Graph, analysis: Analysis, reason: str) -> Iterator[Match]:
        """All padding in the bodies of a graph's nodes."""
        for node in graph.nodes:
            if not any(pads(light.node) for _, light in held_bodies(node)):
                continue
            try:
                found = list(graph.bodies(node))
            except ModelError as error:
                yield self._match(graph, node, str(error), reason)
                continue
            yield from self._bodies(found, analysis, reason)

    def _bodies(self, found: Iterable[Graph], analysis: Analysis, reason: str) -> Iterator[Match]:
        for body in found:
            inner = Analysis(body, outer=analysis)
            yield from self._padding_of_scope(body, inner, reason)
            yield from self._inside(body, inner, reason)

    def _padding_of_scope(self, graph: Graph, analysis: Analysis, reason: str) -> Iterator[Match]:
        """The padding of a body or function, without that of bodies inside it."""
        readers = Readers(graph)
        for node in graph.nodes:
            if node.op == "Pad" and not graph.is_function(node):
                message, facts = _described(graph, analysis, readers, node)
                facts["scope"] = graph.place
                yield self._match(graph, node, message, reason, facts)
            if auto_pad := reported_auto_pad(node):
                message = described_auto_pad(node, auto_pad)
                facts = {"scope": graph.place, "auto_pad": auto_pad}
                yield self._match(graph, node, message, reason, facts)

    def _match(
        self,
        place: Graph | str,
        node: Node,
        message: str,
        reason: str,
        facts: Mapping[str, object] = MappingProxyType({}),
    ) -> Match:
        """A finding about a node of a graph, or about a place whose graph cannot be read."""
        if isinstance(place, Graph):
            label, location = _within(place, node), place.location(node)
        else:
            label, location = place, Location((place,))
        finding = Finding(
            self.code,
            Severity.INFO,
            label,
            node.op,
            message,
            reason,
            MappingProxyType(dict(facts)),
            reason_code=Reason.OTHER_SCOPE,
            location=location,
        )
        return Match(finding, node)


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
    after = [each.node for each in found if each is not None]
    if after:
        more = f" and {len(after) - 1} more" * (len(after) > 1)
        text += f" before {_named(graph, after[0])}{more}"
    return text, facts


def _within(graph: Graph, node: Node) -> str:
    """The label of a node, with the bodies or function around it."""
    return f"{graph.place} > {_named(graph, node)}" if graph.place else graph.label(node)


def _named(graph: Graph, node: Node) -> str:
    return f"{node.op} {graph.label(node)!r}"
