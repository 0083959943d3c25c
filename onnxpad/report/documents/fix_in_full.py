"""All of a `fix`: every change with its proof, every reason and run; on a page also in pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from onnxpad.errors import RUNTIME, without_names
from onnxpad.finding import Change, Finding
from onnxpad.report import FixReport
from onnxpad.report.documents import Block, Document, Group, Line, Pairs, Picture
from onnxpad.report.documents.cards import finding_cards, members, times
from onnxpad.report.documents.fix_document import (
    above,
    as_asked,
    assumed,
    ending,
    next_lines,
    trust,
    unvalidated,
)
from onnxpad.report.documents.validation_document import validation_groups
from onnxpad.report.layout import marked
from onnxpad.report.text import (
    change_groups,
    counted,
    explained,
    first_names,
    grouped,
    labelled,
    reason_groups,
    shown,
    unrequested,
)

if TYPE_CHECKING:
    from onnxpad.validation.result import Validation

_DRAWN = 250
"""Kinds of changes that have pictures on one page; further ones are told in words."""
_SHOWN = 1000


def fix_in_full(report: FixReport) -> Document:
    """Every change with its proof, every reason and run."""
    sections: list[Sequence[Block]] = [
        above(report),
        *_proofs(report.changes),
        _assumptions_in_full(report.changes),
        _undone(report.undone),
        _kept(report.findings, report.undone),
        [*as_asked(report.findings)],
        [*_validation(report)],
        [*next_lines(report), *_explaining(report)],
        [ending(report)],
    ]
    return Document("fix", report.name, [Group("", blocks) for blocks in sections])


def fix_with_pictures(report: FixReport) -> Document:
    """The lines that a terminal shows, then a card with a picture for each change and finding."""
    trusted = trust(report, with_runs=False)  # they have a section
    head = [*above(report), *trusted, *next_lines(report), ending(report), _options(report)]
    head += _explaining(report)
    told = {(finding.code, finding.node, finding.reason) for finding in report.undone}
    kept = [each for each in report.findings if (each.code, each.node, each.reason) not in told]

    sections: dict[str, Sequence[Block]] = {
        "Changes": [*_change_cards(report.changes)],
        "Assumptions": _assumptions_in_full(report.changes),
        "Taken back": finding_cards((*report.undone, *report.barred)),
        "What stays": finding_cards([each for each in kept if not each.asked]),
        "Left as asked": finding_cards([each for each in kept if each.asked]),
    }
    groups = [Group("", head)]
    groups += [Group(title, blocks) for title, blocks in sections.items() if blocks]
    if report.compared is not None:
        groups += validation_groups(report.compared, [_verdict(report.compared)])
    return Document("fix", report.name, groups)


def _explaining(report: FixReport) -> list[str]:
    """Where a code is explained: that of padding that stays, or else of a change."""
    found = unrequested(report.findings, report.undone) or report.changes
    return [marked(said, "faint") for said in [explained(found)] if said]


def _options(report: FixReport) -> str:
    """The options that decide what is rewritten."""
    asked = report.options
    said = [asked.goal, f"open sizes: {asked.dynamic}"]
    said += [name for name, value in asked.decisive.items() if value is True]
    said += [f"trust {asked.trust}"] if asked.trust else []
    return marked(f"Asked for: {', '.join(said)}", "faint")


def _change_cards(changes: Sequence[Change]) -> Iterator[Block]:
    """All changes, a card for each kind, the most frequent ones first."""
    if changes:
        yield Picture("legend")
    drawn = 0
    for place, group in enumerate(change_groups(changes)):
        before, after = group.was.form, group.now.form
        if not before and not after:  # a pass of a user's own may tell no forms
            before, after = group.changes[0].before, group.changes[0].after
        repair = f"{marked('repair', 'warning')} " if group.repairs else ""
        code = marked(group.code, "faint")
        varieties = sorted(grouped(group.changes, _variety), key=len, reverse=True)
        blocks: list[Block] = []
        if group.repairs:
            blocks.append(f"Repairs: {RUNTIME} does not run these operators as they were")
        for each in varieties[:_SHOWN]:
            blocks.append(_change_card(each, is_drawn=drawn < _DRAWN))
            drawn += 1
        if (rest := len(varieties) - _SHOWN) > 0:
            blocks.append(f"and {counted(rest, 'form')} more; --format json lists all")
        title = _became(len(group.changes), before, after)
        yield Group(f"{title} {repair}{code}", blocks, is_open=place == 0)


def _variety(change: Change) -> tuple[object, ...]:
    """The same for changes of one kind that also look alike, and are proved alike."""
    made = change.certificate
    proved = without_names(made.statement), made.assumptions, made.limited_to
    return change.before, change.after, *proved


def _change_card(group: Sequence[Change], *, is_drawn: bool) -> Group:
    """Changes that are alike: the proof, pictures of the first one, and all by name."""
    first = group[0]
    made = first.certificate
    said = made.statement if len(group) == 1 else without_names(made.statement)
    where = f", for {made.limited_to}" if made.limited_to else ""
    blocks: list[Block] = [f"{marked('proved', 'good')} {shown(said + where)}"]
    if made.assumptions:
        blocks.append(f"{marked('assumes', 'warning')} {', '.join(map(shown, made.assumptions))}")
    if is_drawn:
        blocks.append(Picture(first))
        if len({repr(change.certificate.facts.get("axes")) for change in group}) > 1:
            blocks.append(marked(f"Drawn for {shown(first.node)}", "faint"))
    # That it is a repair stands above.
    told = [(labelled(e), "; ".join(filter(None, [_exact(e), _probe(e)]))) for e in group]
    title = _became(len(group), *first.told)
    return Group(title, [*blocks, members(told)], is_open=True)


def _became(count: int, before: str, after: str) -> str:
    becomes = marked("becomes", "faint")
    return f"{marked(times(count), 'info')} {shown(before)} {becomes} {shown(after or 'nothing')}"


def _proofs(changes: Sequence[Change]) -> Iterator[list[Block]]:
    """A section for each code; a proof or probe that all its changes share is said once, on top."""
    for group in grouped(changes, lambda change: change.code):
        common = [said for said in (_proof, _probe) if len({said(c) for c in group}) == 1]
        head = [counted(len(group), "change")]
        head += [_proof(group[0])] * (_proof in common)
        head += [_probe(group[0], of_each=len(group) > 1)] * (_probe in common)
        code = marked(group[0].code, "strong")
        blocks: list[Block] = [Line("; ".join(filter(None, head)), f"{code}  ", "  ")]
        for change in group:
            became = "  becomes  ".join(map(shown, change.told))
            blocks.append(Pairs([(labelled(change), became)]))
            own = "; ".join(said(change) for said in (_proof, _probe) if said not in common)
            blocks += [Line(marked(own, "faint"), " " * 6, " " * 6)] if own else []
        yield blocks


def _proof(change: Change) -> str:
    """For which sizes a change is exact, what is the same, and whether it is a repair."""
    repaired = f"; a repair: {RUNTIME} does not run it as it was" if change.repairs else ""
    return f"{_exact(change)}{repaired}"


def _exact(change: Change) -> str:
    certificate = change.certificate
    return f"exact for {shown(certificate.sizes)}: {shown(certificate.statement)}"


def _probe(change: Change, *, of_each: bool = False) -> str:
    """The run of a change by itself; empty if there was none."""
    each = "each " if of_each else ""
    return f"probe: {each}{shown(change.probe)}" if change.probe else ""


def _assumptions_in_full(changes: Sequence[Change]) -> list[Block]:
    """Each assumption with the changes that rest on it."""
    lines = [
        Line(
            f"{shown(name)} (--strict {strictly}): {counted(len(group), 'change')}: "
            f"{first_names(group, len(group))}"
        )
        for name, strictly, group in assumed(changes)
    ]
    return [marked("Assumptions (onnxpad docs proofs)", "warning"), *lines] if lines else []


def _undone(undone: Sequence[Finding]) -> list[Block]:
    if not undone:
        return []
    head = f"UNDONE: {counted(len(undone), 'change')} taken back; this padding is as it was"
    return [marked(head, "error"), *_refusals(undone, stays="")]


def _kept(findings: Sequence[Finding], undone: Sequence[Finding]) -> list[Block]:
    kept = unrequested(findings, undone)
    if not kept:
        return []
    by_code = grouped(kept, lambda finding: finding.code)
    codes = ", ".join(f"{len(group):,} {group[0].code}" for group in by_code)
    head = f"Left as it is: {counted(len(kept), 'finding')} ({codes})"
    return [head, *_refusals(kept, stays="stays: ")]


def _refusals(findings: Iterable[Finding], stays: str) -> list[Line]:
    """A text for each finding; those of one code and reason stand together."""
    return [
        Line(
            f"{marked(each.code, 'strong')}  {labelled(each)}: {shown(each.message)}"
            + (f"; {stays}{shown(each.reason)}" if each.reason else "")
        )
        for group in reason_groups(findings)
        for each in group
    ]


def _validation(report: FixReport) -> Iterator[Block]:
    validation = report.compared
    if validation is None:
        yield from unvalidated(report)
        return
    for group in validation_groups(validation, [_verdict(validation)]):
        yield from group.blocks


def _verdict(validation: Validation) -> str:
    """The verdict, and how much ran."""
    verdict = {
        "passed": marked("passed", "good"),
        "failed": marked("FAILED", "error"),
        "nothing compared": marked("compared nothing", "warning"),
        "repaired": f"compared nothing, for it is a {marked('repair', 'good')}",
    }[validation.outcome]
    probes = f", {counted(validation.probes, 'change')} probed alone" if validation.probes else ""
    runs = counted(len(validation.runs), "run")
    return f"Validation {verdict}: {runs} of the whole model{probes}"
