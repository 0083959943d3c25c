"""The contents that arithmetic operators compute: integers, truth values, and floats.

An element that overflows its type, or that engines may round in more than one way, is unknown.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from onnxpad.arithmetic import size
from onnxpad.arithmetic.size import Extent, Unknown
from onnxpad.facts.shape_rules import (
    BOOL,
    REALS,
    Call,
    Elements,
    ValueRule,
    dimensions,
    each,
    element_of,
    elements,
    filled,
    fit,
    known,
    named,
    pads_of,
    perm_of,
    split_sizes,
)
from onnxpad.semantics import numbers
from onnxpad.semantics.moving import bounds_of, product, slice_start
from onnxpad.semantics.rows import INTEGERS, UnreadError, axis_of

Function = Callable[..., Any]


def _computed(
    integer: Function | None, real: Function | None = None, *, unary: bool = False
) -> ValueRule:
    """Apply a function of one element, or of two: pair by pair to all inputs."""

    def rule(call: Call) -> Elements:
        function, operands = _applied(call.kind, integer, real), call.all_elements(call.kind)
        return each(function, *operands) if unary else reduce(partial(each, function), operands)

    return rule


def _applied(dtype: int, integer: Function | None, real: Function | None) -> Function:
    if dtype in INTEGERS and integer is not None:
        return lambda *operands: fit(integer(*operands), dtype)
    if dtype in REALS and real is not None:
        return lambda *operands: real(*operands, dtype)
    raise UnreadError(f"elements of type {dtype} are not computed")


def _told(function: Function) -> ValueRule:
    def rule(call: Call) -> Elements:
        dtype = call.element_type(0)
        if dtype in REALS:
            raise UnreadError("a comparison of floats")
        return each(function, *call.all_elements(dtype))

    return rule


def _clip(call: Call) -> Elements:
    if call.version < 11:
        raise UnreadError("a Clip of opset 10 or before")
    data = call.value_of(0).data
    for index, name in ((1, "maximum"), (2, "minimum")):
        if call.has(index):
            function = _applied(call.kind, getattr(size, name), getattr(numbers, name))
            data = each(function, data, call.elements_of(index, call.kind).reshape(()))
    return data


def _where(call: Call) -> Elements:
    if call.kind in REALS:
        raise UnreadError("a choice of floats")
    condition, chosen = call.elements_of(0, BOOL), (1, 2)
    return each(size.where, condition, *(call.elements_of(place, call.kind) for place in chosen))


def _cast(call: Call) -> Elements:
    value = call.value_of(0)
    return each(_conversion(value.dtype, call.kind), value.data)


def _conversion(source: int, target: int) -> Function:
    is_real = source in REALS  # elements of further types are all unknown
    if target in REALS:
        return partial(numbers.convert if is_real else numbers.from_integer, dtype=target)
    if target in INTEGERS:
        return lambda a: fit(numbers.to_integer(a) if is_real else a, target)
    if target == BOOL and not is_real:
        return lambda a: 1 - size.equal(a, 0)
    raise UnreadError("a cast between types that are not computed")


def _sign(a: Extent) -> Extent:
    return size.less(0, a) - size.less(a, 0)


def _by(divide: Callable[[Extent, Extent], Extent]) -> Function:
    return lambda a, b: divide(a, b) if b != 0 else Unknown("a division by 0")


def _mod(call: Call) -> Elements:
    if call.flag("fmod"):
        raise UnreadError("a remainder with the sign of the dividend")
    return _computed(_by(size.modulo))(call)


# Operators that create, move or repeat elements. They may rely on `call.sizes`, known and small.


def _transposed(call: Call) -> Elements:
    data = call.value_of(0).data
    return data.transpose(perm_of(call, data.ndim))


def _joined(call: Call) -> Elements:
    parts = call.all_elements(call.kind)
    return np.concatenate(parts, call.axis(len(call.sizes), 1))


def _part(call: Call) -> Elements:
    data = call.value_of(0).data
    axis = call.axis(data.ndim)
    sizes = known(tuple(split_sizes(call, data.shape[axis])))
    begin = sum(sizes[: call.output])
    return np.take(data, range(begin, begin + sizes[call.output]), axis)


def _sliced(call: Call) -> Elements:
    data = call.value_of(0).data
    for axis, (start, _, step) in bounds_of(call, data.ndim).items():
        (first,) = known((slice_start(data.shape[axis], start, step),))
        data = np.take(data, first + step * np.arange(call.sizes[axis]), axis)
    return data


def _gathered(call: Call) -> Elements:
    data, shape = call.value_of(0).data, known(call.shape_of(1))
    axis = call.axis(data.ndim)
    positions = [axis_of(index, data.shape[axis]) for index in call.numbers(1)]
    taken = np.take(data, np.reshape(np.array(positions, dtype=np.intp), shape), axis)
    return np.asarray(taken, dtype=object)


def _padded(call: Call) -> Elements:
    data = call.value_of(0).data
    begins = known(tuple(begin for begin, _ in pads_of(call, data.ndim)))
    if call.version < 11 or call.of("mode", "constant") != "constant" or min(begins) < 0:
        raise UnreadError("a Pad that copies or crops, or of opset 10 or before")
    zero = 0 if call.kind in INTEGERS else 0.0
    item = call.elements_of(2, call.kind).reshape(()).item() if call.has(2) else zero
    result = filled(item, call.sizes)
    result[tuple(map(slice, begins, np.add(begins, data.shape)))] = data
    return result


def _constant_of_shape(call: Call) -> Elements:
    element = element_of(call)[1]
    if element is None:
        raise UnreadError("a ConstantOfShape of something that is no number")
    return filled(element, call.sizes)


VALUES: dict[str, ValueRule] = {
    **named(lambda call: call.value_of(0).data.reshape(call.sizes), "Reshape Squeeze Unsqueeze"),
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
    "Add": _computed(operator.add, numbers.add),
    "And": _told(size.minimum),
    "Cast": _cast,
    "Ceil": _computed(None, numbers.ceil, unary=True),
    "Clip": _clip,
    "Div": _computed(_by(size.trunc_div), numbers.divide),
    "Equal": _told(size.equal),
    "Floor": _computed(None, numbers.floor, unary=True),
    "Greater": _told(lambda a, b: size.less(b, a)),
    "Less": _told(size.less),
    "Max": _computed(size.maximum, numbers.maximum),
    "Min": _computed(size.minimum, numbers.minimum),
    "Mod": _mod,
    "Mul": _computed(operator.mul, numbers.multiply),
    "Neg": _computed(operator.neg, numbers.negative, unary=True),
    "Not": _told(lambda a: 1 - a),
    "Relu": _computed(partial(size.maximum, 0), partial(numbers.maximum, 0.0), unary=True),
    "Sign": _computed(_sign, unary=True),
    "Sub": _computed(operator.sub, numbers.subtract),
    "Where": _where,
    "Xor": _told(lambda a, b: 1 - size.equal(a, b)),
}
"""Value rules by name."""
