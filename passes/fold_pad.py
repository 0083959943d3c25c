"""A `Pad` whose amounts the operator downstream can have in its own `pads`."""

from __future__ import annotations

from onnxpad.padding.padding import has_amounts
from onnxpad.reasons import RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Choice, PadBefore
from onnxpad.semantics.layers import onnx_order
from onnxpad.semantics.operators import Fill
from onnxpad.semantics.read_nodes import WindowOp


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
        known, style = pad.over(op.rank), context.style_of(op.node)
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
