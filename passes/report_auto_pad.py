"""An `auto_pad` that no other rule reports."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.finding import Severity
from onnxpad.graph import Node
from onnxpad.passes.report_pad import not_covered
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass


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
