"""The report of `check` as annotations of GitHub Actions."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.errors import and_list, counted
from onnxpad.finding import Severity
from onnxpad.report import CheckReport, FileReport
from onnxpad.report.ci import relative, without_folders
from onnxpad.report.documents.check_document import finding_text
from onnxpad.report.text import labelled, shown

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
MOST = 10
"""Annotations of one level that GitHub takes from a step."""


def check_github(report: CheckReport, *, quiet: bool = False) -> str:
    """Workflow commands, errors first, and one line with the number of those that do not fit.

    The models take turns, so that each is seen.

    Args:
        report: The report.
        quiet: Whether only what fails the check is told.
    """
    files = [[*_annotations(file, report, quiet=quiet)] for file in report.files]
    lines, left = list[str](), list[str]()
    for level, command in _COMMANDS.items():
        by_file = ([text for severity, text in told if severity is level] for told in files)
        found = [each for told in by_file for each in enumerate(told)]
        in_turn = [text for _, text in sorted(found, key=lambda each: each[0])]
        lines += (f"::{command} {text}" for text in in_turn[:MOST])
        left += [counted(len(in_turn) - MOST, level)] * (len(in_turn) > MOST)
    if left:
        lines.append(f"GitHub shows {MOST} of each level a step; not shown: {and_list(left)}")
    return "".join(f"{line}\n" for line in lines)


def _annotations(
    file: FileReport, report: CheckReport, *, quiet: bool
) -> Iterator[tuple[Severity, str]]:
    """The annotations of a file, each with its level and without its command."""
    place = f"file={_property(shown(relative(file.path)))}"
    for level, text in file.remarks:
        if level is not Severity.INFO:
            yield level, f"{place}::{_data(shown(without_folders(text, file.path)))}"
    for each in file.failing(report.fail_on) if quiet else file.findings:
        title = _property(f"{each.code} {labelled(each)}")
        yield each.severity, f"{place},title={title}::{_data(finding_text(each))}"


def _data(text: str) -> str:
    """A text behind the command, as GitHub reads it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """A value among the properties of a command."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
