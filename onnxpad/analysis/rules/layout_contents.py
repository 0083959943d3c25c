"""Rules for the contents of operators that create, move or repeat elements.

A rule may rely on the shape of its result (`call.sizes`), which is known and small.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, numpy_helper

from onnxpad.analysis.rule_api import Call, ValueRule, known, named
from onnxpad.analysis.rules.axis_math import product, slice_start
from onnxpad.analysis.rules.layout_shapes import dimensions, pad_amounts, split_sizes
from onnxpad.analysis.value import Elements, constant_elements, elements, filled, fit
from onnxpad.semantics.moving import bounds_of
from onnxpad.semantics.rows import INTEGERS, UnreadError, axis_of


def _reshape(call: Call) -> Elements:
    data = call.value_of(0).data
    if data.size != product(call.sizes):
        raise UnreadError("the shape holds another number of elements")
    return data.reshape(call.sizes)


def _transpose(call: Call) -> Elements:
    data = call.value_of(0).data
    return data.transpose(call.ints("perm", tuple(reversed(range(data.ndim)))))


def _concat(call: Call) -> Elements:
    parts = call.all_elements(call.kind)
    return np.concatenate(parts, axis_of(call.integer("axis", 1), len(call.sizes)))


def _slice(call: Call) -> Elements:
    data = call.value_of(0).data
    for axis, (start, _, step) in bounds_of(call, data.ndim).items():
        first = slice_start(data.shape[axis], start, step)
        if not isinstance(first, int):
            raise UnreadError("a slice from an unknown position")
        positions = first + step * np.arange(call.sizes[axis])
        data = np.take(data, positions, axis)
    return data


def _gather(call: Call) -> Elements:
    data = call.value_of(0).data
    indices = call.numbers(1)
    shape = call.shape_of(1)
    axis = axis_of(call.integer("axis", 0), data.ndim)
    positions = [axis_of(index, data.shape[axis]) for index in indices]
    taken = np.take(data, np.reshape(np.array(positions, dtype=np.intp), known(shape)), axis)
    return np.asarray(taken, dtype=object)


def _split(call: Call) -> Elements:
    data = call.value_of(0).data
    axis = axis_of(call.integer("axis", 0), data.ndim)
    sizes = known(tuple(split_sizes(call, data.shape[axis])))
    begin = sum(sizes[: call.output])
    return np.take(data, range(begin, begin + sizes[call.output]), axis)


def _pad(call: Call) -> Elements:
    data = call.value_of(0).data
    if call.string("mode", "constant") != "constant" or "value" in call.node.attrs:
        raise UnreadError("a Pad of elements of its data, or of an attribute")
    pads = list(map(known, pad_amounts(call, data.ndim)))
    cropped = zip(pads, data.shape, strict=True)
    data = data[tuple(slice(max(-b, 0), max(size - max(-e, 0), 0)) for (b, e), size in cropped)]
    begins = [max(begin, 0) for begin, _ in pads]
    zero = 0 if call.kind in INTEGERS else 0.0
    item = call.elements_of(2, call.kind).reshape(()).item() if call.has(2) else zero
    result = filled(item, call.sizes)
    result[tuple(map(slice, begins, np.add(begins, data.shape)))] = data
    return result


def _constant_of_shape(call: Call) -> Elements:
    value = call.tensor("value")
    if value is None:
        return filled(0.0, call.sizes)
    if value.data_location == TensorProto.EXTERNAL:
        raise UnreadError("a ConstantOfShape whose value lies in another file")
    try:
        array = constant_elements(numpy_helper.to_array(value), call.kind)
    except (KeyError, TypeError, ValueError):  # no such type, or elements of another one
        array = None
    if array is None or array.size != 1:
        raise UnreadError("a ConstantOfShape whose value is not a single number")
    return filled(array.reshape(-1)[0], call.sizes)


LAYOUT: dict[str, ValueRule] = {
    **named(_reshape, "Flatten Reshape Squeeze Unsqueeze"),
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Expand": lambda call: np.broadcast_to(call.value_of(0).data, call.sizes),
    "Gather": _gather,
    "Identity": lambda call: call.value_of(0).data,
    "Pad": _pad,
    "Shape": lambda call: elements(dimensions(call), call.sizes),
    "Size": lambda call: filled(fit(product(call.shape_of(0)), call.kind), ()),
    "Slice": _slice,
    "Split": _split,
    "Transpose": _transpose,
}
"""Value rules of operators that compute no new elements."""
