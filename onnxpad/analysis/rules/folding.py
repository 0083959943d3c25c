"""Constant folding by onnx's reference evaluator, where every runtime gives the same result.

- Operators that move, select and compare elements are evaluated.
- Sums of products are evaluated where they are exact in any order.
- Functions such as Exp, which runtimes round differently, are known only at points where no runtime
  rounds.

The evaluator is not used where it differs from onnxruntime: pools, resizing, overflows, integer
means that do not divide. It is imported on first use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from onnxpad.analysis import floats
from onnxpad.analysis.rounding import FLOATS
from onnxpad.analysis.rule_api import CONSTANT_LIMIT, Call, UndeterminedError, axis_in, named
from onnxpad.analysis.value import (
    INTEGERS,
    Value,
    constant_elements,
    each,
    elements,
)
from onnxpad.arithmetic.size import Unknown
from onnxpad.errors import let_through

Array: TypeAlias = npt.NDArray[Any]
Operands: TypeAlias = Sequence[Array | None]

_WORK = 2**20
"""Most products that are summed: more would be slow."""


def folded(call: Call, operands: Sequence[Value | None]) -> Value | None:
    """Return the result of an operator of `FOLDED` for constants; None where runtimes may differ.

    An operand is None where the input is left out.
    """
    if sum(value.data.size for value in operands if value) > 2 * CONSTANT_LIMIT:
        return None
    try:
        return FOLDED[call.op](call, operands)
    except (UndeterminedError, ValueError, IndexError):
        return None


# Operators that move, select and compare


def _moved(guard: Callable[[Call, Operands], None] | None = None) -> Any:
    """Evaluate an operator, unless a guard raises."""

    def fold(call: Call, operands: Sequence[Value | None]) -> Value | None:
        arrays = [_array(value) for value in operands]
        if guard is not None:
            guard(call, arrays)
        return _value(_evaluated(call, arrays))

    return fold


def _array(value: Value | None) -> Array | None:
    if value is None:
        return None
    return value.data.astype(helper.tensor_dtype_to_np_dtype(value.dtype))


def _value(array: Array) -> Value:
    dtype = int(helper.np_dtype_to_tensor_dtype(array.dtype))
    data = constant_elements(array, dtype)
    if data is None or array.size > CONSTANT_LIMIT:
        raise UndeterminedError("a result that is not a small tensor of numbers")
    return Value(dtype, data)


def _evaluated(call: Call, arrays: Operands) -> Array:
    """Return one output of a node as onnx's reference evaluator computes it."""
    if any(isinstance(value, onnx.AttributeProto) for value in call.node.attrs.values()):
        raise UndeterminedError(f"{call.op} with an attribute that is not a number")
    for name in ("keepdims", "noop_with_empty_axes"):
        call.flag(name)
    from onnx.reference import ReferenceEvaluator  # 0.07 s

    names = ["" if array is None else f"x{index}" for index, array in enumerate(arrays)]
    results = [f"y{index}" for index in range(len(call.node.outputs))]
    node = helper.make_node(call.op, names, results, **call.node.attrs)
    feeds = {name: array for name, array in zip(names, arrays, strict=True) if name}
    # A lone node would be computed as in the newest opset, whatever is asked for.
    opsets = [helper.make_opsetid("", call.opset)]
    function = helper.make_function("onnxpad", "folded", list(feeds), results, [node], opsets)
    try:
        with np.errstate(all="ignore"):
            found = list(ReferenceEvaluator(function).run(None, feeds, attributes={}))
    except Exception as error:  # the evaluator raises anything
        let_through(error)
        raise UndeterminedError(str(error)) from None
    result = np.asarray(found[call.output])
    if result.dtype.kind not in "fiub":
        raise UndeterminedError(f"{call.op} gives no numbers")
    return result


def _require(condition: object, why: str) -> None:
    if not condition:
        raise UndeterminedError(why)


def _data(arrays: Operands, index: int = 0) -> Array:
    array = arrays[index] if index < len(arrays) else None
    if array is None:
        raise UndeterminedError(f"input {index} is left out")
    return array


def _ordered(call: Call, arrays: Operands) -> None:
    """Refuse data that engines may order differently: NaN, -0.0, or no elements."""
    data = _data(arrays)
    _require(data.size, "an order of no elements")
    if data.dtype.kind == "f":
        _require(not np.isnan(data).any(), "an order of NaN")
        _require(not np.signbit(data[data == 0]).any(), "an order of zeros")


def _of_axes(call: Call, arrays: Operands) -> None:
    """Refuse a scalar, which has one axis to runtimes and none to the evaluator."""
    _require(_data(arrays).ndim, "positions in a scalar")


def _sorted(call: Call, arrays: Operands) -> None:
    """Refuse unsorted unique elements, which the evaluator gets wrong: it sorts a lone output."""
    _ordered(call, arrays)
    _require(call.flag("sorted", default=True), "elements in the order of their first places")


def _unequal(call: Call, arrays: Operands) -> None:
    """Refuse ties and unsorted results, which runtimes order differently."""
    _ordered(call, arrays)
    data = _data(arrays)
    _require(np.unique(data).size == data.size, "an order of equal elements")
    _require(call.flag("sorted", default=True), "elements in any order")
    _require(call.opset >= 10, "a TopK of opset 9 and before")


def _scattered(call: Call, arrays: Operands) -> None:
    """Refuse elements that are written twice, and positions outside of the data."""
    data, indices = _data(arrays), _data(arrays, 1)
    _require(call.string("reduction", "none") == "none", "a Scatter that reduces")
    _require(indices.dtype.kind in "iu", "positions that are not integers")
    if call.op == "ScatterND":
        depth = indices.shape[-1]
        sizes = np.array(data.shape[:depth])
        places = indices.reshape(-1, depth)
    else:
        axis = axis_in(call.integer("axis", 0), data.ndim)
        _require(indices.ndim == data.ndim, "positions of another rank")
        sizes = np.array(data.shape)
        places = np.moveaxis(np.indices(indices.shape), 0, -1).reshape(-1, data.ndim)
        places[:, axis] = indices.reshape(-1)
    _require(((-sizes <= places) & (places < sizes)).all(), "a position that there is not")
    places = np.where(places < 0, places + sizes, places)
    _require(len(np.unique(places, axis=0)) == len(places), "an element that is written twice")


def _gathered(call: Call, arrays: Operands) -> None:
    """Refuse positions outside of the data."""
    data, indices = _data(arrays), _data(arrays, 1)
    batch = call.integer("batch_dims", 0)
    sizes = np.array(data.shape[batch : batch + indices.shape[-1]])
    _require(batch >= 0 and sizes.size == indices.shape[-1], "positions of another rank")
    _require(((-sizes <= indices) & (indices < sizes)).all(), "a position that there is not")


def _one_hot(call: Call, operands: Sequence[Value | None]) -> Value | None:
    """Compute a OneHot: the evaluator refuses a depth of one axis."""
    indices, depths, pair = (_data([_array(value) for value in operands], n) for n in range(3))
    _require(depths.size == 1 and pair.shape == (2,), "a OneHot that is not defined")
    _require(1 <= depths.item() * max(indices.size, 1) <= CONSTANT_LIMIT, "a large OneHot")
    depth = int(depths.item())
    wrapped = np.where(indices < 0, indices + depth, indices)
    hot = wrapped[..., None] == np.arange(depth)
    axis = axis_in(call.integer("axis", -1), hot.ndim)
    return _value(np.moveaxis(np.where(hot, pair[1], pair[0]), -1, axis))


def _blocks(call: Call, arrays: Operands) -> None:
    block = call.integer("blocksize", 0)
    shape = _data(arrays).shape
    _require(block >= 1 and len(shape) == 4, "blocks of nothing")
    divisible = (shape[1],) if call.op == "DepthToSpace" else shape[2:]
    divisor = block**2 if call.op == "DepthToSpace" else block
    _require(not any(size % divisor for size in divisible), "blocks that do not fit")


def _lengths(call: Call, arrays: Operands) -> None:
    data, lengths = _data(arrays), _data(arrays, 1)
    time, batch = call.integer("time_axis", 0), call.integer("batch_axis", 1)
    _require({time, batch} == {0, 1} and data.ndim >= 2, "a ReverseSequence along other axes")
    _require(lengths.shape == (data.shape[batch],), "lengths of another number")
    _require(((lengths >= 0) & (lengths <= data.shape[time])).all(), "a length that there is not")


def _reflected(call: Call, arrays: Operands) -> None:
    """Refuse what runtimes do differently: cropping, or reflecting more elements than there are."""
    data, amounts = _data(arrays), _data(arrays, 1)
    mode = call.string("mode", "constant")
    _require(call.opset >= 11 and mode in ("edge", "reflect"), "a Pad of another mode")
    _require(not call.has(3) and amounts.shape == (2 * data.ndim,), "a Pad with axes")
    _require(data.size and (amounts >= 0).all(), "a Pad that crops")
    limit = np.array(data.shape) - 1 if mode == "reflect" else np.array(CONSTANT_LIMIT)
    _require((amounts.reshape(2, -1) <= limit).all(), "a Pad that reflects too much")
    size = math.prod(np.array(data.shape) + amounts.reshape(2, -1).sum(0))
    _require(size <= CONSTANT_LIMIT, "a large Pad")


# Sums of products


def _summed(factors: Iterable[int] = (0,)) -> Any:
    """Evaluate sums of products, where every sum and product is exact.

    That holds where all factors are integers and the same sum of their absolute values fits the
    type. A floating-point sum that is 0 may be -0.0.
    """

    def fold(call: Call, operands: Sequence[Value | None]) -> Value | None:
        arrays = [_array(value) for value in operands]
        places = [index for index in factors if index < len(arrays)] or range(len(arrays))
        work = math.prod(_data(arrays, index).size for index in places)
        _require(0 < work <= _WORK, "a large sum, or one of no elements")
        bounded: list[Array | None] = list(arrays)
        for index in places:
            array = _data(arrays, index)
            _require(array.dtype.kind in "fiu", "a sum of elements that are not numbers")
            whole = array.astype(np.float64)
            _require((np.isfinite(whole) & (whole == np.floor(whole))).all(), "a sum of fractions")
            bounded[index] = np.abs(whole)
        kind = _data(arrays, next(iter(places))).dtype
        dtype = helper.np_dtype_to_tensor_dtype(kind)
        limit = 2 ** FLOATS[dtype].precision if dtype in FLOATS else INTEGERS[dtype][1]
        largest = _evaluated(call, bounded)
        # At 2^53 the largest may have been rounded itself.
        _require((largest <= min(limit, 2**53 - 1)).all(), "a sum that is rounded or overflows")
        value = _value(_evaluated(call, arrays).astype(kind))  # numpy adds up int32 as int64
        if dtype not in FLOATS:
            return value
        if not any(np.signbit(_data(arrays, index)).any() for index in places):
            return value
        return Value(dtype, each(lambda a: a if a else floats.ZERO, value.data))

    return fold


def _gemm(call: Call, operands: Sequence[Value | None]) -> Value | None:
    if call.real("alpha", 1.0) != 1.0 or call.real("beta", 1.0) != 1.0 or call.opset < 7:
        raise UndeterminedError("a Gemm that scales")
    found: Value | None = _summed((0, 1, 2))(call, operands)
    return found


def _mean(call: Call, operands: Sequence[Value | None]) -> Value | None:
    """Compute a mean where dividing by the count and multiplying by its inverse agree."""
    value = operands[0]
    if value is None or value.dtype not in FLOATS or call.op != "ReduceMean":
        raise UndeterminedError("a mean of integers")
    data = value.data.astype(np.float64)
    _require(data.size, "a mean of no elements")
    axes = operands[1] if len(operands) > 1 else None
    ones = _evaluated(call, [np.ones(data.shape), _array(axes)][: len(operands)])
    count = data.size // max(ones.size, 1)
    kind = FLOATS[value.dtype]
    whole = (np.isfinite(data) & (data == np.floor(data))).all()
    _require(whole and np.abs(data).sum() <= 2 ** min(kind.precision, 24), "a mean of fractions")
    means = _evaluated(call, [data, _array(axes)][: len(operands)])
    inverse = float(kind.scalar(1 / count))
    results: list[object] = []
    for total in np.rint(means * count).reshape(-1).tolist():
        quotient, product = (float(kind.scalar(way)) for way in (total / count, total * inverse))
        exact = quotient == product and quotient * count == total
        results.append((quotient or floats.ZERO) if exact else Unknown("a mean that is rounded"))
    return Value(value.dtype, elements(results, means.shape))


# Functions that are known at some points


def _points(known: Mapping[float, float]) -> Any:
    """Evaluate a function only at these points, at which no runtime rounds it."""

    def point(a: Any) -> object:
        if a not in known:
            return Unknown("a function that runtimes round differently")
        if a == 0 and math.copysign(1.0, a) < 0 and not known[a]:
            return floats.ZERO
        return known[a]

    def fold(call: Call, operands: Sequence[Value | None]) -> Value | None:
        (value,) = operands
        if value is None or value.dtype not in FLOATS:
            raise UndeterminedError("a function of integers")
        return Value(value.dtype, each(point, value.data))

    return fold


def _reciprocal(call: Call, operands: Sequence[Value | None]) -> Value | None:
    """Return 1 / a where it is exact: some runtimes approximate."""
    (value,) = operands
    if value is None or value.dtype not in FLOATS:
        raise UndeterminedError("a reciprocal of integers")

    def inverse(a: Any) -> object:
        if isinstance(a, float) and a and abs(math.frexp(a)[0]) == 0.5:
            return floats.divide(1.0, a, value.dtype)
        return Unknown("a reciprocal that is rounded")

    return Value(value.dtype, each(inverse, value.data))


FOLDED: dict[str, Callable[[Call, Sequence[Value | None]], Value | None]] = {
    "ArgMax": _moved(_ordered),
    "ArgMin": _moved(_ordered),
    "Compress": _moved(),
    "DepthToSpace": _moved(_blocks),
    "EyeLike": _moved(),
    "GatherND": _moved(_gathered),
    "IsInf": _moved(),
    "NonZero": _moved(_of_axes),
    "OneHot": _one_hot,
    "Pad": _moved(_reflected),
    "ReverseSequence": _moved(_lengths),
    "ScatterElements": _moved(_scattered),
    "ScatterND": _moved(_scattered),
    "SpaceToDepth": _moved(_blocks),
    "TopK": _moved(_unequal),
    "Trilu": _moved(),
    "Unique": _moved(_sorted),
    "Einsum": _summed(()),
    "Gemm": _gemm,
    "MatMul": _summed((0, 1)),
    "ReduceL1": _summed(),
    "ReduceMean": _mean,
    "ReduceProd": _summed(),
    "ReduceSum": _summed(),
    "ReduceSumSquare": _summed(),
    "Reciprocal": _reciprocal,
    **named(
        _points({0.0: 0.0}),
        "Asin Asinh Atan Atanh Elu Erf Gelu HardSwish Mish Sin Sinh Softsign Tan Tanh",
    ),
    **named(_points({0.0: 1.0}), "Cos Cosh Exp"),
    "Log": _points({1.0: 0.0}),
    "Sigmoid": _points({0.0: 0.5}),
}
"""Operators that are evaluated where all their inputs are constants."""
