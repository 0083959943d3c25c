"""Rules for the contents of operators that create, move or repeat elements.

A rule may rely on the shape of its result (`call.shape`), which is known and small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper

from onnxpad.analysis.rule_api import Ask, Call, UndeterminedError, ValueRule, axis_in, known, named
from onnxpad.analysis.rules.axis_math import product, slice_start
from onnxpad.analysis.rules.layout_shapes import dimensions, pad_amounts, slice_bounds, split_sizes
from onnxpad.analysis.value import INTEGERS, Elements, constant_elements, elements, filled, fit


def _same(call: Call) -> Ask[Elements]:
    return (yield from call.value_of(0)).data


def _reshape(call: Call) -> Ask[Elements]:
    data = (yield from call.value_of(0)).data
    if data.size != product(call.shape):
        raise UndeterminedError("the shape holds another number of elements")
    return data.reshape(call.shape)


def _transpose(call: Call) -> Ask[Elements]:
    data = (yield from call.value_of(0)).data
    return data.transpose(call.integers("perm", tuple(reversed(range(data.ndim)))))


def _concat(call: Call) -> Ask[Elements]:
    parts = yield from call.operands(call.dtype)
    return np.concatenate(parts, axis_in(call.integer("axis", 1), len(call.shape)))


def _slice(call: Call) -> Ask[Elements]:
    data = (yield from call.value_of(0)).data
    for axis, (start, _, step) in (yield from slice_bounds(call, data.ndim)).items():
        first = slice_start(data.shape[axis], start, step)
        if not isinstance(first, int):
            raise UndeterminedError("a slice from an unknown position")
        positions = first + step * np.arange(call.shape[axis])
        data = np.take(data, positions, axis)
    return data


def _gather(call: Call) -> Ask[Elements]:
    data = (yield from call.value_of(0)).data
    indices = yield from call.known_integers_of(1)
    shape = yield from call.shape_of(1)
    axis = axis_in(call.integer("axis", 0), data.ndim)
    positions = [axis_in(index, data.shape[axis]) for index in indices]
    taken = np.take(data, np.reshape(np.array(positions, dtype=np.intp), known(shape)), axis)
    return np.asarray(taken, dtype=object)


def _expand(call: Call) -> Ask[Elements]:
    return np.broadcast_to((yield from call.value_of(0)).data, call.shape)


def _tile(call: Call) -> Ask[Elements]:
    data = (yield from call.value_of(0)).data
    return np.tile(data, (yield from call.known_integers_of(1)))


def _split(call: Call) -> Ask[Elements]:
    data = (yield from call.value_of(0)).data
    axis = axis_in(call.integer("axis", 0), data.ndim)
    sizes = known(tuple((yield from split_sizes(call, data.shape[axis]))))
    begin = sum(sizes[: call.output])
    return np.take(data, range(begin, begin + sizes[call.output]), axis)


def _pad(call: Call) -> Ask[Elements]:
    data = (yield from call.value_of(0)).data
    if call.string("mode", "constant") != "constant":
        raise UndeterminedError("a Pad with elements of its data")
    item: Any = 0 if call.dtype in INTEGERS else 0.0
    if call.opset >= 11 and call.has(2):
        fill = yield from call.operand(2, call.dtype)
        if fill.size != 1:
            raise UndeterminedError("a Pad with several values")
        item = fill.reshape(-1)[0]
    elif call.opset < 11:
        item = call.real("value", 0.0)
    places = []
    for axis, amounts in enumerate((yield from pad_amounts(call, data.ndim))):
        begin, end = known(amounts)
        size = data.shape[axis]
        data = np.take(data, range(max(-begin, 0), size - max(-end, 0)), axis)
        places.append(slice(max(begin, 0), max(begin, 0) + data.shape[axis]))
    result = filled(item, call.shape)
    result[tuple(places)] = data
    return result


def _constant_of_shape(call: Call) -> Ask[Elements]:
    value = call.tensor("value")
    if value is None:
        return filled(0.0, call.shape)
    if value.data_location == TensorProto.EXTERNAL:
        raise UndeterminedError("a ConstantOfShape whose value lies in another file")
    try:
        array = constant_elements(numpy_helper.to_array(value), call.dtype)
    except (KeyError, TypeError, ValueError):  # no such type, or elements of another one
        array = None
    if array is None or array.size != 1:
        raise UndeterminedError("a ConstantOfShape whose value is not a single number")
    return filled(array.reshape(-1)[0], call.shape)
    yield


def _shape(call: Call) -> Ask[Elements]:
    return elements((yield from dimensions(call)), call.shape)


def _size(call: Call) -> Ask[Elements]:
    return filled(fit(product((yield from call.shape_of(0))), call.dtype), ())


LAYOUT: dict[str, ValueRule] = {
    **named(_reshape, "Flatten Reshape Squeeze Unsqueeze"),
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Expand": _expand,
    "Gather": _gather,
    "Identity": _same,
    "Pad": _pad,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Split": _split,
    "Tile": _tile,
    "Transpose": _transpose,
}
"""Value rules of operators that compute no new elements."""
