"""Symbols for sizes that are unknown until run time.

The axes of graph inputs have at least one element. A computed size may be 0, as where the end of a
Slice is an input, or a product of sizes is divided.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnxpad.analysis import Shape
from onnxpad.analysis.rules.shape_table import KEEPING
from onnxpad.arithmetic.size import Extent, Size, Sizes, Unknown, symbol
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.walk import upstream
from onnxpad.operators.table import CHANNELS_FIRST, Layout, operator_of


def spatial_sizes(
    graph: Graph,
    tensor: Tensor,
    shape: Shape | None,
    axes: int,
    least: int = 0,
    layout: Layout = CHANNELS_FIRST,
) -> tuple[Extent, ...]:
    """The sizes of the spatial axes of a tensor; a symbol for each that is unknown.

    Args:
        graph: The graph that has the tensor.
        tensor: The tensor.
        shape: Its sizes as far as they are known; None where its rank is unknown.
        axes: How many spatial axes it has.
        least: The least size at which the node that reads it runs.
        layout: Which of its axes are spatial.
    """
    found = (Unknown("known only at run time"),) * axes if shape is None else layout.spatial(shape)
    if {int, Size}.issuperset(map(type, found)):
        return found
    least, name = max(least, _least(graph, tensor)), graph.unique(tensor.name)
    return tuple(
        size if isinstance(size, int | Size) else symbol(f"{name}[{axis}]", Sizes(least))
        for axis, size in zip(layout.axes(layout.rank(axes)), found, strict=True)
    )


def _least(graph: Graph, tensor: Tensor) -> int:
    """The least number of elements that a spatial axis of a tensor may have: 0 or 1."""

    def kept(node: Node) -> Sequence[Tensor]:
        return node.inputs[:1] if node.op in KEEPING and graph.is_standard(node) else ()

    graph, tensor = graph.home(tensor)
    *_, first = upstream(graph, [tensor], kept)
    if first is None:
        return 0
    if first.outer is not None and graph.parent is not None:
        return _least(graph.parent, first.outer)
    if first.name in graph.inputs:
        return 1 if graph.is_main else 0  # what is passed to a body or function is computed
    node = graph.producer(first)
    row = None if node is None or first is not node.outputs[0] else operator_of(graph, node)
    return 1 if row is not None and not row.pools else 0  # runtimes refuse a Conv without a window
