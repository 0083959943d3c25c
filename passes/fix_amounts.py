"""Amounts of a `Pad` that are constant, but computed or in another file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from onnxpad.arithmetic.notation import axes_text
from onnxpad.finding import Severity
from onnxpad.messages import Named
from onnxpad.options import KEPT
from onnxpad.reasons import Reason
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass
from onnxpad.semantics.amounts import is_padded, onnx_order

_LOADS_NONE: Final = "onnxruntime loads no model with these in another file"


class FixAmounts(Pass):
    """A `Pad` whose amounts are computed but always the same, or are in another file.

    ## What it does
    Gives the `Pad` its amounts and axes as initializers, and removes the nodes that computed them.

    ## Why it matters
    TensorRT and others reject computed amounts, and onnxruntime refuses those in external data.

    ## Example
        pads = Cast <to = 7> (amounts)
        y = Pad <mode = "reflect"> (x, pads)
    becomes
        y = Pad <mode = "reflect"> (x, constant)
    where
        float[1, 2, 8, 8] x
        int32[8] amounts = {0, 0, 1, 2, 0, 0, 3, 4}
        int64[8] constant = {0, 0, 1, 2, 0, 0, 3, 4}

    ## When it is exact
    Where every amount is the same for every input that the graph admits; else the finding says on
    what it depends. External data is read only if the model was given by its path.

    ## References
    ONNX Pad-25.
    """

    code = "PAD205"
    last = True

    def find(self, context: Context) -> Iterator[Match]:
        """Every `Pad` whose amounts or axes are not constants, or are in another file."""
        graph = context.graph
        if graph.opset < 11:
            return
        elsewhere: set[int] | None = None
        for pad in context.pads():
            given = [
                (index, tensor)
                for index in (1, 3)
                if (tensor := pad.node.operand(index)) is not None
            ]
            external = any(graph.is_external(tensor) for _, tensor in given)
            wrong = [
                index
                for index, tensor in given
                if graph.is_external(tensor) or graph.constant(tensor) is None
            ]
            if not wrong:
                continue
            kept = "keeps its amounts in another file" if external else "has no constant amounts"
            message = Named.of(f"Pad ({pad.mode}) {kept}")
            amounts = pad.constant_amounts
            if amounts is not None:
                if not is_padded(amounts):
                    continue  # another rule removes the whole Pad
                if not external and context.style_of(pad.node) == KEPT.style:
                    continue
                severity = Severity.ERROR if external else self.severity
                yield self.found(
                    context,
                    pad.node,
                    message,
                    (pad, wrong),
                    becomes=f"constant amounts {axes_text(amounts, pad.axes)}",
                    why=_LOADS_NONE if external else "they are always these",
                    severity=severity,
                )
                continue
            if elsewhere is None:
                resolved = map(context.open_sites.resolves, context.windows())
                elsewhere = {id(other.node) for other in resolved if other is not None}
            is_same = id(pad.node) in elsewhere  # which need not be computed
            computes = context.wanted(pad.node).dynamic == "pad"
            if computes or not is_same:
                why = context.sites.wording.amounts(pad)
                is_open = why.code in {Reason.SIZE_DEPENDENT, Reason.NOT_WORKED_OUT}
                asked = context.asks_to_compute or "--target" if is_same and is_open else ""
                yield self.refused(context, pad.node, message, why, asked=asked)

    def rewrite(self, match: Match, context: Context) -> None:
        """Replaces the computed or external amounts and axes by initializers."""
        pad, wrong = match.plan
        name = pad.node.name or pad.node.outputs[0].name
        for index in wrong:
            known = onnx_order(pad.constant_amounts) if index == 1 else list(pad.axes)
            kind = "pads" if index == 1 else "axes"
            tensor = context.graph.add_initializer(np.asarray(known, np.int64), f"{name}_{kind}")
            context.graph.set_input(pad.node, index, tensor)
