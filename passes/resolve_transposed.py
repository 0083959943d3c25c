"""`auto_pad` and `output_shape` of a transposed convolution, written out."""

from __future__ import annotations

from onnxpad.options import Wanted
from onnxpad.passes.take_crop import FormPass
from onnxpad.semantics.read_nodes import TransposedOp


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
      stride. If that is below 0, onnxruntime gives less than specified: it stays, unless
      `--trust onnxruntime` decides.
    - `output_shape`: where the size of the data is fixed and onnx's shape inference is right about
      it, and the full result is not shorter or `--trust onnxruntime` decides. The odd element goes
      to the end for SAME_UPPER, else to the begin; `pads` beside it have no effect.
    ## References
    ONNX ConvTranspose-22, "auto_pad", "output_shape", "output_padding".
    """

    code = "PAD401"

    def applies(self, was: TransposedOp, wanted: Wanted) -> bool:
        """Whether it has an `auto_pad` other than NOTSET, or `output_shape`."""
        return not was.is_explicit
