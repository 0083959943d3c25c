"""Attributes and operands of padding, spelled as a target reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.errors import and_list
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context, Match, Pass
from onnxpad.semantics.layers import is_padded, is_plain_zero, onnx_order
from onnxpad.semantics.operators import PadOp, TransposedOp, WindowOp


class SpellPadding(Pass):
    """Attributes and operands of padding, spelled as a target reads them.

    ## What it does
    With `--target`, else nothing, writes what a runtime insists on:
    - `kernel_shape` and `pads` even where they may be omitted; no `count_include_pad` where nothing
      is padded, or always one where something is; no `output_padding` that the pads can take up.
    - Of a `Pad` all axes, not its input `axes`; its fill even where 0, or none that says nothing;
      its amounts as numbers, not bytes; for every target as constants, if always the same. In what
      is written otherwise anyway, initializers for Constant nodes.
    ## Why it matters
    Importers forget defaults: one stops without `kernel_shape`, one on a third input of a `Pad`.
    ## Example
        y = ConvTranspose <strides = [2, 2]> (x, w)
    becomes with `--target coreml`
        y = ConvTranspose <pads = [0, 0, 0, 0], strides = [2, 2]> (x, w)
    where
        float[1, 2, 8, 8] x, float[2, 3, 3, 3] w
    ## When it is exact
    Always: each spelling means what the one before it means by the specification.
    ## References
    ONNX Conv-22, "kernel_shape", "pads"; Pad-25, "axes", "constant_value".
    """

    code = "PAD702"
    why = "these mean the same"
    last = True

    def find(self, context: Context) -> Iterator[Match]:
        """Every operator and `Pad` whose spelling is not the one that is wanted."""
        ops: list[WindowOp | TransposedOp] = [*context.windows(), *context.transposed()]
        plans = [(op.node, _attributes(op)) for op in ops]
        if context.graph.opset >= 11:
            plans += [(pad.node, _operands(context, pad)) for pad in context.pads()]
        for node, plan in plans:
            wanted = context.wanted(node).spelling
            if plan := {name: written for name, written in plan.items() if name in wanted}:
                what = f"spelled with {and_list(plan)}"
                yield self.found(context, node, str(node.op), plan, becomes=what)

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes the attributes or operands."""
        graph, node = context.graph, match.node
        is_typed = _TYPED in context.wanted(node).spelling
        for written in match.plan.values():
            for name, value in written.items():
                if isinstance(name, str):
                    graph.set_attributes(node, {name: value})
                elif value is None:
                    graph.set_input(node, name, None)
                else:
                    called = f"{node.name or node.outputs[0].name}_{_INPUTS[name]}"
                    stored = graph.add_initializer(value, called, as_numbers=is_typed and name == 1)
                    graph.set_input(node, name, stored)


_TYPED = "typed_amounts"
_INPUTS = ("data", "pads", "value", "axes")
Written = dict[str, dict[Any, Any]]
"""By spelling: attributes by name, and operands by their place; None removes one."""


def _attributes(op: WindowOp | TransposedOp) -> Written:
    node, plan, kernel = op.node, Written(), [window.kernel for window in op.windows]
    if "kernel_shape" not in node.attrs:
        plan["kernel_shape"] = {"kernel_shape": kernel}
    if not op.pads_written and op.auto_pad == "NOTSET":
        plan["write_pads"] = {"pads": onnx_order(op.pads)}
    if isinstance(op, TransposedOp):
        crop = Padding(op.pads, output_padding=op.output_padding).crop
        if op.is_explicit and any(op.output_padding) and min(end for _, end in crop) >= 0:
            plan["no_output_padding"] = {"pads": onnx_order(crop), "output_padding": None}
    elif node.op == "AveragePool":
        does = op.auto_pad.startswith("SAME") or op.ceil_mode or is_padded(op.pads)
        if op.count_include_pad and not does:
            plan["no_count_include_pad"] = {"count_include_pad": None}
        if does and "count_include_pad" not in node.attrs:
            plan["write_count_include_pad"] = {"count_include_pad": 0}
    return plan


def _operands(context: Context, pad: PadOp) -> Written:
    wanted, node, plan = context.wanted(pad.node).spelling, pad.node, Written()
    graph, data = context.graph, context.analysis.shape(pad.data)
    dtype = context.analysis.dtype(pad.data)
    if graph.is_main:  # in a body, no constant is written otherwise
        places = enumerate(node.inputs)
        found = {place: graph.constant(each) for place, each in places if place and each.producer}
        given = {place: value for place, value in found.items() if value is not None}
        plan |= {"initializers": given} if given else {}
    numbers, anew = pad.constant_amounts, ""
    if "no_axes" in wanted and pad.axes is not None and data is not None:
        numbers, anew = pad.over(len(data)), "no_axes"
    elif graph.constant(node.inputs[1]) is None:
        anew = "constant_amounts"
    elif graph.is_raw(node.inputs[1]):
        anew = _TYPED
    if anew and numbers is not None:
        plan[anew] = {1: np.asarray(onnx_order(numbers), np.int64)}
        plan[anew] |= {3: None} if anew == "no_axes" else {}
    is_zero = pad.mode == "constant" and is_plain_zero(pad.value)
    keeps_axes = node.operand(3) is not None and "no_axes" not in plan
    is_empty = len(node.inputs) > 2 and not node.inputs[2].name and not keeps_axes
    is_empty = is_empty and "no_empty_fill" in wanted
    if "value" in wanted and is_zero and (len(node.inputs) < 3 or is_empty) and dtype:
        plan["value"] = {2: np.zeros((), tensor_dtype_to_np_dtype(dtype))}
    elif is_empty:
        plan["no_empty_fill"] = {2: None}
    if (is_zero or pad.mode != "constant") and node.operand(2) is not None:
        plan["no_value"] = {2: None}
    return plan
