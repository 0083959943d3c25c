"""The document of `fix`: what changed, what stays, whether it holds; in full each proof and run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from onnxpad.errors import RUNTIME, without_names
from onnxpad.finding import Change, Finding, NextOption
from onnxpad.report import FixReport, Outcome
from onnxpad.report.documents import (
    Block,
    Cell,
    Document,
    Group,
    Line,
    NodeNames,
    Picture,
    Table,
    Tallies,
    View,
)
from onnxpad.report.layout import UNBREAKABLE, Screen, marked, text_of
from onnxpad.report.text import (
    amounts_in_words,
    beside,
    change_groups,
    counted,
    explained,
    first_names,
    for_targets,
    grouped,
    kept_as_asked,
    labelled,
    remarks,
    shown,
    unrequested,
)

GROUPS = 6
"""Groups that are listed; the rest is counted."""
_NAMES = 3
_DRAWN = 250
"""Kinds of changes that have pictures on one page; further ones are told in words."""


def fix_document(report: FixReport, view: View = "brief") -> Document:
    """Groups of changes and of padding that stays, and whether the result holds.

    Briefly that is under 40 lines; else each change has its proof, each finding its reason, and
    each run its outputs, drawn on pages.
    """
    found, kept = report.compared, unrequested(report.findings, report.undone)
    if view == "brief":
        sections: list[Sequence[Block]] = [
            _above(report),
            [*_trust(report), *_assumptions(report.changes)],
            _changes(report.changes),
            _stays("UNDONE, as it was before", report.undone, "error"),
            _stays("Stays as it is", kept, "strong"),
            [*_as_asked(report.findings), *_nothing_stays(report)],
            [*_next(report), *_ending(report, is_brief=True)],
        ]
        return Document("fix", report.name, [Group("", blocks) for blocks in sections])
    from onnxpad.report.documents.cards import finding_cards
    from onnxpad.report.documents.validation_document import validation_groups

    asked = [each for each in report.findings if each.asked]
    parts: dict[str, Sequence[Block]] = {
        "Changes": [*_change_cards(report.changes)],
        "Assumptions": [*_assumptions(report.changes, len(report.changes))],
        "Taken back": finding_cards((*report.undone, *report.barred)),
        "What stays": finding_cards(kept),
        "Left as asked": [*_as_asked(asked), *finding_cards(asked)],
    }
    head = [*_above(report), *_trust(report, with_runs=False), *_next(report)]
    groups = [Group("", head)]
    groups += [Group(title, blocks) for title, blocks in parts.items() if blocks]
    groups += validation_groups(found) if found is not None else []
    return Document("fix", report.name, [*groups, Group("", [*_ending(report, is_brief=False)])])


def fix_text(report: FixReport, screen: Screen | None = None, view: View = "brief") -> str:
    """The document as plain text."""
    return text_of(fix_document(report, view), Screen() if screen is None else screen)


def _above(report: FixReport) -> list[Block]:
    """The headline, with sizes that the result declares, warnings and notes."""
    return [*_headline(report), *_declared(report), *remarks(report)]


def headline(report: FixReport) -> str:
    """The result in a few words: `236 changes, style pad`; the usual style is not named."""
    style = f", style {report.options.style}" if report.options.style != "fold" else ""
    style += for_targets(report.options.targets)
    if report.outcome is Outcome.UNCHANGED:
        see = "; see Next" if report.next else ""
        said = "no change was kept" if report.undone else "nothing to change"
        return f"{_untaken(report)}{said}{style}{see}"
    if not report.changes and report.declared:
        return f"{_untaken(report)}no padding to change{style}, but sizes to declare"
    if not report.changes:
        return f"{_untaken(report)}no change was kept{style}"
    would = " would be made" if report.delivery.check else ""
    found, why = report.compared, ""
    if found is not None and found.outcome == "nothing compared":
        why = f"; not validated: {shown(found.reason)}"
    elif found is not None and found.outcome == "repaired":
        why = f"; a repair: {shown(found.reason)}"
    made = f"{counted(len(report.changes), 'change')}{would}"
    return f"{_untaken(report)}{made}{why}{style}"


def _untaken(report: FixReport) -> str:
    """What the targets do not take of what is left: `2 paddings left that it rejects; `."""
    left = report.untaken
    if not left:
        return ""
    verbs = {"PAD703": "computes wrongly", "PAD704": "rejects"}
    does = " or ".join(verb for code, verb in verbs.items() if code in {e.code for e in left})
    who = "the target" if len(report.options.targets) == 1 else "a target"
    return f"{counted(len({e.node for e in left}), 'padding')} left that {who} {does}; "


def _headline(report: FixReport) -> Iterator[Block]:
    yield f"{marked(shown(report.name), 'strong')}: {headline(report)}"
    before, after = report.counts
    named = [("Pad", before.pads, after.pads), ("auto_pad", before.auto_pads, after.auto_pads)]
    if before.ceil_modes != after.ceil_modes:
        named.append(("ceil_mode", before.ceil_modes, after.ceil_modes))
    numbers = [(name, was, now) for name, was, now in named if was or now]
    yield Tallies([*numbers, ("nodes", report.nodes_before, report.nodes_after)])
    chosen = [f"only {', '.join(report.options.select)}"] if report.options.select else []
    chosen += [f"without {', '.join(report.options.ignore)}"] if report.options.ignore else []
    if chosen:
        said = f"Asked for {' and '.join(chosen)}: padding of other codes is left as it was"
        yield Line(said, "  ", "  ")


def _changes(changes: Sequence[Change]) -> list[Block]:
    if not changes:
        return []
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
    blocks: list[Block] = [Table(["", "was", "is now", "begin+end by axis, where"], rows)]
    if rest := groups[GROUPS:]:
        count = counted(sum(map(len, rest)), "change")
        said = f"and {count} of {counted(len(rest), 'other kind')}; --verbose has them"
        blocks.append(Line(said))
    return blocks


def _stays(head: str, findings: Sequence[Finding], role: str) -> list[Block]:
    """Findings in groups of one reason, each with the code that `onnxpad rule` explains."""
    if not findings:
        return []
    groups = grouped(findings, lambda each: (each.code, short_reason(each)))
    rows: list[Sequence[Cell]] = []
    for group in groups[:GROUPS]:
        names = list(dict.fromkeys(shown(each.node) for each in group))
        reason = shown(short_reason(group[0]))
        rows.append([f"{len(names):,}", group[0].code, NodeNames(names, [reason])])
    count = len({finding.node for finding in findings})
    blocks: list[Block] = [f"{marked(head, role)}: {count:,}", Table([""] * 3, rows)]
    if rest := groups[GROUPS:]:
        others = counted(sum(map(len, rest)), "finding")
        many = counted(len(rest), "other reason")
        blocks.append(Line(f"and {others} for {many}; --verbose has them"))
    return blocks


def short_reason(finding: Finding) -> str:
    """The reason of a finding without names, formulas of open sizes and advice."""
    return finding.brief or without_names(finding.reason) or finding.message


def _assumptions(changes: Sequence[Change], most: int = 0) -> Iterator[str]:
    """The assumptions of all proofs, what `--strict` does with them, and the changes on each."""
    each_with = [
        (taken, "refuses" if taken in change.certificate.refused else "accepts", change)
        for change in changes
        for taken in change.certificate.assumptions
    ]
    for group in grouped(each_with, lambda each: each[:2]):
        name, strictly, _ = group[0]
        on = [change for *_, change in group]
        names = f" ({first_names(on, most)})" if most else ""
        strict = f"--strict {strictly}; onnxpad docs proofs"
        many = counted(len(on), "change")
        yield f"{marked('Assumes', 'warning')} {shown(name)}: {many}{names} ({strict})"


def _trust(report: FixReport, *, with_runs: bool = True) -> Iterator[Block]:
    """Why the result may be relied on: proofs, probes and runs; also those that failed."""
    if not report.changes and report.compared is None:
        return
    repaired = sum(change.repairs for change in report.changes)
    if repaired:
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
        from onnxpad.report.documents.validation_document import divergence, failure, run_blocks

        failed = [run for run in validation.runs if not run.ok]
        many = f"{len(failed):,} of {counted(len(validation.runs), 'run')} differ"
        said = "; ".join(filter(None, (failure(validation), many)))
        yield f"{marked('Validation FAILED', 'error')}: {said}"
        if with_runs:
            yield from (block for run in failed for block in run_blocks(run, validation))
            yield from divergence(validation.divergence, verbose=False)
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
    limits = grouped(report.changes, lambda change: change.certificate.limited_to)
    sizes = [
        f"at {shown(limit)} only"
        if (limit := group[0].certificate.limited_to)
        else _at(report, group)
        for group in limits
    ]
    return f"{reads} the same values as before, {', others '.join(sizes)}"


def _at(report: FixReport, changes: Sequence[Change]) -> str:
    """The sizes at which changes are exact that are exact at all sizes left open."""
    certificates = [change.certificate for change in changes]
    if all(each.is_universal for each in certificates):
        return "at every size" if len(changes) < len(report.changes) else "at every input size"
    fixed = "at the input sizes " + ("given" if report.declared else "that the model declares")
    is_open = any(each.is_open for each in certificates)
    return f"{fixed}, and every size of what stays open" if is_open else fixed


def _compared(report: FixReport) -> str:
    """The runs of a validation that passed: `outputs are equal bit for bit`."""
    validation = report.compared
    assert validation is not None
    ours = [run for run in validation.runs if run.subject == "rewritten"]
    agree = (run for run in ours if run.tells and not run.flat)
    runs = [run for run in agree if all(each.ok for each in run.comparisons)]
    where = " and ".join(dict.fromkeys(r.provider.removesuffix("ExecutionProvider") for r in runs))
    said = []
    for level in dict.fromkeys(run.optimisation for run in runs):
        compared = [c for run in runs if run.optimisation == level for c in run.comparisons]
        shares = [c.max_rel for c in compared if not c.equal]
        worst = math.nan if any(map(math.isnan, shares)) else max(shares, default=0.0)
        how = "bit for bit" if all(c.equal for c in compared) else _within(worst)
        count, of = (
            len({run.inputs for run in each if run.optimisation == level}) for each in (runs, ours)
        )
        part = f", on {count} of {of} inputs" if count < of else ""
        said.append(f"{how} with its optimiser {'off' if level == 'off' else 'on'}{part}")
    many = counted(len(runs), "comparison")
    return f"outputs are equal in {RUNTIME} ({shown(where)}, {many}) {', '.join(said)}"


def _within(share: float) -> str:
    """A difference within rounding, of the greatest value: `to 4e-07`."""
    return "within rounding" if math.isnan(share) else f"to {share:.0e}"


def _nothing_stays(report: FixReport) -> Iterator[str]:
    options = report.options
    is_told = report.changes or options.is_for_targets
    if is_told and not (report.findings or report.undone or options.select or options.ignore):
        yield "Stays as it is: nothing that could be changed"


def _ending(report: FixReport, *, is_brief: bool) -> Iterator[str]:
    yield _delivered(report)
    if not (report.changes or report.findings or report.undone):
        return
    kept = unrequested(report.findings, report.undone)
    said = [explained(kept if is_brief else kept or report.changes)]
    if is_brief:
        details = "each change with its proof" if report.changes else "each reason in full"
        held = "changes" if report.changes else "undone" if report.undone else "findings"
        where = f"result.{held} has" if report.delivery.in_memory else "--verbose has"
        said.insert(0, f"{where} {details}")
    if any(said):
        yield marked("; ".join(filter(None, said)), "faint")


def _declared(report: FixReport) -> Iterator[Block]:
    """A line for each input with sizes newly declared, and one for ranges."""
    declares = "would declare" if report.delivery.check else "declares"
    if any(made.certificate.within for made in report.changes):
        records = "would record" if report.delivery.check else "records"
        yield f"Holds for {shown(report.ranges)} only, as the result's metadata {records}"
    for name, shape in report.declared.items():
        sizes = "x".join("?" if size is None else str(size) for size in shape)
        yield Line(f"{declares} input {shown(repr(name))} as {shown(sizes)}", "  ", "  ")


def _as_asked(findings: Sequence[Finding]) -> Iterator[str]:
    """A text for each option that asks for padding as it is."""
    for group in kept_as_asked(findings):
        said = f"{counted(len(group), 'node')} ({first_names(group, _NAMES)})"
        yield f"As {group[0].asked} asks for: {said}"


def _next(report: FixReport) -> Iterator[str]:
    """The option to try next."""
    if report.next:
        yield marked(next_line(report.next, in_memory=report.delivery.in_memory), "strong")


def _change_cards(changes: Sequence[Change]) -> Iterator[Block]:
    """All changes, a card for each kind, the most frequent ones first."""
    drawn = 0
    for place, group in enumerate(change_groups(changes)):
        first = group[0]
        # A pass of a user's own may tell no forms.
        forms = first.forms if any(first.forms) else first.told
        repair = f"{marked('repair', 'warning')} " if first.repairs else ""
        blocks: list[Block] = []
        if first.repairs:
            blocks.append(f"Repairs: {RUNTIME} does not run these operators as they were")
        varieties = sorted(grouped(group, _variety), key=len, reverse=True)
        for alike in varieties:
            card = _change_card(alike, is_drawn=drawn < _DRAWN)
            blocks += [card] if varieties[1:] else card.blocks
            drawn += 1
        became = _became(len(group), *forms) if varieties[1:] else card.title
        title = f"{became} {repair}{marked(first.code, 'faint')}"
        yield Group(title, blocks, is_open=place == 0)


def _variety(change: Change) -> tuple[object, ...]:
    """The same for changes of one kind that also look alike, and are proved alike."""
    made = change.certificate
    proved = without_names(made.statement), made.assumptions, made.limited_to
    return change.before, change.after, *proved


def _change_card(group: Sequence[Change], *, is_drawn: bool) -> Group:
    """Changes that are alike: the proof, pictures of the first one, and all by name."""
    from onnxpad.report.documents.cards import members

    first = group[0]
    made = first.certificate
    said = made.statement if len(group) == 1 else without_names(made.statement)
    where = f", for {made.limited_to}" if made.limited_to else ""
    blocks: list[Block] = [f"{marked('proved', 'good')} {shown(said + where)}"]
    if made.assumptions:
        blocks.append(f"{marked('assumes', 'warning')} {', '.join(map(shown, made.assumptions))}")
    blocks += [Picture(first)] * is_drawn
    told = []
    for change in group:
        proof = f"exact for {shown(change.certificate.sizes)}"
        proof += f": {shown(change.certificate.statement)}" * (len(group) > 1)
        probe = f"probe: {shown(change.probe)}" if change.probe else ""
        told.append((labelled(change), "; ".join(filter(None, [proof, probe]))))
    return Group(_became(len(group), *first.told), [*blocks, members(told)], is_open=True)


def _became(count: int, before: str, after: str) -> str:
    becomes = marked("becomes", "faint")
    return f"{marked(f'{count:,} x', 'info')} {shown(before)} {becomes} {shown(after or 'nothing')}"


def _delivered(report: FixReport) -> str:
    """The last line: the file that was written, and the time."""
    written = shown(report.delivery.written)
    if report.outcome is Outcome.UNCHANGED:
        copied = "Copied to" if report.delivery.inline else "Copied byte for byte to"
        said = f"{copied} {written}" if written else "Nothing written"
    elif report.delivery.check:
        said = "Nothing written (--diff)"
    elif written:
        said = f"Wrote {marked(written, 'strong')}"
    elif report.delivery.in_memory:
        said = "Not written yet: save(path) writes it"
    else:
        said = "Nothing written; --keep-invalid writes it all the same"
    if written and report.outcome is Outcome.INVALID:
        said += " although the validation failed (--keep-invalid)"
    return f"{said}{beside(report.delivery.older, report.delivery.data)} ({report.seconds:.1f} s)"


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
