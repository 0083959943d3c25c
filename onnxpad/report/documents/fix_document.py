"""The document of `fix`: what changed, what stays, whether it holds; in full each proof and run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from onnxpad.errors import RUNTIME, and_list, without_names
from onnxpad.finding import Change, Finding, NextOption
from onnxpad.report import FixReport, Outcome
from onnxpad.report.documents import (
    Block,
    Cell,
    Document,
    Group,
    NodeNames,
    Pairs,
    Picture,
    Table,
    View,
)
from onnxpad.report.layout import UNBREAKABLE, marked
from onnxpad.report.text import (
    amounts_in_words,
    change_groups,
    counted,
    declared,
    delivered,
    explained,
    first_names,
    for_targets,
    grouped,
    labelled,
    more,
    remarks,
    shown,
)

GROUPS = 6
"""Groups that are listed; the rest is counted."""
_DRAWN = 250
"""Kinds of changes that have pictures on one page; further ones are told in words."""


def fix_document(report: FixReport, view: View = "brief") -> Document:
    """Groups of changes and of padding that stays, and whether the result holds.

    Briefly that is under 40 lines; else each change has its proof, each finding its reason, and
    each run its outputs, drawn on pages.
    """
    is_full = view == "full"
    told = {(each.code, each.node, each.reason) for each in report.undone}
    asked = [each for each in report.findings if each.asked]
    kept = [
        each
        for each in report.findings
        if not each.asked and (each.code, each.node, each.reason) not in told
    ]
    changes = _proofs(report.changes) if is_full else _changes(report.changes)
    options = [
        f"As {each[0].asked} asks for: {counted(len(each), 'node')} ({first_names(each, 3)})"
        for each in grouped(asked, lambda each: each.asked)
    ]
    parts: list[tuple[str, Sequence[Block]]] = [
        ("", [*_headline(report), *declared(report.declared), *remarks(report)]),
        ("", [*_trust(report), *_assumptions(report.changes)]),
        ("Changes" * is_full, changes),
        ("UNDONE, as it was before", _reasons((*report.undone, *report.barred * is_full), view)),
        (f"Stays as it is: {len({each.node for each in kept}):,}", _reasons(kept, view)),
        ("", options),
    ]
    groups = [Group(title, blocks) for title, blocks in parts if blocks]
    if report.compared and (is_full or report.outcome is Outcome.INVALID):
        from onnxpad.report.documents.validate_document import validation_groups

        groups += validation_groups(report.compared, view)
    code = explained(kept or report.changes if is_full else kept)
    return Document("fix", report.name, [*groups, Group("", [*_ending(report, code, view)])])


def headline(report: FixReport) -> str:
    """The result in a few words: `236 changes, style pad`; the usual style is not named."""
    style = f", style {report.options.style}" if report.options.style != "fold" else ""
    style += for_targets(report.options.targets)
    if report.changes:
        found, why = report.compared, ""
        if found is not None and found.outcome in _UNCOMPARED:
            why = f"; {_UNCOMPARED[found.outcome]}: {shown(found.reason)}"
        would = " would be made" * report.delivery.check
        said = f"{counted(len(report.changes), 'change')}{would}{why}{style}"
    elif report.declared and report.changed:
        said = f"no padding to change{style}, but sizes to declare"
    else:
        said = f"{'no change was kept' if report.undone else 'nothing to change'}{style}"
        said += "; see Next" if report.next else ""
    untaken = len({each.node for each in report.untaken})
    left = f"{counted(untaken, 'padding')} left that a target computes wrongly or rejects; "
    return f"{left * bool(untaken)}{said}"


_UNCOMPARED = {"nothing compared": "not validated", "repaired": "a repair"}


def _headline(report: FixReport) -> Iterator[str]:
    yield f"{marked(shown(report.name), 'strong')}: {headline(report)}"
    before, after = report.counts
    numbers = {
        "Pad": (before.pads, after.pads),
        "auto_pad": (before.auto_pads, after.auto_pads),
        "ceil_mode": (before.ceil_modes, after.ceil_modes),
        "nodes": (report.nodes_before, report.nodes_after),
    }
    told = [
        f"{name} {was:,} -> {now:,}" if was != now else f"{name} {now:,}"
        for name, (was, now) in numbers.items()
        if name == "nodes" or (was != now if name == "ceil_mode" else was or now)
    ]
    yield f"  {marked(', '.join(told), 'strong')}"
    if any(made.certificate.within for made in report.changes):
        yield f"Holds for {shown(report.ranges)} only, as the result's metadata records"


def _changes(changes: Sequence[Change]) -> list[Block]:
    groups = change_groups(changes)
    rows: list[Sequence[Cell]] = []
    for group in groups[:GROUPS]:
        (was, now), first = group[0].forms, group[0]
        if first.told[0] != first.before:  # both read alike
            was = first.told[0]
        # Each of the amounts stays on one line.
        amounts = "; ".join(e.replace(" ", UNBREAKABLE) for e in amounts_in_words(group))
        names = NodeNames([shown(each.node) for each in group], [*filter(None, [amounts])])
        was = shown(was) + " (does not run)" * first.repairs
        rows.append([f"{len(group):,}", was, shown(now or "removed"), names])
    heads = ["", "was", "is now", "begin+end by axis, where"]
    return [Table(heads, rows), *more(groups, GROUPS, "--verbose")] if rows else []


def _reasons(findings: Sequence[Finding], view: View) -> list[Block]:
    """Findings in groups of one reason, each with the code that `onnxpad rule` explains."""
    if view == "full":
        blocks: list[Block] = []
        for group in grouped(findings, lambda each: (each.code, each.reason)):
            first = group[0]
            blocks.append(f"{first.code} {shown(first.reason or first.message)}")
            blocks.append(Pairs([(labelled(each), shown(each.message)) for each in group]))
        return blocks
    groups = grouped(findings, lambda each: (each.code, short_reason(each)))
    rows: list[Sequence[Cell]] = []
    for group in groups[:GROUPS]:
        names = list(dict.fromkeys(shown(each.node) for each in group))
        reason = shown(short_reason(group[0]))
        rows.append([f"{len(names):,}", group[0].code, NodeNames(names, [reason])])
    return [Table([""] * 3, rows), *more(groups, GROUPS, "--verbose")] if rows else []


def short_reason(finding: Finding) -> str:
    """The reason of a finding without names, formulas of open sizes and advice."""
    return finding.brief or without_names(finding.reason) or finding.message


def _assumptions(changes: Sequence[Change]) -> Iterator[str]:
    """The assumptions of all proofs, what `--trust nothing` makes of each, and their changes."""
    each_with = [
        (taken, "refuses" if taken in change.certificate.refused else "accepts", change)
        for change in changes
        for taken in change.certificate.assumptions
    ]
    for group in grouped(each_with, lambda each: each[:2]):
        name, strictly, _ = group[0]
        said = f"{shown(name)}: {counted(len(group), 'change')}"
        told = f"(--trust nothing {strictly}; onnxpad docs proofs)"
        yield f"{marked('Assumes', 'warning')} {said} {told}"


def _trust(report: FixReport) -> Iterator[str]:
    """Why the result may be relied on: proofs, probes and runs; also those that failed."""
    if repaired := sum(change.repairs for change in report.changes):
        makes = "1 change makes" if repaired == 1 else f"{repaired:,} changes make"
        said = f"{RUNTIME} does not run the model as it was; {makes} it run"
        yield f"{marked('Repaired', 'good')}: {said}"
    if report.changes:
        yield f"{marked('Proved', 'good')}: {_proved(report)}"
    validation = report.compared
    if validation is None:
        if report.changes and not report.validate:
            yield marked("Not validated (--no-validate)", "warning")
        return
    if validation.outcome == "failed":
        from onnxpad.report.documents.validate_document import failure

        yield f"{marked('Validation FAILED', 'error')}: {failure(validation)}"
    elif validation.outcome == "passed":
        yield f"{marked('Validated', 'good')}: {_compared(report)}"
    # What the headline says already is not said again.
    told = f"not compared: {validation.reason}" if report.changes else ""
    warned = [each for each in validation.warnings if each != told]
    yield from (f"{marked('warning', 'warning')}: {shown(each)}" for each in warned)


def _proved(report: FixReport) -> str:
    """For which sizes the changes are exact."""
    many = len({change.node for change in report.changes})
    reads = "the changed operator reads" if many == 1 else f"all {many:,} changed operators read"
    proofs = [change.certificate for change in report.changes]
    limits = and_list(dict.fromkeys(shown(each.limited_to) for each in proofs if each.limited_to))
    where = [f"at {limits} only"] * bool(limits)
    if rest := [each for each in proofs if not each.limited_to]:
        is_open = " and every size of what stays open" * any(each.is_open for each in rest)
        sizes = f"at the input sizes declared or given{is_open}"
        where.insert(0, "at every input size" if all(e.is_universal for e in rest) else sizes)
    return f"{reads} the same values as before, {', others '.join(where)}"


def _compared(report: FixReport) -> str:
    """The runs of a validation that passed: `outputs are equal bit for bit`."""
    found = report.compared.runs if report.compared else ()
    ours = [run for run in found if run.subject == "rewritten" and run.tells and not run.flat]
    runs = [run for run in ours if all(each.ok for each in run.comparisons)]
    where = and_list(dict.fromkeys(r.provider.removesuffix("ExecutionProvider") for r in runs))
    said = []
    for group in grouped(runs, lambda run: run.optimisation):
        shares = [c.max_rel for run in group for c in run.comparisons if not c.equal]
        worst = math.nan if any(map(math.isnan, shares)) else max(shares, default=0.0)
        how = "within rounding" if math.isnan(worst) else f"to {worst:.0e}"
        is_off = "off" if group[0].optimisation == "off" else "on"
        said.append(f"{how if shares else 'bit for bit'} with its optimiser {is_off}")
    many = counted(len(runs), "comparison")
    return f"outputs are equal in {RUNTIME} ({shown(where)}, {many}) {', '.join(said)}"


def _ending(report: FixReport, code: str, view: View) -> Iterator[str]:
    in_memory, invalid = report.delivery.in_memory, report.outcome is Outcome.INVALID
    if report.next:
        yield marked(next_line(report.next, in_memory=in_memory), "strong")
    yield delivered(report.delivery, report.seconds, changed=report.changed, invalid=invalid)
    where = "result.changes and result.findings have" if in_memory else "--verbose has"
    is_brief = view == "brief" and (report.changes or report.findings or report.undone)
    if said := [f"{where} each proof and reason"] * bool(is_brief) + [code] * bool(code):
        yield marked("; ".join(said), "faint")


def _proofs(changes: Sequence[Change]) -> list[Block]:
    """All changes with their proofs, those that look and are proved alike together."""

    def variety(change: Change) -> tuple[object, ...]:
        made = change.certificate
        proved = without_names(made.statement), made.assumptions, made.limited_to
        return change.before, change.after, *proved

    blocks: list[Block] = []
    alike = [each for group in change_groups(changes) for each in grouped(group, variety)]
    for place, group in enumerate(alike):
        first, proof = group[0], group[0].certificate
        said = proof.statement if len(group) == 1 else without_names(proof.statement)
        said = f"{said}{proof.limited_to and f', for {proof.limited_to}'}"
        inside: list[Block] = [f"{marked('proved', 'good')} {shown(said)}"]
        inside += [f"{marked('assumes', 'warning')} {shown(each)}" for each in proof.assumptions]
        inside += [Picture(first)] * (place < _DRAWN)
        rows = []
        for change in group:
            probe = f"; probe: {shown(change.probe)}" * bool(change.probe)
            rows.append((labelled(change), f"exact for {shown(change.certificate.sizes)}{probe}"))
        was, now = map(shown, first.told)
        repair = f"{marked('repair', 'warning')} " * first.repairs
        title = f"{len(group):,} x {was} becomes {now or 'nothing'} {repair}{first.code}"
        blocks.append(Group(title, [*inside, Pairs(rows)]))
    return blocks


def next_line(found: NextOption, *, in_memory: bool = False) -> str:
    """The line about an option that would gain something.

    >>> from onnxpad.finding import Counts
    >>> before, after = Counts(pads=3, auto_pads=0, nodes=274), Counts(0, 3, 110)
    >>> print(next_line(NextOption("--dynamic auto-pad", {}, before, after)))
    Next: --dynamic auto-pad would change Pads 3 -> 0, auto_pads 0 -> 3, nodes 274 -> 110
    """
    option = shown(found.option)
    if in_memory:
        keywords = (f"{name}={value!r}" for name, value in found.keywords.items())
        option = f"fix(..., {shown(', '.join(keywords))})"
    return f"Next: {option} would {found.gain}"
