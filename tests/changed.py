"""`python -m tests.changed` runs the tests that execute what changed since the last commit.

Which tests execute a function is recorded (`python -m tests.record`). Of many, those run that say
most about it for what they cost, in some seconds; `--all` runs all.
"""

import argparse
import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatch
from itertools import zip_longest
from pathlib import Path
from typing import Final

import pytest

from tests import duration, run_command
from tests.record.executed import Executed
from tests.support import ROOT

ABOUT: Final = {
    "onnxpad/*.py": ["tests/test_imports.py", "tests/test_prose.py"],
    "passes/*.py": [
        "tests/test_imports.py",
        "tests/test_prose.py",
        "tests/passes/test_catalogue.py",
    ],
    "README.md": ["tests/test_readme.py", "tests/test_manual.py"],
    "onnxpad/docs/*.md": ["tests/test_readme.py", "tests/test_manual.py"],
    "tests/README.md": ["tests/test_readme.py"],
    "models/README.md": ["tests/exported/test_readme.py"],
    "models/scripts/*": ["tests/exported/test_readme.py"],
    "pyproject.toml": ["tests/test_packaging.py"],
    "models/*.onnx": ["tests/exported"],
    "models/*.npz": ["tests/exported"],
}
"""Tests that ask about files, whatever they execute, by the pattern of the files' paths."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.changed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--since", default="HEAD", metavar="COMMIT", help="by default HEAD")
    parser.add_argument("--seconds", type=duration, default=2.0, help="what the tests may take (2)")
    parser.add_argument("--all", action="store_true", help="every test that executes it")
    parser.add_argument("--list", action="store_true", help="print the tests, run none")
    options = parser.parse_args(arguments)
    try:
        lines = changed_lines(options.since)
    except subprocess.CalledProcessError as error:
        parser.error(error.stderr.strip().partition("\n")[0])
    except OSError as error:
        parser.error(f"git cannot be run: {error}")
    executed = Executed.read()
    functions = changed_functions(lines, options.since, executed.functions)
    candidates = list(executed.best(functions))
    using = users(lines)
    sharing = list(executed.of_files(using))
    # In turns, first what says most about either.
    turns = [test for both in zip_longest(candidates, sharing) for test in both if test is not None]
    candidates = list(dict.fromkeys(turns))
    left = float("inf") if options.all else 1000 * options.seconds
    chosen: set[str] = set()
    for test in candidates:
        if executed.costs[test] <= left:
            left -= executed.costs[test]
            chosen.add(executed.tests[test])
    known = {test.partition("::")[0] for test in executed.tests}
    whole = sorted({*tests_about(lines), *(using - known)})
    if not chosen and not whole:
        print(f"Nothing changed since {options.since} that a test is known to execute.")
        return 0
    print(
        f"Changed: {len(lines)} files, {len(functions)} functions; "
        f"{len(chosen)} of the {len(candidates)} tests that execute or use them"
        + "".join(f", {path}" for path in whole),
        flush=True,
    )
    if options.list:
        print(*sorted(chosen), sep="\n")
        return 0
    files = {test.partition("::")[0] for test in chosen} | {*whole}
    there = sorted(str(ROOT / path) for path in files if (ROOT / path).exists())
    flags = ["-q", "--no-header", "-p", "no:xdist", "-p", "no:cacheprovider"]
    only = _Only(chosen, tuple(whole), slow=options.all)
    return int(pytest.main([*flags, f"--rootdir={ROOT}", *there], plugins=[only]))


class _Only:
    """A plugin of pytest that leaves of what is collected some tests, and some files."""

    def __init__(self, tests: Collection[str], files: tuple[str, ...], *, slow: bool) -> None:
        """Leaves these tests, and of these files and folders those that are not slow, or all."""
        self._tests = tests
        self._files = files
        self._slow = slow

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Drops the others."""
        left = [
            item
            for item in items
            if item.nodeid in self._tests
            or (
                item.nodeid.startswith(self._files)
                and (self._slow or not item.get_closest_marker("slow"))
            )
        ]
        config.hook.pytest_deselected(items=[item for item in items if item not in left])
        items[:] = left


Lines = dict[str, tuple[set[int], set[int]]]
"""By the path of a file which of its lines went away and which are new, as numbers from 1."""


def changed_lines(since: str) -> Lines:
    """What differs between a commit and the files as they are, those not yet added included.

    Raises:
        subprocess.CalledProcessError: If git does not know the commit; `stderr` says so.
    """
    found: defaultdict[str, tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
    old = new = ""
    others = _git("ls-files", "--others", "--exclude-standard").splitlines()
    options = "-U0 --no-renames --no-ext-diff --no-textconv --no-color --no-relative"
    places = "--src-prefix=a/ --dst-prefix=b/ --ignore-submodules"  # whatever a user has set
    for line in _git("diff", *options.split(), *places.split(), since, "--").split("\n"):
        if line.startswith("diff --git "):
            old = new = line.rpartition(" b/")[2]
            found[new]  # a mode or a binary file has no lines
        elif span := re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line):
            for path, side, at, count in ((old, 0, 1, 2), (new, 1, 3, 4)):
                start = int(span[at])
                found[path][side].update(range(start, start + int(span[count] or 1)))
    for path in others:
        if (ROOT / path).is_file():  # no link that leads nowhere, and no checkout of another
            size = len((ROOT / path).read_bytes().split(b"\n"))
            found[path][1].update(range(1, size + 1))
    return dict(found)


def changed_functions(lines: Lines, since: str, known: Collection[str]) -> set[str]:
    """The functions of the package that hold changed lines, as `Executed.functions` names them.

    A line of a module or class outside of functions, such as a row of a table, stands for all
    functions of its file; so does a new function, where nothing that is known changed beside it. A
    file without known functions stands for those of its folder.
    """
    found: set[str] = set()
    files = {function.partition("::")[0] for function in known}
    for path, sides in lines.items():
        if not fnmatch(path, "onnxpad/*.py") and not fnmatch(path, "passes/*.py"):
            continue
        texts = ["", ""]
        if sides[0]:
            texts[0] = _git("show", f"{since}:{path}")
        if sides[1] and (ROOT / path).exists():
            texts[1] = (ROOT / path).read_text(encoding="utf-8")
        for text, numbers in zip(texts, sides, strict=True):
            try:
                names = functions_at(text)
            except SyntaxError:
                names = {}
            rows = text.split("\n")
            told = {names.get(n, "*") for n in numbers if "".join(rows[n - 1 : n]).strip()}
            here = {f"{path}::{name}" for name in told}
            if "*" in told or (told and here.isdisjoint(known)):
                place = f"{path}::" if path in files else f"{path.rpartition('/')[0]}/"
                here = {function for function in known if function.startswith(place)}
            found |= here
    return found


def functions_at(text: str) -> Mapping[int, str]:
    """The qualified name of the innermost function at each line of a source that is in one."""
    names: dict[int, str] = {}

    def visit(tree: ast.AST, place: str) -> None:
        for node in ast.iter_child_nodes(tree):
            inner = place
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{place}.{node.name}".lstrip(".")
                first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
                if not isinstance(node, ast.ClassDef):
                    names.update(dict.fromkeys(range(first, (node.end_lineno or 0) + 1), inner))
            visit(node, inner)

    visit(ast.parse(text), "")
    return names


def tests_about(lines: Lines) -> list[str]:
    """The changed files of tests, and what asks about files."""
    found: set[str] = set()
    for path in lines:
        found.update(*(tests for pattern, tests in ABOUT.items() if fnmatch(path, pattern)))
        if fnmatch(path, "tests/*.py") and Path(path).name.startswith("test_"):
            found.add(path)
    return sorted(path for path in found if (ROOT / path).exists())


def users(lines: Lines) -> set[str]:
    """The files of tests that import what changed of what tests share, by whatever way.

    All below its folder use a `conftest.py`.
    """
    shared = {
        path for path in lines if path.startswith("tests/") and not _name(path).startswith("test_")
    }
    found = {path for path in shared if path.endswith(".py")}
    if not found:
        return set()
    files = {
        path.relative_to(ROOT).as_posix(): imported(path.read_text(encoding="utf-8"))
        for path in (ROOT / "tests").rglob("*.py")
    }
    fixtures = [path for path in found if _name(path) == "conftest.py"]
    below = tuple(path.removesuffix("conftest.py") for path in fixtures)
    found |= {path for path in files if path.startswith(below) and _name(path).startswith("test_")}
    before = 0
    while before < len(found):
        before = len(found)
        modules = {path.removesuffix(".py").removesuffix("/__init__") for path in found}
        found |= {path for path, names in files.items() if not names.isdisjoint(modules)}
    return {path for path in found if _name(path).startswith("test_")}


def imported(text: str) -> set[str]:
    """What a text may import of `tests`, as paths without their ends, packages on the way too."""
    found: set[str] = set()
    for module, several, one in _IMPORTED.findall(text):
        names = [name.split()[0] for name in (several or one).split(",") if name.strip()]
        for each in (module, *(f"{module}.{name}" for name in names)):
            parts = each.split(".")
            found |= {"/".join(parts[:count]) for count in range(2, len(parts) + 1)}
    return found


_IMPORTED: Final = re.compile(
    r"\b(tests(?:\.\w+)*)(?:[ \t]+import[ \t]+(?:\(([^)]*)\)|([\w, \t]+)))?"
)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _git(*arguments: str) -> str:
    """What git prints."""
    command = ["git", "-c", "core.quotePath=false", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8", errors="replace"
    )
    return done.stdout


if __name__ == "__main__":
    run_command(main)
