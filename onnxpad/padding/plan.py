"""The padding of an operator as a value, plans for it, and their execution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.notation import pads_text
from onnxpad.arithmetic.size import Extent
from onnxpad.arithmetic.window import Side, Window, pool_output_size, same_pads, window_of
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.operators.amounts import Pairs, is_padded, is_plain_zero, onnx_order
from onnxpad.operators.read import WindowOp
from onnxpad.operators.table import Fill, lowest
from onnxpad.reasons import Reason, RefusalError
from onnxpad.records import dataclass

ANY_SIZE: Final = 1 << 20
"""A size that stands for all where the stride is 1: no amount depends on it."""


@dataclass(frozen=True, slots=True)
class Padding:
    """How an operator pads, whatever the size of its data.

    Attributes:
        pads: (begin, end) for each spatial axis; None for SAME, which computes them from the size.
            Those of a transposed convolution crop its output, and are always numbers.
        odd: Where SAME puts the odd element.
        undilated: Whether SAME takes every dilation to be 1, as Paddle does.
        ceil: Whether the output size of a pool rounds up.
        counted: Whether an AveragePool divides by its padding too (`count_include_pad`).
        output_padding: The elements that a transposed convolution appends on each spatial axis;
            empty for others.
    """

    pads: Pairs | None
    odd: Side = "end"
    undilated: bool = False
    ceil: bool = False
    counted: bool = False
    output_padding: tuple[int, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether the amounts follow from the size."""
        return self.pads is None

    @property
    def numbers(self) -> Pairs:
        """The pads, which are not SAME."""
        assert self.pads is not None
        return self.pads

    @property
    def crop(self) -> Pairs:
        """The elements that a transposed convolution crops at both ends; below 0 it appends."""
        pairs = zip(self.numbers, self.output_padding, strict=True)
        return tuple((begin, end - more) for (begin, end), more in pairs)

    def amounts(self, sizes: tuple[int, ...], windows: tuple[Window, ...]) -> Pairs:
        """The pads at these sizes, (begin, end) for each spatial axis, without what ceil adds."""
        if self.pads is not None:
            return self.pads
        seen = [window_of(w.kernel, w.stride) if self.undilated else w for w in windows]
        pairs = zip(sizes, seen, strict=True)
        return tuple(same_pads(size, window, odd=self.odd) for size, window in pairs)

    def reached(self, sizes: tuple[int, ...], windows: tuple[Window, ...]) -> Pairs:
        """The pads at these sizes with what rounding up reads beyond them."""
        found = []
        for size, window, (begin, end) in zip(
            sizes, windows, self.amounts(sizes, windows), strict=True
        ):
            count = pool_output_size(size, window, begin, end, ceil_mode=self.ceil)
            last = (count - 1) * window.stride + window.extent
            found.append((begin, max(end, last - size - begin)))
        return tuple(found)

    def effect(self, sizes: tuple[int, ...], windows: tuple[Window, ...]) -> object:
        """A value that is equal for two paddings that compute the same at these sizes.

        Padding at the end that no window reaches makes no difference, unless it is counted.
        """
        pads = self.amounts(sizes, windows)
        if self.output_padding:
            return pads, self.output_padding
        outputs = tuple(
            pool_output_size(size, window, begin, end, ceil_mode=self.ceil)
            for size, window, (begin, end) in zip(sizes, windows, pads, strict=True)
        )
        counted = pads if self.counted and any(map(any, pads)) else None
        return tuple(begin for begin, _ in pads), outputs, counted


class SizeDependentError(RefusalError):
    """The padding depends on sizes that the graph does not fix.

    Attributes:
        sizes: These sizes, by axis.
    """

    def __init__(self, sizes: Mapping[int, Extent], formulas: str, /, **facts: object) -> None:
        """Stores the sizes, and how the pads depend on them in words."""
        code = Reason.SIZE_DEPENDENT
        super().__init__(code, f"the pads depend on {formulas}", axes=list(sizes), **facts)
        self.sizes = sizes


class Outer(NamedTuple):
    """A `Pad` in front of a site that may be merged with the operator's own padding.

    Attributes:
        node: The `Pad`.
        amounts: (begin, end) per spatial axis.
        source: The tensor that it pads.
        exact: Whether the `Pad` has these amounts itself. Otherwise it computes amounts that depend
            on a size, but at every size these constants read the same elements.
    """

    node: Node
    amounts: Pairs
    source: Tensor
    exact: bool = True


class Plan(NamedTuple):
    """The planned padding of a site.

    Attributes:
        op: The operator before the change.
        inner: The operator's own pads after it, (begin, end) per spatial axis.
        outer: The amounts of a `Pad` in front of it after it, (begin, end) per spatial axis.
        source: The tensor that this `Pad` reads, or without one the operator.
        keep: The `Pad` that already has these amounts, if there is one.
        count_include_pad: Whether the operator counts its padding after it.
    """

    op: WindowOp
    inner: Pairs
    outer: Pairs
    source: Tensor
    keep: Node | None
    count_include_pad: bool

    @property
    def text(self) -> str:
        """The padding after it in words, such as `Pad H 0+1, W 0+1 and pads H 1+1, W 1+1`."""
        outer = [f"Pad {pads_text(self.outer)}"] if is_padded(self.outer) else []
        inner = [f"pads {pads_text(self.inner)}"] if is_padded(self.inner) else []
        return " and ".join([*outer, *inner]) or "no pads"


def split(total: Pairs, style: str) -> tuple[Pairs, Pairs]:
    """Splits padding into (the operator's own, that of a `Pad` in front), as a style wants it.

    An operator's own pads cannot crop, so negative amounts go to the `Pad` in every style.
    """
    if style == "fold":
        inside = tuple((max(begin, 0), max(end, 0)) for begin, end in total)
    elif style == "pad":
        inside = ((0, 0),) * len(total)
    else:
        inside = tuple((max(min(pair), 0),) * 2 for pair in total)
    return inside, tuple((b - i, e - j) for (b, e), (i, j) in zip(total, inside, strict=True))


def express(graph: Graph, analysis: Analysis, plan: Plan) -> None:
    """Carries out a plan; `Graph.sweep` removes the nodes that this leaves unused."""
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
    """Inserts a `Pad` before an operator, with the value that its own padding stands for.

    Args:
        graph: The graph, which is edited.
        analysis: The analysis of the graph.
        op: The operator, which does not read the `Pad` yet.
        source: The tensor to pad.
        amounts: Amounts over all axes in ONNX order, or the tensor that holds them.

    Returns:
        The output of the `Pad`.
    """
    node, dtype = op.node, analysis.dtype(source)
    assert dtype is not None
    fill = lowest(dtype) if op.operator.padding is Fill.LOWEST else op.zero
    assert fill is not None
    return write_pad(graph, node, source, amounts, fill, dtype)


def write_pad(
    graph: Graph,
    before: Node,
    source: Tensor,
    amounts: Tensor | Sequence[int],
    fill: float | int,
    dtype: int,
) -> Tensor:
    """Inserts a constant `Pad`.

    Args:
        graph: The graph, which is edited.
        before: The node in front of which it is to stand.
        source: The tensor to pad.
        amounts: Amounts over all axes in ONNX order, or the tensor that holds them.
        fill: The value to fill in.
        dtype: The element type of the tensor.

    Returns:
        The output of the `Pad`.
    """
    name = f"{before.name or before.outputs[0].name}_pad"
    if graph.opset < 11:
        attributes = {"mode": "constant", "pads": amounts, "value": float(fill)}
        return graph.insert("Pad", [source], attributes, before=before, name=name)
    if not isinstance(amounts, Tensor):
        amounts = graph.add_initializer(np.asarray(amounts, np.int64), f"{name}_pads")
    inputs = [source, amounts]
    if not is_plain_zero(fill):
        value = np.asarray(fill, tensor_dtype_to_np_dtype(dtype))
        inputs.append(graph.add_initializer(value, f"{name}_value"))
    return graph.insert("Pad", inputs, {"mode": "constant"}, before=before, name=name)
