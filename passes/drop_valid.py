"""VALID, which pads nothing."""

from __future__ import annotations

from msgspec.structs import replace

from onnxpad.options import Wanted
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Choice, SitePass
from onnxpad.semantics.read_nodes import WindowOp


class DropValid(SitePass):
    """`auto_pad=VALID`, which pads nothing, in a form that some runtimes reject.

    ## What it does
    Drops the attribute: without it, pads are zero.
    ## Why it matters
    candle and others reject any `auto_pad`, and few tools fold a `Pad` into an operator with one.
    ## Example
        y = Conv <auto_pad = "VALID", strides = [2, 2]> (x, w)
    becomes
        y = Conv <strides = [2, 2]> (x, w)
    where
        float[1, 2, 8, 8] x, float[3, 2, 3, 3] w
    ## When it is exact
    Always, with any `ceil_mode`, but not beside `pads` other than 0, which the specification
    forbids. onnxruntime drops them for a pool, and `--trust onnxruntime` decides so.
    ## References
    ONNX Conv-22, MaxPool-22, AveragePool-22, LpPool-22, "auto_pad".
    """

    code = "PAD102"
    why = "VALID pads nothing"

    def applies(self, was: WindowOp, wanted: Wanted) -> bool:
        """Every operator with VALID."""
        return was.auto_pad == "VALID"

    def choose(self, context: Context, op: WindowOp) -> Choice:
        """No pads, where no target wants VALID to protect a `Pad` upstream."""
        if "no_empty_fill" in context.wanted(op.node).spelling:
            plain = replace(op, auto_pad="NOTSET", pads=((0, 0),) * len(op.windows))
            if context.sites.fusion.laid_open(plain) is not None:
                said = "it has onnxruntime fold no Pad into it"
                raise RefusalError(Reason.OPTIMISER_FOLDS, said, asked="--target")
        return Choice(context.sites.plan(op, "fold"), "no auto_pad")
