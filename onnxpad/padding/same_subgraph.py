"""Builds the few nodes that compute the amounts of SAME at run time.

Sites of one graph share nodes: where their axes have the same sizes, the Shape; where strides and
extents of the windows are the same too, all of them.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Unknown
from onnxpad.arithmetic.window import Side, Window
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.operators.table import Layout


class Amounts:
    """Adds nodes to one graph that compute SAME's amounts, over all axes, in ONNX order."""

    def __init__(self, graph: Graph, analysis: Analysis) -> None:
        """Reads the graph as it is at each call; shares nodes where sizes are known to be equal."""
        self._graph = graph
        self._analysis = analysis
        self._known: dict[tuple[object, ...], tuple[Tensor, int]] = {}

    def count(self, windows: Sequence[Window]) -> int:
        """The number of nodes that compute the amounts for these windows, without sharing."""
        return 7 + (self._graph.opset < 15) + 2 * self.is_clamped(windows)

    def is_clamped(self, windows: Sequence[Window]) -> bool:
        """Whether the total may be negative before it is clamped."""
        return any(window.extent < window.stride for window in windows)

    def compute(
        self,
        source: Tensor,
        layout: Layout,
        windows: Sequence[Window],
        odd: Side,
        before: Node,
        name: str,
    ) -> Tensor:
        """Adds nodes that compute SAME's amounts, for all axes at once.

        The total is max(extent - stride + (-size mod stride), 0). Source: ONNX Conv "auto_pad",
        rewritten without the quotient.

        Args:
            source: The tensor to pad.
            layout: The layout of its axes.
            windows: The window on each spatial axis.
            odd: The side of the odd element.
            before: The node in front of which the new ones go.
            name: The prefix of the new nodes' names.

        Returns:
            The tensor of the amounts, over all axes, in ONNX order.
        """

        def add(op: str, *inputs: Tensor, **attributes: int) -> Tensor:
            key = (op, *(tensor.name for tensor in inputs), *attributes.items())
            return self._add(key, op, inputs, attributes, before, name)

        def constant(values: Sequence[int] | int) -> Tensor:
            return self._graph.add_initializer(np.asarray(values, np.int64), f"{name}_constant")

        axes = layout.axes(layout.rank(len(windows)))
        ahead, behind = axes[0], layout.rank(len(windows)) - 1 - axes[-1]
        assert axes == tuple(range(ahead, ahead + len(windows)))
        shape = self._shape(source, axes, behind, before, name)
        left = add("Mod", add("Neg", shape), constant([window.stride for window in windows]))
        surplus = [window.extent - window.stride for window in windows]
        total = add("Add", left, constant(surplus))
        if self.is_clamped(windows):
            total = add("Where", add("Less", total, constant([0])), constant([0]), total)
        less = add("Div", total, constant([2]))
        more = add("Sub", total, less)
        begin, end = (less, more) if odd == "end" else (more, less)
        none = constant([0] * ahead)
        if not behind:
            return add("Concat", none, begin, none, end, axis=0)
        between, last = constant([0] * (behind + ahead)), constant([0] * behind)
        return add("Concat", none, begin, between, end, last, axis=0)

    def _shape(
        self, source: Tensor, axes: Sequence[int], behind: int, before: Node, name: str
    ) -> Tensor:
        """The sizes of successive axes, perhaps of another tensor whose sizes are always equal.

        `behind` is the number of axes after them.
        """
        shape = self._analysis.shape(source)
        sizes: tuple[object, ...] = () if shape is None else tuple(shape[axis] for axis in axes)
        if not sizes or any(isinstance(size, Unknown) for size in sizes):
            sizes = (source.name,)
        first, last = axes[0], axes[-1] + 1
        if self._graph.opset >= 15:
            part = {"start": first, "end": last} if behind else {"start": first}
            return self._add(("Shape", sizes), "Shape", [source], part, before, name)
        whole = self._add(("whole Shape", sizes), "Shape", [source], {}, before, name)
        given = [
            self._graph.add_initializer(np.asarray([axis], np.int64), f"{name}_constant")
            for axis in (first, last)
        ]
        return self._add(("Slice", whole.name), "Slice", [whole, *given], {}, before, name)

    def _add(
        self,
        key: tuple[object, ...],
        op: str,
        inputs: Sequence[Tensor],
        attributes: dict[str, int],
        before: Node,
        name: str,
    ) -> Tensor:
        """Adds a node, or returns the output of an equal one that comes earlier."""
        place = self._places.get(id(before), -1)
        known, since = self._known.get(key, (None, place))
        if known is not None and since <= place and self._graph.holds(known):
            return known
        tensor = self._graph.insert(
            op, inputs, attributes, before=before, name=f"{name}_{op.lower()}"
        )
        if place >= 0:
            self._known[key] = tensor, place
        return tensor

    @cached_property
    def _places(self) -> dict[int, int]:
        """The positions of the nodes, as of the first time that amounts were computed."""
        return {id(node): place for place, node in enumerate(self._graph.nodes)}
