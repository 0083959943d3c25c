"""Amounts of a `Pad` that are constant, but computed or in another file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from onnxpad.arithmetic.window import axes_text
from onnxpad.finding import Severity
from onnxpad.options import KEPT
from onnxpad.reasons import Reason
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass
from onnxpad.semantics.layers import is_padded, onnx_order

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
        graph, elsewhere = context.graph, None
        for pad in context.pads():
            given = {at: each for at in (1, 3) if (each := pad.node.operand(at)) is not None}
            outside = [at for at, each in given.items() if graph.is_external(each)]
            wrong = [at for at in given if at in outside or graph.constant(given[at]) is None]
            if not wrong:
                continue
            kept = "keeps its amounts in another file" if outside else "has no constant amounts"
            message, amounts = f"Pad ({pad.mode}) {kept}", pad.constant_amounts
            if amounts is None:
                if elsewhere is None:  # the Pads that need not be computed
                    resolved = map(context.open_sites.resolves, context.windows())
                    elsewhere = {id(other.node) for other in resolved if other is not None}
                is_same = id(pad.node) in elsewhere
                if context.wanted(pad.node).dynamic == "pad" or not is_same:
                    why = context.sites.wording.amounts(pad)
                    is_open = why.code in {Reason.SIZE_DEPENDENT, Reason.NOT_WORKED_OUT}
                    asked = context.asks_to_compute or "--target" if is_same and is_open else ""
                    yield self.refused(context, pad.node, message, why, asked=asked)
            elif is_padded(amounts):  # else another rule removes the whole Pad
                becomes = f"constant amounts {axes_text(amounts, pad.axes)}"
                told: dict[str, Any] = {"why": "they are always these"}
                if outside:
                    told = {"why": _LOADS_NONE, "severity": Severity.ERROR}
                elif context.style_of(pad.node) == KEPT.style:
                    continue
                yield self.found(context, pad.node, message, (pad, wrong), becomes=becomes, **told)

    def rewrite(self, match: Match, context: Context) -> None:
        """Replaces the computed or external amounts and axes by initializers."""
        pad, wrong = match.plan
        name = pad.node.name or pad.node.outputs[0].name
        for index in wrong:
            known = onnx_order(pad.constant_amounts) if index == 1 else list(pad.axes)
            kind = "pads" if index == 1 else "axes"
            tensor = context.graph.add_initializer(np.asarray(known, np.int64), f"{name}_{kind}")
            context.graph.set_input(pad.node, index, tensor)
