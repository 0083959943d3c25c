"""Files that users write: TOML, made a record, or the line is told of what it has not."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, TypeVar

from msgspec import ValidationError, convert

from onnxpad.errors import UsageError, and_list, meant

LARGEST = 1 << 20
"""Bytes of a file that is read: nobody writes a longer one by hand."""

T = TypeVar("T")
Place = tuple[str | int, ...]
Problem = tuple[Place, str]

_WORD = re.compile(r"[\w-]+|\"[^\"]*\"|'[^']*'")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


def read_text(path: Path) -> str:
    """The text of a file; a pipe or a device, which may never end, is not opened.

    Raises:
        UsageError: It cannot be read, is too long, or is no text.
    """
    try:
        if not path.is_file():
            path.stat()  # says why, unless there is something else of that name
            raise UsageError(f"{path}: is no file that can be read as a whole")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise UsageError(f"{path}: is longer than {LARGEST:,} bytes")
        return data.decode("utf-8-sig")  # some editors of Windows begin a file with a mark
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:  # no file can have this name, or this is no UTF-8
        raise UsageError(f"{str(path)!r}: {error}") from None


def tables_in(path: Path, text: str) -> dict[str, Any]:
    """The tables of a file, whatever they are.

    Raises:
        UsageError: It is no TOML: with the line.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{path}: tables or lists inside one another are too deep") from None
    except ValueError as error:  # a number of thousands of digits is no error of syntax
        line = str(error).rpartition("(at line ")[2].partition(",")[0]
        at = int(line) if line.isdigit() else max(1, len(text.splitlines()))
        raise UsageError(f"{path}:{at}: {error}") from None


def parsed(
    path: Path,
    text: str,
    kind: type[T],
    check: Callable[[T], Iterable[Problem]] = lambda _: (),
    *,
    under: tuple[str, ...] = (),
    known: Collection[str] = (),
) -> T:
    """What a file says, as a record.

    Args:
        path: The name of the file in errors.
        text: What is in it.
        kind: What its tables must be.
        check: What else is wrong with them.
        under: The way to the table that is meant; there is one.
        known: Keys and words that a wrong one may be meant for.

    Raises:
        UsageError: It is no TOML, or has a key or value that means nothing: with the line.
    """
    tables: Any = tables_in(path, text)
    for key in under:
        tables = tables[key]
    try:
        found = convert(tables, kind)
        problem = next(iter(check(found)), None)
        if problem is None:
            return found
        place, told = problem
    except ValidationError as error:
        place, told = _problem(str(error), under, known)
    raise UsageError(f"{path}:{_line_of(text, (*under, *place))}: {told}")


def _problem(error: str, under: tuple[str, ...], known: Collection[str]) -> Problem:
    """The place that an error of msgspec names, and what is wrong there."""
    told, _, way = error.replace("`object`", "a table").partition(" - at `$")
    place: Place = tuple(key or int(index) for key, index in _STEP.findall(way.rstrip("`")))
    kind, _, word = told.partition(" field `")
    if kind == "Object contains unknown":
        place, told = (*place, word.rstrip("`")), "there is no such key"
    word = word.rstrip("`") or told.partition("Invalid enum value ")[2].strip("'")
    if word:
        told += meant(word, known) or f"; known are {and_list(known)}" * (0 < len(known) < 20)
    names = [f"{each!r}: " for each in (*under, *place) if isinstance(each, str)]
    return place, "".join(names[-1:]) + told


def _line_of(text: str, place: Place) -> int:
    """The line where a value of a file is written, or the table that lacks it, counted from 1.

    It looks for each key on the way from the line of the one before on.
    """
    lines = text.split("\n")
    before = [each.split("=")[0] if each[:1] != "#" else "" for each in lines]
    keys = [[word.strip("\"'") for word in _WORD.findall(each)] for each in before]
    found = 0
    for key, index in zip(place, (*place[1:], 0), strict=False):
        if not isinstance(key, str):
            continue
        at = [line for line in range(found, len(lines)) if key in keys[line]]
        if isinstance(index, int) and any(lines[line].startswith("[[") for line in at):
            at = [line for line in at if lines[line].startswith("[[") and keys[line][-1] == key]
            at = at[index:]
        found = at[0] if at else found
    return found + 1
