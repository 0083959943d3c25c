"""The faults that the text of the product can have, each one edit at one place.

Drawn are mistakes that a person makes and a type checker passes: a comparison turned round or moved
by one, a condition that is forgotten, a wrong number, a statement left out. A limit, which is a
whole number from 16 that a module names, only becomes 0: moved by one it is as good a limit. Not
drawn is what no run can notice or what is no behaviour: annotations, decorators, `TYPE_CHECKING`
blocks, texts, assertions, the `strict` of a `zip`, which is one, and whether a class keeps its
hash.
"""

import ast
import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Final

COMPARISONS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
EMPTY: Final = {"list": "[]", "dict": "{}", "Mapping": "{}", "Sequence": "()", "Iterable": "()",
                "Collection": "()", "set": "set()", "frozenset": "frozenset()"}  # fmt: skip
"""What a function may return in place of its result, by the type it is said to return."""

_SKIPPED: Final = {"annotation", "returns", "decorator_list", "type_params"}
_TYPES: Final = {"bool", "bytes", "dict", "float", "int", "list", "set", "str", "tuple"}


@dataclass(frozen=True, slots=True)
class Fault:
    """One edit of one file: bytes from `start` to `end` become a text.

    Attributes:
        path: The file, from the root of the checkout.
        line: Where the edit begins, from 1.
        column: The same in the line, from 1, in bytes.
        start: The first byte that goes.
        end: The byte behind the last that goes.
        old: What goes, in one line.
        text: What stands in place of it.
    """

    path: str
    line: int
    column: int
    start: int
    end: int
    old: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.old}  ->  {self.text}"

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
    lines = [0]
    for line in data.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    found = {}
    for node, text in _edits(ast.parse(data), None):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = lines[node.lineno - 1] + node.col_offset
        end = lines[node.end_lineno - 1] + node.end_col_offset
        old = " ".join(data[start:end].decode().split())
        place = path, node.lineno, node.col_offset + 1
        found[start, end, text] = Fault(*place, start, end, old, text)
    return [found[key] for key in sorted(found)]


Placed = ast.expr | ast.stmt


def _edits(
    node: ast.AST, function: ast.FunctionDef | ast.AsyncFunctionDef | None
) -> Iterator[tuple[Placed, str]]:
    """The faults of a node, and of those below it: what goes, and what stands in its place."""
    if _is_no_behaviour(node):
        return
    if function is None and (limit := _limit_of(node)):
        yield limit, "0"
        return
    yield from _of_one(node, function)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = node
    for name, value in ast.iter_fields(node):
        if name not in _SKIPPED and not (name == "keywords" and _is_zip(node)):
            for below in value if isinstance(value, list) else [value]:
                if isinstance(below, ast.AST):
                    yield from _edits(below, function)


def _of_one(
    node: ast.AST, function: ast.FunctionDef | ast.AsyncFunctionDef | None
) -> Iterator[tuple[Placed, str]]:
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                for other in COMPARISONS[type(operator)]:
                    copy = deepcopy(node)
                    copy.ops[place] = other()
                    yield node, f"({ast.unparse(copy)})"
        case ast.BoolOp():
            for place in range(len(node.values)):
                left = [each for at, each in enumerate(node.values) if at != place]
                rest = ast.BoolOp(node.op, left) if len(left) > 1 else left[0]
                yield node, f"({ast.unparse(rest)})"
        case ast.BinOp() if type(node.op) in ARITHMETIC and not _joins(node):
            other_way = ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
            yield node, f"({ast.unparse(other_way)})"
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node, f"({ast.unparse(node.operand)})"
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield from ((node, str(value + 1)), (node, str(value - 1)))
        case ast.If() | ast.IfExp() | ast.While() if not _names_or_is_constant(node.test):
            yield from (
                (node.test, text) for text in ("True", "False")[isinstance(node, ast.While) :]
            )
        case ast.comprehension():
            yield from ((test, text) for test in node.ifs for text in ("True", "False"))
        case ast.Return():
            yield from _returned(
                node, ast.unparse(function.returns) if function and function.returns else ""
            )
        case ast.Continue():
            yield from ((node, "break"), (node, "pass"))
        case ast.Break():
            yield from ((node, "continue"), (node, "pass"))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield node, "pass"
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            inside = ast.walk(function) if function else ()
            if sum(isinstance(each, ast.Yield | ast.YieldFrom) for each in inside) > 1:
                yield node, "pass"  # it stays a generator
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, "pass"


def _returned(node: ast.Return, said: str) -> Iterator[tuple[Placed, str]]:
    """Another result, of the type that the function is said to return."""
    if node.value is None:
        yield node, "pass"
        return
    written = ast.unparse(node.value)
    if said == "bool" and not isinstance(node.value, ast.Constant):
        yield from ((node.value, "True"), (node.value, "False"))
    other = ""
    if said.endswith("| None"):
        other = "None"
    elif "|" not in said and (name := said.partition("[")[0]) in EMPTY:
        other = EMPTY[name]
    elif "|" not in said and said.startswith("tuple[") and said.endswith(", ...]"):
        other = "()"
    if other and other != written:  # else it would be no fault
        yield node.value, other


def _names_or_is_constant(test: ast.expr) -> bool:
    named = any(isinstance(node, ast.NamedExpr) for node in ast.walk(test))
    return named or isinstance(test, ast.Constant)


def _limit_of(node: ast.AST) -> ast.expr | None:
    """What is written of a limit, where a node names one: `_MOST = 1 << 20`."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return None
    name = node.targets[0] if isinstance(node, ast.Assign) else node.target
    parts = [each for each in ast.walk(node.value) if isinstance(each, ast.expr)]
    whole = (isinstance(e, ast.BinOp) or type(getattr(e, "value", "")) is int for e in parts)
    if not ast.unparse(name).isupper() or not all(whole):
        return None
    return node.value if eval(ast.unparse(node.value)) >= 16 else None


def _is_no_behaviour(node: ast.AST) -> bool:
    """Whether nothing below a node is drawn."""
    match node:
        case ast.Assert() | ast.JoinedStr() | ast.keyword(arg="cache_hash"):
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
