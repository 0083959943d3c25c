"""A computed `Pad` that is SAME."""

from __future__ import annotations

from onnxpad.arithmetic.window import same_of
from onnxpad.finding import Severity
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Choice, PadBefore
from onnxpad.semantics.operators import Fill
from onnxpad.semantics.read_nodes import WindowOp


class RecogniseSame(PadBefore):
    """A `Pad` whose amounts are computed at run time, and are those of SAME.

    ## What it does
    With `--dynamic auto-pad` the operator gets `auto_pad=SAME_UPPER` or `SAME_LOWER` in place of
    the `Pad` and the nodes that computed its amounts. Else the finding says that it could.
    ## Why it matters
    timm's Conv2dSame and others leave some twenty nodes and a copy before each convolution, which
    TensorRT refuses. Without them, onnxruntime's CPU provider is 1.3 to 2.6 times as fast.
    ## Example
        size = Shape <start = 2> (x)
        left = Mod (size, two)
        total = Add (left, one)
        begin = Div (total, two)
        end = Sub (total, begin)
        pads = Concat <axis = 0> (none, begin, none, end)
        p = Pad (x, pads)
        y = Conv <strides = [2, 2]> (p, w)
    becomes with `--dynamic auto-pad`
        y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)
    where
        float[1, 2, height, width] x, float[3, 2, 3, 3] w
        int64[1] one = {1}, int64[1] two = {2}, int64[2] none = {0, 0}
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

    def choose(self, context: Context, op: WindowOp) -> Choice | None:
        """SAME, where that is asked for, and the amounts are not always the same."""
        pad, dynamic = context.sites.pad_before(op), context.wanted(op.node).dynamic
        if pad is None or pad.constant_amounts is not None or dynamic == "pad":
            return None
        if context.open_sites.in_effect_constant(op, pad):
            return None  # the rule on folding handles it
        padding = context.open_sites.same_of(op)
        if padding is None:
            return None
        auto_pad = same_of(padding.odd)
        if dynamic == "auto-pad":
            facts = {"auto_pad": auto_pad}
            return Choice(padding, f"auto_pad={auto_pad}", facts, pad, severity=Severity.WARNING)
        maxima = op.operator.padding is Fill.LOWEST  # then finite data is assumed
        option = () if context.user_options.strict and maxima else ("--dynamic auto-pad",)
        formula = context.sites.wording.amounts(pad, *option)
        same, known = f"it is {auto_pad} at every size", {**formula.facts, "auto_pad": auto_pad}
        told = f"{formula.brief}, so no constant pads fit; {same}" * bool(formula.brief)
        raise RefusalError(Reason.SAME_AT_EVERY_SIZE, f"{same}; {formula}", told, **known)
