"""All targets by name: in the files that come with the package, and in a user's own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from onnxpad.errors import UsageError, and_list, meant
from onnxpad.targets.form import BESIDE, UNSAID, Form
from onnxpad.targets.target import Run, Target
from onnxpad.targets.target_file import (
    DATA,
    STYLES,
    TOPICS,
    Cell,
    Condition,
    conditions,
    forms,
    is_of,
    is_version,
    numbers,
    parsed,
    sites,
    tables_of,
)
from onnxpad.targets.toml_file import read_text

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

    Amounts that are stored as bytes count as given, since exporters write them so.
    """
    given, best = dict[str, bool](), dict[str, bool]()
    for form, style, is_right in _answers(target):
        best[form] = best.get(form, False) or is_right
        if style == "given":
            given[form] = given.get(form, True) and is_right
    return Standing(len(best), sum(given.values()), sum(best.values()), len(target.runs))


def _answers(target: Target) -> Iterator[tuple[str, str, bool]]:
    for run in target.runs:
        yield run.form, run.style, run.verdict == "right"
    for (form, style), each in () if target.runs else sites().items():
        yield form, style, {target.cell(site).verdict for site in each} == {"right"}


_KINDS = {"": "conv", "Conv": "conv", "ConvTranspose": "conv_transpose"} | dict.fromkeys(
    ("MaxPool", "AveragePool"), "pool"
)
"""Operators as topics call them; without one the most usual is meant."""


def topic_of(form: Form) -> str:
    """The one of `target_file.TOPICS` that a form is about: the rarest thing that it has."""
    kind = _KINDS.get(form.op)
    is_same = form.auto_pad.startswith("SAME") and not form.both
    is_uneven = form.auto_pad == "NOTSET" and form.pads in {"end", "begin", "mixed"}
    has = {
        "conv_transpose_output_shape": form.output_shape,
        "conv_transpose_output_padding": form.output_padding,
        "ceil_mode": form.ceil,
        "count_include_pad": form.counted,
        "pad_op": form.op == "Pad" or form != form.behind_pads,
        "same_with_dilation": is_same and form.dilated,
        f"auto_pad_{kind}": kind and is_same,
        f"asymmetric_pads_{kind}": kind and is_uneven,
    }
    return next((topic for topic, does in has.items() if does), "other")


def by_topic(target: Target) -> dict[str, list[Cell]]:
    """What a target does with each form that was run somewhere, as it was given, by topic.

    Where a cell covers the form and says the same as the models that were run, it says why.
    """
    found: dict[str, list[Cell]] = {topic: [] for topic in TOPICS}
    for (_, style), each in sites().items():
        for form in each if style == "given" else ():
            does = target.cell(form)
            alike = (c for c in target.cells if c.verdict == does.verdict and c.covers(form))
            found[topic_of(form)].append(next(alike, does))
    return found


def known() -> list[str]:
    """Names of all targets, one for each variant."""
    return [
        name
        for path in sorted(DATA.glob("*.toml"))
        if path.stem != "forms"
        for name in _variants(path.stem, tables_of(path.stem))
    ]


def versions(name: str) -> list[str]:
    """The versions of a target that were measured, the newest first."""
    base, variant, _ = _parts(name)
    return [table.version for table in _configurations(tables_of(base), variant)]


def every() -> list[Target]:
    """All targets in each version that was measured, or as they were read, by name."""
    return [
        load(f"{name}@{version}" if version else name)
        for name in known()
        for version in dict.fromkeys(versions(name) or [""])
    ]


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
        return _of_a_user(path, read_text(Path(path)), version)
    return _built_in(*_parts(text))


@cache
def _built_in(base: str, variant: str, version: str) -> Target:
    """A target that comes with the package: one object, whatever names it."""
    found = _made(base, variant, version, tables_of(base))
    return found if found.version == version else _built_in(base, variant, found.version)


@lru_cache(16)
def _of_a_user(path: str, text: str, version: str) -> Target:
    """A target of a user's file: one object for each content that the file has had lately."""
    tables = parsed(Path(path), text, forms())
    return replace(_made(Path(path).stem, "", version, tables), by_user=True)


@cache
def _parts(text: str) -> tuple[str, str, str]:
    """The file, variant and version that a name means."""
    typed, _, version = text.lower().partition("@")
    aliased = ALIASES.get(typed, typed)
    for path in sorted(DATA.glob("*.toml"), key=lambda path: -len(path.stem)):
        base = path.stem
        if base != "forms" and (aliased == base or aliased.startswith(f"{base}-")):
            variant = aliased[len(base) + 1 :]
            if aliased in _variants(base, tables_of(base)):
                return base, variant, version
    names = [*known(), *ALIASES]
    raise UsageError(
        f"no target is called {typed!r}{meant(typed, names)} (onnxpad targets lists them; a .toml "
        "file of your own tells of another)"
    )


def _variants(base: str, tables: Any) -> list[str]:
    """Names of the variants in a file."""
    variants = dict.fromkeys(table.variant or "" for table in tables.measured or ())
    return [f"{base}-{each}" if each else base for each in variants or {"": None}]


def _configurations(tables: Any, variant: str) -> list[Any]:
    """Tables of measurements of a variant, the newest first."""
    found = [each for each in tables.measured or () if (each.variant or "") == variant]
    return sorted(found, key=lambda table: numbers(table.version), reverse=True)


def _made(base: str, variant: str, version: str, tables: Any) -> Target:
    name = f"{base}-{variant}" if variant else base
    ran = _configurations(tables, variant)
    known = [table.version for table in ran] or [tables.version or ""]
    chosen = next((each for each in known if not version or is_version(version, each)), None)
    if chosen is None:
        told = and_list(list(dict.fromkeys(filter(None, known)))) or "none"
        raise UsageError(f"nothing is known of version {version!r} of {name}; known: {told}")
    measured = [table for table in ran if table.version == chosen]
    titles = [table.title for table in measured if table.title]
    return Target(
        name=name,
        title=titles[0] if titles else tables.title,
        version=chosen,
        measured=any(table.differs is not None for table in measured),
        read=tables.read or "",
        cells=tuple(_cells(tables, variant, chosen)),
        runs=tuple(run for table in measured for run in _runs(table, tables.title)),
        facts=tables.fact or (),
        spell=tables.spell or (),
        notes=tables.notes or (),
    )


def _cells(tables: Any, variant: str, version: str) -> Iterator[Cell]:
    """The cells of a file that speak of one configuration, those of runs first."""
    for table in sorted(tables.cell or (), key=lambda table: not table.measured):
        if table.of is None or any(is_of(each, variant, version) for each in table.of):
            given = {name: getattr(table, name) for name in Cell.__struct_fields__}
            said = {name: value for name, value in given.items() if value is not None}
            when = (_USUALLY if table.exact else {}) | conditions(table)
            read: dict[str, Any] = {"version": tables.version or ""}
            yield Cell(**read | said | {"when": tuple(when.items())})


USUAL = {
    name: value
    for name, value in asdict(UNSAID).items()
    if name not in BESIDE - {"grouped", "uneven", "even"}
}
_USUALLY = {name: Condition((value,)) for name, value in USUAL.items()}


def _runs(table: Any, title: str) -> Iterator[Run]:
    """Each model that was run in a configuration: right unless the table says otherwise."""
    if table.differs is None:
        return
    told = {
        (form, style): (verdict, group.note or "")
        for group in table.differs
        for form in group.forms
        for style in STYLES
        if (verdict := getattr(group, style.replace("-", "_")))
    }
    for name, models in forms().items():
        for style in STYLES:
            verdict, note = told.get((name, style), ("right", ""))
            source = table.title or title
            run = Run(name, style, verdict, source, table.version, note, table.raw)
            if style in models and run.label not in (table.not_run or ()):
                yield run
