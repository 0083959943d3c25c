"""The package broken by one thing at a time, as `mutants.txt` lists it, with models that show it.

A block is a model: its name and options, its nodes, and what is not as usual (`with` constants,
`inputs`, `outputs`); a line `$NAME` at the top is what that stands for. A line with bars is a
mutant on it: who must notice at the latest, what is wrong in words, where, and one text of that
function for another, or one entry of a table for what an expression says. A line that begins with
`and` goes with the one before.

Who must notice: `judge` (the proof of what is proposed, so nothing wrong is written), `certify`
(that of what is written), `probes` (where the proof shares what is broken, or the limit is
onnxruntime's alone), or `validation` of the model. What is `harmless` changes what comes out, and
nothing of what it computes: it must be accepted.
"""

import __future__

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
import pytest
from msgspec.structs import replace

from onnxpad.finding import Trust
from onnxpad.semantics.layers import LEAST
from onnxpad.semantics.rows import ZERO
from tests.support import one

FILE = Path(__file__).with_name("mutants.txt")


@dataclass
class Case:
    """A model, how it is fixed, and what its open dimensions are when it runs."""

    model: onnx.ModelProto
    style: str = "fold"
    dynamic: str = "keep"
    no_ceil: bool = False
    trust: Trust | None = None
    sizes: tuple[int, ...] = (9,)


@dataclass
class Mutant:
    """One break: who must notice, and its changes, each of a function or table."""

    name: str
    case: Case
    killer: str
    changes: list[tuple[str, str]] = field(default_factory=list)

    def apply(self, patch: pytest.MonkeyPatch) -> None:
        """Breaks the package for as long as the patch lasts."""
        texts: dict[str, list[list[str]]] = {}
        for place, change in self.changes:
            if " => " in change:
                texts.setdefault(place, []).append(change.split(" => "))
            else:
                put(patch, place, change)
        for place, changes in texts.items():
            rewrite(patch, place, changes)


def module_of(place: str) -> tuple[Any, str]:
    """The module of a place, and what follows its name."""
    name, _, rest = place.partition(" ")
    return importlib.import_module(f"onnxpad.{name}"), rest


def rewrite(patch: pytest.MonkeyPatch, place: str, changes: list[list[str]]) -> None:
    """Gives a function other code in place: whoever holds it calls that."""
    function, name = module_of(place)
    for each in name.split("."):
        function = vars(function)[each]
    function = getattr(function, "fget", function)
    if clear := getattr(function, "cache_clear", None):
        patch.setattr(Cleared(clear), "state", "broken")
    function = inspect.unwrap(function)
    text = textwrap.dedent(inspect.getsource(function))
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} is not (once) in {name}: mend the mutant"
        text = text.replace(old, new)
    tree = ast.parse(text)
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list.clear()
    made: dict[str, Any] = {}
    flags = __future__.annotations.compiler_flag  # as in its module
    exec(compile(tree, "<mutant>", "exec", flags), function.__globals__, made)
    patch.setattr(function, "__code__", made[definition.name].__code__)


class Cleared:
    """Clears a cache when a patch begins, and when it ends."""

    state = "whole"

    def __init__(self, clear: Callable[[], None]) -> None:
        self.__dict__["clear"] = clear

    def __setattr__(self, *_: object) -> None:
        self.__dict__["clear"]()

    __delattr__ = __setattr__


def put(patch: pytest.MonkeyPatch, place: str, expression: str) -> None:
    """Puts something else into a table; `slides` is a window that slides otherwise."""
    module, entry = module_of(place)
    name, _, key = entry.partition("[")
    table = vars(module)[name]
    at = ast.literal_eval(key.removesuffix("]"))

    def slides(**changes: object) -> Any:
        return replace(table[at], window=replace(table[at].window, **changes))

    given = {"replace": replace, "slides": slides, "ZERO": ZERO, "LEAST": LEAST}
    patch.setitem(table, at, eval(expression, {**vars(module), **given}))


def read() -> tuple[dict[str, Case], list[Mutant]]:
    """All models by name, and all mutants."""
    head, *blocks = FILE.read_text(encoding="utf-8").strip().split("\n\n")
    named = dict(line.split(" ", 1) for line in head.splitlines())
    cases: dict[str, Case] = {}
    mutants: list[Mutant] = []
    for block in blocks:
        first, *lines = block.splitlines()
        name, _, options = first.removeprefix("[").partition("]")
        given: dict[str, Any] = {}
        nodes: list[str] = []
        for line in lines:
            word, _, rest = line.partition(" ")
            if word in ("inputs", "outputs", "with"):
                given[word] = rest
            elif line.startswith("  "):
                given["with"] += line
            elif " | " not in line:
                nodes.append(line)
        held = re.sub(r"\$\w+", lambda match: named[match[0]], given.pop("with", ""))
        said = dict(each.partition("=")[::2] for each in options.split())
        opset = int(said.pop("opset", 17))
        case = Case(one(" ".join(nodes), initializers=held, opset=opset, **given))
        for key, value in said.items():
            kinds: dict[str, Callable[[str], Any]] = {
                "sizes": lambda text: tuple(map(int, text.split(","))),
                "trust": Trust,
                "no_ceil": lambda _: True,
            }
            setattr(case, key, kinds.get(key, str)(value))
        cases[name] = case
        for line in lines:
            killer, *parts = line.split(" | ")
            if len(parts) == 3:
                mutants.append(Mutant(parts[0], case, killer))
            if parts:
                mutants[-1].changes.append((parts[-2], parts[-1]))
    return cases, mutants
