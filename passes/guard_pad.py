"""A `Pad` that onnxruntime folds where it must not."""

from collections.abc import Iterator

from onnxpad.finding import Severity
from onnxpad.operators.onnxruntime_quirks import folding_versions
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.protect_from_fusion import can_guard, guard
from onnxpad.rewrite.rule import Example, Match, Pass


class GuardPad(Pass):
    """A `Pad` that onnxruntime's optimiser folds into the operator behind it, though it must not.

    ## What it does
    Gives the `Pad` a third input that is there and empty: it means what an omitted one means, zero,
    and keeps the optimiser away. Before opset 11 the operator gets `auto_pad=VALID`, where it has
    no pads of its own.

    ## Why it matters
    From its basic level on, which is part of the default, onnxruntime adds the amounts of a `Pad`
    of zeros to the pads of the Conv, MaxPool or AveragePool behind it. It asks neither whether
    negative data are pooled with zeros, nor how many windows `ceil_mode` gives, nor whether the
    pads stay below the kernel: the deployed model computes something else than the model says,
    or does not load.

    ## When it is exact
    Always: the model says the same. It is done where the fold is certain and not shown to be the
    same: amounts and fill are constants, the operator reads the `Pad` itself or by Identity, and
    nothing else does. Tried with onnxruntime 1.31.1, and 1.21.0, which folds none from opset 21
    on; the evidence names the versions. Before opset 11 an operator with
    pads of its own leaves nothing to keep the optimiser away; the finding says so.

    ## References
    onnxruntime, core/optimizer/pad_fusion.cc; ONNX Pad-25, "constant_value".
    """

    code = "PAD701"
    severity = Severity.ERROR
    last = True
    examples = (
        Example(
            given="""
                float[1, 2, 8, 8] x
                int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}
            """,
            before="""
                p = Pad (x, pads)
                y = MaxPool <kernel_shape = [3, 3]> (p)
            """,
            after="""
                p = Pad (x, pads, "")
                y = MaxPool <kernel_shape = [3, 3]> (p)
            """,
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """Every `Pad` that is folded for certain, in the graph as it came too."""
        graph = context.graph
        for exposed in context.misfolded():
            node, window = exposed.pad.node, exposed.window
            reader = graph.label(window)
            message = f"onnxruntime folds it into {window.op} {reader!r}, though {exposed.why}"
            seen = folding_versions(graph.opset)
            if can_guard(context, exposed):
                # The node that is edited, and so the one whose output has to stay the same.
                kept = node if graph.opset >= 11 else window
                yield self.found(
                    context,
                    node,
                    message,
                    exposed,
                    keeps=kept,
                    reader=reader,
                    onnxruntime=seen,
                )
            else:
                reason = RefusalError(
                    Reason.OPSET_TOO_OLD,
                    f"before opset 11 only auto_pad=VALID keeps it whole, and {window.op} has pads",
                    opset=graph.opset,
                )
                yield self.refused(context, node, message, reason, reader=reader, onnxruntime=seen)

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes the third input, or `auto_pad`."""
        guard(context, match.plan)
