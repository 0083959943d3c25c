"""The page of `check`: for each model the padding that `fix` would rewrite, and what stays."""

from __future__ import annotations

from collections.abc import Sequence

from onnxpad.finding import Finding, Severity
from onnxpad.page.finding_sections import finding_sections
from onnxpad.page.fix_page import count_tiles
from onnxpad.page.markup import NOTHING, Html, badge, el, esc, join
from onnxpad.page.pictures.both_graphs import Outline, outlines
from onnxpad.page.whole_page import Part, page, part
from onnxpad.reasons import Reason
from onnxpad.report import CheckReport, FileReport

_ABOUT_CONVENTIONS = frozenset({Reason.CONVENTION_TOLD, Reason.FRAMEWORK_CONVENTION})


def check_page(report: CheckReport) -> str:
    """The page of a `check`."""
    files = [_file_part(file, place) for place, file in enumerate(report.files)]
    findings = [finding for file in report.files for finding in file.findings]
    fixable = sum(finding.fixable for finding in findings)
    counts: dict[str, tuple[int, int] | int] = {
        "models": len(report.files),
        "to rewrite": fixable,
        "stays": sum(
            not each.fixable and each.reason_code not in _ABOUT_CONVENTIONS for each in findings
        ),
        "models that fail": sum(
            bool(file.error or file.failing(report.fail_on)) for file in report.files
        ),
    }
    verdict = badge("passes", "good") if not report.exit_code else badge("fails", "bad")
    said = f" Fails on {report.fail_on} or worse; style {report.options.style}."
    head = [count_tiles(counts), el("p", verdict, esc(said))]
    title = report.files[0].path if len(report.files) == 1 else f"{len(report.files):,} models"
    return page("check", title, head, files)


def _file_part(file: FileReport, place: int) -> Part:
    """The section of one model."""
    outline, light = None, file.light
    if light is not None:
        outline = outlines(light.graph, light.graph, [(f, f) for f in light.functions])[0]
    about = [each for each in file.findings if each.reason_code in _ABOUT_CONVENTIONS]
    rest = [each for each in file.findings if each.reason_code not in _ABOUT_CONVENTIONS]
    lines = [join((badge("unreadable", "bad"), esc(f" {file.error}")), "")] if file.error else []
    lines += [join((badge("warning", "warn"), esc(f" {line}")), "") for line in file.warnings]
    lines += [join((badge("note", "plain"), esc(f" {line}")), "") for line in file.notes]
    told = [each for each in about if each.severity is Severity.INFO]
    lines += [join((badge("convention", "plain"), esc(f" {each.message}")), "") for each in told]
    if not file.error and not rest:
        lines.append(join((badge("clean", "good"), esc(" No padding to report.")), ""))
    return part(
        file.path,
        f"model-{place}",
        el("ul", *(el("li", line) for line in lines), class_="verdicts"),
        _cards([each for each in rest if each.fixable], outline, "Would be rewritten"),
        _cards([each for each in about if each not in told], outline, "Another convention"),
        _cards([each for each in rest if not each.fixable], outline, "Stays"),
    )


def _cards(findings: Sequence[Finding], outline: Outline | None, title: str) -> Html:
    if not findings:
        return NOTHING
    return join((el("h3", esc(title)), finding_sections(findings, outline, level=4)))
