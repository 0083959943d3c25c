"""Rules for the shapes of operators that create, move or repeat elements.

Sources: the operators' pages of the ONNX specification. Where opsets differ, the code says which
opset it asks for.
"""

from __future__ import annotations

from onnxpad.analysis.rounding import FLOATS
from onnxpad.analysis.rule_api import Ask, Call, ShapeRule, UndeterminedError, axis_in, known
from onnxpad.analysis.rules.axis_math import (
    agreed,
    at_least,
    broadcast,
    product,
    remaining,
    slice_size,
)
from onnxpad.analysis.value import Shape
from onnxpad.arithmetic.size import Extent, Unknown, ceil_div, floor_div, maximum
from onnxpad.semantics.amounts import ExtentPair
from onnxpad.semantics.table import amounts_attribute, over_axes


def _transpose(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    perm = call.integers("perm", tuple(reversed(range(len(shape)))))
    if sorted(perm) != list(range(len(shape))):
        raise UndeterminedError(f"perm {perm} of a tensor of rank {len(shape)}")
    return tuple(shape[axis] for axis in perm)


def _reshape(call: Call) -> Ask[Shape]:
    if call.opset >= 5:
        target = yield from call.integers_of(1)
    else:
        target = call.integers("shape", ())
    try:
        shape = yield from call.shape_of(0)
    except UndeterminedError:
        shape = None
    copied = not call.flag("allowzero")
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
        others = result[:axis] + result[axis + 1 :]
        result[axis] = Unknown("the rest of an unknown shape")
        if shape is not None:
            result[axis] = remaining(shape, others)
    return tuple(result)


def _flatten(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    axis = call.integer("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise UndeterminedError(f"a Flatten at axis {axis} of a tensor of rank {len(shape)}")
    return product(shape[:axis]), product(shape[axis:])


def _squeeze(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    axes = yield from call.axes(len(shape), 13, ())
    if not axes:
        if not all(isinstance(extent, int) or at_least(extent, 2) for extent in shape):
            raise UndeterminedError("a Squeeze of axes that may be 1")
        return tuple(extent for extent in shape if extent != 1)
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def _unsqueeze(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    if call.opset >= 13:
        axes = yield from call.known_integers_of(1)
    else:
        axes = call.integers("axes", ())
    rank = len(shape) + len(axes)
    new = {axis_in(axis, rank) for axis in axes}
    if len(new) != len(axes):
        raise UndeterminedError("an Unsqueeze with an axis twice")
    old = iter(shape)
    return tuple(1 if axis in new else next(old) for axis in range(rank))


def concatenated(shapes: list[Shape], axis: int) -> Shape:
    """Return the shape of tensors concatenated along an axis, given their shapes."""
    if not shapes or any(len(shape) != len(shapes[0]) for shape in shapes):
        raise UndeterminedError("a Concat of no tensors, or of different ranks")
    axis = axis_in(axis, len(shapes[0]))
    columns = list(zip(*shapes, strict=True))
    joined = sum(columns[axis][1:], columns[axis][0])
    return (*map(agreed, columns[:axis]), joined, *map(agreed, columns[axis + 1 :]))


def _concat(call: Call) -> Ask[Shape]:
    shapes = yield from call.shapes()
    return concatenated(shapes, call.integer("axis", 1))


def split_sizes(call: Call, size: Extent) -> Ask[Shape]:
    """Return the sizes of a Split's parts along its axis, which has this size."""
    if call.opset >= 13 and call.has(1):
        return (yield from call.integers_of(1))
    sizes = call.optional_integers("split")
    if sizes:
        return sizes
    parts = call.integer("num_outputs", len(call.node.outputs))
    if parts != len(call.node.outputs):
        raise UndeterminedError("a Split with another number of outputs")
    if call.opset < 18:
        return (floor_div(size, parts),) * parts
    part = ceil_div(size, parts)
    return (*((part,) * (parts - 1)), size - part * (parts - 1))


def _split(call: Call) -> Ask[Shape]:
    shape = list((yield from call.shape_of(0)))
    axis = axis_in(call.integer("axis", 0), len(shape))
    sizes = yield from split_sizes(call, shape[axis])
    if call.output >= len(sizes):
        raise UndeterminedError("a Split with fewer sizes than outputs")
    shape[axis] = sizes[call.output]
    return tuple(shape)


def slice_bounds(call: Call, rank: int) -> Ask[dict[int, tuple[Extent, Extent, int]]]:
    """Return start, end and step of a Slice for each axis that it cuts."""
    steps: tuple[int, ...] | None = None
    if call.opset >= 10:
        starts = yield from call.integers_of(1)
        ends = yield from call.integers_of(2)
        axes = (yield from call.known_integers_of(3)) if call.has(3) else None
        steps = (yield from call.known_integers_of(4)) if call.has(4) else None
    else:
        starts, ends = call.integers("starts", ()), call.integers("ends", ())
        axes = call.optional_integers("axes")
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise UndeterminedError("a Slice with a step of 0 or lists that differ in length")
    bounds = zip(starts, ends, steps, strict=True)
    return {axis_in(axis, rank): bound for axis, bound in zip(axes, bounds, strict=True)}


def _slice(call: Call) -> Ask[Shape]:
    shape = list((yield from call.shape_of(0)))
    try:
        bounds = yield from slice_bounds(call, len(shape))
    except UndeterminedError:
        return tuple(Unknown("a Slice of unknown axes") for _ in shape)
    for axis, (start, end, step) in bounds.items():
        shape[axis] = slice_size(shape[axis], start, end, step)
    return tuple(shape)


def pad_amounts(call: Call, rank: int) -> Ask[tuple[ExtentPair, ...]]:
    """Return a Pad's amounts (begin, end) on each axis; negative where it crops."""
    axes = None
    if call.opset >= 11:
        amounts = yield from call.integers_of(1)
        axes = (yield from call.known_integers_of(3)) if call.has(3) else None
    else:
        amounts = call.integers(amounts_attribute(call.opset), ())
    half = rank if axes is None else len(axes)
    if len(amounts) != 2 * half:
        raise UndeterminedError(f"{len(amounts)} pads for {half} axes")
    pads = over_axes(tuple(zip(amounts[:half], amounts[half:], strict=True)), axes, rank)
    if pads is None:
        raise UndeterminedError(f"axes {axes} of a tensor of rank {rank}")
    return pads


def _pad(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    try:
        pads = yield from pad_amounts(call, len(shape))
    except UndeterminedError:
        return tuple(Unknown("a Pad whose pads are unknown") for _ in shape)
    return tuple([size + begin + end for size, (begin, end) in zip(shape, pads, strict=True)])


def _gather(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    indices = yield from call.shape_of(1)
    axis = axis_in(call.integer("axis", 0), len(shape))
    return (*shape[:axis], *indices, *shape[axis + 1 :])


def _gather_nd(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    indices = yield from call.shape_of(1)
    if not indices:
        raise UndeterminedError("a GatherND with a scalar for indices")
    (depth,) = known(indices[-1:])
    return (*indices[:-1], *shape[call.integer("batch_dims", 0) + depth :])


def _expand(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    return broadcast([shape, (yield from call.integers_of(1))])


def _tile(call: Call) -> Ask[Shape]:
    if call.opset < 6:
        raise UndeterminedError("a Tile of opset 5 and before")
    shape = yield from call.shape_of(0)
    repeats = yield from call.integers_of(1)
    if len(repeats) != len(shape):
        raise UndeterminedError("a Tile with another number of repeats than axes")
    return tuple(size * repeat for size, repeat in zip(shape, repeats, strict=True))


def _space_to_depth(call: Call) -> Ask[Shape]:
    batch, channels, *spatial = yield from call.ranked_shape_of(0, 4)
    block = _block(call)
    return (batch, channels * block**2, *(floor_div(size, block) for size in spatial))


def _depth_to_space(call: Call) -> Ask[Shape]:
    batch, channels, *spatial = yield from call.ranked_shape_of(0, 4)
    block = _block(call)
    return (batch, floor_div(channels, block**2), *(size * block for size in spatial))


def _block(call: Call) -> int:
    block = call.integer("blocksize", 0)
    if block < 1:
        raise UndeterminedError(f"a block of size {block}")
    return block


def dimensions(call: Call) -> Ask[Shape]:
    """Return the elements that a Shape node gives."""
    shape = yield from call.shape_of(0)
    begin, end = call.integer("start", 0), call.integer("end", len(shape))
    begin, end = (
        min(max(index + len(shape) if index < 0 else index, 0), len(shape))
        for index in (begin, end)
    )
    return shape[begin:end]


def _shape(call: Call) -> Ask[Shape]:
    return (len((yield from dimensions(call))),)


def _scalar(call: Call) -> Ask[Shape]:
    return ()
    yield


def _constant_of_shape(call: Call) -> Ask[Shape]:
    return (yield from call.integers_of(0))


def _range(call: Call) -> Ask[Shape]:
    if (yield from call.dtype_of(0)) in FLOATS:
        return (Unknown("a Range of floats"),)
    start = yield from call.integer_of(0)
    limit = yield from call.integer_of(1)
    delta = yield from call.integer_of(2)
    return (maximum(ceil_div(limit - start, delta), 0),)


def _one_hot(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    axis = axis_in(call.integer("axis", -1), len(shape) + 1)
    depth: Extent = Unknown("a depth that is a float")
    if (yield from call.dtype_of(1)) not in FLOATS:
        depth = yield from call.integer_of(1)
    return (*shape[:axis], depth, *shape[axis:])


def _non_zero(call: Call) -> Ask[Shape]:
    rank = len((yield from call.shape_of(0)))
    several = rank or Unknown("a scalar has one axis to some runtimes")
    return (several, Unknown("the number of elements that are not zero"))


LAYOUT_SHAPES: dict[str, ShapeRule] = {
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherND": _gather_nd,
    "NonZero": _non_zero,
    "OneHot": _one_hot,
    "Pad": _pad,
    "Range": _range,
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _scalar,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""Shape rules of operators that compute no new elements."""
