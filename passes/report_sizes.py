"""Operators for which onnx's shape inference gives another output size."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.analysis.shape_inference_check import Sizes, disagreements
from onnxpad.finding import Severity
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Example, Match, Pass


class ReportSizes(Pass):
    """An operator for which onnx's shape inference gives another output size.

    ## What it does
    Runs shape inference on each operator alone, with the input sizes that follow from the inputs
    and initializers of the model, and compares the output size. So the operator at which a
    disagreement begins is named, and none downstream of it. Open sizes are not compared.

    ## Why it matters
    Converters and memory planners size tensors by shape inference. onnxruntime does so too: it
    computes the size named first, warns that it expected the other one, and its optimiser folds a
    Shape downstream to that other one. onnx's full check refuses models that declare the right
    size.

    These are the known cases, as of onnx 1.23:

    - A pool with `ceil_mode` drops a last window that would start after the data, but shape
      inference counts it. From opset 22 on it does so only where a kernel is longer than its padded
      input: converting the model to that opset mends the rest.
    - A ConvTranspose with SAME gives the size of its input times the stride, but shape inference
      adds `output_padding` to that. Writing out the pads mends it.

    ## When it is exact
    Nothing is changed. Models without Conv, pool and `Pad` are skipped, and in a large one only the
    first 2,000 operators are compared. Custom operators, functions, bodies of If and Loop, and
    operators with attributes that their opset lacks are left out.

    ## References
    ONNX MaxPool-22, AveragePool-22, LpPool-22, "ceil_mode"; ConvTranspose-22, "auto_pad".
    """

    code = "PAD902"
    severity = Severity.INFO
    rewrites = False
    examples = (
        Example(
            given="float[1, 2, 8, 8] x",
            before="y = MaxPool <ceil_mode = 1, kernel_shape = [1, 1], strides = [2, 2]> (x)",
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """The operators at which a disagreement begins, where anything could pad."""
        if next(context.windows(), None) is None and next(context.pads(), None) is None:
            return
        for node, output, derived, inferred in disagreements(context.graph, context.analysis):
            yield self.refused(
                context,
                node,
                f"{node.op} gives {_text(derived)}, onnx's shape inference says {_text(inferred)}",
                RefusalError(
                    Reason.SIZES_NOT_REWRITTEN,
                    "onnxpad does not rewrite sizes; 'onnxpad rule PAD902' says what mends it",
                ),
                output=output.name,
                derived=list(derived),
                inferred=list(inferred),
            )


def _text(sizes: Sizes) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in sizes)})"
