"""A `Pad` of which the operator downstream could do a part."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.arithmetic.notation import axes_text
from onnxpad.padding.readers import needs_finite, readers_of
from onnxpad.padding.write import part, parted, parts
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass


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
        float[1, 2, 8, 8] x, float[2, 3, 3, 3] w
        int64[8] pads = {0, 0, 1, -1, 0, 1, 1, 0}, int64[8] rest = {0, 0, 0, -1, 0, 1, 0, 0}
    ## When it is exact
    Always. It is done only if each reader is a Conv or pool that can take the second `Pad` over.
    ## References
    ONNX Pad-25, Conv-22.
    """

    code = "PAD208"
    why = "the operator can do it"

    def find(self, context: Context) -> Iterator[Match]:
        """Every `Pad` of which all its readers could do a part."""
        graph, analysis, strict = context.graph, context.analysis, context.user_options.strict
        for pad in context.pads():
            uses = list(readers_of(graph, pad.node.outputs[0]))
            readers = [use.node for use in uses if use is not None]
            amounts = None if None in uses else parts(graph, analysis, pad, readers)
            if amounts is None:
                continue
            if strict and any(needs_finite(graph, analysis, pad.data, each) for each in readers):
                continue  # the fold would be undone
            mark = context.graph.mark()
            is_taken = parted(graph, analysis, context.sites, context.style_of, pad.node, readers)
            context.graph.rollback(mark)
            if is_taken:
                becomes = f"two Pads, of which that of {axes_text(amounts[1])} folds"
                yield self.found(context, pad.node, "Pad", amounts, becomes=becomes)

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes both `Pad`s."""
        part(context.graph, match.node, match.plan)
