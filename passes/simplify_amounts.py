"""Amounts of SAME that are computed by more nodes than necessary."""

from collections.abc import Iterator

from onnxpad.padding.computed_pads import MANY
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.rule import Example, Match, Pass


class SimplifyAmounts(Pass):
    """A `Pad` that computes the amounts of SAME in a roundabout way.

    ## What it does
    With `--dynamic pad` a handful of integer nodes compute the amounts, for all axes at once. The
    nodes that computed them before are removed.

    ## Why it matters
    An exported Conv2dSame computes its amounts axis by axis, with casts to floating point and back,
    in twenty nodes and more.

    ## When it is exact
    At every size that the graph admits, the amounts are those of SAME, at the begin and at the end.

    ## References
    ONNX Conv-22, "auto_pad"; timm, layers/padding.py, `pad_same`.
    """

    code = "PAD502"
    examples = (
        Example(
            given="""
                float[1, 2, height, width] x
                float[3, 2, 3, 3] w
                int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}
                int64[2] none = {0, 0}, int64[2] strides = {2, 2}, int64[2] surplus = {1, 1}
            """,
            before="""
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
            """,
            after="""
                size = Shape <start = 2> (x)
                below = Neg (size)
                left = Mod (below, strides)
                total = Add (left, surplus)
                begin = Div (total, two)
                end = Sub (total, begin)
                pads = Concat <axis = 0> (none, begin, none, end)
                p = Pad (x, pads)
                y = Conv <strides = [2, 2]> (p, w)
            """,
            dynamic="pad",
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """Every `Pad` before a window operator whose amounts fewer nodes could compute."""
        if context.dynamic != "pad":
            return
        for op in context.windows():
            plan = context.open_sites.simpler(op)
            if plan is not None:
                nodes = f"{plan.nodes}{' or more' if plan.nodes == MANY else ''}"
                message = f"{nodes} nodes compute the amounts of SAME, {plan.least} could"
                yield self.found(context, plan.pad.node, message, plan)

    def computing(self, match: Match) -> tuple[int, int]:
        """The numbers of nodes, as the plan counted them."""
        return match.plan.nodes, match.plan.least

    def rewrite(self, match: Match, context: Context) -> None:
        """Replaces the nodes that compute the amounts."""
        context.open_sites.express_simpler(match.plan)
