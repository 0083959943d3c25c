"""Padding inside of bodies and functions."""

from collections import Counter
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from onnxpad.finding import Finding, Severity
from onnxpad.graph import Node
from onnxpad.reasons import Reason
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.rule import Example, Match, Pass


class ReportScopes(Pass):
    """Padding in a body or a function, which onnxpad does not look into.

    ## What it does
    Names the node that has the body (If, Loop, Scan, SequenceMap or any other), or the function of
    the model, and says how many `Pad`s and how much `auto_pad` is in there. Each body is told of
    by itself, also one inside of another.

    ## Why it matters
    What onnxpad finds in the main graph is not all the padding that the model has.

    ## When it is exact
    Nothing is changed. Pads that a Conv or a pool has itself, in numbers, are not told of.

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
        """Every body in which something pads, in file order, then every function."""
        graph = context.graph
        for node, scope in graph.scopes():
            if padding := _padding(scope.nodes):
                yield self._match(graph.label(node), node.op, node, scope.path, padding)
        for name, scope in graph.function_scopes():
            if padding := _padding(scope.nodes):
                yield self._match(name, "function", None, scope.path, padding)

    def _match(
        self, label: str, kind: str, node: Node | None, path: str, padding: Counter[str]
    ) -> Match:
        told = ", ".join(f"{count} {what}" for what, count in padding.items())
        where = "functions" if node is None and not path else "bodies"
        finding = Finding(
            self.code,
            Severity.INFO,
            label,
            kind,
            f"{path}: {told}" if path else told,
            f"onnxpad does not look into {where}",
            MappingProxyType({"scope": path, "padding": dict(padding)}),
            reason_code=Reason.OTHER_SCOPE,
        )
        return Match(finding, node)  # type: ignore[arg-type]  # a function has no node


def _padding(nodes: Sequence[Node]) -> Counter[str]:
    """How often which padding is there: `Pad`, or an operator with its `auto_pad`."""
    found: Counter[str] = Counter()
    for node in nodes:
        if node.op_type == "Pad":
            found["Pad"] += 1
        for attribute in node.attribute:
            if attribute.name == "auto_pad":
                value = attribute.s.decode(errors="backslashreplace")
                if attribute.ref_attr_name or value not in ("", "NOTSET"):
                    found[f"{node.op_type} auto_pad={value or 'as called'}"] += 1
    return found
