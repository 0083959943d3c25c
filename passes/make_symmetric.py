"""Transposed convolutions with pads that differ at both ends, where the user wants none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onnxpad.arithmetic.notation import pads_text
from onnxpad.graph import Tensor
from onnxpad.padding.crops import Crops, crop_of, form_text, symmetric_form
from onnxpad.padding.padding import Padding, padding_of
from onnxpad.padding.write import changes, write
from onnxpad.proof.term import DiffersError
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Example, Match, Pass
from onnxpad.semantics.amounts import ENDLESS, Pairs, is_padded, onnx_order
from onnxpad.semantics.read_nodes import TransposedOp


class MakeSymmetric(Pass):
    """Pads of a ConvTranspose that differ at both ends, with `--symmetric-transpose`.

    ## What it does
    Pads (b, e) become (b, b), with an `output_padding` of b - e if b > e, with a Slice behind if b
    < e. Style `symmetric` and some targets ask for it too.

    ## Why it matters
    onnxruntime's CUDA provider leaves others to the CPU; cuDNN and PyTorch have one for both ends.

    ## When it is exact
    Always with an `output_padding`; with a Slice where elements are left at every size. Where b - e
    is a stride or more, which no `output_padding` may be, a Slice crops the begin.

    ## References
    ONNX ConvTranspose-22, "pads", "output_padding"; onnxruntime, ConvTransposeNeedFallbackToCPU.
    """

    code = "PAD404"
    why = "equal at both ends"
    behind = True
    examples = (
        Example(
            given="""
                float[1, 2, 8, 8] x
                float[2, 3, 3, 3] w
            """,
            before="y = ConvTranspose <pads = [1, 1, 0, 0], strides = [2, 2]> (x, w)",
            after="""
                y = ConvTranspose <output_padding = [1, 1], pads = [1, 1, 1, 1], strides = [2, 2]>
                    (x, w)
            """,
            symmetric_transpose=True,
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """Every transposed convolution with other pads at the begin than at the end."""
        for op in context.transposed():
            if not context.wanted(op.node).symmetric_transpose:
                continue
            now = padding_of(op)
            if now is None or all(begin == end for begin, end in op.pads):
                continue
            message = form_text(now)
            try:
                form, rest = symmetric_form(op, crop_of(context.analysis, op))
                _check(context, op, form, rest)
            except RefusalError as refusal:
                yield self.refused(context, op.node, message, refusal)
                continue
            further = f" and a Slice of {pads_text(rest)}" if is_padded(rest) else ""
            pads = onnx_order(form.numbers)
            plan, becomes = (op, form, rest), f"{form_text(form)}{further}"
            yield self.found(context, op.node, message, plan, becomes=becomes, pads=pads)

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes the form, and a Slice behind it where that is needed."""
        op, form, rest = match.plan
        if is_padded(rest):
            _slice(context, op, form, rest)
        else:
            write(context.graph, context.analysis, op, form)


def _check(context: Context, op: TransposedOp, form: Padding, rest: Pairs) -> None:
    """Raises RefusalError where a Slice may leave nothing, which the operator refuses to give."""
    if is_padded(rest):
        crops = Crops(context.graph, context.analysis, context.signs, op)
        try:
            crops.check(lambda: _slice(context, op, form, rest), op.node.outputs[0])
        except DiffersError as error:
            told = "at some size nothing may be left for the Slice"
            raise RefusalError(Reason.MAY_BE_EMPTY, told) from error


def _slice(context: Context, op: TransposedOp, form: Padding, rest: Pairs) -> Tensor:
    """Inserts the operator with a form, and a Slice of what is left, which the old one copies."""
    graph, node = context.graph, op.node
    (full,) = graph.insert_like(node, node.inputs, changes(op, form), name=node.name)
    cut = [(axis, *pair) for axis, pair in zip(op.axes, rest, strict=True) if any(pair)]
    axes, starts = [axis for axis, _, _ in cut], [begin for _, begin, _ in cut]
    ends = [-end or ENDLESS for _, _, end in cut]
    bounds = {"starts": starts, "ends": ends, "axes": axes}
    inputs, attributes, name = [full], bounds, f"{node.name or node.outputs[0].name}_crop"
    if graph.opset >= _BY_INPUTS:
        inputs += [
            graph.add_initializer(np.asarray(values, np.int64), f"{name}_{what}")
            for what, values in bounds.items()
        ]
        attributes = {}
    cropped = graph.insert("Slice", inputs, attributes, before=node, name=name)
    graph.replace_op(node, "Identity", [cropped], {})
    return cropped


_BY_INPUTS = 10
"""The first opset in which a Slice takes its bounds as inputs."""
