"""A `Pad` in front of an operator: what the operator takes over, and what it hands over."""

from __future__ import annotations

from onnxpad.arithmetic.window import same_of
from onnxpad.finding import Severity
from onnxpad.padding.padding import has_amounts, split
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.pass_api import Choice, Context, PadBefore, SitePass
from onnxpad.semantics.layers import onnx_order
from onnxpad.semantics.operators import Fill, WindowOp


class FoldPad(PadBefore):
    """A `Pad` in front of an operator that could pad by itself.

    ## What it does
    Adds its amounts to the `pads` of the Conv or pool that reads it, directly or through Identity.
    In style `symmetric` only the part equal on both sides. A `Pad` that nothing else reads goes.
    ## Why it matters
    A `Pad` costs a pass over memory, and some runtimes lack it, or run it on the CPU.
    ## Example
        p = Pad (x, pads)
        y = Conv <strides = [2, 2]> (p, w)
    becomes
        y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)
    where
        float[1, 2, 8, 8] x, float[3, 2, 3, 3] w
        int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}
    ## When it is exact
    The amounts are known and not negative, batch and channels are not padded, the mode is constant
    (but see MaxPool), and the value is the operator's own:
    - Conv, FusedConv, and LpPool with p above 0: 0 or -0.0, which they cannot tell apart.
    - ConvInteger, QLinearConv: the zero point of the data, one constant number; 0 without one.
    - AveragePool: 0, but not -0.0; QLinearAveragePool: the zero point. They must not have had
      uncounted padding, as they count it afterwards (`count_include_pad=1`).
    - MaxPool, NhwcMaxPool: the lowest value, or one that no element of the data is below, or mode
      `edge` or `reflect` where each window that reads a copy of an element reads the element too.
      Nothing reads the Indices, no window reads nothing but padding, and the data is not certain to
      be infinite: that it is finite is assumed where nothing says so.

    A pool's pads stay below its kernel, and the data without the `Pad` is never empty. With
    `ceil_mode` the number of windows stays the same, as onnxruntime counts them too or `--trust`
    decides, and no window of a QLinearAveragePool that begins to count reaches past its padding.
    That one's kernel must not begin or cease to be as large as unpadded data on all axes, where
    onnxruntime rounds otherwise.
    ## References
    ONNX Pad-25, Conv-22, MaxPool-22, AveragePool-22, LpPool-22, ConvInteger-10, QLinearConv-10;
    onnxruntime, docs/ContribOperators.md.
    """

    code = "PAD201"
    why = "the operator can do it"

    def choose(self, context: Context, op: WindowOp) -> Choice | None:
        """The padding of both."""
        pad = context.sites.pad_before(op)
        if pad is None:
            return None
        known, style = pad.over(op.rank), context.wanted(op.node).style
        fills = pad.mode == "constant" or op.operator.padding is Fill.LOWEST
        if style == "pad" and fills and known is not None and min(map(min, known)) >= 0:
            return None  # the style wants it in a Pad, whatever its value
        try:
            padding, merged, around = context.sites.planned(op, style)
        except RefusalError:
            if pad.constant_amounts is None:
                return None  # the rules on computed amounts report it
            raise
        exact = has_amounts(op, pad, around)
        if merged is None or (exact and padding.outside == around):
            return None
        why = "" if exact else "these read the same"
        return Choice(padding, padding.text, {"pads": onnx_order(around)}, pad, why)


class SplitPads(SitePass):
    """An operator's own pads, where the style wants a `Pad` in front of it.

    ## What it does
    In style `pad` it keeps none, in `symmetric` the part equal on both sides, in `fold`, the
    default, all. The rest goes into a `Pad`, merged with one that is there.
    ## Why it matters
    Some runtimes reject pads that differ between begin and end, or any pads of a pool.
    ## Example
        y = Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w)
    becomes with `--style pad`
        p = Pad <mode = "constant"> (x, pads)
        y = Conv <pads = [0, 0, 0, 0], strides = [2, 2]> (p, w)
    where
        float[1, 2, 8, 8] x, float[3, 2, 3, 3] w
        int64[8] pads = {0, 0, 0, 0, 0, 0, 1, 1}
    ## When it is exact
    The `Pad` fills in the value of the operator's own padding: 0 for Conv, LpPool with p above 0
    and AveragePool with `count_include_pad=1`, the lowest value for MaxPool, the data's zero point
    for quantised convolutions and averages. Refused: averages without that attribute, which divide
    by less, MaxPool with Indices, of data that is certain to be infinite, or with a window that
    reads nothing but padding, a zero point that is not one constant number, a `ceil_mode` that
    would give another number of windows.
    ## References
    ONNX Pad-25, Conv-22, MaxPool-22, AveragePool-22, LpPool-22, ConvInteger-10, QLinearConv-10;
    onnxruntime, docs/ContribOperators.md.
    """

    code = "PAD202"

    def applies(self, context: Context, op: WindowOp) -> bool:
        """Every operator with pads that the style wants in a `Pad`."""
        style = context.wanted(op.node).style
        return op.auto_pad == "NOTSET" and style != "fold" and bool(split(op.pads, style)[1])

    def choose(self, context: Context, op: WindowOp) -> Choice:
        """Both paddings in one `Pad` where possible, with the one there; else a `Pad` between."""
        style, pad = context.wanted(op.node).style, None
        try:
            padding, pad, _ = context.sites.planned(op, style)
        except RefusalError:
            padding = context.sites.plan(op, style)
        is_asked = style == context.user_options.style  # else targets chose it
        why = f"as style {style} wants it" if is_asked else "as the target takes it"
        return Choice(padding, padding.text, {"pads": onnx_order(op.pads)}, pad, why)


class RecogniseSame(PadBefore):
    """A `Pad` whose amounts are computed at run time, and are those of SAME.

    ## What it does
    With `--dynamic auto-pad` the operator gets `auto_pad=SAME_UPPER` or `SAME_LOWER` in place of
    the `Pad` and the nodes that computed its amounts. Else the finding says that it could.
    ## Why it matters
    timm's Conv2dSame and others leave some twenty nodes and a copy before each convolution. Without
    them, onnxruntime's CPU provider is 1.3 to 2.6 times as fast.
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
        padding = context.sites.same_of(op)
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
