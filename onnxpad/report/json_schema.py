"""The JSON Schema of the JSON reports, read off the annotations of the records that they hold."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import UNSET, Struct, UnsetType, defstruct
from msgspec.json import schema_components

from onnxpad import __version__
from onnxpad.report.json import SCHEMA, Failed, keys_of

_NAMES = {
    name: value
    for module in (
        *("doctor.examine", "frameworks.conventions.explanation", "frameworks.repadding.results"),
        *("inventory", "proving.pairs", "targets.target", "validation.result"),
        *("report", "report.json"),
    )
    for name, value in vars(import_module(f"onnxpad.{module}")).items()
}
"""What annotations name, also those of modules that do not import it."""
_REPORTS = (
    *("FixReport", "CheckReport", "MatchReport", "RepadReport", "ExplainReport", "FolderReport"),
    *("ProveReport", "ShowResult", "ValidationResult", "RulePages", "Diagnosis", "TargetList"),
    "Failed",
)
_PARTS = {
    float: float | Literal["inf", "-inf"] | None,  # no NaN and no infinities in JSON
    range: defstruct("Range", [(name, int) for name in ("first", "last", "step")]),
    object: Any,
}


def schema() -> dict[str, Any]:
    """The schema of the reports of all commands, and of their errors (JSON Schema 2020-12)."""
    head = {"version": Literal[SCHEMA], "tool": dict[str, str], "exit_code": int}
    reports = []
    for record in map(_NAMES.__getitem__, _REPORTS):
        command = "error" if record is Failed else record.command
        named = {"command": str if record is Failed else Literal[command]}
        reports.append(_object(command, {**head, **named, **_keys(record)}))
    references, records = schema_components(reports, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"JSON reports of onnxpad {__version__}",
        "description": "Fields may be added within one version; none changes or disappears.",
        "anyOf": [*references],
        "$defs": records,
    }


def _object(name: str, keys: Mapping[str, Any], module: str = __name__) -> type[Struct]:
    told: list[tuple[Any, ...]] = []
    for key, kind in keys.items():
        kind = _object(f"{name}.{key}", kind) if isinstance(kind, dict) else kind
        told.append((key, kind, *[UNSET] * (UnsetType in get_args(kind))))
    return defstruct(name, told, kw_only=True, module=module)


def _keys(record: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, path, marks, computed in keys_of(record):
        kind = (computed and computed[0]) or _at(record, path)
        if not name:
            found |= _keys(kind)
            continue
        origin: Any = get_origin(kind)
        if "#" in marks:
            kind = list[int | None] if origin is list else int | None
        kind = _of(kind) | None if "?" in marks else _of(kind)
        outer, _, key = name.rpartition(".")
        place = found.setdefault(outer, {}) if outer else found
        place[key] = kind | UnsetType if "~" in marks else kind
    return found


def _at(kind: Any, path: Sequence[str]) -> Any:
    if not path:
        return kind
    parts = [each for each in get_args(kind) if each is not type(None)]
    if path[0].isdigit():
        return _at(parts[int(path[0])], path[1:])
    if get_origin(kind) is tuple:
        return list[_at(parts[0], path)]  # type: ignore[misc]
    if parts:
        return _at(parts[0], path) | None
    made = getattr(kind, path[0], None)
    getter = made.func if isinstance(made, cached_property) else getattr(made, "fget", None)
    names = {**_NAMES, **vars(sys.modules[kind.__module__])}
    name = "return" if getter else path[0]
    return _at(get_type_hints(getter or kind, localns=names)[name], path[1:])


@cache
def _of(kind: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _object(kind.__name__, _keys(kind), kind.__module__)
    origin: Any = get_origin(kind)
    if origin is None or origin is Literal:
        return _PARTS.get(kind, kind) if isinstance(kind, type) else kind
    return (Union if origin is UnionType else origin)[tuple(map(_of, get_args(kind)))]
