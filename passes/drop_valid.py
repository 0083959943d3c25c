"""VALID, which pads nothing."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.messages import RUNTIME
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Example, Match, WritingPass
from onnxpad.semantics.read_nodes import WindowOp


class DropValid(WritingPass):
    """`auto_pad=VALID`, which pads nothing, in a form that some runtimes reject.

    ## What it does
    Drops the attribute: without it, pads are zero.

    ## Why it matters
    candle and others reject any `auto_pad`, and few tools fold a `Pad` into an operator with one.

    ## When it is exact
    Always, with any `ceil_mode`, but not beside `pads` other than 0, which the specification
    forbids. onnxruntime drops them for a pool, and `--trust onnxruntime` decides so.

    ## References
    ONNX Conv-22, MaxPool-22, AveragePool-22, LpPool-22, "auto_pad".
    """

    code = "PAD102"
    why = "VALID pads nothing"
    examples = (
        Example(
            given="""
                float[1, 2, 8, 8] x
                float[3, 2, 3, 3] w
            """,
            before='y = Conv <auto_pad = "VALID", strides = [2, 2]> (x, w)',
            after="y = Conv <strides = [2, 2]> (x, w)",
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """Every operator with VALID."""
        for op in context.windows():
            if op.auto_pad != "VALID":
                continue
            if _protects(context, op):
                why = RefusalError(Reason.OPTIMISER_FOLDS, f"it has {RUNTIME} fold no Pad into it")
                yield self.refused(context, op.node, "auto_pad=VALID", why, asked="--target")
                continue
            try:
                plan = op, context.sites.plan(op, "fold")
            except RefusalError as refusal:
                yield self.refused(context, op.node, "auto_pad=VALID", refusal)
            else:
                yield self.resolved(context, op, "auto_pad=VALID", plan, becomes="no auto_pad")


def _protects(context: Context, op: WindowOp) -> bool:
    """Whether a target wants VALID, rather than an empty fill, to protect a `Pad` upstream."""
    if "no_empty_fill" not in context.wanted(op.node).spelling:
        return False
    plain = op._replace(auto_pad="NOTSET", pads=((0, 0),) * len(op.windows))
    return context.sites.fusion.laid_open(plain) is not None
