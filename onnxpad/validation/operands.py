"""How the inputs of a node differ between two models, where their names do not tell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

_SHORT = 16
"""The most elements of a constant whose numbers are shown."""


def operands_that_differ(
    models: tuple[onnx.ModelProto, onnx.ModelProto],
    inputs: tuple[Sequence[str], Sequence[str]],
) -> tuple[str, ...]:
    """A line for each input of a node that is a constant in one model alone, or another constant.

    Args:
        models: The original and the rewritten model, without their external data.
        inputs: The names of the inputs of the node in both.
    """
    found = []
    for ours, theirs in zip_longest(*inputs, fillvalue=""):
        constants = _constant(models[0].graph, ours), _constant(models[1].graph, theirs)
        if constants == (None, None) or _are_equal(*constants):
            continue
        before = _text(models[0].graph, ours, constants[0])
        after = _text(models[1].graph, theirs, constants[1])
        name = ours if ours == theirs else f"{ours or 'none'}, rewritten {theirs or 'none'}"
        others = " (other numbers)" if before == after else ""
        found.append(f"{name}: {before} in the original, {after} rewritten{others}")
    return tuple(found)


def _constant(graph: onnx.GraphProto, name: str) -> onnx.TensorProto | None:
    """The constant of a name, as an initializer or of a Constant node."""
    found: onnx.TensorProto | None
    found = next((each for each in graph.initializer if name and each.name == name), None)
    if found is None:
        found = _of_node(_producer(graph, name))
    return found


def _of_node(node: onnx.NodeProto | None) -> onnx.TensorProto | None:
    """The tensor that a Constant holds."""
    if node is None or node.op_type != "Constant" or len(node.attribute) != 1:
        return None
    (item,) = node.attribute
    if item.HasField("t"):
        tensor: onnx.TensorProto = item.t
        return tensor
    if item.name not in {"value_int", "value_ints", "value_float", "value_floats"}:
        return None
    kind = np.int64 if "int" in item.name else np.float32
    return numpy_helper.from_array(np.asarray(onnx.helper.get_attribute_value(item), kind))


def _producer(graph: onnx.GraphProto, name: str) -> onnx.NodeProto | None:
    found: onnx.NodeProto | None
    found = next((node for node in graph.node if name and name in node.output), None)
    return found


def _are_equal(one: onnx.TensorProto | None, other: onnx.TensorProto | None) -> bool:
    """Whether both are constants of the same numbers; those in files are taken to be."""
    if one is None or other is None:
        return False
    if list(one.dims) != list(other.dims) or one.data_type != other.data_type:
        return False
    values = _values(one), _values(other)
    return values[0] is None or values[1] is None or values[0].tobytes() == values[1].tobytes()


def _values(tensor: onnx.TensorProto) -> np.ndarray[Any, Any] | None:
    """The elements of a constant; None if they lie in a file or cannot be read."""
    if tensor.data_location == onnx.TensorProto.DataLocation.EXTERNAL:
        return None
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError, IndexError):  # a damaged tensor
        return None


def _text(graph: onnx.GraphProto, name: str, constant: onnx.TensorProto | None) -> str:
    """A constant with its numbers, if they are few, or what computes the tensor."""
    if constant is not None:
        values = _values(constant)
        if values is not None and values.size <= _SHORT and values.dtype.kind in "biuf":
            return f"constant {values.tolist()}"
        kind = onnx.TensorProto.DataType.Name(constant.data_type).lower()
        return f"a constant {kind} {list(constant.dims)}"
    node = _producer(graph, name)
    if node is not None:
        return f"computed by {node.name or f'<{name}>'} ({node.op_type})"
    return "an input of the model" if name else "absent"
