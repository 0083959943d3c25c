"""SAME_UPPER and SAME_LOWER, written out."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.padding.padding import Padding, SizeDependentError
from onnxpad.padding.write import write
from onnxpad.reasons import RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Example, Match, Pass
from onnxpad.semantics.amounts import onnx_order
from onnxpad.semantics.read_nodes import WindowOp


class ResolveAutoPad(Pass):
    """`auto_pad=SAME_UPPER` or `SAME_LOWER` leaves the padding to the runtime.

    ## What it does
    Writes the pads out where constant ones read the same elements at every size that the graph
    admits, as with a fixed size or a stride of 1. Else `--dynamic pad` computes them.

    ## Why it matters
    Many importers reject `auto_pad`, or put the odd pixel on the wrong side. onnxruntime refuses it
    on a dilated Conv, and stops on a pool whose kernel is below its stride: there it is an error.

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
    examples = (
        Example(
            given="""
                float[1, 2, 8, 8] x
                float[3, 2, 3, 3] w
            """,
            before='y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
            after="y = Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w)",
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """Every operator with SAME."""
        for op in context.windows():
            if not op.auto_pad.startswith("SAME"):
                continue
            strides = tuple([window.stride for window in op.windows])
            message = f"auto_pad={op.auto_pad}, strides {strides}"
            try:
                padding = self._padding(context, op)
            except SizeDependentError as refusal:
                yield self._size_dependent(context, op, message, refusal)
                continue
            except RefusalError as refusal:
                yield self.refused(context, op.node, message, refusal)
                continue
            plan, pads = (op, padding), onnx_order(padding.total)
            yield self.resolved(context, op, message, plan, becomes=padding.text, pads=pads)

    def _padding(self, context: Context, op: WindowOp) -> Padding:
        """The padding in the style; where the operator cannot have that, pads in the operator."""
        style = context.style_of(op.node)
        try:
            return context.sites.plan(op, style)
        except RefusalError:
            if style == "fold":
                raise
            return context.sites.plan(op, "fold")

    def _size_dependent(
        self, context: Context, op: WindowOp, message: str, refusal: SizeDependentError
    ) -> Match:
        formula, multiples = context.open_sites.told(op, refusal.sizes)
        hindrance, hindered = "", {}
        try:
            context.open_sites.check_computed(op)
        except RefusalError as other:
            hindrance = f"; no Pad can compute them: {other}"
            hindered = {"no_pad": other.code}
        dynamic = context.wanted(op.node).dynamic
        if not hindrance and dynamic == "pad":
            return self.resolved(context, op, message, op, becomes="a computed Pad", why=formula)
        options = [*context.sites.wording.options(refusal.sizes, op.data)]
        options += ["--dynamic pad"] * (not hindrance)
        facts = {**refusal.facts, "auto_pad": op.auto_pad, "pads": formula, "options": options}
        facts["multiples"] = multiples
        reason = f"{refusal}: {formula}{hindrance}"
        why = RefusalError(refusal.code, reason, str(refusal), **facts, **hindered)
        asked = "--dynamic auto-pad" if dynamic == "auto-pad" else ""
        return self.refused(context, op.node, message, why, asked=asked)

    def rewrite(self, match: Match, context: Context) -> None:
        """Drops `auto_pad` and writes the pads in the style asked for, computed ones in a `Pad`."""
        if isinstance(match.plan, WindowOp):
            context.open_sites.write_computed(match.plan)
        else:
            write(context.graph, context.analysis, *match.plan)
