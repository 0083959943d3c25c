"""Files that say what a runtime does with padding: TOML, checked, with the line of each error."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from onnx.defs import has as has_operator

from onnxpad.errors import meant
from onnxpad.options import TYPED
from onnxpad.semantics.operators import OPERATORS
from onnxpad.targets import toml_file as toml
from onnxpad.targets.form import DTYPES, OF_A_PAD, UNSAID, Form
from onnxpad.targets.toml_file import Check, Place, Problem

VERDICTS = ("right", "wrong", "rejected", "fallback", "unknown")
"""Answers to the question of what a runtime does with a form, as `target.Verdict` has them."""

STYLES = ("given", "fold", "pad", "symmetric", "static", "auto-pad")
"""The writings in which each form was run."""

SPELLINGS = {
    "kernel_shape": "the attribute kernel_shape must be written",
    "write_pads": "pads must be written even where all are 0",
    "no_count_include_pad": "count_include_pad must not be 1, also where nothing is padded",
    "write_count_include_pad": "count_include_pad must be written where an average pads",
    "no_output_padding": "output_padding must be taken off the pads where they are as large",
    "no_valid": "auto_pad=VALID and NOTSET must not be written",
    "no_axes": "a Pad must not have the input axes",
    "value": "a Pad must have its third input, the fill",
    "no_value": "a Pad must not have its third input, the fill",
    "typed_amounts": "amounts of a Pad must be stored as int64_data",
    "initializers": "the constants of a Pad must be initializers, not Constant nodes",
    "no_declared_sizes": "sizes of inner tensors and outputs must not be declared",
}
"""Ways to write the same graph that a runtime may insist on."""

OPPOSITES = {"value": "no_value", "no_value": "value"}
"""Spellings of which only one can be written."""

TOPICS = {
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
    "other": "other forms",
}
"""Questions that cells answer, by the name that a file has for each."""

Value = str | int | bool

_SIDES = ("none", "equal", "end", "begin", "mixed", "open")

WORDS: Mapping[str, tuple[str, ...]] = {
    "auto_pad": ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"),
    "pads": _SIDES,
    "ceil": ("", "even", "over", "dropped", "open"),
    "pad": ("", "constant", "constant-node", "computed"),
    "mode": ("", "constant", "reflect", "edge", "wrap"),
    "outer": _SIDES,
    "fill": ("", "absent", "empty", "zero", "lowest", "other", "open"),
    "grouped": ("", "depthwise", "group"),
    "onnxruntime": ("", "stops", "departs", "misfolds"),
}
"""All values of the fields of a form that have a few, which `form.Form` explains."""

DATA = Path(__file__).parent / "data"
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


def parsed(
    path: Path,
    text: str,
    forms: Collection[str],
    check: Callable[[Mapping[str, Any]], Iterable[Problem]] = lambda _: (),
) -> dict[str, Any]:
    """The tables of a file, all of them as they should be.

    Args:
        path: The name of the file in errors.
        text: What is in it.
        forms: Names of the models that were run on runtimes.
        check: What else is wrong in tables that are as they should be one by one.

    Raises:
        UsageError: It is no TOML, or has a key or value that means nothing: with the line.
    """

    def problems(tables: dict[str, Any]) -> Iterable[Problem]:
        found = [*toml.table(_FILE, ("title",), tables, ())]
        return found or chain(_unknown_forms(tables, forms), check(tables))

    return toml.parsed(path, text, problems)


def _condition(name: str, value: object, at: Place) -> Iterator[Problem]:
    """One field of a form: a value, a list of values, or for numbers { min = 2, max = 3 }."""
    values = value if isinstance(value, list) else [value]
    kind = type(getattr(UNSAID, name))
    if kind is int and isinstance(value, dict):
        bounds = dict.fromkeys(("min", "max"), partial(toml.number, at[-1]))
        found = [*toml.table(bounds, (), value, at)]
        yield from found
        ends = [value[key] for key in bounds if key in value]
        if not found and (not ends or ends[0] > ends[-1]):
            yield at, f"{at[-1]!r} must be a range, such as {{ min = 2, max = 3 }}"
        return
    if not values:
        yield at, f"{at[-1]!r} has no value that it may be"
    for each in values:
        if kind is bool:
            yield from toml.flag(each, at)
        elif kind is int:
            yield from toml.number(at[-1], each, at)
        elif name in WORDS:
            yield from toml.word(WORDS[name], each, at)
        elif name == "dtype":
            yield from toml.word(["", *DTYPES.values()], each, at)
        else:
            yield from toml.text(each, at)


def _unknown_forms(tables: Mapping[str, Any], forms: Collection[str]) -> Iterator[Problem]:
    """Models that a file says were run, and that there are none of."""
    named: dict[Place, Iterable[str]] = {}
    for index, table in enumerate(tables.get("cell", ())):
        named["cell", index, "forms"] = table.get("forms", ())
    for index, table in enumerate(tables.get("measured", ())):
        differs = [form for group in table.get("differs", ()) for form in group["forms"]]
        named["measured", index, "not_run"] = table.get("not_run", ())
        named["measured", index, "differs"] = differs
    for at, labels in named.items():
        for label in labels:
            name, colon, style = label.partition(":")
            if name not in forms:
                yield at, f"no form {name!r} is known{meant(name, forms)}"
            elif colon:
                yield from toml.word(STYLES, style, at)


def _operator(value: object, at: Place) -> Iterator[Problem]:
    """A name of ONNX's, if it is one."""
    names = [name for domain, name in OPERATORS if not domain] + ["Pad"]
    if isinstance(value, str) and not has_operator(value):
        near = meant(value, names) or "; name its 'domain' beside it"
        yield at, f"ONNX has no operator {value!r}{near}"


def _advice(value: object, at: Place) -> Iterator[Problem]:
    """An option, with its value if it has one."""
    if isinstance(value, str):
        options = [each.option for each in TYPED.values()]
        value = value.partition(" ")[0]
        yield from toml.word(options, value, at)
    else:
        yield from toml.text(value, at)


_texts = partial(toml.listed, toml.text)
_topics = partial(toml.listed, partial(toml.word, TOPICS))

_WHEN = {name: partial(_condition, name) for name in Form.__struct_fields__}

_CELL: Mapping[str, Check] = {
    "about": _topics,
    "when": partial(toml.table, _WHEN, ()),
    "verdict": partial(toml.word, VERDICTS),
    "source": toml.text,
    "version": toml.text,
    "note": toml.text,
    "advice": _advice,
    "limit": toml.flag,
    "measured": toml.flag,
    "exact": toml.flag,
    "forms": _texts,
    "of": _texts,
}


def _cell(value: object, at: Place) -> Iterator[Problem]:
    """A cell; one that says anything but `unknown` says where that is written, or what was run."""
    is_free = isinstance(value, dict) and (value.get("verdict") == "unknown" or "forms" in value)
    required = ("when", "verdict") if is_free else ("when", "verdict", "source")
    yield from toml.table(_CELL, required, value, at)
    when = value.get("when") if isinstance(value, dict) else None
    if isinstance(when, dict) and "domain" not in when:
        named = when.get("op", ())
        for each in named if isinstance(named, list) else [named]:
            yield from _operator(each, (*at, "when", "op"))
        for name in when.keys() - {"op", *OF_A_PAD} if named in ("Pad", ["Pad"]) else ():
            values = when[name] if isinstance(when[name], list) else [when[name]]
            if name in _WHEN and getattr(UNSAID, name) not in values:
                yield (*at, "when", name), f"a Pad has no {name!r}; 'outer' is of its amounts"


_FACT: Mapping[str, Check] = {"about": _topics, "text": toml.text, "source": toml.text}

_GROUP: Mapping[str, Check] = {
    **dict.fromkeys(STYLES, partial(toml.word, VERDICTS)),
    "note": toml.text,
    "forms": _texts,
}

_MEASURED: Mapping[str, Check] = {
    "variant": toml.text,
    "version": toml.text,
    "title": toml.text,
    "how": toml.text,
    "date": toml.text,
    "best": toml.text,
    "raw": toml.flag,
    "not_run": _texts,
    "differs": partial(toml.tables, partial(toml.table, _GROUP, ("forms",))),
}

_FILE: Mapping[str, Check] = {
    "title": toml.text,
    "version": toml.text,
    "read": toml.text,
    "spell": partial(toml.listed, partial(toml.word, SPELLINGS)),
    "notes": _texts,
    "cell": partial(toml.tables, _cell),
    "fact": partial(toml.tables, partial(toml.table, _FACT, ("text",))),
    "measured": partial(toml.tables, partial(toml.table, _MEASURED, ("version",))),
}
