"""Nodes that the specification does not allow as they are written."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.finding import Severity
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass
from onnxpad.rewrite.scopes import PADDING


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
