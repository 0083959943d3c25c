"""A `Pad` of which the operator downstream could do a part."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.arithmetic.notation import pads_text
from onnxpad.graph import Node
from onnxpad.messages import Named
from onnxpad.padding.parting import part, parted, parts
from onnxpad.padding.readers import needs_finite, readers_of
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass
from onnxpad.semantics.operators import operator_of
from onnxpad.semantics.read_nodes import PadOp


class PartPad(Pass):
    """A `Pad` that crops, or pads batch or channels, and of which the operator could do the rest.

    ## What it does
    Parts it in two: the first crops, and pads batch and channels; another rule folds the second.

    ## Why it matters
    Padding of channels copies little and stays small; the spatial padding around it does not.

    ## Example
        p = Pad (x, pads)
        y = Conv (p, w)
    becomes
        p = Pad (x, rest)
        y = Conv <pads = [1, 0, 1, 0]> (p, w)
    where
        float[1, 2, 8, 8] x
        float[2, 3, 3, 3] w
        int64[8] pads = {0, 0, 1, -1, 0, 1, 1, 0}
        int64[8] rest = {0, 0, 0, -1, 0, 1, 0, 0}

    ## When it is exact
    Always. It is done only if each reader is a Conv or pool that can take the second `Pad` over.

    ## References
    ONNX Pad-25, Conv-22.
    """

    code = "PAD208"
    why = "the operator can do it"

    def find(self, context: Context) -> Iterator[Match]:
        """Every `Pad` of which all its readers could do a part."""
        for pad in context.pads():
            uses = list(readers_of(context.graph, pad.node.outputs[0]))
            readers = [use.node for use in uses if use is not None and use.index >= 0]
            if len(readers) < len(uses):
                continue  # it is an output, or a body reads it
            amounts = parts(context.graph, context.analysis, pad.node, readers)
            if amounts is None or not self._is_taken(context, pad, readers):
                continue
            row = operator_of(context.graph, readers[0])
            spatial = pads_text(amounts[1]) if row is None else row.layout.text(amounts[1])
            becomes = f"two Pads, of which that of {spatial} folds"
            yield self.found(context, pad.node, Named.of("Pad"), amounts, becomes=becomes)

    def _is_taken(self, context: Context, pad: PadOp, readers: list[Node]) -> bool:
        graph, analysis = context.graph, context.analysis
        if context.user_options.strict and any(
            needs_finite(graph, analysis, pad.data, reader) for reader in readers
        ):
            return False  # the fold would be undone
        mark = context.mark()
        found = parted(graph, analysis, context.sites, context.style_of, pad.node, readers)
        context.rollback(mark)
        return found

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes both `Pad`s."""
        part(context.graph, match.node, match.plan)
