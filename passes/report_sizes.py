"""Operators for which onnx's shape inference gives another output size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxpad.facts.inference import Sizes, disagreements
from onnxpad.finding import Severity
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass


class ReportSizes(Pass):
    """An operator for which onnx's shape inference gives another output size.

    ## What it does
    Runs shape inference on each operator that it may be wrong about alone (those below, Resize,
    PRelu, Squeeze), with the sizes that follow from the model's inputs and initializers, and names
    it where a disagreement begins. Open sizes do not count.
    ## Why it matters
    Converters, memory planners and onnxruntime's optimiser trust shape inference, and onnx's full
    check refuses models that declare the right size. Known, as of onnx 1.23:
    - A pool with `ceil_mode` drops a last window that would start after the data; inference counts
      it. From opset 22 on, only where a kernel is longer than its padded input: converting mends
      the rest.
    - A ConvTranspose with SAME gives its input's size times the stride; inference adds
      `output_padding`. Writing out the pads mends it.
    ## Example
        y = MaxPool <ceil_mode = 1, kernel_shape = [1, 1], strides = [2, 2]> (x)
    stays
    where
        float[1, 2, 8, 8] x
    ## When it is exact
    Nothing is changed. Left out: models without Conv, pool and `Pad`, all but the first 2,000
    operators, custom ones, attributes that the opset lacks, functions, bodies of If and Loop.
    ## References
    ONNX MaxPool-22, AveragePool-22, LpPool-22, "ceil_mode"; ConvTranspose-22, "auto_pad".
    """

    code = "PAD902"
    severity = Severity.INFO
    rewrites = False

    def find(self, context: Context) -> Iterator[Match]:
        """The operators at which a disagreement begins, where anything could pad."""
        if next(context.windows(), None) is None and next(context.pads(), None) is None:
            return
        for node, output, derived, inferred in disagreements(context.graph, context.analysis):
            gives, says = _text(derived), _text(inferred)
            message = f"{node.op} gives {gives}, onnx's shape inference says {says}"
            told = "onnxpad does not rewrite sizes; 'onnxpad rule PAD902' says what mends it"
            why = RefusalError(Reason.SIZES_NOT_REWRITTEN, told)
            facts: dict[str, Any] = {"derived": list(derived), "inferred": list(inferred)}
            yield self.refused(context, node, message, why, output=output.name, **facts)


def _text(sizes: Sizes) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in sizes)})"
