"""The schemas of ONNX's own operators, and whether nodes agree with them.

`schemas.txt` lists them: the first question about any of them takes onnx 13 ms, in which it makes
all. Only for an opset that is newer than the file, onnx is asked.

Nodes are held against the specification here alone. One that contradicts it counts as no operator
of ONNX (`Graph.is_standard`), so nothing else that reads nodes needs to doubt the types of their
attributes, or the number of their inputs and outputs. No runtime loads such a node.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
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


_Places: TypeAlias = tuple[int, int, Sequence[int]]
"""The least and the most inputs or outputs, and which of them may be left out."""
Schema: TypeAlias = tuple[int, _Places, _Places, Mapping[str, int], Sequence[str]]
"""Its version, the inputs and outputs, its attributes by type, and those that it requires."""

_NONE: Final[Schema] = 0, (0, 0, ()), (0, 0, ()), {}, ()


@cache
def schema_of(op: str, opset: int) -> Schema:
    """The schema of an operator in an opset; one of version 0 where there is none."""
    newest, *lines = _listed()
    if opset > int(newest):
        try:
            return described(onnx.defs.get_schema(op, opset, ""))
        except onnx.defs.SchemaError:
            return _NONE
    listed = next((line for line in lines if line.startswith(f"{op} ")), " []")
    versions: list[Schema] = json.loads(listed.split(" ", 1)[1])
    return next((each for each in versions if each[0] <= opset), _NONE)


@cache
def _listed() -> list[str]:
    """The newest opset of the list, then for each operator its versions, the newest first."""
    return Path(__file__).with_name("schemas.txt").read_text(encoding="utf-8").splitlines()


def described(schema: onnx.defs.OpSchema) -> Schema:
    """A schema as the list has it."""
    attributes = schema.attributes.items()
    return (
        schema.since_version,
        (schema.min_input, schema.max_input, _optional(schema.inputs)),
        (schema.min_output, schema.max_output, _optional(schema.outputs)),
        {name: int(cast("Any", item.type)) for name, item in attributes},
        [name for name, item in attributes if item.required],
    )


def _optional(parameters: Sequence[onnx.defs.OpSchema.FormalParameter]) -> list[int]:
    places = enumerate(parameters)
    return [place for place, each in places if each.option != _Parameter.Single]


def contradiction(node: Node, opset: int, *, in_function: bool) -> str:
    """How a node contradicts the schema of an operator of ONNX; empty if it has none, or agrees.

    Args:
        node: The node.
        opset: The opset that its graph imports.
        in_function: Whether its attributes may refer to those of a function around it.
    """
    version, inputs, outputs, types, needed = schema_of(node.op, opset)
    if not version:
        return ""
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
