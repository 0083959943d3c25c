"""Whether nodes agree with the schemas of ONNX's own operators.

Nodes are held against the specification here alone. One that contradicts it counts as no operator
of ONNX (`Graph.is_standard`), so nothing else that reads nodes needs to doubt the types of their
attributes, or the number of their inputs and outputs. No runtime loads such a node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias, cast

import onnx

from onnxpad.graph import attributes
from onnxpad.graph.nodes import Node, Tensor

_Type = onnx.AttributeProto.AttributeType
_Parameter = onnx.defs.OpSchema.FormalParameterOption

_NOUNS: Final[Mapping[int, str]] = {
    _Type.INT: "an integer",
    _Type.FLOAT: "a float",
    _Type.STRING: "a string",
    _Type.INTS: "a list of integers",
    _Type.FLOATS: "a list of floats",
    _Type.STRINGS: "a list of strings",
    _Type.TENSOR: "a tensor",
    _Type.GRAPH: "a graph",
}


_Places: TypeAlias = tuple[int, int, frozenset[int]]
"""The least and the most inputs or outputs, and which of them may be left out."""


@cache
def _schema(
    op: str, opset: int
) -> tuple[_Places, _Places, Mapping[str, int], tuple[str, ...]] | None:
    """The inputs and outputs of an operator, its attributes by type, and those that it requires."""
    try:
        schema = onnx.defs.get_schema(op, opset, "")
    except onnx.defs.SchemaError:
        return None
    return (
        (schema.min_input, schema.max_input, _optional(schema.inputs)),
        (schema.min_output, schema.max_output, _optional(schema.outputs)),
        {name: int(cast("Any", item.type)) for name, item in schema.attributes.items()},
        tuple(name for name, item in schema.attributes.items() if item.required),
    )


def _optional(parameters: Sequence[onnx.defs.OpSchema.FormalParameter]) -> frozenset[int]:
    places = enumerate(parameters)
    return frozenset(place for place, each in places if each.option != _Parameter.Single)


def contradiction(node: Node, opset: int, *, in_function: bool) -> str:
    """How a node contradicts the schema of an operator of ONNX; empty if it has none, or agrees.

    Args:
        node: The node.
        opset: The opset that its graph imports.
        in_function: Whether its attributes may refer to those of a function around it.
    """
    schema = _schema(node.op, opset)
    if schema is None:
        return ""
    inputs, outputs, types, needed = schema
    for name, value in node.attrs.items():
        wanted = types.get(name)
        if wanted is not None and (why := _mismatch(value, wanted, in_function=in_function)):
            return f"its attribute {name} {why}"
    for name in needed:
        if name not in node.attrs:
            return f"it has no attribute {name}, which opset {opset} requires"
    return _misplaced(node.inputs, inputs, "input") or _misplaced(node.outputs, outputs, "output")


def _mismatch(value: attributes.Value, wanted: int, *, in_function: bool) -> str:
    """How an attribute that must be of a type fails to be; empty where it is."""
    if isinstance(value, onnx.AttributeProto) and value.ref_attr_name:
        fits = in_function and value.type in (0, wanted)
        return "" if fits else f"refers to {value.ref_attr_name!r}, which is no such attribute"
    return "" if attributes.is_of(value, wanted) else f"is not {_NOUNS.get(wanted, 'of its type')}"


def _misplaced(tensors: Sequence[Tensor], places: _Places, what: str) -> str:
    """How a node has too few or too many inputs or outputs, or leaves out a required one."""
    least, most, optional = places
    count = len(tensors)
    if not least <= count <= most:
        up_to = f" to {most}" if most < 2**31 - 1 else " or more"
        wanted = f"{least}{up_to if most != least else ''}"
        return f"it has {count} {what}{'s' * (count != 1)}, where the operator has {wanted}"
    for place, tensor in enumerate(tensors):
        if not tensor.name and place not in optional:
            return f"its {what} {place} is left out, which the operator requires"
    return ""
