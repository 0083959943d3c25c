"""Constant folding by onnx's reference evaluator, of integers that are moved and selected.

Sizes and amounts are computed from such. The evaluator is imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from onnxpad.analysis.rule_api import CONSTANT_LIMIT, Call, UndeterminedError, axis_in
from onnxpad.analysis.value import (
    BOOL,
    INTEGERS,
    Value,
    constant_elements,
)
from onnxpad.errors import let_through

Array: TypeAlias = npt.NDArray[Any]
Operands: TypeAlias = Sequence[Array | None]


def folded(call: Call, operands: Sequence[Value | None]) -> Value | None:
    """Return the result of an operator of `FOLDED` for constants; None where runtimes may differ.

    An operand is None where the input is left out.
    """
    given = [value for value in operands if value]
    if sum(value.data.size for value in given) > 2 * CONSTANT_LIMIT:
        return None
    if any(value.dtype not in (*INTEGERS, BOOL) for value in given):
        return None
    try:
        return FOLDED[call.op](call, operands)
    except (UndeterminedError, ValueError, IndexError):
        return None


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


def _of_axes(call: Call, arrays: Operands) -> None:
    """Refuse a scalar, which has one axis to runtimes and none to the evaluator."""
    _require(_data(arrays).ndim, "positions in a scalar")


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
    _require(len({*map(tuple, places.tolist())}) == len(places), "an element that is written twice")


def _gathered(call: Call, arrays: Operands) -> None:
    """Refuse positions outside of the data."""
    data, indices = _data(arrays), _data(arrays, 1)
    batch = call.integer("batch_dims", 0)
    sizes = np.array(data.shape[batch : batch + indices.shape[-1]])
    _require(batch >= 0 and sizes.size == indices.shape[-1], "positions of another rank")
    _require(((-sizes <= indices) & (indices < sizes)).all(), "a position that there is not")


FOLDED: dict[str, Callable[[Call, Sequence[Value | None]], Value | None]] = {
    "Compress": _moved(),
    "GatherND": _moved(_gathered),
    "NonZero": _moved(_of_axes),
    "ScatterElements": _moved(_scattered),
    "ScatterND": _moved(_scattered),
}
"""Operators that are evaluated where all their inputs are constants."""
