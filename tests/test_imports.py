"""Imports inside the package go one way: a table of the arrows, read from the source with `ast`.

An import that the table does not list fails here, also one inside a function or for type checking.
A new module is a new row. Rows may name modules that are not there.
"""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent

VALUES = {
    "arguments",
    "brevity",
    "collection",
    "diagnosis",
    "errors",
    "finding",
    "memory",
    "reasons",
    "verdict",
}
"""What imports nothing of the package but others of these: all may import it."""

SIZES = {"symbol", "size"}
GRAPH = SIZES | {"graph", "operators", "runtime_sizes", "signs", "values", "window"}
"""What passes, sites and the certifier share."""

ARROWS: dict[str, set[str]] = {
    "errors": {"brevity"},
    "arguments": {"brevity", "errors"},
    # What a person meets.
    "__main__": {"cli", "engine", "interruption"},
    "interruption": set(),
    "cli": {"onnxpad", "api", "conventions", "doctor", "explain", "interruption", "report", "rule"}
    | {"targets", "validating"},
    "onnxpad": {"api", "validating"},
    "api": {"admitted", "barred", "dynamic", "graph", "healing", "neighbourhood", "optimiser"}
    | {"pipeline", "rule", "site", "validation"},
    "healing": {"barred", "editor", "graph", "pipeline"},
    "optimiser": {"fusion", "graph", "operators", "rule", "validation"},
    "validating": {"admitted", "engine", "graph", "paddings", "validation"},
    "report": {"onnxpad"},
    "doctor": {"onnxpad", "validation"},
    "explain": {"conventions", "window"} | SIZES,
    # Deciding and rewriting.
    "pipeline": {"admitted", "barred", "editor", "fusion", "passes", "premises", "rule", "shield"}
    | GRAPH,
    "editor": {"barred", "blocked_pools", "certify", "premises", "rule", "site"} | GRAPH,
    "shield": {"fusion", "graph", "operators", "rule"},
    "barred": {"graph"},
    "passes": {"dynamic", "fusion", "inference", "readers", "rule", "shield", "site"} | GRAPH,
    "readers": GRAPH,
    "rule": {"admitted", "blocked_pools", "dynamic", "fusion", "premises", "site"} | GRAPH,
    "dynamic": {"amounts", "fusion", "site"} | GRAPH,
    "amounts": {"graph", "values", "window"} | SIZES,
    "site": {"fusion", "wording"} | GRAPH,
    "fusion": GRAPH,
    "blocked_pools": GRAPH,
    "wording": {"provenance"} | GRAPH,
    "provenance": {"graph", "values"},
    # Proving and running: neither knows passes, rules or sites.
    "certify": {"layers", "sliding"} | GRAPH,
    "sliding": {"layers", "operators", "window"} | SIZES,
    "layers": SIZES,
    "premises": {"admitted", "certify", "defined"} | GRAPH,
    "defined": GRAPH,
    "admitted": {"graph", "values"} | SIZES,
    "neighbourhood": {"validation"} | GRAPH,
    "validation": {"engine"},
    "engine": set(),
    "paddings": {"graph", "operators", "premises", "values", "window"} | SIZES,
    # Engines.
    "operators": {"graph", "values", "window"} | SIZES,
    "inference": {"graph", "size", "values"},
    "runtime_sizes": {"graph", "size", "values"},
    "signs": {"graph"},
    "values": {"graph", "window"} | SIZES,
    "conventions": {"window"} | SIZES,
    "window": SIZES,
    "size": {"formula", "quasi_affine", "symbol"},
    "formula": {"quasi_affine", "symbol"},
    "symbol": set(),
    "quasi_affine": set(),
    "targets": set(),
    # A model file and its view.
    "graph": {"attributes", "constants", "edits", "external", "files", "names", "relocation"}
    | {"saving", "scope", "skeleton", "view", "wire"},
    "relocation": {"external", "files", "inlining", "skeleton", "wire"},
    "inlining": {"external", "skeleton", "wire"},
    "edits": {"attributes", "constants", "names", "view", "wire"},
    "saving": {"attributes", "skeleton", "view", "wire"},
    "constants": {"attributes", "external", "scope", "skeleton", "view"},
    "view": {"attributes", "scope", "skeleton", "wire"},
    "skeleton": {"external", "scope", "wire"},
    "names": {"scope"},
    "external": {"scope"},
    "attributes": set(),
    "files": set(),
    "scope": set(),
    "wire": set(),
}

LAZY: dict[str, set[str]] = {"rule": {"passes"}}
"""Arrows against the direction, allowed inside a function only: the catalogue lists the passes."""

OUTSIDE: dict[str, set[str]] = {"onnxruntime": {"engine"}, "typer": {"cli"}}
"""Packages that are slow to import, and the only modules that may import them."""


class Import(NamedTuple):
    """One import: the unit it is in, what it names, where it is, and if only a call runs it."""

    importer: str
    imported: str
    place: str
    lazy: bool


def sources() -> dict[Path, str]:
    """Files of the package with their unit: a module or a whole folder, named without `onnxpad.`.

    `onnxpad/passes` is a symbolic link to `passes`, or a text file where links are not supported.
    """
    package = ROOT / "onnxpad"
    found = dict.fromkeys((ROOT / "passes").rglob("*.py"), "passes")
    for path in package.rglob("*.py"):
        unit = path.relative_to(package).parts[0].removesuffix(".py")
        if unit != "passes":
            found[path] = "onnxpad" if unit == "__init__" else unit
    return found


def named(node: ast.Import | ast.ImportFrom, units: set[str]) -> Iterator[str]:
    """Full names of what an import statement imports; `onnxpad.onnxpad` for the package's own."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif node.module == "onnxpad":
        for alias in node.names:
            yield f"onnxpad.{alias.name}" if alias.name in units else "onnxpad.onnxpad"
    elif node.level:
        yield "onnxpad.(relative)"
    else:
        yield node.module or ""


def imports() -> list[Import]:
    """Every import statement of the package."""
    units = set(sources().values())
    found: list[Import] = []
    for path, unit in sorted(sources().items()):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inner = {
            id(node)
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for node in ast.walk(function)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                lazy = id(node) in inner
                found.extend(Import(unit, name, place, lazy) for name in named(node, units))
    return found


def test_every_module_has_a_row() -> None:
    assert set(sources().values()) - set(ARROWS) - VALUES == set()


def test_imports_inside_the_package_are_listed() -> None:
    unlisted = []
    for statement in imports():
        package, _, rest = statement.imported.partition(".")
        imported = rest.partition(".")[0] or "onnxpad"
        allowed = ARROWS.get(statement.importer, set()) | {statement.importer}
        if statement.importer not in VALUES:
            allowed |= VALUES
        if statement.lazy:
            allowed |= LAZY.get(statement.importer, set())
        if package == "onnxpad" and imported not in allowed:
            unlisted.append(f"{statement.place}: {statement.importer} -> {imported}")
    assert unlisted == []


@pytest.mark.parametrize("package", OUTSIDE)
def test_slow_packages_are_imported_in_one_place(package: str) -> None:
    importers = {
        statement.importer
        for statement in imports()
        if statement.imported.partition(".")[0] == package
    }
    assert importers <= OUTSIDE[package]


def test_the_table_has_no_circle() -> None:
    assert len(list(TopologicalSorter(ARROWS).static_order())) >= len(ARROWS)


def test_certify_and_validation_know_nothing_of_the_passes() -> None:
    """Also not by way of something else."""

    def reached(unit: str) -> set[str]:
        direct = ARROWS.get(unit, set())
        return direct.union(*(reached(other) for other in direct))

    for unit in ("certify", "neighbourhood", "premises", "validation"):
        assert reached(unit).isdisjoint({"passes", "rule", "site", "pipeline"})
