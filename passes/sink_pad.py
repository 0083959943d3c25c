"""A `Pad` with other operators between it and the operator that could pad."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.arithmetic.window import axes_text
from onnxpad.graph import Tensor
from onnxpad.padding.padding import readers_of
from onnxpad.reasons import Reason
from onnxpad.rewrite.pass_api import Context, Match, Pass
from onnxpad.rewrite.sinking import Sinking, refused
from onnxpad.semantics.layers import numbers_of
from onnxpad.semantics.operators import PadOp, gathering


class SinkPad(Pass):
    """A `Pad` with other operators between it and the operator that could do its padding.

    ## What it does
    Moves the `Pad` behind these, where another rule folds it. Its amounts follow the axes, its
    value the operators; the shape of a Reshape is corrected.
    ## Why it matters
    With channels last, quantised or one-dimensional, there are some before each Conv.
    ## Example
        p = Pad (x, pads)
        t = Transpose <perm = [0, 3, 1, 2]> (p)
        y = Conv (t, w)
    becomes
        t = Transpose <perm = [0, 3, 1, 2]> (x)
        y = Conv <pads = [1, 1, 1, 1]> (t, w)
    where
        float[1, 8, 8, 2] x, float[3, 2, 3, 3] w
        int64[8] pads = {0, 1, 1, 0, 0, 1, 1, 0}
    ## When it is exact
    The `Pad` has mode constant, known amounts and a known value; the operators work on each element
    alone, or on axes that are not padded; everything that reads the padded data can take it over:
    - Transpose; Unsqueeze, Squeeze with axes, Reshape and Flatten that only add or drop axes of
      size 1.
    - Concat of data that is all padded alike, Split and Slice along other axes, and a Slice on a
      side that is not padded.
    - Relu, Clip, Neg, Abs, Cast, QuantizeLinear, DequantizeLinear, arithmetic with a constant that
      does not vary along padded axes, if the value comes out as one certain number. Other functions
      only where they make 0 of 0, as Tanh and LeakyRelu, but not Sigmoid.
    - A zero whose sign is not certain counts as 0 where nothing can tell: all that reads it is a
      Conv or LpPool, or a step before one, or makes integers of it.
    ## References
    ONNX Pad-25 and the pages of the operators named.
    """

    code = "PAD207"
    why = "nearer to the operator that slides over it"

    def find(self, context: Context) -> Iterator[Match]:
        """Every constant `Pad` that a step reads."""
        graph, sinking = context.graph, None
        for pad in context.pads():
            readers = (use.node for use in readers_of(graph, pad.node.outputs[0]) if use)
            if all(graph.is_standard(each) and gathering(graph, each) for each in readers):
                continue  # no step reads it
            version = -1
            while version != graph.version and pad.node.alive:
                sinking = sinking or Sinking(context)
                match = self._match(context, sinking, pad)
                version, mark = graph.version, graph.mark()
                if match is not None:
                    yield match  # which may be made at once, and there may be others behind it
                if mark != graph.mark():
                    sinking = None

    def _match(self, context: Context, sinking: Sinking, op: PadOp) -> Match | None:
        """The first step behind which a `Pad` can be written, or why there is none."""
        graph, pad, refusal = context.graph, op.node, None
        padded = sinking.lifted(pad.outputs[0])
        if padded is None:
            return None
        if context.style_of(pad) == "pad" and len(list(sinking.readers(pad.outputs[0]))) > 1:
            return None  # where nothing folds, one Pad before a branch is less than one behind each
        message = f"Pad {axes_text(numbers_of(padded.layer.amounts) or ())}"
        known = pad.outputs[0].name in context.absorbed
        for step, reason in sinking.cuts(pad):
            if reason is None and (shared := sinking.shared(step)) is not None:
                why = "between is read elsewhere too, where the padding is not taken"
                reason = refused(graph, shared, why, Reason.READ_ELSEWHERE)
            reason = reason or (None if known else sinking.refusal(step))
            if reason is not None:
                if refusal is None and sinking.looked.path(step.outputs[0]):
                    refusal = reason
                continue
            lifted = sinking.lifted(step.outputs[0])
            assert lifted is not None
            labels = [graph.label(each) for each in lifted.steps]
            steps = [f"{each.op} {graph.label(each)!r}" for each in lifted.steps]
            past = f"{message} before {', '.join(steps)}"
            becomes = "behind these" if len(labels) > 1 else "behind it"
            plan = sinking, step
            return self.found(context, pad, past, plan, becomes=becomes, keeps=step, steps=labels)
        return None if refusal is None else self.refused(context, pad, message, refusal)

    def rewrite(self, match: Match, context: Context) -> tuple[Tensor, ...]:
        """Writes the padding behind the last step."""
        sinking, step = match.plan
        outputs: tuple[Tensor, ...] = sinking.cut(step)
        context.absorbed.update(each.name for each in outputs)
        return outputs
