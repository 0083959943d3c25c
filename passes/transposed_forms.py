"""Transposed convolutions that get another form with the same crop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from onnxpad.arithmetic.notation import pads_text
from onnxpad.finding import Trust
from onnxpad.padding.crops import Crops, Taking, amounts_of, crop_of, form_of, less
from onnxpad.padding.padding import padding_of
from onnxpad.padding.write import write
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Example, Match, Pass
from onnxpad.semantics.amounts import Pairs, is_padded, onnx_order
from onnxpad.semantics.read_nodes import TransposedOp


class _Form(Pass):
    """Writes the form with the least numbers, with a Slice behind it for what equal pads leave."""

    why = "these crop the same"
    symmetric: ClassVar[bool] = False

    def concerns(self, context: Context, op: TransposedOp) -> bool:
        """Whether an operator should have another form."""
        raise NotImplementedError

    def find(self, context: Context) -> Iterator[Match]:
        """Every transposed convolution that should have another form, and has one."""
        for op in context.transposed():
            if not self.concerns(context, op):
                continue
            message, facts = amounts_of(op).text, dict[str, Any]()
            try:
                plan, decided = self._plan(context, op)
            except RefusalError as refusal:
                if not op.is_explicit:
                    facts["auto_pad"] = op.auto_pad
                yield self.refused(context, op.node, message, refusal, **facts)
                continue
            becomes = amounts_of(plan.form).text
            if is_padded(plan.rest):
                becomes += f" and a Slice of {pads_text(plan.rest)}"
            facts, decides = {"pads": onnx_order(plan.form.numbers)}, decided is not None
            if decided is not None:
                becomes += f"; by --trust {context.trust}: {decided.facts['disagreement']}"
                facts = {**decided.facts, **facts, "trusts": context.trust}
            if plan.form != padding_of(op):
                yield self.found(
                    context, op.node, message, plan, becomes=becomes, decides=decides, **facts
                )

    def _plan(self, context: Context, op: TransposedOp) -> tuple[Taking, RefusalError | None]:
        """What is to be written, and the disagreement that the trusted engine decides."""
        crop, decided = _crop(context, op)
        form = form_of(op, crop, symmetric=self.symmetric, sliced=self.symmetric)
        plan = Taking(op, form, rest=less(crop, form.crop))
        if is_padded(plan.rest):
            Crops(context.graph, context.analysis, context.signs, op).check(plan)
        return plan, decided

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes the form, and a Slice behind it where that is needed."""
        graph, analysis, plan = context.graph, context.analysis, match.plan
        if is_padded(plan.rest):
            Crops(graph, analysis, context.signs, plan.op).take(plan)
        else:
            write(graph, analysis, plan.op, plan.form)


def _crop(context: Context, op: TransposedOp) -> tuple[Pairs, RefusalError | None]:
    """The crop of an operator, and the disagreement that the trusted engine decides."""
    if op.output_shape is not None:
        wrong = context.misinferred(op.data, "output_shape")
        if wrong is not None:
            raise wrong
    try:
        return crop_of(context.analysis, op), None
    except RefusalError as refusal:
        if refusal.code is not Reason.ENGINES_DISAGREE or context.trust is not Trust.RUNTIME:
            raise
        return crop_of(context.analysis, op, context.trust), refusal


class ResolveTransposed(_Form):
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

    def concerns(self, context: Context, op: TransposedOp) -> bool:
        """Whether it has an `auto_pad` other than NOTSET, or `output_shape`."""
        return not op.is_explicit


class TakeOutputPadding(_Form):
    """`output_padding` of a ConvTranspose beside unequal pads, or negative pads.

    ## What it does
    Takes it off the end pads, as far as these reach, where pads differ at both ends of some axis
    (equal ones are all that onnxruntime's CUDA provider runs), unless `--symmetric-transpose` or
    style `symmetric` wants equal pads. Makes `output_padding` of negative end pads.

    ## Why it matters
    Several runtimes drop it, want 0, or append no bias; onnxruntime refuses negative pads.

    ## When it is exact
    Always: both cancel out in the size, and what is cropped at the end is what was appended there.
    What remains must stay below the stride, and nothing can be prepended.

    ## References
    ONNX ConvTranspose-22, "output_padding", "pads".
    """

    code = "PAD403"
    examples = (
        Example(
            given="""
                float[1, 2, 8, 8] x
                float[2, 3, 3, 3] w
            """,
            before="""
                y = ConvTranspose <output_padding = [1, 1], pads = [0, 1, 1, 1], strides = [2, 2]>
                    (x, w)
            """,
            after="y = ConvTranspose <pads = [0, 1, 0, 0], strides = [2, 2]> (x, w)",
        ),
    )

    def concerns(self, context: Context, op: TransposedOp) -> bool:
        """Whether pads are negative, or unequal ones beside output_padding may stay unequal."""
        stays = context.wanted(op.node).symmetric_transpose or not any(op.output_padding)
        is_negative = min(map(min, op.pads)) < 0
        return op.is_explicit and (is_negative or (_is_uneven(op) and not stays))


class MakeSymmetric(_Form):
    """Pads of a ConvTranspose that differ at both ends, with `--symmetric-transpose`.

    ## What it does
    Pads (b, e) become (b, b), with an `output_padding` of b - e if b > e, with a Slice behind if b
    < e. Style `symmetric` and some targets ask for it too.

    ## Why it matters
    onnxruntime's CUDA provider leaves others to the CPU; cuDNN and PyTorch have one for both ends.

    ## When it is exact
    Always with an `output_padding`; with a Slice where elements are left at every size. Where b - e
    is a stride or more, which no `output_padding` may be, a Slice crops the begin.

    ## References
    ONNX ConvTranspose-22, "pads", "output_padding"; onnxruntime, ConvTransposeNeedFallbackToCPU.
    """

    code = "PAD404"
    why = "equal at both ends"
    behind = symmetric = True
    examples = (
        Example(
            given="""
                float[1, 2, 8, 8] x
                float[2, 3, 3, 3] w
            """,
            before="y = ConvTranspose <pads = [1, 1, 0, 0], strides = [2, 2]> (x, w)",
            after="""
                y = ConvTranspose <output_padding = [1, 1], pads = [1, 1, 1, 1], strides = [2, 2]>
                    (x, w)
            """,
            symmetric_transpose=True,
        ),
    )

    def concerns(self, context: Context, op: TransposedOp) -> bool:
        """Whether pads that are wanted to be equal at both ends are not."""
        is_wanted = context.wanted(op.node).symmetric_transpose
        return is_wanted and op.is_explicit and _is_uneven(op)


def _is_uneven(op: TransposedOp) -> bool:
    return any(begin != end for begin, end in op.pads)
