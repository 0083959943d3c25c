"""An `auto_pad` that no other rule reports."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from onnxpad.finding import Severity
from onnxpad.graph import Node
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass
from onnxpad.semantics.operators import MICROSOFT


class ReportAutoPad(Pass):
    """`auto_pad` on an operator that onnxpad does not cover.

    ## What it does
    Names it: NhwcConv, NhwcFusedConv of com.microsoft, other domains, functions of the model.

    ## Why it matters
    Many importers reject it; outside of the standard, only the operator's author knows its meaning.

    ## Example
        y = com.microsoft.NhwcConv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)
    stays
    where
        float[1, 8, 8, 2] x
        float[3, 3, 3, 2] w

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
        found = [node for node in context.graph.nodes if "auto_pad" in node.attrs]
        if not found:
            return
        unreadable = {id(node) for node, _ in context.unreadable()}
        for node in found:
            auto_pad = reported_auto_pad(node)
            if not auto_pad or id(node) in context.reported | unreadable:
                continue
            message = described_auto_pad(node, auto_pad)
            facts = {"auto_pad": auto_pad, "domain": node.domain or ""}
            yield self.refused(context, node, message, _refusal(context, node), **facts)


def _refusal(context: Context, node: Node) -> RefusalError:
    text = f"onnxpad does not cover {node.op}" + f" of {node.domain}" * bool(node.domain)
    if context.graph.is_standard(node) or node.domain == MICROSOFT:
        return RefusalError(Reason.OPERATOR_NOT_COVERED, text)
    if context.graph.is_function(node):
        text = f"{node.op} is a function of the model: auto_pad is an attribute of the call"
    else:
        text += ": only its author defines how it pads; an onnxpad.Row can declare it"
    return RefusalError(Reason.CUSTOM_OPERATOR, text)


def reported_auto_pad(node: Node) -> str:
    """Its `auto_pad`: "" for NOTSET, "@name" for an attribute of the function, "?" if no string."""
    value = node.attrs.get("auto_pad", "")
    if isinstance(value, onnx.AttributeProto) and value.ref_attr_name:
        return f"@{value.ref_attr_name}"
    text = value if isinstance(value, str) else "?"
    return "" if text == "NOTSET" else text


def described_auto_pad(node: Node, auto_pad: str) -> str:
    """An `auto_pad` in words, with the strides."""
    strides = node.attrs.get("strides")
    beside = f", strides ({', '.join(map(str, strides))})" if isinstance(strides, list) else ""
    return f"auto_pad={auto_pad}{beside}"
