"""The page of `validate`: the verdict, runs and outputs as tables, and the first difference."""

from __future__ import annotations

from onnxpad.page.fix_page import count_tiles, validation_parts
from onnxpad.page.markup import Html, badge, code, el, esc, join
from onnxpad.page.validation_sections import verdict
from onnxpad.page.whole_page import page
from onnxpad.report import ValidateReport


def validate_page(report: ValidateReport) -> str:
    """The page of a `validate`."""
    found = report.validation
    compared = [each for run in found.runs for each in run.comparisons if run.tells or not run.ok]
    counts: dict[str, tuple[int, int] | int] = {
        "runs": len(found.runs),
        "outputs compared": len(compared),
        "equal bit for bit": sum(each.equal for each in compared),
        "differ": sum(not each.ok for each in compared),
    }
    head = [count_tiles(counts), _verdicts(report)]
    return page("validate", report.rewritten or report.original, head, validation_parts(found))


def _verdicts(report: ValidateReport) -> Html:
    against = report.original if report.rewritten else report.reference
    lines = [verdict(report.validation), join((esc("Compared with "), code(against), esc(".")), "")]
    if report.rewritten and report.reference:
        lines.append(join((esc("Both also with "), code(report.reference), esc(".")), ""))
    if report.inputs:
        lines.append(join((esc("On the inputs of "), code(report.inputs), esc(".")), ""))
    lines += [join((badge("not compared", "bad"), esc(f" {line}")), "") for line in report.unproven]
    if report.next:
        said = esc("Its padding may be why. This looks for the padding that agrees: ")
        lines.append(join((badge("next", "plain"), esc(" "), said, code(report.next)), ""))
    return el("ul", *(el("li", line) for line in lines), class_="verdicts")
