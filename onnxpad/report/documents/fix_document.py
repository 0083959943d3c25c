"""The document of `fix`: what changed, what stays, whether it holds; in full each proof."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from onnxpad.errors import RUNTIME, without_names
from onnxpad.finding import Change, Finding, NextOption
from onnxpad.report import FixReport, Outcome
from onnxpad.report.documents import Block, Cell, Document, Group, Line, NodeNames, Table, Tallies
from onnxpad.report.layout import UNBREAKABLE, Screen, marked, text_of
from onnxpad.report.text import (
    NODES_A_REASON,
    ChangeGroup,
    amounts_in_words,
    beside,
    change_groups,
    counted,
    explained,
    first_names,
    for_targets,
    grouped,
    kept_as_asked,
    now_in_words,
    remarks,
    shown,
    unrequested,
    was_in_words,
)

if TYPE_CHECKING:
    from onnxpad.validation.result import Validation

GROUPS = 6
"""Groups that are listed; the rest is counted."""
_NAMES = 3


def fix_document(report: FixReport) -> Document:
    """Groups of changes and of padding that stays, and whether the result holds: under 40 lines."""
    sections: list[Sequence[Block]] = [
        above(report),
        trust(report),
        _changes(report.changes),
        _stays("UNDONE, as it was before", report.undone, "error"),
        _stays("Stays as it is", unrequested(report.findings, report.undone), "strong"),
        [*as_asked(report.findings, _NAMES), *_nothing_stays(report)],
        [*next_lines(report), *_ending(report)],
    ]
    return Document("fix", report.name, [Group("", blocks) for blocks in sections])


def fix_text(report: FixReport, screen: Screen | None = None) -> str:
    """The document as plain text."""
    return text_of(fix_document(report), Screen() if screen is None else screen)


def above(report: FixReport) -> list[Block]:
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


def counts(report: FixReport) -> Tallies:
    """The numbers before and after that matter to padding."""
    before, after = report.counts
    named = [("Pad", before.pads, after.pads), ("auto_pad", before.auto_pads, after.auto_pads)]
    if before.ceil_modes != after.ceil_modes:
        named.append(("ceil_mode", before.ceil_modes, after.ceil_modes))
    said = [(name, was, now) for name, was, now in named if was or now]
    return Tallies([*said, ("nodes", report.nodes_before, report.nodes_after)])


def _headline(report: FixReport) -> Iterator[Block]:
    yield f"{marked(shown(report.name), 'strong')}: {headline(report)}"
    yield counts(report)
    chosen = [f"only {', '.join(report.options.select)}"] if report.options.select else []
    chosen += [f"without {', '.join(report.options.ignore)}"] if report.options.ignore else []
    if chosen:
        said = f"Asked for {' and '.join(chosen)}: padding of other codes is left as it was"
        yield Line(said, "  ", "  ")


def _changes(changes: Sequence[Change]) -> list[Block]:
    if not changes:
        return []
    groups = change_groups(changes)
    rows: list[Sequence[Cell]] = [
        [
            f"{len(group.changes):,}",
            *_was_and_now(group),
            NodeNames(
                [shown(each.node) for each in group.changes], [*filter(None, [_amounts(group)])]
            ),
        ]
        for group in groups[:GROUPS]
    ]
    blocks: list[Block] = [Table(["", "was", "is now", "begin+end by axis, where"], rows)]
    if rest := groups[GROUPS:]:
        count = counted(sum(len(group.changes) for group in rest), "change")
        said = f"and {count} of {counted(len(rest), 'other kind')}; --verbose has them"
        blocks.append(Line(said))
    return blocks


def _was_and_now(group: ChangeGroup) -> tuple[Cell, Cell]:
    """How a group was written, and is now; what the pass says where both read alike."""
    was, now = was_in_words(group), now_in_words(group)
    first = group.changes[0]
    return (was, now) if first.told[0] == first.before else (shown(first.told[0]), now)


def _amounts(group: ChangeGroup) -> str:
    """The amounts of a group, each of which stays on one line."""
    return "; ".join(each.replace(" ", UNBREAKABLE) for each in amounts_in_words(group))


def _stays(head: str, findings: Sequence[Finding], role: str) -> list[Block]:
    """Findings in groups of one reason, each with the code that `onnxpad rule` explains."""
    if not findings:
        return []
    groups = _short_groups(findings)
    nodes = [list(dict.fromkeys(each.node for each in group)) for _, group in groups[:GROUPS]]
    rows: list[Sequence[Cell]] = [
        [f"{len(names):,}", group[0].code, NodeNames([*map(shown, names)], [shown(reason)])]
        for names, (reason, group) in zip(nodes, groups, strict=False)
    ]
    count = len({finding.node for finding in findings})
    blocks: list[Block] = [f"{marked(head, role)}: {count:,}", Table([""] * 3, rows)]
    if rest := groups[GROUPS:]:
        others = counted(sum(len(group) for _, group in rest), "finding")
        many = counted(len(rest), "other reason")
        blocks.append(Line(f"and {others} for {many}; --verbose has them"))
    return blocks


def _short_groups(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    """The findings by their reason without names of nodes, and formulas."""
    groups = grouped(findings, lambda each: (each.code, short_reason(each)))
    return [(short_reason(group[0]), group) for group in groups]


def short_reason(finding: Finding) -> str:
    """The reason of a finding without names, formulas of open sizes and advice."""
    return finding.brief or without_names(finding.reason) or finding.message


def _assumptions(changes: Sequence[Change]) -> Iterator[str]:
    for name, strictly, assuming in assumed(changes):
        count = counted(len(assuming), "change")
        strict = f"--strict {strictly}; onnxpad docs proofs"
        yield f"{marked('Assumes', 'warning')} {shown(name)}: {count} ({strict})"


def trust(report: FixReport, *, with_runs: bool = True) -> list[Block]:
    """Why the result may be relied on: proofs, probes, runs, and what they assume.

    Args:
        report: The report.
        with_runs: Whether the runs that failed are told, and where the models first differ.
    """
    return [*_trust(report, with_runs), *_assumptions(report.changes)]


def _trust(report: FixReport, with_runs: bool) -> Iterator[Block]:
    if not report.changes and report.compared is None:
        return
    repaired = sum(change.repairs for change in report.changes)
    if repaired:
        makes = "1 change makes" if repaired == 1 else f"{repaired:,} changes make"
        said = f"{RUNTIME} does not run the model as it was; {makes} it run"
        yield f"{marked('Repaired', 'good')}: {said}"
    if report.changes:
        yield f"{marked('Proved', 'good')}: {_proved(report)}"
    yield from _validated(report, with_runs)


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


def unvalidated(report: FixReport) -> list[Block]:
    """A line that changes were not validated, where the user asked for that."""
    is_asked = report.compared is None and report.changes and not report.validate
    return [marked("Not validated (--no-validate)", "warning")] if is_asked else []


def _validated(report: FixReport, with_runs: bool) -> Iterator[Block]:
    validation = report.compared
    if validation is None:
        yield from unvalidated(report)
        return
    if validation.outcome == "failed":
        yield from _failed_runs(validation, with_runs)
    elif validation.outcome == "passed":
        yield f"{marked('Validated', 'good')}: {_compared(report)}"
    # What the headline says already is not said again.
    told = f"not compared: {validation.reason}" if report.changes else ""
    warned = [each for each in validation.warnings if each != told]
    yield from (f"{marked('warning', 'warning')}: {shown(each)}" for each in warned)


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
    told = f"outputs are equal in {RUNTIME} ({shown(where)}, {many}) {', '.join(said)}"
    if any(run.against == "reference" and run.tells for run in runs):
        told += "; the reference is reproduced"
    return told


def _within(share: float) -> str:
    """A difference within rounding, of the greatest value: `to 4e-07`."""
    return "within rounding" if math.isnan(share) else f"to {share:.0e}"


def _nothing_stays(report: FixReport) -> Iterator[str]:
    options = report.options
    is_told = report.changes or options.is_for_targets
    if not is_told or report.findings or report.undone or options.select or options.ignore:
        return
    _, after = report.counts
    left = [counted(count, name) for name, count in (("Pad", after.pads),) if count]
    left += [f"{after.auto_pads:,} auto_pad"] * bool(after.auto_pads)
    is_one = after.pads + after.auto_pads == 1
    verb, them = ("is", "it") if is_one else ("are", "them")
    takes = "takes" if report.options.is_for_targets else "writes"
    style = f"{verb} as {report.options.goal} {takes} {them}"
    rest = f"; {' and '.join(left)} {style}" if left else ""
    yield f"Stays as it is: nothing{rest}"


def _ending(report: FixReport) -> Iterator[str]:
    yield ending(report)
    details = "each change with its proof" if report.changes else "each reason in full"
    where = "--verbose has"
    if report.delivery.in_memory:
        held = "changes" if report.changes else "undone" if report.undone else "findings"
        where = f"result.{held} has"
    said = [f"{where} {details}", explained(unrequested(report.findings, report.undone))]
    if report.changes or report.findings or report.undone:
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


def assumed(changes: Sequence[Change]) -> list[tuple[str, str, list[Change]]]:
    """The assumptions of all proofs, what `--strict` does with them, and the changes on each."""
    each_with = [
        ((taken, "refuses" if taken in change.certificate.refused else "accepts"), change)
        for change in changes
        for taken in change.certificate.assumptions
    ]
    groups = grouped(each_with, lambda pair: pair[0])
    return [(*group[0][0], [change for _, change in group]) for group in groups]


def as_asked(findings: Sequence[Finding], most: int = NODES_A_REASON) -> Iterator[str]:
    """A text for each option that asks for padding as it is."""
    for group in kept_as_asked(findings):
        said = f"{counted(len(group), 'node')} ({first_names(group, most)})"
        yield f"As {group[0].asked} asks for: {said}"


def next_lines(report: FixReport) -> Iterator[str]:
    """The option to try next."""
    if report.next:
        yield marked(next_line(report.next, in_memory=report.delivery.in_memory), "strong")


def _failed_runs(validation: Validation, with_runs: bool) -> Iterator[Block]:
    """The runs of a validation that failed, and where the models first differ."""
    from onnxpad.report.documents.validation_document import divergence, failure, run_blocks

    failed = [run for run in validation.runs if not run.ok]
    many = f"{len(failed):,} of {counted(len(validation.runs), 'run')} differ"
    said = "; ".join(filter(None, (failure(validation), many)))
    yield f"{marked('Validation FAILED', 'error')}: {said}"
    if with_runs:
        yield from (block for run in failed for block in run_blocks(run, validation))
        yield from divergence(validation.divergence, verbose=False)


def ending(report: FixReport) -> str:
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
