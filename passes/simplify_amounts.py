"""Amounts that are computed by more nodes than necessary."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.messages import counted
from onnxpad.padding.computed_pads import MANY
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
        more = Add (size, one)
        half = Div (more, two)
        less = Sub (half, one)
        even = Mul (less, two)
        wide = Add (even, three)
        total = Sub (wide, size)
        begin = Div (total, two)
        end = Sub (total, begin)
        pads = Concat <axis = 0> (none, begin, none, end)
        p = Pad (x, pads)
        y = Conv <strides = [2, 2]> (p, w)
    becomes with `--dynamic pad`
        size = Shape <start = 2> (x)
        below = Neg (size)
        begin = Mod (below, strides)
        pads = Concat <axis = 0> (none, begin, ends)
        p = Pad (x, pads)
        y = Conv <strides = [2, 2]> (p, w)
    where
        float[1, 2, height, width] x
        float[3, 2, 3, 3] w
        int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}
        int64[2] none = {0, 0}, int64[2] strides = {2, 2}, int64[4] ends = {0, 0, 1, 1}

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
            if context.wanted(pad.node).dynamic != "pad":
                continue
            if (simpler := context.open_sites.simpler(pad)) is not None:
                formula, nodes, least = simpler
                many = f"{nodes} or more" if nodes == MANY else nodes
                message = f"{many} nodes compute the amounts of a Pad ({pad.mode})"
                plan, becomes = (pad, formula), counted(least, "node")
                yield self.found(context, pad.node, message, plan, becomes=becomes)

    def rewrite(self, match: Match, context: Context) -> None:
        """Replaces the nodes that compute the amounts."""
        context.open_sites.write_simpler(*match.plan)
