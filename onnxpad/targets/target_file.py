"""Files that say what a runtime does with padding: TOML, checked, with the line of each error."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from onnxpad.errors import UsageError
from onnxpad.messages import and_list, meant
from onnxpad.targets.form import Form

VERDICTS: Final = ("right", "wrong", "rejected", "fallback", "unknown")
"""Answers to the question of what a runtime does with a form, as `target.Verdict` has them."""

STYLES: Final = ("given", "fold", "pad", "symmetric", "static", "auto-pad")
"""The writings in which each form was run."""

SPELLINGS: Final = {
    "kernel_shape": "the attribute kernel_shape must be written",
    "write_pads": "pads must be written even where all are 0",
    "no_valid": "auto_pad=VALID and NOTSET must not be written",
    "no_axes": "a Pad must not have the input axes",
    "value": "a Pad must have its third input, the fill",
    "no_value": "a Pad must not have its third input, the fill",
    "typed_amounts": "amounts of a Pad must be stored as int64_data",
    "no_declared_sizes": "sizes of inner tensors and outputs must not be declared",
}
"""Ways to write the same graph that a runtime may insist on."""

TOPICS: Final = {
    "auto_pad_conv": "SAME on a convolution",
    "auto_pad_conv_transpose": "SAME on a transposed convolution",
    "auto_pad_pool": "SAME on a pool",
    "same_with_dilation": "SAME with dilation",
    "asymmetric_pads_conv": "pads of a convolution that differ at both ends",
    "asymmetric_pads_pool": "pads of a pool that differ at both ends",
    "asymmetric_pads_conv_transpose": "pads of a transposed convolution that differ at both ends",
    "pad_op": "Pad",
    "ceil_mode": "ceil_mode",
    "count_include_pad": "count_include_pad",
    "conv_transpose_output_padding": "output_padding",
    "conv_transpose_output_shape": "output_shape",
    "other": "Other",
}
"""Questions that cells answer, by the name that a file has for each."""

Value = str | int | bool

_SIDES: Final = ("none", "equal", "end", "begin", "mixed", "open")

WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "auto_pad": ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"),
    "pads": _SIDES,
    "ceil": ("", "even", "over", "dropped", "open"),
    "pad": ("", "constant", "constant-node", "computed"),
    "mode": ("", "constant", "reflect", "edge", "wrap"),
    "outer": _SIDES,
    "fill": ("", "absent", "empty", "zero", "lowest", "other", "open"),
    "grouped": ("", "depthwise", "group"),
}
"""All values of the fields of a form that have a few, which `form.Form` explains."""

Place = tuple[str | int, ...]
Problem = tuple[Place, str]
Check = Callable[[Any, Place], Iterator[Problem]]


DATA: Final = Path(__file__).parent / "data"
"""The folder of the files that come with the package."""


@cache
def tables_of(base: str) -> dict[str, Any]:
    """The tables of a file that comes with the package, which is as it should be."""
    return tomllib.loads((DATA / f"{base}.toml").read_text(encoding="utf-8"))


def forms() -> Mapping[str, Mapping[str, Any]]:
    """The forms that were run on runtimes, by name: tables of `forms.toml`."""
    return tables_of("forms")


@cache
def sites() -> Mapping[tuple[str, str], tuple[Form, ...]]:
    """The sites of each model, by its form and style."""
    return {
        (name, style): tuple(Form(**site) for site in table[style])
        for name, table in forms().items()
        for style in STYLES
        if style in table
    }


def parsed(path: Path, text: str, forms: Collection[str]) -> dict[str, Any]:
    """The tables of a file, all of them as they should be.

    Args:
        path: The name of the file in errors.
        text: What is in it.
        forms: Names of the models that were run on runtimes.

    Raises:
        UsageError: It is no TOML, or has a key or value that means nothing: with the line.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}:{_line_of_syntax(str(error), text)}: {error}") from None
    problems = [*_table(_FILE, ("title",), tables, ())]
    problems = problems or [*_unknown_forms(tables, forms)]
    if problems:
        lines = sorted((line_of(text, place), told) for place, told in problems)
        raise UsageError("; ".join(f"{path}:{line}: {told}" for line, told in lines))
    return tables


def _line_of_syntax(told: str, text: str) -> int:
    """The line that an error of syntax names, the last one if it names the end."""
    found = told.rpartition("(at line ")[2].partition(",")[0]
    return int(found) if found.isdigit() else max(1, len(text.splitlines()))


def line_of(text: str, place: Place) -> int:
    r"""The line where a value of a file is written, or the table that lacks it, counted from 1.

    TOML is a list of statements, each a header or a key with its value, and each is TOML by itself.

    >>> line_of('title = "npu"\n[[cell]]\n# two\nverdict = "rigth"', ("cell", 0, "verdict"))
    4
    """
    best, longest = 1, 0
    table: Place = ()
    tables = dict[Place, int]()
    for line, statement, value in _statements(text):
        keys = tuple(_path_of(value))
        if statement.startswith("["):
            table = ()
            for depth, key in enumerate(keys, 1):
                table += (key,)
                is_new = depth == len(keys) and statement.startswith("[[")
                if is_new or table in tables:
                    tables[table] = tables.get(table, -1) + is_new
                    table += (tables[table],)
            here = table
        else:
            here = table + keys
        pairs = zip(here, place, strict=False)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        if common > longest:
            best, longest = line, common
    return best


def _statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The line, text and value of each header and of each key with its value."""
    held, start = "", 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if not held and (not line.strip() or line.lstrip().startswith("#")):
            continue
        start = start if held else number
        held += line
        try:
            value = tomllib.loads(held)
        except tomllib.TOMLDecodeError:
            continue
        yield start, held.strip(), value
        held = ""


def _path_of(value: Any) -> Iterator[str]:
    """The keys on the way into a table of one key: those of a header, or of a dotted key."""
    while isinstance(value, dict) and len(value) == 1:
        ((key, value),) = value.items()
        yield key
        value = value[0] if value == [{}] else value


def _table(
    keys: Mapping[str, Check], required: Collection[str], value: object, at: Place
) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield at, f"{at[-1]!r} must be a table, such as {{ {next(iter(keys))} = ... }}"
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


def _tables(check: Check, value: object, at: Place) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield at, f"{at[-1]!r} must be written as [[{at[-1]}]], once for each"
        return
    for index, inner in enumerate(value):
        yield from check(inner, (*at, index))


def _text(value: object, at: Place) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield at, f"{at[-1]!r} must be a text, not {_written(value)}"


def _flag(value: object, at: Place) -> Iterator[Problem]:
    if not isinstance(value, bool):
        yield at, f"{at[-1]!r} must be true or false, not {_written(value)}"


def _word(known: Collection[str], value: object, at: Place) -> Iterator[Problem]:
    if not isinstance(value, str) or value not in known:
        yield at, f"{at[-1]!r} cannot be {_written(value)}{_suggestion(value, known)}"


def _list(check: Check, value: object, at: Place) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield at, f"{at[-1]!r} must be a list, such as [{_written(value)}]"
        return
    for inner in value:
        yield from check(inner, at)


def _condition(name: str, value: object, at: Place) -> Iterator[Problem]:
    """One field of a form: a value, a list of values, or for numbers { min = 2, max = 3 }."""
    values = value if isinstance(value, list) else [value]
    kind = type(Form._field_defaults.get(name, ""))
    if kind is int and isinstance(value, dict):
        bounds = dict.fromkeys(("min", "max"), partial(_number, at[-1]))
        yield from _table(bounds, (), value, at)
        return
    if not values:
        yield at, f"{at[-1]!r} has no value that it may be"
    for each in values:
        if kind is bool:
            yield from _flag(each, at)
        elif kind is int:
            yield from _number(at[-1], each, at)
        elif name in WORDS:
            yield from _word(WORDS[name], each, at)
        else:
            yield from _text(each, at)


def _number(name: object, value: object, at: Place) -> Iterator[Problem]:
    if not isinstance(value, int) or isinstance(value, bool):
        yield at, f"{name!r} must be a whole number, not {_written(value)}"


def _written(value: object) -> str:
    """A value about as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _unknown_forms(tables: Mapping[str, Any], forms: Collection[str]) -> Iterator[Problem]:
    """Models that a file says were run, and that there are none of."""
    for index, table in enumerate(tables.get("measured", ())):
        named = {
            "not_run": [label.partition(":")[0] for label in table.get("not_run", ())],
            "differs": [form for group in table.get("differs", ()) for form in group["forms"]],
        }
        for key, names in named.items():
            for name in names:
                if name not in forms:
                    said = f"no form {name!r} is known{meant(name, forms)}"
                    yield ("measured", index, key), said


_texts: Final = partial(_list, _text)
_topics: Final = partial(_list, partial(_word, TOPICS))

_WHEN: Final = {name: partial(_condition, name) for name in Form._fields}

_CELL: Final[Mapping[str, Check]] = {
    "about": _topics,
    "when": partial(_table, _WHEN, ()),
    "verdict": partial(_word, VERDICTS),
    "source": _text,
    "version": _text,
    "note": _text,
    "advice": _text,
    "limit": _flag,
    "measured": _flag,
    "exact": _flag,
    "forms": _texts,
    "of": _texts,
}


def _cell(value: object, at: Place) -> Iterator[Problem]:
    """A cell; one that says anything but `unknown` says where that is written, or what was run."""
    is_free = isinstance(value, dict) and (value.get("verdict") == "unknown" or "forms" in value)
    required = ("when", "verdict") if is_free else ("when", "verdict", "source")
    yield from _table(_CELL, required, value, at)


_FACT: Final[Mapping[str, Check]] = {"about": _topics, "text": _text, "source": _text}

_GROUP: Final[Mapping[str, Check]] = {
    **dict.fromkeys(STYLES, partial(_word, VERDICTS)),
    "note": _text,
    "forms": _texts,
}

_MEASURED: Final[Mapping[str, Check]] = {
    "variant": _text,
    "version": _text,
    "title": _text,
    "how": _text,
    "date": _text,
    "best": _text,
    "raw": _flag,
    "not_run": _texts,
    "differs": partial(_tables, partial(_table, _GROUP, ("forms",))),
}

_FILE: Final[Mapping[str, Check]] = {
    "title": _text,
    "version": _text,
    "read": _text,
    "spell": partial(_list, partial(_word, SPELLINGS)),
    "notes": _texts,
    "cell": partial(_tables, _cell),
    "fact": partial(_tables, partial(_table, _FACT, ("text",))),
    "measured": partial(_tables, partial(_table, _MEASURED, ("version",))),
}
