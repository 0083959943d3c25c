"""`output_padding` of a transposed convolution that its pads could have."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.padding.crops import crop_of, form_of, form_text
from onnxpad.padding.padding import padding_of
from onnxpad.reasons import RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Example, Match, WritingPass
from onnxpad.semantics.amounts import onnx_order


class TakeOutputPadding(WritingPass):
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
    why = "these crop the same"
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

    def find(self, context: Context) -> Iterator[Match]:
        """Every transposed convolution with unequal pads that output_padding cancels in part."""
        for op in context.transposed():
            now = padding_of(op)
            if now is None:
                continue  # another rule writes these out
            is_negative = min(map(min, op.pads)) < 0
            is_equal = all(begin == end for begin, end in op.pads)
            stays = (
                is_equal
                or context.wanted(op.node).symmetric_transpose
                or not any(op.output_padding)
            )
            if stays and not is_negative:
                continue
            try:
                form = form_of(op, crop_of(context.analysis, op))
            except RefusalError as refusal:
                if is_negative:
                    yield self.refused(context, op.node, form_text(now), refusal)
                continue
            if form != now:
                pads, becomes = onnx_order(form.numbers), form_text(form)
                yield self.found(
                    context, op.node, form_text(now), (op, form), becomes=becomes, pads=pads
                )
