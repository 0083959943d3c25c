"""Files that users write: TOML, whose keys and values are checked, with the line of each error."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from onnxpad.errors import UsageError, and_list, meant

LARGEST = 1 << 20
"""Bytes of a file that is read: nobody writes a longer one by hand."""

_TOLD = 10
"""Problems of a file that are told."""

Place = tuple[str | int, ...]
Problem = tuple[Place, str]
Check = Callable[[Any, Place], Iterator[Problem]]

_WORD = re.compile(r"[\w-]+|\"[^\"]*\"|'[^']*'")


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
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except ValueError:
        raise UsageError(f"{str(path)!r}: no file can have this name") from None
    if len(data) > LARGEST:
        raise UsageError(f"{path}: is longer than {LARGEST:,} bytes")
    try:
        return data.decode("utf-8-sig")  # some editors of Windows begin a file with a mark
    except UnicodeDecodeError:
        raise UsageError(f"{path}: this is no text in UTF-8, as TOML must be") from None


def parsed(
    path: Path, text: str, problems: Callable[[dict[str, Any]], Iterable[Problem]]
) -> dict[str, Any]:
    """The tables of a file, all of them as they should be.

    Args:
        path: The name of the file in errors.
        text: What is in it.
        problems: What is wrong with its tables.

    Raises:
        UsageError: It is no TOML, or has a key or value that means nothing: with the line.
    """
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{path}: tables or lists inside one another are too deep") from None
    except ValueError as error:  # a number of thousands of digits is no error of syntax
        raise UsageError(f"{path}:{_line_of_syntax(str(error), text)}: {error}") from None
    found = [*islice(problems(tables), _TOLD)]
    if found:
        lines = sorted((_line_of(text, place), told) for place, told in found)
        raise UsageError("; ".join(f"{path}:{line}: {told}" for line, told in lines))
    return tables


def _line_of_syntax(told: str, text: str) -> int:
    """The line that an error of syntax names, the last one if it names the end."""
    found = told.rpartition("(at line ")[2].partition(",")[0]
    return int(found) if found.isdigit() else max(1, len(text.splitlines()))


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


def table(
    keys: Mapping[str, Check], required: Collection[str], value: object, at: Place
) -> Iterator[Problem]:
    """Problems of a table of these keys."""
    if not isinstance(value, dict):
        name = next(each for each in reversed(at) if isinstance(each, str))
        yield at, f"{name!r} must be a table, such as {{ {next(iter(keys))} = ... }}"
        return
    for key, inner in value.items():
        if key in keys:
            yield from keys[key](inner, (*at, key))
        else:
            yield (*at, key), f"no key {key!r} is known here{_suggestion(key, keys)}"
    missing = [key for key in required if key not in value]
    if missing:
        yield at, f"{and_list(map(repr, missing))} must be given"


def _suggestion(word: object, known: Collection[str]) -> str:
    return meant(word, known) or f"; known are {and_list(filter(None, known))}"


def tables(check: Check, value: object, at: Place) -> Iterator[Problem]:
    """Problems of an array of tables."""
    if not isinstance(value, list):
        yield at, f"{at[-1]!r} must be written as [[{at[-1]}]], once for each"
        return
    for index, inner in enumerate(value):
        yield from check(inner, (*at, index))


def listed(check: Check, value: object, at: Place) -> Iterator[Problem]:
    """Problems of a list."""
    if not isinstance(value, list):
        yield at, f"{at[-1]!r} must be a list, such as [{written(value)}]"
        return
    for inner in value:
        yield from check(inner, at)


def text(value: object, at: Place) -> Iterator[Problem]:
    """Problems of a text."""
    if not isinstance(value, str):
        yield at, f"{at[-1]!r} must be a text, not {written(value)}"


def flag(value: object, at: Place) -> Iterator[Problem]:
    """Problems of a yes or no."""
    if not isinstance(value, bool):
        yield at, f"{at[-1]!r} must be true or false, not {written(value)}"


def word(known: Collection[str], value: object, at: Place) -> Iterator[Problem]:
    """Problems of one of a few words."""
    if not isinstance(value, str) or value not in known:
        yield at, f"{at[-1]!r} cannot be {written(value)}{_suggestion(value, known)}"


def number(name: object, value: object, at: Place) -> Iterator[Problem]:
    """Problems of a whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        yield at, f"{name!r} must be a whole number, not {written(value)}"


def written(value: object) -> str:
    """A value about as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
