"""Attributes of nodes as Python values, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias, cast

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

_FIELDS: Final[dict[Any, str]] = {
    _INT: "i",
    _FLOAT: "f",
    _STRING: "s",
    _INTS: "ints",
    _FLOATS: "floats",
    _STRINGS: "strings",
}
"""The fields of what is read as a Python value."""
_LISTS: Final[frozenset[int]] = frozenset({_INTS, _FLOATS, _STRINGS})
_ITEMS: Final[dict[int, set[type]]] = dict(
    zip(_FIELDS, ({int}, {float}, {str, bytes}) * 2, strict=True)
)
"""The Python types of these, or of what is in a list of them."""
_KINDS: Final[dict[tuple[bool, type], Any]] = {
    (kind in _LISTS, each): kind for kind, types in _ITEMS.items() for each in types
}
_OTHERS: Final[dict[int, str]] = {
    _Type.TENSOR: "t",
    _Type.GRAPH: "g",
    _Type.SPARSE_TENSOR: "sparse_tensor",
}


def read(attribute: onnx.AttributeProto) -> Value:
    """The value of an attribute, where it is a number, a string or a list of these.

    A string that is not UTF-8 comes as bytes. For any other kind, and for a reference to an
    attribute of a function, the attribute itself; tensors in it may lack their elements.
    """
    kind = attribute.type or _kind(attribute)
    field = _FIELDS.get(kind)
    if field is None or attribute.ref_attr_name:
        return attribute
    value = getattr(attribute, field)
    if kind in (_INT, _FLOAT):
        return cast("int | float", value)
    if kind == _STRING:
        return _text(value)
    items = list(value)
    texts = [_text(item) for item in items] if kind == _STRINGS else items
    return cast("list[str]", items if bytes in map(type, texts) else texts)


def is_of(value: Value, kind: int) -> bool:
    """Whether a value is of a type of attribute; an empty list is of every type of list."""
    if isinstance(value, onnx.AttributeProto):
        is_there = kind not in _OTHERS or value.HasField(_OTHERS[kind])
        return value.type == kind and not value.ref_attr_name and is_there
    if kind not in _ITEMS or isinstance(value, list) != (kind in _LISTS):
        return False
    return _ITEMS[kind].issuperset(map(type, value if isinstance(value, list) else (value,)))


def normal(value: object) -> Value:
    """A value as `read` would return it after it was written; TypeError where none can hold it."""
    if type(value) is list and {int}.issuperset(map(type, value)):
        return list(value)  # a short way for pads
    if isinstance(value, int | np.integer):
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
    """Whether two values are encoded alike: 1 and 1.0 are not, nor are 0.0 and -0.0."""
    if isinstance(left, onnx.AttributeProto) or isinstance(right, onnx.AttributeProto):
        return left == right
    return repr(left) == repr(right)


def write(attribute: onnx.AttributeProto, value: Value) -> None:
    """Gives an attribute another value; its name, doc string and unknown fields stay."""
    for field, _ in attribute.ListFields():
        if field.name not in ("name", "doc_string"):
            attribute.ClearField(field.name)
    if isinstance(value, onnx.AttributeProto):
        attribute.MergeFrom(value)
        return
    items = value if isinstance(value, list) else [value]
    encoded = [item.encode() if isinstance(item, str) else item for item in items]
    attribute.type = _KINDS[isinstance(value, list), type(items[0]) if items else int]
    if isinstance(value, list):
        getattr(attribute, _FIELDS[attribute.type]).extend(encoded)
    else:
        setattr(attribute, _FIELDS[attribute.type], *encoded)


def _text(text: bytes) -> str | bytes:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


def _kind(attribute: onnx.AttributeProto) -> int:
    """The type of an attribute that has no `type`, as IR version 1 allows."""
    held = {field.name for field, _ in attribute.ListFields()}
    return next((kind for kind, field in _FIELDS.items() if field in held), 0)
