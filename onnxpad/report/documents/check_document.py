"""The document of `check`: what `fix` would rewrite, and what stays, grouped by reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from onnxpad.errors import without_names
from onnxpad.finding import Finding, Severity
from onnxpad.options import Options
from onnxpad.reasons import Reason
from onnxpad.report import CheckReport, FileReport
from onnxpad.report.documents import Block, Document, Group, Table, Tallies, View
from onnxpad.report.layout import UNBREAKABLE, UNBROKEN, Screen, by_path, marked
from onnxpad.report.text import (
    configurations,
    counted,
    explained,
    first_names,
    fixable_text,
    for_targets,
    grouped,
    labelled,
    reason_groups,
    remarks,
    shown,
)

LINES_A_GROUP = 20

_VERDICTS = {"fails": "error", "unreadable": "error", "no model": "error", "passes": "good"}
"""Verdicts on a file, each as it is marked, in the order in which a page has them."""
_ABOUT_CONVENTIONS = frozenset({Reason.CONVENTION_TOLD, Reason.FRAMEWORK_CONVENTION})


def check_document(report: CheckReport, view: View = "brief") -> Document:
    """A section for each file, and one for all; files that cannot be read are on pages only.

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
    of_all = Group(
        "", [*configurations(each.config for each in files), "; ".join(filter(None, said))]
    )
    if view != "page":
        groups = [*findings_groups(files if view == "full" else shorter), of_all]
    else:
        passes = not (report.fails or report.exit_code)
        verdict = marked("passes", "good") if passes else marked("fails", "error")
        on = f"--fail-on {report.fail_on}, {report.options.goal}"
        on += ", unless configured" * any(file.config for file in files)
        head = Group("", [_counts(report), *of_all.blocks, f"{verdict}: {on}"])
        by_verdict = sorted(files, key=lambda file: [*_VERDICTS].index(_verdict(file, report)))
        groups = [head]
        for file in by_verdict:
            verdict = _verdict(file, report)
            badge = f"{marked(verdict, _VERDICTS[verdict])} " * (len(files) > 1)
            groups.append(Group(f"{badge}{shown(file.path)}", _page_blocks(file)))
    title = files[0].path if len(files) == 1 else f"{count:,} models"
    return Document("check", title, groups)


def _verdict(file: FileReport, report: CheckReport) -> str:
    """The verdict on one file in a word."""
    if file.error:
        return "no model" if file.is_missing else "unreadable"
    return "fails" if file.failing(report.fail_on) else "passes"


def _counts(report: CheckReport) -> Tallies:
    """The number of models, and of what becomes of their padding."""
    found = [each for file in report.files for each in file.findings]
    stays = (not each.fixable and each.reason_code not in _ABOUT_CONVENTIONS for each in found)
    counts = {
        "models": sum(not file.is_missing for file in report.files),
        "to rewrite": sum(each.fixable for each in found),
        "stays": sum(stays),
        "models that fail": sum(
            _verdict(file, report) in {"fails", "unreadable"} for file in report.files
        ),
    }
    return Tallies([(name, count, count) for name, count in counts.items()])


def check_text(report: CheckReport, screen: Screen = UNBROKEN, view: View = "brief") -> str:
    """The whole report as text."""
    return "".join(by_path(group, screen) for group in check_document(report, view).groups)


def brief(file: FileReport, options: Options, fail_on: Severity) -> FileReport:
    """A file without padding that merely stays, unless that fails or codes were asked for."""
    if options.select:
        return file
    told = {*map(id, file.failing(fail_on))}
    listed = (e for e in file.findings if e.severity is not Severity.INFO or id(e) in told)
    return replace(file, findings=tuple(listed))


def findings_groups(files: Sequence[FileReport]) -> Iterator[Group]:
    """The findings of files, errors of all before warnings of any, and remarks at last.

    Each has a line; those that stay for one reason share one.
    """
    for severity in reversed(Severity):
        for file in files:
            found = [each for each in file.findings if each.severity is severity]
            if found:
                yield Group(shown(file.path), [*_fixable(found), *_staying(found)])
    for file in files:
        if told := [*remarks(file)]:
            yield Group(shown(file.path), told)


def findings_text(files: Sequence[FileReport], screen: Screen = UNBROKEN) -> str:
    """The findings of files as text; empty if there are none.

    On a terminal they stand below the path, else each has one line that begins with the path.
    """
    return "".join(by_path(group, screen) for group in findings_groups(files))


def severities(report: CheckReport) -> str:
    """The number of findings of each severity, such as `2 warnings, 1 info`."""
    counts = [
        marked(counted(count, severity), severity)
        for severity in reversed(Severity)
        if (count := report.count(severity))
    ]
    missing = sum(file.is_missing for file in report.files)
    if unreadable := sum(bool(file.error) for file in report.files) - missing:
        counts.append(marked(f"{unreadable:,} unreadable", "error"))
    if missing:
        counts.append(marked(f"{counted(missing, 'path')} without a model", "error"))
    return ", ".join(counts or [marked("nothing found", "good")])


def finding_text(finding: Finding) -> str:
    """A finding in one line without its node: what becomes of the padding, or why it stays."""
    if finding.fixable:
        return fixable_text(finding)
    link = "" if finding.reason_code in _ABOUT_CONVENTIONS else "stays: "
    return f"{shown(finding.message)}; {link}{shown(finding.reason)}"


def statistics_group(report: CheckReport, *, quiet: bool = False) -> Group:
    """The number of findings by code, most first, and how many of them are fixable.

    Args:
        report: The report.
        quiet: Whether only what fails the check is counted.
    """
    from onnxpad.rewrite.registry import catalogue  # for what is asked for rarely

    pages = catalogue()
    found = [
        each
        for file in report.files
        for each in (file.failing(report.fail_on) if quiet else file.findings)
    ]
    codes = grouped(sorted(found, key=lambda each: each.code), lambda each: each.code)
    rows = []
    for group in sorted(codes, key=lambda group: -len(group)):
        code, fixable = group[0].code, sum(each.fixable for each in group)
        title = pages[code].title if code in pages else ""
        rows.append(
            (
                f"{len(group):,}",
                marked(code, "strong"),
                f"{fixable:,} fixable" * bool(fixable),
                title,
            )
        )
    return Group("", [Table(("", "", "", ""), rows)] if rows else [])


def _page_blocks(file: FileReport) -> list[Block]:
    """The same with every finding, and pictures of them."""
    from onnxpad.report.documents.cards import finding_cards

    about = [each for each in file.findings if each.reason_code in _ABOUT_CONVENTIONS]
    rest = [each for each in file.findings if each.reason_code not in _ABOUT_CONVENTIONS]
    unfit = [each for each in about if each.severity is not Severity.INFO]
    blocks: list[Block] = []
    if file.error:
        blocks.append(f"{marked('unreadable', 'error')}: {shown(file.error)}")
    blocks += [*remarks(file), *_fitting_conventions(about)]
    if not file.error and not rest:
        blocks.append(f"{marked('clean', 'good')}: no padding to report")
    for title, findings in (
        ("Would be rewritten", [each for each in rest if each.fixable]),
        ("Another convention", unfit),
        ("Stays", [each for each in rest if not each.fixable]),
    ):
        blocks += [Group(title, finding_cards(findings), is_open=True)] if findings else []
    return blocks


def _fixable(findings: Sequence[Finding]) -> Iterator[str]:
    fixable = [finding for finding in findings if finding.fixable]
    for group in grouped(fixable, lambda finding: finding.code):
        yield from _listed(group, [f"{labelled(each)}: {finding_text(each)}" for each in group])


def _staying(findings: Sequence[Finding]) -> Iterator[str]:
    refused = [finding for finding in findings if not finding.fixable]
    about = [finding for finding in refused if finding.reason_code in _ABOUT_CONVENTIONS]
    rest = [finding for finding in refused if finding.reason_code not in _ABOUT_CONVENTIONS]
    yield from (f"{_label(group[0])} {_refusal(group)}" for group in reason_groups(rest))
    unfit = [finding for finding in about if finding.severity is not Severity.INFO]
    for group in grouped(unfit, lambda finding: finding.code):
        yield from _listed(group, [f"{labelled(each)}: {finding_text(each)}" for each in group])
    yield from _fitting_conventions(about)


def _fitting_conventions(about: Sequence[Finding]) -> Iterator[str]:
    """The conventions that fit, in one line."""
    only_told = [finding for finding in about if finding.severity is Severity.INFO]
    if only_told:
        said = "; ".join(shown(finding.message) for finding in only_told)
        yield f"{_label(only_told[0])} conventions: {said}"


def _listed(group: Sequence[Finding], lines: Sequence[str]) -> Iterator[str]:
    """The first lines of a group, each with its code, and the number of others."""
    label = _label(group[0])
    yield from (f"{label} {line}" for line in lines[:LINES_A_GROUP])
    if (rest := len(lines) - LINES_A_GROUP) > 0:
        yield f"{label} and {rest:,} more like these; --format json lists all"


def _refusal(group: Sequence[Finding]) -> str:
    """Findings that share a code and a reason, in one line: their number, and the first names."""
    first = group[0]
    if len(group) == 1:
        return f"{labelled(first)}: {finding_text(first)}"
    alike = shown(without_names(first.reason))
    reason = f"each stays: {alike}" if first.reason else shown(first.message)
    return f"{counted(len(group), 'node')} ({first_names(group)}); {reason}"


def _label(finding: Finding) -> str:
    return f"{marked(finding.severity, finding.severity)} {marked(finding.code, 'strong')}"
