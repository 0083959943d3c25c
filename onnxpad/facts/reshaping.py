"""Operators that create, move or repeat elements: the shapes and the contents that they give.

Where an operator runs only if two axes have one size, they are taken to have it: either size
stands for both. A rule for contents may rely on the shape of its result (`call.sizes`), which is
known and small.

Sources: the operators' pages of the ONNX specification. Where opsets differ, the code says which
opset it asks for.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import compress

import numpy as np
from onnx import TensorProto, numpy_helper

from onnxpad.arithmetic.size import (
    Extent,
    Unknown,
    bounds,
    ceil_div,
    equal,
    floor_div,
    less,
    maximum,
    minimum,
    where,
)
from onnxpad.facts.rule_api import (
    FLOAT,
    Call,
    Elements,
    Shape,
    ShapeRule,
    ValueRule,
    constant_elements,
    elements,
    filled,
    fit,
    known,
    named,
)
from onnxpad.semantics.layers import ExtentPairs
from onnxpad.semantics.rows import INTEGERS, UnreadError, axes_of, axis_of
from onnxpad.semantics.table import amounts_of, over_axes

# Arithmetic on sizes, known or symbolic


def product(extents: Iterable[Extent]) -> Extent:
    """Return the product of the sizes, which is the number of elements."""
    return reduce(operator.mul, extents, 1)


def at_least(extent: Extent, least: int) -> bool:
    """Whether an extent is known to be at least `least`."""
    low, _ = bounds(extent)
    return low is not None and low >= least


def agreed(extents: Iterable[Extent]) -> Extent:
    """Return the common size of axes that must be equal: an int if there is one, else a `Size`."""
    sizes = [size for size in extents if not isinstance(size, Unknown)]
    numbers = {size for size in sizes if isinstance(size, int)}
    if len(numbers) > 1:
        raise UnreadError(f"{sorted(numbers)} where sizes must be equal")
    return next(iter([*numbers, *sizes]), Unknown("no operand's size is known"))


def broadcast(shapes: Iterable[Shape]) -> Shape:
    """Return the shape that shapes broadcast to, by numpy's rules."""
    result: Shape = ()
    for shape in shapes:
        rank = max(len(shape), len(result))
        padded = ((1,) * (rank - len(each)) + each for each in (result, shape))
        result = tuple(map(_broadcast, *padded))
    return result


def _broadcast(a: Extent, b: Extent) -> Extent:
    if isinstance(a, int) and isinstance(b, int):
        if a != b and 1 not in (a, b):
            raise UnreadError(f"{a} and {b} do not broadcast")
        return b if a == 1 else a
    if a == b:
        return a
    if isinstance(b, int):
        a, b = b, a
    # A size other than 1 is the result: the other one is then equal to it, or 1.
    result = where(equal(a, 1), b, a)
    return where(equal(b, 1), a, b) if isinstance(result, Unknown) else result


def slice_size(size: Extent, start: Extent, end: Extent, step: int) -> Extent:
    """Return how many elements a Slice takes of an axis; ONNX's Slice clamps like this."""
    last = _clamped(size, end, *((0, size) if step > 0 else (-1, size - 1)))
    return maximum(ceil_div(last - slice_start(size, start, step), step), 0)


def slice_start(size: Extent, start: Extent, step: int) -> Extent:
    """Return the first position that a Slice takes of an axis."""
    return _clamped(size, start, 0, size if step > 0 else size - 1)


def _clamped(size: Extent, position: Extent, low: Extent, high: Extent) -> Extent:
    """Return a position between two others; a negative one counts from the end."""
    position = where(less(position, 0), position + size, position)
    return minimum(maximum(position, low), high)


def remaining(total: Iterable[Extent], taken: Iterable[Extent]) -> Extent:
    """Return the size that Reshape computes for -1: the product of `total` over that of `taken`.

    Equal sizes cancel first, which avoids products of two symbolic sizes.
    """
    factors = list(total)
    divisors: list[Extent] = []
    for extent in taken:
        if extent in factors and at_least(extent, 1):
            factors.remove(extent)
        else:
            divisors.append(extent)
    divisor = product(divisors)
    if not at_least(divisor, 1):
        return Unknown("an axis that the others do not determine")
    return floor_div(product(factors), divisor)


# Operators that give the elements of their data in order


def _reshape(call: Call) -> Shape:
    target = call.integers(1) if call.version >= 5 else call.of("shape", ())
    shape, copied = call.shape(), not call.flag("allowzero")
    result: list[Extent] = []
    for axis, extent in enumerate(target):
        if extent == 0 and copied:
            whole = shape is not None and axis < len(shape)
            result.append(shape[axis] if shape and whole else Unknown("a size that is copied"))
        elif extent == -1 or at_least(extent, 1) or extent == 0:
            result.append(extent)
        else:
            result.append(Unknown("a size given at run time, which may be 0 or -1"))
    if result.count(-1) == 1:
        axis = result.index(-1)
        result[axis] = Unknown("the rest of an unknown shape")
        if shape is not None:
            result[axis] = remaining(shape, [*result[:axis], *result[axis + 1 :]])
    return tuple(result)


def _squeeze(call: Call) -> Shape:
    shape = call.shape_of(0)
    axes = axes_of(call.axes() or (), len(shape))
    if not axes and not all(isinstance(size, int) or at_least(size, 2) for size in shape):
        raise UnreadError("a Squeeze of axes that may be 1")
    kept = (size != 1 if not axes else axis not in axes for axis, size in enumerate(shape))
    return tuple(compress(shape, kept))


def _unsqueeze(call: Call) -> Shape:
    shape, written = call.shape_of(0), call.axes() or ()
    rank = len(shape) + len(written)
    axes, old = axes_of(written, rank), iter(shape)
    return tuple(1 if axis in axes else next(old) for axis in range(rank))


def _in_order(call: Call) -> Elements:
    return call.value_of(0).data.reshape(call.sizes)


# Operators that move, leave out or repeat elements


def _perm(call: Call, rank: int) -> tuple[int, ...]:
    perm = call.of("perm", tuple(reversed(range(rank))))
    if sorted(perm) != list(range(rank)):
        raise UnreadError(f"perm {perm} of a tensor of rank {rank}")
    return perm


def _transpose(call: Call) -> Shape:
    shape = call.shape_of(0)
    return tuple(shape[axis] for axis in _perm(call, len(shape)))


def _transposed(call: Call) -> Elements:
    data = call.value_of(0).data
    return data.transpose(_perm(call, data.ndim))


def concatenated(shapes: Sequence[Shape], axis: int) -> Shape:
    """Return the shape of tensors concatenated along an axis, given their shapes."""
    if not shapes or len(set(map(len, shapes))) > 1:
        raise UnreadError("a Concat of no tensors, or of different ranks")
    axis = axis_of(axis, len(shapes[0]))
    columns = list(zip(*shapes, strict=True))
    joined = sum(columns[axis][1:], columns[axis][0])
    return (*map(agreed, columns[:axis]), joined, *map(agreed, columns[axis + 1 :]))


def _joined(call: Call) -> Elements:
    parts = call.all_elements(call.kind)
    return np.concatenate(parts, call.axis(len(call.sizes), 1))


def _split_sizes(call: Call, size: Extent) -> Shape:
    """The sizes of a Split's parts along its axis, which has this size."""
    if call.version >= 13 and call.has(1):
        return call.integers(1)
    if sizes := call.of("split", ()):
        return sizes
    parts = call.of("num_outputs", len(call.node.outputs))
    if parts != len(call.node.outputs):
        raise UnreadError("a Split with another number of outputs")
    part = floor_div(size, parts) if call.version < 18 else ceil_div(size, parts)
    last = part if call.version < 18 else size - part * (parts - 1)
    return (*((part,) * (parts - 1)), last)


def _split(call: Call) -> Shape:
    shape = list(call.shape_of(0))
    axis = call.axis(len(shape))
    sizes = _split_sizes(call, shape[axis])
    if call.output >= len(sizes):
        raise UnreadError("a Split with fewer sizes than outputs")
    shape[axis] = sizes[call.output]
    return tuple(shape)


def _part(call: Call) -> Elements:
    data = call.value_of(0).data
    axis = call.axis(data.ndim)
    sizes = known(tuple(_split_sizes(call, data.shape[axis])))
    begin = sum(sizes[: call.output])
    return np.take(data, range(begin, begin + sizes[call.output]), axis)


def _bounds(call: Call, rank: int) -> dict[int, tuple[Extent, Extent, int]]:
    from onnxpad.semantics.moving import bounds_of

    return bounds_of(call, rank)


def _slice(call: Call) -> Shape:
    shape = list(call.shape_of(0))
    try:
        bounds = _bounds(call, len(shape))
    except UnreadError:
        return tuple(Unknown("a Slice of unknown axes") for _ in shape)
    for axis, (start, end, step) in bounds.items():
        shape[axis] = slice_size(shape[axis], start, end, step)
    return tuple(shape)


def _sliced(call: Call) -> Elements:
    data = call.value_of(0).data
    for axis, (start, _, step) in _bounds(call, data.ndim).items():
        (first,) = known((slice_start(data.shape[axis], start, step),))
        data = np.take(data, first + step * np.arange(call.sizes[axis]), axis)
    return data


def _gather(call: Call) -> Shape:
    shape, indices = call.shape_of(0), call.shape_of(1)
    axis = call.axis(len(shape))
    return (*shape[:axis], *indices, *shape[axis + 1 :])


def _gathered(call: Call) -> Elements:
    data, shape = call.value_of(0).data, known(call.shape_of(1))
    axis = call.axis(data.ndim)
    positions = [axis_of(index, data.shape[axis]) for index in call.numbers(1)]
    taken = np.take(data, np.reshape(np.array(positions, dtype=np.intp), shape), axis)
    return np.asarray(taken, dtype=object)


def _amounts(call: Call, rank: int) -> ExtentPairs:
    amounts, axes, axes_known = amounts_of(call)
    pads = over_axes(amounts, axes, rank) if amounts is not None and axes_known else None
    return ((Unknown("the pads are unknown"),) * 2,) * rank if pads is None else pads


def _pad(call: Call) -> Shape:
    shape = call.shape_of(0)
    pads = _amounts(call, len(shape))
    return tuple([size + begin + end for size, (begin, end) in zip(shape, pads, strict=True)])


def _padded(call: Call) -> Elements:
    data = call.value_of(0).data
    begins = known(tuple(begin for begin, _ in _amounts(call, data.ndim)))
    if call.version < 11 or call.of("mode", "constant") != "constant" or min(begins) < 0:
        raise UnreadError("a Pad that copies or crops, or of opset 10 or before")
    zero = 0 if call.kind in INTEGERS else 0.0
    item = call.elements_of(2, call.kind).reshape(()).item() if call.has(2) else zero
    result = filled(item, call.sizes)
    result[tuple(map(slice, begins, np.add(begins, data.shape)))] = data
    return result


def _tile(call: Call) -> Shape:
    shape, repeats = call.shape_of(0), call.integers(1)
    if len(repeats) != len(shape):
        raise UnreadError("a Tile with another number of repeats than axes")
    return tuple(size * repeat for size, repeat in zip(shape, repeats, strict=True))


def _blocks(call: Call) -> Shape:
    shape, block = call.shape_of(0), call.of("blocksize", 0)
    if block < 1 or len(shape) != 4:
        raise UnreadError(f"a block of size {block}, or data of rank {len(shape)}")
    batch, channels, *spatial = shape
    if call.op == "SpaceToDepth":
        return (batch, channels * block**2, *(floor_div(size, block) for size in spatial))
    return (batch, floor_div(channels, block**2), *(size * block for size in spatial))


# Operators that create elements


def dimensions(call: Call) -> Shape:
    """Return the elements that a Shape node gives."""
    shape = call.shape_of(0)
    begin, end = call.of("start", 0), call.of("end", len(shape))
    return shape[begin:end]


def element_of(call: Call) -> tuple[int, object]:
    """Return the type and the element of a ConstantOfShape; None for one that is not evaluated."""
    written = call.attribute("value")
    if written is None:
        return FLOAT, 0.0
    value = written.t
    if value.data_location == TensorProto.EXTERNAL:
        return value.data_type, None
    try:
        data = constant_elements(numpy_helper.to_array(value), value.data_type)
    except (KeyError, TypeError, ValueError):  # no such type, or elements of another one
        data = None
    return value.data_type, None if data is None or data.size != 1 else data.item()


def _constant_of_shape(call: Call) -> Elements:
    element = element_of(call)[1]
    if element is None:
        raise UnreadError("a ConstantOfShape of something that is no number")
    return filled(element, call.sizes)


LAYOUT_SHAPES: dict[str, ShapeRule] = {
    "Concat": lambda call: concatenated(call.shapes(), call.of("axis", 1)),
    "ConstantOfShape": lambda call: call.integers(0),
    "DepthToSpace": _blocks,
    "Expand": lambda call: broadcast([call.shape_of(0), call.integers(1)]),
    "Gather": _gather,
    "Pad": _pad,
    "Reshape": _reshape,
    "Shape": lambda call: (len(dimensions(call)),),
    "Size": lambda call: (),
    "Slice": _slice,
    "SpaceToDepth": _blocks,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""Shape rules of operators that compute no new elements."""

LAYOUT: dict[str, ValueRule] = {
    **named(_in_order, "Reshape Squeeze Unsqueeze"),
    "Concat": _joined,
    "ConstantOfShape": _constant_of_shape,
    "Expand": lambda call: np.broadcast_to(call.value_of(0).data, call.sizes),
    "Gather": _gathered,
    "Identity": lambda call: call.value_of(0).data,
    "Pad": _padded,
    "Shape": lambda call: elements(dimensions(call), call.sizes),
    "Size": lambda call: filled(fit(product(call.shape_of(0)), call.kind), ()),
    "Slice": _sliced,
    "Split": _part,
    "Transpose": _transposed,
}
"""Value rules of operators that compute no new elements."""
