"""One runtime: what it does with each form of padding, read in its source or measured."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from onnxpad.errors import UsageError
from onnxpad.messages import counted, meant
from onnxpad.records import NamedTuple, dataclass
from onnxpad.targets.form import BESIDE, Form
from onnxpad.targets.target_file import STYLES, Value, parsed

Verdict = Literal["right", "wrong", "rejected", "fallback", "unknown"]
"""The fate of a form: it runs, right or wrong; it does not run, or elsewhere; or unknown."""

Signature = tuple[object, ...]
"""Fields of a form that runtimes may be expected to heed, or the others."""

_SELDOM: Final = BESIDE | {"fill"}
"""Fields in which models may differ from a form that they answer for."""

_WORST_FIRST: Final[Sequence[Verdict]] = ("wrong", "rejected", "fallback", "unknown", "right")

ALIASES: Final = {
    "trt": "tensorrt",
    "onnx-tensorrt": "tensorrt",
    "ort": "onnxruntime-cpu",
    "onnxruntime": "onnxruntime-cpu",
    "ort-cuda": "onnxruntime-cuda",
    "cuda": "onnxruntime-cuda",
    "ort-web": "onnxruntime-web-wasm",
    "onnxruntime-web": "onnxruntime-web-wasm",
    "wasm": "onnxruntime-web-wasm",
    "jsep": "onnxruntime-web-jsep",
    "webgpu": "onnxruntime-webgpu",
    "ov": "openvino",
    "dml": "directml",
    "opencv-dnn": "opencv",
    "cv2": "opencv",
    "opencv-4": "opencv@4",
    "opencv-5": "opencv@5",
    "opencv-5-classic": "opencv-classic@5",
    "onnxruntime-qnn": "qnn",
    "ncnn": "ncnn-pnnx",
    "pnnx": "ncnn-pnnx",
    "onnx2ncnn": "ncnn-onnx2ncnn",
    "burn-onnx": "burn",
    "candle-onnx": "candle",
    "tflite": "onnx2tf",
    "litert": "onnx2tf",
    "onnx2tf-1": "onnx2tf@1",
    "emx": "emx-onnx-cgen",
    "sentis": "unity",
    "unity-inference-engine": "unity",
    "paddle": "x2paddle",
    "rockchip": "rknn",
}
"""Other names that people type, by the name of the target that each means."""


class Condition(NamedTuple):
    """Values that a field of a form may have: some that are listed, or numbers in a range.

    Attributes:
        values: Those that are listed; empty for a range.
        least: The smallest number of a range, if it has one.
        most: The greatest, if it has one.
    """

    values: tuple[Value, ...] = ()
    least: int | None = None
    most: int | None = None

    def admits(self, value: Value) -> bool:
        """Whether a field may have a value."""
        if self.values:
            return value in self.values
        return (self.least is None or int(value) >= self.least) and (
            self.most is None or int(value) <= self.most
        )


@dataclass(frozen=True, slots=True)
class Cell:
    """An answer: what a runtime does with the forms that fulfil some conditions.

    Attributes:
        verdict: What it does.
        source: Where that is written, or what was run.
        version: The version that was read or run; empty if unknown.
        measured: Whether models that are written so were run.
        forms: The models that were run, as `FORM` or `FORM:STYLE`; of a cell that is not measured
            those that it is inferred from.
        note: What a person should know: the error, the difference, or the exact case.
        about: Topics of `target_file.TOPICS` that it answers.
        when: Conditions by field of a form; a form fulfils all of them.
        limit: Whether no padding mends it: told, never a reason for a rewrite.
        advice: The option that mends it, such as `--shape`.
    """

    verdict: Verdict
    source: str = ""
    version: str = ""
    measured: bool = False
    forms: tuple[str, ...] = ()
    note: str = ""
    about: tuple[str, ...] = ()
    when: tuple[tuple[str, Condition], ...] = ()
    limit: bool = False
    advice: str = ""

    @property
    def known_by(self) -> str:
        """How it is known: `measured`, `inferred` from models written otherwise, `read`, or not."""
        if self.measured:
            return "measured"
        return "inferred" if self.forms else "read" if self.source else "no data"

    def covers(self, form: Form) -> bool:
        """Whether a form fulfils all conditions."""
        return all(condition.admits(getattr(form, name)) for name, condition in self.when)


class Fact(NamedTuple):
    """A fact that was read of a runtime, and that no condition on a form can express.

    Attributes:
        text: The fact.
        source: Where it is written.
        about: Topics of `target_file.TOPICS` that it belongs to.
    """

    text: str
    source: str = ""
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A runtime in one version, and all that is known of it.

    Attributes:
        name: As it is typed, without a version: `opencv-classic`.
        title: As a person reads it.
        version: What was measured, else what was read; empty if unknown.
        measured: Whether models were run in this version.
        read: The sources that were read, with their date or commit.
        cells: Answers in the order in which they are asked, without those of models.
        runs: What became of each model that was run.
        facts: What no cell can say.
        spell: Spellings of `target_file.SPELLINGS` that it insists on.
        notes: What a person should know.
        instead: That another version was asked for, of which nothing is known; empty if none was.
    """

    name: str
    title: str
    version: str = ""
    measured: bool = False
    read: str = ""
    cells: tuple[Cell, ...] = ()
    runs: tuple[Run, ...] = ()
    facts: tuple[Fact, ...] = ()
    spell: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    instead: str = ""

    def cell(self, form: Form) -> Cell:
        """The answer for a form: as measured, else as read, else unknown.

        Models answer for a form only if they are written alike. Where all of them differ from it in
        what seldom counts (`form.BESIDE`), a cell that speaks of just that comes first; and of two
        that were measured the worse.
        """
        runs = [
            (run, beside)
            for run, beside in _by_signature(self).get(form.signature, ())
            if run.raw is None or not form.pad or form.raw == run.raw
        ]
        beside = form._replace(raw=False).beside
        close = [run for run, others in runs if beside in others]
        read = next((cell for cell in self.cells if cell.covers(form)), None)
        names = {name for name, _ in read.when} if read else set()
        if close or (runs and not names & _SELDOM):
            found = _measured_cell(close or [run for run, _ in runs])
            is_worse = read is not None and read.measured and _is_worse(read, found)
            return read if read is not None and is_worse else found
        return read or Cell("unknown", version=self.version, note="nothing is known of this form")

    @property
    def full_name(self) -> str:
        """The name with the version, as in `opencv@5.0.0`."""
        return f"{self.name}@{self.version}" if self.version else self.name


class Run(NamedTuple):
    """A model that was run on a runtime.

    Attributes:
        form: The name of the form.
        style: How it was written, one of `target_file.STYLES`.
        verdict: What became of it.
        source: What it ran on.
        version: In which version.
        note: The error, or how far results were off.
        raw: Whether amounts were stored as bytes, if that makes a difference.
    """

    form: str
    style: str
    verdict: Verdict
    source: str
    version: str
    note: str = ""
    raw: bool | None = None

    @property
    def label(self) -> str:
        """The name of the model."""
        return self.form if self.style == "given" else f"{self.form}:{self.style}"


def _is_worse(one: Cell, other: Cell) -> bool:
    return _WORST_FIRST.index(one.verdict) < _WORST_FIRST.index(other.verdict)


def _measured_cell(runs: Iterable[Run]) -> Cell:
    """The answer of models that are written alike: the worst."""
    ranked = sorted(runs, key=lambda run: _WORST_FIRST.index(run.verdict))
    worst = ranked[0]
    alike = [run for run in ranked if run.verdict == worst.verdict]
    note = "; ".join(dict.fromkeys(run.note for run in alike if run.note))
    right = sum(run.verdict == "right" for run in ranked)
    if right:
        told = f"right on {counted(right, 'model')} measured"
        note = f"{note} ({told})" if worst.verdict != "right" and note else note or told
    forms = tuple(run.label for run in ranked)
    return Cell(worst.verdict, worst.source, worst.version, measured=True, forms=forms, note=note)


@cache
def _by_signature(target: Target) -> Mapping[Signature, list[tuple[Run, set[Signature]]]]:
    """Runs by the signature of each site in their models, with the rest of those sites.

    A model of several sites that fails may fail at any of them, so it counts for a site only where
    no model has that site alone.
    """
    alone: dict[Signature, list[tuple[Run, set[Signature]]]] = {}
    among: dict[Signature, list[tuple[Run, set[Signature]]]] = {}
    sites = _sites()
    for run in target.runs:
        read = sites.get((run.form, run.style), ())
        counts = alone if len(read) == 1 else among
        beside: dict[Signature, set[Signature]] = {}
        for form in read:
            beside.setdefault(form.signature, set()).add(form._replace(raw=False).beside)
        for signature, rest in beside.items():
            counts.setdefault(signature, []).append((run, rest))
    return among | alone


def forms() -> Mapping[str, Mapping[str, Any]]:
    """The forms that were run on runtimes, by name: tables of `forms.toml`."""
    return _tables("forms")


@cache
def _sites() -> Mapping[tuple[str, str], tuple[Form, ...]]:
    """The sites of each model, by its form and style."""
    return {
        (name, style): tuple(Form(**site) for site in table[style])
        for name, table in forms().items()
        for style in STYLES
        if style in table
    }


class Standing(NamedTuple):
    """How many of the forms a target computes rightly.

    Attributes:
        forms: The number of forms that were run, or of all for a target that was only read.
        given: Those that are right as they are.
        best: Those that are right in one of their styles at least.
        models: The number of models that were run; 0 for a target that was only read.
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
    for form, style, is_right in _read_answers(target) if not target.runs else _run_answers(target):
        best[form] = best.get(form, False) or is_right
        if style == "given":
            given[form] = given.get(form, True) and is_right
    return Standing(len(best), sum(given.values()), sum(best.values()), len(target.runs))


def _run_answers(target: Target) -> Iterator[tuple[str, str, bool]]:
    for run in target.runs:
        yield run.form, run.style, run.verdict == "right"


def _read_answers(target: Target) -> Iterator[tuple[str, str, bool]]:
    for (form, style), sites in _sites().items():
        yield form, style, {target.cell(site).verdict for site in sites} == {"right"}


def known() -> list[str]:
    """Names of all targets, one for each variant."""
    return [
        name
        for path in sorted(_DATA.glob("*.toml"))
        if path.stem != "forms"
        for name in _variants(path.stem, _tables(path.stem))
    ]


def versions(name: str) -> list[str]:
    """The versions of a target that were measured, the newest first."""
    base, variant, _ = _parts(name)
    return [table["version"] for table in _configurations(_tables(base), variant)]


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
        UsageError: Nothing has this name, or the file cannot be read or is not as it should be.
    """
    text = str(name)
    path, _, version = (text, "", "") if text.endswith(".toml") else text.rpartition("@")
    if path.endswith(".toml"):
        return _made(Path(path).stem, "", version, _own(Path(path)))
    return _built_in(text)


@cache
def _built_in(name: str) -> Target:
    base, variant, version = _parts(name)
    return _made(base, variant, version, _tables(base))


_DATA: Final = Path(__file__).parent / "data"


@cache
def _tables(base: str) -> dict[str, Any]:
    return tomllib.loads((_DATA / f"{base}.toml").read_text(encoding="utf-8"))


def _own(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: this is no text in UTF-8, as TOML must be") from None
    return parsed(path, text, forms())


def _parts(text: str) -> tuple[str, str, str]:
    """The file, variant and version that a name means."""
    typed, _, version = text.lower().partition("@")
    aliased, _, implied = ALIASES.get(typed, typed).partition("@")
    version = version or implied
    for path in sorted(_DATA.glob("*.toml"), key=lambda path: -len(path.stem)):
        base = path.stem
        if base != "forms" and (aliased == base or aliased.startswith(f"{base}-")):
            variant = aliased[len(base) + 1 :]
            if aliased in _variants(base, _tables(base)):
                return base, variant, version
    names = [*known(), *ALIASES]
    raise UsageError(
        f"no target is called {typed!r}{meant(typed, names)} (onnxpad targets lists them)"
    )


def _variants(base: str, tables: Mapping[str, Any]) -> list[str]:
    """Names of the variants in a file."""
    variants = dict.fromkeys(table.get("variant", "") for table in tables.get("measured", ()))
    return [f"{base}-{each}" if each else base for each in variants or {"": None}]


def _configurations(tables: Mapping[str, Any], variant: str) -> list[Mapping[str, Any]]:
    """Tables of measurements of a variant, the newest first."""
    found = [each for each in tables.get("measured", ()) if each.get("variant", "") == variant]
    return sorted(found, key=lambda table: _numbers(table["version"]), reverse=True)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def _is_version(wanted: str, known: str) -> bool:
    """Whether a version is meant, whole or by its first numbers.

    >>> _is_version("5", "5.0.0"), _is_version("5.1", "5.0.0"), _is_version("latest", "5.0.0")
    (True, False, False)
    """
    numbers = _numbers(wanted)
    return wanted == known or bool(numbers and numbers == _numbers(known)[: len(numbers)])


def _nearest(wanted: str, versions: Sequence[str]) -> str:
    """The version with the longest common head; of those the one with the least distance."""
    numbers = _numbers(wanted)

    def distance(version: str) -> tuple[int, ...]:
        own = _numbers(version)
        pairs = zip(numbers, own, strict=False)
        common = next((i for i, (a, b) in enumerate(pairs) if a != b), len(numbers))
        at = slice(common, common + 1)
        return (-common, *(abs(a - b) for a, b in zip(numbers[at], own[at], strict=False)))

    return min(versions, key=distance)


def _made(base: str, variant: str, version: str, tables: Mapping[str, Any]) -> Target:
    name = f"{base}-{variant}" if variant else base
    ran = _configurations(tables, variant)
    instead = ""
    chosen = ran[0]["version"] if ran else tables.get("version", "")
    if version and ran:
        chosen = _nearest(version, [table["version"] for table in ran])
        if not _is_version(version, chosen):
            instead = f"{version} was not measured; the nearest version that was is {chosen}"
    elif version and not _is_version(version, chosen):
        instead = f"{version} was not read; what is known is of {chosen or tables['read']}"
    measured = [table for table in ran if table["version"] == chosen]
    titles = [table["title"] for table in measured if "title" in table]
    return Target(
        name=name,
        title=titles[0] if titles else tables["title"],
        version=chosen,
        measured=any("differs" in table for table in measured),
        read=tables.get("read", ""),
        cells=tuple(_cells(tables, variant, chosen)),
        runs=tuple(run for table in measured for run in _runs(table, tables["title"])),
        facts=tuple(
            Fact(each["text"], each.get("source", ""), tuple(each.get("about", ())))
            for each in tables.get("fact", ())
        ),
        spell=tuple(tables.get("spell", ())),
        notes=tuple(tables.get("notes", ())),
        instead=instead,
    )


def _cells(tables: Mapping[str, Any], variant: str, version: str) -> Iterator[Cell]:
    """The cells of a file that speak of one configuration, those of runs first."""
    for table in sorted(tables.get("cell", ()), key=lambda table: not table.get("measured", False)):
        if "of" in table and not any(_is_of(each, variant, version) for each in table["of"]):
            continue
        yield Cell(
            verdict=table["verdict"],
            source=table.get("source", ""),
            version=table.get("version", tables.get("version", "")),
            measured=table.get("measured", False),
            forms=tuple(table.get("forms", ())),
            note=table.get("note", ""),
            about=tuple(table.get("about", ())),
            when=tuple((key, _condition(value)) for key, value in _when(table).items()),
            limit=table.get("limit", False),
            advice=table.get("advice", ""),
        )


def _when(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The conditions of a cell; of an exact one, fields that it does not name are as usual."""
    return {**_USUAL, **table["when"]} if table.get("exact", False) else table["when"]


_USUAL: Final = {
    name: value
    for name, value in Form("")._asdict().items()
    if name not in BESIDE - {"grouped", "uneven", "even"}
}


def _is_of(wanted: str, variant: str, version: str) -> bool:
    """Whether a cell speaks of a configuration: by its variant, its version, or both.

    >>> [_is_of(each, "classic", "5.0.0") for each in ("classic", "classic@5", "5", "classic@4")]
    [True, True, False, False]
    >>> _is_of("5", "", "5.0.0")
    True
    """
    named, at, number = wanted.rpartition("@")
    if not at and not _numbers(number):
        named, number = number, ""
    return named == variant and (not number or _is_version(number, version))


def _condition(value: Any) -> Condition:
    if isinstance(value, dict):
        return Condition(least=value.get("min"), most=value.get("max"))
    return Condition(tuple(value) if isinstance(value, list) else (value,))


def _runs(table: Mapping[str, Any], title: str) -> Iterator[Run]:
    """Each model that was run in a configuration: right unless the table says otherwise."""
    if "differs" not in table:
        return
    source, version, raw = table.get("title", title), table["version"], table.get("raw")
    told = {
        (form, style): (group[style], group.get("note", ""))
        for group in table.get("differs", ())
        for form in group["forms"]
        for style in STYLES
        if style in group
    }
    left_out = set(table.get("not_run", ()))
    for name, models in forms().items():
        for style in STYLES:
            verdict, note = told.get((name, style), ("right", ""))
            run = Run(name, style, verdict, source, version, note, raw)
            if style in models and run.label not in left_out:
                yield run
