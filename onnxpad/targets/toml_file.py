"""Files that users write: TOML, made a record, or it is told what is wrong with which key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from msgspec import ValidationError, convert
from msgspec.inspect import EnumType, type_info

from onnxpad.errors import UsageError, and_list, meant

LARGEST = 1 << 20
"""Bytes of a file that is read: nobody writes a longer one by hand."""

T = TypeVar("T")

_TYPED = re.compile(r"(?:Object contains unknown|Invalid enum|Expected)[^`']*[`'](.*)[`']$")
"""What msgspec says of a key or value that means nothing, and which that is."""


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


def parsed(path: Path, tables: object, kind: type[T]) -> T:
    """What tables of a file say, as a record; `path` is the name of the file in errors.

    Raises:
        UsageError: A key or value means nothing: with its place, such as `cell[0].when.rank`, where
            lists are counted from 0, and with those that there are.
    """
    try:
        return convert(tables, kind)
    except ValidationError as error:
        raise UsageError(": ".join(filter(None, (str(path), *invalid(error, kind))))) from None


def invalid(error: ValidationError, kind: Any) -> tuple[str, str]:
    """The place of what is not as its type says, and what is wrong, with what may stand there."""
    told, _, place = str(error).replace("`object`", "a table").partition(" - at `$")
    place, word = place.strip(".`"), _TYPED.fullmatch(told)
    if word and (known := _known(kind, place)):
        told += f"{meant(word[1], known) or ';'} known are {and_list(known)}"
    return place, told


def _known(kind: Any, place: str) -> list[str]:
    """The values that a type has at a place, or else its keys."""
    found = [*_single(type_info(kind))]
    for name in re.findall(r"[a-z][\w-]*", place):
        fields = [field for each in found for field in getattr(each, "fields", ())]
        found = [one for each in fields if each.encode_name == name for one in _single(each.type)]
    values = [each or "''" for one in found for each in getattr(one, "values", ())]
    values += [each.value for one in found if isinstance(one, EnumType) for each in one.cls]
    keys = [each.encode_name for one in found for each in getattr(one, "fields", ())]
    return [*dict.fromkeys(values or keys)]


def _single(kind: Any) -> Iterator[Any]:
    """The types that a union or a list is made of; any other type itself."""
    for each in getattr(kind, "types", (kind,)):
        yield from _single(each.item_type) if hasattr(each, "item_type") else (each,)
