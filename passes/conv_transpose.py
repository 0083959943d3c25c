"""Passes over transposed convolutions, and the base of those that write their form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from onnxpad.arithmetic.window import pads_text
from onnxpad.padding.crops import Crops, Taking, amounts_of, crop_of, form_of
from onnxpad.padding.padding import padding_of
from onnxpad.rewrite.pass_api import Choice, Context, Match, Pass, SitePass
from onnxpad.semantics.layers import is_padded, less, onnx_order
from onnxpad.semantics.operators import TransposedOp


class FormPass(SitePass):
    """Writes the form with the least numbers, with a Slice behind it for what equal pads leave."""

    why = "these crop the same"
    kind = TransposedOp
    symmetric: ClassVar[bool] = False

    def choose(self, context: Context, op: TransposedOp) -> Choice | None:
        """The form, where it is another one."""
        crop = crop_of(context.analysis, op)
        form = form_of(op, crop, symmetric=self.symmetric, sliced=self.symmetric)
        plan, becomes = Taking(op, form, rest=less(crop, form.crop)), amounts_of(form).text
        if is_padded(plan.rest):
            Crops(context.graph, context.analysis, op).check(plan)
            becomes += f" and a Slice of {pads_text(plan.rest)}"
        choice = Choice(form, becomes, {"pads": onnx_order(form.numbers)}, rest=plan.rest)
        return None if form == padding_of(op) else choice

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes the form, with a Slice behind it where that has to crop the rest."""
        op, choice = match.plan
        if is_padded(choice.rest):
            Crops(context.graph, context.analysis, op).take(
                Taking(op, choice.padding, (), choice.rest)
            )
        else:
            super().rewrite(match, context)


def is_uneven(op: TransposedOp) -> bool:
    """Whether pads differ at both ends of some axis."""
    return any(begin != end for begin, end in op.pads)


class TakeCrop(Pass):
    """A Slice or `Pad` behind a ConvTranspose that its own `pads` could do.

    ## What it does
    Adds what a Slice or a negative `Pad` crops to `pads`, and what a `Pad` appends to
    `output_padding`, directly or past operators that work on each element alone or only move axes.
    ## Why it matters
    TensorFlow and causal decoders (EnCodec) crop each result: a pass over memory, and wasted work.
    ## Example
        full = ConvTranspose <strides = [2]> (x, w)
        y = Slice (full, starts, ends, axes)
    becomes
        y = ConvTranspose <pads = [1, 1], strides = [2]> (x, w)
    where
        float[1, 2, 8] x, float[2, 3, 4] w
        int64[1] starts = {1}, int64[1] ends = {-1}, int64[1] axes = {2}
    ## When it is exact
    - The Slice has steps of 1 and crops by the same amounts at every size.
    - What is cropped is not padded again behind it, as elements would be lost.
    - A `Pad` is at the end, appends less than a stride, and its value is that of the result where
      no window reaches (0, or the bias if it is one number).
    - At every size something is left, and nothing else reads what lies between.
    ## References
    ONNX ConvTranspose-22, "output_shape"; Slice-13, Pad-25.
    """

    code = "PAD402"
    why = "these crop the same"
    behind = True

    def find(self, context: Context) -> Iterator[Match]:
        """Every transposed convolution with a Slice or `Pad` behind it."""
        graph = context.graph
        for op in context.transposed():
            wanted, label = context.wanted(op.node), graph.label(op.node)
            behind_it = Crops(graph, context.analysis, op)
            taking, left = behind_it.taking(symmetric=wanted.symmetric_transpose)
            taken, behind = taking.told, f"behind {op.node.op} {label!r}"
            if taken and (wrong := context.misinferred(op.data)):
                left = taking.last, wrong
            elif taken:
                crops = " and ".join(f"{each.op} {graph.label(each)!r}" for each in taken)
                facts: dict[str, Any] = {"pads": onnx_order(taking.form.numbers)}
                facts |= {"becomes": amounts_of(taking.form).text, "keeps": taking.last}
                yield self.found(context, taken[-1], f"{crops} {behind}", taking, **facts)
            if left is not None:
                crop, refusal = left
                asked = ""
                if wanted.symmetric_transpose and crop in behind_it.taking()[0].taken:
                    is_style = wanted.style == "symmetric"
                    asked = "--style symmetric" if is_style else "symmetric_transpose"
                facts = {"asked": asked, "transposed": label}
                yield self.refused(context, crop, f"{crop.op} {behind}", refusal, **facts)

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes the form, in place of all that it takes over."""
        Crops(context.graph, context.analysis, match.plan.op).take(match.plan)


class ResolveTransposed(FormPass):
    """`auto_pad` or `output_shape` of a ConvTranspose, which leave its pads to the runtime.

    ## What it does
    Replaces them by `pads` and, where the output is longer than the full result, `output_padding`.
    An `output_padding` that is there is taken off the end pads, as far as these reach.
    ## Why it matters
    Importers reject both or read them differently, as did onnxruntime before 1.13; onnx's shape
    inference is wrong for SAME with `output_padding`.
    ## Example
        y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)
    becomes
        y = ConvTranspose <pads = [0, 0, 1, 1], strides = [2, 2]> (x, w)
    where
        float[1, 2, 8, 8] x, float[2, 3, 3, 3] w
    ## When it is exact
    - VALID: always.
    - SAME: at every size, as the total is the extent of the kernel plus `output_padding` minus the
      stride. If that is below 0, it stays: onnxruntime gives less than specified.
    - `output_shape`: where the size of the data is fixed and onnx's shape inference is right about
      it, and the full result is not shorter. The odd element goes to the end for SAME_UPPER, else
      to the begin; `pads` beside it have no effect.
    ## References
    ONNX ConvTranspose-22, "auto_pad", "output_shape", "output_padding".
    """

    code = "PAD401"

    def applies(self, context: Context, op: TransposedOp) -> bool:
        """Whether it has an `auto_pad` other than NOTSET, or `output_shape`."""
        return not op.is_explicit


class TakeOutputPadding(FormPass):
    """`output_padding` of a ConvTranspose beside unequal pads, or negative pads.

    ## What it does
    Takes it off the end pads, as far as these reach, where pads differ at both ends of some axis
    (equal ones are all that onnxruntime's CUDA provider runs), unless `--target onnxruntime-cuda`
    or style `symmetric` wants equal pads. Makes `output_padding` of negative end pads.
    ## Why it matters
    Several runtimes drop it, want 0, or append no bias; onnxruntime refuses negative pads.
    ## Example
        y = ConvTranspose <output_padding = [1, 1], pads = [0, 1, 1, 1], strides = [2, 2]>
            (x, w)
    becomes
        y = ConvTranspose <pads = [0, 1, 0, 0], strides = [2, 2]> (x, w)
    where
        float[1, 2, 8, 8] x, float[2, 3, 3, 3] w
    ## When it is exact
    Always: both cancel out in the size, and what is cropped at the end is what was appended there.
    What remains must stay below the stride, and nothing can be prepended.
    ## References
    ONNX ConvTranspose-22, "output_padding", "pads".
    """

    code = "PAD403"

    def applies(self, context: Context, op: TransposedOp) -> bool:
        """Whether pads are negative, or unequal ones beside output_padding may stay unequal."""
        takes = any(op.output_padding) and not context.wanted(op.node).symmetric_transpose
        return op.is_explicit and (min(map(min, op.pads)) < 0 or (takes and is_uneven(op)))


class MakeSymmetric(FormPass):
    """Pads of a ConvTranspose that differ at both ends, where equal ones are asked for.

    ## What it does
    Pads (b, e) become (b, b), with an `output_padding` of b - e if b > e, with a Slice behind if b
    < e. Style `symmetric`, some targets and `symmetric_transpose=True` ask for it.
    ## Why it matters
    onnxruntime's CUDA provider leaves others to the CPU; cuDNN and PyTorch have one for both ends.
    ## Example
        y = ConvTranspose <pads = [1, 1, 0, 0], strides = [2, 2]> (x, w)
    becomes with `--target onnxruntime-cuda`
        y = ConvTranspose <output_padding = [1, 1], pads = [1, 1, 1, 1], strides = [2, 2]>
            (x, w)
    where
        float[1, 2, 8, 8] x, float[2, 3, 3, 3] w
    ## When it is exact
    Always with an `output_padding`; with a Slice where elements are left at every size. Where b - e
    is a stride or more, which no `output_padding` may be, a Slice crops the begin.
    ## References
    ONNX ConvTranspose-22, "pads", "output_padding"; onnxruntime, ConvTransposeNeedFallbackToCPU.
    """

    code = "PAD404"
    why = "equal at both ends"
    behind = symmetric = True

    def applies(self, context: Context, op: TransposedOp) -> bool:
        """Whether pads that are wanted to be equal at both ends are not."""
        return op.is_explicit and is_uneven(op) and context.wanted(op.node).symmetric_transpose
