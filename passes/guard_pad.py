"""A `Pad` that onnxruntime's optimiser wrongly folds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxpad.finding import Severity
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.pass_api import Context, Match, Pass
from onnxpad.runtimes.deployed import Exposed, folding_versions
from onnxpad.runtimes.protection import can_guard, guard, takes_empty_fill
from onnxpad.semantics.operators import operator_of


class GuardPad(Pass):
    """A `Pad` that onnxruntime's optimiser wrongly folds into the operator downstream.

    ## What it does
    Gives the `Pad` an empty third input: zero, like an omitted one, but not folded. Before opset
    11, and in a branch of an If with a constant condition, the operator gets `auto_pad=VALID`
    instead; if it has pads of its own, nothing protects the `Pad`, and the finding says so.
    ## Why it matters
    By default, from its basic level on, onnxruntime folds a `Pad` of zeros into Conv, MaxPool and
    AveragePool, without a look at negative data, `ceil_mode` or kernels: results change, or the
    model fails to load.
    ## Example
        p = Pad (x, pads)
        y = MaxPool <kernel_shape = [3, 3]> (p)
    becomes
        p = Pad (x, pads, "")
        y = MaxPool <kernel_shape = [3, 3]> (p)
    where
        float[1, 2, 8, 8] x
        int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}
    ## When it is exact
    Always: the meaning stays. It is done where the fold is certain, and wrong or not known to be
    right: amounts and fill are constants, and the operator alone reads the `Pad`, directly or
    through Identity. Any onnxruntime may run the model, not only the one installed: up to 1.31 all
    fold into pools, from 1.25 on also from opset 21 on. The evidence names the versions.
    ## References
    onnxruntime, core/optimizer/pad_fusion.cc; ONNX Pad-25, "constant_value".
    """

    code = "PAD701"
    severity = Severity.ERROR
    last = True

    def find(self, context: Context) -> Iterator[Match]:
        """Every `Pad` that is certainly and wrongly folded, in the original graph too."""
        graph = context.graph
        for exposed in context.misfolded():
            node, window = exposed.pad.node, exposed.window
            reader, row = graph.label(window), operator_of(graph, window)
            assert row is not None
            seen = folding_versions(row, graph.opset)
            into = f"onnxruntime {seen} folds it into {window.op} {reader!r}"
            why = f"{into}, though {exposed.why}"
            facts: dict[str, Any] = {"reader": reader, "onnxruntime": seen}
            if not can_guard(context, exposed):
                yield self.refused(context, node, why, _unguarded(context, exposed), **facts)
                continue
            is_emptied = takes_empty_fill(context, node)
            facts["becomes"] = "Pad with an empty third input" if is_emptied else "auto_pad=VALID"
            facts["keeps"] = node if is_emptied else window  # which is edited
            yield self.found(context, node, "Pad", exposed, why=why, **facts)

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes the empty third input, or `auto_pad`."""
        guard(context, match.plan)


def _unguarded(context: Context, exposed: Exposed) -> RefusalError:
    if "no_guard" in context.wanted(exposed.pad.node).spelling:
        return RefusalError(Reason.TARGET, "nothing that prevents it is taken by all targets")
    only = f"only auto_pad=VALID prevents that, and {exposed.window.op} has pads"
    if (opset := context.graph.opset) < 11:
        return RefusalError(Reason.OPSET_TOO_OLD, f"before opset 11 {only}", opset=opset)
    said = f"onnxruntime puts this branch in the place of its If, and then {only}"
    return RefusalError(Reason.OPTIMISER_FOLDS, said)
