"""The report of `check` as text: lines with the path and the code, findings grouped by reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxpad.finding import Finding, Severity
from onnxpad.reasons import Reason
from onnxpad.report import CheckReport, FileReport
from onnxpad.report.groups import grouped, reason_groups, reason_without_names
from onnxpad.report.layout import UNBROKEN, Screen
from onnxpad.report.text import Paint, counted, first_names, labelled, plain, remarks, shown

LINES_A_GROUP = 20

_ABOUT_CONVENTIONS = frozenset({Reason.CONVENTION_TOLD, Reason.FRAMEWORK_CONVENTION})


def file_text(file: FileReport, screen: Screen = UNBROKEN) -> str:
    """The findings of `check` in one file; empty if there are none.

    On a terminal they stand below the path, else each has one line that begins with the path.
    """
    lines = list(_lines(file, screen.paint))
    if not lines:
        return ""
    path = shown(file.path)
    if not screen.is_terminal:
        return "".join(f"{path}: {line}\n" for line in lines)
    found = [screen.paint(path, "strong"), *screen.indented(lines, 2, 4)]
    return "".join(f"{line}\n" for line in found)


def _lines(file: FileReport, paint: Paint) -> Iterator[str]:
    fixable = [finding for finding in file.findings if finding.fixable]
    for group in grouped(fixable, lambda finding: (finding.severity, finding.code)):
        label = _label(group[0], paint)
        yield from (f"{label} {labelled(f)}: {_fixable(f)}" for f in group[:LINES_A_GROUP])
        yield from (f"{label} {more}" for more in _more(len(group) - LINES_A_GROUP))
    refused = [finding for finding in file.findings if not finding.fixable]
    about = [finding for finding in refused if finding.reason_code in _ABOUT_CONVENTIONS]
    rest = [finding for finding in refused if finding.reason_code not in _ABOUT_CONVENTIONS]
    yield from (f"{_label(group[0], paint)} {_refusal(group)}" for group in reason_groups(rest))
    yield from _conventions(about, paint)
    yield from remarks(file, Screen(None, paint))


def _conventions(findings: Sequence[Finding], paint: Paint) -> Iterator[str]:
    """A line for each operator that does not fit what was asked for, and one for all else."""
    unfit = [finding for finding in findings if finding.severity is not Severity.INFO]
    for group in grouped(unfit, lambda finding: (finding.severity, finding.code)):
        label = _label(group[0], paint)
        for each in group[:LINES_A_GROUP]:
            yield f"{label} {labelled(each)}: {shown(each.message)}; {shown(each.reason)}"
        yield from (f"{label} {more}" for more in _more(len(group) - LINES_A_GROUP))
    only_told = [finding for finding in findings if finding.severity is Severity.INFO]
    if only_told:
        said = "; ".join(shown(finding.message) for finding in only_told)
        yield f"{_label(only_told[0], paint)} conventions: {said}"


def _fixable(finding: Finding) -> str:
    text = shown(finding.message)
    if finding.sizes:
        text += f"; exact for {shown(finding.sizes)}"
    if finding.assumptions:
        text += f"; assumes: {', '.join(map(shown, finding.assumptions))}"
    return text


def check_text(report: CheckReport, screen: Screen = UNBROKEN) -> str:
    """The whole report of `check`, files that cannot be read left out."""
    files = "".join(file_text(file, screen) for file in report.files)
    return files + check_summary(report, screen.paint)


def check_summary(report: CheckReport, paint: Paint = plain) -> str:
    """The last line of `check`: the number of files, and of findings of each severity."""
    return f"{counted(len(report.files), 'file')}: {severities(report, paint)}\n"


def severities(report: CheckReport, paint: Paint = plain) -> str:
    """The number of findings of each severity, such as `2 warnings, 1 info`."""
    counts = [
        paint(counted(count, severity), severity)
        for severity in reversed(Severity)
        if (count := report.count(severity))
    ]
    if unreadable := sum(bool(file.error) for file in report.files):
        counts.append(paint(f"{unreadable:,} unreadable", "error"))
    return ", ".join(counts) or paint("nothing found", "good")


def _refusal(group: Sequence[Finding]) -> str:
    """Findings that share a code and a reason, in one line: their number, and the first names."""
    first = group[0]
    if len(group) == 1:
        reason = f"; stays: {shown(first.reason)}" if first.reason else ""
        return f"{labelled(first)}: {shown(first.message)}{reason}"
    alike = shown(reason_without_names(first))
    reason = f"stays: {alike}" if first.reason else shown(first.message)
    return f"{counted(len(group), 'node')} ({first_names(group)}); {reason}"


def _label(finding: Finding, paint: Paint) -> str:
    return f"{paint(finding.severity, finding.severity)} {paint(finding.code, 'strong')}"


def _more(count: int) -> list[str]:
    """A line for what is not listed; none if all is."""
    return [f"and {count:,} more like these; --format json lists all"] if count > 0 else []
