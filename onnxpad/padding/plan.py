"""How the padding of a site is to be written, and the writing of it."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.operators.amounts import Pairs, is_padded, onnx_order
from onnxpad.operators.read import WindowOp
from onnxpad.operators.table import Fill, lowest
from onnxpad.reasons import Reason, RefusalError

STYLES: Final = ("fold", "pad", "symmetric")


class SizeDependentError(RefusalError):
    """The padding differs from size to size, and the graph fixes none.

    Attributes:
        sizes: The sizes it depends on, by axis.
    """

    def __init__(self, sizes: Mapping[int, Extent], told: str, /, **facts: object) -> None:
        """Keeps the sizes, and says what they are in words."""
        code = Reason.SIZE_DEPENDENT
        super().__init__(code, f"the pads depend on {told}", axes=list(sizes), **facts)
        self.sizes = sizes


class Outer(NamedTuple):
    """A `Pad` in front of a site that may be merged with the operator's own padding.

    Attributes:
        node: The `Pad`.
        amounts: (begin, end) per spatial axis.
        source: The tensor that it pads.
        exact: Whether the `Pad` says so itself; else it computes amounts that depend on a size, but
            what is read is what these constants would give, at every size.
    """

    node: Node
    amounts: Pairs
    source: Tensor
    exact: bool = True


class Plan(NamedTuple):
    """How a site's padding is to be written.

    Attributes:
        op: The operator as it is.
        inner: (begin, end) per spatial axis that the operator pads by itself.
        outer: (begin, end) per spatial axis that a `Pad` in front of it pads.
        source: The tensor that this `Pad`, or else the operator, reads.
        keep: The `Pad` that already does so, if there is one.
        count_include_pad: Whether it counts its padding then.
    """

    op: WindowOp
    inner: Pairs
    outer: Pairs
    source: Tensor
    keep: Node | None
    count_include_pad: bool


def split(total: Pairs, style: str) -> tuple[Pairs, Pairs]:
    """(inside, outside): what the operator pads and what a `Pad` in front of it pads."""
    if style == "fold":
        inside = total
    elif style == "pad":
        inside = ((0, 0),) * len(total)
    else:
        inside = tuple((min(pair), min(pair)) for pair in total)
    return inside, tuple((b - i, e - j) for (b, e), (i, j) in zip(total, inside, strict=True))


def express(graph: Graph, analysis: Analysis, plan: Plan) -> None:
    """Writes a site as planned; what this leaves unused is for `Graph.sweep`."""
    node, row = plan.op.node, plan.op.operator
    attributes: dict[str, object | None] = {}
    if plan.op.auto_pad != "NOTSET":
        attributes["auto_pad"] = None
    if plan.inner != plan.op.pads or plan.op.auto_pad != "NOTSET":
        written = is_padded(plan.inner) or plan.op.pads_written
        attributes["pads"] = onnx_order(plan.inner) if written else None
    if row.counts is not None and plan.count_include_pad != plan.op.count_include_pad:
        attributes[row.counts] = int(plan.count_include_pad)
    if attributes:
        graph.set_attributes(node, attributes)
    if plan.keep is not None:
        return
    source = plan.source
    if is_padded(plan.outer):
        amounts = onnx_order(row.layout.full(plan.outer, (0, 0)))
        source = insert_pad(graph, analysis, plan.op, source, amounts)
    if source.name != plan.op.data.name:
        graph.set_input(node, row.inputs.data, source)


def insert_pad(
    graph: Graph, analysis: Analysis, op: WindowOp, source: Tensor, amounts: Tensor | Sequence[int]
) -> Tensor:
    """A new `Pad` before an operator, with the value that its own padding amounts to.

    `amounts` cover all axes, in ONNX order, or are the tensor that holds them. Returns what the
    `Pad` gives.
    """
    node, dtype = op.node, analysis.dtype(source)
    assert dtype is not None
    fill = lowest(dtype) if op.operator.padding is Fill.LOWEST else 0
    assert fill is not None
    name = f"{node.name or node.outputs[0].name}_pad"
    if graph.opset < 11:
        attributes = {"mode": "constant", "pads": amounts, "value": float(fill)}
        return graph.insert("Pad", [source], attributes, before=node, name=name)
    if not isinstance(amounts, Tensor):
        amounts = graph.add_initializer(np.asarray(amounts, np.int64), f"{name}_pads")
    inputs = [source, amounts]
    if fill != 0:
        value = np.asarray(fill, tensor_dtype_to_np_dtype(dtype))
        inputs.append(graph.add_initializer(value, f"{name}_value"))
    return graph.insert("Pad", inputs, {"mode": "constant"}, before=node, name=name)
