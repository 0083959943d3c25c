"""Amounts that are computed by more nodes than necessary."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.messages import counted
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass


class SimplifyAmounts(Pass):
    """A `Pad` that computes its amounts in a roundabout way.

    ## What it does
    With `--dynamic pad` a handful of integer nodes compute them, for all axes at once: those of
    SAME, and those that pad each axis to a multiple, at the begin, at the end or on both sides.
    ## Why it matters
    An exported Conv2dSame takes twenty nodes and more, as does padding to a multiple of 32.
    ## Example
        size = Shape <start = 2> (x)
        odd = Mod (size, two)
        less = Sub (two, odd)
        end = Mod (less, two)
        pads = Concat <axis = 0> (begins, end)
        y = Pad (x, pads)
    becomes with `--dynamic pad`
        size = Shape <start = 2> (x)
        below = Neg (size)
        end = Mod (below, both)
        pads = Concat <axis = 0> (begins, end)
        y = Pad (x, pads)
    where
        float[1, 2, height, width] x
        int64[1] two = {2}, int64[2] both = {2, 2}, int64[6] begins = {0, 0, 0, 0, 0, 0}
    ## When it is exact
    At every size that the graph admits, the amounts at both ends are the same as before.
    ## References
    ONNX Conv-22, "auto_pad"; timm, layers/padding.py, `pad_same`.
    """

    code = "PAD502"
    why = "these compute the same"

    def find(self, context: Context) -> Iterator[Match]:
        """Every `Pad` whose amounts fewer nodes could compute."""
        for pad in context.pads():
            is_asked = context.wanted(pad.node).dynamic == "pad"
            if is_asked and (simpler := context.open_sites.simpler(pad)) is not None:
                from onnxpad.padding.computed_pads import MANY

                formula, nodes, least = simpler
                many = f"{nodes} or more" if nodes == MANY else nodes
                message = f"{many} nodes compute the amounts of a Pad ({pad.mode})"
                becomes = counted(least, "node")
                yield self.found(context, pad.node, message, (pad, formula), becomes=becomes)

    def rewrite(self, match: Match, context: Context) -> None:
        """Replaces the nodes that compute the amounts."""
        context.open_sites.write_simpler(*match.plan)
