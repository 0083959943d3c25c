"""Nodes with windows drawn at random, and what they compute by their form and an engine alone."""

import random
from collections.abc import Collection
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
from tests.semantics.drawn_steps import padded
from tests.support import Array, ran, run

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
PADDING: Final = frozenset(
    {"auto_pad", "pads", "ceil_mode", "count_include_pad", "output_shape", "output_padding"}
)
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
    """What onnxruntime computes by what is read of a node; None if it refuses the node.

    The padding is written out around the data, and the node run without any of its own.
    """
    call, data = drawn.call(), drawn.inputs[0]
    if call.row.transposed is not None:
        return _spread(drawn, spread_of(call))
    form = meaning.form_of(call)
    dtype = helper.np_dtype_to_tensor_dtype(data.dtype)
    fill = _fill(form, data, drawn.inputs)
    is_average = form.kind.endswith("AveragePool")
    if is_average and form.window.zero_point is not None:
        data, fill = data.astype(np.float32) - drawn.inputs[2], 0
    counted, counts = np.ones(data.shape, bool), list[int]()
    own = form.own != EXCLUDED
    beyond = own and (form.window.own != EXCLUDED or meaning.divides_by_kernel(form))
    for axis, (place, window) in enumerate(zip(form.spatial, form.axes, strict=True)):
        size = data.shape[place]
        found = meaning.onnxruntime(form, axis, size, dtype)
        if found is None:
            return None
        if isinstance(found.windows, Unknown):
            raise UnreadError(found.windows.reason)
        begin, end, count, runs = (evaluate(each, drawn.sizes) for each in found)
        if not runs or count < (1 if form.window.rounding == "floor" else 0):
            return None
        reach = (max(count, 1) - 1) * window.stride + evaluate(window.extent, drawn.sizes)
        at = np.arange(-begin, reach - begin)
        data, counted = _wide(data, place, at, fill), _wide(counted, place, at, own)
        outside = np.moveaxis(counted, place, 0)
        outside[at >= size + end] &= beyond
        counts.append(count)
    result = _averaged(form, data, counted) if is_average else _bare(drawn, data)
    if result is not None and is_average and form.window.zero_point is not None:
        result = _saturated(result, drawn.inputs[4])  # its rounding is its own
    for place, count in zip(form.spatial, counts, strict=True):
        result = None if result is None else result.take(range(count), place)
    return result


def _fill(form: WindowForm, data: Array, inputs: tuple[Array, ...]) -> Any:
    if isinstance(form.own, Operand):
        return inputs[int(str(form.own.of))]
    if form.own == LEAST:
        return (np.finfo if data.dtype.kind == "f" else np.iinfo)(data.dtype).min
    return 0 if form.own == EXCLUDED else form.own


def _wide(data: Array, place: int, at: Array, fill: Any) -> Array:
    """The elements at positions of an axis, and a fill outside."""
    inside = (at >= 0) & (at < data.shape[place])
    shape = [len(at) if axis == place else size for axis, size in enumerate(data.shape)]
    wide = np.full(shape, fill, data.dtype)
    np.moveaxis(wide, place, 0)[inside] = np.moveaxis(data.take(at[inside], place), place, 0)
    return wide


def _bare(drawn: Drawn, data: Array, **given: Any) -> Array | None:
    """What the node computes of other data without what says its padding."""
    model = onnx.ModelProto()
    model.CopyFrom(drawn.model)
    (node,) = model.graph.node
    kept = [each for each in node.attribute if each.name not in PADDING]
    del node.attribute[:]
    node.attribute.extend(kept + [helper.make_attribute(*each) for each in given.items()])
    for value in model.graph.input:
        value.type.tensor_type.ClearField("shape")
    found = ran(model, {**drawn.feeds, "i0": data})
    return None if isinstance(found, str) else found[0]


def _averaged(form: WindowForm, data: Array, counted: Array) -> Array | None:
    """The sum of what windows read, by how much of that counts."""
    axes: dict[str, Any] = {
        "kernel_shape": [axis.kernel for axis in form.axes],
        "strides": [axis.stride for axis in form.axes],
        "dilations": [axis.dilation for axis in form.axes],
    }
    node = helper.make_node("AveragePool", ["x"], ["y"], **axes)
    ends = [onnx.ValueInfoProto(name="y")]
    value = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, None)
    model = helper.make_model(
        helper.make_graph([node], "g", [value], ends),
        opset_imports=[helper.make_opsetid("", 22)],
        ir_version=8,
    )
    last = -1 if form.after else 1
    (values,), (shares,) = (
        run(model, {"x": np.moveaxis(each, last, 1).astype(np.float32)}) for each in (data, counted)
    )
    return np.moveaxis(values / np.maximum(shares, 1e-9), 1, last)


def _saturated(values: Array, zero: Array) -> Array:
    ends = np.iinfo(zero.dtype)
    return np.asarray(np.clip(values + zero, ends.min, ends.max))


def _spread(drawn: Drawn, found: Passed) -> Array | None:
    """The full result of a transposed convolution, and the layer around it."""
    if not found.runs:
        return None
    _, _, axes, _, further, _ = found.key
    assert isinstance(axes, tuple)
    more = {"output_padding": [axis.stride - 1 for axis in axes]} if further else {}
    line = _bare(drawn, drawn.inputs[0], **more)
    whole = None if line is None else padded(line, found.layers)
    return whole if whole is not None and whole.size else None
