"""The size of the product, by package, beside its limits and its goal.

`python -m tests.budget` prints the table; `--lower` writes the limits of `budget.toml` down to what
is measured, and never up. Code lines are those with a token that is no docstring, comment or blank;
a record is a class of fields (dataclass, NamedTuple, Struct, TypedDict).
"""

import argparse
import ast
import io
import os
import re
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from onnx import save_model

from tests.support import ROOT, W, one

FILE: Final = ROOT / "tests" / "budget.toml"
FIGURES: Final = ("code", "tokens", "records")
"""What is limited by package."""

_SKIPPED: Final = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_MAKERS: Final = {"make_dataclass", "namedtuple", "NamedTuple", "TypedDict"}
_RECORDS: Final = {"dataclass", "NamedTuple", "Struct", "TypedDict"}


class Size(NamedTuple):
    """What is counted of a file, or of all files of a package."""

    lines: int = 0
    code: int = 0
    tokens: int = 0
    records: int = 0

    def plus(self, other: "Size") -> "Size":
        """The sum of both."""
        return Size(*map(sum, zip(self, other, strict=True)))


def size_of(source: str) -> Size:
    """The size of a module."""
    tree = ast.parse(source)
    docstrings = set(_docstring_lines(tree))
    code, tokens = set[int](), 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_docstring = token.type == tokenize.STRING and token.start[0] in docstrings
        if token.type not in _SKIPPED and not is_docstring:
            tokens += 1
            code |= {*range(token.start[0], token.end[0] + 1)}
    records = sum(map(_is_record, ast.walk(tree)))
    return Size(source.count("\n"), len(code), tokens, records)


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    """The lines of strings that stand alone: docstrings, and those below a constant or field."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _is_record(node: ast.AST) -> bool:
    """Whether a node makes a class of fields, by a class or by a call."""
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return called in _MAKERS and bool(node.args)
    if not isinstance(node, ast.ClassDef):
        return False
    if any(each.arg == "frozen" for each in node.keywords):  # extends a Struct
        return any(isinstance(each, ast.AnnAssign) for each in node.body)
    named = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return bool({ast.unparse(each).split(".")[-1] for each in [*named, *node.bases]} & _RECORDS)


@cache
def measured() -> dict[str, Size]:
    """The size of each package; modules beside the packages are `flat`."""
    sizes = dict[str, Size]()
    for path in sorted([*(ROOT / "onnxpad").rglob("*.py"), *(ROOT / "passes").rglob("*.py")]):
        parts = path.relative_to(ROOT).parts
        if parts[:2] == ("onnxpad", "passes"):  # the link, where a version of Python follows it
            continue
        package = "passes" if parts[0] == "passes" else parts[1] if len(parts) > 2 else "flat"
        size = size_of(path.read_text(encoding="utf-8"))
        sizes[package] = sizes.get(package, Size()).plus(size)
    return sizes


def total(packages: Sequence[str] | None = None) -> Size:
    """The size of some packages together, or of all."""
    whole = Size()
    for name, size in measured().items():
        if packages is None or name in packages:
            whole = whole.plus(size)
    return whole


def python_lines() -> int:
    """The lines of Python in `tests/`."""
    paths = (ROOT / "tests").rglob("*.py")
    return sum(path.read_bytes().count(b"\n") for path in paths)


@cache
def modules_of_fix() -> int:
    """The modules of ours that `fix --no-validate` of a model with one `Pad` imports."""
    model = one(
        "p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> () a = Pad (x, p) y = Conv (a, w)",
        initializers=W,
    )
    counted = (
        "import sys\nfrom onnxpad.cli import app\n"
        "try:\n    app(['fix', 'model.onnx', '--no-validate'])\n"
        "except SystemExit as left:\n    assert not left.code, left.code\n"
        "names = [each for each in sys.modules if each.startswith('onnxpad.')]\n"
        "print(len(names))"
    )
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder, "model.onnx"))
        command = [sys.executable, "-c", counted]
        here = os.environ | {"PYTHONPATH": str(ROOT)}
        ran = subprocess.run(command, cwd=folder, env=here, stdout=subprocess.PIPE, check=True)
    return int(ran.stdout.split()[-1])


def budget() -> dict[str, Any]:
    """The limits and goals."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def budget_before() -> dict[str, Any] | None:
    """The same as the last commit that is not the newest of its kind had it; None without git."""
    name = FILE.relative_to(ROOT).as_posix()
    try:
        commits = _git("log", "-2", "--format=%H", "--", name).split()
        shown = [_git("show", f"{each}:{name}") for each in commits]
    except (OSError, subprocess.CalledProcessError):
        return None
    now = FILE.read_text(encoding="utf-8")
    before = [each for each in shown if each != now]  # the newest is what is there, or is edited
    return tomllib.loads(before[0]) if before else None


def table() -> str:
    """Measured, limit and goal of each package, and of all."""
    rows: list[tuple[str, ...]] = [
        ("package", "lines", "goal", "code", "limit", "goal", "tokens", "limit", "records")
    ]
    read = budget()
    for name, row in read["package"].items():
        size = measured().get(name, Size())
        rows.append(_row(name, size, row.get("limit", {}), row["goal"]))
    for name, row in read["sum"].items():
        size = total([each for each in read["package"] if read["package"][each]["of"] in name])
        rows.append(_row(name, size, {}, row["goal"]))
    rows.append(_row("all", total(), read["limit"], read["goal"]))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    text = [
        "  ".join(
            each.rjust(width) if at else each.ljust(width)
            for at, (each, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    limit, goal = read["limit"], read["goal"]
    text.append(
        f"\nlines over code: {total().lines / total().code:.2f} "
        f"({limit['least_ratio']} to {limit['most_ratio']})"
    )
    for name, count in (("modules_of_fix", modules_of_fix()), ("test_lines", python_lines())):
        told = name.replace("_", " ")
        text.append(f"{told}: {count:,} (limit {limit[name]:,}, goal {goal[name]:,})")
    return "\n".join(text)


def _row(name: str, size: Size, limit: dict[str, int], goal: dict[str, int]) -> tuple[str, ...]:
    def shown(values: dict[str, int], key: str) -> str:
        return f"{values[key]:,}" if key in values else ""

    return (
        name,
        f"{size.lines:,}",
        shown(goal, "lines"),
        f"{size.code:,}",
        shown(limit, "code"),
        shown(goal, "code"),
        f"{size.tokens:,}",
        shown(limit, "tokens"),
        f"{size.records}" + (f" ({limit['records']})" if "records" in limit else ""),
    )


def lowered(text: str) -> str:
    """The text of `budget.toml` with each limit down to what is measured."""
    found = {**{f"package.{name}.limit": size for name, size in measured().items()}}
    sizes: dict[str, dict[str, int]] = {name: size._asdict() for name, size in found.items()}
    whole = {**total()._asdict(), "modules_of_fix": modules_of_fix(), "test_lines": python_lines()}
    sizes["limit"] = whole
    at, lines = "", list[str]()
    for line in text.splitlines():
        if heading := re.fullmatch(r"\[([\w.]+)]", line):
            at = heading[1]
        field = re.fullmatch(r"(\w+) = ([\d_]+)", line)
        if field and field[1] in sizes.get(at, {}):
            least = min(int(field[2]), sizes[at][field[1]])
            lines.append(f"{field[1]} = {least:_}")
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Prints the table, or lowers the limits."""
    parser = argparse.ArgumentParser(prog="python -m tests.budget", description=__doc__)
    parser.add_argument("--lower", action="store_true", help="lower the limits to what is measured")
    if parser.parse_args().lower:
        FILE.write_text(lowered(FILE.read_text(encoding="utf-8")), encoding="utf-8")
    print(table())


if __name__ == "__main__":
    main()
