"""What a command has to say, as frozen values; `text` and `json` render them.

Imports `finding` and `verdict`.
"""

import enum
from dataclasses import dataclass

from onnxpad.finding import Change, Finding, Severity
from onnxpad.verdict import Validation


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
        outcome: How it ended; decides the exit code.
        written: Path of the file written, empty where none was.
        check: Whether only a check was asked for, so that nothing is written.
        validate: Whether a validation was asked for.
        changes: The rewrites made.
        findings: What stays as it is, with reasons.
        undone: Rewrites that were taken back, with reasons.
        validation: The verdict; None where nothing was validated.
        nodes_before: Nodes of the original model.
        nodes_after: Nodes of the result.
        seconds: Wall time.
        data: Paths of the external data written beside the file.
        inline: Whether external data was to come inside the file.
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
    validation: Validation | None
    nodes_before: int
    nodes_after: int
    seconds: float
    data: tuple[str, ...] = ()
    inline: bool = False

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
    """

    path: str
    findings: tuple[Finding, ...] = ()
    failing: int = 0
    error: str = ""


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
