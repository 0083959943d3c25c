"""`auto_pad` and `output_shape` of a transposed convolution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxpad.finding import Trust
from onnxpad.padding.crops import amounts_of, crop_of, form_of, form_text
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Example, Match, WritingPass
from onnxpad.semantics.amounts import Pairs, onnx_order
from onnxpad.semantics.read_nodes import TransposedOp


class ResolveTransposed(WritingPass):
    """`auto_pad` or `output_shape` of a ConvTranspose, which leave its pads to the runtime.

    ## What it does
    Replaces them by `pads` and, where the output is longer than the full result, `output_padding`.
    An `output_padding` that is there is taken off the end pads, as far as these reach.

    ## Why it matters
    Importers reject both or read them differently, as did onnxruntime before 1.13; onnx's shape
    inference is wrong for SAME with `output_padding`.

    ## When it is exact
    - VALID: always.
    - SAME: at every size, as the total is the extent of the kernel plus `output_padding` minus the
      stride. If that is below 0, onnxruntime gives less than specified: it stays, unless
      `--trust onnxruntime` decides.
    - `output_shape`: where the size of the data is fixed and onnx's shape inference is right about
      it, and the full result is not shorter or `--trust onnxruntime` decides. The odd element goes
      to the end for SAME_UPPER, else to the begin; `pads` beside it have no effect.

    ## References
    ONNX ConvTranspose-22, "auto_pad", "output_shape", "output_padding".
    """

    code = "PAD401"
    why = "these crop the same"
    examples = (
        Example(
            given="""
                float[1, 2, 8, 8] x
                float[2, 3, 3, 3] w
            """,
            before='y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
            after="y = ConvTranspose <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w)",
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """Every transposed convolution with an `auto_pad` other than NOTSET or `output_shape`."""
        for op in context.transposed():
            if op.is_explicit:
                continue
            message = amounts_of(op).text
            try:
                crop, decided = self._crop(context, op)
                form = form_of(op, crop)
            except RefusalError as refusal:
                yield self.refused(context, op.node, message, refusal, auto_pad=op.auto_pad)
                continue
            becomes = form_text(form)
            facts: dict[str, Any] = {"pads": onnx_order(form.numbers)}
            if decided is not None:
                becomes += f"; by --trust {context.trust}: {decided.facts['disagreement']}"
                facts = {**decided.facts, **facts, "trusts": context.trust}
            plan, decides = (op, form), decided is not None
            yield self.found(
                context, op.node, message, plan, becomes=becomes, decides=decides, **facts
            )

    def _crop(self, context: Context, op: TransposedOp) -> tuple[Pairs, RefusalError | None]:
        """The crop of an operator, and the disagreement that the trusted engine decides."""
        if op.output_shape is not None:
            wrong = context.misinferred(op.data, "output_shape")
            if wrong is not None:
                raise wrong
        try:
            return crop_of(context.analysis, op), None
        except RefusalError as refusal:
            decides = context.trust is Trust.RUNTIME
            if refusal.code is not Reason.ENGINES_DISAGREE or not decides:
                raise
            return crop_of(context.analysis, op, context.trust), refusal
