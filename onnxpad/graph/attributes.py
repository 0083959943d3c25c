"""Attributes of nodes as Python values, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
import onnx

Value: TypeAlias = (
    "int | float | str | bytes | list[int] | list[float] | list[str] | list[bytes]"
    " | onnx.AttributeProto"
)

# Copied, since a look-up in protobuf's enumerations costs as much as reading an attribute.
_Type = onnx.AttributeProto.AttributeType
_FLOAT, _INT, _STRING = _Type.FLOAT, _Type.INT, _Type.STRING
_FLOATS, _INTS, _STRINGS = _Type.FLOATS, _Type.INTS, _Type.STRINGS

_SINGLE: dict[int, tuple[type, ...]] = {_INT: (int,), _FLOAT: (float,), _STRING: (str, bytes)}
_ITEMS: dict[int, set[type]] = {_INTS: {int}, _FLOATS: {float}, _STRINGS: {str, bytes}}
_FIELDS: dict[int, str] = {
    _Type.TENSOR: "t",
    _Type.GRAPH: "g",
    _Type.SPARSE_TENSOR: "sparse_tensor",
}

# Fields that an attribute keeps when it gets another value.
_KEPT = frozenset({"name", "doc_string"})


def read(attribute: onnx.AttributeProto) -> Value:
    """The value of an attribute, where it is a number, a string or a list of these.

    A string that is not UTF-8 comes as bytes. For any other kind, and for a reference to an
    attribute of a function, the attribute itself; tensors in it may lack their elements.
    """
    kind = attribute.type or _kind(attribute)
    if attribute.ref_attr_name:
        return attribute
    if kind == _INT:
        return attribute.i
    if kind == _INTS:
        return list(attribute.ints)
    if kind == _FLOAT:
        return attribute.f
    if kind == _STRING:
        return _text(attribute.s)
    if kind == _FLOATS:
        return list(attribute.floats)
    if kind == _STRINGS:
        texts = [_text(item) for item in attribute.strings]
        if all(isinstance(item, str) for item in texts):
            return cast("list[str]", texts)
        return list(attribute.strings)
    return attribute


def is_of(value: Value, kind: int) -> bool:
    """Whether a value is of a type of attribute; an empty list is of every type of list."""
    if isinstance(value, onnx.AttributeProto):
        is_there = kind not in _FIELDS or value.HasField(_FIELDS[kind])
        return value.type == kind and not value.ref_attr_name and is_there
    if isinstance(value, list):
        return kind in _ITEMS and _ITEMS[kind].issuperset(map(type, value))
    return kind in _SINGLE and isinstance(value, _SINGLE[kind])


def normal(value: object) -> Value:
    """A value as `read` would return it after it was written.

    Raises:
        TypeError: No attribute can hold it.
    """
    if type(value) is list and {int}.issuperset(map(type, value)):
        return list(value)  # a short way for pads
    if isinstance(value, bool | int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(np.float32(value))
    if isinstance(value, str | bytes):
        return value
    if isinstance(value, onnx.AttributeProto) and not (value.HasField("g") or value.graphs):
        return value
    if isinstance(value, Sequence | np.ndarray):
        items = [normal(item) for item in value]
        kinds = {type(item) for item in items}
        if kinds <= {int} or kinds <= {float} or kinds <= {str} or kinds <= {bytes}:
            return cast("list[int]", items)
    raise TypeError(f"no attribute holds {value!r}")


def same(left: Value, right: Value) -> bool:
    """Whether two values are encoded alike."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float):
        return isinstance(right, float) and left.hex() == right.hex()  # -0.0 is not 0.0
    return type(left) is type(right) and left == right


def write(attribute: onnx.AttributeProto, value: Value) -> None:
    """Gives an attribute another value; its name, doc string and unknown fields stay."""
    for field, _ in attribute.ListFields():
        if field.name not in _KEPT:
            attribute.ClearField(field.name)
    match value:
        case int():
            attribute.type, attribute.i = _INT, value
        case float():
            attribute.type, attribute.f = _FLOAT, value
        case str() | bytes():
            attribute.type, attribute.s = _STRING, _bytes(value)
        case [int(), *_] | []:
            attribute.type = _INTS
            attribute.ints.extend(cast("list[int]", value))
        case [float(), *_]:
            attribute.type = _FLOATS
            attribute.floats.extend(cast("list[float]", value))
        case [str() | bytes(), *_]:
            attribute.type = _STRINGS
            attribute.strings.extend(map(_bytes, cast("list[str]", value)))
        case onnx.AttributeProto():
            attribute.MergeFrom(value)
        case _:
            raise TypeError(f"attribute '{attribute.name}' cannot be written")


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _text(text: bytes) -> str | bytes:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


def _kind(attribute: onnx.AttributeProto) -> int:
    """The type of an attribute that has no `type`, as IR version 1 allows."""
    if attribute.HasField("i"):
        return _INT
    if attribute.HasField("f"):
        return _FLOAT
    if attribute.HasField("s"):
        return _STRING
    if attribute.ints:
        return _INTS
    if attribute.floats:
        return _FLOATS
    return _STRINGS if attribute.strings else 0
