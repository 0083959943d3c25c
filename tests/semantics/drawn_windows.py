"""Nodes with windows drawn at random, and what they compute by their form and an engine alone."""

import random
from collections.abc import Collection
from itertools import product
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

from onnxpad.arithmetic.size import Unknown, evaluate
from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from onnxpad.semantics import window as meaning
from onnxpad.semantics.layers import EXCLUDED, LEAST, Operand
from onnxpad.semantics.rows import Call, Passed, Row, UnreadError
from onnxpad.semantics.transposed import spread_of
from onnxpad.semantics.window import WindowForm
from tests.support import Array

ROWS: Final = {**meaning.WINDOWS, **meaning.TRANSPOSED}
TYPES: Final = {
    "MaxPool": ("float32", "float64", "float16", "int8", "uint8"),
    "NhwcMaxPool": ("uint8", "int8"),
    "QLinearAveragePool": ("uint8", "int8"),
    "ConvInteger": ("uint8", "int8"),
    "QLinearConv": ("uint8", "int8"),
}
"""The element types that onnxruntime has a kernel for, where that is not float32 alone."""
FLAGS: Final = frozenset({"ceil_mode", "channels_last", "count_include_pad", "storage_order"})
NO_KERNEL: Final = {"AveragePool": {1}}
"""Versions that onnxruntime does not run."""


class Drawn(NamedTuple):
    """A model of one node, data for its inputs, inputs of the node by place, sizes by name."""

    model: onnx.ModelProto
    feeds: dict[str, Array]
    inputs: tuple[Array, ...]
    sizes: dict[str, int]

    def call(self) -> Call:
        """The node as its row reads it."""
        graph = Graph.from_proto(self.model)
        (node,) = graph.nodes
        return Call(graph, Analysis(graph), node, ROWS[node.domain or "", node.op])


class Drawing:
    """Draws nodes of one row."""

    def __init__(self, row: Row, seed: int) -> None:
        self.row = row
        self._of = random.Random(f"{row.domain}.{row.op} {seed}")
        self._data = np.random.default_rng(seed)

    def node(self) -> Drawn:
        """One node, with its data."""
        row, of = self.row, self._of
        opset = 17 if row.domain else of.choice(sorted(row.versions - NO_KERNEL.get(row.op, set())))
        known = row.attributes if row.domain else onnx.defs.get_schema(row.op, opset).attributes
        rank = 2 if row.op == "NhwcMaxPool" else of.choice((1, 2, 2, 3))
        kernel = self._numbers(1, of.choice((1, 3, 4) if rank < 3 else (3,)), rank)
        groups = of.randint(1, 2) if "group" in known else 1
        attributes = self._attributes(known, kernel, groups)
        sizes = self._numbers(0 if of.random() < 0.1 else 1, 9, rank)
        last = attributes.get("channels_last") or row.op == "NhwcMaxPool"
        shape = (2, *sizes, 2 * groups) if last else (2, 2 * groups, *sizes)
        types = TYPES.get(row.op, ("float32",))
        if row.op == "MaxPool" and opset < 12:
            types = types[:3] if opset > 7 else types[:1]
        return self._model(opset, attributes, self._inputs(shape, of.choice(types), groups, kernel))

    def _numbers(self, low: int, high: int, count: int) -> list[int]:
        return [self._of.randint(low, high) for _ in range(count)]

    def _attributes(self, known: Collection[str], kernel: list[int], groups: int) -> dict[str, Any]:
        """Attributes of a node; each is there or not, seldom what onnxruntime refuses."""
        of, rank = self._of, len(kernel)
        drawn: dict[str, Any] = {
            "kernel_shape": kernel,
            "strides": self._numbers(1, of.choice((2, 3, 7)), rank),
            "dilations": self._numbers(1, of.choice((1, 1, 3)), rank),
            "pads": self._numbers(0, of.choice((2, 2, 4)), 2 * rank),
            "auto_pad": of.choice(("", "NOTSET", "VALID", *("SAME_UPPER", "SAME_LOWER") * 3)),
            **{name: of.randint(0, 1) for name in known if name in FLAGS},
            "p": of.randint(1, 3),
            "output_padding": self._numbers(0, of.choice((0, 2)), rank),
            "output_shape": self._numbers(3, 16, rank),
            "activation": "Relu",
        }
        rarely = {"auto_pad": 0.5, "output_shape": 0.2, "output_padding": 0.4}
        kept = {
            name: value
            for name, value in drawn.items()
            if name in known and of.random() < rarely.get(name, 0.6)
        }
        if self.row.op.endswith("Pool"):
            kept["kernel_shape"] = kernel
            if "pads" in kept and of.random() < 0.8:
                kept["pads"] = list(map(min, kept["pads"], [size - 1 for size in kernel] * 2))
        if kept.keys() >= {"pads", "auto_pad"} and of.random() < 0.8:
            del kept[of.choice(("pads", "auto_pad"))]
        return kept | ({"group": groups} if "group" in known else {})

    def _elements(self, shape: tuple[int, ...], dtype: Any) -> Array:
        most = 100 if self.row.op == "QLinearAveragePool" else 9
        low = 0 if np.dtype(dtype).kind == "u" else -most
        return np.asarray(self._data.integers(low, most + 1, shape)).astype(dtype)

    def _inputs(
        self, shape: tuple[int, ...], dtype: str, groups: int, kernel: list[int]
    ) -> list[Array]:
        """The inputs by place, as the operator has them."""
        op, data = self.row.op, self._elements(shape, dtype)
        one, half, many = (np.array(each, np.float32) for each in (1, 0.5, 32))
        zero, other = self._elements((), dtype), self._elements((), dtype)
        if op == "QLinearAveragePool":
            return [data, half, zero, half, other]
        if op.endswith("Pool"):
            return [data]
        ahead = (2 * groups, 3) if self.row.transposed else (3 * groups, 2)
        weight = self._elements((*ahead, *kernel), dtype)
        if op == "ConvInteger":
            return [data, weight, *[zero, other][: self._of.randint(0, 2)]]
        added = self._elements((3 * groups,), "int32" if op == "QLinearConv" else dtype)
        added = added if self._of.random() < 0.5 else np.full_like(added, 3)
        bias = [added] if self._of.random() < 0.6 else []
        if op == "QLinearConv":
            return [data, half, zero, weight, one, other, many, other, *bias]
        return [data, weight, *bias]

    def _model(self, opset: int, attributes: dict[str, Any], inputs: list[Array]) -> Drawn:
        """A model of one node. Some of its inputs besides the data are constants, some open."""
        row, of = self.row, self._of
        arrays = {f"i{place}": each for place, each in enumerate(inputs)}
        fed = {name for name in arrays if of.random() < 0.4} | {"i0"}
        if row.op.startswith("QLinear"):  # onnxruntime wants constants of all but the data
            fed = {"i0"}
        outputs = ["y", "at"] if row.op == "MaxPool" and opset > 7 and of.random() < 0.2 else ["y"]
        node = helper.make_node(row.op, list(arrays), outputs, domain=row.domain, **attributes)
        is_open = row.transposed is None and of.random() < 0.5
        given = []
        for name, array in arrays.items():
            shape = [f"{name}[{axis}]" if is_open else n for axis, n in enumerate(array.shape)]
            dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
            given += [helper.make_tensor_value_info(name, dtype, shape)] if name in fed else []
        constants = [numpy_helper.from_array(arrays[n], n) for n in arrays if n not in fed]
        result = [onnx.ValueInfoProto(name="y")]
        graph = helper.make_graph([node], "g", given, result, constants)
        imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8)
        sizes = {
            f"{name}[{axis}]": size
            for name, array in arrays.items()
            for axis, size in enumerate(array.shape)
        }
        return Drawn(model, {name: arrays[name] for name in fed}, tuple(inputs), sizes)


def computed(drawn: Drawn) -> Array | None:
    """What onnxruntime computes of a node, by its form and that engine; None if it refuses it."""
    call, data = drawn.call(), drawn.inputs[0]
    if call.row.transposed is not None:
        return _spread(spread_of(call), drawn.inputs)
    form = meaning.form_of(call)
    axes: list[_Axis] = []
    for axis, place in enumerate(form.spatial):
        placed = _placed(form, axis, data, place, drawn.sizes)
        if placed is None:
            return None
        axes.append(placed)
    if form.after:
        data = np.moveaxis(data, -1, 1)
    found = _combined(form, *_read(form, data, axes, drawn.inputs), drawn.inputs)
    return np.moveaxis(found, 1, -1) if form.after else found


class _Axis(NamedTuple):
    """The windows along one axis: the places that each reads, and where padding begins and ends."""

    places: Array
    first: int
    stop: int


def _placed(
    form: WindowForm, axis: int, data: Array, place: int, sizes: dict[str, int]
) -> _Axis | None:
    """The windows along an axis; None where onnxruntime does not run the node."""
    size, window = data.shape[place], form.axes[axis]
    found = meaning.onnxruntime(form, axis, size, helper.np_dtype_to_tensor_dtype(data.dtype))
    if found is None:
        return None
    if isinstance(found.windows, Unknown):
        raise UnreadError(found.windows.reason)
    begin, end, windows, runs = (evaluate(each, sizes) for each in found)
    if not runs or windows < (1 if form.window.rounding == "floor" else 0):
        return None
    taps = np.arange(evaluate(window.kernel, sizes)) * window.dilation
    places = np.arange(windows)[:, None] * window.stride - begin + taps
    return _Axis(places, -begin, size + end)


def _read(
    form: WindowForm, data: Array, axes: list[_Axis], inputs: tuple[Array, ...]
) -> tuple[Array, Array]:
    """What each window reads, and whether that counts in the divisor of an average.

    Both have the axes batch, channels, windows, taps.
    """
    fill: Any = 0 if form.own == EXCLUDED else form.own
    if isinstance(fill, Operand):
        fill = inputs[int(str(fill.of))]
    elif fill == LEAST:
        fill = (np.finfo if data.dtype.kind == "f" else np.iinfo)(data.dtype).min
    own = form.own != EXCLUDED
    beyond = own and (form.window.own != EXCLUDED or meaning.divides_by_kernel(form))
    values, counted = data, np.ones(data.shape, bool)
    for number, (places, first, stop) in enumerate(axes):
        at = 2 + 2 * number
        inside = (places >= 0) & (places < values.shape[at])
        padded = (places >= first) & (places < stop)
        counts = np.where(padded | inside, own | inside, beyond)
        broad = (1,) * at + places.shape + (1,) * (values.ndim - at - 1)
        counted = _taken(counted, at, places) & counts.reshape(broad)
        values = np.where(inside.reshape(broad), _taken(values, at, places), fill)
    last = 2 + 2 * len(axes)
    order = (0, 1, *range(2, last, 2), *range(3, last, 2))
    windows, taps = zip(*(axis.places.shape for axis in axes), strict=True)
    shape = (*data.shape[:2], *windows, prod(taps))
    return values.transpose(order).reshape(shape), counted.transpose(order).reshape(shape)


def _taken(data: Array, at: int, places: Array) -> Array:
    """The elements at places of an axis, which become two axes; the nearest ones outside."""
    if data.shape[at]:
        return np.take(data, np.clip(places, 0, data.shape[at] - 1), axis=at)
    return np.zeros((*data.shape[:at], *places.shape, *data.shape[at + 1 :]), data.dtype)


def _combined(form: WindowForm, values: Array, counted: Array, inputs: tuple[Array, ...]) -> Array:
    """What an operator makes of what its windows read, channels second."""
    kind = form.kind.rpartition(".")[2]
    said: dict[str, Any] = {name: value for name, _, value in form.others}
    if kind.endswith("MaxPool"):
        return np.asarray(values.max(-1))
    if kind == "LpPool":
        power = said.get("p", 2)
        return np.asarray((np.abs(values.astype(float)) ** power).sum(-1) ** (1 / power))
    if kind == "AveragePool":
        return _average(values, counted)
    zero = inputs[2] if form.window.zero_point is not None and len(inputs) > 2 else 0
    values = values.astype(float) - zero
    if kind == "QLinearAveragePool":  # its rounding is its own
        return _saturated(_average(values, counted), inputs[4])
    weight = inputs[form.window.weight or 0].astype(float)
    groups = said.get("group", 1)
    if kind == "ConvInteger":
        return _convolved(values, weight - (inputs[3] if len(inputs) > 3 else 0), groups)
    bias = 8 if kind == "QLinearConv" else 2
    added = inputs[bias] if len(inputs) > bias else np.zeros(1)
    added = added.reshape(-1, *(1,) * len(form.axes))
    if kind == "QLinearConv":
        sums = _convolved(values, weight - inputs[5], groups) + added
        return _saturated(np.rint(sums * inputs[1] * inputs[4] / inputs[6]), inputs[7])
    sums = _convolved(values, weight, groups) + added
    return np.maximum(sums, 0) if said.get("activation") == "Relu" else sums


def _saturated(values: Array, zero: Array) -> Array:
    ends = np.iinfo(zero.dtype)
    return np.asarray(np.clip(values + zero, ends.min, ends.max))


def _average(values: Array, counted: Array) -> Array:
    return np.asarray((values * counted).sum(-1) / np.maximum(counted.sum(-1), 1))


def _convolved(values: Array, weight: Array, groups: int) -> Array:
    flat = weight.reshape(groups, len(weight) // groups, weight.shape[1], -1)
    parts = np.split(values, groups, axis=1)
    pairs = zip(parts, flat, strict=True)
    return np.concatenate([np.einsum("nc...k,mck->nm...", *each) for each in pairs], axis=1)


def _spread(found: Passed, inputs: tuple[Array, ...]) -> Array | None:
    """The full result of a transposed convolution, and the layer around it."""
    data, weight, *bias = inputs
    if not found.runs:
        return None
    _, _, axes, written, further, _ = found.key
    assert isinstance(axes, tuple)
    assert isinstance(written, tuple)
    groups = {name: value for name, _, value in written}["group"]
    ahead = [(size - 1) * axis.stride for size, axis in zip(data.shape[2:], axes, strict=True)]
    sizes = [
        size + axis.extent + (axis.stride - 1) * bool(further)
        for size, axis in zip(ahead, axes, strict=True)
    ]
    if min(sizes) < 0:
        return None
    line = np.zeros((len(data), weight.shape[1] * groups, *sizes))
    parts = [*zip(np.split(data, groups, 1), np.split(weight, groups, 0), strict=True)]
    for taps in product(*map(range, weight.shape[2:])):
        one: Any = (..., *taps)
        products = [np.einsum("nc...,cm->nm...", x, w[one]) for x, w in parts]
        at = tuple(
            slice(tap * axis.dilation, max(tap * axis.dilation + size + 1, 0), axis.stride)
            for tap, axis, size in zip(taps, axes, ahead, strict=True)
        )
        line[:, :, *at] += np.concatenate(products, axis=1)
    if bias:
        line += bias[0].reshape(-1, *(1,) * len(axes))
    for layer in found.layers:
        for axis, pair in enumerate(layer.amounts):
            begin, end = (evaluate(each, {}) for each in pair)
            kept = range(max(-begin, 0), line.shape[axis] - max(-end, 0))
            pads = [(0, 0)] * line.ndim
            pads[axis] = max(begin, 0), max(end, 0)
            fill = np.float64(str(layer.fill))
            line = np.pad(np.take(line, kept, axis), pads, constant_values=fill)
    return line if line.size else None
