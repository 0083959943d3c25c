"""The JSON Schema of the JSON reports, read off the annotations of the records that they hold."""

from __future__ import annotations

import enum
import json
import sys
import types
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from onnxpad import __version__
from onnxpad.doctor.diagnosis import Diagnosis
from onnxpad.frameworks.conventions.by_size import Survey
from onnxpad.frameworks.conventions.explanation import ExplainReport
from onnxpad.frameworks.conventions.reaching import Reach
from onnxpad.frameworks.repadding.changes import Difference
from onnxpad.frameworks.repadding.verdict import Matching
from onnxpad.inventory import PaddingSite
from onnxpad.report import FixReport
from onnxpad.report.json import COMMANDS, SCHEMA, Key, keys_of
from onnxpad.targets.target import Standing
from onnxpad.validation.result import Validation

_KNOWN = (
    *(PaddingSite, Diagnosis, Survey, ExplainReport, Reach, Difference, Matching, Standing),
    *(Validation, FixReport, Key),
)
_MODULES = [sys.modules[record.__module__] for record in _KNOWN]
_NAMES = {name: value for module in _MODULES for name, value in vars(module).items()}
"""What annotations name, also those of modules that do not import it."""
_SIMPLE = {str: "string", int: "integer", bool: "boolean", type(None): "null", None: "null"}


def schema_json() -> str:
    """The schema of all reports as text, with a newline at the end."""
    return json.dumps(schema(), indent=2) + "\n"


def schema() -> dict[str, Any]:
    """The schema of the reports of all commands, and of their errors (JSON Schema 2020-12)."""
    records: dict[str, Any] = {}
    reports = {}
    for name, command in COMMANDS.items():
        named = str if command == "error" else Literal[command]
        head = {"version": Literal[SCHEMA], "tool": {"name": str, "version": str}}
        found = _object({**head, "command": named, "exit_code": int}, records)
        rest = _record(_NAMES[name], records)
        reports[command] = {
            "type": "object",
            "properties": found["properties"] | rest["properties"],
            "required": [*found["required"], *rest["required"]],
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"JSON reports of onnxpad {__version__}",
        "description": "Fields may be added within one version; none changes or disappears.",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in reports],
        "$defs": {**reports, **records},
    }


def _record(record: Any, records: dict[str, Any]) -> dict[str, Any]:
    """The schema of a record by its keys."""
    found: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    for key in keys_of(record.__name__, record.__struct_fields__):
        kind = _kind(record, key)
        if not key.name:
            inner = _record(kind, records)
            found["properties"] |= inner["properties"]
            found["required"] += inner["required"]
        else:
            found["properties"][key.name] = _of(kind, records)
            found["required"] += [key.name] * (not key.is_open)
    return found


def _kind(record: Any, key: Key) -> Any:
    """The type of what a key has; a tuple of several if it may be null."""
    if not isinstance(key.source, str):
        return eval(key.source[0], _NAMES)
    kind, may_lack = record, key.is_null
    for name in key.source.split("."):
        parts = [each for each in get_args(kind) if each is not type(None)]
        if get_origin(kind) is tuple:  # of each of several
            kind = tuple[_hint(parts[0], name), ...]  # type: ignore[misc]
            continue
        if get_origin(kind) in (Union, types.UnionType):
            kind, may_lack = parts[0], True
        kind = _hint(kind, name)
    return (kind, None) if may_lack else kind


def _hint(record: type, name: str) -> Any:
    """The annotation of a field or property."""
    made = getattr(record, name, None)
    getter = made.func if isinstance(made, cached_property) else getattr(made, "fget", None)
    names = {**_NAMES, **vars(sys.modules[record.__module__])}
    if getter is not None:
        return get_type_hints(getter, localns=names)["return"]
    return get_type_hints(record, localns=names)[name]


def _object(fields: Mapping[str, Any], records: dict[str, Any]) -> dict[str, Any]:
    properties = {name: _of(kind, records) for name, kind in fields.items()}
    return {"type": "object", "properties": properties, "required": [*fields]}


def _of(kind: Any, records: dict[str, Any]) -> dict[str, Any]:
    """The schema of an annotation; schemas of records are kept by name.

    Besides annotations, an object may be given by its fields, a list of any length as `...` and
    what is in it, and several choices as a tuple.
    """
    origin: Any = get_origin(kind)
    parts = get_args(kind)
    if isinstance(kind, dict):
        return _object(kind, records)
    if isinstance(kind, list):
        return {"type": "array", "items": _of(kind[1], records)}
    if isinstance(kind, tuple) or origin in (Union, types.UnionType):
        return {"anyOf": [_of(each, records) for each in parts or kind]}
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if kind is float:  # no NaN and no infinities in JSON
        return {"anyOf": [{"type": ["number", "null"]}, {"enum": ["inf", "-inf"]}]}
    if kind is range:
        return _object({"first": int, "last": int, "step": int}, records)
    if origin is Annotated:
        return _of(parts[0], records)
    if origin is Literal:
        return {"const": parts[0]} if len(parts) == 1 else {"enum": [*parts]}
    if origin is tuple and parts[-1] is not ...:
        ordered = [_of(each, records) for each in parts]
        return {"type": "array", "prefixItems": ordered, "minItems": len(parts), "items": False}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of(parts[1], records)}
    if origin is not None:
        return {"type": "array", "items": _of(parts[0], records)}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [each.value for each in kind]}
    if isinstance(kind, type) and issubclass(kind, Struct):
        module = kind.__module__.rpartition(".")[2]
        is_second = _NAMES.get(kind.__name__, kind) is not kind  # of its name
        name = module.title() * is_second + kind.__name__
        if name not in records:
            records[name] = {}  # one that holds itself refers to it
            records[name] = _record(kind, records)
        return {"$ref": f"#/$defs/{name}"}
    return {}
