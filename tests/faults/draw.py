"""The faults that the text of the product can have, each one edit at one place.

Drawn are mistakes that a person makes and a type checker passes: a comparison turned round or moved
by one, a condition that is forgotten, a wrong number, a statement left out. Not drawn is what no
run can notice or what is no behaviour: annotations, decorators, `TYPE_CHECKING` blocks, texts,
assertions, and the `strict` of a `zip`, which is one.
"""

import ast
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, tuple[str, ...]]]] = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
}
"""The pattern of each comparison, and what stands in its place."""

ARITHMETIC: Final[dict[type[ast.operator], tuple[str, str]]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "//"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
"""Each operator, and what stands in its place."""

EMPTY: Final = {
    "list": "[]",
    "dict": "{}",
    "Mapping": "{}",
    "Sequence": "()",
    "Iterable": "()",
    "Collection": "()",
    "set": "set()",
    "frozenset": "frozenset()",
}
"""What a function may return in place of its result, by the type it is said to return."""

_SKIPPED: Final = {"annotation", "returns", "decorator_list", "type_params"}
_TYPES: Final = {"bool", "bytes", "dict", "float", "int", "list", "set", "str", "tuple"}


@dataclass(frozen=True, slots=True)
class Fault:
    """One edit of one file.

    Attributes:
        path: The file, from the root of the checkout.
        line: Where the edit begins, from 1.
        column: The same in the line, from 1, in bytes.
        start: The first byte that goes.
        end: The byte behind the last that goes.
        old: The lines it changes, without indentation, in one.
        new: The same with the fault.
        text: What stands in place of these bytes.
    """

    path: str
    line: int
    column: int
    start: int
    end: int
    old: str
    new: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.old}  ->  {self.new}"

    def planted(self, data: bytes) -> bytes:
        """The file with the fault."""
        return data[: self.start] + self.text.encode() + data[self.end :]


def product(root: Path) -> list[Fault]:
    """Every fault of the product, in the order of files and places."""
    files = sorted({*(root / "onnxpad").rglob("*.py"), *(root / "passes").rglob("*.py")})
    linked = root / "onnxpad" / "passes"
    return [
        fault
        for path in files
        if not path.is_relative_to(linked)  # the link to `passes`
        for fault in faults_of(path.relative_to(root).as_posix(), path.read_bytes())
    ]


def sample(faults: list[Fault], count: int, seed: int) -> list[Fault]:
    """As many of them, each equally likely: the same for the same faults and seed."""
    return random.Random(seed).sample(faults, min(count, len(faults)))


def faults_of(path: str, data: bytes) -> list[Fault]:
    """Every fault of one file."""
    reader = _Reader(path, data)
    reader.visit(ast.parse(data))
    found = {(fault.start, fault.end, fault.text): fault for fault in reader.found}
    return [found[key] for key in sorted(found)]


class _Reader(ast.NodeVisitor):
    """Gathers the faults of one file."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.found: list[Fault] = []
        self._lines = [0, *(match.end() for match in re.finditer(rb"\n", data)), len(data)]
        self._function: ast.FunctionDef | ast.AsyncFunctionDef | None = None

    def visit(self, node: ast.AST) -> None:
        """Gathers those of a node, and those below it."""
        if _is_no_behaviour(node):
            return
        self._one(node)
        outer = self._function
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._function = node
        for name, value in ast.iter_fields(node):
            if name not in _SKIPPED and not (name == "keywords" and _is_zip(node)):
                for below in value if isinstance(value, list) else [value]:
                    if isinstance(below, ast.AST):
                        self.visit(below)
        self._function = outer

    def _one(self, node: ast.AST) -> None:
        match node:
            case ast.Compare():
                sides = [node.left, *node.comparators]
                for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
                    pattern, others = COMPARISONS[type(operator)]
                    self._between(left, right, pattern, *others)
            case ast.BoolOp():
                words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    self._between(left, right, *words)
            case ast.BinOp() if type(node.op) in ARITHMETIC and not _joins(node):
                sign, other = ARITHMETIC[type(node.op)]
                self._between(node.left, node.right, re.escape(sign), other)
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                start = self._at(node)[0]
                word = re.compile(rb"not\s+|not(?=\()|-\s*").match(self.data, start)
                assert word, f"{self.path}:{node.lineno}"
                self._add(start, word.end(), "")
            case ast.Constant(value=bool(value)):
                self._instead(node, str(not value))
            case ast.Constant(value=int(value)):
                self._instead(node, str(value + 1), str(value - 1))
            case ast.If() | ast.IfExp():
                self._condition(node.test, "True", "False")
            case ast.While():
                self._condition(node.test, "False")
            case ast.comprehension():
                for test in node.ifs:
                    self._condition(test, "True", "False")
            case ast.Return():
                self._returned(node)
            case ast.Continue():
                self._instead(node, "break", "pass")
            case ast.Break():
                self._instead(node, "continue", "pass")
            case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Delete():
                self._instead(node, "pass")
            case ast.Expr(value=ast.Yield() | ast.YieldFrom()) if self._yields_elsewhere():
                self._instead(node, "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                self._instead(node, "pass")

    def _returned(self, node: ast.Return) -> None:
        """Another result, of the type that the function is said to return."""
        if node.value is None:
            self._instead(node, "pass")
            return
        kind = self._function and self._function.returns
        said = ast.unparse(kind) if kind else ""
        if said == "bool" and not isinstance(node.value, ast.Constant):
            self._instead(node.value, "True", "False")
        if said.endswith("| None"):
            self._instead(node.value, "None")
        name = said.partition("[")[0]
        if name in EMPTY and "|" not in said:
            self._instead(node.value, EMPTY[name])
        if said.startswith("tuple[") and said.endswith(", ...]") and "|" not in said:
            self._instead(node.value, "()")

    def _yields_elsewhere(self) -> bool:
        """Whether the function stays a generator without one of its yields."""
        body = ast.walk(self._function) if self._function else ()
        return sum(isinstance(node, ast.Yield | ast.YieldFrom) for node in body) > 1

    def _condition(self, test: ast.expr, *values: str) -> None:
        named = any(isinstance(node, ast.NamedExpr) for node in ast.walk(test))
        if not named and not isinstance(test, ast.Constant):
            self._instead(test, *values)

    def _between(self, left: ast.expr, right: ast.expr, pattern: str, *others: str) -> None:
        """Another operator between two operands; brackets and ends of lines may stand there too."""
        gap = re.compile(rf"[\s)]*({pattern})[\s(]".encode())
        found = gap.match(self.data, self._at(left)[1], self._at(right)[0])
        if found:  # not where a comment stands between
            for other in others:
                self._add(*found.span(1), other)

    def _instead(self, node: ast.expr | ast.stmt, *texts: str) -> None:
        start, end = self._at(node)
        for text in texts:
            self._add(start, end, text)

    def _at(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """The first byte of a node, and the one behind its last."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._lines[node.lineno - 1] + node.col_offset,
            self._lines[node.end_lineno - 1] + node.end_col_offset,
        )

    def _add(self, start: int, end: int, text: str) -> None:
        line = self.data.count(b"\n", 0, start)
        first, last = self._lines[line], self.data.find(b"\n", end)
        before, behind = self.data[first:start], self.data[end : last if last >= 0 else None]
        fault = Fault(
            self.path,
            line + 1,
            start - first + 1,
            start,
            end,
            _in_one(before + self.data[start:end] + behind),
            _in_one(before + text.encode() + behind),
            text,
        )
        if self.data[start:end] != text.encode():
            self.found.append(fault)


def _in_one(data: bytes) -> str:
    return " ".join(data.decode().split())


def _is_no_behaviour(node: ast.AST) -> bool:
    """Whether nothing below a node is drawn."""
    match node:
        case ast.Assert() | ast.JoinedStr():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
    return False


def _is_zip(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip"


def _joins(node: ast.BinOp) -> bool:
    """Whether an operator joins texts, lists or types: another one would only raise an error."""
    return any(map(_is_type_or_text, (node.left, node.right)))


def _is_type_or_text(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str() | bytes() | None):
            return True
        case ast.JoinedStr() | ast.List() | ast.Tuple() | ast.ListComp():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _TYPES or (name[:1].isupper() and not name.isupper())
        case ast.Subscript():
            return _is_type_or_text(node.value)
        case ast.BinOp():
            return _joins(node)
    return False
