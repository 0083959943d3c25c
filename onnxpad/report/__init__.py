"""The report of each command as frozen values, which `text` and `json` render."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from json import loads
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct, field

from onnxpad.errors import ValidationError, counted
from onnxpad.finding import Change, Counts, Finding, NextOption, Severity
from onnxpad.options import Configured, Options
from onnxpad.reasons import Reason
from onnxpad.report.documents import Document, View
from onnxpad.report.layout import Screen, text_of

if TYPE_CHECKING:
    from onnxpad.frameworks.repadding.results import Difference, Matching, Rewritten, Unchanged
    from onnxpad.inventory import PaddingSite
    from onnxpad.proving.pairs import Decision
    from onnxpad.validation.result import Validation


class Outcome(enum.StrEnum):
    """How `fix` ended."""

    UNCHANGED = "unchanged"
    FIXED = "fixed"
    FIXABLE = "fixable"  # --diff: a rewrite would be made
    INVALID = "invalid"  # the rewritten model does not compute what the original computes


UNTAKEN = frozenset({"PAD703", "PAD704"})
"""Codes of padding that a target computes wrongly, or rejects."""


class Delivery(Struct, frozen=True):
    """Delivery of a result: the files that a command wrote, and those that it did not.

    Attributes:
        in_memory: Whether it was a call from a program, which writes nothing itself.
        check: Whether only a diff was asked for, so that nothing is written.
        written: Path of the file written; empty if none was.
        older: Path of an older file in the place of a result that was not written; else empty.
        data: Paths of the external data written beside the file.
        replaced: Whether another file that differs lay in the place; known in runs over many.
        diff: The nodes that differ, as a unified diff; None unless it was asked for.
    """

    in_memory: bool = False
    check: bool = False
    written: str = ""
    older: str = ""
    data: tuple[str, ...] = ()
    replaced: bool = False
    diff: str | None = None


WORST = (70, 3, 2, 4, 5, 1, 0)
"""Exit codes, the worst first: a result that is wrong before a model that cannot be read."""
_EXIT_CODES = {"failed": 3, "invalid": 3, "not matched": 3, "nothing compared": 5}
"""The exit codes of outcomes, unless that is 0."""


class Report:
    """What every report can do: be told in blocks, or as text."""

    __slots__ = ()
    command: ClassVar[str]

    @property
    def exit_code(self) -> int:
        """What the command ends with: 3 for a wrong result, 5 for one not compared, else 0."""
        return _EXIT_CODES.get(getattr(self, "outcome", ""), 0)

    def document(self, view: View = "brief") -> Document:
        """The report in blocks: what fits a screen, or all that there is."""
        name = f"{self.command}_document"
        builders = import_module(f"onnxpad.report.documents.{name}")  # they know reports
        found: Document = getattr(builders, name)(self, view)
        return found

    def __init_subclass__(cls, **options: object) -> None:
        """Has `help` tell the attributes that a class has from those above."""
        super().__init_subclass__(**options)
        head, parts = "\n\n    Attributes:\n", [(c.__doc__ or "").rstrip() for c in cls.__mro__[:2]]
        (said, _, mine), (_, _, others) = (part.partition(head) for part in parts)
        if others:
            cls.__doc__ = said + head + "\n".join(filter(None, (mine, others)))

    def text(self, screen: Screen | None = None, view: View = "brief") -> str:
        """The report as text, by default of 80 columns."""
        return text_of(self.document(view), Screen() if screen is None else screen)

    def __str__(self) -> str:
        """The report that the command prints."""
        return self.text().rstrip("\n")

    def __repr__(self) -> str:
        """The class and the head of the report, in one line."""
        head, _, _ = self.text(Screen(None)).partition("\n\n")
        lines = (line.strip() for line in head.splitlines())
        return f"<{type(self).__name__}: {shorten('; '.join(lines), 180)}>"

    def _repr_html_(self) -> str:
        """The report that a terminal shows, for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"

    def to_html(self) -> str:
        """The whole report as one self-contained HTML page, as the command's `--html` writes it."""
        return str(import_module("onnxpad.page.document_page").page_of(self.document("full")))


class Judged(Report):
    """A result with which something may be wrong."""

    __slots__ = ()

    @property
    def failure(self) -> str:
        """Why it is not `ok`, in one line; else empty."""
        raise NotImplementedError

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; `failure` says what is."""
        return not self.failure

    def raise_for_failure(self) -> None:
        """Raises ValidationError, which says why, unless `ok`."""
        if self.failure:
            raise ValidationError(self.failure)


class Noted(Report, Struct, frozen=True, kw_only=True):
    """What every report on models may have beside its result.

    Attributes:
        notes: Sizes that the model's metadata records; of `validate` how models were compared.
        warnings: What could not be used or worked out, in one line each.
        config: The configuration that held; None for a call, or if there is none.
        html: Path of the page written; empty if none was asked for.
        seconds: Wall time; 0 where it is not measured.
        delivery: What was done with the result.
    """

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    config: Configured | None = None
    html: str = ""
    seconds: float = 0.0
    delivery: Delivery = Delivery(in_memory=True)

    @property
    def is_quiet_success(self) -> bool:
        """Whether nothing needs attention, so that `--quiet` leaves the report out."""
        warned = self.warnings or getattr(getattr(self, "validation", None), "warnings", ())
        warned = warned or getattr(getattr(self, "matching", None), "further", ())
        return not (self.exit_code or warned or getattr(self, "barred", ()) or self.delivery.older)


class FixReport(Noted, frozen=True):
    """The result of `fix` for one model.

    Attributes:
        name: Path of the model, as given, or the name of its graph.
        options: The options; the codes in them as they are written.
        changed: Whether the model differs from the original.
        validate: Whether a validation was asked for.
        changes: Every rewrite made, in order.
        findings: Padding that stays as it is, each with its reason.
        undone: Rewrites that were undone because they could not be proved or their probe differed.
        validation: The result of running both models; None without, and if nothing was changed.
        counts: The `Pad`s, operators with `auto_pad` and pools with `ceil_mode`, before and after.
        barred: Rewrites that were taken back because the model failed the validation with them.
        declared: Shapes of inputs, by name, that the model declares now and did not before.
        ranges: The ranges given, as `height 32..1024 in steps of 32`; recorded if they are needed.
        dims: The same by name of the dimension, as ranges.
    """

    command = "fix"
    name: str
    options: Options
    changed: bool
    validate: bool
    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]
    undone: tuple[Finding, ...]
    validation: Validation | None
    counts: tuple[Counts, Counts]
    barred: tuple[Finding, ...] = ()
    declared: Mapping[str, tuple[int | str | None, ...]] = field(default_factory=dict)
    ranges: str = ""
    dims: Mapping[str, range] = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome:
        """How it ended; decides the exit code."""
        if not self.changed:
            return Outcome.UNCHANGED
        if self.validation is not None and self.validation.outcome == "failed":
            return Outcome.INVALID
        return Outcome.FIXABLE if self.delivery.check else Outcome.FIXED

    @property
    def untaken(self) -> tuple[Finding, ...]:
        """The padding that is left and that a target asked for computes wrongly, or rejects."""
        return tuple(each for each in self.findings if each.code in UNTAKEN)

    @property
    def exit_code(self) -> int:
        """The first that holds: 3 validation failed, 5 nothing compared, 0 fixed or nothing to do.

        Before 5 comes 1: with `--diff` a rewrite would be made, or a target does not take the rest.
        """
        if self.outcome is Outcome.INVALID:
            return 3
        if self.untaken or (self.delivery.check and self.outcome is Outcome.FIXABLE):
            return 1
        verdict = self.validation.outcome if self.validation and not self.delivery.check else ""
        return 5 if verdict == "nothing compared" else 0

    @property
    def next(self) -> NextOption | None:
        """The option that would gain most on the padding that stays; None if none is known."""
        return None


class FileReport(Noted, frozen=True):
    """The result of `check` for one file.

    Attributes:
        path: The file, or the argument that could not be read; the name of a graph in memory.
        findings: Padding that `fix` would rewrite, and that stays, in the order of the graph.
        error: Why the file could not be read, in one line; empty if it could.
    """

    path: str = "model"
    findings: tuple[Finding, ...] = ()
    error: str = ""

    def site(self, node: str) -> PaddingSite | None:
        """The place of the padding that a finding on this node is about, if that is known."""
        return None

    def __repr__(self) -> str:
        """The class, the path, and how much was found."""
        path, found = shorten(repr(self.path), 150), counted(len(self.findings), "finding")
        return f"<{type(self).__name__}: {path}: {found}>"

    @property
    def remarks(self) -> list[tuple[Severity, str]]:
        """What is said of the file itself: the error, warnings and notes."""
        said = [(Severity.ERROR, self.error)] * bool(self.error)
        said += [(Severity.WARNING, each) for each in self.warnings]
        return said + [(Severity.INFO, each) for each in self.notes]

    def failing(self, fail_on: str | Sequence[str] = Severity.WARNING) -> tuple[Finding, ...]:
        """The findings at or above a severity, or of codes or their prefixes, but for infos.

        What a configuration that holds for this file says goes before what is given. What only
        tells which conventions fit has no severity here. Raises UsageError for other words.
        """
        own: Any = self.config.options if self.config else {}
        asked = [given := own.get("fail-on", fail_on)]
        if given not in [*Severity]:
            from onnxpad.rewrite.registry import failing_of  # it takes longer to import

            asked = failing_of(given).split(",")
        least = min((each.rank for each in Severity if each in asked), default=len(Severity))
        codes = tuple({*asked} - {*Severity})

        def fails(found: Finding) -> bool:
            is_named = found.code.startswith(codes) and found.severity is not Severity.INFO
            is_told = found.reason_code == Reason.CONVENTION_TOLD
            return is_named or (found.severity.rank >= least and not is_told)

        return tuple(filter(fails, self.findings))


class CheckReport(Noted, frozen=True):
    """The result of `check` for all files.

    Attributes:
        options: The options.
        fail_on: The least severity that fails the check, codes or prefixes of codes, with commas.
        files: One report for each file, sorted by path within each argument.
        convention: The framework whose padding was asked for; else empty.
        fix_command: What to type for the rewrites that `fix` would make; empty of a call.
    """

    command = "check"
    options: Options
    fail_on: str
    files: tuple[FileReport, ...]
    convention: str = ""
    fix_command: str = ""

    @property
    def exit_code(self) -> int:
        """2 when a file could not be read, 1 for findings that fail the check, else 0."""
        fails = any(file.failing(self.fail_on) for file in self.files)
        return 2 if any(file.error for file in self.files) else int(fails)

    @property
    def is_quiet_success(self) -> bool:
        """Never: `--quiet` still names configurations that may have come with a model."""
        return False


class FileOutcome(Struct, frozen=True):
    """The outcome of a command for one of many models.

    Attributes:
        path: The model, as it was named or found.
        exit_code: The exit code of the command for this model alone.
        outcome: That of its report, or an error, such as `unreadable` or `over the time limit`.
        line: The result in one line.
        codes: How many changes and findings have each code.
        seconds: Wall time.
        written: Paths of the files written: the model, and its external data.
        older: An older file that lies where the result would, if none was written; else empty.
        resumed: Whether it was known from an earlier run.
        warnings: Of its report and of its validation, and changes that this took back.
        stays: How much padding stays as it is, with what was undone.
        undone: How much of that was changed, and is as it was since the change is not proved.
        changes: How many changes were made; without any, a fixed model declares sizes alone.
        rests: What the changes rest on: the sizes of ranges, and assumptions.
        replaced: Whether its file took the place of another one that differs.
        next: The option that would gain most on that; empty if none would, or it was not asked.
        sizes: Without one, the options that give padding of open sizes constant amounts.
        config: The configuration that held.
        text: The whole report, as `--format json` prints it; empty after an error.
    """

    path: str
    exit_code: int
    outcome: str
    line: str
    codes: Mapping[str, int] = {}
    seconds: float = 0.0
    written: tuple[str, ...] = ()
    older: str = ""
    resumed: bool = False
    warnings: tuple[str, ...] = ()
    stays: int = 0
    undone: int = 0
    changes: int = 0
    rests: tuple[str, ...] = ()
    replaced: bool = False
    next: str = ""
    sizes: tuple[str, ...] = ()
    config: Configured | None = None
    text: str = ""

    def __repr__(self) -> str:
        """The class, the path, and the result, in one line."""
        told = shorten(f"{self.path!r}: {self.outcome}: {self.line}", 180)
        return f"<{type(self).__name__}: {told}>"

    @property
    def needs_attention(self) -> bool:
        """Whether `--quiet` tells it."""
        return bool(self.exit_code or self.older or (self.warnings and not self.resumed))

    @property
    def report(self) -> Mapping[str, object] | None:
        """The whole report as data; None after an error."""
        found: Mapping[str, object] | None = loads(self.text or "null")
        return found


class FolderReport(Report, Struct, frozen=True):
    """The result of a command for many models.

    Attributes:
        ran: The command.
        files: The outcomes: the worst first, then by path.
        others: Models below the folder for results that are no result of this run.
        html: Path of the page written; empty if none was asked for.
    """

    command = "folder"
    ran: str
    files: tuple[FileOutcome, ...]
    others: tuple[str, ...] = ()
    html: str = ""

    @property
    def exit_code(self) -> int:
        """The worst of all; 0 without any."""
        return min([0, *(each.exit_code for each in self.files)], key=WORST.index)

    def to_html(self) -> str:
        """The page, which the folder and the outcomes head."""
        builder = import_module("onnxpad.report.documents.folder_document")
        document = builder.folder_document(self, "full", paged=True)
        return str(import_module("onnxpad.page.document_page").page_of(document))

    @property
    def codes(self) -> Mapping[str, int]:
        """How many changes and findings have each code, in order."""
        return dict(sorted(sum((Counter(each.codes) for each in self.files), Counter()).items()))


class MatchReport(Noted, frozen=True):
    """The result of `match`.

    Attributes:
        name: Path of the model, as given, or the name of its graph.
        reference: Where the reference came from.
        inputs: Where the inputs came from; empty if the reference has them.
        matching: The verdict with all that was found and tried.
        given: The words of a command that give the reference and what else was given, if files.
    """

    command = "match"
    name: str
    reference: str
    inputs: str
    matching: Matching
    given: str = ""

    @property
    def outcome(self) -> str:
        """`matched`, `matches already` or `not matched`."""
        return self.matching.outcome


class RepadReport(Noted, frozen=True):
    """The result of `repad`.

    Attributes:
        name: Path of the model, as given, or the name of its graph.
        to: The framework, by name.
        title: The framework as it writes its name.
        changes: The operators whose padding became the framework's, in file order.
        unchanged: Those whose padding stays, with the reason.
        difference: How much the outputs change.
        declared: Shapes of inputs, by name, that the model declares now and did not before.
    """

    command = "repad"
    name: str
    to: str
    title: str
    changes: tuple[Rewritten, ...]
    unchanged: tuple[Unchanged, ...]
    difference: Difference
    declared: Mapping[str, tuple[int | str | None, ...]]

    @property
    def failure(self) -> str:
        """Why it does not run although the original does, in one line; else empty."""
        fails = self.difference.fails
        return f"with this padding the model does not run: {fails}" if fails else ""

    @property
    def outcome(self) -> str:
        """`repadded`, `unchanged`, or `invalid`: it does not run."""
        if self.failure:
            return "invalid"
        return "repadded" if self.changes else "unchanged"


class ValidationResult(Noted, Judged, frozen=True):
    """The result of `validate`.

    Attributes:
        original: Path of the original model, as given.
        rewritten: Path of the rewritten model; empty if there is none.
        inputs: Where the inputs came from; empty if they were drawn.
        reference: Where the reference came from; empty if there is none.
        providers: The execution providers that were used, by the runtime's names.
        validation: The verdict with all its figures.
        unproven: Comparisons that were asked for and not made, with the reason, a line each.
        next: The command that looks for the padding that reproduces the reference; else empty.
        proof: The proof that both compute the same at more sizes than were run, if there is one.
    """

    command = "validate"
    original: str
    rewritten: str
    inputs: str
    reference: str
    providers: tuple[str, ...]
    validation: Validation
    unproven: tuple[str, ...]
    next: str = ""
    proof: Decision | None = None

    @property
    def failure(self) -> str:
        """Why not everything asked for was compared and agreed, in one line; else empty."""
        from onnxpad.validation.result import why_not

        unproven, found = "; ".join(self.unproven), self.validation
        is_told = found.ok or (unproven and found.outcome == "nothing compared")
        return unproven if is_told else why_not(found)

    @property
    def outcome(self) -> str:
        """`passed`, `failed` or, also if a comparison is missing, `nothing compared`."""
        found = self.validation.outcome
        return "nothing compared" if found == "passed" and self.unproven else found


class ProveReport(Noted, frozen=True):
    """The result of `prove`.

    Attributes:
        original: Path of the original model, as given.
        rewritten: Path of the rewritten model.
        verdict: Whether they compute the same, with what that rests on.
    """

    command = "prove"
    original: str
    rewritten: str
    verdict: Decision

    @property
    def exit_code(self) -> int:
        """0 proved, 3 refuted, 5 undecided."""
        return {"proved": 0, "refuted": 3}.get(self.verdict.verdict, 5)


class ShowResult(Noted, frozen=True):
    """The result of `show`: every padding of a model, or those that were asked for.

    Attributes:
        sites: The operators that pad or could, and lone `Pad`s, in file order; those asked for.
        total: How many there are in the model.
        asked: The names and patterns asked for.
        conventions: Which framework's convention the padding fits, in a line.
        others: Findings of `check` about none of the sites.
        is_checked: Whether `check` could read the model, so that findings say what `fix` does.
        model: Path of the model as given; empty if it was given in memory.
        targets: The targets asked for.
    """

    command = "show"
    sites: tuple[PaddingSite, ...]
    total: int
    asked: tuple[str, ...]
    conventions: tuple[str, ...]
    others: tuple[Finding, ...]
    is_checked: bool
    model: str
    targets: tuple[str, ...] = ()
