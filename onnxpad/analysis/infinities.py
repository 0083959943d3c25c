"""The origin of infinities and NaN in a tensor that are there whatever the model is given.

A constant holds them, as the fill of a `Pad` does, or operators make them of finite constants: the
lowest float overflows if it is doubled, the logarithm of 0 is infinite. So the few numbers that
constants and fills bring into a tensor are computed on downstream, in the tensor's own type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, Final, TypeAlias

import numpy as np
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.analysis.analysis import Analysis
from onnxpad.analysis.rule_api import CONSTANT_LIMIT
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.records import NamedTuple

Array: TypeAlias = np.ndarray[Any, Any]

_NEAR: Final = 64
"""Tensors upstream that are looked at: it is done for each pool, and finds infinities near."""


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
    """Numbers that a tensor holds for every input of the model; none where none are known.

    Attributes:
        array: The numbers, in the type of the tensor.
        is_whole: Whether they are all of the tensor, in its shape.
        origin: Where those that are infinite or NaN come from; None without any.
    """

    array: Array
    is_whole: bool = False
    origin: Origin | None = None


_NONE: Final = _Numbers(np.empty(0, np.float32))

# Operators whose result has the numbers of an input, perhaps not all of them.
_MOVING: Final = frozenset({
    "Concat", "DepthToSpace", "Dropout", "Expand", "Flatten", "Gather", "Identity", "MaxPool",
    "Pad", "Reshape", "Resize", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose",
    "Unsqueeze", "Upsample", "Where",
})  # fmt: skip

# Operators that take sums or maxima of elements, of which some are infinite if one of these is.
_REDUCING: Final = frozenset({"AveragePool", "GlobalAveragePool", "GlobalMaxPool"})

# Operators whose result is infinite where an input is, or may be, whatever the others are.
_PASSING: Final = frozenset({"Add", "Div", "Max", "Min", "Mul", "PRelu", "Sub", "Sum"})

# Operators that make infinities of 0, the input that is 0, and what they do then.
_OF_ZERO: Final = {
    "Div": (1, "divides by 0"),
    "Log": (0, "takes the logarithm of 0"),
    "Pow": (0, "raises 0 to a power below 0"),
    "Reciprocal": (0, "divides by 0"),
}


def _leaky(x: Array, slope: Array) -> Array:
    return np.where(x < 0, x * slope, x)


def _cast(node: Node, x: Array) -> Array:
    """Numbers in another type; none in a type without infinities."""
    to = node.attrs.get("to")
    kind = np.dtype(tensor_dtype_to_np_dtype(to)) if isinstance(to, int) else np.dtype(int)
    return x.astype(kind) if _is_float(kind) else _NONE.array


_UNARY: Final[Mapping[str, Callable[[Node, Array], Array]]] = {
    "Abs": lambda _, x: np.abs(x),
    "Cast": _cast,
    "Ceil": lambda _, x: np.ceil(x),
    "Exp": lambda _, x: np.exp(x),
    "Floor": lambda _, x: np.floor(x),
    "LeakyRelu": lambda node, x: _leaky(x, x.dtype.type(node.attrs.get("alpha", 0.01))),
    "Log": lambda _, x: np.log(x),
    "Neg": lambda _, x: -x,
    "Reciprocal": lambda _, x: 1 / x,
    "Relu": lambda _, x: np.maximum(x, 0),
    "Round": lambda _, x: np.rint(x),
    "Sqrt": lambda _, x: np.sqrt(x),
}
"""Operators of one input, as functions of a node and numbers."""

_PAIRS: Final[Mapping[str, Callable[[Array, Array], Array]]] = {
    "Add": np.add,
    "Div": lambda a, b: np.divide(a, b).astype(a.dtype),
    "Max": np.maximum,
    "Min": np.minimum,
    "Mul": np.multiply,
    "PRelu": _leaky,
    "Pow": lambda a, b: np.power(a, b).astype(a.dtype),
    "Sub": np.subtract,
    "Sum": np.add,
}
"""Operators of two inputs, as functions of numbers; those of more go on with the result."""

_COMPUTING: Final = frozenset({*_UNARY, *_PAIRS, "BatchNormalization", "Clip"})


class Infinities:
    """The origins of infinities and NaN in the tensors of one graph."""

    def __init__(self, graph: Graph, analysis: Analysis, outer: Infinities | None = None) -> None:
        """Takes the `Infinities` of the graph around a body as `outer`."""
        self._graph = graph
        self._analysis = analysis
        self._outer = outer

    def origin(self, tensor: Tensor) -> Origin | None:
        """The origin of infinities or NaN in a tensor; None is no proof that it holds none.

        Only few tensors upstream are looked at, and only some operators are computed.
        """
        return self._numbers(tensor).origin

    def _numbers(self, tensor: Tensor) -> _Numbers:
        """The numbers that constants bring into a tensor."""
        reads: dict[Tensor, Sequence[Tensor]] = {}
        near = [tensor]
        for current in near:
            if len(reads) < _NEAR and current not in reads:
                reads[current] = self._read_by(current)
                near += reads[current]
        found: dict[Tensor, _Numbers] = {}
        opened, stack = set[Tensor](), [tensor]
        while stack:
            current = stack[-1]
            if current not in opened and current in reads:
                opened.add(current)
                stack += (each for each in reads[current] if each not in found)
                continue
            stack.pop()
            if current in reads and current not in found:
                operands = [found.get(each, _NONE) for each in reads[current]]
                found[current] = self._computed(current, operands)
        return found[tensor]

    def _read_by(self, tensor: Tensor) -> Sequence[Tensor]:
        """The tensors from whose numbers those of a tensor are computed."""
        node = self._graph.producer(tensor)
        if node is None or not self._is_plain(node):
            return ()
        if node.op in _COMPUTING or node.op == "Concat":
            return node.inputs
        if node.op == "Where":
            return node.inputs[1:]
        if node.op == "Pad":
            fill = node.operand(2) if self._graph.opset >= 11 and self._writes(node) else None
            return node.inputs[:1] if fill is None else [node.inputs[0], fill]
        if node.op in _REDUCING or node.op in _MOVING:
            passes = node.op != "MaxPool" or self._reads_padding_alone(node)
            return node.inputs[:1] if passes else ()
        return ()

    def _is_plain(self, node: Node) -> bool:
        """Whether a node is an operator of ONNX with attributes that are known."""
        return self._graph.is_standard(node) and not self._graph.refers(node)

    def _computed(self, tensor: Tensor, operands: Sequence[_Numbers]) -> _Numbers:
        """The numbers of a tensor, from those that its node reads."""
        graph, node = self._graph, self._graph.producer(tensor)
        constant = graph.constant(tensor)
        if constant is not None:
            return _brought(tensor, constant, is_whole=True)
        if tensor.outer is not None and self._outer is not None:
            return self._outer._numbers(tensor.outer)
        if node is None or not self._is_plain(node):
            return _NONE
        if node.op in _COMPUTING or node.op in _REDUCING:
            return _result(tensor, node, operands)
        if node.op == "Pad" and len(operands) == 1:
            operands = [*operands, self._written(tensor, node)]
        if operands:
            is_constant = all(each.is_whole for each in operands)
        else:
            is_constant = all(graph.constant(each) is not None for each in node.inputs)
        content = self._content(tensor) if is_constant and node.inputs else None
        return _put_together(operands) if content is None else content

    def _content(self, tensor: Tensor) -> _Numbers | None:
        """All numbers of a tensor that is computed from constants; None if not known."""
        value = self._analysis.value(tensor)
        if value is None or not {int, float}.issuperset(map(type, value.data.flat)):
            return None
        array = value.data.astype(tensor_dtype_to_np_dtype(value.dtype))
        return _brought(tensor, array, is_whole=True)

    def _writes(self, pad: Node) -> bool:
        """Whether a `Pad` may write its fill: other modes ignore it."""
        return bool(pad.attrs.get("mode", "constant") == "constant")

    def _written(self, tensor: Tensor, pad: Node) -> _Numbers:
        """The fill of a `Pad` that is an attribute (before opset 11), or left out."""
        value = pad.attrs.get("value", 0.0) if self._graph.opset < 11 else 0.0
        dtype = self._analysis.dtype(tensor)
        if not self._writes(pad) or not isinstance(value, float) or dtype is None:
            return _NONE
        with np.errstate(all="ignore"):
            return _brought(tensor, np.array([value]).astype(tensor_dtype_to_np_dtype(dtype)))

    def _reads_padding_alone(self, pool: Node) -> bool:
        """Whether a window of a MaxPool may lie wholly in the `Pad`s before it and in its own pads.

        Then it passes their value on. `Pad`s with computed amounts, or with axes, do not count.
        """
        kernel, pads = pool.attrs.get("kernel_shape"), pool.attrs.get("pads")
        if not isinstance(kernel, list) or not kernel:
            return False
        dilations = pool.attrs.get("dilations") or [1] * len(kernel)
        total = np.array(pads or [0] * (2 * len(kernel)), np.int64)
        tensor, found = self._graph.origin(pool.inputs[0]), False
        while (pad := self._graph.producer(tensor)) is not None and pad.op == "Pad":
            amounts = self._amounts(pad)
            if amounts is None or amounts.size != 2 * (len(kernel) + 2):
                break
            found = True
            total = total + amounts.reshape(2, -1)[:, 2:].reshape(-1)
            tensor = self._graph.origin(pad.inputs[0])
        spans = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
        return found and bool((total.reshape(2, -1) >= np.array(spans)).any())

    def _amounts(self, pad: Node) -> np.ndarray[Any, Any] | None:
        """The amounts of a `Pad` over all axes; None unless they are constant."""
        if self._graph.opset < 11:
            written = pad.attrs.get("pads")
            return np.array(written, np.int64) if isinstance(written, list) else None
        if len(pad.inputs) < 2 or pad.operand(3) is not None:
            return None
        return self._graph.constant(pad.inputs[1])


def _is_float(kind: np.dtype[Any]) -> bool:
    """Whether numbers of a type may be infinite; bfloat16 is a type of another package."""
    return kind.kind == "f" or kind.name == "bfloat16"


def _what(array: Array) -> str:
    """Words for the numbers of an array that are not finite; empty without any."""
    if not _is_float(array.dtype) or np.isfinite(array).all():
        return ""
    return "infinities" if np.isinf(array).any() else "NaN"


def _brought(tensor: Tensor, array: Array, *, is_whole: bool = False) -> _Numbers:
    """The numbers of a constant."""
    if array.dtype.kind not in "iu" and not _is_float(array.dtype):
        return _NONE
    what = _what(array)
    origin = Origin(tensor, what, f"from {tensor.name!r}") if what else None
    return _Numbers(array, is_whole, origin)


def _few(array: Array) -> Array:
    """At most three numbers of an array: the least, the greatest, and the one nearest to 0."""
    flat = array.reshape(-1)
    if flat.size <= 3:
        return flat
    return flat[[flat.argmin(), flat.argmax(), np.abs(flat).argmin()]]


def _first_origin(operands: Sequence[_Numbers]) -> Origin | None:
    return next((each.origin for each in operands if each.origin is not None), None)


def _put_together(operands: Sequence[_Numbers]) -> _Numbers:
    """The numbers of tensors whose elements are moved or put together."""
    known = [_few(each.array) for each in operands if each.array.size]
    if not known:
        return _NONE
    return _Numbers(_few(np.concatenate(known)), origin=_first_origin(operands))


def _result(tensor: Tensor, node: Node, operands: Sequence[_Numbers]) -> _Numbers:
    """The numbers that a node computes."""
    given = [each for each, one in zip(operands, node.inputs, strict=False) if one.name]
    try:
        with np.errstate(all="ignore"):
            found = _applied(node, given)
    except (TypeError, ValueError):  # numpy refuses operands that do not fit, as runtimes do
        return _NONE
    what = _what(found.array)
    if not what:
        return found
    place, does = _OF_ZERO.get(node.op, (0, ""))
    if what == "NaN":
        does = "makes it of finite numbers"
    elif not does or (given[place].array != 0).all():
        does = "overflows"
    made = Origin(tensor, what, f"as {tensor.name!r} {does}")
    return found._replace(origin=_first_origin(given) or made)


def _applied(node: Node, given: Sequence[_Numbers]) -> _Numbers:
    """The numbers that a node makes of those of its inputs."""
    first = given[0]
    if node.op in _REDUCING:
        adds = node.op != "GlobalMaxPool" and not first.is_whole  # a fill is there more than once
        return _not_finite(first.array + first.array if adds else first.array)
    if not all(each.array.size for each in given):
        if node.op == "Div" and given[1].origin is None:  # 0 divides all numbers but 0
            return _not_finite(np.reciprocal(given[1].array))
        passing = [each.array for each in given if each.origin] if node.op in _PASSING else []
        return _not_finite(passing[0]) if passing else _NONE
    if node.op in _UNARY:
        return _Numbers(_UNARY[node.op](node, first.array), first.is_whole)
    if node.op == "BatchNormalization":
        x, scale, bias, mean, variance = (each.array for each in given)
        epsilon = variance.dtype.type(node.attrs.get("epsilon", 1e-5))
        factor = scale / np.sqrt(variance + epsilon)
        return _Numbers(_few(_few(x)[:, np.newaxis] * factor + (bias - mean * factor)))
    if node.op == "Clip":
        return _clipped(node, given)
    return reduce(partial(_paired, _PAIRS[node.op]), given)


def _not_finite(array: Array) -> _Numbers:
    """The numbers of an array that are infinite or NaN."""
    return _Numbers(_few(array[~np.isfinite(array)])) if _is_float(array.dtype) else _NONE


def _paired(function: Callable[[Array, Array], Array], one: _Numbers, other: _Numbers) -> _Numbers:
    """A function of two tensors; unless both are constant, of each number with each."""
    a, b = one.array, other.array
    if one.is_whole and other.is_whole and np.broadcast(a, b).size <= CONSTANT_LIMIT:
        return _Numbers(np.asarray(function(a, b)), is_whole=True)
    return _Numbers(_few(function(_few(a)[:, np.newaxis], _few(b))))


def _clipped(node: Node, given: Sequence[_Numbers]) -> _Numbers:
    """Clip, whose bounds are attributes before opset 11."""
    found, bounds = given[0], iter(given[1:])
    for place, name, function in ((1, "min", np.maximum), (2, "max", np.minimum)):
        if node.operand(place) is not None:
            found = _paired(function, found, next(bounds))
        elif isinstance(bound := node.attrs.get(name), float):
            bounding = _Numbers(np.array(bound).astype(found.array.dtype), is_whole=True)
            found = _paired(function, found, bounding)
    return found
