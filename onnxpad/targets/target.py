"""One runtime: what it does with each form of padding, read in its source or measured."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import filter as fitting
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct, ValidationError, convert, field, to_builtins
from msgspec.structs import fields, force_setattr, replace
from onnx.defs import has as has_operator

from onnxpad.errors import and_list, meant
from onnxpad.options import TYPED
from onnxpad.semantics.operators import OPERATORS
from onnxpad.targets.form import DTYPES, SELDOM, USUAL, Form
from onnxpad.targets.toml_file import invalid

Verdict = Literal["wrong", "rejected", "fallback", "unknown", "right"]
"""The fate of a form: it runs, wrong or right; it does not run, or elsewhere; or unknown."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""All of them, the worst first."""

Spelling = Literal[
    "kernel_shape", "write_pads", "no_count_include_pad", "write_count_include_pad", "value",
    "no_output_padding", "no_valid", "no_axes", "no_value", "typed_amounts", "initializers",
    "no_declared_sizes", "no_empty_fill",
]  # fmt: skip
"""Ways to write the same graph that a runtime may insist on; the manual explains each."""

DATA = Path(__file__).parent / "data"
"""The folder of the files that come with the package."""

_OPTIONS = [each.option for each in TYPED.values()]

Texts = tuple[str, ...]


class Range(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Numbers from the least to the most, of which one may be left open."""

    least: int = field(default=-1, name="min")
    most: int = field(default=1 << 30, name="max")

    def __contains__(self, value: object) -> bool:
        """Whether a number, or each of another range, is one of them."""
        if isinstance(value, Range):
            return self.least <= value.least and value.most <= self.most
        return isinstance(value, int) and self.least <= value <= self.most

    def __str__(self) -> str:
        """The ends in words, as `from 2 to 3`."""
        ends = {"min": "from", "max": "to"}
        return " ".join(f"{ends[end]} {number}" for end, number in to_builtins(self).items())


def _some(kind: Any) -> Any:
    """The type of what a field may be: a value, some that are listed, or numbers in a range."""
    some = kind | Annotated[tuple[kind, ...], Meta(min_length=1)]
    return some | Range if kind is int else some


_CALLED = {"ceil_mode": "ceil", "dilations": "dilated", "group": "grouped", "value": "fill"}
"""Attributes and inputs by the fields that tell of them under another name."""

_KINDS = {each.name: _some(each.type) for each in fields(Form)}


def _checked(when: Mapping[str, Any]) -> dict[str, Any]:
    """Conditions on the fields of a form, each a list of values or a range.

    Raises:
        ValueError: There is no such field, value, operator or type.
    """
    found = dict[str, Any]()
    for name, said in when.items():
        if name not in _KINDS:
            near = meant(_CALLED.get(name, name), _KINDS)
            raise ValueError(f"a form has no {name!r}{near or ';'} onnxpad docs targets lists all")
        try:
            each = convert(said, _KINDS[name])
        except ValidationError as error:
            raise ValueError(f"{name!r}: {invalid(error, _KINDS[name])[1]}") from None
        found[name] = each if isinstance(each, tuple | Range) else (each,)
    ops, dtypes = (found.get(name, ()) for name in ("op", "dtype"))
    for op in () if "domain" in found else ops:
        if not has_operator(op):
            near = meant(op, [name for domain, name in OPERATORS if not domain])
            raise ValueError(f"ONNX has no {op!r}{near or '; name its domain beside it'}")
    for dtype in {*dtypes} - {"", *DTYPES.values()}:
        near = meant(dtype, DTYPES.values())
        raise ValueError(f"there is no type {dtype!r}{near}; known are {and_list(DTYPES.values())}")
    return found


def _each(said: Any) -> Any:
    """A condition as values, or as one range."""
    return (said,) if isinstance(said, Range) else said


def _text(said: Any) -> str:
    words = (str(each).lower() if isinstance(each, bool) else str(each) for each in _each(said))
    return " or ".join(each or "none" for each in words)


class Cell(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, eq=False, dict=True):
    """An answer: what a runtime does with the forms that fulfil all of some conditions.

    The manual's page on targets explains the keys. Beside those, `forms` are the models that it is
    inferred from, `about` its topics, and `version` that in which it was found.
    """

    verdict: Verdict
    when: dict[str, Any]
    source: str = ""
    version: str = ""
    measured: bool = False
    like: Texts = ()
    forms: Texts = ()
    note: str = ""
    about: Texts = ()
    limit: bool = False
    advice: str = ""
    exact: bool = False

    def __post_init__(self) -> None:
        """Refuses what has no source, and conditions and models that there are not."""
        force_setattr(self, "when", _checked(self.when))
        if not (self.verdict == "unknown" or self.source or self.forms):
            raise ValueError("'source' must be given: where it is written, or what was run")
        if self.advice and (option := self.advice.partition(" ")[0]) not in _OPTIONS:
            raise ValueError(f"'advice': there is no option {option!r}{meant(option, _OPTIONS)}")
        for each in self.like:
            if not fitting(sites(), each):
                raise ValueError(f"no model {each!r} was run{meant(each, sites())}")

    @property
    def known_by(self) -> str:
        """How it is known: `measured`, `inferred` from models written otherwise, `read`, or not."""
        if self.measured:
            return "measured"
        return "inferred" if self.forms else "read" if self.source else "no data"

    @property
    def text(self) -> str:
        """The forms that it is about, as a file writes them.

        >>> when = {"op": ("Conv", "Pad"), "rank": Range(2), "raw": True}
        >>> Cell(verdict="unknown", when=when).text
        'op Conv or Pad, rank from 2, raw true'
        """
        told = [f"{name} {_text(said)}" for name, said in self.when.items()]
        told += [f"like {' or '.join(self.like)}"] * bool(self.like)
        return ", ".join([*told, *["all else as usual"] * self.exact]) or "every form"

    def precedes(self, other: Cell) -> bool:
        """Whether it is about fewer forms than another cell, known as well, by their conditions."""
        both = self.measured == other.measured and self._within(other)
        return both and not other._within(self)

    def _within(self, other: Cell) -> bool:
        if other.exact or other.like not in {(), self.like}:
            return False
        if "op" in other.when and "domain" in self.when.keys() - other.when.keys():
            return False
        pairs = ((said, self.when.get(name, (None,))) for name, said in other.when.items())
        return all(each in said for said, own in pairs for each in _each(own))

    def covers(self, form: Form, *, exactly: bool = True) -> bool:
        """Whether a form fulfils all conditions; an operator without a domain is ONNX's own.

        What is not right of a `Pad` is so of each, also in front of an operator.
        """
        said = self.when
        if said.get("op") == ("Pad",) != (form.op,) and form.pad and self.verdict != "right":
            form = replace(form, op="Pad", domain="", rank=form.rank + 2)
        if form.domain and "op" in said and "domain" not in said:
            return False
        when = USUAL | said if self.exact else said
        is_like = not self.like or form.key(exactly=exactly) in self._keys
        return is_like and all(getattr(form, name) in when[name] for name in when)

    @cached_property
    def _keys(self) -> frozenset[tuple[object, ...]]:
        """The keys, exact or not, of the forms in the models that it is like."""
        labels = {label for each in self.like for label in fitting(sites(), each)}
        found = [form for label in labels for form in sites()[label]]
        return frozenset(form.key(exactly=each) for form in found for each in (True, False))


class Fact(Struct, frozen=True, forbid_unknown_fields=True):
    """A fact that was read of a runtime, and that no condition on a form can express."""

    text: str
    source: str = ""
    about: Texts = ()


class Standing(Struct, frozen=True):
    """How many of the forms a target computes rightly: as they are given, and in their best style.

    `models` are those of which this was measured.
    """

    forms: int
    given: int
    best: int
    models: int


class Target(Struct, frozen=True, forbid_unknown_fields=True, eq=False, dict=True):
    """A runtime in one version, and all that is known of it, as its file has it.

    The manual's page on targets explains the keys. The name is as it is typed, without the version:
    `opencv-classic`. Cells are asked in order.
    """

    title: str
    version: str = ""
    read: str = ""
    spell: tuple[Spelling, ...] = ()
    notes: Texts = ()
    cells: tuple[Cell, ...] = field(default=(), name="cell")
    facts: tuple[Fact, ...] = field(default=(), name="fact")
    name: str = ""

    @property
    def full_name(self) -> str:
        """The name with the version, as in `opencv@5.0.0`."""
        return f"{self.name}@{self.version}" if self.version else self.name

    @property
    def measured(self) -> bool:
        """Whether any of its answers was measured."""
        return any(each.measured for each in self.cells)

    def cell(self, form: Form) -> Cell:
        """The answer for a form: of the first cell that covers it; else it is unknown.

        Models also answer for forms that differ from theirs in what seldom counts, unless a cell
        speaks of just that. A window that does not pad is taken unless it is known not to be.
        """
        found = next((cell for cell in self.cells if cell.covers(form)), UNKNOWN)
        if not (found.measured or SELDOM & found.when.keys()):
            like = (cell for cell in self.cells if cell.like and cell.covers(form, exactly=False))
            found = next(like, found)
        return TAKEN if found.verdict == "unknown" and form.pads_nothing else found

    @cached_property
    def standing(self) -> Standing:
        """How many of the forms it computes rightly, and how many models were run on it."""
        answers = {
            label: [(form, self.cell(form)) for form in found] for label, found in sites().items()
        }
        right = [
            label.partition(":")
            for label, replies in answers.items()
            if all(cell.verdict == "right" for _, cell in replies)
        ]
        models = (
            all(cell.measured and cell.covers(form) for form, cell in replies)
            for replies in filter(None, answers.values())
        )
        given, best = sum(not style for _, style, _ in right), len({form for form, _, _ in right})
        return Standing(len(forms()), given, best, sum(models))


REST = Cell(verdict="right", when={}, source="no cell of the file says what is right")
TAKEN = Cell(verdict="right", when={}, source="it does not pad")
UNKNOWN = Cell(verdict="unknown", when={}, note="nothing is known of this form")


@cache
def forms() -> Mapping[str, Mapping[str, Any]]:
    """The forms that were run on runtimes, by name: tables of `forms.toml`."""
    return tomllib.loads((DATA / "forms.toml").read_text(encoding="utf-8"))


@cache
def sites() -> Mapping[str, tuple[Form, ...]]:
    """The forms in each model, by its name: `FORM` as given, or `FORM:STYLE`."""
    return {
        name if style == "given" else f"{name}:{style}": tuple(Form(**site) for site in written)
        for name, table in forms().items()
        for style, written in table.items()
        if style != "about"
    }
