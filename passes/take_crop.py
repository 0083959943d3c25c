"""A Slice or `Pad` behind a transposed convolution, which crops and appends by itself."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.graph import Node
from onnxpad.messages import Named, named
from onnxpad.padding.crops import Crops, Obstacle, Taking, form_text
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Example, Match, Pass
from onnxpad.semantics.amounts import onnx_order
from onnxpad.semantics.read_nodes import TransposedOp


class TakeCrop(Pass):
    """A Slice or `Pad` behind a ConvTranspose that its own `pads` could do.

    ## What it does
    Adds what a Slice or a negative `Pad` crops to `pads`, and what a `Pad` appends to
    `output_padding`, directly or past operators that work on each element alone or only move axes.
    A Slice that crops nothing goes.

    ## Why it matters
    TensorFlow and causal decoders (EnCodec) crop each result: a pass over memory, and wasted work.

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
    examples = (
        Example(
            given="""
                float[1, 2, 8] x
                float[2, 3, 4] w
                int64[1] starts = {1}
                int64[1] ends = {-1}
                int64[1] axes = {2}
            """,
            before="""
                full = ConvTranspose <strides = [2]> (x, w)
                y = Slice (full, starts, ends, axes)
            """,
            after="y = ConvTranspose <pads = [1, 1], strides = [2]> (x, w)",
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """Every transposed convolution with a Slice or `Pad` behind it."""
        for op in context.transposed():
            crops = _crops(context, op)
            symmetric = context.wanted(op.node).symmetric_transpose
            try:
                taking, left = crops.taking(symmetric=symmetric)
            except RefusalError:
                taking = left = None  # the rule on its own padding reports it
            if taking is not None and taking.told:
                wrong = context.misinferred(op.data, f"the {taking.last.op}")
                if wrong is None:
                    yield self._found(context, taking)
                else:
                    left = taking.last, wrong
            if left is not None:
                yield self._refused(context, op, left)
            for node in crops.idle():
                yield self.found(
                    context,
                    node,
                    Named.of("Slice of all of what a ConvTranspose gives"),
                    node,
                    becomes="no Slice",
                    why="it crops nothing",
                )

    def _found(self, context: Context, taking: Taking) -> Match:
        """The match that takes all; it names no `Pad` of nothing."""
        graph, node, taken = context.graph, taking.op.node, taking.told
        message = named(
            lambda name: (
                " and ".join(f"{each.op}{name(graph.label(each))}" for each in taken)
                + f" behind {node.op}{name(graph.label(node))}"
            )
        )
        pads, becomes = onnx_order(taking.form.numbers), form_text(taking.form)
        last = taking.last
        return self.found(
            context, taken[-1], message, taking, becomes=becomes, keeps=last, pads=pads
        )

    def _refused(self, context: Context, op: TransposedOp, left: Obstacle) -> Match:
        (crop, refusal), label = left, context.graph.label(op.node)
        behind = f"{crop.op} behind {op.node.op}"
        message = Named(f"{behind} {label!r}", behind)
        asked = self._asked(context, op, crop) if refusal.code is Reason.CROPS else ""
        return self.refused(context, crop, message, refusal, asked=asked, transposed=label)

    def _asked(self, context: Context, op: TransposedOp, crop: Node) -> str:
        """The option without which a transposed convolution would take up a crop; else empty."""
        wanted = context.wanted(op.node)
        if not wanted.symmetric_transpose:
            return ""
        free, _ = _crops(context, op).taking()
        if free is None or crop not in free.taken:
            return ""
        return "--style symmetric" if wanted.style == "symmetric" else "--symmetric-transpose"

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes the new form, and connects what follows the last crop to it."""
        if isinstance(match.plan, Taking):
            _crops(context, match.plan.op).take(match.plan)
        else:
            context.graph.replace_op(match.node, "Identity", [match.node.inputs[0]], {})


def _crops(context: Context, op: TransposedOp) -> Crops:
    return Crops(context.graph, context.analysis, context.signs, op)
