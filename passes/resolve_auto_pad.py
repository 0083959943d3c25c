"""SAME_UPPER and SAME_LOWER, written out."""

from __future__ import annotations

from contextlib import suppress
from typing import cast

from onnxpad.options import Wanted
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Choice, SitePass
from onnxpad.semantics.layers import onnx_order
from onnxpad.semantics.read_nodes import WindowOp


class ResolveAutoPad(SitePass):
    """`auto_pad=SAME_UPPER` or `SAME_LOWER` leaves the padding to the runtime.

    ## What it does
    Writes the pads out where constant ones read the same elements at every size that the graph
    admits, as with a fixed size or a stride of 1. Else `--dynamic pad` computes them.
    ## Why it matters
    Many importers reject `auto_pad`, or put the odd pixel on the wrong side. onnxruntime refuses it
    on a dilated Conv, and stops on a pool whose kernel is below its stride: there it is an error.
    ## Example
        y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)
    becomes
        y = Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w)
    where
        float[1, 2, 8, 8] x, float[3, 2, 3, 3] w
    ## When it is exact
    The output has ceil(size / stride) elements. The padding for that is split evenly, an odd
    element at the end for SAME_UPPER, at the begin for SAME_LOWER. Refused: pads that depend on a
    size that is not fixed, and, unless `--trust spec` or `--trust onnxruntime` decides, what
    onnxruntime does not do as specified: a kernel more than two below its stride, a dilated pool,
    `pads` beside `auto_pad`. The result is then what both make of the one trusted. For a MaxPool
    whose kernel is below its stride, the proof assumes finite data.
    ## References
    ONNX Conv-22, MaxPool-22, AveragePool-22, LpPool-22, "auto_pad".
    """

    code = "PAD101"
    why = "they read the same"

    def applies(self, was: WindowOp, wanted: Wanted) -> bool:
        """Every operator with SAME."""
        return was.auto_pad.startswith("SAME")

    def choose(self, context: Context, op: WindowOp) -> Choice:
        """Its pads in the style, in the operator where it cannot have that, or computed."""
        padding, style = None, context.style_of(op.node)
        with suppress(RefusalError):
            padding = None if style == "fold" else context.sites.plan(op, style)
        try:
            padding = padding or context.sites.plan(op, "fold")
        except RefusalError as refusal:
            if refusal.code is not Reason.SIZE_DEPENDENT:
                raise
            return self._computed(context, op, refusal)
        return Choice(padding, padding.text, {"pads": onnx_order(padding.total)})

    def _computed(self, context: Context, op: WindowOp, refusal: RefusalError) -> Choice:
        formula = context.open_sites.told(op, cast("list[int]", refusal.facts["axes"]))
        dynamic, hindrance, hindered = context.wanted(op.node).dynamic, "", {}
        try:
            context.open_sites.check_computed(op)
        except RefusalError as other:
            hindrance, hindered = f"; no Pad can compute them: {other}", {"no_pad": other.code}
        if not hindrance and dynamic == "pad":
            return Choice(None, "a computed Pad", why=formula)
        facts = {
            **refusal.facts,
            "auto_pad": op.auto_pad,
            "pads": formula,
            "options": [*refusal.options, *["--dynamic pad"] * (not hindrance)],
            **hindered,
        }
        if dynamic == "auto-pad":
            facts["asked"] = "--dynamic auto-pad"
        said = f"{refusal}: {formula}{hindrance}"
        raise RefusalError(refusal.code, said, str(refusal), **facts)
