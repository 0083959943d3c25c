"""`output_padding` of a transposed convolution beside unequal pads, and negative pads."""

from __future__ import annotations

from onnxpad.options import Wanted
from onnxpad.passes.take_crop import FormPass, is_uneven
from onnxpad.semantics.read_nodes import TransposedOp


class TakeOutputPadding(FormPass):
    """`output_padding` of a ConvTranspose beside unequal pads, or negative pads.

    ## What it does
    Takes it off the end pads, as far as these reach, where pads differ at both ends of some axis
    (equal ones are all that onnxruntime's CUDA provider runs), unless `--symmetric-transpose` or
    style `symmetric` wants equal pads. Makes `output_padding` of negative end pads.
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

    def applies(self, was: TransposedOp, wanted: Wanted) -> bool:
        """Whether pads are negative, or unequal ones beside output_padding may stay unequal."""
        takes = any(was.output_padding) and not wanted.symmetric_transpose
        is_negative = min(map(min, was.pads)) < 0
        return was.is_explicit and (is_negative or (takes and is_uneven(was)))
