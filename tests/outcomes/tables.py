"""The small models of the tests: of cases, and of modules as far as they can be had without a run.

Modules are imported, and calls of what is said to return a model, such as `one(...)`, are evaluated
with the constants of the module; in a test with each row of its parameters, too, and with plain
assignments before them.
"""

import ast
import importlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice, product
from typing import Any, Final
from unittest import mock

import onnx
import pytest

from tests.case import CASES, cases
from tests.mutants.reading import read
from tests.support import ROOT, rows

_NO_TABLES: Final = ("benchmarks", "cuda", "exported", "outcomes", "random_models")
"""Folders whose models are others', or too large."""

_LARGEST: Final = 200_000
_MOST_ROWS: Final = 100

_ROW: Final = type(pytest.param())
_MARK: Final = pytest.mark.parametrize
_PURE: Final = frozenset({"join", "replace", "format", "split", "partition", "get", "items"})
"""Methods that an assignment may call."""


def models_of_tests(begin: str = "") -> Iterator[tuple[str, bytes]]:
    """Each model once, with the first module that has it, of modules whose paths begin so."""
    seen: set[bytes] = set()
    for path in sorted(CASES.rglob("*.txt")):
        place = path.relative_to(ROOT / "tests").with_suffix("").as_posix()
        for case in cases(path) if place.startswith(begin) else ():
            data = case.model.SerializeToString(deterministic=True)
            if data not in seen:
                seen.add(data)
                yield place, data
    for path in sorted((ROOT / "tests").rglob("*.py")):
        place = path.relative_to(ROOT / "tests").with_suffix("").as_posix()
        if place.startswith(begin) and not place.startswith(_NO_TABLES) and "__" not in place:
            made = _models(f"tests.{place.replace('/', '.')}", ast.parse(path.read_bytes()))
            for model in made if place != "mutants/reading" else _of_mutants():
                data = model.SerializeToString(deterministic=True)
                if data not in seen and len(data) < _LARGEST:
                    seen.add(data)
                    yield place, data


def _of_mutants() -> Iterator[onnx.ModelProto]:
    """The models on which mutants show, which are no Python."""
    yield from (case.model for case in read()[0].values())


def _models(name: str, code: ast.Module) -> Iterator[onnx.ModelProto]:
    known: dict[str, Any] = {}
    with (
        suppress(Exception, pytest.skip.Exception),  # a package or a device that is not here
        mock.patch.object(rows, "each_row", lambda names, table, **_: _MARK(names, list(table))),
    ):
        known = vars(importlib.import_module(name))
    yield from _called(code.body if known else [], known, known)


def _called(
    body: list[ast.stmt], scope: Mapping[str, Any], known: dict[str, Any]
) -> Iterator[onnx.ModelProto]:
    """The models that calls return."""
    for node in body:
        found = scope.get(getattr(node, "name", ""))
        if isinstance(node, ast.ClassDef) and isinstance(found, type):
            yield from _called(node.body, vars(found), known)
            continue
        calls = [each for each in ast.walk(node) if _makes_model(each, known)]
        for row in islice(_rows(found), _MOST_ROWS) if calls else ():
            names = {**known, **row}
            for each in getattr(node, "body", ()):
                match each:
                    case ast.Assign([ast.Name(name)], value) if _is_pure(value, known):
                        names.update((name, given) for given in _value(value, names))
            yield from (model for call in calls for model in _value(call, names))


def _makes_model(node: ast.AST, known: Mapping[str, Any]) -> bool:
    """Whether it calls a function that is said to return a model."""
    function = known.get(getattr(getattr(node, "func", None), "id", ""))
    returned = getattr(function, "__annotations__", {}).get("return")
    return returned is onnx.ModelProto or str(returned) == "onnx.ModelProto"


def _is_pure(value: ast.expr, known: Mapping[str, Any]) -> bool:
    calls = [each for each in ast.walk(value) if isinstance(each, ast.Call)]
    return all(getattr(e.func, "attr", "") in _PURE or _makes_model(e, known) for e in calls)


def _value(node: Any, names: dict[str, Any]) -> Iterator[Any]:
    """The value of an expression, or nothing."""
    try:
        yield eval(compile(ast.Expression(node), "tests", "eval"), names)
    except Exception:  # it has a name that only a run knows, or the model is one that fails
        return


def _rows(test: Any) -> Iterator[dict[str, Any]]:
    """Each row of the parameters of a test."""
    tables: list[list[dict[str, Any]]] = []
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            names = mark.args[0]
            names = [n.strip() for n in names.split(",")] if isinstance(names, str) else [*names]
            few = len(names) == 1
            table = [r.values if isinstance(r, _ROW) else (r,) if few else r for r in mark.args[1]]
            tables.append([dict(zip(names, values, strict=False)) for values in table])
    for parts in product(*tables):
        yield {name: value for part in parts for name, value in part.items()}
