"""Imports `onnxpad` with every sentence and phrase in its source replaced by random text.

A string is a phrase if it has a space, or belongs to an f-string that has one. Each place in the
source gets a text of its own, so that a text made in one place is never equal to one compared with
in another. Digits, line breaks and `{}` stay; what is random is of letters that nothing else has,
and as long as the words are, since pictures cut long lines.
"""

import ast
import html
import random
import re
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final, TypeAlias

_ROOT: Final = Path(__file__).parents[2]

LETTERS: Final = "".join(map(chr, range(0x10D0, 0x10F1)))
"""Georgian: no word of the project and no name in a model has them."""

_QUOTE: Final = ast.Constant(LETTERS[0])
_KEPT: Final = re.compile(r"(\{[^{}]*\}|\d+|\n)")
_STYLE: Final = re.compile("<style.*?</style>", re.DOTALL)
_WORD: Final = re.compile(r"[(']?[a-z][a-z'-]+[,;:.?!)]*|[(]?a")
"""A word in lower case: the names of operators are in upper case."""
_NAME: Final = re.compile(r"\W*[A-Za-z_][\w'-]+\W*")
_BETWEEN: Final = re.compile(r"[^\w<]*[,;:>()-][^\w<]*")

_SYNTAX: Final = frozenset(
    {
        "onnxpad.records",
        "onnxpad.page.markup",
        "onnxpad.page.style",
        "onnxpad.page.document_page",
        "onnxpad.pipeline.registry",
    }
)
"""Modules that make HTML, whose strings are tags and rules of style, or read docstrings."""
_MARKUP: Final = frozenset({"d", "points", "style", "transform", "viewBox", "class_"})
"""Arguments that are attributes of elements."""


Planted: TypeAlias = Mapping[str, tuple[str, str]]
"""What of a module's source is to be replaced, and by what."""


def install(planted: Planted) -> None:
    """Has each module of `onnxpad` that is imported from now on say random text."""
    sys.meta_path.insert(0, _Finder(planted))


class _Finder(MetaPathFinder):
    def __init__(self, planted: Planted) -> None:
        self._planted = planted

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] != "onnxpad":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(name, spec.loader.path, self._planted.get(name))
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, planted: tuple[str, str] | None) -> None:
        super().__init__(name, path)
        self._planted = planted

    def get_code(self, fullname: str) -> CodeType:
        """The code, from the source: what is cached has its words."""
        source = self.get_data(self.path).decode()
        if self._planted is not None:
            old, new = self._planted
            assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times"
            source = source.replace(old, new)
        return compile(scrambled(source, fullname), self.path, "exec", dont_inherit=True)


def scrambled(source: str, module: str) -> ast.Module:
    """A module with random text for its phrases."""
    tree = ast.parse(source)
    if module not in _SYNTAX:
        _Scrambler(module).visit(tree)
    return ast.fix_missing_locations(tree)


@cache
def codes() -> frozenset[str]:
    """The phrases that are codes: those that a type lists."""
    found = set()
    for path in (*(_ROOT / "onnxpad").rglob("*.py"), *(_ROOT / "passes").glob("*.py")):
        for listed in re.findall(r"Literal\[(.*?)\]", path.read_text(encoding="utf-8"), re.DOTALL):
            found.update(re.findall('"(.*?)"', listed))
    return frozenset(found)


class _Scrambler(ast.NodeTransformer):
    def __init__(self, module: str) -> None:
        self._module = module

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, str) and _is_phrase(node.value):
            node.value = self._random(node.value, node)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        whole = "".join(str(each.value) for each in node.values if isinstance(each, ast.Constant))
        parts = []
        for each in node.values:
            parts.append(each)
            if isinstance(each, ast.FormattedValue):
                each.value = self.visit(each.value)  # not the format beside it
                if each.conversion == ord("r") and " " in whole and whole[0] != "-":
                    each.conversion = -1  # other quotes, so that no name is found by them
                    parts[-1:] = [_QUOTE, each, _QUOTE]
            elif isinstance(each, ast.Constant) and _is_phrase(whole, _NAME):
                text = str(each.value)
                each.value = self._random(text, each) if text.strip() else text
        node.values = parts
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        called = ast.unparse(node.func)
        if (
            called.startswith("re.")
            or called == "Example"
            or (
                isinstance(node.func, ast.Attribute)
                and node.func.attr == "split"
                and isinstance(node.func.value, ast.Constant)
            )
        ):
            return node
        node.func = self.visit(node.func)
        node.args = [self.visit(each) for each in node.args]
        for each in node.keywords:
            if each.arg not in _MARKUP:
                each.value = self.visit(each.value)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        if not isinstance(node.value, ast.Constant):  # a docstring
            node.value = self.visit(node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if ast.unparse(node.value) != "Literal":
            node.value, node.slice = self.visit(node.value), self.visit(node.slice)
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        node.defaults = [self.visit(each) for each in node.defaults]
        node.kw_defaults = [each and self.visit(each) for each in node.kw_defaults]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        self.visit(node.args)
        node.body = [self.visit(each) for each in node.body]
        return node

    def _random(self, text: str, node: ast.expr) -> str:
        seed = f"{self._module} {node.lineno} {node.col_offset} {text}"
        chance = random.Random(zlib.crc32(seed.encode()))
        return "".join(
            part if place % 2 or not part else "".join(chance.choices(LETTERS, k=len(part)))
            for place, part in enumerate(_KEPT.split(text))
        )


def _is_phrase(text: str, word: "re.Pattern[str]" = _WORD) -> bool:
    """Whether a text has a space and a word, or is what stands between words, such as `, `."""
    if (
        " " not in text or text in codes() or text.startswith("-") or "<" in text or '="' in text
    ):  # an option; HTML
        return False
    return any(map(word.fullmatch, text.split())) or bool(_BETWEEN.fullmatch(text))


def has_random(text: str) -> bool:
    """Whether a text has letters that only random text has, also as UTF-8 read by the byte."""
    return any(each in text or each.encode().decode("latin-1") in text for each in LETTERS)


def numbers(text: str) -> list[str]:
    """The numbers in a text."""
    return re.findall(r"\d+", html.unescape(text))


def texts(page: str) -> list[tuple[str, str, list[str]]]:
    """The elements of a page or drawing: tag, class, and the numbers in the text behind it.

    Those in the lines of a picture are at its end: words decide where a line is broken.
    """
    found = re.finditer(r'<(/?\w+)(?: class="([^"]*)")?[^>]*>([^<]*)', _STYLE.sub("", page))
    elements: list[tuple[str, str, list[str]]] = []
    lines: list[str] = []
    for each in found:
        inside = numbers(each[3])
        if each[1] == "text":
            lines, inside = lines + inside, []
        elif each[1] == "/svg":
            lines, inside = [], lines + inside
        elements.append((each[1], each[2] or "", inside))
    return elements


def differences(plain: Any, random: Any, place: str = "") -> Iterator[str]:
    """What differs between two values of JSON, other than words."""
    if isinstance(plain, dict) and isinstance(random, dict):
        yield from differences([*plain], [*random], f"{place} keys")
        for (key, one), other in zip(plain.items(), random.values(), strict=False):
            yield from differences(one, other, f"{place}.{key}")
    elif isinstance(plain, list) and isinstance(random, list):
        if len(plain) != len(random):
            yield f"{place}: {len(plain)} items against {len(random)}"
        for index, (one, other) in enumerate(zip(plain, random, strict=False)):
            yield from differences(one, other, f"{place}[{index}]")
    elif isinstance(plain, str) and isinstance(random, str) and has_random(random):
        if numbers(plain) != numbers(random):
            yield f"{place}: other numbers: {plain!r} against {random!r}"
    elif plain != random:
        yield f"{place}: {plain!r} against {random!r}"
