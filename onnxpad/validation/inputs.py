"""Draws inputs for a model from the types, shapes and bounds that its graph implies.

Sizes that the graph leaves open are guessed, most likely first; the caller tries one after the
other until the model runs.
"""

import math
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto

from onnxpad.arithmetic.size import Sizes
from onnxpad.engine.sessions import Array
from onnxpad.errors import ModelError
from onnxpad.validation.compare import shape_text

_SIZES = (
    (1, 64, 65),
    (1, 64, 64),
    (1, 224, 224),
    (1, 33, 32),
    (1, 32, 32),
    (2, 96, 96),
    (1, 256, 256),
    (1, 8, 8),
    (1, 512, 512),
    (32, 32, 32),
    (1, 16000, 16000),
    (1, 1, 1),
)
"""Guesses for (batch, even axes, odd axes): both parities, multiples of 32, large, tiny."""

_SMALL = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 24, 31, 32)

_MOST_ELEMENTS = 1 << 23  # of one input of guessed size: an image of 1600x1600 fits

_DRAWABLE = 1 << 28  # elements of one input; drawing them takes 3 GB already

_ENDLESS = 1 << 20  # a larger upper limit is no limit in practice

_QUANTISERS = frozenset({"QuantizeLinear", "DynamicQuantizeLinear"})

_INDICES: Mapping[tuple[str, int], tuple[int, int]] = {
    ("Gather", 1): (0, 0),
    ("GatherElements", 1): (0, 0),
    ("EmbedLayerNormalization", 0): (2, 0),
    ("EmbedLayerNormalization", 1): (4, 0),
}
"""(operator, input of indices): (the input indexed, the axis if no attribute names one)."""

_CARRIERS = frozenset(
    {
        "Cast",
        "Clip",
        "Concat",
        "Dropout",
        "Expand",
        "Flatten",
        "Gather",
        "Identity",
        "Pad",
        "Reshape",
        "Slice",
        "Split",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
    }
)
"""Operators that pass integers on unchanged, so that a bound downstream holds upstream too."""

_CHANNEL_KEEPERS = frozenset(
    {
        "Add",
        "BatchNormalization",
        "Cast",
        "Clip",
        "Div",
        "Identity",
        "Mul",
        "Pad",
        "QuantizeLinear",
        "DequantizeLinear",
        "Relu",
        "Sub",
    }
)


class UndrawableError(ModelError):
    """An input for which no data can be drawn."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input to be fed.

    Attributes:
        name: Name of the graph input.
        elem_type: `TensorProto.DataType`.
        shape: For each axis a size, or the name of an open one.
        bound: Upper bound (exclusive) of integers, for indices; None if they are not bounded.
        sizes: The sizes admitted for open dimensions, by name.
    """

    name: str
    elem_type: int
    shape: tuple[int | str, ...]
    bound: int | None = None
    sizes: Mapping[str, Sizes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Output:
    """One output.

    Attributes:
        name: Name of the graph output.
        elem_type: `TensorProto.DataType`; UNDEFINED if the output is not a tensor.
        shape: For each axis a size, or the name of an open one; None if the rank is unknown.
    """

    name: str
    elem_type: int
    shape: tuple[int | str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """Inputs, outputs and a few traits of a model, with all its bodies.

    Attributes:
        inputs: The inputs to feed.
        nodes: The number of nodes.
        quantised: Whether it quantises.
        outputs: The outputs.
        pads: Whether it has a `Pad` or a MaxPool, which onnxruntime's optimiser fuses.
        inner: The names of tensors that the nodes of its main graph compute.
    """

    inputs: tuple[Input, ...]
    nodes: int
    quantised: bool
    outputs: tuple[Output, ...] = ()
    pads: bool = False
    inner: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """Inputs for one run.

    Attributes:
        feeds: The data by name of the input.
        label: Description for reports.
        again: Whether these have the sizes of an earlier draw, with other data.
    """

    feeds: Mapping[str, Array]
    label: str
    again: bool = False


def describe(model: onnx.ModelProto) -> tuple[Input, ...]:
    """The inputs to feed `model`.

    Initializers that are also inputs (overridable from IR version 4 on) keep their value.

    Raises:
        UndrawableError: An input is a sequence, a map or a sparse tensor.
    """
    consumers = _Consumers(model.graph)
    return tuple(_input(value, consumers) for value in _fed(model.graph))


def shaped(
    inputs: Iterable[Input], shapes: Mapping[str, Sequence[int | str | None]]
) -> tuple[Input, ...]:
    """The inputs with the sizes given, by name of the input; other sizes stay as they are."""

    def sized(each: Input) -> tuple[int | str, ...]:
        sizes = shapes[each.name]
        known = each.shape if len(each.shape) == len(sizes) else (None,) * len(sizes)
        return tuple(
            size if isinstance(size, int) else old or f"{each.name}[{axis}]"
            for axis, (size, old) in enumerate(zip(sizes, known, strict=True))
        )

    return tuple(
        replace(each, shape=sized(each)) if each.name in shapes else each for each in inputs
    )


def pinned(
    inputs: Iterable[Input],
    model: onnx.ModelProto,
    sizes: Mapping[str, Sizes] | None = None,
    names: Mapping[str, str] | None = None,
) -> tuple[Input, ...]:
    """The inputs with the open sizes that another version of their model fixes.

    Args:
        inputs: The inputs.
        model: The other version.
        sizes: The sizes admitted for dimensions that are still open, by name.
        names: Names of inputs in `model` that differ, by name in `inputs`.
    """
    inputs, names = tuple(inputs), names or {}
    shapes = {value.name: _shape(value) or () for value in _fed(model.graph)}
    shapes = {
        each.name: shapes.get(names.get(each.name, each.name)) or each.shape for each in inputs
    }
    fixed = {
        dim: size
        for each in inputs
        for dim, size in zip(each.shape, shapes[each.name], strict=False)
        if isinstance(dim, str) and isinstance(size, int)
    }

    def size(dim: int | str, now: int | str) -> int | str:
        if isinstance(dim, int):
            return dim
        # An axis open in both gets the size that is fixed for another axis of the same name.
        return now if isinstance(now, int) else fixed.get(dim, dim)

    return tuple(
        replace(
            each,
            shape=tuple(map(size, each.shape, shapes[each.name])),
            sizes=sizes or {},
        )
        for each in inputs
    )


def size_choices(inputs: Iterable[Input]) -> Iterator[dict[str, int]]:
    """Sizes for the open dimensions, likely ones first; one empty choice if none is open.

    For a dimension limited to certain sizes, the first, the last and the middle one come first,
    unless the last is very large.
    """
    inputs = tuple(inputs)
    first: dict[str, int] = {}
    batches: set[str] = set()
    limited: dict[str, Sizes] = {}
    for each in inputs:
        for axis, dim in enumerate(each.shape):
            if isinstance(dim, str):
                first.setdefault(dim, axis)
                if dim in each.sizes:
                    limited[dim] = each.sizes[dim]
                elif _is_batch(dim.lower(), axis, len(each.shape)):
                    batches.add(dim)
    seen: list[dict[str, int]] = []
    for index, (batch, even, odd) in enumerate(_SIZES):
        sizes = {
            dim: batch if dim in batches else (odd if axis % 2 else even)
            for dim, axis in first.items()
        }
        for dim, admitted in limited.items():
            listed = index < 3 and admitted.last < _ENDLESS
            sizes[dim] = _nth(admitted, index) if listed else _nearest(admitted, sizes[dim])
        small = all(math.prod(_sized(each, sizes)) <= _MOST_ELEMENTS for each in inputs)
        if sizes not in seen and (small or not sizes or (limited and not seen)):
            seen.append(sizes)
            yield sizes


def small_choices(inputs: Iterable[Input]) -> Iterator[dict[str, int]]:
    """One small size for all open dimensions, from 1 up; nothing if none is open.

    Nothing either if sizes are limited, since `size_choices` then begins with the smallest.
    """
    inputs = tuple(inputs)
    dims = {dim for each in inputs for dim in each.shape if isinstance(dim, str)}
    if dims and not any(each.sizes for each in inputs):
        yield from (dict.fromkeys(dims, size) for size in _SMALL)


def _nth(sizes: Sizes, index: int) -> int:
    """The first, the last or a middle size, the latter of other parity than the first if any."""
    middle = sizes.count // 2
    if (sizes.value(middle) - sizes.first) % 2 == 0 and middle + 1 < sizes.count:
        middle += 1
    return sizes.value((0, sizes.count - 1, middle)[index])


def _nearest(sizes: Sizes, size: int) -> int:
    """The admitted size nearest to a guess."""
    index = min(sizes.from_on(size), sizes.count - 1)
    around = (sizes.value(each) for each in range(max(index - 1, 0), index + 1))
    return min(around, key=lambda each: abs(each - size))


def draw(inputs: Iterable[Input], sizes: Mapping[str, int], seed: int) -> Draw:
    """Draw inputs of these sizes; the same seed gives the same data.

    Raises:
        UndrawableError: An input has too many elements, or elements of an unknown type.
    """
    feeds = {}
    for each in inputs:
        shape = _sized(each, sizes)
        if math.prod(shape) > _DRAWABLE:
            raise UndrawableError(
                f"input {each.name!r} of {shape_text(shape)} has more than {_DRAWABLE:,} elements, "
                "too many to draw"
            )
        generator = np.random.default_rng([seed, zlib.crc32(each.name.encode())])
        feeds[each.name] = _data(each, shape, generator)
    return Draw(feeds, ", ".join(filter(None, (feeds_text(feeds), f"seed {seed}"))))


def other_data(inputs: Iterable[Input], first: Draw, seed: int) -> Draw | None:
    """Draw inputs of the same sizes as `first` with other data, negative if the type allows.

    onnxruntime's wrong fold of a `Pad` of zeros into a MaxPool shows only on negative data. And an
    output that is the same for this data too is no evidence.

    Returns:
        The inputs; None if no other data can be drawn.
    """
    feeds, below = {}, False
    for each in inputs:
        shape = first.feeds[each.name].shape
        generator = np.random.default_rng([seed, zlib.crc32(each.name.encode()), 1])
        data = _data(each, shape, generator)
        if _is_signed(data) and each.bound is None and data.size:
            below = True
            data = _negative(data)
        feeds[each.name] = data
    if all(np.array_equal(data, first.feeds[name]) for name, data in feeds.items()):
        return None
    kind = "all negative" if below else "other data"
    return Draw(feeds, f"{feeds_text(feeds)}, seed {seed}, {kind}", again=True)


def feeds_text(feeds: Mapping[str, Array]) -> str:
    """Inputs by name, type and shape, such as `x float32 1x3x224x224`; at most six."""
    texts = [
        f"{name} {'string' if data.dtype.kind == 'O' else data.dtype} {shape_text(data.shape)}"
        for name, data in feeds.items()
    ]
    if len(texts) > 6:
        texts[5:] = [f"and {len(texts) - 5} more"]
    return ", ".join(texts)


def outline(model: onnx.ModelProto) -> Outline:
    """The outline of a model; validation keeps it and drops the model.

    Raises:
        UndrawableError: An input is a sequence, a map or a sparse tensor.
    """
    operators = [node.op_type for node in _nodes(model.graph)]
    quantised = not _QUANTISERS.isdisjoint(operators)
    outputs = tuple(
        Output(value.name, value.type.tensor_type.elem_type, _declared(value))
        for value in model.graph.output
    )
    pads = not {"Pad", "MaxPool"}.isdisjoint(operators)
    inner = frozenset(name for node in model.graph.node for name in node.output if name)
    return Outline(describe(model), len(operators), quantised, outputs, pads, inner)


def numpy_type(each: Input | Output) -> np.dtype[Any]:
    """The numpy type for the elements of an input or output.

    Raises:
        UndrawableError: onnx knows no such type.
    """
    try:
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(each.elem_type))
    except KeyError:
        raise UndrawableError(
            f"{each.name!r} has element type {each.elem_type}, which onnx {onnx.__version__} does "
            "not know"
        ) from None


def _is_batch(dim: str, axis: int, rank: int) -> bool:
    """Whether an open dimension is the batch, judged by its name (lower case) and axis."""
    if "batch" in dim:
        return True
    measured = any(word in dim for word in ("height", "width", "len", "seq", "time", "frame"))
    return axis == 0 and rank > 1 and not measured


def _sized(each: Input, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(
        (_nearest(each.sizes[dim], sizes[dim]) if dim in each.sizes else sizes[dim])
        if isinstance(dim, str)
        else dim
        for dim in each.shape
    )


def _data(each: Input, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """Normally distributed floats; integers below the bound, else 0 and 1, else whole bytes."""
    if each.elem_type == TensorProto.STRING:
        return np.asarray(generator.integers(0, 10, shape)).astype(np.str_).astype(np.object_)
    dtype = numpy_type(each)
    if dtype.kind in "iu" and each.bound is not None:
        limits = np.iinfo(dtype)
        return np.asarray(
            generator.integers(0, min(each.bound, int(limits.max) + 1), shape)
        ).astype(dtype)
    if dtype.kind in "iu" and dtype.itemsize == 1:
        limits = np.iinfo(dtype)
        return np.asarray(generator.integers(limits.min, limits.max, shape, dtype, endpoint=True))
    if dtype.kind in "biu":
        return np.asarray(generator.integers(0, 2, shape)).astype(dtype)
    real = np.asarray(generator.standard_normal(shape))
    if dtype.kind == "c":
        return (real + 1j * generator.standard_normal(shape)).astype(dtype)
    return real.astype(np.float32).astype(dtype)  # bfloat16 and float8 convert from float32


def _is_signed(data: Array) -> bool:
    """Whether the data may be negative: floats, and 8-bit integers with a sign."""
    if data.dtype.isbuiltin == 2:  # bfloat16, float8 and 4 bit integers
        return "float" in data.dtype.name
    return data.dtype.kind == "f" or data.dtype == np.int8


def _negative(data: Array) -> Array:
    """The data moved below zero, far enough that rounding does not bring it back."""
    if data.dtype.kind == "i":
        below = np.minimum(data, -1 - np.abs(data.astype(np.int16)) // 2)
        return np.asarray(below.astype(data.dtype))
    wide = data.astype(np.float32)
    return np.asarray(-np.abs(wide) - np.float32(0.5)).astype(data.dtype)


def _fed(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    kept = {tensor.name for tensor in graph.initializer}
    kept |= {sparse.values.name for sparse in graph.sparse_initializer}
    return [value for value in graph.input if value.name not in kept]


def _tensor_type(value: onnx.ValueInfoProto) -> onnx.TypeProto.Tensor:
    kind = value.type
    if kind.HasField("optional_type"):
        kind = kind.optional_type.elem_type
    if kind.HasField("tensor_type"):
        return kind.tensor_type
    found = (kind.WhichOneof("value") or "untyped value").removesuffix("_type").replace("_", " ")
    raise UndrawableError(f"input {value.name!r} is a {found}: only tensors can be drawn as inputs")


def _declared(value: onnx.ValueInfoProto) -> tuple[int | str, ...] | None:
    """As `_shape`; None also if the value is not a tensor."""
    return _shape(value) if value.type.HasField("tensor_type") else None


def _shape(value: onnx.ValueInfoProto) -> tuple[int | str, ...] | None:
    """A size or a name for each axis, invented if the graph has none; None without a rank."""
    kind = _tensor_type(value)
    if not kind.HasField("shape"):
        return None
    return tuple(
        dim.dim_value
        if dim.HasField("dim_value") and dim.dim_value >= 0
        else dim.dim_param or f"{value.name}[{axis}]"
        for axis, dim in enumerate(kind.shape.dim)
    )


def _input(value: onnx.ValueInfoProto, consumers: "_Consumers") -> Input:
    shape = _shape(value)
    weight = consumers.weight(value.name)
    if shape is None:
        rank = len(weight[0]) if weight else 1
        shape = tuple(f"{value.name}[{axis}]" for axis in range(rank))
    if weight and len(shape) == len(weight[0]) and isinstance(shape[1], str):
        shape = (shape[0], weight[1], *shape[2:])
    return Input(value.name, _tensor_type(value).elem_type, shape, consumers.bound(value.name))


class _Consumers:
    """The readers of each tensor in a graph and its bodies."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._readers: dict[str, list[tuple[onnx.NodeProto, int]]] = {}
        self._shapes: dict[str, tuple[int | str, ...]] = {}
        for value in (*graph.value_info, *graph.input):
            if value.type.HasField("tensor_type"):
                self._shapes[value.name] = _shape(value) or ()
        self._shapes |= {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
        for node in _nodes(graph):
            for index, name in enumerate(node.input):
                self._readers.setdefault(name, []).append((node, index))
            if node.op_type == "Constant":
                for attribute in node.attribute:
                    if attribute.type == AttributeProto.TENSOR:
                        self._shapes[node.output[0]] = tuple(attribute.t.dims)

    def bound(self, name: str) -> int | None:
        """Upper bound (exclusive) of indices drawn for `name`; None if nothing is indexed."""
        bounds = []
        for node, index in self._reached(name, _CARRIERS):
            if (node.op_type, index) in _INDICES:
                data, axis = _INDICES[node.op_type, index]
                shape = self._shapes.get(node.input[data], ())
                axis = _integer(node, "axis", axis)
                if -len(shape) <= axis < len(shape) and isinstance(size := shape[axis], int):
                    bounds.append(size)
        return max(1, min(bounds)) if bounds else None

    def weight(self, name: str) -> tuple[tuple[int | str, ...], int] | None:
        """The weight's shape of the first convolution downstream, and the channels it needs."""
        for node, index in self._reached(name, _CHANNEL_KEEPERS):
            if index == 0 and node.op_type in {"Conv", "ConvTranspose"} and len(node.input) > 1:
                shape = self._shapes.get(node.input[1], ())
                axis = 1 if node.op_type == "Conv" else 0
                if len(shape) > 2 and isinstance(size := shape[axis], int):
                    return shape, size * (_integer(node, "group", 1) if axis else 1)
        return None

    def _reached(self, name: str, through: frozenset[str]) -> Iterator[tuple[onnx.NodeProto, int]]:
        """Readers of `name`, and of the outputs of operators in `through` downstream of it."""
        waiting, seen = deque([name]), {name}
        while waiting:
            for node, index in self._readers.get(waiting.popleft(), ()):
                yield node, index
                if node.op_type in through and (index == 0 or node.op_type == "Concat"):
                    fresh = set(node.output) - seen
                    seen |= fresh
                    waiting.extend(fresh)


def _integer(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((each.i for each in node.attribute if each.name == name), default)


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    waiting = [graph]
    while waiting:
        current = waiting.pop()
        for node in current.node:
            yield node
            for attribute in node.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    waiting.append(attribute.g)
                elif attribute.type == AttributeProto.GRAPHS:
                    waiting.extend(attribute.graphs)
