"""The origin of infinities and NaN that may be in a tensor whatever the model is given.

A constant holds them, as the fill of a `Pad` does, or operators may make them of finite constants:
a large float overflows, the logarithm of 0 is infinite. Nothing is computed: of the numbers that
constants and fills bring into a tensor, the greatest magnitude is carried downstream.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any, Final

import numpy as np
from msgspec import Struct

from onnxpad.analysis.analysis import Analysis
from onnxpad.analysis.rounding import FLOAT, FLOATS
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.semantics.read_nodes import pad_giving

_NEAR: Final = 64
"""Tensors upstream that are looked at: it is done for each pool, and finds infinities near."""

_GROWTH: Final = 4.0
"""What an operator is taken to multiply magnitudes by, as slopes do and sums of elements."""

# Operators whose result has numbers of inputs; that compute with them; that may have a pole.
_MOVING: Final = frozenset({
    "Abs", "Ceil", "Clip", "Concat", "DepthToSpace", "Dropout", "Expand", "Flatten", "Floor",
    "Gather", "GlobalMaxPool", "Identity", "MaxPool", "Neg", "Pad", "Relu", "Reshape", "Resize",
    "Round", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze",
    "Upsample", "Where",
})  # fmt: skip
_COMPUTING: Final = frozenset({
    "Add", "AveragePool", "Cast", "Div", "GlobalAveragePool", "LeakyRelu", "Max", "Min", "Mul",
    "PRelu", "Sub", "Sum",
})  # fmt: skip
_MAKING: Final = frozenset({"BatchNormalization", "Exp", "Log", "Pow", "Reciprocal", "Sqrt"})

# The inputs that are moved, where not the first alone.
_MOVED: Final = {"Concat": slice(None), "Pad": slice(0, 3, 2), "Where": slice(1, 3)}


class _Numbers(Struct, frozen=True):
    """Numbers that a tensor holds for every input of the model.

    Attributes:
        greatest: No magnitude is above it.
        origin: The tensor from which those come that are infinite or NaN; None without any.
    """

    greatest: float
    origin: Tensor | None = None


class Infinities:
    """The origins of infinities and NaN in the tensors of one graph."""

    def __init__(self, graph: Graph, analysis: Analysis, outer: Infinities | None = None) -> None:
        """Takes the `Infinities` of the graph around a body as `outer`."""
        self._graph, self._analysis, self._outer = graph, analysis, outer

    def origin(self, tensor: Tensor) -> Tensor | None:
        """Where infinities or NaN in a tensor come from; None is no proof that it holds none.

        Only few tensors upstream are looked at, and only some operators.
        """
        found = self._numbers(tensor)
        return None if found is None else found.origin

    def _numbers(self, tensor: Tensor) -> _Numbers | None:
        """The numbers that constants bring into a tensor; None where they bring none."""
        reads: dict[Tensor, Sequence[Tensor]] = {}
        near = [tensor]
        for current in near:
            if len(reads) < _NEAR and current not in reads:
                near += reads.setdefault(current, self._read_by(current))
        found: dict[Tensor, _Numbers | None] = {}

        def look(at: Tensor) -> _Numbers | None:
            if at in reads and at not in found:
                found[at] = None  # so cycles end
                found[at] = self._brought(at, [look(each) for each in reads[at]])
            return found.get(at)

        return look(tensor)

    def _read_by(self, tensor: Tensor) -> Sequence[Tensor]:
        """The tensors whose numbers come into a tensor."""
        node = tensor.producer
        if node is None or not self._graph.is_standard(node) or self._graph.refers(node):
            return ()
        inputs = node.inputs
        if node.op in _MOVING:
            inputs = inputs[_MOVED[node.op] if node.op in _MOVED and _writes(node) else slice(1)]
        elif node.op not in _COMPUTING | _MAKING:
            return ()
        passes = node.op != "MaxPool" or self._passes_fill(node)
        return [each for each in inputs if each.name and passes]

    def _brought(self, tensor: Tensor, operands: Sequence[_Numbers | None]) -> _Numbers | None:
        """The numbers of a tensor, from those that its node reads."""
        node = tensor.producer
        if (constant := self._graph.constant(tensor)) is not None:
            return self._held(tensor, constant)
        if tensor.outer is not None and self._outer is not None:
            return self._outer._numbers(tensor.outer)
        if node is None:
            return None
        known = [each for each in operands if each is not None]
        is_whole = len(known) == len(operands)
        if node.op == "Pad" and operands and _writes(node):
            value = node.attrs.get("value", 0.0)  # unless it names a fill
            known.append(self._held(tensor, np.array(value)) or _Numbers(0.0))
        if node.op == "Div" and operands[-1] is not None:
            known[-1] = self._inverse(tensor, node.inputs[-1])
        origin = next((each for each in known if each.origin is not None), None)
        if origin is not None or not known:
            return origin
        greatest = max(each.greatest for each in known)
        if node.op in _MOVING:
            return _Numbers(greatest)
        if not is_whole:
            return None
        if node.op in _MAKING:
            return _Numbers(inf, tensor)
        return self._bounded(tensor, _GROWTH * prod(max(each.greatest, 1.0) for each in known))

    def _inverse(self, tensor: Tensor, divisor: Tensor) -> _Numbers:
        """The inverses of a divisor; infinite unless it is a constant without zeros."""
        constant = self._graph.constant(divisor)
        with np.errstate(all="ignore"):
            found = None if constant is None else self._held(tensor, 1 / constant)
        return found or _Numbers(inf, tensor)

    def _held(self, tensor: Tensor, array: np.ndarray[Any, Any]) -> _Numbers | None:
        """The numbers of an array that is, or comes into, a tensor."""
        if not array.size or (array.dtype.kind not in "iuf" and array.dtype.name != "bfloat16"):
            return None
        return self._bounded(tensor, float(np.abs(array.astype(float)).max()))

    def _bounded(self, tensor: Tensor, greatest: float) -> _Numbers:
        """Numbers up to a magnitude, which come from a tensor where its type does not hold it."""
        kind = FLOATS.get(self._analysis.dtype(tensor) or FLOAT, FLOATS[FLOAT])
        return _Numbers(greatest, None if greatest <= kind.greatest else tensor)

    def _passes_fill(self, pool: Node) -> bool:
        """Whether a window of a MaxPool may lie wholly in `Pad`s before it and in its own pads.

        Then it passes their value on. Amounts that are not known do not count.
        """
        kernel = pool.attrs.get("kernel_shape")
        if not isinstance(kernel, list) or not kernel:
            return False
        total = np.array(pool.attrs.get("pads") or [0] * (2 * len(kernel))).reshape(2, -1).T
        tensor = pool.inputs[0]
        while (pad := pad_giving(self._graph, self._analysis, tensor)) is not None:
            total = total + np.array(pad.over(len(kernel) + 2) or [(0, 0)] * (len(kernel) + 2))[2:]
            tensor = pad.data
        spans = (np.array(kernel) - 1) * (pool.attrs.get("dilations") or 1) + 1
        return bool((total >= spans[:, np.newaxis]).any())


def _writes(node: Node) -> bool:
    """Whether a node is no `Pad` that ignores its fill, as it does in other modes."""
    return node.op != "Pad" or node.attrs.get("mode", "constant") == "constant"
