"""All targets by name: in the files that come with the package, and in a user's own."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct, defstruct
from msgspec.structs import asdict, fields, replace
from onnx.defs import has as has_operator

from onnxpad.errors import UsageError, and_list, meant
from onnxpad.semantics.operators import OPERATORS
from onnxpad.targets.form import BESIDE, DTYPES, OF_A_PAD, UNSAID, Form
from onnxpad.targets.target import (
    VERDICTS,
    Cell,
    Fact,
    Range,
    Run,
    Said,
    Target,
    Texts,
    Verdict,
    admitted,
)
from onnxpad.targets.toml_file import Problem, parsed, read_text

ALIASES = {
    "trt": "tensorrt",
    "ort": "onnxruntime-cpu",
    "onnxruntime": "onnxruntime-cpu",
    "cuda": "onnxruntime-cuda",
    "onnxruntime-web": "onnxruntime-web-wasm",
    "webgpu": "onnxruntime-webgpu",
    "ov": "openvino",
    "dml": "directml",
    "coreml": "coreml-neuralnetwork",
    "opencv-dnn": "opencv",
    "ncnn": "ncnn-pnnx",
    "tflite": "onnx2tf",
}
"""Other names that people type, by the name of the target that each means."""

STYLES = ("given", "fold", "pad", "symmetric", "static", "auto-pad")
"""The writings in which each form was run."""

SPELLINGS = frozenset(
    {"kernel_shape", "write_pads", "no_count_include_pad", "write_count_include_pad", "value"}
    | {"no_output_padding", "no_valid", "no_axes", "no_value", "typed_amounts", "initializers"}
    | {"no_declared_sizes"}
)
"""Ways to write the same graph that a runtime may insist on; the manual explains each."""

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
    "dtype": ("", *DTYPES.values()),
}
"""All values of the fields of a form that have a few, which `form.Form` explains."""

USUAL: Mapping[str, Said] = {
    name: value
    for name, value in asdict(UNSAID).items()
    if name not in BESIDE - {"grouped", "uneven", "even"}
}
"""The fields that an exact cell is about too, each as it is usually."""

DATA = Path(__file__).parent / "data"
"""The folder of the files that come with the package."""


Differing: Any = defstruct(
    "Differing",
    [
        ("forms", Texts),
        ("note", str, ""),
        *((each.replace("-", "_"), Verdict, "right") for each in STYLES),
    ],
    rename={"auto_pad": "auto-pad"},
    frozen=True,
    forbid_unknown_fields=True,
)
"""Models that were not right on a runtime, and became the same there: by style, or right."""


class Measured(Struct, frozen=True, forbid_unknown_fields=True):
    """A configuration of a runtime, in which nothing was run if it says nothing that differs."""

    version: str
    variant: str = ""
    title: str = ""
    raw: bool | None = None
    not_run: Texts = ()
    differs: tuple[Differing, ...] | None = None


class File(Struct, frozen=True, forbid_unknown_fields=True):
    """All that a file may say; the manual's page on targets explains its keys."""

    title: str
    version: str = ""
    read: str = ""
    spell: Texts = ()
    notes: Texts = ()
    cell: tuple[Cell, ...] = ()
    fact: tuple[Fact, ...] = ()
    measured: tuple[Measured, ...] = ()


def known() -> list[str]:
    """Names of all targets, one for each variant."""
    return list(dict.fromkeys(each.name for each in every()))


def every() -> list[Target]:
    """All targets in each version that was measured, or as they were read, by name."""
    return [each for base in _bases() for each in _built_in(base)]


def load(name: str | Path) -> Target:
    """A target by its name, or of a file of the user's.

    Args:
        name: `NAME[-VARIANT][@VERSION]` or an alias; or a path that ends in `.toml`.

    Raises:
        UsageError: Nothing has this name or version, or the file cannot be read or is not as it
            should be.
    """
    text = str(name)
    path, _, version = (text, "", "") if text.endswith(".toml") else text.rpartition("@")
    if path.endswith(".toml"):
        found = _of_a_user(path, read_text(Path(path)))
    else:
        typed, _, version = text.lower().partition("@")
        called = ALIASES.get(typed, typed)
        near = chain.from_iterable(map(_built_in, filter(called.startswith, _bases())))
        found = tuple(each for each in near if each.name == called)
        if not found:
            raise UsageError(
                f"no target is called {typed!r}{meant(typed, [*known(), *ALIASES])} (onnxpad "
                "targets lists them; a .toml file of your own tells of another)"
            )
    chosen = (each for each in found if not version or is_version(version, each.version))
    if target := next(chosen, None):
        return target
    told = and_list([each.version for each in found if each.version]) or "none"
    raise UsageError(f"nothing is known of version {version!r} of {found[0].name}; known: {told}")


def _bases() -> list[str]:
    return sorted(path.stem for path in DATA.glob("*.toml") if path.stem != "forms")


@cache
def _built_in(base: str) -> tuple[Target, ...]:
    """The targets of a file that comes with the package: one object each, whatever names it."""
    return targets_in(base, parsed(Path(f"{base}.toml"), text_of(base), File))


@lru_cache(16)
def _of_a_user(path: str, text: str) -> tuple[Target, ...]:
    """The targets of a user's file: one object for each content that the file has had lately."""
    name, said = Path(path).stem, checked(Path(path), text)
    found = [replace(each, by_user=True) for each in targets_in(name, said)]
    return tuple(each for each in found if each.name == name) or tuple(found)


def text_of(base: str) -> str:
    """The text of a file that comes with the package."""
    return (DATA / f"{base}.toml").read_text(encoding="utf-8")


@cache
def forms() -> Mapping[str, Mapping[str, Any]]:
    """The forms that were run on runtimes, by name: tables of `forms.toml`."""
    return tomllib.loads(text_of("forms"))


@cache
def sites() -> Mapping[tuple[str, str], tuple[Form, ...]]:
    """The sites of each model, by its form and style."""
    return {
        (name, style): tuple(Form(**site) for site in table[style])
        for name, table in forms().items()
        for style in STYLES
        if style in table
    }


def targets_in(base: str, said: File) -> tuple[Target, ...]:
    """The targets of a file: each variant in each version, the newest first."""
    tables: dict[str, dict[str, list[Measured]]] = {}
    newest = sorted(said.measured, key=lambda table: numbers(table.version), reverse=True)
    for table in said.measured:
        tables.setdefault(table.variant, {})
    for table in newest:
        tables[table.variant].setdefault(table.version, []).append(table)
    return tuple(
        Target(
            name=f"{base}-{variant}" if variant else base,
            title=next((table.title for table in found if table.title), said.title),
            version=version,
            measured=any(table.differs is not None for table in found),
            read=said.read,
            cells=tuple(_cells(said, variant, version)),
            runs=tuple(chain.from_iterable(_runs(table, said.title) for table in found)),
            facts=said.fact,
            spell=said.spell,
            notes=said.notes,
        )
        for variant, versions in (tables or {"": {said.version: []}}).items()
        for version, found in versions.items()
    )


def _cells(said: File, variant: str, version: str) -> Iterator[Cell]:
    """The cells of a file that speak of one configuration, those of runs first."""
    for cell in sorted(said.cell, key=lambda cell: not cell.measured):
        if not cell.of or any(is_of(each, variant, version) for each in cell.of):
            when = {**USUAL, **cell.when} if cell.exact else cell.when
            yield replace(cell, version=cell.version or said.version, when=when)


def _runs(table: Measured, title: str) -> Iterator[Run]:
    """Each model that was run in a configuration: right unless the table says otherwise."""
    if table.differs is None:
        return
    groups = {form: group for group in table.differs for form in group.forms}
    for (form, style), found in sites().items():
        group = groups.get(form)
        verdict: Verdict = getattr(group, style.replace("-", "_")) if group else "right"
        note = group.note if group and verdict != "right" else ""
        source = table.title or title
        run = Run(form, style, verdict, source, table.version, note, table.raw, found)
        if run.label not in table.not_run:
            yield run


def checked(path: Path, text: str) -> File:
    """What a user's file says.

    Raises:
        UsageError: It is no TOML, or has a key or value that means nothing: with the line.
    """
    keys = (
        field.encode_name
        for kind in (File, Cell, Fact, Differing, Measured)
        for field in fields(kind)
    )
    words = chain(VERDICTS, SPELLINGS, Form.__struct_fields__, *WORDS.values())
    return parsed(path, text, File, _mistakes, known=frozenset((*keys, *words, "min", "max")))


def _mistakes(said: File) -> Iterator[Problem]:
    """What a file speaks of, and that there is none of."""
    for each in {*said.spell} - SPELLINGS:
        yield ("spell",), f"there is no spelling {each!r}{meant(each, SPELLINGS)}"
    models = {form if style == "given" else f"{form}:{style}" for form, style in sites()}
    models |= forms().keys()
    known = [(table.variant, table.version) for table in said.measured] + [("", said.version)]
    for index, cell in enumerate(said.cell):
        for name, value in cell.when.items():
            if told := _senseless(cell, name, value):
                yield ("cell", index, "when", name), told
        if cell.verdict != "unknown" and not (cell.forms or cell.source):
            yield ("cell", index), "'source' must be given: where it is written, or what was run"
        for each in {*cell.forms} - models:
            yield ("cell", index, "forms"), f"no model {each!r} was run{meant(each, models)}"
        for each in cell.of:
            if not any(is_of(each, *one) for one in known):
                there = and_list(["@".join(filter(None, one)) for one in known if any(one)])
                yield ("cell", index, "of"), f"no version {each!r} is here, but {there or 'none'}"
    for index, table in enumerate(said.measured):
        differing = chain.from_iterable(group.forms for group in table.differs or ())
        for key, labels in (("not_run", table.not_run), ("differs", differing)):
            for each in {*labels} - models:
                yield ("measured", index, key), f"no model {each!r} was run{meant(each, models)}"


def _senseless(cell: Cell, name: str, said: Said) -> str:
    """What is wrong with a condition: values that the field cannot have, or a `Pad` has not."""
    if name not in Form.__struct_fields__:
        return f"there is no key {name!r}{meant(name, Form.__struct_fields__)}"
    usual, words, values = getattr(UNSAID, name), WORDS.get(name), admitted(said)
    if isinstance(values, Range):
        return "" if type(usual) is int else f"{name!r} is no number"
    for each in values:
        if type(each) is not type(usual):
            return f"{name!r} must be {type(usual).__name__}, not {each!r}"
        if words and each not in words:
            near = meant(each, words) or f"; known are {and_list(words)}"
            return f"{name!r} cannot be {each!r}{near}"
        if name == "op" and "domain" not in cell.when and not has_operator(str(each)):
            near = meant(each, [name for domain, name in OPERATORS if not domain])
            return f"ONNX has no operator {each!r}{near or '; name its domain beside it'}"
    if (
        cell.when.get("op") in ("Pad", ("Pad",))
        and name not in {"op", "domain", *OF_A_PAD}
        and usual not in values
    ):
        return f"a Pad has no {name!r}; 'outer' is of its amounts"
    return "" if values else f"{name!r} must have a value"


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, for comparison."""
    return tuple(map(int, re.findall(r"\d+", version)))


def is_version(wanted: str, known: str) -> bool:
    """Whether a version is meant, whole or by its first numbers.

    >>> is_version("5", "5.0.0"), is_version("5.1", "5.0.0"), is_version("latest", "5.0.0")
    (True, False, False)
    """
    told = numbers(wanted)
    return wanted == known or bool(told and told == numbers(known)[: len(told)])


def is_of(wanted: str, variant: str, version: str) -> bool:
    """Whether a cell speaks of a configuration: by its variant, its version, or both.

    >>> [is_of(each, "classic", "5.0.0") for each in ("classic", "classic@5", "5", "classic@4")]
    [True, True, False, False]
    """
    named, _, number = wanted.rpartition("@")
    return wanted == variant != "" or (named == variant and is_version(number, version))


class Standing(Struct, frozen=True):
    """How many of the forms a target computes rightly: as they are given, and in their best style.

    `models` that were run are 0 for a target that was only read, of which all forms count.
    """

    forms: int
    given: int
    best: int
    models: int


def standing(target: Target) -> Standing:
    """How many of the forms a target computes rightly: as its runs say, or else its cells.

    Of a form that was run with its amounts as bytes and as numbers, both must be right.
    """
    answers = [(run.form, run.style, run.verdict == "right") for run in target.runs] or [
        (form, style, {target.cell(site).verdict for site in found} == {"right"})
        for (form, style), found in sites().items()
    ]
    every_form = {form for form, _, _ in answers}
    right = {form for form, _, is_right in answers if is_right}
    not_given = {form for form, style, is_right in answers if style == "given" and not is_right}
    given = {form for form, style, _ in answers if style == "given"} - not_given
    return Standing(len(every_form), len(given), len(right), len(target.runs))
