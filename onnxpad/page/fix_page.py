"""The page of `fix`: counts, changes with their proofs, what stays, and the validation."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from onnxpad.page.change_sections import assumption_list, change_sections
from onnxpad.page.finding_sections import finding_sections
from onnxpad.page.markup import NOTHING, Html, badge, code, el, esc, join, paragraph
from onnxpad.page.pictures.both_graphs import Functions, outlines
from onnxpad.page.validation_sections import (
    divergence_table,
    padding_table,
    placement_table,
    remarks,
    run_tables,
    speed_table,
    verdict,
)
from onnxpad.page.whole_page import Part, page, part
from onnxpad.report import FixReport, Outcome
from onnxpad.report.text import counted
from onnxpad.report.text.fix_text import counts_told
from onnxpad.validation.result import Validation


def fix_page(
    report: FixReport,
    graphs: tuple[onnx.GraphProto, onnx.GraphProto],
    functions: Functions = (),
) -> str:
    """The page of a `fix`.

    Args:
        report: The report.
        graphs: The main graph before and after; long tensors may lack their elements.
        functions: The functions of the model before and after.
    """
    before, after = outlines(*graphs, functions)
    told = {(finding.code, finding.node, finding.reason) for finding in report.undone}
    kept = [each for each in report.findings if (each.code, each.node, each.reason) not in told]
    head = [_counts(report), _verdicts(report)]
    undone = (*report.undone, *report.barred)
    parts = [
        part("Changes", "changes", change_sections(report.changes, before, after)),
        part("Assumptions", "assumptions", assumption_list(report.changes)),
        part("Taken back", "undone", finding_sections(undone, before)),
        part("What stays", "stays", finding_sections([f for f in kept if not f.asked], after)),
        part("Left as asked", "asked", finding_sections([f for f in kept if f.asked], after)),
        *validation_parts(report.compared),
    ]
    return page("fix", report.name, head, parts)


def validation_parts(found: Validation | None) -> list[Part]:
    """The sections of a validation; none if nothing ran."""
    if found is None:
        return []
    return [
        part("Validation", "validation", run_tables(found), remarks(found)),
        part("First difference", "divergence", divergence_table(found.divergence)),
        part("Padding that differs", "padding", padding_table(found.padding)),
        part("Speed", "speed", speed_table(found.times or ())),
        part("Where nodes ran", "placement", placement_table(found.placements)),
    ]


def count_tiles(pairs: Mapping[str, tuple[int, int] | int]) -> Html:
    """Counts in large letters: a number, or a number before and after."""
    tiles = []
    for name, count in pairs.items():
        if isinstance(count, int):
            content = [esc(f"{count:,}")]
        elif count[0] == count[1]:
            content = [esc(f"{count[1]:,}")]
        else:
            was = el("span", esc(f"{count[0]:,} "), el("span", esc("→")), class_="was")
            content = [was, esc(f" {count[1]:,}")]
        tiles.append(el("div", el("dt", esc(name)), el("dd", *content)))
    return el("dl", *tiles, class_="counts")


def _counts(report: FixReport) -> Html:
    told = {name: (was, now) for name, was, now in counts_told(report)}
    return count_tiles({"changes": len(report.changes), **told})


def _verdicts(report: FixReport) -> Html:
    lines = [_outcome(report)]
    if report.changes:
        lines.append(_proofs(report))
    if report.compared is not None:
        lines.append(verdict(report.compared))
    elif report.changes and not report.validate:
        lines.append(join((badge("not validated", "warn"), esc(" --no-validate was given.")), ""))
    if any(made.certificate.within for made in report.changes):
        lines.append(esc(f"Proved for {report.ranges} only, as the model's metadata says."))
    for name, shape in report.declared.items():
        sizes = "x".join("?" if size is None else str(size) for size in shape)
        lines.append(
            join((esc("The result declares input "), code(name), esc(f" as {sizes}.")), "")
        )
    lines += [join((badge("warning", "warn"), esc(f" {line}")), "") for line in report.warnings]
    lines += [join((badge("note", "plain"), esc(f" {line}")), "") for line in report.notes]
    if report.next is not None:
        following = report.next
        hint = f"; {following.hint}" if following.hint else ""
        said = code(following.option), esc(f" would {following.gain}{hint}.")
        lines.append(join((badge("next", "plain"), esc(" "), *said), ""))
    asked = report.options
    options = [f"style {asked.style}", f"open sizes: {asked.dynamic}"]
    options += ["no_ceil"] * asked.no_ceil + ["symmetric_transpose"] * asked.symmetric_transpose
    options += [f"trust {asked.trust}"] if asked.trust else []
    listed = el("ul", *(el("li", line) for line in lines), class_="verdicts")
    return join((listed, paragraph(f"Asked for: {', '.join(options)}.", "faint")))


def _outcome(report: FixReport) -> Html:
    written = join((esc(" Written to "), code(report.delivery.written), esc(".")), "")
    written = written if report.delivery.written else NOTHING
    if report.outcome is Outcome.UNCHANGED:
        said = "no change was kept" if report.undone else "nothing to change"
        return join((badge("unchanged", "plain"), esc(f" {said.capitalize()}."), written), "")
    if report.outcome is Outcome.INVALID:
        why = " The rewritten model does not compute what the original computes."
        return join((badge("invalid", "bad"), esc(why), written), "")
    if report.outcome is Outcome.FIXABLE:
        would = f" {counted(len(report.changes), 'change')} would be made; nothing was written."
        return join((badge("fixable", "plain"), esc(would)), "")
    made = f" {counted(len(report.changes), 'change')} made."
    return join((badge("fixed", "good"), esc(made), written), "")


def _proofs(report: FixReport) -> Html:
    changes = report.changes
    assuming = sum(bool(change.certificate.assumptions) for change in changes)
    each = "The change was" if len(changes) == 1 else f"Each of {len(changes):,} changes was"
    said = f" {each} proved to read the same elements"
    if assuming:
        proofs = "1 proof rests" if assuming == 1 else f"{assuming:,} proofs rest"
        said += f"; {proofs} on an assumption"
    said += "."
    if probed := sum(bool(change.probe) for change in changes):
        which = "All" if probed == len(changes) > 1 else f"{probed:,}"
        said += f" {which} also ran alone, before and after, on the same inputs."
    return join((badge("proved", "good"), esc(said)), "")
