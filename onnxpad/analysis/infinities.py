"""The origin of infinities and NaN that may be in a tensor whatever the model is given.

A constant holds them, as the fill of a `Pad` does, or operators may make them of finite constants:
the lowest float overflows if it is doubled, the logarithm of 0 is infinite. Nothing is computed: of
the numbers that constants and fills bring into a tensor, bounds are carried downstream.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isnan, prod
from typing import Any, Final

import numpy as np
from onnx import TensorProto

from onnxpad.analysis.analysis import Analysis
from onnxpad.analysis.rounding import FLOAT, FLOATS, FloatFormat
from onnxpad.analysis.value import is_constant
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.records import NamedTuple
from onnxpad.semantics.read_nodes import pad_giving

_NEAR: Final = 64
"""Tensors upstream that are looked at: it is done for each pool, and finds infinities near."""

# Operators whose result has numbers of inputs; that compute them; that may make anything of them.
_MOVING: Final = frozenset({
    "Concat", "DepthToSpace", "Dropout", "Expand", "Flatten", "Gather", "Identity", "MaxPool",
    "Pad", "Reshape", "Resize", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose",
    "Unsqueeze", "Upsample", "Where",
})  # fmt: skip
_COMPUTING: Final = frozenset({
    "Abs", "Add", "AveragePool", "Cast", "Ceil", "Clip", "Div", "Floor", "GlobalAveragePool",
    "GlobalMaxPool", "LeakyRelu", "Max", "Min", "Mul", "Neg", "PRelu", "Relu", "Round", "Sub",
    "Sum",
})  # fmt: skip
_MAKING: Final = frozenset({"BatchNormalization", "Exp", "Log", "Pow", "Reciprocal", "Sqrt"})

# The inputs that are moved, where not the first alone.
_MOVED: Final = {"Concat": slice(None), "Pad": slice(0, 3, 2), "Where": slice(1, 3)}

# The greatest numbers of the types that have infinities; an unknown one is taken for float32.
_KINDS: Final = dict[int | None, FloatFormat](FLOATS.items()) | {
    None: FLOATS[FLOAT],
    TensorProto.BFLOAT16: FloatFormat(8, -133, 128, np.float32),
}


class Origin(NamedTuple):
    """A tensor from which infinities or NaN come.

    Attributes:
        tensor: The constant or computed tensor that they come from.
        what: "infinities" or "NaN".
        why: How they come from there, as part of a sentence.
    """

    tensor: Tensor
    what: str
    why: str


class _Numbers(NamedTuple):
    """Bounds of numbers that a tensor holds for every input of the model.

    Attributes:
        greatest: No magnitude is above it.
        inverse: No inverse's magnitude is.
        origin: Where those that are infinite or NaN come from; None without any.
    """

    greatest: float
    inverse: float = inf
    origin: Origin | None = None


class Infinities:
    """The origins of infinities and NaN in the tensors of one graph."""

    def __init__(self, graph: Graph, analysis: Analysis, outer: Infinities | None = None) -> None:
        """Takes the `Infinities` of the graph around a body as `outer`."""
        self._graph, self._analysis, self._outer = graph, analysis, outer

    def origin(self, tensor: Tensor) -> Origin | None:
        """The origin of infinities or NaN in a tensor; None is no proof that it holds none.

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
        graph, node = self._graph, tensor.producer
        if (constant := graph.constant(tensor)) is not None:
            return _held(tensor, constant)
        if tensor.outer is not None and self._outer is not None:
            return self._outer._numbers(tensor.outer)
        if node is None:
            return None
        known = [each for each in operands if each is not None]
        is_whole = len(known) == len(operands)
        if is_whole and (known or all(graph.constant(each) is not None for each in node.inputs)):
            value = self._analysis.value(tensor)
            if value is not None and is_constant(value):
                return _held(tensor, value.data.astype(float))
        if node.op == "Pad" and operands and _writes(node):
            known.append(_Numbers(0.0))  # unless it names a fill
        if not known or (node.op == "Clip" and operands[0] is None):
            return None
        sizes = [each.greatest for each in known]
        if node.op == "Div" and operands[-1] is not None:
            sizes[-1] = operands[-1].inverse
        names = ("alpha", "value", "min", "max")
        written = (node.attrs.get(name) for name in names if _writes(node))
        sizes += [abs(each) for each in written if isinstance(each, float)]
        if node.op.endswith("AveragePool"):
            sizes.append(2.0)  # it adds a number to itself
        greatest, computes = max(sizes), node.op not in _MOVING
        if computes and is_whole and len(sizes) > 1 and node.op != "Clip":
            greatest = prod(max(each, 2.0) for each in sizes)  # sums are no greater
        if node.op in _MAKING and is_whole:
            greatest = inf
        origin = next((each.origin for each in known if each.origin is not None), None)
        kind = _KINDS.get(self._analysis.dtype(tensor))
        if origin is None and kind is not None and not greatest <= kind.greatest:
            why = f"as {tensor.name!r} may overflow, divide by 0 or be undefined"
            origin = Origin(tensor, "infinities", why)
        if computes and origin is None and not is_whole:
            return None
        return _Numbers(greatest, inf if computes else max(each.inverse for each in known), origin)

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


def _held(tensor: Tensor, array: np.ndarray[Any, Any]) -> _Numbers | None:
    """The numbers of a constant."""
    if not array.size or (array.dtype.kind not in "iuf" and array.dtype.name != "bfloat16"):
        return None
    magnitudes = np.abs(array.astype(float))
    with np.errstate(all="ignore"):
        greatest, inverse = float(magnitudes.max()), float(np.max(1 / magnitudes))
    what = "NaN" if isnan(greatest) else "infinities" if greatest == inf else ""
    origin = Origin(tensor, what, f"from {tensor.name!r}") if what else None
    return _Numbers(greatest, inverse, origin)
