"""`Pad`s: of nothing, of other `Pad`s, before steps, of amounts that vary, and guarded ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from onnxpad.arithmetic.window import axes_text
from onnxpad.finding import Severity
from onnxpad.graph import Tensor
from onnxpad.options import KEPT
from onnxpad.padding.padding import readers_of
from onnxpad.padding.write import set_amounts
from onnxpad.proof.read import layers_of
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.pass_api import Context, Match, Pass
from onnxpad.rewrite.scopes import misfolded
from onnxpad.rewrite.sinking import Sinking, refused
from onnxpad.runtimes.onnxruntime.guard import can_guard, guard, takes_empty_fill
from onnxpad.runtimes.onnxruntime.pad_fusion import Exposed, folding_versions
from onnxpad.semantics.layers import Pairs, fill_of, is_padded, numbers_of, onnx_order
from onnxpad.semantics.operators import PadOp, gathering, is_pad


class DropEmptyPad(Pass):
    """A `Pad` whose amounts are all zero.

    ## What it does
    Connects its readers to its input. Where its output is a graph output, or read in a body, the
    node upstream writes that, or if the input is a graph input or output, or read in a body too,
    the `Pad` becomes an Identity.
    ## Why it matters
    It costs a copy, and blocks targets that have no `Pad`.
    ## Example
        p = Pad (x, zeros)
        y = Relu (p)
    becomes
        y = Relu (x)
    where
        float[1, 2, 8, 8] x
        int64[8] zeros = {0, 0, 0, 0, 0, 0, 0, 0}
    ## When it is exact
    In every mode, if the amounts are known to be zero, and so is the rank of the data.
    ## References
    ONNX Pad-25.
    """

    code = "PAD204"
    why = "it adds nothing"

    def find(self, context: Context) -> Iterator[Match]:
        """Every `Pad` whose amounts are known to be zero."""
        message = "Pad with amounts of 0"
        for pad in context.pads():
            amounts = pad.constant_amounts
            is_ranked = pad.axes is not None or context.analysis.shape(pad.data) is not None
            if amounts is None or is_padded(amounts) or not is_ranked:
                continue
            if context.graph.is_read(pad.node.outputs[0]):  # else the rule on what remains tells it
                yield self.found(context, pad.node, message, pad.data, becomes="no Pad")

    def rewrite(self, match: Match, context: Context) -> tuple[Tensor, ...] | None:
        """Connects the readers of the `Pad` to its input, or makes it an Identity."""
        graph, output = context.graph, match.node.outputs[0]
        data: Tensor = match.plan
        uses = graph.uses(output)
        if graph.is_output(output) or any(use.index < 0 for use in uses):
            graph.replace_op(match.node, "Identity", [data], {})
            return None
        for use in uses:
            graph.set_input(use.node, use.index, data)
        return (data,)


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
                amounts = self._sum(context, first, second)
            except RefusalError as refusal:
                yield self.refused(context, second.node, message, refusal)
            else:
                becomes = f"one Pad {axes_text(amounts)}"
                plan = first.data, amounts
                yield self.found(context, second.node, message, plan, becomes=becomes)

    def _sum(self, context: Context, first: PadOp, second: PadOp) -> Pairs:
        """The sum of both amounts, over all axes; or a refusal."""
        graph, between = context.graph, first.node.outputs[0]
        layers = layers_of(graph, context.analysis, first.node, second.node)
        given = list[int]()
        for pad in (first, second):
            if pad.constant_amounts is None:
                raise context.sites.wording.amounts(pad)
            given += chain.from_iterable(pad.constant_amounts)
        if layers is None and min(given) >= 0:
            raise RefusalError(Reason.RANK_UNKNOWN, "the rank is known only at run time")
        fills = {layer.fill for layer in layers or ()}
        amounts = numbers_of(layers[0].amounts) if layers and len(layers) == 1 else None
        if second.value is not None and max(map(max, amounts or ((0,),))) > 0:
            fills.add(fill_of(second.value))
        if len(fills) > 1:
            told = {} if first.value is None else {"value": first.value}
            raise RefusalError(Reason.FILL_DIFFERS, "they fill in different values", **told)
        if amounts is None:
            said = "one crops what the other pads, or more than there may be"
            raise RefusalError(Reason.CROPS, said)
        if graph.is_output(between) or len(graph.uses(between)) != 1:
            said = "the first is read elsewhere too"
            raise RefusalError(Reason.READ_ELSEWHERE, said, tensor=between.name)
        return amounts

    def rewrite(self, match: Match, context: Context) -> None:
        """Gives the second the sum, over all axes, and the first's input."""
        data, amounts = match.plan
        set_amounts(context.graph, match.node, amounts)
        context.graph.set_input(match.node, 0, data)


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
        if context.wanted(pad).style == "pad" and len(list(sinking.readers(pad.outputs[0]))) > 1:
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


_LOADS_NONE = "onnxruntime loads no model with these in another file"


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
                    same = filter(context.sites.same_of, context.windows())
                    elsewhere = {graph.origin(op.data).producer for op in same}
                is_same = pad.node in elsewhere
                if context.wanted(pad.node).dynamic == "pad" or not is_same:
                    why = context.sites.wording.amounts(pad)
                    asked = context.asks_to_compute or "--target" if is_same else ""
                    yield self.refused(context, pad.node, message, why, asked=asked)
            elif is_padded(amounts):  # else another rule removes the whole Pad
                becomes = f"constant amounts {axes_text(amounts, pad.axes)}"
                told: dict[str, Any] = {"why": "they are always these"}
                if outside:
                    told = {"why": _LOADS_NONE, "severity": Severity.ERROR}
                elif context.wanted(pad.node).style == KEPT.style:
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
        for exposed in misfolded(context):
            node, window = exposed.pad.node, exposed.window
            reader, seen = graph.label(window), folding_versions(window.op, graph.opset)
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
    if "no_valid" in context.wanted(exposed.pad.node).spelling:
        return RefusalError(Reason.TARGET, "nothing that prevents it is taken by all targets")
    only = f"only auto_pad=VALID prevents that, and {exposed.window.op} has pads"
    if (opset := context.graph.opset) < 11:
        return RefusalError(Reason.OPSET_TOO_OLD, f"before opset 11 {only}", opset=opset)
    said = f"onnxruntime puts this branch in the place of its If, and then {only}"
    return RefusalError(Reason.OPTIMISER_FOLDS, said)
