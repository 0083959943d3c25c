"""Files that say what a runtime does with padding: the records that their tables are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args

from msgspec import Meta, Struct, field
from onnx.defs import has as has_operator

from onnxpad.errors import and_list, meant
from onnxpad.options import TYPED
from onnxpad.semantics.operators import OPERATORS
from onnxpad.targets import toml_file
from onnxpad.targets.form import DTYPES, OF_A_PAD, OF_PADS, UNSAID, Form
from onnxpad.targets.toml_file import Place, Problem

Verdict = Literal["right", "wrong", "rejected", "fallback", "unknown"]
"""The fate of a form: it runs, right or wrong; it does not run, or elsewhere; or unknown."""

VERDICTS = get_args(Verdict)

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


if TYPE_CHECKING:
    Topic = str
    Spelling = str
else:
    Topic = Literal[tuple(TOPICS)]
    Spelling = Literal[tuple(SPELLINGS)]

_OPTION = "|".join(re.escape(each.option) for each in TYPED.values())
Advice = Annotated[str, Meta(pattern=rf"^({_OPTION})( .*)?$")]
"""An option, with its value if it has one."""


class Condition(Struct, frozen=True, forbid_unknown_fields=True):
    """Values that a field of a form may have: some that are listed, or numbers in a range."""

    values: tuple[Value, ...] = ()
    least: int | None = field(default=None, name="min")
    most: int | None = field(default=None, name="max")

    def __post_init__(self) -> None:
        """Refuses what admits nothing, or everything."""
        ends = [each for each in (self.least, self.most) if each is not None]
        if not self.values and (not ends or ends[0] > ends[-1]):
            raise ValueError("this must be a range, such as { min = 2, max = 3 }")

    def admits(self, value: Value) -> bool:
        """Whether a field may have a value."""
        if self.values:
            return value in self.values
        return (self.least is None or int(value) >= self.least) and (
            self.most is None or int(value) <= self.most
        )


class Cell(Struct, frozen=True):
    """An answer: what a runtime does with the forms that fulfil all of some conditions.

    Attributes:
        source: Where that is written, or what was run.
        measured: Whether models that are written so were run.
        forms: The models that were run, as `FORM` or `FORM:STYLE`; of a cell that is not measured
            those that it is inferred from.
        limit: Whether no padding mends it: told, never a reason for a rewrite.
        advice: The option that mends it, such as `--shape`.
    """

    verdict: Verdict
    source: str = ""
    version: str = ""
    measured: bool = False
    forms: tuple[str, ...] = ()
    note: str = ""
    about: tuple[Topic, ...] = ()
    when: tuple[tuple[str, Condition], ...] = ()
    limit: bool = False
    advice: Advice = ""

    @property
    def known_by(self) -> str:
        """How it is known: `measured`, `inferred` from models written otherwise, `read`, or not."""
        if self.measured:
            return "measured"
        return "inferred" if self.forms else "read" if self.source else "no data"

    def covers(self, form: Form) -> bool:
        """Whether a form fulfils all conditions; an operator without a domain is ONNX's own."""
        names = {name for name, _ in self.when}
        is_other = bool(form.domain) and "op" in names and "domain" not in names
        return not is_other and all(
            condition.admits(getattr(form, name)) for name, condition in self.when
        )

    def is_about_pads(self, form: Form) -> bool:
        """Whether it answers for the `Pad`s in front of an operator, alone or beside that."""
        conditions = dict(self.when)
        if "op" in conditions and conditions["op"].admits("Pad"):
            return self.covers(form.pads_alone)
        return not OF_PADS.keys().isdisjoint(conditions) and self.covers(form)


def _values(name: str) -> Any:
    """What a condition on a field may be: a value, a list of values, or for numbers a range."""
    known = ("", *DTYPES.values()) if name == "dtype" else WORDS.get(name)
    kind: Any = Literal[known] if known else type(getattr(UNSAID, name))
    ranges = (Condition,) if kind is int else ()
    return Union[(kind, Annotated[list[kind], Meta(min_length=1)], *ranges)]


def _senseless(said: Mapping[str, Condition]) -> Iterator[tuple[str, str]]:
    """Operators of ONNX's that there are none of, and what no `Pad` has, by field."""
    if "domain" in said:
        return
    ops = said["op"].values if "op" in said else ()
    for op in ops:
        if not has_operator(str(op)):
            near = meant(op, ["Pad", *(name for domain, name in OPERATORS if not domain)])
            yield "op", f"ONNX has no operator {op!r}{near or '; name its domain beside it'}"
    for name in said.keys() - {"op", *OF_A_PAD} if ops == ("Pad",) else ():
        if not said[name].admits(getattr(UNSAID, name)):
            yield name, f"a Pad has no {name!r}; 'outer' is of its amounts"


def conditions(cell: Any) -> dict[str, Condition]:
    """The conditions of a cell in a file, by field."""
    given = {name: getattr(cell.when, name) for name in Form.__struct_fields__}
    return {name: _condition(each) for name, each in given.items() if each is not None}


def _condition(value: Any) -> Condition:
    if isinstance(value, Condition):
        return value
    return Condition(tuple(value) if isinstance(value, list) else (value,))


class Fact(Struct, frozen=True, forbid_unknown_fields=True):
    """A fact that was read of a runtime, and that no condition on a form can express."""

    text: str
    source: str = ""
    about: tuple[Topic, ...] = ()


Texts = tuple[str, ...]

_WHEN = toml_file.table("When", {}, {name: _values(name) for name in Form.__struct_fields__})
_CELL = toml_file.table(
    "Cell",
    {"when": _WHEN, "verdict": Verdict},
    {
        **dict.fromkeys(("source", "version", "note"), str),
        **dict.fromkeys(("limit", "measured", "exact"), bool),
        **dict.fromkeys(("forms", "of"), Texts),
        "about": tuple[Topic, ...],
        "advice": Advice,
    },
)
_GROUP = toml_file.table("Group", {"forms": Texts}, {"note": str, **dict.fromkeys(STYLES, Verdict)})
_MEASURED = toml_file.table(
    "Measured",
    {"version": str},
    {
        **dict.fromkeys(("variant", "title", "how", "date", "best"), str),
        "raw": bool,
        "not_run": Texts,
        "differs": toml_file.listed(_GROUP),
    },
)
_FILE = toml_file.table(
    "File",
    {"title": str},
    {
        **dict.fromkeys(("version", "read"), str),
        "spell": tuple[Spelling, ...],
        "notes": Texts,
        "cell": toml_file.listed(_CELL),
        "fact": tuple[Fact, ...],
        "measured": toml_file.listed(_MEASURED),
    },
)
"""All that a file may say; the manual's page on targets explains its keys."""

_KNOWN = {
    *(key for each in (_FILE, _CELL, Fact, _GROUP, _MEASURED, Condition, Form)
      for key in each.__struct_encode_fields__),
    *(word for words in (VERDICTS, SPELLINGS, TOPICS, DTYPES.values(), *WORDS.values())
      for word in words),
}  # fmt: skip


@cache
def tables_of(base: str) -> Any:
    """What a file that comes with the package says; tests look for what is unknown in it."""
    return toml_file.parsed(Path(f"{base}.toml"), _text_of(base), _FILE)


def _text_of(base: str) -> str:
    return (DATA / f"{base}.toml").read_text(encoding="utf-8")


@cache
def forms() -> Mapping[str, Mapping[str, Any]]:
    """The forms that were run on runtimes, by name: tables of `forms.toml`."""
    return toml_file.tables_in(DATA / "forms.toml", _text_of("forms"))


@cache
def sites() -> Mapping[tuple[str, str], tuple[Form, ...]]:
    """The sites of each model, by its form and style."""
    return {
        (name, style): tuple(Form(**site) for site in table[style])
        for name, table in forms().items()
        for style in STYLES
        if style in table
    }


def parsed(path: Path, text: str, forms: Collection[str]) -> Any:
    """What a file says.

    Args:
        path: The name of the file in errors.
        text: What is in it.
        forms: Names of the models that were run on runtimes.

    Raises:
        UsageError: It is no TOML, or has a key or value that means nothing: with the line.
    """
    return toml_file.parsed(path, text, _FILE, partial(_unknown, forms), known=_KNOWN)


def _unknown(forms: Collection[str], said: Any) -> Iterator[Problem]:
    """What a file speaks of, and that there is none of."""
    known = [(each.variant or "", each.version) for each in said.measured or ()]
    known += [("", said.version)] if said.version is not None else []  # that was read
    for index, cell in enumerate(said.cell or ()):
        for name, told in _senseless(conditions(cell)):
            yield ("cell", index, "when", name), told
        if cell.verdict != "unknown" and cell.forms is None and cell.source is None:
            yield ("cell", index), "'source' must be given: where it is written, or what was run"
        yield from _unknown_forms(forms, cell.forms or (), ("cell", index, "forms"))
        for each in cell.of or ():
            if not any(is_of(each, *one) for one in known):
                told = and_list([f"{variant}@{version}".strip("@") for variant, version in known])
                there = f"no version {each!r} is here{told and f', but {told}'}"
                yield ("cell", index, "of"), there
    for index, table in enumerate(said.measured or ()):
        yield from _unknown_forms(forms, table.not_run or (), ("measured", index, "not_run"))
        for group in table.differs or ():
            yield from _unknown_forms(forms, group.forms, ("measured", index, "differs"))


def _unknown_forms(forms: Collection[str], labels: Iterable[str], at: Place) -> Iterator[Problem]:
    for label in labels:
        name, colon, style = label.partition(":")
        if name not in forms:
            yield at, f"no form {name!r} is known{meant(name, forms)}"
        elif colon and style not in STYLES:
            yield at, f"there is no style {style!r}{meant(style, STYLES)}"


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
    >>> is_of("5", "", "5.0.0")
    True
    """
    named, at, number = wanted.rpartition("@")
    if not at and not numbers(number):
        named, number = number, ""
    return named == variant and (not number or is_version(number, version))
