"""A `Pad` that pads nothing."""

from collections.abc import Iterator

from onnxpad.graph import Tensor
from onnxpad.operators.amounts import is_padded
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.rule import Example, Match, Pass


class DropEmptyPad(Pass):
    """A `Pad` whose amounts are all zero.

    ## What it does
    Lets everything that reads it read its input. Where its output is an output of the graph, or is
    read inside a subgraph, what computes its input gives that output instead; where that is an
    input of the graph, another output, or read inside a subgraph, the `Pad` becomes an Identity.

    ## Why it matters
    Exporters write such a `Pad` for layers that need none at this size; it costs a copy, and
    blocks targets that have no `Pad`.

    ## When it is exact
    In every mode, once the amounts are known to be zero, and to be for data of its rank, since with
    amounts for another rank it is an error. Where the rank is known only at run time, axes that the
    `Pad` names, or a Conv or pool that reads it, say as much.

    ## References
    ONNX Pad-25.
    """

    code = "PAD204"
    examples = (
        Example(
            given="""
                float[1, 2, 8, 8] x
                int64[8] zeros = {0, 0, 0, 0, 0, 0, 0, 0}
            """,
            before="""
                p = Pad (x, zeros)
                y = Relu (p)
            """,
            after="y = Relu (x)",
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """Every `Pad` whose amounts are known to be zero."""
        for pad in context.pads():
            amounts = pad.constant_amounts
            if amounts is None or is_padded(amounts):
                continue
            if context.sites.pads_nothing(pad):
                yield self.found(context, pad.node, "Pad of nothing", pad)
            else:
                reason = RefusalError(
                    Reason.RANK_UNKNOWN,
                    f"how many axes {pad.data.name!r} has is known only at run time, and unless it "
                    f"is {len(amounts)} the Pad is an error",
                    tensor=pad.data.name,
                    needs=len(amounts),
                )
                yield self.refused(context, pad.node, "Pad of nothing", reason)

    def rewrite(self, match: Match, context: Context) -> Tensor | None:
        """Takes the `Pad` out of the way of what reads it; `Graph.absorb` does away with a copy."""
        graph, pad = context.graph, match.plan
        output = pad.node.outputs[0]
        data: Tensor = pad.data
        uses = list(graph.uses(output))
        if graph.is_output(output) or any(use.index < 0 for use in uses):
            graph.replace_op(pad.node, "Identity", [data], {})
            return None
        for use in uses:
            graph.set_input(use.node, use.index, data)
        return data
