"""The graphs of a model as they were and as they are, by the labels that reports give nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import onnx
from onnx import AttributeProto, numpy_helper

from onnxpad.file.proto_walk import function_label
from onnxpad.graph.attributes import is_of, read
from onnxpad.messages import place_in
from onnxpad.records import dataclass

Held: TypeAlias = onnx.GraphProto | onnx.FunctionProto
Functions: TypeAlias = Sequence[tuple[onnx.FunctionProto, onnx.FunctionProto]]

_SHORT: Final = 64
"""Elements up to which a constant is read: more than a `Pad` has amounts."""
_INTEGERS: Final = {onnx.TensorProto.INT32, onnx.TensorProto.INT64}
_NUMBERS: Final = {*_INTEGERS, onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE}
_TYPES: Final[Mapping[str, int]] = {
    **dict.fromkeys(("pads", "paddings", "output_padding", "perm"), AttributeProto.INTS),
    **dict.fromkeys(("kernel_shape", "strides", "dilations"), AttributeProto.INTS),
    **dict.fromkeys(("axis", "ceil_mode", "count_include_pad"), AttributeProto.INT),
    **dict.fromkeys(("auto_pad", "mode"), AttributeProto.STRING),
    "value": AttributeProto.FLOAT,
}
"""The attributes that pictures show, each with its type: in a damaged model it may have others."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A graph, a body or a function.

    Attributes:
        producers: The node that gives each tensor.
        readers: The nodes that read each tensor, those in bodies left out.
        constants: Single numbers and short lists of integers by name, those of the graphs around
            it too.
        shapes: Shapes of all constants by name, long ones too.
    """

    producers: Mapping[str, onnx.NodeProto]
    readers: Mapping[str, Sequence[onnx.NodeProto]]
    constants: Mapping[str, list[float]]
    shapes: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Outline:
    """One side of a rewrite: its nodes by label, each with the graph that it is in."""

    nodes: Mapping[str, tuple[onnx.NodeProto, Scope]]

    def find(self, label: str) -> tuple[onnx.NodeProto, Scope] | None:
        """A node by its label in reports; None if it is not there."""
        return self.nodes.get(label)


def outlines(
    before: onnx.GraphProto, after: onnx.GraphProto, functions: Functions
) -> tuple[Outline, Outline]:
    """Both sides of a rewrite."""
    return (
        _outline(before, [was for was, _ in functions]),
        _outline(after, [now for _, now in functions]),
    )


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """The attributes of a node that pictures show, by name, where they are of their type."""
    found: dict[str, Any] = {}
    for item in node.attribute:
        value: Any = read(item)
        if item.name in _TYPES and is_of(value, _TYPES[item.name]):
            is_text = isinstance(value, bytes)
            found[item.name] = value.decode(errors="backslashreplace") if is_text else value
    return found


def label_of(node: onnx.NodeProto, place: str = "") -> str:
    """The label of a node in reports: its name, or its first output; in a body with the way."""
    return place_in(place, f"{node.op_type} {_own(node)!r}") if place else _own(node)


def _own(node: onnx.NodeProto) -> str:
    return node.name or f"<{next(filter(None, node.output), node.op_type)}>"


def _outline(graph: onnx.GraphProto, functions: Sequence[onnx.FunctionProto]) -> Outline:
    nodes: dict[str, tuple[onnx.NodeProto, Scope]] = {}
    held_by_name: list[tuple[str, Held]] = [("", graph)]
    held_by_name += ((function_label(function), function) for function in functions)
    for name, held in held_by_name:
        for place, inner, scope in _scopes(name, held, {}, {}):
            for node in inner.node:
                nodes.setdefault(label_of(node, place), (node, scope))
    return Outline(nodes)


def _scopes(
    place: str,
    graph: Held,
    constants: Mapping[str, list[float]],
    shapes: Mapping[str, tuple[int, ...]],
) -> Iterator[tuple[str, Held, Scope]]:
    """A graph and the bodies in it, each with its place."""
    found, known = dict(constants), dict(shapes)
    producers: dict[str, onnx.NodeProto] = {}
    readers: dict[str, list[onnx.NodeProto]] = {}
    tensors = list(graph.initializer) if isinstance(graph, onnx.GraphProto) else []
    for tensor in tensors:
        _keep(tensor.name, tensor, found, known)
    for node in graph.node:
        for name in filter(None, node.output):
            producers[name] = node
        for name in filter(None, node.input):
            readers.setdefault(name, []).append(node)
        if node.op_type == "Constant" and len(node.attribute) == 1 and node.output:
            (item,) = node.attribute
            if item.HasField("t"):
                _keep(node.output[0], item.t, found, known)
            elif item.name in {"value_ints", "value_floats"}:
                found[node.output[0]] = [*item.ints, *item.floats]
            elif item.name in {"value_int", "value_float"}:
                found[node.output[0]] = [item.f if item.HasField("f") else item.i]
    scope = Scope(producers, readers, found, known)
    yield place, graph, scope
    for node in graph.node:
        for item in node.attribute:
            bodies = [(item.name, item.g)] if item.HasField("g") else []
            bodies += [(f"{item.name}[{index}]", body) for index, body in enumerate(item.graphs)]
            for name, body in bodies:
                where = place_in(place, f"{node.op_type} {_own(node)!r}", name)
                yield from _scopes(where, body, found, known)


def _keep(
    name: str,
    tensor: onnx.TensorProto,
    constants: dict[str, list[float]],
    shapes: dict[str, tuple[int, ...]],
) -> None:
    shapes[name] = tuple(tensor.dims)
    constants.pop(name, None)
    is_scalar = not tensor.dims or list(tensor.dims) == [1]
    is_list = tensor.data_type in _INTEGERS and len(tensor.dims) == 1 and tensor.dims[0] <= _SHORT
    if tensor.data_type not in _NUMBERS or not (is_scalar or is_list):
        return
    if tensor.data_location == onnx.TensorProto.DataLocation.EXTERNAL:
        return
    try:
        constants[name] = np.atleast_1d(numpy_helper.to_array(tensor)).tolist()
    except (ValueError, TypeError):  # a damaged tensor
        return
