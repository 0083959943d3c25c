"""The report of each command as frozen values, which `text` and `json` render."""

import enum
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from onnxpad.finding import Change, Counts, Finding, NextOption, Severity
from onnxpad.options import Options
from onnxpad.records import dataclass

if TYPE_CHECKING:
    from onnxpad.repadding.changes import Difference, Rewritten, Unchanged
    from onnxpad.repadding.verdict import Matching
    from onnxpad.validation.result import Validation


class Outcome(enum.StrEnum):
    """How `fix` ended."""

    UNCHANGED = "unchanged"
    FIXED = "fixed"
    FIXABLE = "fixable"  # --check: a rewrite would be made
    INVALID = "invalid"  # the rewritten model does not compute what the original computes

    @property
    def exit_code(self) -> int:
        """Exit code of the command line."""
        return {"unchanged": 0, "fixed": 0, "fixable": 1, "invalid": 3}[self.value]


@dataclass(frozen=True, slots=True)
class FixReport:
    """The result of `fix` for one model.

    Attributes:
        model: Path of the input, as given.
        asked: The options; the codes in them as they are written.
        outcome: How it ended; decides the exit code.
        written: Path of the file written; empty if none was.
        older: Path of an older file in the place of a result that was not written; else empty.
        check: Whether only a check or a diff was asked for, so that nothing is written.
        validate: Whether a validation was asked for.
        changes: The rewrites made.
        declared: Shapes of inputs, by name, that the result declares and the original did not.
        ranges: The sizes given as ranges, in words; the result does not declare them.
        dims: The same by name of the dimension.
        findings: Padding that stays as it is, with reasons.
        undone: Rewrites that were taken back, with reasons.
        barred: Rewrites taken back because the whole model failed the validation with them.
        validation: The verdict; None if nothing was validated.
        nodes_before: Nodes of the original model.
        nodes_after: Nodes of the result.
        seconds: Wall time.
        counts: What a person counts in the original, and in the result.
        in_memory: Whether it was a call from a program, which writes nothing by itself.
        data: Paths of the external data written beside the file.
        inline: Whether external data was to be put inside the file.
        diff: The nodes that differ, as a unified diff; None unless it was asked for.
        notes: Sizes taken from the model's metadata, a line each.
        warnings: Sizes in the model's metadata that cannot be used, a line each.
        html: Path of the page written; empty if none was asked for.
        next: The option that would gain most on what stays; None if none would.
    """

    model: str
    asked: Options
    outcome: Outcome
    written: str
    check: bool
    validate: bool
    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]
    undone: tuple[Finding, ...]
    validation: "Validation | None"
    nodes_before: int
    nodes_after: int
    seconds: float
    counts: tuple[Counts, Counts] = (Counts(), Counts())
    in_memory: bool = False
    older: str = ""
    barred: tuple[Finding, ...] = ()
    data: tuple[str, ...] = ()
    inline: bool = False
    declared: Mapping[str, tuple[int | str | None, ...]] = field(default_factory=dict)
    ranges: str = ""
    dims: Mapping[str, range] = field(default_factory=dict)
    diff: str | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    html: str = ""
    next: NextOption | None = None

    @property
    def exit_code(self) -> int:
        """0 fixed or nothing to do, 1 a rewrite would be made, 3 validation failed."""
        return self.outcome.exit_code

    @property
    def is_quiet_success(self) -> bool:
        """Whether nothing needs attention, so that `--quiet` leaves the report out."""
        warnings = self.warnings or (self.validation is not None and self.validation.warnings)
        return not (self.exit_code or warnings or self.barred or self.older)


@dataclass(frozen=True, slots=True)
class FileReport:
    """The result of `check` for one file.

    Attributes:
        path: The file, or the argument that could not be read.
        findings: The findings, in the order of the graph.
        failing: How many of them are at or above the severity that fails the check.
        error: Why the file could not be read, in one line; empty if it could.
        notes: Sizes taken from the model's metadata, a line each.
        warnings: Sizes in the model's metadata that cannot be used, a line each.
    """

    path: str
    findings: tuple[Finding, ...] = ()
    failing: int = 0
    error: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of `check` for all files.

    Attributes:
        style: The style asked for.
        fail_on: The least severity that fails the check.
        files: One report for each file, sorted by path within each argument.
        trust: Whose reading was to count where the engines disagree; else empty.
        convention: The framework whose padding was asked for; else empty.
        html: As for `FixReport`.
    """

    style: str
    fail_on: Severity
    files: tuple[FileReport, ...]
    trust: str = ""
    convention: str = ""
    html: str = ""

    @property
    def exit_code(self) -> int:
        """2 when a file could not be read, 1 for findings that fail the check, else 0."""
        if any(file.error for file in self.files):
            return 2
        return 1 if any(file.failing for file in self.files) else 0

    def count(self, severity: Severity) -> int:
        """How many findings have this severity."""
        return sum(f.severity is severity for file in self.files for f in file.findings)


@dataclass(frozen=True, slots=True)
class MatchReport:
    """The result of `match`.

    Attributes:
        model: Path of the model, as given.
        reference: Where the reference came from.
        inputs: Where the inputs came from; empty if the reference has them.
        matching: The verdict with all that was found and tried.
        written: Path of the model written; empty if none was.
        data: Data files written beside it.
        seconds: Wall time.
        partial: Whether a padding that explains a part was asked for.
        in_memory: As for `FixReport`.
    """

    model: str
    reference: str
    inputs: str
    matching: "Matching"
    written: str
    data: tuple[str, ...]
    seconds: float
    partial: bool = False
    in_memory: bool = False

    @property
    def exit_code(self) -> int:
        """0 if the model reproduces the reference, as it was or as changed, else 3."""
        return 0 if self.matching.outcome in {"matched", "matches already"} else 3

    @property
    def is_quiet_success(self) -> bool:
        """As for `FixReport`."""
        return not self.exit_code


@dataclass(frozen=True, slots=True)
class RepadReport:
    """The result of `repad`.

    Attributes:
        model: Path of the model, as given.
        to: The framework, by name.
        title: The framework as it writes its name.
        reference: Where the reference came from; empty if there is none.
        changes: The operators whose padding changed.
        unchanged: Those whose padding stays, with the reason.
        difference: How much the outputs change.
        validation: The comparison with the reference; None without one.
        failure: Why the result is not what was asked for, in one line; else empty.
        declared: Shapes of inputs newly declared, by name.
        written: Path of the model written; empty if none was.
        older: A file already there that was not replaced; empty if there is none.
        data: Data files written beside it.
        seconds: Wall time.
        notes: Sizes taken from the model's metadata, a line each.
        warnings: Sizes in the model's metadata that cannot be used, a line each.
        in_memory: As for `FixReport`.
    """

    model: str
    to: str
    title: str
    reference: str
    changes: "tuple[Rewritten, ...]"
    unchanged: "tuple[Unchanged, ...]"
    difference: "Difference"
    validation: "Validation | None"
    failure: str
    declared: Mapping[str, tuple[int | str | None, ...]]
    written: str
    older: str
    data: tuple[str, ...]
    seconds: float
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    in_memory: bool = False

    @property
    def outcome(self) -> str:
        """`repadded`, `unchanged`, or `invalid`: it does not run, or reproduce the reference."""
        if self.failure:
            return "invalid"
        return "repadded" if self.changes else "unchanged"

    @property
    def exit_code(self) -> int:
        """0, or 3 if it is invalid."""
        return 3 if self.failure else 0

    @property
    def is_quiet_success(self) -> bool:
        """As for `FixReport`."""
        warnings = self.warnings or (self.validation is not None and self.validation.warnings)
        return not (self.exit_code or warnings or self.older)


@dataclass(frozen=True, slots=True)
class ValidateReport:
    """The result of `validate`.

    Attributes:
        original: Path of the original model, as given.
        rewritten: Path of the rewritten model; empty if there is none.
        inputs: Where the inputs came from; empty if they were drawn.
        reference: Where the reference came from; empty if there is none.
        providers: The execution providers used.
        validation: The verdict with all figures.
        unproven: Comparisons that were asked for and not made, with the reason, a line each.
        seconds: Wall time.
        next: The command that looks for the padding that reproduces the reference; empty if there
            is none to look for.
        html: As for `FixReport`.
    """

    original: str
    rewritten: str
    inputs: str
    reference: str
    providers: tuple[str, ...]
    validation: "Validation"
    unproven: tuple[str, ...]
    seconds: float
    next: str = ""
    html: str = ""

    @property
    def ok(self) -> bool:
        """Whether everything asked for was compared and agreed."""
        return self.validation.ok and not self.unproven

    @property
    def outcome(self) -> str:
        """`passed`, `failed` or, also if a comparison is missing, `nothing compared`."""
        found = self.validation.outcome
        return "nothing compared" if found == "passed" and self.unproven else found

    @property
    def exit_code(self) -> int:
        """0 if everything was compared and agrees, else 3."""
        return 0 if self.ok else 3

    @property
    def is_quiet_success(self) -> bool:
        """As for `FixReport`."""
        return not (self.exit_code or self.validation.warnings)
