"""Imports inside the package go one way: a table of packages, lowest first.

A package or module imports of the table only what stands above it, itself, and the values that all
may import. A new package is a new row. A module has a row of its own where it stands apart from its
package: what is known of one runtime is in one package, and on several floors.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from textwrap import dedent
from typing import Final, NamedTuple

import onnx
import pytest

from tests.support import ROOT, W, forks, one

ORDER: Final = (
    # Values that import nothing of the package but one another.
    "errors", "finding", "reasons",
    "arguments", "options", "declared", "toml_file",
    # Pure arithmetic, and the file on the level of bytes.
    "process", "arithmetic", "file",
    # One graph, what is known of it, and what its nodes say.
    # By one table of meaning, which the proof goes by too: it knows no pass.
    "graph", "semantics", "facts", "proof",
    # Running models: it knows no pass either.
    "runtimes", "validation", "probe",
    # What a runtime makes of a graph: it knows no rewrite.
    "runtimes.onnxruntime.departures", "runtimes.onnxruntime.pad_fusion",
    "runtimes.onnxruntime.neighbours", "runtimes.onnxruntime.hidden_shapes",
    # Deciding and rewriting.
    "padding", "rewrite.pass_api", "rewrite.scopes", "rewrite.sinking",
    "runtimes.onnxruntime.guard", "passes", "rewrite",
    # Other padding than the model's, and lists of all that it has: rewriting knows nothing of them.
    "frameworks", "inventory", "proving", "targets",
    # What a person meets.
    "doctor", "report", "page", "api", "folders", "testing", "cli", "__init__", "__main__",
)  # fmt: skip
"""Packages and modules of `onnxpad`, each after all that it may import."""

OPTIMISER: Final = {row for row in ORDER if row.startswith("runtimes.")}
"""What is known of a runtime besides how it runs."""

DECIDING: Final = {"padding", *(row for row in ORDER if row.startswith("rewrite."))}
"""What passes decide by."""

KNOWING: Final = {"facts", "semantics", "proof"}
"""Packages that know what a graph computes."""

APART: Final = {
    "arithmetic": {"file", "process"},
    "file": {"arithmetic", "process"},
    "semantics": {"process"},
    "runtimes": {"process", "arithmetic", "graph", *KNOWING},
    "validation": KNOWING,
    "report": {"graph", *DECIDING, *KNOWING, *OPTIMISER},
    "page": {"file", "graph", *DECIDING, *KNOWING, *OPTIMISER},
}
"""What a package could import by the order, and must not."""

OUTSIDE: Final = {"onnxruntime": {"runtimes"}, "typer": {"cli"}, "onnx_graphsurgeon": {"api"}}
"""Packages that are slow to import, and the only ones of ours that may import them."""


MIXED: Final = one(
    "p = Constant <value_ints = [0, 0, 0, 0, 0, 0, 1, 1]> ()\n"
    "a = Pad (x, p)\n"
    "b = Conv <strides = [2, 2]> (a, w)\n"
    'c = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]> (b)\n'
    "y = ConvTranspose <pads = [1, 0, 1, 0]> (c, w)",
    inputs="float[1, 2, 32, 32] x",
    outputs="float[] y",
    initializers=W,
)
"""A model with a Pad, SAME, and a transposed convolution."""


class Import(NamedTuple):
    """One import: the package it is in, what it names, and where it is."""

    importer: str
    imported: str
    place: str


def row_of(module: str) -> str:
    """The package or module of the table that a module, or a name in it, belongs to."""
    parts = module.split(".")[1:]
    rows = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((row for row in rows if row in ORDER), "__init__")


@cache
def sources() -> dict[Path, str]:
    """Files of the package with the package or module of the table that each belongs to.

    `onnxpad/passes` is a symbolic link to `passes`, or a text file where links are not supported.
    """
    package = ROOT / "onnxpad"
    found = dict.fromkeys((ROOT / "passes").rglob("*.py"), "passes")
    for path in package.rglob("*.py"):
        if path.relative_to(package).parts[0] not in {"passes", "passes.py"}:
            found[path] = row_of(module_of(path))
    return found


def named(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Full names of what an import statement imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif [alias.name for alias in node.names] == ["__version__"]:
        return  # a package has it before anything is imported
    elif node.module and node.module.partition(".")[0] == "onnxpad":
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif node.level:
        yield "onnxpad.(relative)"
    else:
        yield node.module or ""


STATEMENT: Final = re.compile(
    r"^[ \t]*(?:from [\w.]+ import (?:\([^)]*\)|[\w., *]+)|import [\w., ]+)", re.MULTILINE
)
"""An import, which has lines of its own, or a text alike: to parse all else takes a second."""


@cache
def imports() -> list[Import]:
    """Every import statement of the package, those inside functions too."""
    found = []
    for path, unit in sorted(sources().items()):
        text = path.read_text(encoding="utf-8")
        for statement in STATEMENT.finditer(text):
            with suppress(SyntaxError):  # a line of prose
                for node in ast.parse(dedent(statement[0])).body:
                    assert isinstance(node, ast.Import | ast.ImportFrom)
                    line = text.count("\n", 0, statement.start()) + 1
                    place = f"{path.relative_to(ROOT)}:{line}"
                    found += [Import(unit, name, place) for name in named(node)]
    return found


def is_statement(found: Import) -> bool:
    """Whether it is one indeed, and no line of a text."""
    path, _, line = found.place.rpartition(":")
    return any(
        isinstance(node, ast.Import | ast.ImportFrom) and node.lineno == int(line)
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
    )


def test_every_package_stands_in_the_order() -> None:
    assert set(sources().values()) == set(ORDER)


def test_imports_go_down() -> None:
    wrong = []
    for statement in imports():
        imported = row_of(statement.imported)
        if not statement.imported.startswith("onnxpad") or imported == statement.importer:
            continue
        above = ORDER[: ORDER.index(statement.importer)]
        apart = APART.get(statement.importer, set())
        if (
            (imported not in above or imported in apart)
            and statement.importer != "__init__"
            and is_statement(statement)
        ):
            wrong.append(f"{statement.place}: {statement.importer} -> {imported}")
    assert wrong == []


def module_of(path: Path) -> str:
    """The full name of the module that a file of the package is."""
    inside = path.relative_to(ROOT)
    parts = inside.parts if inside.parts[0] == "onnxpad" else ("onnxpad", *inside.parts)
    return ".".join(parts).removesuffix(".py").removesuffix(".__init__")


def test_no_module_is_in_a_circle() -> None:
    """Imports for types alone are imports too: who reads one module must read the other."""
    modules = {module_of(path) for path in sources()}
    reads: dict[str, set[str]] = {module: set() for module in modules}
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                reads[module_of(path)] |= {alias.name for alias in node.names} & modules
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {*named(node)}
                found = (inner & modules) or ({node.module} & modules if inner else set())
                reads[module_of(path)] |= found - {module_of(path)}
    TopologicalSorter(reads).prepare()  # raises CycleError, which names a circle


@pytest.mark.parametrize("package", OUTSIDE)
def test_slow_packages_are_imported_in_one_place(package: str) -> None:
    importers = {
        statement.importer
        for statement in imports()
        if statement.imported.partition(".")[0] == package
    }
    assert importers <= OUTSIDE[package]


ASKING: Final = {
    "doctor.examine", "frameworks.repadding.towards", "padding.site", "passes.pads",
    "rewrite.pass_api", "rewrite.run", "rewrite.scopes", "runtimes.providers", "runtimes.worker",
}  # fmt: skip
"""Modules that ask what is known of one runtime: where another would be named."""


def test_who_asks_onnxruntime() -> None:
    asking = {
        module_of(ROOT / statement.place.partition(":")[0]).removeprefix("onnxpad.")
        for statement in imports()
        if statement.imported.startswith("onnxpad.runtimes.onnxruntime.")
    }
    assert {each for each in asking if not each.startswith("runtimes.onnxruntime")} == ASKING


LEAVES: Final = (
    # What frameworks do.
    "frameworks", "api.match", "api.repad", "api.explain", "api.node_question",
    "report.documents.match_document", "report.documents.repad_document",
    "report.documents.explain_document",
    # Pages, pictures and notebooks.
    "page", "report.window_drawing",
    # Other commands, options that ask for more, and what a shell asks.
    "targets", "report.documents.target_documents", "inventory", "doctor", "api.show",
    "api.validate", "report.documents.show_document",
    "proving", "api.prove", "report.documents.prove_document",
    "report.ci",
    "report.diff", "report.manual", "folders",
    "cli.padding_commands", "cli.validate_command", "cli.rule_commands", "toml_file",
    # What evaluates small contents that a model computes.
    "facts.contents",
    # What follows where a validation fails.
    "rewrite.heal",
)  # fmt: skip
"""Packages and modules that `fix` and `check` import only where an option or a model asks."""

BOTH: Final = """
import sys
from onnxpad.cli import app
FAST = "fix --no-validate"
for words in ("fix -o", f"{FAST} --format json -o", f"{FAST} --select PAD --style pad -o"):
    try: app([*words.split(), sys.argv[2], sys.argv[1]])
    except SystemExit as end: assert not end.code, (words, end.code)
for words in ("check", "check --select PAD1", "check --format json --ignore PAD2"):
    try: app([*words.split(), sys.argv[1]])
    except SystemExit as end: assert end.code == 1, (words, end.code)
print("modules", *(name for name in sys.modules if name.startswith("onnxpad.")))
"""
"""Runs both commands on a model in one process, and says what is loaded then."""


def is_leaf(module: str) -> bool:
    """Whether a module is in one of `LEAVES`."""
    return any(f"{module}.".startswith(f"onnxpad.{leaf}.") for leaf in LEAVES)


def test_fix_and_check_import_no_leaf(tmp_path: Path) -> None:
    modules = {module_of(path) for path in sources()}
    assert {leaf for leaf in LEAVES if f"onnxpad.{leaf}" not in modules} == set()
    onnx.save(MIXED, tmp_path / "model.onnx")
    paths = (str(tmp_path / name) for name in ("model.onnx", "out.onnx"))
    done = forks.run(BOTH, *paths, modules=forks.LIGHT)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.partition("modules ")[2].split()
    assert "onnxpad.proof.certificate" in loaded
    assert [module for module in loaded if is_leaf(module)] == []
