"""A `Pad` of a `Pad`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from onnxpad.arithmetic.window import axes_text
from onnxpad.padding.write import set_amounts
from onnxpad.proof.read import layers_of
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass
from onnxpad.semantics.layers import Pairs, fill_of, is_padded, numbers_of
from onnxpad.semantics.read_nodes import PadOp, is_pad


class MergePads(Pass):
    """Two constant `Pad`s in a row that one could replace.

    ## What it does
    Adds the amounts of the first to the second, and connects the second to the first's input.
    ## Why it matters
    Each `Pad` costs a pass over memory.
    ## Example
        p = Pad (x, first)
        q = Pad (p, second)
    becomes
        q = Pad (x, sum)
    where
        float[1, 2, 8, 8] x
        int64[8] first = {0, 0, 1, 2, 0, 0, 1, 2}, int64[8] second = {0, 1, 3, 0, 0, 1, 0, 0}
        int64[8] sum = {0, 1, 4, 2, 0, 1, 1, 2}
    ## When it is exact
    Both have mode constant, known amounts and the same value (0.0 and -0.0 differ), which may come
    at run time. Nothing else reads the first. No side is padded where elements were cropped, and
    what is cropped is there at every size.
    ## References
    ONNX Pad-25.
    """

    code = "PAD203"
    why = "it writes the same"

    def find(self, context: Context) -> Iterator[Match]:
        """Every constant `Pad` that reads a constant `Pad`."""
        for second in context.pads():
            producer, known = second.data.producer, second.constant_amounts
            if producer is None or not is_pad(context.graph, producer):
                continue
            if known is not None and not is_padded(known):
                continue  # the rule on a Pad of nothing reports it
            first = context.pad(producer)
            if not isinstance(first, PadOp) or {first.mode, second.mode} != {"constant"}:
                continue
            label = context.graph.label(producer)
            message = f"Pad of Pad {label!r}"
            try:
                amounts, kept = self._sum(context, first, second)
            except RefusalError as refusal:
                yield self.refused(context, second.node, message, refusal)
            else:
                becomes = f"one Pad {axes_text(amounts)}"
                plan = first, amounts, kept
                yield self.found(context, second.node, message, plan, becomes=becomes)

    def _sum(self, context: Context, first: PadOp, second: PadOp) -> tuple[Pairs, PadOp]:
        """The sum of both amounts, over all axes, and the `Pad` whose value stays.

        Raises:
            RefusalError: One `Pad` cannot replace both.
        """
        graph, between = context.graph, first.node.outputs[0]
        layers = layers_of(graph, context.analysis, first.node, second.node)
        given = list[int]()
        for pad in (first, second):
            if pad.constant_amounts is None:
                raise context.sites.wording.amounts(pad)
            given += chain.from_iterable(pad.constant_amounts)
        if layers is None and min(given) >= 0:
            raise RefusalError(Reason.RANK_UNKNOWN, "the rank is known only at run time")
        if len({layer.fill for layer in layers or ()}) > 1:
            told = {} if first.value is None else {"value": first.value}
            raise RefusalError(Reason.FILL_DIFFERS, "they fill in different values", **told)
        if layers is None or len(layers) > 1:
            said = "one crops what the other pads, or more than there may be"
            raise RefusalError(Reason.CROPS, said)
        if graph.is_output(between) or len(graph.uses(between)) != 1:
            said = "the first is read elsewhere too"
            raise RefusalError(Reason.READ_ELSEWHERE, said, tensor=between.name)
        inner = layers or layers_of(graph, context.analysis, first.node)
        assert inner is not None
        amounts = numbers_of(inner[0].amounts)
        assert amounts is not None
        amounts = amounts if layers else ((0, 0),) * len(amounts)
        says = None if second.value is None else fill_of(second.value)
        return amounts, second if says in {layer.fill for layer in layers} else first

    def rewrite(self, match: Match, context: Context) -> None:
        """Gives the second the sum, over all axes, and the first's input."""
        first, amounts, kept = match.plan
        graph, node = context.graph, match.node
        set_amounts(graph, node, amounts)
        if kept is first and graph.opset < 11:
            graph.set_attribute(node, "value", first.node.attrs.get("value"))
        elif kept is first and (len(node.inputs) > 2 or first.node.operand(2) is not None):
            graph.set_input(node, 2, first.node.operand(2))
        graph.set_input(node, 0, first.data)
