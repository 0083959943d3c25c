"""Pads of a transposed convolution that are to be equal at both ends."""

from __future__ import annotations

from onnxpad.options import Wanted
from onnxpad.passes.take_crop import FormPass, is_uneven
from onnxpad.semantics.read_nodes import TransposedOp


class MakeSymmetric(FormPass):
    """Pads of a ConvTranspose that differ at both ends, with `--symmetric-transpose`.

    ## What it does
    Pads (b, e) become (b, b), with an `output_padding` of b - e if b > e, with a Slice behind if b
    < e. Style `symmetric` and some targets ask for it too.
    ## Why it matters
    onnxruntime's CUDA provider leaves others to the CPU; cuDNN and PyTorch have one for both ends.
    ## Example
        y = ConvTranspose <pads = [1, 1, 0, 0], strides = [2, 2]> (x, w)
    becomes with `--symmetric-transpose`
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

    def applies(self, was: TransposedOp, wanted: Wanted) -> bool:
        """Whether pads that are wanted to be equal at both ends are not."""
        return wanted.symmetric_transpose and was.is_explicit and is_uneven(was)
