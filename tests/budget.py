"""The size of the product, by package, beside its limits.

`python -m tests.budget` prints the table; `--write` sets the limits of `budget.toml` to the round
numbers that leave each package half a step at least. Code lines are those with a token that is no
docstring, comment or blank; a record is a class of fields (dataclass, NamedTuple, Struct,
TypedDict).
"""

import argparse
import ast
import io
import os
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from onnx import save_model

from tests import run_command
from tests.support import ROOT, W, one

FILE: Final = ROOT / "tests" / "budget.toml"
STEPS: Final = {"code": 50, "tokens": 500}
"""What is limited by package, and of what its limits are multiples."""

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


def total() -> Size:
    """The size of all packages together."""
    return Size(*map(sum, zip(*measured().values(), strict=True)))


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
    """The limits of all together, and of each package."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def least(size: int, step: int) -> int:
    """The lowest multiple of a step that is no less than a size."""
    return -(-size // step) * step


def wrong_limits(packages: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Limits that a package is above, that are more than a step above it, or that are not round."""
    wrong = []
    for name, size in measured().items():
        for figure, step in STEPS.items():
            limit, own = packages[name][figure], getattr(size, figure)
            if limit % step or not 0 <= limit - least(own, step) <= step:
                wrong.append(f"{name}: {own:,} {figure}, limit {limit:,}")
    return wrong


def with_limits(text: str) -> str:
    """The text of `budget.toml` with limits that leave each package half a step or more."""
    before, heading, _ = text.partition("[package]\n")
    rows = []
    for name, size in sorted(measured().items()):
        limits = {key: least(getattr(size, key) + step // 2, step) for key, step in STEPS.items()}
        told = ", ".join(f"{key} = {limit:_}" for key, limit in limits.items())
        rows.append(f"{name} = {{ {told} }}\n")
    return before + heading + "".join(rows)


def table() -> str:
    """Measured and limit of each package, and of all."""
    rows = [["package", "lines", "code", "limit", "tokens", "limit", "records"]]
    read = budget()
    limits = {**read["package"], "all": read["all"]}
    for name, size in {**dict(sorted(measured().items())), "all": total()}.items():
        code, tokens = (limits.get(name, {}).get(key, 0) for key in STEPS)
        figures = (size.lines, size.code, code, size.tokens, tokens, size.records)
        rows.append([name, *(f"{each:,}" for each in figures)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    text = [
        "  ".join(
            each.rjust(width) if at else each.ljust(width)
            for at, (each, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    text += [f"{key}: {found:,} of {limit:,}" for key, (found, limit) in whole().items()]
    return "\n".join(text)


def whole() -> dict[str, tuple[int, int]]:
    """What is found of all together, and its limit; of code and tokens, the sum of limits is."""
    read, size = budget(), total()
    found = {
        "lines": size.lines,
        "records": size.records,
        "modules_of_fix": modules_of_fix(),
        "test_lines": python_lines(),
        **{key: sum(row[key] for row in read["package"].values()) for key in STEPS},
    }
    return {key: (each, read["all"][key]) for key, each in found.items()}


def main() -> None:
    """Prints the table, or sets the limits."""
    parser = argparse.ArgumentParser(prog="python -m tests.budget", description=__doc__)
    parser.add_argument("--write", action="store_true", help="set the limits")
    if parser.parse_args().write:
        FILE.write_text(with_limits(FILE.read_text(encoding="utf-8")), encoding="utf-8")
    print(table())


if __name__ == "__main__":
    run_command(main)
