"""Attributes and operands of padding, spelled as a target reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.graph import Graph, Node
from onnxpad.messages import and_list
from onnxpad.operators.amounts import is_padded, is_plain_zero, onnx_order
from onnxpad.operators.read import PadOp, TransposedOp, WindowOp
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Example, Match, Pass


class SpellPadding(Pass):
    """Attributes and operands of padding, spelled as a target reads them.

    ## What it does
    With `--target`, writes what some runtimes insist on and others leave out: `kernel_shape`
    and `pads` even where they may be omitted, no `count_include_pad` where nothing is padded or
    always one where something is,
    no `output_padding` that the pads can take up, all axes of a `Pad` in place of its input
    `axes`, its fill even where that is 0, or none where it says nothing, and its amounts as
    numbers rather than bytes. Amounts that are computed but always the same become constants for
    every target. Of a `Pad` that is written otherwise anyway, Constant nodes
    become initializers, of which more is known. Without a target this rule finds nothing.

    ## Why it matters
    Importers read attributes by name and forget defaults: one stops without `kernel_shape`, one
    reads the pads of a transposed convolution wherever they should be, one takes the third input
    of a `Pad` for granted, and another refuses it.

    ## When it is exact
    Always: each spelling means what the one before it means by the specification.

    ## References
    ONNX Conv-22, "kernel_shape", "pads"; Pad-25, "axes", "constant_value".
    """

    code = "PAD702"
    why = "these mean the same"
    last = True
    examples = (
        Example(
            given="""
                float[1, 2, 8, 8] x
                float[2, 3, 3, 3] w
            """,
            before="y = ConvTranspose <strides = [2, 2]> (x, w)",
            after="y = ConvTranspose <pads = [0, 0, 0, 0], strides = [2, 2]> (x, w)",
            target="coreml",
        ),
    )

    def find(self, context: Context) -> Iterator[Match]:
        """Every operator and `Pad` whose spelling is not the one that is wanted."""
        for window in context.windows():
            yield from self._match(context, window.node, _attributes(context, window))
        for op in context.transposed():
            yield from self._match(context, op.node, _attributes(context, op))
        if context.graph.opset >= 11:
            for pad in context.pads():
                yield from self._match(context, pad.node, _operands(context, pad))

    def _match(self, context: Context, node: Node, plan: Mapping[str, Any]) -> Iterator[Match]:
        if plan:
            what = and_list([_WORDS[name] for name in plan])
            yield self.found(context, node, str(node.op), plan, becomes=what)

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes the attributes or operands."""
        graph, node = context.graph, match.node
        name = node.name or node.outputs[0].name
        for spelling, value in match.plan.items():
            if spelling == "value":
                graph.set_input(node, 2, graph.add_initializer(value, f"{name}_value"))
            elif spelling in {"no_value", "no_empty_fill"}:
                graph.set_input(node, 2, None)
            elif spelling == "initializers":
                for place, constant in value.items():
                    stored = graph.add_initializer(constant, f"{name}_{_INPUTS[place]}")
                    graph.set_input(node, place, stored)
            elif isinstance(value, dict):
                graph.set_attributes(node, value)
            else:
                is_typed = _TYPED in context.wanted(node).spelling
                amounts = graph.add_initializer(value, f"{name}_pads", as_numbers=is_typed)
                graph.set_input(node, 1, amounts)
                if spelling == "no_axes":
                    graph.set_input(node, 3, None)


_TYPED: Final = "typed_amounts"
_WORDS: Final = {
    "kernel_shape": "kernel_shape is written",
    "write_pads": "pads are written",
    "no_count_include_pad": "count_include_pad is left out",
    "write_count_include_pad": "count_include_pad is written",
    "no_output_padding": "output_padding is taken off the pads",
    "no_axes": "amounts of all axes are written",
    "value": "the fill is written",
    "no_value": "no fill is written",
    "no_empty_fill": "no fill is left empty",
    "typed_amounts": "amounts are stored as numbers",
    "constant_amounts": "amounts are constant",
    "initializers": "Constant nodes are initializers",
}
_INPUTS: Final = ("data", "pads", "value", "axes")


def _attributes(context: Context, op: WindowOp | TransposedOp) -> dict[str, Any]:
    """The attributes of a window operator that are to change, by the spelling that wants it."""
    wanted, node, plan = context.wanted(op.node).spelling, op.node, dict[str, Any]()
    kernel = [window.kernel for window in op.windows]
    is_known = "kernel_shape" in wanted and {int}.issuperset(map(type, kernel))
    if is_known and "kernel_shape" not in node.attrs:
        plan["kernel_shape"] = {"kernel_shape": kernel}
    if "write_pads" in wanted and not op.pads_written and op.auto_pad == "NOTSET":
        plan["write_pads"] = {"pads": onnx_order(op.pads)}
    if node.op == "AveragePool" and isinstance(op, WindowOp):
        does = op.auto_pad.startswith("SAME") or op.ceil_mode or is_padded(op.pads)
        if "no_count_include_pad" in wanted and op.count_include_pad and not does:
            plan["no_count_include_pad"] = {"count_include_pad": None}
        if "write_count_include_pad" in wanted and does and "count_include_pad" not in node.attrs:
            plan["write_count_include_pad"] = {"count_include_pad": 0}
    if "no_output_padding" in wanted and isinstance(op, TransposedOp) and _crops_all_it_adds(op):
        ends = zip(op.pads, op.output_padding, strict=True)
        pads = onnx_order([(begin, end - more) for (begin, end), more in ends])
        plan["no_output_padding"] = {"pads": pads, "output_padding": None}
    return plan


def _crops_all_it_adds(op: TransposedOp) -> bool:
    """Whether a transposed convolution appends elements, and crops as many at each end."""
    pairs = zip(op.pads, op.output_padding, strict=True)
    return op.is_explicit and any(op.output_padding) and all(more <= e for (_, e), more in pairs)


def _operands(context: Context, pad: PadOp) -> dict[str, Any]:
    """The operands of a `Pad` that are to be otherwise, by the spelling that wants them."""
    wanted, node, plan = context.wanted(pad.node).spelling, pad.node, dict[str, Any]()
    graph, data = context.graph, context.analysis.shape(pad.data)
    dtype = context.analysis.dtype(pad.data)
    numbers = pad.constant_amounts
    if "initializers" in wanted and (found := _by_nodes(graph, node)):
        plan["initializers"] = found
    anew = ""
    if "no_axes" in wanted and pad.axes is not None and data is not None:
        numbers, anew = pad.over(len(data)), "no_axes"
    elif graph.constant(node.inputs[1]) is None:
        anew = "constant_amounts" if "constant_amounts" in wanted else ""
    elif _TYPED in wanted and graph.is_raw(node.inputs[1]):
        anew = _TYPED
    if anew and numbers is not None:
        plan[anew] = np.asarray(onnx_order(numbers), np.int64)
    is_constant = pad.mode == "constant"
    is_zero = is_constant and is_plain_zero(pad.value)
    keeps_axes = node.operand(3) is not None and "no_axes" not in plan
    is_left_empty = len(node.inputs) > 2 and not node.inputs[2].name and not keeps_axes
    is_empty = is_left_empty and "no_empty_fill" in wanted
    if "value" in wanted and is_zero and (len(node.inputs) < 3 or is_empty) and dtype:
        plan["value"] = np.zeros((), tensor_dtype_to_np_dtype(dtype))
    elif is_empty:
        plan["no_empty_fill"] = None
    if "no_value" in wanted and (is_zero or not is_constant) and node.operand(2) is not None:
        plan["no_value"] = None
    return plan


def _by_nodes(graph: Graph, node: Node) -> dict[int, Any]:
    """The constants of a `Pad` that Constant nodes give, by the number of the input.

    There are none in a body or function, where no constant is written otherwise.
    """
    if not graph.is_main:
        return {}
    given = [(n, each) for n, each in enumerate(node.inputs) if n and each.producer is not None]
    return {n: value for n, each in given if (value := graph.constant(each)) is not None}
