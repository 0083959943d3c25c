"""Docstrings say what something is, not "What something is"."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support import ROOT
from tests.test_imports import sources


def docstrings(path: Path) -> Iterator[str]:
    """Every text that stands alone as a statement, with its place, those of constants too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {str(node.value.value).lstrip()}"


def test_no_docstring_begins_with_what() -> None:
    riddles = [
        text.splitlines()[0]
        for path in sources()
        if re.search(r"""["']\s*\\?\s*What """, path.read_text(encoding="utf-8"))
        for text in docstrings(path)
        if text.split(": ", 1)[1].startswith("What ")
    ]
    assert riddles == []
