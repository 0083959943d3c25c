"""A Slice or `Pad` behind a transposed convolution, which crops and appends by itself."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.graph import Node
from onnxpad.messages import Named, named
from onnxpad.padding.crops import Crops, Obstacle, Taking, amounts_of
from onnxpad.proof.read import Reader
from onnxpad.reasons import Reason
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
        """Every transposed convolution with a Slice or `Pad` behind it, and Slices of all."""
        graph = context.graph
        for op in context.transposed():
            wanted = context.wanted(op.node)
            taking, left = _crops(context, op).taking(symmetric=wanted.symmetric_transpose)
            if taken := taking.told:
                wrong = context.misinferred(op.data, f"the {taking.last.op}")
                if wrong is None:
                    yield self._found(context, taking, taken)
                else:
                    left = taking.last, wrong
            if left is not None:
                yield self._refused(context, op, left)
        reader = Reader(graph, context.analysis)
        for node in graph.nodes if any(context.transposed()) else ():
            if node.op == "Slice" and graph.is_standard(node):
                term = reader.read(node.outputs[0])
                if term.bare.is_open and term is reader.read(node.inputs[0]):
                    message = Named.of("Slice of all of what a ConvTranspose gives")
                    becomes, why = "no Slice", "it crops nothing"
                    yield self.found(context, node, message, node, becomes=becomes, why=why)

    def _found(self, context: Context, taking: Taking, taken: list[Node]) -> Match:
        """The match that takes all."""
        graph, node = context.graph, taking.op.node
        message = named(
            lambda name: (
                " and ".join(f"{each.op}{name(graph.label(each))}" for each in taken)
                + f" behind {node.op}{name(graph.label(node))}"
            )
        )
        pads, becomes = onnx_order(taking.form.numbers), amounts_of(taking.form).text
        last = taking.last
        return self.found(
            context, taken[-1], message, taking, becomes=becomes, keeps=last, pads=pads
        )

    def _refused(self, context: Context, op: TransposedOp, left: Obstacle) -> Match:
        (crop, refusal), label = left, context.graph.label(op.node)
        behind = f"{crop.op} behind {op.node.op}"
        message = Named(f"{behind} {label!r}", behind)
        wanted, asked = context.wanted(op.node), ""
        if wanted.symmetric_transpose and refusal.code is Reason.CROPS:
            free, _ = _crops(context, op).taking()
            if crop in free.taken:
                is_style = wanted.style == "symmetric"
                asked = "--style symmetric" if is_style else "--symmetric-transpose"
        return self.refused(context, crop, message, refusal, asked=asked, transposed=label)

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes the new form, and connects what follows the last crop to it."""
        if isinstance(match.plan, Taking):
            _crops(context, match.plan.op).take(match.plan)
        else:
            context.graph.replace_op(match.node, "Identity", [match.node.inputs[0]], {})


def _crops(context: Context, op: TransposedOp) -> Crops:
    return Crops(context.graph, context.analysis, context.signs, op)
