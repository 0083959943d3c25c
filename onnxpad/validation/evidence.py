"""Decides whether an output can tell two models apart, or would be the same for any data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx

from onnxpad.file.proto_walk import DEFAULT_DOMAINS
from onnxpad.runtimes.runtime import EngineError
from onnxpad.runtimes.sessions import Answer, Array, Source, Value, evaluated_by_onnx, read_proto
from onnxpad.validation.inputs import Draw

_LEAST = {"float16": 4e-2, "bfloat16": 2e-1}
"""By type, how much an output has to vary, relative to its greatest magnitude."""

_FEW = 64  # elements

_LEAST_OF_ANY = 1e-2


def is_flat(values: Sequence[Value]) -> bool:
    """Whether an output, with these values for different data, varies too little to be evidence.

    It has to vary over its elements and, if it is known for other data of the same shape, between
    both. Sequences and maps always count as evidence.

    >>> is_flat([np.array([0.1, 0.1001])]), is_flat([np.array([0.1, 0.2])])
    (True, False)
    >>> is_flat([np.array([0.1, 0.2])] * 2), is_flat([np.array([3.0]), np.array([4.0])])
    (True, False)
    """
    tensors = [value for value in values if isinstance(value, np.ndarray)]
    if not tensors or len(tensors) != len(values):
        return False
    if all(_is_even(tensor) for tensor in tensors):
        return True
    first, *others = tensors
    alike = [other for other in others if other.shape == first.shape]
    return bool(alike) and all(_is_near(first, other) for other in alike)


def is_few(values: Sequence[Value]) -> bool:
    """Whether an output is no more than a few elements.

    >>> is_few([np.array([3])]), is_few([np.arange(100)])
    (True, False)
    """
    return all(isinstance(value, np.ndarray) and value.size <= _FEW for value in values)


def _is_even(tensor: Array) -> bool:
    """Whether all elements are about the same; a single finite number is not."""
    if tensor.size == 1:
        value = _number(tensor)
        return value is not None and not np.isfinite(value.reshape(-1)[0])
    return not tensor.size or _is_near(tensor, tensor.reshape(-1)[:1])


def _is_near(one: Array, other: Array) -> bool:
    a, b = _number(one), _number(other)
    if a is None or b is None:
        return bool(np.all(one == other))
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        if not np.all(finite | (a == b) | (np.isnan(a) & np.isnan(b))):
            return False
        scale = np.abs(a).max(initial=0.0, where=finite)
        gap = np.abs(a - b).max(initial=0.0, where=finite)
    return bool(gap <= _LEAST.get(one.dtype.name, _LEAST_OF_ANY) * scale)


def _number(tensor: Array) -> Array | None:
    """Floats in a type for numpy's arithmetic; None for other types, which are exact."""
    if tensor.dtype.isbuiltin == 2:  # numpy's mark of a type from another package
        return tensor.astype(np.float32)
    if tensor.dtype.kind not in "fc":
        return None
    return tensor.astype(np.float32) if tensor.dtype.itemsize == 2 else tensor


_EXACT = frozenset({
    "Add", "Cast", "Concat", "Constant", "ConstantOfShape", "Conv", "ConvInteger", "Gather",
    "Identity", "Mul", "Pad", "Relu", "Reshape", "Shape", "Slice", "Squeeze", "Sub", "Transpose",
    "Unsqueeze",
})  # fmt: skip
"""Operators that the reference evaluator computes as specified. Pools are missing, since most of
its padded ones are wrong; ConvTranspose, since it crashes or clamps; QLinearConv, since it rounds
differently."""

_ROUNDED = _EXACT | {"Clip", "Div", "LeakyRelu", "Sigmoid", "Tanh"}
"""Operators that it computes rightly except for rounding."""

_SAME_IS_RIGHT = tuple(map(int, onnx.__version__.split(".")[:2])) >= (1, 23)
"""Before, some of its SAME convolutions have other pads, or another size, than specified."""

_MOST_WORK = 1 << 25  # elements fed times nodes: it takes a second for about so many


def answers(
    model: onnx.ModelProto,
    names: Sequence[str],
    fed: Sequence[Mapping[str, Array]],
    trusted: frozenset[str] = _EXACT,
) -> list[Answer] | EngineError:
    """The outputs named, or an error, of a model for each set of inputs, by the evaluator.

    Args:
        model: The model.
        names: Names of the outputs to compute.
        fed: The sets of inputs.
        trusted: The operators that the model may consist of; one error if it has another one.
    """
    for node in model.graph.node:
        if node.domain not in DEFAULT_DOMAINS or node.op_type not in trusted:
            return EngineError(f"the reference evaluator is not trusted with {node.op_type}")
        if any(each.name == "mode" and each.s != b"constant" for each in node.attribute):
            return EngineError(f"the reference evaluator is not trusted with this {node.op_type}")
        if not _SAME_IS_RIGHT and any(
            each.name == "auto_pad" and each.s.startswith(b"SAME") for each in node.attribute
        ):
            return EngineError("the reference evaluator of this onnx is not trusted with SAME")
    return evaluated_by_onnx(model, names, fed)


def evaluated(source: Source, inputs: Draw) -> dict[str, Value]:
    """The outputs of a whole model, right except for rounding; empty if it is not evaluated.

    Large models, models with external data, and those with other operators are not evaluated.
    """
    model = read_proto(source)
    work = sum(data.size for data in inputs.feeds.values()) * len(model.graph.node)
    outside = onnx.TensorProto.EXTERNAL
    if work > _MOST_WORK or any(each.data_location == outside for each in model.graph.initializer):
        return {}
    names = [each.name for each in model.graph.output]
    found = answers(model, names, [inputs.feeds], _ROUNDED)
    return {} if isinstance(found, EngineError) or isinstance(found[0], EngineError) else found[0]
