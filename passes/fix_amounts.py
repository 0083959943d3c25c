"""Amounts that are computed though they are constant. May import: rule, site."""

from collections.abc import Iterator

import numpy as np

from onnxpad.operators import onnx_order
from onnxpad.rule import Context, Match, Pass
from onnxpad.site import told


class FixAmounts(Pass):
    """A `Pad` whose amounts are computed, and always come out the same.

    ## What it does
    Gives the `Pad` its amounts, and its axes, as initializers; the nodes that computed them go.

    ## Why it matters
    TensorRT and many others reject a `Pad` whose amounts are not constants, and torch's
    TorchScript exporter computes the amounts of every `F.pad`.

    ## Example
        pads = Cast <to = 7> (amounts)
        y = Pad <mode = "reflect"> (x, pads)
    becomes
        y = Pad <mode = "reflect"> (x, constant)

    ## When it is exact
    Every amount is one number for every input that the graph admits. Where an amount depends on a
    size or on data the `Pad` stays, and the finding says on which.

    ## References
    ONNX Pad-25.
    """

    code = "PAD205"
    last = True

    def find(self, context: Context) -> Iterator[Match]:
        """Every `Pad` whose amounts or axes are neither an initializer nor a Constant."""
        if context.graph.opset < 11:
            return
        elsewhere: set[int] | None = None
        for pad in context.pads():
            computed = [
                index
                for index in (1, 3)
                if len(pad.node.inputs) > index
                and pad.node.inputs[index].name
                and context.graph.constant(pad.node.inputs[index]) is None
            ]
            if not computed:
                continue
            amounts = pad.constant_amounts
            message = f"Pad ({pad.mode}) computes its amounts"
            if amounts is not None:
                yield self.found(
                    context, pad.node, f"{message}: always {told(amounts)}", (pad, computed)
                )
                continue
            if elsewhere is None:
                resolved = map(context.open_sites.resolves, context.windows())
                elsewhere = {id(other.node) for other in resolved if other is not None}
            if id(pad.node) not in elsewhere:
                yield self.refused(context, pad.node, message, context.sites.unknown_amounts(pad))

    def rewrite(self, match: Match, context: Context) -> None:
        """Replaces what is computed by initializers."""
        pad, computed = match.plan
        name = pad.node.name or pad.node.outputs[0].name
        for index in computed:
            known = onnx_order(pad.constant_amounts) if index == 1 else list(pad.axes)
            kind = "pads" if index == 1 else "axes"
            tensor = context.graph.add_initializer(np.asarray(known, np.int64), f"{name}_{kind}")
            context.graph.set_input(pad.node, index, tensor)
