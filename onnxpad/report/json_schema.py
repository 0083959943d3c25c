"""The JSON Schema of the JSON reports, made from the annotations of the records that they hold."""

from __future__ import annotations

import enum
import json
import types
from collections.abc import Mapping
from functools import cached_property
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import Struct

from onnxpad import __version__
from onnxpad.doctor.diagnosis import Diagnosis
from onnxpad.finding import Certificate, Change, Counts, Finding, Location, Page, Severity
from onnxpad.frameworks.conventions.by_size import Parting
from onnxpad.frameworks.repadding.changes import OutputChange, Rewritten, Unchanged
from onnxpad.frameworks.repadding.verdict import Matching
from onnxpad.inventory import PaddingSite
from onnxpad.options import Options
from onnxpad.report import Configured, Outcome
from onnxpad.report.json import CHANGE, SCHEMA, WORDS
from onnxpad.targets.known_targets import Standing
from onnxpad.targets.target import Cell, Fact, Run
from onnxpad.validation.result import Validation

_Type = Any
"""An annotation, or an object by its fields."""


class _Open(Struct, frozen=True):
    """An object that may lack fields: those that it has at least, and those that it may have."""

    always: Mapping[str, _Type]
    sometimes: Mapping[str, _Type]


_Text = str | None
_Lines = tuple[str, ...]
_Sizes = tuple[int, ...]
_Shapes = Mapping[str, tuple[int | str | None, ...]]
_Range = {"first": int, "last": int, "step": int}
_BeforeAndAfter = {"before": int, "after": int}
_CODE_LINES = {"pytorch": str, "keras": str, "onnx": str}
_PADS = tuple[tuple[int, int], ...]
_WAY = {"pads": _PADS, "output_padding": _Sizes, **_CODE_LINES}

_HEAD = {
    "version": Literal[SCHEMA],
    "tool": {"name": str, "version": str},
    "exit_code": int,
}
_STEP = {"node": str, "op_type": str}
_PAGES = {"rules": tuple[Page, ...], "reasons": Mapping[str, str]}


def _of(record: type, *names: str) -> dict[str, _Type]:
    """Fields of a record with their annotations."""
    return {name: _hint(record, name) for name in names}


def _commands() -> dict[str, Mapping[str, _Type] | _Open]:
    """The fields of each report by command, but for those that all have."""
    target = ("target", "target_only")
    keywords = [each for each in Options.__struct_fields__ if each not in target]
    decisive = [name for name in keywords if name in Options().decisive]
    options = get_type_hints(Options)
    by_findings = {"findings": tuple[Finding, ...]}
    config = {"config": _fields(Configured)}
    fix = {
        "model": str,
        **{name: options[name] for name in decisive},
        "outcome": Outcome,
        "written": _Text,
        "older": _Text,
        "data": _Lines,
        "check": bool,
        "counts": {"before": Counts, "after": Counts},
        "nodes_before": int,
        "nodes_after": int,
        "seconds": float,
        "declared": _Shapes,
        "ranges": str,
        "dims": [_Range],
        "diff": _Text,
        "changes": tuple[Change, ...],
        **by_findings,
        "undone": tuple[Finding, ...],
        "barred": tuple[Finding, ...],
        "validation": Validation | None,
        "notes": _Lines,
        "warnings": _Lines,
        "html": _Text,
        "next": (
            {
                "option": str,
                "keywords": Mapping[str, object],
                **dict.fromkeys(("pads", "auto_pads", "nodes"), _BeforeAndAfter),
                "text": str,
                "hint": _Text,
            },
            None,
        ),
    }
    return {
        "fix": _Open(fix, {**{name: options[name] for name in target}, **config}),
        "check": {
            "style": options["style"],
            "trust": options["trust"],
            "convention": _Text,
            "html": _Text,
            "fail_on": Severity,
            "files": (
                ...,
                _Open(
                    {
                        "path": str,
                        "error": _Text,
                        "failing": int,
                        **by_findings,
                        "notes": _Lines,
                        "warnings": _Lines,
                    },
                    config,
                ),
            ),
            "summary": dict.fromkeys(("files", "unreadable", "failing", *Severity), int),
        },
        "validate": _Open(
            {
                **dict.fromkeys(("original", "outcome"), str),
                **dict.fromkeys(("rewritten", "inputs", "reference", "next", "html"), _Text),
                "providers": _Lines,
                "seconds": float,
                "unproven": _Lines,
                "validation": Validation,
            },
            config,
        ),
        "match": {
            **dict.fromkeys(("model", "reference"), str),
            **_of(Matching, "outcome", "changes", "distinguishable", "tried", "runs", "stages"),
            **_of(Matching, "nearest", "record", "layout", "notes"),
            **dict.fromkeys(("inputs", "reason", "first", "convention", "written"), _Text),
            "error": {"before": float, "after": float, "noise": float},
            "left": (..., {"node": str, "reason": str}),
            "data": _Lines,
            "seconds": float,
        },
        "repad": _Open(
            {
                **dict.fromkeys(("model", "to", "outcome"), str),
                **dict.fromkeys(("reference", "failure", "uncompared", "written", "older"), _Text),
                "changes": tuple[Rewritten, ...],
                "unchanged": tuple[Unchanged, ...],
                "outputs": tuple[OutputChange, ...],
                "validation": Validation | None,
                "declared": _Shapes,
                **dict.fromkeys(("inputs", "data", "notes", "warnings"), _Lines),
                "seconds": float,
            },
            config,
        ),
        "show": _Open(
            {
                **dict.fromkeys(("model", "html"), _Text),
                "total": int,
                "sites": (..., _Open(_site(), {"taken": str, "known_by": str})),
                **by_findings,
                **dict.fromkeys(("asked", "conventions", "notes", "warnings"), _Lines),
            },
            {"targets": _Lines, **config},
        ),
        "explain": _explain(),
        "rule": _Open(_PAGES, {"words": Mapping[str, str]}),
        "doctor": {"ok": bool, **_fields(Diagnosis)},
        "targets": {
            "targets": (
                ...,
                _Open(
                    {
                        **dict.fromkeys(("name", "title", "version", "read"), str),
                        "measured": bool,
                        **_fields(Standing),
                        "spell": tuple[object, ...],
                        "notes": _Lines,
                    },
                    {
                        "cells": (
                            ...,
                            {**_fields(Cell), "when": Mapping[str, object], "known_by": str},
                        ),
                        "runs": (..., _fields(Run)),
                        "facts": (..., _fields(Fact)),
                    },
                ),
            )
        },
    }


def _site() -> dict[str, _Type]:
    """The fields of one place in the report of `show`."""
    same = (
        *("node", "op_type", "domain", "scope", "kind", "written", "pads", "own_pads"),
        *("readers", "conventions", "findings", "fixable", "stays"),
    )
    outer = {
        **dict.fromkeys(("node", "source"), str),
        **dict.fromkeys(("pads", "axes"), _Sizes | None),
        **dict.fromkeys(("mode", "formula"), _Text),
        "value": float | int | str | None,
        "steps": (..., _STEP),
    }
    amount = int | None
    axis = {
        **dict.fromkeys(("axis", "begin", "end"), amount),
        "name": str,
        "size": int | str | None,
        "extent": object,
        "formula": _Text,
    }
    return {
        **_of(PaddingSite, *same),
        **dict.fromkeys(("kernel", "stride", "dilation"), (..., amount)),
        "axes": (..., axis),
        "outer": (..., outer),
        **dict.fromkeys(("ceil_mode", "count_include_pad"), bool),
        "output_padding": _Sizes,
        "output_shape": _Sizes | None,
        "path": (..., _STEP),
        **dict.fromkeys(("auto_pad", "tensor", "convention", "problem"), _Text),
        "advice": _of(PaddingSite, "advice")["advice"],
    }


def _explain() -> dict[str, _Type]:
    """The fields of the report of `explain`."""
    need = {
        **dict.fromkeys(("size", "output", "without_padding"), int),
        "nearest": object,
        "sums": (..., {"least": int, "most": int, "begin": object, "ceil_mode": bool}),
    }
    change = {"axis": int, "what": str, "now": int, "least": int, "most": int}
    about = {"source": str, "dilation": _Sizes, "output_padding": _Sizes, "counts_padding": bool}
    reach = {
        "possible": bool,
        "axes": (..., need),
        "conventions": [(..., _WAY)],
        "refused": Mapping[str, str],
        "explicit": (_WAY, None),
        "changes": (..., change),
    }
    return {
        **dict.fromkeys(("model", "node"), _Text),
        "padded": _Sizes | None,
        "own": ({**_WAY, "output": _Sizes, "same": _Lines}, None),
        "op": str,
        **dict.fromkeys(("size", "kernel", "stride", "dilation"), _Sizes),
        "padding": object,
        "output_padding": object,
        "output_size": _Sizes | None,
        "reach": (reach, None),
        "conventions": [({"pads": _PADS, "output": _Sizes}, None)],
        "agree": tuple[_Lines, ...],
        "refused": Mapping[str, str],
        "classes": tuple[_Lines, ...],
        "partings": tuple[Parting, ...],
        "about": [{**about, **_CODE_LINES}],
    }


def schema_json() -> str:
    """The schema of all reports as text, with a newline at the end."""
    return json.dumps(schema(), indent=2) + "\n"


def schema() -> dict[str, Any]:
    """The schema of the reports of all commands, and of their errors (JSON Schema 2020-12)."""
    made = _Schema()
    reports = {}
    for command, fields in _commands().items():
        told = fields if isinstance(fields, _Open) else _Open(fields, {})
        named = {**_HEAD, "command": Literal[command], **told.always}
        reports[command] = made.of(_Open(named, told.sometimes))
    error = {**_HEAD, "command": str, "error": {"kind": str, "message": str}}
    reports["error"] = made.of(error)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"JSON reports of onnxpad {__version__}",
        "description": "Fields may be added within one version; none changes or disappears.",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in reports],
        "$defs": {**reports, **made.records},
    }


def _fields(record: type[Struct]) -> dict[str, _Type]:
    """The fields that JSON has of a record, with their annotations."""
    if record is Change:
        return {name: _hint(Change, name) for name in CHANGE}
    names = (WORDS.get(each, each) for each in record.__struct_fields__)
    found = {name: _hint(record, name) for name in names if name}
    if record is Finding:
        found |= {"location": Location, "fixable": bool, "asked": _Text}
    if record is Certificate:
        found["assumption_codes"] = _Lines
    return found


def _hint(record: type, name: str) -> _Type:
    """The annotation of a field or property."""
    made = getattr(record, name, None)
    getter = made.fget if isinstance(made, property) else None
    if isinstance(made, cached_property):
        getter = made.func
    if getter is not None:
        return get_type_hints(getter)["return"]
    return get_type_hints(record)[name]


class _Schema:
    """Schemas of annotations; those of records are kept by name."""

    def __init__(self) -> None:
        self.records: dict[str, Any] = {}

    def of(self, kind: _Type) -> dict[str, Any]:
        """The schema of an annotation.

        Besides annotations, an object may be given by its fields, a list of any length as `...`
        and what is in it, a mapping as a list of what is in it, and several choices as a tuple.
        """
        if isinstance(kind, _Open):
            return self._object({**kind.always, **kind.sometimes}, [*kind.always])
        if isinstance(kind, dict):
            return self._object(kind, [*kind])
        if isinstance(kind, list):
            return {"type": "object", "additionalProperties": self.of(kind[0])}
        if isinstance(kind, tuple) and kind[0] is ...:
            return {"type": "array", "items": self.of(kind[1])}
        if isinstance(kind, tuple):
            return {"anyOf": [self.of(each) for each in kind]}
        return self._plain(kind)

    def _plain(self, kind: _Type) -> dict[str, Any]:
        simple = {str: "string", int: "integer", bool: "boolean", type(None): "null", None: "null"}
        if kind in simple:
            return {"type": simple[kind]}
        if kind is float:  # no NaN and no infinities in JSON
            return {"anyOf": [{"type": ["number", "null"]}, {"enum": ["inf", "-inf"]}]}
        origin: Any = get_origin(kind)
        parts = get_args(kind)
        if origin is Annotated:
            return self.of(parts[0])
        if origin is Literal:
            return {"const": parts[0]} if len(parts) == 1 else {"enum": [*parts]}
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(each) for each in parts]}
        if origin is tuple and parts[-1] is not ...:
            ordered = [self.of(each) for each in parts]
            return {"type": "array", "prefixItems": ordered, "minItems": len(parts), "items": False}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(parts[1])}
        if origin is not None:
            return {"type": "array", "items": self.of(parts[0])}
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            # Words of an assumption may be added to, where a code may not.
            return {"enum": [each.value for each in kind]}
        if isinstance(kind, type) and issubclass(kind, Struct):
            return self._record(kind)
        return {}

    def _record(self, record: Any) -> dict[str, Any]:
        name = record.__name__
        if name not in self.records:
            self.records[name] = {}  # one that holds itself refers to it
            fields = _fields(record)
            self.records[name] = self._object(fields, [*fields])
        return {"$ref": f"#/$defs/{name}"}

    def _object(self, fields: Mapping[str, _Type], required: list[str]) -> dict[str, Any]:
        properties = {name: self.of(kind) for name, kind in fields.items()}
        return {"type": "object", "properties": properties, "required": required}
