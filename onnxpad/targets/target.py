"""One runtime: what it does with each form of padding, read in its source or measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from onnxpad.options import TYPED
from onnxpad.targets.form import BESIDE, OF_PADS, Form

Verdict = Literal["wrong", "rejected", "fallback", "unknown", "right"]
"""The fate of a form: it runs, wrong or right; it does not run, or elsewhere; or unknown."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""All of them, the worst first."""

_OPTION = "|".join(re.escape(each.option) for each in TYPED.values())
_MOST = 1 << 30
_SELDOM = BESIDE | {"fill"}
"""Fields in which models may differ from a form that they answer for."""

Texts = tuple[str, ...]
Value = str | int | bool


class Range(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Numbers from the least to the most, of which one may be left open."""

    least: int = field(default=-1, name="min")
    most: int = field(default=_MOST, name="max")

    def __post_init__(self) -> None:
        """Refuses what admits nothing, or everything."""
        if not -1 <= self.least <= self.most or (self.least, self.most) == (-1, _MOST):
            raise ValueError("this must be a range, such as { min = 2, max = 3 }")

    def __contains__(self, value: object) -> bool:
        """Whether a number is one of them."""
        return isinstance(value, int) and self.least <= value <= self.most


Said = Value | tuple[Value, ...] | Range
"""What a field may be: a value, some that are listed, or numbers in a range."""


def admitted(said: Said) -> tuple[Value, ...] | Range:
    """The values that a field may have."""
    return said if isinstance(said, tuple | Range) else (said,)


class Cell(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, eq=False):
    """An answer: what a runtime does with the forms that fulfil all of some conditions.

    Attributes:
        source: Where that is written, or what was run.
        measured: Whether models that are written so were run.
        forms: The models that were run, as `FORM` or `FORM:STYLE`; of a cell that is not measured
            those that it is inferred from.
        when: What fields of a form may be, by their names.
        limit: Whether no padding mends it: told, never a reason for a rewrite.
        advice: The option that mends it, such as `--shape`.
        exact: Whether fields that it does not name must be as usual.
        of: The variants and versions that it is about, as `is_of` reads them; all if empty.
    """

    verdict: Verdict
    source: str = ""
    version: str = ""
    measured: bool = False
    forms: Texts = ()
    note: str = ""
    about: Texts = ()
    when: dict[str, Said]
    limit: bool = False
    advice: Annotated[str, Meta(pattern=rf"^({_OPTION})( .*)?$")] = ""
    exact: bool = False
    of: Texts = ()

    @property
    def known_by(self) -> str:
        """How it is known: `measured`, `inferred` from models written otherwise, `read`, or not."""
        if self.measured:
            return "measured"
        return "inferred" if self.forms else "read" if self.source else "no data"

    def covers(self, form: Form) -> bool:
        """Whether a form fulfils all conditions; an operator without a domain is ONNX's own."""
        is_other = form.domain and "op" in self.when and "domain" not in self.when
        return not is_other and all(
            getattr(form, name) in admitted(said) for name, said in self.when.items()
        )

    def covers_pads(self, form: Form) -> bool:
        """Whether it answers for the `Pad`s in front of an operator, alone or beside that."""
        if "Pad" in admitted(self.when.get("op", "")):
            return self.covers(form.pads_alone)
        return not OF_PADS.keys().isdisjoint(self.when) and self.covers(form)


class Fact(Struct, frozen=True, forbid_unknown_fields=True):
    """A fact that was read of a runtime, and that no condition on a form can express."""

    text: str
    source: str = ""
    about: Texts = ()


class Run(Struct, frozen=True, eq=False):
    """A model that was run: a form in one of `known_targets.STYLES`, and what became of it.

    `sites` are the forms in it. `source` is what it ran on, the note an error or how far results
    were off, and `raw` says whether amounts were stored as bytes, if that makes a difference.
    """

    form: str
    style: str
    verdict: Verdict
    source: str
    version: str
    note: str = ""
    raw: bool | None = None
    sites: tuple[Form, ...] = ()

    @property
    def label(self) -> str:
        """The name of the model."""
        return self.form if self.style == "given" else f"{self.form}:{self.style}"


class Target(Struct, frozen=True, eq=False):
    """A runtime in one version, measured or else read, and all that is known of it.

    Its name is as it is typed, without the version: `opencv-classic`. Cells are asked in order. In
    a target by a user, a cell about a `Pad` is about each of them, wherever it stands.
    """

    name: str
    title: str
    version: str = ""
    measured: bool = False
    read: str = ""
    cells: tuple[Cell, ...] = ()
    runs: tuple[Run, ...] = ()
    facts: tuple[Fact, ...] = ()
    spell: Texts = ()
    notes: Texts = ()
    by_user: bool = False

    @property
    def full_name(self) -> str:
        """The name with the version, as in `opencv@5.0.0`."""
        return f"{self.name}@{self.version}" if self.version else self.name

    @property
    def is_measured(self) -> bool:
        """Whether any of its answers was measured."""
        return self.measured or any(each.measured for each in self.cells)

    def cell(self, form: Form) -> Cell:
        """The answer for a form: as measured, else as read, else unknown.

        Models answer for a form only if they are written alike. Where all of them differ from it in
        what seldom counts (`form.BESIDE`), a cell that speaks of just that comes first; and of two
        that were measured the worse.
        """
        read = self._read(form)
        runs = [
            (run, beside)
            for run, beside in _by_signature(self).get(form.signature, {}).items()
            if run.raw is None or not form.pad or form.raw == run.raw
        ]
        close = [run for run, beside in runs if form.beside in beside]
        if close or (runs and not (read and _SELDOM & read.when.keys())):
            found = _measured_cell(*(close or [run for run, _ in runs]))
            is_worse = read is not None and read.measured and _rank(read) < _rank(found)
            return read if read is not None and is_worse else found
        return read or UNKNOWN

    def _read(self, form: Form) -> Cell | None:
        """The first cell of a form, or that of the `Pad`s in front of it where that is worse."""
        found = next((cell for cell in self.cells if cell.covers(form)), None)
        if not self.by_user or not form.pad or form.op == "Pad":
            return found
        front = next((cell for cell in self.cells if cell.covers_pads(form)), None)
        bare = RIGHT if replace(form, **OF_PADS).pads_nothing else UNKNOWN
        return found if front is None else min(front, found or bare, key=_rank)


RIGHT = Cell(verdict="right", when={})
UNKNOWN = Cell(verdict="unknown", note="nothing is known of this form", when={})


def _rank(it: Cell | Run) -> int:
    return VERDICTS.index(it.verdict)


@cache
def _measured_cell(*runs: Run) -> Cell:
    """The answer of models that are written alike: the worst."""
    first, *others = sorted(runs, key=_rank)
    return Cell(
        verdict=first.verdict,
        source=first.source,
        version=first.version,
        measured=True,
        forms=(first.label, *(run.label for run in others)),
        note=first.note,
        when={},
    )


@cache
def _by_signature(target: Target) -> Mapping[object, Mapping[Run, set[object]]]:
    """Runs by the signature of each site in their models, with the rest of those sites.

    A model of several sites that fails may fail at any of them, so it counts for a site only where
    no model has that site alone.
    """
    alone: dict[object, dict[Run, set[object]]] = {}
    among: dict[object, dict[Run, set[object]]] = {}
    for run in target.runs:
        counts = alone if len(run.sites) == 1 else among
        for form in run.sites:
            of_form = counts.setdefault(form.signature, {})
            of_form.setdefault(run, set()).add(form.beside)
    return among | alone
