"""One runtime: what it does with each form of padding, read in its source or measured."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import filter as fitting
from functools import cache, cached_property
from itertools import chain, takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct, ValidationError, convert, field, to_builtins
from msgspec.structs import fields, force_setattr, replace
from onnx.defs import has as has_operator

from onnxpad.errors import meant
from onnxpad.finding import Trust
from onnxpad.options import TYPED, Dynamic, Style
from onnxpad.semantics.operators import OPERATORS
from onnxpad.targets.form import DTYPES, SELDOM, USUAL, Form
from onnxpad.toml_file import invalid

Verdict = Literal["wrong", "rejected", "fallback", "unknown", "right"]
"""The fate of a form: it runs, wrong or right; it does not run, or elsewhere; or unknown."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)  # all of them, the worst first

Spelling = Literal[
    "kernel_shape", "write_pads", "no_count_include_pad", "write_count_include_pad", "value",
    "no_output_padding", "no_valid", "no_axes", "no_value", "typed_amounts", "initializers",
    "no_declared_sizes", "no_empty_fill",
]  # fmt: skip
"""Ways to write the same graph that a runtime may insist on; the manual explains each."""
DATA = Path(__file__).parent / "data"  # the files that come with the package
_CHOICES = {"--style": Style, "--dynamic": Dynamic, "--trust": Trust}
_OPTIONS = [each.option for each in TYPED.values() if each.option not in _CHOICES]
_OPTIONS += [f"{option} {value}" for option, kind in _CHOICES.items() for value in kind]
Texts = tuple[str, ...]


class Range(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Numbers from the least to the most, of which one may be left open."""

    least: int = field(default=-1, name="min")
    most: int = field(default=1 << 30, name="max")

    def __contains__(self, value: int | Range) -> bool:
        """Whether a number, or each of another range, is one of them."""
        if isinstance(value, Range):
            return self.least <= value.least and value.most <= self.most
        return self.least <= value <= self.most

    def __str__(self) -> str:
        """The ends in words, as `from 2 to 3`."""
        ends = {"min": "from", "max": "to"}
        return " ".join(f"{ends[end]} {number}" for end, number in to_builtins(self).items())


def _some(kind: Any) -> Any:
    """The type of what a field may be: a value, some that are listed, or numbers in a range."""
    some = kind | Annotated[tuple[kind, ...], Meta(min_length=1)]
    return some | Range if kind is int else some


_OF_ATTRIBUTE = {"ceil_mode": "ceil", "dilations": "dilated", "group": "grouped", "value": "fill"}
_AMOUNTS = "amount", "outer_amount"
_KINDS = {each.name: _some(each.type) for each in fields(Form)}
_KINDS["dtype"] = _some(Literal["", *DTYPES.values()])


def _checked(when: Mapping[str, Any]) -> dict[str, Any]:
    """Conditions on fields of a form, each a list of values or a range; else a ValueError."""
    found = dict[str, Any]()
    for name, said in when.items():
        if name not in _KINDS:
            near = meant(_OF_ATTRIBUTE.get(name, name), _KINDS)
            raise ValueError(f"a form has no {name!r}{near or ';'} onnxpad docs targets lists all")
        try:
            each = convert(said, _KINDS[name])
        except ValidationError as error:
            raise ValueError(f"{name!r}: {invalid(error, _KINDS[name])[1]}") from None
        if isinstance(each, Range) and each.least > each.most:
            raise ValueError(f"{name!r}: no number is {each}")
        found[name] = each if isinstance(each, tuple | Range) else (each,)
    for op in () if "domain" in found else found.get("op", ()):
        if not has_operator(op):
            near = meant(op, [name for domain, name in OPERATORS if not domain])
            raise ValueError(f"ONNX has no {op!r}{near or '; name its domain beside it'}")
    return found


def _values(said: Any) -> Any:
    """The values of a condition, of which a range is one."""
    return said if isinstance(said, tuple) else (said,)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value) or "none"


class Cell(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, eq=False, dict=True):
    """What a runtime does with forms; inferred from models, its `forms`; `about` are its topics."""

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
        if (said := self.advice) and {said, said.partition(" ")[0]}.isdisjoint(_OPTIONS):
            raise ValueError(f"'advice': there is no option {said!r}{meant(said, _OPTIONS)}")
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
        """The forms that it is about, as `op Conv or Pad, rank from 2, raw true`."""
        told = [f"{n} {' or '.join(map(_word, _values(said)))}" for n, said in self.when.items()]
        told += [f"like {' or '.join(self.like)}"] * bool(self.like)
        return ", ".join([*told, *["all else as usual"] * self.exact]) or "every form"

    def why(self, form: Form) -> str:
        """Why it is so of a form that it covers: the note, or the values that the form has."""
        own = {n: (getattr(form, n),) for n, said in self.when.items() if isinstance(said, tuple)}
        held = {n: each for n, each in own.items() if each[0] in self.when[n]}
        return self.note or replace(self, when=self.when | held).text

    def precedes(self, other: Cell) -> bool:
        """Whether it is about fewer forms than another cell, known as well, by their conditions."""
        both = self.measured == other.measured and self._within(other)
        return both and not other._within(self)

    def _within(self, other: Cell) -> bool:
        foreign = "op" in other.when and "domain" in self.when.keys() - other.when.keys()
        if foreign or other.exact or other.like not in {(), self.like}:
            return False
        each = (one in said for n, said in other.when.items() for one in _values(self.when[n]))
        return other.when.keys() <= self.when.keys() and all(each)

    def covers(self, form: Form, *, exactly: bool = True) -> bool:
        """Whether a form fulfils all conditions; what is not right of a `Pad` is so of each."""
        said = self.when
        if said.get("op") == ("Pad",) != (form.op,) and form.pad and self.verdict != "right":
            form = replace(form, op="Pad", domain="", rank=form.rank + 2, amount=form.outer_amount)
        if form.domain and "op" in said and "domain" not in said:
            return False
        when = USUAL | said if self.exact else said
        is_like = not self.like or form.key(exactly=exactly) in self._keys
        return is_like and all(getattr(form, name) in when[name] for name in when)

    @cached_property
    def _keys(self) -> frozenset[tuple[object, ...]]:
        labels = {label for each in self.like for label in fitting(sites(), each)}
        found = [form for label in labels for form in sites()[label]]
        return frozenset(form.key(exactly=each) for form in found for each in (True, False))


class Fact(Struct, frozen=True, forbid_unknown_fields=True):
    """A fact that was read of a runtime, and that no condition on a form can express."""

    text: str
    source: str = ""
    about: Texts = ()


class Standing(Struct, frozen=True):
    """How many forms a target computes rightly: as given, and in their best style; how many ran."""

    forms: int
    given: int
    best: int
    models: int


class Target(Struct, frozen=True, forbid_unknown_fields=True, eq=False, dict=True):
    """A runtime in one version, as its file has it, named without it; cells are asked in order."""

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

    def beside(self, cell: Cell, form: Form) -> list[Cell]:
        """Other cells that cover a form that one does, down to one that says it is right."""
        found = takewhile(lambda e: e.verdict != "right", (e for e in self.cells if e.covers(form)))
        return [e for e in found if e.measured == cell.measured and e.verdict == cell.verdict]

    def cell(self, form: Form) -> Cell:
        """The answer of the first cell that covers a form; a window without padding is taken.

        Models also answer for forms that differ in what seldom counts, unless a cell speaks of it.
        Nothing is known where sizes decide an amount with which the answer changes.
        """
        ways = [form]  # with each amount that cells tell apart, of those that it can have
        for side, name in zip(("pads", "outer"), _AMOUNTS, strict=True):
            if getattr(form, side) == "open":
                names = _AMOUNTS if form.op == "Pad" else (name,)
                amounts = [each for each in self._amounts if each <= getattr(form, name)]
                ways = [replace(e, **dict.fromkeys(names, at)) for e in ways for at in amounts]
        found = [*map(self._cell, ways)]
        return found[0] if len({each.verdict for each in found}) == 1 else OPEN

    @cached_property
    def _amounts(self) -> frozenset[int]:
        """The least amount, and those at which conditions begin to hold or end to."""
        said = (_values(each.when.get(name, ())) for each in self.cells for name in _AMOUNTS)
        ranges = [each if isinstance(each, Range) else Range(each, each) for each in chain(*said)]
        return frozenset({0, *(end for each in ranges for end in (each.least, each.most + 1))})

    def _cell(self, form: Form) -> Cell:
        found = next((cell for cell in self.cells if cell.covers(form)), UNKNOWN)
        if not (found.measured or SELDOM & found.when.keys()):
            like = (cell for cell in self.cells if cell.like and cell.covers(form, exactly=False))
            found = next(like, found)
        return TAKEN if found.verdict == "unknown" and form.pads_nothing else found

    @cached_property
    def standing(self) -> Standing:
        """How many of the forms it computes rightly, and how many models were run on it."""
        right, models = set[str](), 0
        for label, found in sites().items():
            replies = [(form, self.cell(form)) for form in found]
            if all(cell.verdict == "right" for _, cell in replies):
                right.add(label)
            models += bool(found) and all(cell.measured and cell.covers(f) for f, cell in replies)
        best = {label.partition(":")[0] for label in right}
        return Standing(len(forms()), len(right & best), len(best), models)


REST = Cell(verdict="right", when={}, source="no cell says what is right: what none covers is")
TAKEN = Cell(verdict="right", when={}, source="it does not pad")
UNKNOWN = Cell(verdict="unknown", when={}, note="nothing is known of this form")
OPEN = Cell(verdict="unknown", when={}, note="sizes decide whether its amounts are taken")


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
