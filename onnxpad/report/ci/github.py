"""The report of `check` as annotations of GitHub Actions."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.errors import and_list, counted
from onnxpad.finding import Severity
from onnxpad.report import CheckReport, FileReport
from onnxpad.report.ci import relative
from onnxpad.report.documents.check_document import finding_text
from onnxpad.report.text import labelled, shown

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
MOST = 10
"""Annotations of one level that GitHub takes from a step."""


def check_github(report: CheckReport, *, quiet: bool = False) -> str:
    """Workflow commands, errors first, and one line with the number of those that do not fit.

    If it is to be `quiet`, only what fails the check is told.
    """
    told = [each for file in report.files for each in _annotations(file, report, quiet=quiet)]
    lines, left = list[str](), list[str]()
    for level, command in _COMMANDS.items():
        found = [text for severity, text in told if severity is level]
        lines += (f"::{command} {text}" for text in found[:MOST])
        left += [counted(len(found) - MOST, level)] * (len(found) > MOST)
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
            yield level, f"{place}::{_data(shown(text.replace(file.path, relative(file.path))))}"
    for each in file.failing(report.fail_on) if quiet else file.findings:
        title = _property(f"{each.code} {labelled(each)}")
        yield each.severity, f"{place},title={title}::{_data(finding_text(each))}"


def _data(text: str) -> str:
    """A text behind the command, as GitHub reads it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """A value among the properties of a command."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
