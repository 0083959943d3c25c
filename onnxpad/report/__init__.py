"""What a command has to say, as frozen values; `text` and `json` render them."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnxpad.finding import Change, Finding, Severity

if TYPE_CHECKING:
    from onnxpad.validation.result import Validation


class Outcome(enum.StrEnum):
    """How `fix` ended."""

    UNCHANGED = "unchanged"
    FIXED = "fixed"
    FIXABLE = "fixable"  # --check: a rewrite would be made
    INVALID = "invalid"  # the rewritten model does not compute what the original computes

    @property
    def exit_code(self) -> int:
        """What the command line exits with."""
        return {"unchanged": 0, "fixed": 0, "fixable": 1, "invalid": 3}[self.value]


@dataclass(frozen=True, slots=True)
class FixReport:
    """What `fix` did to one model.

    Attributes:
        model: Path of the input, as given.
        style: The style asked for.
        dynamic: What was asked for of padding that depends on an open size.
        outcome: How it ended; decides the exit code.
        written: Path of the file written, empty where none was.
        older: Path of a file that is where none was written now, and stays; empty where none is.
        check: Whether only a check or a diff was asked for, so that nothing is written.
        validate: Whether a validation was asked for.
        changes: The rewrites made.
        declared: The shapes of inputs, by name, that the result declares and the model did not.
        ranges: The sizes that were given as ranges, which the result does not declare.
        dims: The same by name of the dimension.
        findings: What stays as it is, with reasons.
        undone: Rewrites that were taken back, with reasons.
        barred: Rewrites that were taken back for what the model as a whole then computed.
        validation: The verdict; None where nothing was validated.
        nodes_before: Nodes of the original model.
        nodes_after: Nodes of the result.
        seconds: Wall time.
        data: Paths of the external data written beside the file.
        inline: Whether external data was to come inside the file.
        diff: The nodes that differ, as a unified diff; None where it was not asked for.
        notes: How sizes were taken, a line each.
        warnings: What could not be used, a line each.
    """

    model: str
    style: str
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
    older: str = ""
    barred: tuple[Finding, ...] = ()
    data: tuple[str, ...] = ()
    inline: bool = False
    dynamic: str = "keep"
    declared: Mapping[str, tuple[int | str | None, ...]] = field(default_factory=dict)
    ranges: str = ""
    dims: Mapping[str, range] = field(default_factory=dict)
    diff: str | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 fixed or nothing to do, 1 a rewrite would be made, 3 validation failed."""
        return self.outcome.exit_code


@dataclass(frozen=True, slots=True)
class FileReport:
    """What `check` found in one file.

    Attributes:
        path: The file, or the argument that could not be read.
        findings: What was found, in the order of the graph.
        failing: How many of them are at or above the severity that fails the check.
        error: Why the file could not be read, in one line; empty where it could.
        notes: How sizes were taken, a line each.
        warnings: What could not be used, a line each.
    """

    path: str
    findings: tuple[Finding, ...] = ()
    failing: int = 0
    error: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What `check` found in everything it was given.

    Attributes:
        style: The style asked for.
        fail_on: The least severity that fails the check.
        files: One report a file, sorted by path within each argument.
    """

    style: str
    fail_on: Severity
    files: tuple[FileReport, ...]

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
class ValidateReport:
    """What `validate` found.

    Attributes:
        original: Path of the original model, as given.
        rewritten: Path of the rewritten one; empty where there is none.
        inputs: Where the inputs came from; empty where they were drawn.
        reference: Where the reference came from; empty where there is none.
        providers: The execution providers used.
        validation: The verdict with all figures.
        unproven: Why something asked for was not compared, a line each.
        seconds: Wall time.
    """

    original: str
    rewritten: str
    inputs: str
    reference: str
    providers: tuple[str, ...]
    validation: "Validation"
    unproven: tuple[str, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether all was compared and nothing speaks against the model."""
        return self.validation.ok and not self.unproven

    @property
    def outcome(self) -> str:
        """`passed`, `failed` or, where there is no evidence of either, `nothing compared`."""
        if self.validation.outcome == "nothing compared":
            return "nothing compared"
        return "passed" if self.ok else "failed"

    @property
    def exit_code(self) -> int:
        """0 everything agrees, 3 it does not or was not compared."""
        return 0 if self.ok else 3
