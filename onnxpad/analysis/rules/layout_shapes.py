"""Rules for the shapes of operators that create, move or repeat elements.

Sources: the operators' pages of the ONNX specification. Where opsets differ, the code says which
opset it asks for.
"""

from __future__ import annotations

from onnxpad.analysis.rule_api import Call, ShapeRule
from onnxpad.analysis.rules.axis_math import (
    agreed,
    at_least,
    broadcast,
    product,
    remaining,
    slice_size,
)
from onnxpad.analysis.value import Shape
from onnxpad.arithmetic.size import Extent, Unknown, ceil_div, floor_div
from onnxpad.semantics.amounts import ExtentPairs
from onnxpad.semantics.rows import UnreadError, axes_of, axis_of
from onnxpad.semantics.table import amounts_of, over_axes


def _transpose(call: Call) -> Shape:
    shape = call.shape_of(0)
    perm = call.ints("perm", tuple(reversed(range(len(shape)))))
    if sorted(perm) != list(range(len(shape))):
        raise UnreadError(f"perm {perm} of a tensor of rank {len(shape)}")
    return tuple(shape[axis] for axis in perm)


def _reshape(call: Call) -> Shape:
    target = call.integers(1) if call.version >= 5 else call.ints("shape", ())
    shape = call.shape()
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


def _flatten(call: Call) -> Shape:
    shape = call.shape_of(0)
    axis = call.integer("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise UnreadError(f"a Flatten at axis {axis} of a tensor of rank {len(shape)}")
    return product(shape[:axis]), product(shape[axis:])


def _squeeze(call: Call) -> Shape:
    shape = call.shape_of(0)
    axes = axes_of(call.axes() or (), len(shape))
    if not axes:
        if not all(isinstance(extent, int) or at_least(extent, 2) for extent in shape):
            raise UnreadError("a Squeeze of axes that may be 1")
        return tuple(extent for extent in shape if extent != 1)
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def _unsqueeze(call: Call) -> Shape:
    shape, written = call.shape_of(0), call.axes() or ()
    rank = len(shape) + len(written)
    axes, old = axes_of(written, rank), iter(shape)
    return tuple(1 if axis in axes else next(old) for axis in range(rank))


def concatenated(shapes: list[Shape], axis: int) -> Shape:
    """Return the shape of tensors concatenated along an axis, given their shapes."""
    if not shapes or any(len(shape) != len(shapes[0]) for shape in shapes):
        raise UnreadError("a Concat of no tensors, or of different ranks")
    axis = axis_of(axis, len(shapes[0]))
    columns = list(zip(*shapes, strict=True))
    joined = sum(columns[axis][1:], columns[axis][0])
    return (*map(agreed, columns[:axis]), joined, *map(agreed, columns[axis + 1 :]))


def _concat(call: Call) -> Shape:
    return concatenated(call.shapes(), call.integer("axis", 1))


def split_sizes(call: Call, size: Extent) -> Shape:
    """Return the sizes of a Split's parts along its axis, which has this size."""
    if call.version >= 13 and call.has(1):
        return call.integers(1)
    if sizes := call.ints("split", ()):
        return sizes
    parts = call.integer("num_outputs", len(call.node.outputs))
    if parts != len(call.node.outputs):
        raise UnreadError("a Split with another number of outputs")
    if call.version < 18:
        return (floor_div(size, parts),) * parts
    part = ceil_div(size, parts)
    return (*((part,) * (parts - 1)), size - part * (parts - 1))


def _split(call: Call) -> Shape:
    shape = list(call.shape_of(0))
    axis = axis_of(call.integer("axis", 0), len(shape))
    sizes = split_sizes(call, shape[axis])
    if call.output >= len(sizes):
        raise UnreadError("a Split with fewer sizes than outputs")
    shape[axis] = sizes[call.output]
    return tuple(shape)


def _slice(call: Call) -> Shape:
    from onnxpad.semantics.moving import bounds_of

    shape = list(call.shape_of(0))
    try:
        bounds = bounds_of(call, len(shape))
    except UnreadError:
        return tuple(Unknown("a Slice of unknown axes") for _ in shape)
    for axis, (start, end, step) in bounds.items():
        shape[axis] = slice_size(shape[axis], start, end, step)
    return tuple(shape)


def pad_amounts(call: Call, rank: int) -> ExtentPairs:
    """Return a Pad's amounts (begin, end) on each axis; negative where it crops."""
    amounts, axes, axes_known = amounts_of(call)
    pads = over_axes(amounts, axes, rank) if amounts is not None and axes_known else None
    if pads is None:
        raise UnreadError(f"pads over other axes than those of rank {rank}")
    return pads


def _pad(call: Call) -> Shape:
    shape = call.shape_of(0)
    try:
        pads = pad_amounts(call, len(shape))
    except UnreadError:
        return tuple(Unknown("a Pad whose pads are unknown") for _ in shape)
    return tuple([size + begin + end for size, (begin, end) in zip(shape, pads, strict=True)])


def _gather(call: Call) -> Shape:
    shape = call.shape_of(0)
    indices = call.shape_of(1)
    axis = axis_of(call.integer("axis", 0), len(shape))
    return (*shape[:axis], *indices, *shape[axis + 1 :])


def _tile(call: Call) -> Shape:
    shape, repeats = call.shape_of(0), call.integers(1)
    if len(repeats) != len(shape):
        raise UnreadError("a Tile with another number of repeats than axes")
    return tuple(size * repeat for size, repeat in zip(shape, repeats, strict=True))


def _space_to_depth(call: Call) -> Shape:
    (batch, channels, *spatial), block = call.ranked_shape_of(0, 4), _block(call)
    return (batch, channels * block**2, *(floor_div(size, block) for size in spatial))


def _depth_to_space(call: Call) -> Shape:
    (batch, channels, *spatial), block = call.ranked_shape_of(0, 4), _block(call)
    return (batch, floor_div(channels, block**2), *(size * block for size in spatial))


def _block(call: Call) -> int:
    block = call.integer("blocksize", 0)
    if block < 1:
        raise UnreadError(f"a block of size {block}")
    return block


def dimensions(call: Call) -> Shape:
    """Return the elements that a Shape node gives."""
    shape = call.shape_of(0)
    begin, end = call.integer("start", 0), call.integer("end", len(shape))
    return shape[begin:end]


LAYOUT_SHAPES: dict[str, ShapeRule] = {
    "Concat": _concat,
    "ConstantOfShape": lambda call: call.integers(0),
    "DepthToSpace": _depth_to_space,
    "Expand": lambda call: broadcast([call.shape_of(0), call.integers(1)]),
    "Flatten": _flatten,
    "Gather": _gather,
    "Pad": _pad,
    "Reshape": _reshape,
    "Shape": lambda call: (len(dimensions(call)),),
    "Size": lambda call: (),
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""Shape rules of operators that compute no new elements."""
