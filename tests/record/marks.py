"""Bytecode of the package that notes which of its blocks are executed, in every process.

Each block of each function (its body, the bodies of loops, the arms of an `if`, `try` or `match`,
and of an `if` the `else` that is not written) has a byte in a file that all processes map: what a
test starts, be it the command or a worker, notes itself there too. The sources stay as they are:
their bytecode lies in a folder that `PYTHONPYCACHEPREFIX` names, where an interpreter takes it for
its own cache.
"""

import ast
import importlib.util
import marshal
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.record.plugin import BLOCKS, MARKS
from tests.support import ROOT

_PROLOGUE: Final = f"""
import builtins
if not hasattr(builtins, "__marks__"):
    import mmap, os
    try:
        with open(os.environ["{MARKS}"], "r+b") as marks:
            builtins.__marks__ = mmap.mmap(marks.fileno(), 0)
        del marks
    except (KeyError, OSError):
        builtins.__marks__ = bytearray({BLOCKS})
    del mmap, os
del builtins
"""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of one function: no branch is in it but in blocks of their own.

    Attributes:
        path: The file, relative to the checkout.
        function: The qualified name of the function, such as `Window.output`.
        line: Its first line.
    """

    path: str
    function: str
    line: int

    @property
    def where(self) -> str:
        """The function's file and name, as tests are named."""
        return f"{self.path}::{self.function}"


def sources() -> list[Path]:
    """The files of the package, each under the path by which it is imported, in a fixed order."""
    package = ROOT / "onnxpad"
    return sorted({*package.rglob("*.py"), *(package / "passes").glob("*.py")})


def relative(source: Path) -> str:
    """The path of a file in the checkout: of a pass, in the folder `passes`."""
    return source.resolve().relative_to(ROOT).as_posix()


def write_bytecode(folder: Path) -> list[Block]:
    """The blocks of the package in the order of their bytes; writes its bytecode to a folder."""
    blocks: list[Block] = []
    for source in sources():
        tree = ast.parse(source.read_bytes())
        _mark(tree, Block(relative(source), "", 0), blocks)
        start = int(ast.get_docstring(tree) is not None)
        while start < len(tree.body) and getattr(tree.body[start], "module", "") == "__future__":
            start += 1
        tree.body[start:start] = ast.parse(_PROLOGUE).body
        status = source.stat()
        header = importlib.util.MAGIC_NUMBER
        for number in (0, int(status.st_mtime), status.st_size):
            header += (number & 0xFFFFFFFF).to_bytes(4, "little")
        # Where an interpreter with this prefix looks for the bytecode of this source.
        name = f"{source.stem}.{sys.implementation.cache_tag}.pyc"
        cached = folder.joinpath(*source.parent.parts[1:], name)
        cached.parent.mkdir(parents=True, exist_ok=True)
        code = compile(tree, str(source), "exec", dont_inherit=True)
        cached.write_bytes(header + marshal.dumps(code))
    return blocks


_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def _mark(tree: ast.AST, place: Block, blocks: list[Block], *, inside: bool = False) -> None:
    """Begins each block of the functions in a tree with a note in its byte."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            name = f"{place.function}.{node.name}".lstrip(".")
            within = isinstance(node, _FUNCTIONS)
            _mark(node, Block(place.path, name, node.lineno), blocks, inside=within)
            if within:
                _note(node.body, Block(place.path, name, node.lineno), blocks)
        else:
            _mark(node, place, blocks, inside=inside)
            for arm in ("body", "orelse", "finalbody") if inside else ():
                body = getattr(node, arm, None)
                if isinstance(body, list) and (body or isinstance(node, ast.If)):
                    line = body[0].lineno if body else getattr(node, "lineno", 0)
                    _note(body, replace(place, line=line), blocks)


def _note(body: list[ast.stmt], block: Block, blocks: list[Block]) -> None:
    """Notes the execution of a block at its begin, behind a docstring."""
    documented = bool(body) and _is_constant(body[0])
    (note,) = ast.parse(f"__marks__[{len(blocks)}] = 1").body
    for node in ast.walk(note):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno = node.end_lineno = block.line
    body.insert(documented, note)
    blocks.append(block)


def _is_constant(statement: ast.stmt) -> bool:
    """Whether it is a docstring, or as good as one."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
