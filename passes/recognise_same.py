"""A computed `Pad` that is SAME."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.arithmetic.window import same_of
from onnxpad.finding import Severity
from onnxpad.messages import Named
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Example, Match, WritingPass
from onnxpad.semantics.operators import Fill


class RecogniseSame(WritingPass):
    """A `Pad` whose amounts are computed at run time, and are those of SAME.

    ## What it does
    With `--dynamic auto-pad` the operator gets `auto_pad=SAME_UPPER` or `SAME_LOWER` in place of
    the `Pad` and the nodes that computed its amounts. Else the finding says that it could.

    ## Why it matters
    timm's Conv2dSame and others leave some twenty nodes and a copy before each convolution, which
    TensorRT refuses. Without them, onnxruntime's CPU provider is 1.3 to 2.6 times as fast.

    ## When it is exact
    At every size that the graph admits, the first window starts where SAME's does, and there are as
    many. onnxruntime runs that SAME as specified: without dilation, and with a kernel that is not
    too far below its stride.

    ## References
    ONNX Conv-22, MaxPool-22, "auto_pad"; timm, layers/padding.py, `pad_same`.
    """

    code = "PAD501"
    severity = Severity.INFO
    why = "these are its amounts"
    examples = (
        Example(
            given="""
                float[1, 2, height, width] x
                float[3, 2, 3, 3] w
                int64[1] one = {1}, int64[1] two = {2}, int64[2] none = {0, 0}
            """,
            before="""
                size = Shape <start = 2> (x)
                left = Mod (size, two)
                total = Add (left, one)
                begin = Div (total, two)
                end = Sub (total, begin)
                pads = Concat <axis = 0> (none, begin, none, end)
                p = Pad (x, pads)
                y = Conv <strides = [2, 2]> (p, w)
            """,
            after='y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
            dynamic="auto-pad",
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """Every operator downstream of a computed `Pad` that is SAME."""
        for op in context.windows():
            pad = context.sites.pad_before(op)
            if pad is None or pad.constant_amounts is not None:
                continue
            dynamic = context.wanted(op.node).dynamic
            if dynamic == "pad":
                continue  # the user asked for computed Pads
            before, reader = context.label(op.node), f"computed Pad before {op.node.op}"
            message = Named(f"{reader} {context.graph.label(op.node)!r}", reader)
            try:
                next(context.sites.outside(op, pad), None)
            except RefusalError:
                pass
            else:
                continue  # in effect constant: the rule on folding handles it
            try:
                found = context.open_sites.same_of(op)
            except RefusalError as refusal:
                yield self.refused(context, pad.node, message, refusal, before=before)
                continue
            if found is None:
                continue
            padding, auto_pad = found[0], same_of(found[0].odd)
            if dynamic == "auto-pad":
                yield self.found(
                    context,
                    pad.node,
                    message,
                    (op, padding, pad),
                    becomes=f"auto_pad={auto_pad}",
                    severity=Severity.WARNING,
                    keeps=op.node,
                    auto_pad=auto_pad,
                    before=before,
                )
            else:
                maxima = op.operator.padding is Fill.LOWEST  # then finite data is assumed
                strict = context.user_options.strict
                option = () if strict and maxima else ("--dynamic auto-pad",)
                formula = context.sites.wording.amounts(pad, *option)
                facts = {**formula.facts, "auto_pad": auto_pad}
                same = f"it is {auto_pad} at every size"
                told = f"{formula.brief}, so no constant pads fit; {same}" * bool(formula.brief)
                reason = f"{same}; {formula}"
                asked = RefusalError(Reason.SAME_AT_EVERY_SIZE, reason, told, **facts)
                yield self.refused(context, pad.node, message, asked, before=before)
