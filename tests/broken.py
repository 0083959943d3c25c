"""Passes with one thing wrong, for those that must notice."""

from collections.abc import Iterator

import numpy as np

from onnxpad.graph import Tensor
from onnxpad.passes.auto_pad import ResolveAutoPad
from onnxpad.passes.fold_pad import FoldPad
from onnxpad.passes.pads import DropEmptyPad, FixAmounts
from onnxpad.rewrite.pass_api import Context, Match, Pass
from onnxpad.semantics.layers import onnx_order


class Swapped(FoldPad):
    """Folds with begin and end swapped."""

    def rewrite(self, match: Match, context: Context) -> None:
        super().rewrite(match, context)
        swapped = [(end, begin) for begin, end in match.plan[1].padding.numbers]
        context.graph.set_attribute(match.node, "pads", onnx_order(swapped))


class Lost(FoldPad):
    """Leaves the `Pad` out and the operator as it is."""

    def rewrite(self, match: Match, context: Context) -> None:
        context.graph.set_input(match.node, 0, match.plan[1].pad.data)


class Forgotten(FoldPad):
    """Folds into an AveragePool that goes on not counting."""

    def rewrite(self, match: Match, context: Context) -> None:
        super().rewrite(match, context)
        context.graph.set_attribute(match.node, "count_include_pad", None)


class Regrouped(FoldPad):
    """Folds well, and divides the channels otherwise."""

    def rewrite(self, match: Match, context: Context) -> None:
        super().rewrite(match, context)
        context.graph.set_attribute(match.node, "group", 2)


class Reweighted(FoldPad):
    """Folds well, and reads another weight."""

    def rewrite(self, match: Match, context: Context) -> None:
        super().rewrite(match, context)
        values = context.graph.constant(match.node.inputs[1])
        assert values is not None
        other = context.graph.add_initializer(values + 1, "other")
        context.graph.set_input(match.node, 1, other)


class Cluttering(FoldPad):
    """Adds nodes and constants on its way to a wrong result."""

    def rewrite(self, match: Match, context: Context) -> None:
        graph, node = context.graph, match.node
        amounts = graph.add_initializer(np.array([0, 0, 9, 9, 0, 0, 9, 9]), "p")
        padded = graph.insert("Pad", [node.inputs[0], amounts], {}, before=node, name="a")
        graph.set_input(node, 0, padded)
        graph.set_attribute(node, "auto_pad", "VALID")


class Elsewhere(DropEmptyPad):
    """Says that another tensor stands for the `Pad`."""

    def rewrite(self, match: Match, context: Context) -> tuple[Tensor, ...]:
        graph = context.graph
        for use in graph.uses(match.node.outputs[0]):
            graph.set_input(use.node, use.index, graph.tensor("other"))
        return (graph.tensor("other"),)


class OtherSide(ResolveAutoPad):
    """Puts the odd element of SAME on the other side."""

    def rewrite(self, match: Match, context: Context) -> None:
        super().rewrite(match, context)
        swapped = [(end, begin) for begin, end in match.plan[1].padding.numbers]
        context.graph.set_attribute(match.node, "pads", onnx_order(swapped))


class Misread(FixAmounts):
    """Takes the begin of each computed pair for its end."""

    def rewrite(self, match: Match, context: Context) -> None:
        pad, _ = match.plan
        swapped = [(end, begin) for begin, end in pad.constant_amounts]
        pads = np.asarray(onnx_order(swapped), np.int64)
        context.graph.set_input(match.node, 1, context.graph.add_initializer(pads, "swapped"))


class Unguarded(Pass):
    """Folds whatever is in front of a MaxPool, without a look at what it pads with."""

    code = "PAD299"

    def find(self, context: Context) -> Iterator[Match]:
        for op in context.windows():
            pad = context.sites.pad_before(op)
            if pad is not None and op.node.op == "MaxPool":
                yield self.found(context, op.node, "a Pad", (op, pad))

    def rewrite(self, match: Match, context: Context) -> None:
        op, pad = match.plan
        amounts = pad.over(len(op.windows) + 2)
        context.graph.set_attribute(op.node, "pads", onnx_order(amounts[2:]))
        context.graph.set_input(op.node, 0, pad.data)
