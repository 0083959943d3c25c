"""One runtime: what it does with each form of padding, read in its source or measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.errors import counted
from onnxpad.targets.form import BESIDE, Form
from onnxpad.targets.target_file import Cell as Cell
from onnxpad.targets.target_file import Fact as Fact
from onnxpad.targets.target_file import Verdict, sites

Signature = tuple[object, ...]
"""Fields of a form that runtimes may be expected to heed, or the others."""

_SELDOM = BESIDE | {"fill"}
"""Fields in which models may differ from a form that they answer for."""

_WORST_FIRST: Sequence[Verdict] = ("wrong", "rejected", "fallback", "unknown", "right")


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
    spell: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    by_user: bool = False

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
        beside = replace(form, raw=False).beside
        close = [run for run, others in runs if beside in others]
        read = self._read(form)
        names = {name for name, _ in read.when} if read else set()
        if close or (runs and not names & _SELDOM):
            found = _measured_cell(close or [run for run, _ in runs])
            is_worse = read is not None and read.measured and _rank(read) < _rank(found)
            return read if read is not None and is_worse else found
        return read or Cell("unknown", version=self.version, note="nothing is known of this form")

    def _read(self, form: Form) -> Cell | None:
        """The first cell of a form, or that of the `Pad`s in front of it where that is worse."""
        found = next((cell for cell in self.cells if cell.covers(form)), None)
        if not self.by_user or not form.pad or form.op == "Pad":
            return found
        front = next((cell for cell in self.cells if cell.is_about_pads(form)), None)
        if front is None:
            return found
        rest = found or Cell("right" if form.behind_pads.pads_nothing else "unknown")
        return min(front, rest, key=_rank)

    @property
    def full_name(self) -> str:
        """The name with the version, as in `opencv@5.0.0`."""
        return f"{self.name}@{self.version}" if self.version else self.name


class Run(Struct, frozen=True):
    """A model that was run: a form in one of `target_file.STYLES`, and what became of it.

    `source` is what it ran on, the note an error or how far results were off, and `raw` says
    whether amounts were stored as bytes, if that makes a difference.
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


def _rank(cell: Cell | Run) -> int:
    return _WORST_FIRST.index(cell.verdict)


def _measured_cell(runs: Iterable[Run]) -> Cell:
    """The answer of models that are written alike: the worst."""
    ranked = sorted(runs, key=_rank)
    worst = ranked[0]
    note = worst.note
    if right := sum(run.verdict == "right" for run in ranked):
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
    for run in target.runs:
        read = sites().get((run.form, run.style), ())
        counts = alone if len(read) == 1 else among
        beside: dict[Signature, set[Signature]] = {}
        for form in read:
            beside.setdefault(form.signature, set()).add(replace(form, raw=False).beside)
        for signature, rest in beside.items():
            counts.setdefault(signature, []).append((run, rest))
    return among | alone
