"""Pairs of models as ONNX text, with the verdicts on them: the blocks of `cases.txt`.

A block has a title behind `#`, a model, and changes of it, each with what comes of it:

- `@` is what stands in place of the `@` in the model.
- `?` are options of `validate` for all that follows in the block.
- `==` is the verdict on the model and itself, which may not fail.
- `~ OLD -> NEW` is a change, `;;` between several; `~ NODES` is what the changed model has for `@`.
- `=>` is the verdict on the model and the changed one, `<=` the other way round, if it is there.

`let NAME = TEXT` above all blocks is what `$NAME` stands for. A verdict says the outcome, the exit
code if it is no other's, the first tensor that differs with one that parted by rounding before, how
many comparisons were left out, warnings, and operators whose padding differs.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import onnxpad
from onnxpad.validation.result import culprit
from tests.support import parsed

FILE: Final = Path(__file__).with_name("cases.txt")
_CODES: Final = {"passed": 0, "failed": 3, "nothing compared": 5}


def blocks() -> dict[str, list[str]]:
    """The lines of each block by its title."""
    first, *others = FILE.read_text(encoding="utf-8").strip().split("\n\n")
    given = dict(line.removeprefix("let ").split(" = ", 1) for line in first.splitlines())
    found: dict[str, list[str]] = {}
    for block in others:
        filled = re.sub(r"\$([A-Z]\w*)", lambda name: given[name[1]], block)
        title, *lines = filled.splitlines()
        found[title.removeprefix("# ")] = lines
    return found


def said(lines: list[str]) -> Iterator[str]:
    """The lines with the verdicts now."""
    text, held, options = "", "", dict[str, Any]()
    before = after = ""
    for line in lines:
        mark, _, rest = line.partition(" ")
        if mark == "@":
            held = rest
        elif mark == "?":
            options = {
                name: ast.literal_eval(value)
                for name, value in (each.split("=", 1) for each in rest.split(" ? "))
            }
        elif mark == "~":
            before, after = _filled(text, held), _filled(text, held)
            if " -> " in rest:
                for each in rest.split(" ;; "):
                    old, new = each.split(" -> ")
                    assert old in after, f"{old!r} is not in the model"
                    after = after.replace(old, new)
            else:
                after = _filled(text, rest)
        elif mark in {"==", "=>", "<="}:
            before = _filled(text, held)
            pair = {"==": (before, before), "=>": (before, after), "<=": (after, before)}[mark]
            line = f"{mark} {verdict(*pair, **options)}"
        else:
            text += f" {line}"
        yield line


def _filled(text: str, nodes: str) -> str:
    """The model with nodes in place of its `@`; that of an attribute stands before its name."""
    return re.sub(r"@(?!\w)", lambda _: nodes, text)


def verdict(before: str, after: str, **options: Any) -> str:
    """What is found of two models."""
    found = onnxpad.validate(parsed(before.strip()), parsed(after.strip()), **options)
    told, first = found.validation, found.validation.divergence
    parts: list[str] = [told.outcome]
    if found.exit_code != _CODES[told.outcome]:
        parts.append(f"exit {found.exit_code}")
    if first is not None:
        parts.append(f"at {first.tensor}" + f" behind {first.earlier}" * bool(first.earlier))
        parts += [f"by {len(first.operands)} operand"] * bool(first.operands)
    for word, count in (("left out", told.uncompared), ("warned", told.warnings)):
        parts += [f"{len(count)} {word}"] * bool(count)
    parts += [f"pads {one} became {other}" for one, other in (each.pads for each in told.padding)]
    if blamed := culprit(told):
        parts.append(f"blames {'a size' if blamed == told.resized else blamed}")
    return ", ".join(parts)


def keep() -> None:
    """Keeps all verdicts anew."""
    first, *others = FILE.read_text(encoding="utf-8").strip().split("\n\n")
    kept = [first]
    for block, lines in zip(others, blocks().values(), strict=True):
        found = iter([*said(lines)])
        title, *raw = block.splitlines()
        now = [
            new if line[:2] in {"==", "=>", "<="} else line
            for line, new in zip(raw, found, strict=True)
        ]
        kept.append("\n".join([title, *now]))
    FILE.write_text("\n\n".join(kept) + "\n", encoding="utf-8")
