"""Draws inputs for a model from the types, shapes and bounds that its graph implies.

Sizes that the graph leaves open are guessed, most likely first; the caller tries one after the
other until the model runs.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice, product
from types import MappingProxyType
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
    *((1, 61, 65), (1, 64, 64), (1, 224, 224), (1, 33, 32), (1, 32, 32), (2, 96, 96)),
    *((1, 256, 256), (1, 8, 8), (1, 512, 512), (32, 32, 32), (1, 16000, 16000), (1, 1, 1)),
)
"""Guesses for (batch, even axes, odd axes): 1 above multiples, multiples of 32, large, tiny."""

_STEPS = (2, 4, 8, 16, 32)
"""How far sizes are moved for models that take no other parity, such as those that halve theirs."""

_MOST_ELEMENTS = 1 << 23  # of one input of guessed size: an image of 1600x1600 fits
_DRAWABLE = 1 << 28  # elements of one input; drawing them takes 3 GB already
_MOST_CHOOSING = 16  # elements of an input that may decide what runs
_MOST_STEERED = 256  # draws, with values for what decides that
_ENDLESS = 1 << 20  # a larger upper limit is no limit in practice
_MOST_INLINED = 10_000  # nodes

_COMPARISONS = frozenset({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})


Choice = tuple[dict[str, int], dict[str, int]]
"""Sizes by open dimension, and values by input."""


class UndrawableError(ModelError):
    """An input for which no data can be drawn."""


class Input(Struct, frozen=True):
    """One input to be fed.

    `sizes` are those admitted for open dimensions, by name; `compared` the whole numbers that
    anything in the model is compared with.
    """

    name: str
    elem_type: int
    shape: tuple[int | str, ...]
    sizes: Mapping[str, Sizes] = field(default_factory=dict)
    compared: tuple[int, ...] = ()


class Output(Struct, frozen=True):
    """One output; its type is UNDEFINED if it is no tensor, its shape None without a rank."""

    name: str
    elem_type: int
    shape: tuple[int | str, ...] | None = None


class Interface(Struct, frozen=True):
    """Inputs, outputs, tensors inside and a few traits of a model, with all its bodies."""

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
    """Inputs for one run, with a label for reports; `again` if they only are other data."""

    feeds: Mapping[str, Array]
    label: str
    again: bool = False


def outline(model: onnx.ModelProto) -> Interface:
    """The outline of a model; initializers that are inputs too keep their value.

    Raises:
        UndrawableError: An input is no tensor, or its functions unfold to too many nodes.
    """
    if why := unfolds(model):
        raise UndrawableError(why)
    kept = {tensor.name for tensor in model.graph.initializer}
    kept |= {sparse.values.name for sparse in model.graph.sparse_initializer}
    numbers = _compared(inlined(model))
    inputs = list[Input]()
    for value in (value for value in model.graph.input if value.name not in kept):
        name, shape, kind = value.name, _shape(value), _tensor_type(value).elem_type
        if not kind:
            raise UndrawableError(f"input {name!r} is no tensor, and only tensors can be drawn")
        shape = _unnamed(name, 1) if shape is None else shape
        inputs.append(Input(name, kind, shape, {}, numbers))
    operators = [node.op_type for node in walked(model.graph.node)]
    return Interface(
        tuple(inputs),
        len(operators),
        any(operator in {"QuantizeLinear", "DynamicQuantizeLinear"} for operator in operators),
        tuple(Output(e.name, e.type.tensor_type.elem_type, _shape(e)) for e in model.graph.output),
        frozenset(name for node in model.graph.node for name in node.output if name),
        draws(model),
    )


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


def pinned(
    inputs: Sequence[Input],
    shapes: Mapping[str, Sequence[int | str | None]],
    sizes: Mapping[str, Sizes] | None = None,
) -> tuple[Input, ...]:
    """The inputs with the sizes that shapes give for what is open in them, by name of the input.

    An axis open in both gets the size of another axis of that name; others are limited to `sizes`.
    """
    axes = list[list[tuple[int | str, int | str | None]]]()
    for each in inputs:
        now = shapes.get(each.name, each.shape)
        own = each.shape if len(each.shape) == len(now) else _unnamed(each.name, len(now))
        axes.append([*zip(own, now, strict=True)])
    fixed = {dim: now for pairs in axes for dim, now in pairs if isinstance(now, int)}

    def size(dim: int | str, now: int | str | None) -> int | str:
        return dim if isinstance(dim, int) else now if isinstance(now, int) else fixed.get(dim, dim)

    return tuple(
        replace(each, shape=tuple(size(*pair) for pair in pairs), sizes=sizes or {})
        for each, pairs in zip(inputs, axes, strict=True)
    )


def size_choices(inputs: Iterable[Input]) -> Iterator[dict[str, int]]:
    """Sizes for the open dimensions, likely ones first; one empty choice if none is open.

    Of a limited dimension the first, last and middle one come first, unless the last is huge.
    """
    inputs, seen = tuple(inputs), list[dict[str, int]]()
    for index, (batch, *sides) in enumerate(_SIZES):
        sizes, limited = dict[str, int](), False
        for dim, axis, is_batch, admitted in _open(inputs):
            sizes[dim] = batch if is_batch and admitted is None else sides[axis % 2]
            if admitted is not None:
                limited, sizes[dim] = True, _nearest(admitted, sizes[dim])
                if index < 3 and admitted.last < _ENDLESS:
                    sizes[dim] = admitted.value((0, admitted.count - 1, admitted.count // 2)[index])
        small = all(math.prod(_sized(each, sizes)) <= _MOST_ELEMENTS for each in inputs)
        if sizes not in seen and (small or not sizes or (limited and not seen)):
            seen.append(sizes)
            yield sizes


def other_choices(inputs: Iterable[Input], taken: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Sizes that differ from those taken in all that a model may be wrongly fixed to.

    The batch is 2, the others have the other parity, or are the next admitted. If a model does not
    take both, they are moved by powers of two, or the batch alone.
    """
    batch, parity, free = dict[str, int](), dict[str, int](), set[str]()
    for dim, _, is_batch, admitted in _open(inputs):
        now = taken[dim]
        near = [2 if now == 1 else 1] if is_batch else [now - 1, now + 1][1 - now % 2 :]
        if admitted is not None:
            step = admitted.value(1) - admitted.first if admitted.count > 1 else 0
            near = [size for size in (*near, now + step, now - step) if size in admitted]
        free |= {dim} if admitted is None and not is_batch else set()
        (batch if is_batch else parity)[dim] = next(filter(None, near), now)
    further = ({**parity, **{dim: taken[dim] + step for dim in free}} for step in _STEPS)
    seen = [dict(taken)]
    for changed in ({**batch, **parity}, parity, *({**batch, **each} for each in further), batch):
        if (sizes := {**taken, **changed}) not in seen:
            seen.append(sizes)
            yield sizes


def _open(inputs: Iterable[Input]) -> Iterator[tuple[str, int, bool, Sizes | None]]:
    """Each open dimension: its name, axis, whether it is the batch, and the sizes if limited."""
    names = set[str]()
    for each in inputs:
        for axis, dim in enumerate(each.shape):
            if isinstance(dim, str) and dim not in names:
                names.add(dim)
                yield dim, axis, _is_batch(dim, axis, len(each.shape)), each.sizes.get(dim)


def choices(inputs: Sequence[Input]) -> Iterator[Choice]:
    """Sizes, likely ones first, and then values of what may decide what runs."""
    return chain(((sizes, {}) for sizes in size_choices(inputs)), steerings(inputs))


def steerings(inputs: Sequence[Input]) -> Iterator[Choice]:
    """Choices of bools and whole numbers that may decide what runs; not too many."""
    return islice(
        (
            (sizes, dict(zip(values, some, strict=True)))
            for sizes in size_choices(inputs)
            if (values := dict(_deciding(inputs, sizes)))
            for some in product(*values.values())
        ),
        _MOST_STEERED,
    )


def _deciding(inputs: Sequence[Input], sizes: Mapping[str, int]) -> Iterator[tuple[str, list[int]]]:
    """The inputs that may decide what runs, with the values to try."""
    for each in inputs:
        dtype = numpy_type(each)
        if dtype.kind in "biu" and 0 < math.prod(_sized(each, sizes)) <= _MOST_CHOOSING:
            near = [n + step for n in each.compared for step in (0, 1)]
            chosen = (0, 1) if dtype.kind == "b" else dict.fromkeys((*range(4), *near))
            yield each.name, [n for n in chosen if np.array(n).astype(dtype) == n]


def _nearest(sizes: Sizes, size: int) -> int:
    index = min(sizes.from_on(size), sizes.count - 1)
    around = (sizes.value(each) for each in range(max(index - 1, 0), index + 1))
    return min(around, key=lambda each: abs(each - size))


def draw(
    inputs: Iterable[Input],
    sizes: Mapping[str, int],
    seed: int,
    values: Mapping[str, int] = MappingProxyType({}),
    *,
    again: bool = False,
) -> Draw:
    """Draw inputs of these sizes, some of one value; the same seed gives the same data.

    Other data than usual are drawn `again`, negative if the type allows: the runtime's wrong fold
    of a `Pad` of zeros into a MaxPool shows only there, and what is the same is no evidence.

    Raises:
        UndrawableError: An input has too many elements, or elements of an unknown type.
    """
    feeds, how = dict[str, Array](), f"seed {seed}"
    for each in inputs:
        shape = _sized(each, sizes)
        if math.prod(shape) > _DRAWABLE:
            much = f"has more than {_DRAWABLE:,} elements, too many to draw"
            raise UndrawableError(f"input {each.name!r} of {shape_text(shape)} {much}")
        key = [seed, zlib.crc32(each.name.encode()), *[1] * again]
        data = _data(each, shape, np.random.default_rng(key))
        if again and data.size and ("float" in data.dtype.name or data.dtype == np.int8):
            data, how = _negative(data), f"seed {seed}, all negative"
        feeds[each.name] = np.full_like(data, values.get(each.name, data))
    how += ", other data" if again and how == f"seed {seed}" else ""
    how = ", ".join((how, *(f"{name} {feeds[name].flat[0]}" for name in values)))
    return Draw(feeds, f"{feeds_text(feeds)}, {how}".lstrip(", "), again)


def feeds_text(feeds: Mapping[str, Array]) -> str:
    """Inputs by name, type and shape, such as `x float32 1x3x224x224`; at most six."""
    texts = [
        f"{name} {'string' if data.dtype.kind == 'O' else data.dtype} {shape_text(data.shape)}"
        for name, data in feeds.items()
    ]
    return few(texts, 6)


def numpy_type(each: Input | Output) -> np.dtype[Any]:
    """The numpy type for elements; an UndrawableError says that onnx knows no such type."""
    try:
        return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(each.elem_type))
    except KeyError:
        told = f"element type {each.elem_type}, which onnx {onnx.__version__} does not know"
        raise UndrawableError(f"{each.name!r} has {told}") from None


def _is_batch(dim: int | str, axis: int, rank: int) -> bool:
    name = str(dim).lower()
    measured = any(word in name for word in ("height", "width", "len", "seq", "time", "frame"))
    return "batch" in name or (axis == 0 and rank > 1 and not measured)


def _sized(each: Input, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in each.shape)


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


def _unnamed(name: str, rank: int) -> tuple[str, ...]:
    """Names for the axes of an input whose graph has none."""
    return tuple(f"{name}[{axis}]" for axis in range(rank))


def _shape(value: onnx.ValueInfoProto) -> tuple[int | str, ...] | None:
    """A size or a name for each axis, made up if there is none; None without a rank, or tensor."""
    if not (kind := _tensor_type(value)).HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else dim.dim_param or name
        for name, dim in zip(_unnamed(value.name, len(kind.shape.dim)), kind.shape.dim, strict=True)
    )


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the bodies of its functions in place of their calls.

    As it is where they are many, or call each other in a circle, which stops onnx dead.
    """
    if not model.functions or not 0 < unfolded(model) <= _MOST_INLINED:
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
