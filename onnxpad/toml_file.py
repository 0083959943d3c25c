"""Files that users write: TOML, made a record, or it is told what is wrong with which key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from msgspec import ValidationError, convert
from msgspec.inspect import EnumType, type_info

from onnxpad.errors import UsageError, and_list, meant

LARGEST = 1 << 20  # bytes: nobody writes a longer file by hand

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
            raise UsageError(f"{path} is no file that can be read as a whole")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise UsageError(f"{path} is longer than {LARGEST:,} bytes")
        return data.decode("utf-8-sig")  # some editors of Windows begin a file with a mark
    except (OSError, ValueError) as error:  # no file can have this name, or this is no UTF-8
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def parsed(path: Path, text: str, kind: type[T], *under: str) -> T | None:
    """What a file says, as a record; None without a table in it of the names given.

    Raises:
        UsageError: It is no TOML, told with the line, where that is known; or a key or value means
            nothing: with its place, such as `cell[0].verdict`, lists counted from 0, and with those
            that there are.
    """
    try:
        tables: Any = tomllib.loads(text)
    except (RecursionError, ValueError) as error:  # tables too deep, a number too long
        raise UsageError(f"{path}: {error}") from None
    for key in under:
        tables = tables.get(key) if isinstance(tables, dict) else None
    try:
        return None if tables is None else convert(tables, kind)
    except ValidationError as error:
        said = filter(None, (str(path), *under, *invalid(error, kind)))
        raise UsageError(": ".join(said)) from None


def invalid(error: ValidationError, kind: Any) -> tuple[str, str]:
    """The place of what is not as its type says, and what is wrong, with what may stand there."""
    plain = str(error).replace("`object`", "a table").replace("`array`", "a list")
    told, _, place = plain.partition(" - at `$")
    place, word = place.strip(".`"), _TYPED.fullmatch(told)
    told += f"; write [[{place}]]" * told.endswith("a list, got a table")
    if place and word and word[1] in [*_known(type_info(kind), ())]:
        told += "; it belongs at the top, before all tables"
    elif word and (known := [*_known(type_info(kind), re.findall(r"[a-z][\w-]*", place))]):
        told += f"{meant(word[1], known) or ';'} known are {and_list(dict.fromkeys(known))}"
    return place, told


def _known(kind: Any, names: Sequence[str]) -> Iterable[str]:
    """The values that a type has, or else its keys; or those of its key of some name."""
    parts = [kind.item_type] if hasattr(kind, "item_type") else getattr(kind, "types", ())
    if parts:
        return chain.from_iterable(_known(each, names) for each in parts)
    keys = {each.encode_name: each.type for each in getattr(kind, "fields", ())}
    if names:
        return _known(keys[names[0]], names[1:]) if names[0] in keys else ()
    members = kind.cls if isinstance(kind, EnumType) else getattr(kind, "values", ())
    return [*keys] or [each or "''" for each in members]
