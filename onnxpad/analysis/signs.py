"""Proves floating-point tensors non-negative, and finds constants that put infinities in them."""

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from onnxpad.graph import Graph, Node, Tensor

# Operators whose result is never negative, whatever they read (NaN aside).
_ALWAYS: Final = frozenset({"Relu", "Sigmoid", "HardSigmoid", "Softmax", "Exp", "Abs", "Sqrt"})
# Operators whose result is non-negative where all of these inputs are.
_PRESERVING: Final[dict[str, Callable[[Node], list[Tensor]]]] = {
    **{
        op: (lambda node: node.inputs[:1])
        for op in (
            "Identity", "Dropout", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool",
            "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Split", "Gather",
            "Expand", "Tile", "SpaceToDepth", "DepthToSpace",
        )
    },
    **{op: (lambda node: list(node.inputs)) for op in ("Concat", "Add", "Mul", "Sum")},
    "Where": lambda node: list(node.inputs[1:]),
}  # fmt: skip

# Operators that pass infinities on, perhaps with the other sign.
_PASSING: Final = frozenset(_PRESERVING) - {"MaxPool", "AveragePool"} | {
    "Add", "Cast", "Div", "LeakyRelu", "Max", "Min", "Neg", "PRelu", "Pad", "Resize", "Sub",
    "Upsample", "Where",
}  # fmt: skip
_FAR: Final = 64
"""Most tensors upstream that a search for infinities visits."""


class Signs:
    """Facts about the signs of the tensors of one graph."""

    def __init__(self, graph: Graph, outer: "Signs | None" = None) -> None:
        """Starts with nothing proved; a body gets the `Signs` of the graph around it as `outer`."""
        self._graph = graph
        self._outer = outer
        self._known: dict[Tensor, bool] = {}

    def mark(self) -> int:
        """A point to roll back to: the number of answers."""
        return len(self._known)

    def rollback(self, mark: int) -> None:
        """Forgets the answers since a mark, as edits of the graph are undone."""
        while len(self._known) > mark:
            self._known.popitem()

    def ask_again(self) -> None:
        """Drops negative answers: after edits the proof may succeed."""
        self._known = {tensor: True for tensor, proved in self._known.items() if proved}

    def non_negative(self, tensor: Tensor) -> bool:
        """Whether no element of a floating-point tensor can be below zero (NaN is not below zero).

        Do not ask for integers: their sums, products and magnitudes can wrap around.
        """
        pending = [tensor]
        while pending:
            current = pending[-1]
            if current in self._known:
                pending.pop()
                continue
            needs = self._needs(current)
            if isinstance(needs, bool):
                self._known[current] = needs
                continue
            unknown = [t for t in needs if t not in self._known]
            if unknown and all(self._known.get(t, True) for t in needs):
                pending.extend(unknown)
            else:
                self._known[current] = all(self._known.get(t, True) for t in needs)
        return self._known[tensor]

    def infinite(self, tensor: Tensor) -> Tensor | None:
        """A constant of the graph that puts infinities into a tensor, as the fill of a `Pad` does.

        None is no proof: the search follows only operators that move data or add to it.
        """
        pending, seen = [tensor], {tensor.name}
        while pending and len(seen) < _FAR:
            current = pending.pop()
            array = self._graph.constant(current)
            if array is not None:
                if array.dtype.kind == "f" and np.isinf(array).any():
                    return current
                continue
            if current.outer is not None and self._outer is not None:
                found = self._outer.infinite(current.outer)
                if found is not None:
                    return found
                continue
            node = self._graph.producer(current)
            if node is None or not self._graph.is_standard(node):
                continue
            if node.op == "Pad" and self._is_infinite(node):
                return current
            if node.op in _PASSING:
                copies = node.op == "Pad" and node.attrs.get("mode", "constant") != "constant"
                given = node.inputs[:1] if copies else node.inputs  # these modes ignore the fill
                reads = [each for each in given if each.name and each.name not in seen]
                seen.update(each.name for each in reads)
                pending += reads
        return None

    def _is_infinite(self, node: Node) -> bool:
        """Whether a `Pad` with the fill as an attribute (before opset 11) fills with infinities."""
        value, mode = node.attrs.get("value"), node.attrs.get("mode", "constant")
        writes = self._graph.opset < 11 and mode == "constant"
        return writes and isinstance(value, float) and math.isinf(value)

    def _needs(self, tensor: Tensor) -> bool | list[Tensor]:
        """Whether a tensor is non-negative, or the tensors on which that depends."""
        array = self._graph.constant(tensor)
        if array is not None:
            return bool(array.dtype.kind in "fiub" and (array >= 0).all())
        if tensor.outer is not None and self._outer is not None:
            return self._outer.non_negative(tensor.outer)
        node = self._graph.producer(tensor)
        if node is None or not self._graph.is_standard(node):
            return False
        if node.op in _ALWAYS:
            return True
        if node.op == "Clip":
            return self._clipped(node)
        if node.op == "Pad":
            return self._padded(node)
        if node.op == "MaxPool" and any(d != 1 for d in node.attrs.get("dilations", [])):
            return False  # a window wholly in its padding gives the lowest value
        if node.op in _PRESERVING and not (
            tensor.name != node.outputs[0].name and node.op != "Split"
        ):
            return [t for t in _PRESERVING[node.op](node) if t.name]
        return False

    def _clipped(self, node: Node) -> bool | list[Tensor]:
        if self._graph.opset < 11:
            limits = [node.attrs.get("min", -1.0), node.attrs.get("max", 1.0)]
            return all(isinstance(limit, int | float) and limit >= 0 for limit in limits)
        if len(node.inputs) > 1 and node.inputs[1].name:
            return [t for t in node.inputs[1:3] if t.name]
        return False

    def _padded(self, node: Node) -> bool | list[Tensor]:
        if self._graph.opset < 11:
            value = node.attrs.get("value", 0.0)
            return [node.inputs[0]] if isinstance(value, int | float) and value >= 0 else False
        return [t for t in (node.inputs[0], *node.inputs[2:3]) if t.name]
