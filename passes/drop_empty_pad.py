"""A `Pad` that pads nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from onnxpad.graph import Tensor
from onnxpad.messages import Named, named
from onnxpad.operators.amounts import is_padded
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Example, Match, Pass

_NOTHING: Final = Named.of("Pad with amounts of 0")


class DropEmptyPad(Pass):
    """A `Pad` whose amounts are all zero.

    ## What it does
    Connects every reader of the `Pad` to its input. Where the `Pad`'s output is a graph output, or
    a body of If or Loop reads it, the node upstream writes that output instead. Where that is not
    possible either (the input is itself a graph input, a graph output, or read in a body), the
    `Pad` becomes an Identity.

    ## Why it matters
    Exporters write such a `Pad` for layers that need none at this size. It costs a copy, and
    blocks targets that have no `Pad`.

    ## When it is exact
    In every mode, where the amounts are known to be zero and to fit the rank of the data: a `Pad`
    with amounts for another rank is an error. Where the rank is known only at run time, the `axes`
    of the `Pad`, or a Conv or pool that reads it, show it too.

    ## References
    ONNX Pad-25.
    """

    code = "PAD204"
    why = "it adds nothing"
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
            amounts, output = pad.constant_amounts, pad.node.outputs[0]
            if amounts is None or is_padded(amounts):
                continue
            if not context.graph.uses(output) and not context.graph.is_output(output):
                continue  # the rule on what remains reports it
            if context.sites.pads_nothing(pad):
                yield self.found(context, pad.node, _NOTHING, pad, becomes="no Pad")
            else:
                yield self.refused(context, pad.node, _NOTHING, _rank(pad.data, len(amounts)))

    def rewrite(self, match: Match, context: Context) -> tuple[Tensor, ...] | None:
        """Connects the readers of the `Pad` to its input, or makes it an Identity."""
        graph, pad = context.graph, match.plan
        output = pad.node.outputs[0]
        data: Tensor = pad.data
        uses = list(graph.uses(output))
        if graph.is_output(output) or any(use.index < 0 for use in uses):
            graph.replace_op(pad.node, "Identity", [data], {})
            return None
        for use in uses:
            graph.set_input(use.node, use.index, data)
        return (data,)


def _rank(data: Tensor, needs: int) -> RefusalError:
    """The refusal of a `Pad` whose data may have another number of axes than its amounts."""
    said = named(
        lambda name: (
            f"the number of axes of{name(data.name, 'the data')} is known only at run time, and "
            f"unless it is {needs} the Pad is an error"
        )
    )
    return RefusalError(Reason.RANK_UNKNOWN, said, tensor=data.name, needs=needs)
