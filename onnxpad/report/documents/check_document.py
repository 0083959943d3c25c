"""The document of `check`: what `fix` would rewrite, and what stays, grouped by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from onnxpad.errors import counted
from onnxpad.finding import Finding, Severity
from onnxpad.reasons import Reason
from onnxpad.report import CheckReport, FileReport
from onnxpad.report.documents import Block, Document, Group, Picture, View
from onnxpad.report.layout import Screen, by_path, marked
from onnxpad.report.text import command, configurations, for_targets, labelled, remarks, shown

_ABOUT_CONVENTIONS = frozenset({Reason.CONVENTION_TOLD, Reason.FRAMEWORK_CONVENTION})


def check_document(report: CheckReport, view: View = "brief") -> Document:
    """Sections for each file, and one for all; what merely stays is counted unless asked for."""
    files, is_full = [*map(merged, report.files)], view == "full"
    shorter = files if is_full or report.options.select else [_brief(e, report) for e in files]
    by_codes = () if report.fail_on in [*Severity] else report.files
    fails = sum(len(each.failing(report.fail_on)) for each in by_codes)
    said = [_severities(files) + f", {fails:,} of these fail" * bool(fails)]
    said += ["--verbose lists what stays"] * ([*shorter] != [*files])
    if fixable := sum(each.fixable for file in files for each in file.findings):
        fix = command(report.fix_command or "onnxpad.fix and the same options")
        said.append(f"{fixable:,} fixable with {fix}")
    errors = [Group(shown(e.path), [shown(e.error)]) for e in files if e.error and is_full]
    of_all = Group("", [*configurations((each.path, each.config) for each in files)])
    groups = [*findings_groups(shorter), *errors, of_all]
    about = shown(files[0].path) if len(files) == 1 else counted(len(files), "file")
    about += for_targets(report.options.targets)
    called = " --target ".join(("check", *map(shown, report.options.targets)))
    return Document(called, about, "; ".join(said), groups, by_path=True)


def _brief(file: FileReport, report: CheckReport) -> FileReport:
    kept = {*map(id, file.failing(report.fail_on))}
    kept |= {id(e) for e in file.findings if report.convention and e.code == "PAD601"}
    listed = (e for e in file.findings if e.severity is not Severity.INFO or id(e) in kept)
    return replace(file, findings=tuple(listed))


def merged(file: FileReport) -> FileReport:
    """For text: the file with each rewrite told by what a target makes of the same node."""
    rewrites = {e.location: e for e in file.findings if e.fixable and "target" not in e.evidence}
    told, gone = list[Finding](), set[int]()
    for each in file.findings:
        by = rewrites.get(each.location) if each.fixable and "target" in each.evidence else None
        if by and each.severity.rank >= by.severity.rank:
            said = f"{each.message}; {by.code}: {by.message}"
            told.append(replace(each, message=said, sizes=by.sizes, assumptions=by.assumptions))
            gone.add(id(by))
        else:
            told.append(each)
    return replace(file, findings=tuple(each for each in told if id(each) not in gone))


def findings_groups(files: Sequence[FileReport]) -> Iterator[Group]:
    """The findings of each file, errors before warnings, and remarks at last."""
    for file in files:
        blocks, meant = list[Block](), dict[str, None]()
        for each in sorted(file.findings, key=lambda each: -each.severity.rank):
            label = f"{marked(each.severity, each.severity)} {marked(each.code, 'strong')}"
            is_unfit = each.reason_code is Reason.FRAMEWORK_CONVENTION
            said = shown(each.message) if is_unfit else finding_text(each)
            meant |= {f"note: {each.code}: {shown(each.reason)}": None} if is_unfit else {}
            blocks.append(f"{label} {labelled(each)}: {said}")
            blocks.append(Picture({"": partial(file.site, each.node)}))
        if blocks := [*blocks, *meant, *remarks(file)]:
            yield Group(shown(file.path), blocks)


def findings_text(files: Sequence[FileReport], screen: Screen) -> str:
    """The findings of files as text, each in a line with the path; empty if there are none."""
    return "".join(by_path(group, screen) for group in findings_groups(files))


def _severities(files: Sequence[FileReport]) -> str:
    unreadable = sum(bool(file.error) for file in files)
    found = Counter(each.severity for file in files for each in file.findings)
    told = [marked(counted(found[each], each), each) for each in reversed(Severity) if found[each]]
    told += [marked(f"{unreadable:,} unreadable", "error")] * bool(unreadable)
    return ", ".join(told or [marked("nothing found", "good")])


def finding_text(finding: Finding) -> str:
    """A finding in one line without its node: what becomes of the padding, or why it stays."""
    text = shown(finding.message)
    if not finding.fixable:
        stays = "stays: " * (finding.reason_code not in _ABOUT_CONVENTIONS)
        return f"{text}; {stays}{shown(finding.reason)}"
    text += f"; exact for {shown(finding.sizes)}" if finding.sizes else ""
    assumed = ", ".join(map(shown, finding.assumptions))
    return f"{text}; assumes: {assumed}" if assumed else text
