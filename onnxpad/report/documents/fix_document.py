"""The document of `fix`: what changed, what stays, whether it holds; in full each proof."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from onnxpad.finding import Assumption, Change, Finding, NextOption
from onnxpad.messages import RUNTIME
from onnxpad.report import FixReport, Outcome
from onnxpad.report.documents import (
    Block,
    Cell,
    Counts,
    Document,
    Group,
    Line,
    Names,
    Pairs,
    Table,
    View,
)
from onnxpad.report.documents.validation_document import (
    divergence,
    is_warned,
    noted,
    times,
    untold,
    validation_groups,
)
from onnxpad.report.groups import (
    ChangeGroup,
    change_groups,
    grouped,
    kept_as_asked,
    reason_groups,
    reason_without_names,
    unrequested,
)
from onnxpad.report.layout import UNBREAKABLE, Screen, marked, text_of
from onnxpad.report.text import (
    NODES_A_REASON,
    beside,
    counted,
    first_names,
    labelled,
    remarks,
    shown,
)
from onnxpad.site_form import SiteForm, StepForm, WrittenAmounts
from onnxpad.validation.result import BY_ONNX

if TYPE_CHECKING:
    from onnxpad.validation.result import Comparison, Run, Validation

GROUPS = 6
"""Groups that are listed; the rest is counted."""
_VARIANTS, _NAMES = 4, 3
_QUOTED = re.compile(r" '[^']*'")
_PAD: Final = StepForm("Pad", "pad")


def fix_document(report: FixReport, view: View = "brief") -> Document:
    """Says what changed, what stays, and whether it holds.

    Args:
        report: The report.
        view: `brief` is under 40 lines: groups of changes and of padding that stays. `full` has
            every change with its proof, every reason and run; `page` also what stands in `brief`.
    """
    head: list[Block] = [*_headline(report), *declared(report), *remarks(report)]
    trust: list[Block] = [*_trust(report), *_assumptions(report.changes)]
    if view == "page":
        end = [*next_lines(report), ending(report), _options(report)]
        return Document(
            "fix", report.name, [Group("", [*head, *trust, *end]), *_page_groups(report)]
        )
    sections: list[Sequence[Block]]
    if view == "brief":
        sections = [
            head,
            trust,
            _changes(report.changes),
            _stays("UNDONE, as it was before", report.undone, "error"),
            _stays("Stays as it is", unrequested(report.findings, report.undone), "strong"),
            [*as_asked(report.findings, _NAMES), *_nothing_stays(report)],
            [*next_lines(report), *_ending(report)],
        ]
    else:
        sections = [
            head,
            *_proofs(report.changes),
            _assumptions_in_full(report.changes),
            _undone(report.undone),
            _kept(report.findings, report.undone),
            [*as_asked(report.findings)],
            [*_validation(report)],
            [*next_lines(report)],
            [ending(report)],
        ]
    return Document("fix", report.name, [Group("", blocks) for blocks in sections])


def fix_text(report: FixReport, screen: Screen | None = None, view: View = "brief") -> str:
    """The report as text."""
    return text_of(fix_document(report, view), Screen() if screen is None else screen)


def _page_groups(report: FixReport) -> list[Group]:
    """The sections of a page after its head, with a picture of each change and finding."""
    from onnxpad.report.documents.cards import change_cards, finding_cards

    told = {(finding.code, finding.node, finding.reason) for finding in report.undone}
    kept = [each for each in report.findings if (each.code, each.node, each.reason) not in told]

    def said(change: Change) -> str:
        return "; ".join(filter(None, [_proof(change), _probe(change)]))

    sections: dict[str, Sequence[Block]] = {
        "Changes": [*change_cards(report.changes, said)],
        "Assumptions": _assumptions_in_full(report.changes),
        "Taken back": finding_cards((*report.undone, *report.barred), 0),
        "What stays": finding_cards([each for each in kept if not each.asked], 1),
        "Left as asked": finding_cards([each for each in kept if each.asked], 1),
    }
    groups = [Group(title, blocks) for title, blocks in sections.items() if blocks]
    if report.compared is not None:
        groups += validation_groups(report.compared, [_verdict(report.compared)])
    return groups


def headline(report: FixReport) -> str:
    """The result in a few words: `236 changes, style pad`; the usual style is not named."""
    style = f", style {report.options.style}" if report.options.style != "fold" else ""
    if report.outcome is Outcome.UNCHANGED:
        see = "; see Next" if report.next else ""
        return ("no change was kept" if report.undone else "nothing to change") + style + see
    if not report.changes and report.declared:
        return f"no padding to change{style}, but sizes to declare"
    if not report.changes:
        return f"no change was kept{style}"
    would = " would be made" if report.delivery.check else ""
    found, why = report.compared, ""
    if found is not None and found.outcome == "nothing compared":
        why = f"; not validated: {shown(found.reason)}"
    elif found is not None and found.outcome == "repaired":
        why = f"; a repair: {shown(found.reason)}"
    return f"{counted(len(report.changes), 'change')}{would}{style}{why}"


def counts(report: FixReport) -> Counts:
    """The numbers before and after that matter to padding."""
    before, after = report.counts
    named = [("Pad", before.pads, after.pads), ("auto_pad", before.auto_pads, after.auto_pads)]
    if before.ceil_modes != after.ceil_modes:
        named.append(("ceil_mode", before.ceil_modes, after.ceil_modes))
    said = [(name, was, now) for name, was, now in named if was or now]
    return Counts([*said, ("nodes", report.nodes_before, report.nodes_after)])


def _headline(report: FixReport) -> Iterator[Block]:
    yield f"{marked(shown(report.name), 'strong')}: {headline(report)}"
    yield counts(report)
    chosen = [f"only {', '.join(report.options.select)}"] if report.options.select else []
    chosen += [f"without {', '.join(report.options.ignore)}"] if report.options.ignore else []
    if chosen:
        said = f"Asked for {' and '.join(chosen)}: padding of other codes is left as it was"
        yield Line(said, "  ", "  ")


def _options(report: FixReport) -> str:
    """The options that decide what is rewritten."""
    asked = report.options
    said = [f"style {asked.style}", f"open sizes: {asked.dynamic}"]
    said += ["no_ceil"] * asked.no_ceil + ["symmetric_transpose"] * asked.symmetric_transpose
    said += [f"trust {asked.trust}"] if asked.trust else []
    return marked(f"Asked for: {', '.join(said)}", "faint")


def _changes(changes: Sequence[Change]) -> list[Block]:
    if not changes:
        return []
    groups = change_groups(changes)
    rows: list[Sequence[Cell]] = [
        [
            f"{len(group.changes):,}",
            was_in_words(group),
            now_in_words(group),
            Names([shown(each.node) for each in group.changes], [*filter(None, [_amounts(group)])]),
        ]
        for group in groups[:GROUPS]
    ]
    blocks: list[Block] = [Table(["", "was", "is now", "begin+end by axis, where"], rows)]
    if rest := groups[GROUPS:]:
        count = counted(sum(len(group.changes) for group in rest), "change")
        said = f"and {count} of {counted(len(rest), 'other kind')}; --verbose has them"
        blocks.append(Line(said))
    return blocks


def was_in_words(group: ChangeGroup) -> str:
    """The form before, such as `Pad before Conv`."""
    refused = " (does not run)" if group.repairs else ""
    return _in_words(_unguarded(group.was), group.op_type) + refused


def now_in_words(group: ChangeGroup) -> list[str]:
    """The form after, without the operator that the form before names already; in parts."""
    was, after = _unguarded(group.was), group.now.steps
    if was != group.was.steps:  # it was guarded before
        after = _unguarded(group.now)
    if not after:
        return ["removed"]
    if was == after and was[0].op == "Pad" and was[0].source == "computed":
        return ["by fewer nodes"]
    if was[:1] == (_PAD,) and was[1:] and after == (*was[1:], _PAD):
        return ["moved past it" if len(after) == 2 else "moved past them"]
    if was == (_PAD,) and after == (_PAD, _PAD):
        return ["two Pads"]
    if len(was) > 1 and was[-1:] == after and after[0] == StepForm(group.op_type, after[0].kind):
        return ["dropped:", "never read"]
    return _in_words(after, group.op_type, is_result=True).split("\n")


def _unguarded(form: SiteForm) -> tuple[StepForm, ...]:
    return tuple(replace(step, is_guarded=False) for step in form.steps)


def _in_words(steps: Sequence[StepForm], op_type: str, *, is_result: bool = False) -> str:
    """A form as people say it: `Pad before Conv`, `Slice behind ConvTranspose`.

    Args:
        steps: The form.
        op_type: The operator that is changed.
        is_result: Whether it stands beside the form before: flags are on lines of their own, and
            the operator is left out where it comes first and more is said of it.
    """
    if not steps:
        return ""
    *first, last = steps
    link, past = " and ", ""
    if not first:
        named = [last]
    elif first[0].op.startswith("ConvTranspose") or last.source or last.op != op_type:
        named, link = [last, *reversed(first)], " behind "
    else:
        pads = [step for step in first if step.kind == "pad"]
        between = len(first) - len(pads)
        past = f", past {counted(between, 'operator')}" if pads and between else ""
        named = pads or first
        past = f" before {_step_in_words(last, is_result)}{past}"
    is_named = not is_result or op_type != named[0].op or bool(named[0].source)
    goes_on = len(named) > 1 or bool(past) or named[0] != StepForm(op_type, named[0].kind)
    is_named = is_named or not goes_on or named[0].is_phrased
    told = [_step_in_words(step, is_result) for step in named]
    told[0] = _step_in_words(named[0], is_result, is_named=is_named)
    return f"{link.join(told)}{past}".lstrip()


def _step_in_words(step: StepForm, is_result: bool, *, is_named: bool = True) -> str:
    op = shown(step.op) if is_named else ""
    if not is_result:
        return step.words(op)
    return step.words(op, ",\nguarded (PAD701)", ",\ncount_include_pad=1")


def _amounts(group: ChangeGroup) -> str:
    """The amounts of a group, each of which stays on one line."""
    return "; ".join(each.replace(" ", UNBREAKABLE) for each in amounts_in_words(group))


def amounts_in_words(group: ChangeGroup) -> list[str]:
    """The most frequent amounts of a group, and how many changes have each."""
    several = len(group.amounts) > 1
    if not several and group.amounts[0][0] is None:
        return []
    told = []
    for amounts, count in group.amounts[:_VARIANTS]:
        said = "none"
        if amounts is not None:
            said = amounts.by_axis or amounts.written
            said = "0 on all axes" if amounts == WrittenAmounts() else said
            if not several and amounts.axes and amounts.attributes:
                said = f"{amounts.by_axis}   {amounts.written}"
        told.append(f"{count:,}x {said}" if several else said)
    if rest := group.amounts[_VARIANTS:]:
        many = sum(count for _, count in rest)
        told.append(f"{many:,}x in {counted(len(rest), 'other way')}")
    return told


def _stays(head: str, findings: Sequence[Finding], role: str) -> list[Block]:
    """Findings in groups of one reason, each with the code that `onnxpad rule` explains."""
    if not findings:
        return []
    groups = _short_groups(findings)
    rows: list[Sequence[Cell]] = [
        [f"{len(group):,}", group[0].code, Names([shown(f.node) for f in group], [shown(reason)])]
        for reason, group in groups[:GROUPS]
    ]
    blocks: list[Block] = [f"{marked(head, role)}: {len(findings):,}", Table([""] * 3, rows)]
    if rest := groups[GROUPS:]:
        count = counted(sum(len(group) for _, group in rest), "finding")
        many = counted(len(rest), "other reason")
        blocks.append(Line(f"and {count} for {many}; --verbose has them"))
    return blocks


def _short_groups(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    """The findings by their reason without names and formulas."""

    def without_names(finding: Finding) -> str:
        return _QUOTED.sub("", short_reason(finding))

    groups = grouped(findings, lambda each: (each.code, without_names(each)))
    return [
        (short_reason(g[0]) if len({*map(short_reason, g)}) == 1 else without_names(g[0]), g)
        for g in groups
    ]


def short_reason(finding: Finding) -> str:
    """The reason of a finding without names, formulas of open sizes and advice."""
    return finding.brief or reason_without_names(finding) or finding.message


def _assumptions(changes: Sequence[Change]) -> Iterator[str]:
    for name, assuming in assumed(changes):
        count = counted(len(assuming), "change")
        yield f"{marked('Assumes', 'warning')} {shown(name)}: {count} (--strict refuses)"


def _trust(report: FixReport) -> Iterator[Block]:
    """Why the result may be relied on: proofs, probes and runs."""
    if not report.changes and report.compared is None:
        return
    repaired = sum(change.repairs for change in report.changes)
    if repaired:
        said = f"{counted(repaired, 'change')}: {RUNTIME} does not run the model as it was"
        yield f"{marked('Repairs', 'good')} {said}"
    if report.changes:
        yield f"{marked('Proved', 'good')}: {_proved(report)}"
    yield from _validated(report)


def _proved(report: FixReport) -> str:
    """For which sizes the changes are exact."""
    changes = report.changes
    limited = [change for change in changes if change.certificate.limited_to]
    many = len(changes)
    which = "the changed operator reads" if many == 1 else f"all {many:,} changed operators read"
    said = f"{which} the same values as before"
    if limited:
        sizes = list(dict.fromkeys(change.certificate.limited_to for change in limited))
        others = f" and {len(sizes) - 1:,} other ranges" if len(sizes) > 1 else ""
        rest = [change for change in changes if not change.certificate.limited_to]
        apart = f"; {counted(len(rest), 'change')} {_at(report, rest)}" if rest else ""
        return f"{said}, at {shown(sizes[0])} only{others}{apart}"
    return f"{said}, {_at(report, changes)}"


def _at(report: FixReport, changes: Sequence[Change]) -> str:
    """The sizes at which changes are exact that are exact at all sizes left open."""
    certificates = [change.certificate for change in changes]
    if all(each.is_universal for each in certificates):
        return "at every size" if len(changes) < len(report.changes) else "at every input size"
    fixed = "at the input sizes " + ("given" if report.declared else "that the model declares")
    is_open = any(each.is_open for each in certificates)
    return f"{fixed}, and every size of what stays open" if is_open else fixed


def _validated(report: FixReport) -> Iterator[Block]:
    validation = report.compared
    if validation is None:
        if report.changes and not report.validate:
            yield marked("Not validated (--no-validate)", "warning")
        return
    if validation.outcome == "failed":
        yield from _failed_runs(report)
    elif validation.outcome == "passed":
        yield f"{marked('Validated', 'good')}: {_compared(report)}"
    yield from (f"{marked('warning', 'warning')}: {shown(each)}" for each in validation.warnings)
    yield from (f"not compared: {shown(each)}" for each in untold(validation))


def _compared(report: FixReport) -> str:
    """The runs of a validation that passed: `outputs are equal bit for bit`."""
    validation = report.compared
    assert validation is not None
    ours = [run for run in validation.runs if run.subject == "rewritten"]
    ran = [run for run in ours if run.comparisons and not run.flat]
    runs = [run for run in ran if run.tells and all(each.ok for each in run.comparisons)]
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
    probed = _probed(report.changes) if validation.probes else ""
    many = counted(len(runs), "comparison")
    if by_onnx := sum(run.against == BY_ONNX for run in runs):
        some = "" if by_onnx == len(runs) else f", {by_onnx} of them"
        many += f"{some} with the original in onnx's reference evaluator"
    told = f"outputs are equal in {RUNTIME} ({shown(where)}, {many}) {', '.join(said)}{probed}"
    if any(run.against == "reference" and run.tells for run in runs):
        told += "; the reference is reproduced"
    if len(runs) < len(ran):
        told += f"; of {counted(len(ran) - len(runs), 'other run')} see the warning"
    return told


def _probed(changes: Sequence[Change]) -> str:
    """Which of the changes were run by themselves, and agree."""
    alone = sum(Assumption.NOT_PROBED not in each.certificate.assumptions for each in changes)
    if alone == len(changes):
        return "; so is each changed operator by itself"
    return f"; so are {alone:,} of {len(changes):,} changed operators by themselves" * bool(alone)


def _within(share: float) -> str:
    """A difference within rounding, of the greatest value: `to 4e-07`."""
    return "within rounding" if math.isnan(share) else f"to {share:.0e}"


def _nothing_stays(report: FixReport) -> Iterator[str]:
    if not report.changes or report.findings or report.options.select or report.options.ignore:
        return
    _, after = report.counts
    left = [counted(count, name) for name, count in (("Pad", after.pads),) if count]
    left += [f"{after.auto_pads:,} auto_pad"] * bool(after.auto_pads)
    rest = f"; {' and '.join(left)} are as style {report.options.style} writes them" if left else ""
    yield f"Stays as it is: nothing{rest}"


def _ending(report: FixReport) -> Iterator[str]:
    yield ending(report)
    details = "each change with its proof" if report.changes else "each reason in full"
    where = "--verbose has"
    if report.delivery.in_memory:
        where = "result.changes has" if report.changes else "result.findings has"
    explains = ""
    if kept := unrequested(report.findings, report.undone):
        explains = f"; onnxpad rule {kept[0].code} explains a code"
    if report.changes or report.findings or report.undone:
        yield marked(f"{where} {details}{explains}", "faint")


def declared(report: FixReport) -> Iterator[Block]:
    """A line for each input with sizes newly declared, and one for ranges."""
    declares = "would declare" if report.delivery.check else "declares"
    if any(made.certificate.within for made in report.changes):
        which = "would say" if report.delivery.check else "says"
        yield f"Proved for {shown(report.ranges)} only, as the model's metadata {which}"
    for name, shape in report.declared.items():
        sizes = "x".join("?" if size is None else str(size) for size in shape)
        yield Line(f"{declares} input {shown(repr(name))} as {shown(sizes)}", "  ", "  ")


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
            became = f"{shown(change.before)}  becomes  {shown(change.after)}"
            blocks.append(Pairs([(labelled(change), became)]))
            own = "; ".join(said(change) for said in (_proof, _probe) if said not in common)
            blocks += [Line(marked(own, "faint"), " " * 6, " " * 6)] if own else []
        yield blocks


def _proof(change: Change) -> str:
    """For which sizes a change is exact, and what is the same."""
    certificate = change.certificate
    repaired = f"; a repair: {RUNTIME} does not run it as it was" if change.repairs else ""
    return f"exact for {shown(certificate.sizes)}: {shown(certificate.statement)}{repaired}"


def _probe(change: Change, *, of_each: bool = False) -> str:
    """The run of a change by itself; empty if there was none."""
    each = "each " if of_each else ""
    return f"probe: {each}{shown(change.probe)}" if change.probe else ""


def assumed(changes: Sequence[Change]) -> list[tuple[str, list[Change]]]:
    """The assumptions of all proofs, with the changes that rest on each."""
    pairs = [(taken, change) for change in changes for taken in change.certificate.assumptions]
    groups = grouped(pairs, lambda pair: pair[0])
    return [(group[0][0], [change for _, change in group]) for group in groups]


def _assumptions_in_full(changes: Sequence[Change]) -> list[Block]:
    """Each assumption with the changes that rest on it."""
    lines = [
        Line(f"{shown(name)}: {counted(len(group), 'change')}: {first_names(group, len(group))}")
        for name, group in assumed(changes)
    ]
    return [marked("Assumptions (--strict refuses these)", "warning"), *lines] if lines else []


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


def as_asked(findings: Sequence[Finding], most: int = NODES_A_REASON) -> Iterator[str]:
    """A text for each option that asks for padding as it is."""
    for group in kept_as_asked(findings):
        said = f"{counted(len(group), 'node')} ({first_names(group, most)})"
        yield f"As {group[0].asked} asks for: {said}"


def next_lines(report: FixReport) -> Iterator[str]:
    """The option to try next."""
    if report.next:
        yield marked(next_line(report.next, in_memory=report.delivery.in_memory), "strong")


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
        if report.changes and not report.validate:
            yield marked("Not validated (--no-validate)", "warning")
        return
    yield _verdict(validation)
    yield _run_lines(validation.runs, validation.warnings)
    yield from (Line(f"{marked('warning', 'warning')}: {shown(w)}") for w in validation.warnings)
    yield from (Line(f"not compared: {shown(line)}") for line in untold(validation))
    yield from divergence(validation.divergence)


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


def _failed_runs(report: FixReport) -> Iterator[Block]:
    """The runs of a validation that failed, and where the models first differ."""
    validation = report.compared
    assert validation is not None
    failed = [run for run in validation.runs if not run.ok]
    said = f"{len(failed):,} of {counted(len(validation.runs), 'run')} differ"
    yield f"{marked('Validation FAILED', 'error')}: {said}"
    yield _run_lines(failed, validation.warnings)
    yield from divergence(validation.divergence)


def _run_lines(runs: Sequence[Run], warnings: Sequence[str]) -> Pairs:
    return Pairs([(_run_name(run), _run_result(run, warnings)) for run in runs])


def _run_name(run: Run) -> str:
    provider = run.provider.removesuffix("ExecutionProvider")
    return f"{shown(provider)}, optimisation {run.optimisation}, {shown(run.inputs)}"


def _run_result(run: Run, warnings: Sequence[str]) -> str:
    """`equal bit for bit`, or the outputs that differ, worst first; then the times."""
    differing = [c for c in run.comparisons if not c.equal]
    differing.sort(key=lambda c: (c.ok, -c.max_abs if c.max_abs == c.max_abs else -math.inf))
    if run.excused and not run.comparisons and is_warned(run, warnings):
        result = "not compared; see the warning"
    elif not run.comparisons:
        result = shown(run.note) or "did not run"
    elif not differing:
        result = f"{counted(len(run.comparisons), 'output')} equal bit for bit"
    else:
        worst = "; ".join(_difference(c) for c in differing[:NODES_A_REASON])
        rest = len(differing) - NODES_A_REASON
        result = f"{worst}; and {counted(rest, 'more output')}" if rest > 0 else worst
    if run.comparisons:
        result += f" ({times(run)})"
        result += f"; {note}" if (note := noted(run, warnings)) else ""
    return result if run.ok else f"{marked('DIFFERS', 'error')}: {result}"


def _difference(comparison: Comparison) -> str:
    numbers = f"max abs {comparison.max_abs:.3g}, {comparison.max_rel:.3g} of the greatest value"
    return f"{shown(repr(comparison.output))}: {shown(comparison.detail) or numbers}"


def ending(report: FixReport) -> str:
    """The last line: the file that was written, and the time."""
    written = shown(report.delivery.written)
    if report.outcome is Outcome.UNCHANGED:
        copied = "Copied to" if report.delivery.inline else "Copied byte for byte to"
        said = f"{copied} {written}" if written else "Nothing written"
    elif report.delivery.check:
        said = "Nothing written (--check)"
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
    Next: --dynamic auto-pad would turn 3 Pads into auto_pad (nodes 274 -> 110)
    """
    hint = f"; {found.hint}" if found.hint else ""
    option = shown(found.option)
    if in_memory:
        keywords = (f"{name}={value!r}" for name, value in found.keywords.items())
        option = f"fix(..., {shown(', '.join(keywords))})"
    return f"Next: {option} would {found.gain}{hint}"
