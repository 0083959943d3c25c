"""Draws inputs for a model from the types, shapes and bounds that its graph implies.

Sizes that the graph leaves open are guessed, most likely first; the caller tries one after the
other until the model runs.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, product
from typing import Any

import numpy as np
import onnx
import onnx.inliner
from msgspec import Struct, field
from msgspec.structs import replace
from onnx import TensorProto
from onnx.helper import get_attribute_value

from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import ModelError, few
from onnxpad.file.proto_walk import bodies, unfolded, unfolds, walked
from onnxpad.runtimes.copies import draws
from onnxpad.runtimes.sessions import Array
from onnxpad.validation.compare import shape_text

_SIZES = (
    *((1, 63, 65), (1, 64, 64), (1, 224, 224), (1, 33, 32), (1, 32, 32), (2, 96, 96)),
    *((1, 256, 256), (1, 8, 8), (1, 512, 512), (32, 32, 32), (1, 16000, 16000), (1, 1, 1)),
)
"""Guesses for (batch, even axes, odd axes): odd sizes, multiples of 32, large, tiny."""

_STEPS = (2, 4, 8, 16, 32)
"""How far sizes are moved for models that take no other parity, such as those that halve theirs."""

_MOST_ELEMENTS = 1 << 23  # of one input of guessed size: an image of 1600x1600 fits
_DRAWABLE = 1 << 28  # elements of one input; drawing them takes 3 GB already
_MOST_CHOOSING = 16  # elements of an input that may decide what runs
_MOST_STEERED = 128  # draws, or values, for what decides that
_ENDLESS = 1 << 20  # a larger upper limit is no limit in practice
_MOST_INLINED = 10_000  # nodes

_QUANTISERS = frozenset({"QuantizeLinear", "DynamicQuantizeLinear"})

_COMPARISONS = frozenset({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})


class UndrawableError(ModelError):
    """An input for which no data can be drawn."""


class Input(Struct, frozen=True):
    """One input to be fed.

    `sizes` are those admitted for open dimensions, by name; `compared` are the whole numbers that
    anything in the model is compared with.
    """

    name: str
    elem_type: int
    shape: tuple[int | str, ...]
    sizes: Mapping[str, Sizes] = field(default_factory=dict)
    compared: tuple[int, ...] = ()


class Output(Struct, frozen=True):
    """One output: its name, type (UNDEFINED if it is no tensor), and shape if its rank is known."""

    name: str
    elem_type: int
    shape: tuple[int | str, ...] | None = None


class Interface(Struct, frozen=True):
    """Inputs, outputs and a few traits of a model, with all its bodies.

    Attributes:
        inner: The names of tensors that the nodes of its main graph compute.
        random: Whether an operator draws numbers, with a seed or not.
    """

    inputs: tuple[Input, ...]
    nodes: int
    quantised: bool
    outputs: tuple[Output, ...] = ()
    inner: frozenset[str] = frozenset()
    random: bool = False

    @property
    def ports(self) -> tuple[Input | Output, ...]:
        """The inputs, then the outputs."""
        return *self.inputs, *self.outputs


class Draw(Struct, frozen=True, eq=False):
    """Inputs for one run, with a label for reports.

    `again` says that these are other data of an earlier draw's sizes. The label of what was drawn
    has two parts: names, types and shapes, and how.
    """

    feeds: Mapping[str, Array]
    label: str
    again: bool = False
    drawn: tuple[str, str] = ("", "")


def outline(model: onnx.ModelProto) -> Interface:
    """The outline of a model; validation keeps it and drops the model.

    Raises:
        UndrawableError: An input is a sequence, a map or a sparse tensor; or its functions unfold
            to too many nodes.
    """
    if why := unfolds(model):
        raise UndrawableError(why)
    operators = [node.op_type for node in walked(model.graph.node)]
    outputs = tuple(
        Output(value.name, value.type.tensor_type.elem_type, _shape(value))
        for value in model.graph.output
    )
    return Interface(
        describe(model),
        len(operators),
        not _QUANTISERS.isdisjoint(operators),
        outputs,
        frozenset(name for node in model.graph.node for name in node.output if name),
        draws(model),
    )


def describe(model: onnx.ModelProto) -> tuple[Input, ...]:
    """The inputs to feed `model`.

    Initializers that are also inputs (overridable from IR version 4 on) keep their value.

    Raises:
        UndrawableError: An input is a sequence, a map or a sparse tensor.
    """
    kept = {tensor.name for tensor in model.graph.initializer}
    kept |= {sparse.values.name for sparse in model.graph.sparse_initializer}
    numbers = _compared(inlined(model))
    return tuple(_input(value, numbers) for value in model.graph.input if value.name not in kept)


def _compared(model: onnx.ModelProto) -> tuple[int, ...]:
    """The whole numbers that something is compared with, also in bodies."""
    constants = {each.name: each for each in model.graph.initializer}
    nodes = [*walked(model.graph.node)]
    for node in nodes:
        constants |= {each.name: each for body in bodies(node) for each in body.initializer}
        if node.output and (held := constant_of(node)) is not None:
            constants[node.output[0]] = held
    read = (name for node in nodes if node.op_type in _COMPARISONS for name in node.input)
    ones = (constants[name] for name in read if name in constants)
    near = [each for each in ones if math.prod(each.dims) == 1 and not each.external_data]
    numbers = [onnx.numpy_helper.to_array(each).reshape(()) for each in near]
    whole = [n for n in numbers if n.dtype.kind in "iuf" and float(n).is_integer()]
    return tuple({int(n): None for n in whole if abs(n) < _ENDLESS})


def _input(value: onnx.ValueInfoProto, compared: tuple[int, ...]) -> Input:
    """What is to be fed for an input of the model; of an unknown rank, one axis."""
    name, shape, kind = value.name, _shape(value), _tensor_type(value).elem_type
    if not kind:
        raise UndrawableError(f"input {name!r} is no tensor, and only tensors can be drawn")
    return Input(name, kind, (f"{name}[0]",) if shape is None else shape, compared=compared)


def pinned(
    inputs: Sequence[Input],
    shapes: Mapping[str, Sequence[int | str | None]],
    sizes: Mapping[str, Sizes] | None = None,
) -> tuple[Input, ...]:
    """The inputs with the sizes that shapes give for what is open in them, by name of the input.

    An axis open in both gets the size that is given for another axis of the same name. Other open
    ones are limited to `sizes`.
    """
    given = [(each, shapes.get(each.name, each.shape)) for each in inputs]
    known = [
        each.shape if len(each.shape) == len(now) else _named(each.name, now) for each, now in given
    ]
    fixed = {
        dim: size
        for shape, (_, now) in zip(known, given, strict=True)
        for dim, size in zip(shape, now, strict=True)
        if isinstance(size, int)
    }

    def size(dim: int | str, now: int | str | None) -> int | str:
        return dim if isinstance(dim, int) else now if isinstance(now, int) else fixed.get(dim, dim)

    return tuple(
        replace(each, shape=tuple(map(size, shape, now)), sizes=sizes or {})
        for shape, (each, now) in zip(known, given, strict=True)
    )


def _named(name: str, shape: Sequence[object]) -> tuple[str, ...]:
    """Names for the axes of an input whose graph has none."""
    return tuple(f"{name}[{axis}]" for axis in range(len(shape)))


def size_choices(inputs: Iterable[Input]) -> Iterator[dict[str, int]]:
    """Sizes for the open dimensions, likely ones first; one empty choice if none is open.

    For a dimension limited to certain sizes, the first, the last and the middle one come first,
    unless the last is very large.
    """
    inputs = tuple(inputs)
    first = {dim: axis for _, axis, dim in reversed([*_axes(inputs)]) if isinstance(dim, str)}
    limited = {dim: each.sizes[dim] for each in inputs for dim in each.sizes if dim in each.shape}
    batches = {
        dim for each, axis, dim in _axes(inputs) if _is_batch(dim, axis, len(each.shape))
    } - limited.keys()
    guesses = list[dict[str, int]]()
    for index, (batch, *sides) in enumerate(_SIZES):
        sizes = {dim: batch if dim in batches else sides[axis % 2] for dim, axis in first.items()}
        for dim, admitted in limited.items():
            listed = index < 3 and admitted.last < _ENDLESS
            sizes[dim] = _nth(admitted, index) if listed else _nearest(admitted, sizes[dim])
        guesses.append(sizes)
    seen: list[dict[str, int]] = []
    for sizes in guesses:
        small = all(math.prod(_sized(each, sizes)) <= _MOST_ELEMENTS for each in inputs)
        if sizes not in seen and (small or not sizes or (limited and not seen)):
            seen.append(sizes)
            yield sizes


def other_choices(inputs: Iterable[Input], taken: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Sizes that differ from those taken in all that a model may be wrongly fixed to.

    The batch is 2, and the other sizes have the other parity; of sizes that are limited to one
    parity, the next. If a model does not take both, as one that takes only multiples of 32, the
    sizes are moved by powers of two, or the batch alone. Nothing where no dimension is open.
    """
    batch: dict[str, int] = {}
    parity: dict[str, int] = {}
    free = set[str]()
    for each, axis, dim in _axes(inputs):
        if isinstance(dim, str) and dim not in batch.keys() | parity.keys():
            now, admitted = taken[dim], each.sizes.get(dim)
            is_batch = _is_batch(dim, axis, len(each.shape))
            near = [2 if now == 1 else 1] if is_batch else [now - 1, now + 1][1 - now % 2 :]
            if admitted is None:
                free |= set() if is_batch else {dim}
            else:
                step = admitted.value(1) - admitted.first if admitted.count > 1 else 0
                near = [size for size in (*near, now + step, now - step) if size in admitted]
            (batch if is_batch else parity)[dim] = next(filter(None, near), now)
    further = ({**parity, **{dim: taken[dim] + step for dim in free}} for step in _STEPS)
    seen = [dict(taken)]
    for changed in ({**batch, **parity}, parity, *({**batch, **each} for each in further), batch):
        if (sizes := {**taken, **changed}) not in seen:
            seen.append(sizes)
            yield sizes


def _axes(inputs: Iterable[Input]) -> Iterator[tuple[Input, int, int | str]]:
    return ((each, axis, dim) for each in inputs for axis, dim in enumerate(each.shape))


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
            much = f"has more than {_DRAWABLE:,} elements, too many to draw"
            raise UndrawableError(f"input {each.name!r} of {shape_text(shape)} {much}")
        feeds[each.name] = _data(each, shape, _generator(each, seed))
    return described(feeds, f"seed {seed}")


def _generator(each: Input, *seed: int) -> np.random.Generator:
    first, *further = seed
    return np.random.default_rng([first, zlib.crc32(each.name.encode()), *further])


def steerings(inputs: Iterable[Input], feeds: Mapping[str, Array]) -> Iterator[dict[str, int]]:
    """Values, by name, for the bools and whole numbers that may decide what runs; not too many."""
    values = dict[str, list[int]]()
    for each in inputs:
        dtype = numpy_type(each)
        if dtype.kind in "biu" and 0 < feeds[each.name].size <= _MOST_CHOOSING:
            near = [n + step for n in each.compared for step in (0, 1)]
            chosen = (0, 1) if dtype.kind == "b" else dict.fromkeys((*range(4), *near))
            values[each.name] = [n for n in chosen if np.array(n).astype(dtype) == n]
    for some in islice(product(*values.values()), _MOST_STEERED if values else 0):
        yield dict(zip(values, some, strict=True))


def steered(first: Draw, values: Mapping[str, int]) -> Draw:
    """A draw with other values of some inputs."""
    if not values:
        return first
    feeds = {name: np.full_like(first.feeds[name], value) for name, value in values.items()}
    told = (f"{name} {data.flat[0]}" for name, data in feeds.items())
    how = ", ".join((first.drawn[1], *told))
    return described({**first.feeds, **feeds}, how, again=first.again)


def steered_sizes(
    inputs: Sequence[Input], values: Iterable[dict[str, int]]
) -> Iterable[tuple[dict[str, int], dict[str, int]]]:
    """Each of some values that may decide what runs with all guesses of sizes; not too many."""
    return islice(product(values, size_choices(inputs)), _MOST_STEERED)


def other_data(inputs: Iterable[Input], first: Draw, seed: int) -> Draw | None:
    """Draw inputs of the same sizes as `first` with other data, negative if the type allows.

    The runtime's wrong fold of a `Pad` of zeros into a MaxPool shows only on negative data. And an
    output that is the same for this data too is no evidence.
    """
    feeds, below = {}, False
    for each in inputs:
        data = _data(each, first.feeds[each.name].shape, _generator(each, seed, 1))
        is_signed = "float" in data.dtype.name or data.dtype == np.int8
        if is_signed and data.size:
            data, below = _negative(data), True
        feeds[each.name] = data
    if all(np.array_equal(data, first.feeds[name]) for name, data in feeds.items()):
        return None
    kind = "all negative" if below else "other data"
    return described(feeds, f"seed {seed}, {kind}", again=True)


def described(feeds: Mapping[str, Array], how: str, *, again: bool = False) -> Draw:
    """Inputs of these values, with how they were drawn."""
    parts = feeds_text(feeds), how
    return Draw(feeds, ", ".join(filter(None, parts)), again, parts)


def feeds_text(feeds: Mapping[str, Array]) -> str:
    """Inputs by name, type and shape, such as `x float32 1x3x224x224`; at most six."""
    texts = [
        f"{name} {'string' if data.dtype.kind == 'O' else data.dtype} {shape_text(data.shape)}"
        for name, data in feeds.items()
    ]
    return few(texts, 6)


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


def _is_batch(dim: int | str, axis: int, rank: int) -> bool:
    """Whether an open dimension is the batch, judged by its name and axis."""
    name = str(dim).lower()
    measured = any(word in name for word in ("height", "width", "len", "seq", "time", "frame"))
    return "batch" in name or (axis == 0 and rank > 1 and not measured)


def _sized(each: Input, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(
        (_nearest(each.sizes[dim], sizes[dim]) if dim in each.sizes else sizes[dim])
        if isinstance(dim, str)
        else dim
        for dim in each.shape
    )


def _data(each: Input, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """Normally distributed floats, whole bytes, and other integers of 0 and 1."""
    if each.elem_type == TensorProto.STRING:
        return np.asarray(generator.integers(0, 10, shape)).astype(np.str_).astype(np.object_)
    dtype = numpy_type(each)
    if dtype.kind in "iu" and dtype.itemsize == 1:
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    if dtype.kind in "biu":
        return np.asarray(generator.integers(0, 2, shape)).astype(dtype)
    real = np.asarray(generator.standard_normal(shape))
    if dtype.kind == "c":
        return (real + 1j * generator.standard_normal(shape)).astype(dtype)
    return real.astype(np.float32).astype(dtype)  # bfloat16 and float8 convert from float32


def _negative(data: Array) -> Array:
    """The data moved below zero, far enough that rounding does not bring it back."""
    if data.dtype.kind == "i":
        below = np.minimum(data, -1 - np.abs(data.astype(np.int16)) // 2)
        return np.asarray(below.astype(data.dtype))
    wide = data.astype(np.float32)
    return np.asarray(-np.abs(wide) - np.float32(0.5)).astype(data.dtype)


def _tensor_type(value: onnx.ValueInfoProto) -> onnx.TypeProto.Tensor:
    """The type of a tensor, or of an optional one; an empty one of what is no tensor."""
    kind = value.type
    return (kind.optional_type.elem_type if kind.HasField("optional_type") else kind).tensor_type


def _shape(value: onnx.ValueInfoProto) -> tuple[int | str, ...] | None:
    """A size or a name for each axis, invented if the graph has none; None without a rank.

    None also of what is no tensor.
    """
    if not (kind := _tensor_type(value)).HasField("shape"):
        return None
    return tuple(
        dim.dim_value
        if dim.HasField("dim_value") and dim.dim_value >= 0
        else dim.dim_param or f"{value.name}[{axis}]"
        for axis, dim in enumerate(kind.shape.dim)
    )


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the bodies of its functions in place of their calls, unless they are many."""
    if not model.functions or unfolded(model) > _MOST_INLINED:
        return model
    try:
        return onnx.inliner.inline_local_functions(model)
    except (RuntimeError, ValueError, onnx.checker.ValidationError):  # malformed, or over 2 GiB
        return model


def constant_of(node: onnx.NodeProto) -> TensorProto | None:
    """The tensor that a Constant holds; None of other nodes, and of texts and sparse tensors."""
    if node.op_type != "Constant" or len(node.attribute) != 1:
        return None
    held = get_attribute_value(node.attribute[0])
    if isinstance(held, int | float | list):
        kind = np.int64 if "int" in node.attribute[0].name else np.float32
        with suppress(ValueError):  # of texts
            held = onnx.numpy_helper.from_array(np.asarray(held, kind))
    return held if isinstance(held, TensorProto) else None
