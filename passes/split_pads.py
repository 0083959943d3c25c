"""Pads that the style wants in a `Pad` of their own."""

from __future__ import annotations

from onnxpad.options import Wanted
from onnxpad.padding.padding import split
from onnxpad.reasons import RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Choice, SitePass
from onnxpad.semantics.layers import onnx_order
from onnxpad.semantics.read_nodes import WindowOp


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
    by less, MaxPool with Indices or with a window that reads nothing but padding, a zero point that
    is not one constant number, a `ceil_mode` that would give another number of windows.
    ## References
    ONNX Pad-25, Conv-22, MaxPool-22, AveragePool-22, LpPool-22, ConvInteger-10, QLinearConv-10;
    onnxruntime, docs/ContribOperators.md.
    """

    code = "PAD202"

    def applies(self, was: WindowOp, wanted: Wanted) -> bool:
        """Every operator with pads that the style wants in a `Pad`."""
        is_plain = was.auto_pad == "NOTSET" and wanted.style != "fold"
        return is_plain and bool(split(was.pads, wanted.style)[1])

    def choose(self, context: Context, op: WindowOp) -> Choice:
        """Both paddings in one `Pad` where possible, with the one there; else a `Pad` between."""
        style, pad = context.style_of(op.node), None
        try:
            padding, pad, _ = context.sites.planned(op, style)
        except RefusalError:
            padding = context.sites.plan(op, style)
        why = f"as style {style} wants it"
        return Choice(padding, padding.text, {"pads": onnx_order(op.pads)}, pad, why)
