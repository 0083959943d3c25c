"""Shapes that operators give. Imports `size`, `values.call`, `values.extents`, `values.value`.

An operator that is in no table gives a shape that is not known. Sources: the operator's page of the
ONNX specification; where opsets differ the code says which opset it asks for.
"""

from onnxpad.size import Extent, Unknown, ceil_div, floor_div, maximum
from onnxpad.values.call import Ask, Call, ShapeRule, UndeterminedError, axis_in, known, named
from onnxpad.values.extents import agreed, at_least, broadcast, product, remaining, slice_size
from onnxpad.values.floats import FLOATS
from onnxpad.values.value import Shape


def _as_input(index: int = 0) -> ShapeRule:
    """Give the shape of an input."""

    def rule(call: Call) -> Ask[Shape]:
        return (yield from call.shape_of(index))

    return rule


def _broadcasting(call: Call) -> Ask[Shape]:
    if call.opset < 7 and call.node.op not in ("Max", "Mean", "Min", "Sum"):
        return (yield from call.shape_of(0))  # the second input was broadcast to the first
    return broadcast((yield from call.shapes()))


def _normalization(call: Call) -> Ask[Shape]:
    """Give the shape of the data, and for the statistics one element per normalised part."""
    shape = yield from call.shape_of(0)
    if call.output == 0:
        return shape
    axis = axis_in(call.integer("axis", -1), len(shape))
    return (*shape[:axis], *(1 for _ in shape[axis:]))


def _batch_normalization(call: Call) -> Ask[Shape]:
    return (yield from call.shape_of(0 if call.output == 0 else 1))


def _dynamic_quantize(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    return shape if call.output == 0 else ()


# What moves elements


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
    copied = not call.integer("allowzero", 0)
    result: list[Extent] = []
    for axis, extent in enumerate(target):
        if extent == 0 and copied:
            whole = shape is not None and axis < len(shape)
            result.append(shape[axis] if shape and whole else Unknown("a size that is copied"))
        elif extent == -1 or at_least(extent, 1) or extent == 0:
            result.append(extent)
        else:
            result.append(Unknown("a size given at run time, where 0 and -1 mean others"))
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
    axis = axis + len(shape) if axis < 0 else axis
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


def _concat(call: Call) -> Ask[Shape]:
    shapes = yield from call.shapes()
    rank = len(shapes[0])
    if any(len(shape) != rank for shape in shapes):
        raise UndeterminedError("a Concat of ranks that differ")
    axis = axis_in(call.integer("axis", 1), rank)
    columns = list(zip(*shapes, strict=True))
    joined = sum(columns[axis][1:], columns[axis][0])
    before, after = columns[:axis], columns[axis + 1 :]
    return (*map(agreed, before), joined, *map(agreed, after))


def split_sizes(call: Call, size: Extent) -> Ask[Shape]:
    """Return the sizes of a Split's parts along its axis of a size."""
    if call.opset >= 13 and call.has(1):
        return (yield from call.integers_of(1))
    given = call.optional_integers("split")
    if given:
        return given
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
        return tuple(Unknown("a Slice of axes that are not known") for _ in shape)
    for axis, (start, end, step) in bounds.items():
        shape[axis] = slice_size(shape[axis], start, end, step)
    return tuple(shape)


def pad_amounts(call: Call, rank: int) -> Ask[list[tuple[Extent, Extent]]]:
    """Return what a Pad adds at the begin and the end of each axis; negative where it crops."""
    if call.opset >= 11:
        amounts = yield from call.integers_of(1)
        axes = (yield from call.known_integers_of(3)) if call.has(3) else tuple(range(rank))
    else:
        amounts = call.integers("paddings" if call.opset < 2 else "pads", ())
        axes = tuple(range(rank))
    if len(amounts) != 2 * len(axes):
        raise UndeterminedError(f"{len(amounts)} pads for {len(axes)} axes")
    pads: list[tuple[Extent, Extent]] = [(0, 0)] * rank
    half = len(axes)
    for axis, begin, end in zip(axes, amounts[:half], amounts[half:], strict=True):
        pads[axis_in(axis, rank)] = (begin, end)
    return pads


def _pad(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    try:
        pads = yield from pad_amounts(call, len(shape))
    except UndeterminedError:
        return tuple(Unknown("a Pad whose pads are not known") for _ in shape)
    return tuple(size + begin + end for size, (begin, end) in zip(shape, pads, strict=True))


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


# What makes tensors


def dimensions(call: Call) -> Ask[Shape]:
    """Return what a Shape gives."""
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
    return (rank, Unknown("how many elements are not zero"))


# What computes


def _matmul(left: int, right: int) -> ShapeRule:
    """Give the shape of a matrix product of two inputs, as numpy's."""

    def rule(call: Call) -> Ask[Shape]:
        a = yield from call.shape_of(left)
        b = yield from call.shape_of(right)
        if not a or not b:
            raise UndeterminedError("a matrix product of a scalar")
        rows = a[-2:-1]
        columns = b[-1:] if len(b) > 1 else ()
        return (*broadcast([a[:-2], b[:-2]]), *rows, *columns)

    return rule


def _gemm(call: Call) -> Ask[Shape]:
    a = yield from call.shape_of(0)
    b = yield from call.shape_of(1)
    if len(a) != 2 or len(b) != 2:
        raise UndeterminedError("a Gemm of what is no matrix")
    return a[1 if call.integer("transA", 0) else 0], b[0 if call.integer("transB", 0) else 1]


_AXES_SINCE = {"ReduceSum": 13}
"""The opset from which a reduction's axes are an input; 18 for the others."""


def reduced_axes(call: Call, rank: int) -> Ask[tuple[int, ...]]:
    """Return the axes that a reduction takes together."""
    axes = yield from call.axes(rank, _AXES_SINCE.get(call.node.op, 18), ())
    if axes or call.integer("noop_with_empty_axes", 0):
        return axes
    return tuple(range(rank))


def _reduction(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    keep = call.integer("keepdims", 1)
    try:
        axes = yield from reduced_axes(call, len(shape))
    except UndeterminedError:
        if not keep:
            raise
        return tuple(Unknown("a reduction over axes that are not known") for _ in shape)
    return _without(shape, axes, keep)


def _arg_reduction(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    axis = axis_in(call.integer("axis", 0), len(shape))
    return _without(shape, (axis,), call.integer("keepdims", 1))


def _without(shape: Shape, axes: tuple[int, ...], keep: int) -> Shape:
    if keep:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def _top_k(call: Call) -> Ask[Shape]:
    shape = list((yield from call.shape_of(0)))
    axis = axis_in(call.integer("axis", -1), len(shape))
    if call.opset >= 10:
        shape[axis] = yield from call.integer_of(1)
    else:
        shape[axis] = call.integer("k", 0)
    return tuple(shape)


def _recurrent(call: Call) -> Ask[Shape]:
    """Give the shapes of an RNN, GRU or LSTM: Y, Y_h and Y_c."""
    sequence, batch, _ = yield from call.ranked_shape_of(0, 3)
    directions, _, hidden = yield from call.ranked_shape_of(2, 3)
    if call.integer("layout", 0):
        raise UndeterminedError("a recurrent operator with the batch first")
    return (
        (sequence, directions, batch, hidden) if call.output == 0 else (directions, batch, hidden)
    )


def _grid_sample(call: Call) -> Ask[Shape]:
    shape = yield from call.shape_of(0)
    grid = yield from call.shape_of(1)
    return (*shape[:2], *grid[1:-1])


SHAPES: dict[str, ShapeRule] = {
    **named(
        _as_input(),
        "Abs Acos Acosh Asin Asinh Atan Atanh Bernoulli BitwiseNot Cast CastLike Ceil Celu Clip"
        " Cos Cosh CumProd CumSum DequantizeLinear Dropout Elu Erf Exp EyeLike Floor Gelu"
        " GroupNormalization HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf"
        " IsNaN LRN LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg"
        " Not PRelu QuantizeLinear RandomNormalLike RandomUniformLike Reciprocal Relu"
        " ReverseSequence Round Scatter ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin"
        " Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu",
    ),
    **named(
        _broadcasting,
        "Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less"
        " LessOrEqual Max Mean Min Mod Mul Or Pow Sub Sum Where Xor",
    ),
    **named(
        _reduction,
        "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd"
        " ReduceSum ReduceSumSquare",
    ),
    **named(_arg_reduction, "ArgMax ArgMin"),
    **named(_matmul(0, 1), "MatMul MatMulInteger"),
    **named(_normalization, "LayerNormalization RMSNormalization"),
    **named(_recurrent, "GRU LSTM RNN"),
    "BatchNormalization": _batch_normalization,
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "DepthToSpace": _depth_to_space,
    "DynamicQuantizeLinear": _dynamic_quantize,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _as_input(1),
    "GatherND": _gather_nd,
    "Gemm": _gemm,
    "GridSample": _grid_sample,
    "NonZero": _non_zero,
    "OneHot": _one_hot,
    "Pad": _pad,
    "QLinearMatMul": _matmul(0, 3),
    "Range": _range,
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _scalar,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "TopK": _top_k,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""Operators without a sliding window."""
