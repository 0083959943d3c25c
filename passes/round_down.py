"""Pools that round up, where the user wants none."""

from __future__ import annotations

from onnxpad.arithmetic.window import pads_text
from onnxpad.finding import Severity
from onnxpad.options import Wanted
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Choice, SitePass
from onnxpad.semantics.layers import onnx_order
from onnxpad.semantics.read_nodes import WindowOp


class RoundDown(SitePass):
    """`ceil_mode` of a pool, where `--no-ceil` asks for none.

    ## What it does
    Drops it, and pads the end of each axis as far as the last window reaches. Styles `pad` and
    `symmetric` then move these pads into a `Pad`. Some targets ask for it too.
    ## Why it matters
    Runtimes and onnx's shape inference differ on the last window. Before opset 19, onnxruntime 1.21
    divides by the whole kernel in an AveragePool that counts its padding: an error.
    ## Example
        y = MaxPool <ceil_mode = 1, kernel_shape = [3, 3], strides = [2, 2]> (x)
    becomes with `--no-ceil`
        y = MaxPool <kernel_shape = [3, 3], pads = [0, 0, 1, 1], strides = [2, 2]> (x)
    where
        float[1, 2, 8, 8] x
    ## When it is exact
    The number of windows is the same at every size that the graph admits (rounding up may give none
    at the least ones: give them a range, `--dim`), and the pads are below the kernel. In style
    `pad` they can be in a `Pad`, as those of an average that leaves them out cannot.
    - MaxPool, LpPool: always; padding never wins, or is 0 like what is past the data.
    - AveragePool that leaves its padding out of the divisor, or has none: always; the new pads are
      left out.
    - AveragePool that counts its padding: where no window reaches past it.
    ## References
    ONNX MaxPool-22, AveragePool-22, LpPool-22, "ceil_mode".
    """

    code = "PAD301"
    why = "there are as many windows"

    def applies(self, was: WindowOp, wanted: Wanted) -> bool:
        """Every operator with `ceil_mode`, where none is wanted."""
        return was.ceil_mode and wanted.no_ceil

    def choose(self, context: Context, op: WindowOp) -> Choice:
        """The pads with which it rounds down."""
        floor, decides = context.sites.floored(op, context.style_of(op.node), context.trust)
        pads = op.pads if floor.is_same else floor.numbers
        becomes, facts = f"pads {pads_text(pads)} without it", {"pads": onnx_order(pads)}
        # From opset 19 on, onnxruntime 1.21 divides an average that rounds up as it should.
        wrong = pads != op.pads and op.count_include_pad and context.graph.opset < 19
        severity = Severity.ERROR if wrong else None
        decided: dict[str, str] | None = None if decides is None else {}
        return Choice(floor, becomes, facts, decided=decided, severity=severity)
