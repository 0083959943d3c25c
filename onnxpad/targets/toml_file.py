"""Files that users write: TOML, made a record, or it is told what is wrong with which key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeVar

from msgspec import ValidationError, convert

from onnxpad.errors import UsageError, and_list, meant

LARGEST = 1 << 20
"""Bytes of a file that is read: nobody writes a longer one by hand."""

T = TypeVar("T")

_WORD = re.compile(r"(?: field `|enum value ')(.*)[`']$")


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
        UsageError: It is no TOML: with the line, where that is known.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{path}: tables or lists inside one another are too deep") from None
    except ValueError as error:  # a number of thousands of digits is no error of syntax
        raise UsageError(f"{path}: {error}") from None


def parsed(path: Path, tables: object, kind: type[T], known: Collection[str]) -> T:
    """What tables of a file say, as a record.

    Args:
        path: The name of the file in errors.
        tables: What is in it.
        kind: What they must be.
        known: Keys and words that a wrong one may be meant for.

    Raises:
        UsageError: A key or value means nothing: with its place, such as `cell[0].when.rank`, where
            lists are counted from 0.
    """
    try:
        return convert(tables, kind)
    except ValidationError as error:
        told, _, place = str(error).replace("`object`", "a table").partition(" - at `$.")
        if word := _WORD.search(told):
            near = meant(word[1], [each for each in known if each != word[1]])
            told += near or f"; known are {and_list(known)}" * (len(known) < 20)
        raise UsageError(f"{path}: {place.rstrip('`')}{': ' * bool(place)}{told}") from None
