"""The document of `check`: what `fix` would rewrite, and what stays, grouped by reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from onnxpad.errors import without_names
from onnxpad.finding import Finding, Severity
from onnxpad.options import Options
from onnxpad.reasons import Reason
from onnxpad.report import CheckReport, FileReport
from onnxpad.report.documents import Document, Group, View
from onnxpad.report.layout import UNBREAKABLE, UNBROKEN, Screen, by_path, marked
from onnxpad.report.text import (
    configurations,
    counted,
    explained,
    first_names,
    for_targets,
    grouped,
    labelled,
    remarks,
    shown,
)

LINES_A_GROUP = 20

_ABOUT_CONVENTIONS = frozenset({Reason.CONVENTION_TOLD, Reason.FRAMEWORK_CONVENTION})


def check_document(report: CheckReport, view: View = "brief") -> Document:
    """Sections for each file, and one for all.

    Padding that merely stays is listed in full, or where it fails the check or its codes were asked
    for; else it is counted.
    """
    files = report.files
    count = sum(not file.is_missing for file in files)
    failing = [each for file in files for each in file.failing(report.fail_on)]
    code = explained(failing or [each for file in files for each in file.findings])
    goal = for_targets(report.options.targets)
    said = [f"{counted(count, 'file')}{goal}: {severities(report)}"]
    shorter = tuple(brief(file, report.options, report.fail_on) for file in files)
    if view == "brief" and shorter != files:
        said.append("--verbose lists what stays")
    said.append(marked(code, "faint") * bool(code))
    if fixable := sum(each.fixable for file in files for each in file.findings):
        with_what = report.fix_command or "onnxpad.fix and the same options"
        said.append(f"{fixable:,} fixable with {with_what.replace(' ', UNBREAKABLE)}")
    of_all = [*configurations(each.config for each in files), "; ".join(filter(None, said))]
    groups = [*findings_groups(files if view == "full" else shorter)]
    groups += [
        Group(shown(each.path), [shown(each.error)])
        for each in files
        if each.error and view == "full"
    ]
    groups.append(Group("", of_all))
    title = files[0].path if len(files) == 1 else f"{count:,} models"
    return Document("check", title, groups)


def brief(file: FileReport, options: Options, fail_on: Severity) -> FileReport:
    """A file without padding that merely stays, unless that fails or codes were asked for."""
    if options.select:
        return file
    told = {*map(id, file.failing(fail_on))}
    listed = (e for e in file.findings if e.severity is not Severity.INFO or id(e) in told)
    return replace(file, findings=tuple(listed))


def findings_groups(files: Sequence[FileReport]) -> Iterator[Group]:
    """The findings of each file, errors before warnings, and remarks at last.

    Each has a line; those that stay for one reason share one.
    """
    for file in files:
        found = sorted(file.findings, key=lambda each: -each.severity.rank)
        lines = [
            line for group in grouped(found, lambda each: each.severity) for line in _lines(group)
        ]
        if lines := [*lines, *remarks(file)]:
            yield Group(shown(file.path), lines)


def findings_text(files: Sequence[FileReport], screen: Screen = UNBROKEN) -> str:
    """The findings of files as text; empty if there are none.

    On a terminal they stand below the path, else each has one line that begins with the path.
    """
    return "".join(by_path(group, screen) for group in findings_groups(files))


def severities(report: CheckReport) -> str:
    """The number of findings of each severity, such as `2 warnings, 1 info`."""
    missing = sum(file.is_missing for file in report.files)
    unreadable = sum(bool(file.error) for file in report.files) - missing
    counts = [(counted(report.count(each), each), each, report.count(each)) for each in Severity]
    counts = [
        *reversed(counts),
        (f"{unreadable:,} unreadable", Severity.ERROR, unreadable),
        (f"{counted(missing, 'path')} without a model", Severity.ERROR, missing),
    ]
    told = [marked(text, role) for text, role, count in counts if count]
    return ", ".join(told or [marked("nothing found", "good")])


def finding_text(finding: Finding) -> str:
    """A finding in one line without its node: what becomes of the padding, or why it stays."""
    text = shown(finding.message)
    if not finding.fixable:
        link = "" if finding.reason_code in _ABOUT_CONVENTIONS else "stays: "
        return f"{text}; {link}{shown(finding.reason)}"
    text += f"; exact for {shown(finding.sizes)}" if finding.sizes else ""
    assumed = ", ".join(map(shown, finding.assumptions))
    return f"{text}; assumes: {assumed}" if assumed else text


def _lines(found: Sequence[Finding]) -> Iterator[str]:
    """What `fix` rewrites and what is said of conventions by code, and what stays by reason."""

    def label(finding: Finding) -> str:
        return f"{marked(finding.severity, finding.severity)} {marked(finding.code, 'strong')}"

    staying = [e for e in found if not e.fixable and e.reason_code not in _ABOUT_CONVENTIONS]
    told = {*map(id, staying)}
    for group in grouped([e for e in found if id(e) not in told], lambda each: each.code):
        for each in group[:LINES_A_GROUP]:
            yield f"{label(each)} {labelled(each)}: {finding_text(each)}"
        if (rest := len(group) - LINES_A_GROUP) > 0:
            yield f"{label(group[0])} and {rest:,} more like these; --format json lists all"
    for group in grouped(staying, lambda each: (each.code, without_names(each.reason))):
        first = group[0]
        said = f"{labelled(first)}: {finding_text(first)}"
        if len(group) > 1:
            alike = shown(without_names(first.reason))
            said = f"{counted(len(group), 'node')} ({first_names(group)}); each stays: {alike}"
        yield f"{label(first)} {said}"
