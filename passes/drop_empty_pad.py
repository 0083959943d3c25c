"""A `Pad` that pads nothing."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.graph import Tensor
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass
from onnxpad.semantics.layers import is_padded


class DropEmptyPad(Pass):
    """A `Pad` whose amounts are all zero.

    ## What it does
    Connects its readers to its input. Where its output is a graph output, or read in a body, the
    node upstream writes that, or if the input is a graph input or output, or read in a body too,
    the `Pad` becomes an Identity.
    ## Why it matters
    It costs a copy, and blocks targets that have no `Pad`.
    ## Example
        p = Pad (x, zeros)
        y = Relu (p)
    becomes
        y = Relu (x)
    where
        float[1, 2, 8, 8] x
        int64[8] zeros = {0, 0, 0, 0, 0, 0, 0, 0}
    ## When it is exact
    In every mode, if the amounts are known to be zero, and so is the rank of the data.
    ## References
    ONNX Pad-25.
    """

    code = "PAD204"
    why = "it adds nothing"

    def find(self, context: Context) -> Iterator[Match]:
        """Every `Pad` whose amounts are known to be zero."""
        message = "Pad with amounts of 0"
        for pad in context.pads():
            amounts = pad.constant_amounts
            is_ranked = pad.axes is not None or context.analysis.shape(pad.data) is not None
            if amounts is None or is_padded(amounts) or not is_ranked:
                continue
            if context.graph.is_read(pad.node.outputs[0]):  # else the rule on what remains tells it
                yield self.found(context, pad.node, message, pad.data, becomes="no Pad")

    def rewrite(self, match: Match, context: Context) -> tuple[Tensor, ...] | None:
        """Connects the readers of the `Pad` to its input, or makes it an Identity."""
        graph, output = context.graph, match.node.outputs[0]
        data: Tensor = match.plan
        uses = graph.uses(output)
        if graph.is_output(output) or any(use.index < 0 for use in uses):
            graph.replace_op(match.node, "Identity", [data], {})
            return None
        for use in uses:
            graph.set_input(use.node, use.index, data)
        return (data,)
