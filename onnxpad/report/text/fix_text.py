"""The report of `fix` as a text that fits a screen: what changed, what stays, and whether it holds.

`fix_details` has every change with its proof.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from onnxpad.finding import Assumption, Change, Finding
from onnxpad.messages import RUNTIME
from onnxpad.report import FixReport, Outcome
from onnxpad.report.groups import (
    ChangeGroup,
    change_groups,
    grouped,
    reason_without_names,
    unrequested,
)
from onnxpad.report.layout import UNBREAKABLE, Screen, cells, pattern_of
from onnxpad.report.text import blocks_joined, counted, remarks, shown
from onnxpad.report.text.fix_details import (
    as_asked,
    assumed,
    declared,
    ending,
    failed_runs,
    fix_details,
    next_lines,
)
from onnxpad.report.text.validation_text import untold
from onnxpad.site_form import SiteForm, StepForm, WrittenAmounts
from onnxpad.validation.result import BY_ONNX

GROUPS = 6
"""Groups that are listed; the rest is counted."""
_VARIANTS, _NAMES = 4, 3
_QUOTED = re.compile(r" '[^']*'")
_PAD: Final = StepForm("Pad", "pad")


def fix_text(report: FixReport, screen: Screen | None = None) -> str:
    """The report of `fix` in under 40 lines: groups of changes and of padding that stays."""
    screen = Screen() if screen is None else screen
    return blocks_joined(
        [
            [*_headline(report, screen), *declared(report, screen), *screen.told(remarks(report))],
            [*_trust(report, screen), *_assumptions(report.changes, screen)],
            _changes(report.changes, screen),
            _stays("UNDONE, as it was before", report.undone, screen, "error"),
            _stays("Stays as it is", unrequested(report.findings, report.undone), screen, "strong"),
            [*as_asked(report.findings, screen, _NAMES), *_nothing_stays(report)],
            [*next_lines(report, screen), *_ending(report, screen)],
        ]
    )


def fix_verbose(report: FixReport, screen: Screen | None = None) -> str:
    """The whole report of `fix`, below the headline of the short one."""
    screen = Screen() if screen is None else screen
    return fix_details(report, screen, list(_headline(report, screen)))


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


def counts_line(report: FixReport) -> str:
    """Counts before and after: `Pad 15 -> 0, auto_pad 1 -> 0, nodes 357 -> 274`."""
    return ", ".join(
        f"{name} {was:,} -> {now:,}" if was != now else f"{name} {now:,}"
        for name, was, now in counts_told(report)
    )


def counts_told(report: FixReport) -> list[tuple[str, int, int]]:
    """The counts that a headline names: the name, and the numbers before and after."""
    before, after = report.counts
    named = [("Pad", before.pads, after.pads), ("auto_pad", before.auto_pads, after.auto_pads)]
    if before.ceil_modes != after.ceil_modes:
        named.append(("ceil_mode", before.ceil_modes, after.ceil_modes))
    said = [(name, was, now) for name, was, now in named if was or now]
    said.append(("nodes", report.nodes_before, report.nodes_after))
    return said


def verdict(report: FixReport) -> list[str]:
    """The counts, and whether the result holds, in a line each."""
    lines = [counts_line(report)]
    if report.changes:
        lines.append(f"Proved: {_proved(report)}")
    found = report.compared
    if found is None:
        lines += ["Not validated"] if report.changes else []
    elif found.outcome == "repaired":
        lines.append(f"Repaired: {found.reason}")
    elif found.outcome == "passed":
        lines.append(f"Validated: {_compared(report)}")
    else:
        lines.append(f"Validation {found.outcome}{f': {found.reason}' if found.reason else ''}")
    return lines


def _headline(report: FixReport, screen: Screen) -> Iterator[str]:
    model = screen.paint(shown(report.name), "strong")
    yield from screen.lines(f"{model}: {headline(report)}", "", "  ")
    yield from screen.lines(screen.paint(counts_line(report), "strong"), "  ")
    chosen = [f"only {', '.join(report.options.select)}"] if report.options.select else []
    chosen += [f"without {', '.join(report.options.ignore)}"] if report.options.ignore else []
    if chosen:
        said = f"Asked for {' and '.join(chosen)}: padding of other codes is left as it was"
        yield from screen.lines(said, "  ")


def _changes(changes: Sequence[Change], screen: Screen) -> list[str]:
    if not changes:
        return []
    groups = change_groups(changes)
    heads = ["", "was", "is now", "begin+end by axis, where"]
    rows: list[list[list[str]]] = [
        [
            [f"{len(group.changes):,}"],
            [was_in_words(group)],
            now_in_words(group),
            [_amounts(group)],
        ]
        for group in groups[:GROUPS]
    ]
    room = screen.last_column(heads, rows)
    listed: list[Sequence[str | Sequence[str]]] = [
        [*row[:-1], _where(group, room)] for row, group in zip(rows, groups, strict=False)
    ]
    lines = [screen.table(heads, listed)]
    if rest := groups[GROUPS:]:
        count = counted(sum(len(group.changes) for group in rest), "change")
        lines.append(f"  and {count} of {counted(len(rest), 'other kind')}; --verbose has them")
    return lines


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


def _where(group: ChangeGroup, room: int | None) -> list[str]:
    """The amounts of a group, how many changes have each, and the first names."""
    return [*filter(None, [_amounts(group)]), _names(group.changes, room)]


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


def _names(items: Sequence[Change] | Sequence[Finding], room: int | None) -> str:
    """As many of the first names as fit one line, at least one, and how many more there are."""
    names = [shown(item.node) for item in items]
    for many in range(min(_NAMES, len(names)), 0, -1):
        rest = len(names) - many
        more = f" and {rest:,} more" if rest else ""
        line = ", ".join(names[:many]) + more
        if room is None or cells(line) <= room:
            return line
    return pattern_of(names[0], max(12, (room or 0) - cells(more))) + more


def _stays(head: str, findings: Sequence[Finding], screen: Screen, role: str) -> list[str]:
    """Findings in groups of one reason, each with the code that `onnxpad rule` explains."""
    if not findings:
        return []
    groups = _short_groups(findings)
    heads = ["", "", ""]
    begun = [[f"{len(group):,}", group[0].code, ""] for _, group in groups[:GROUPS]]
    room = screen.last_column(heads, [[[cell] for cell in row] for row in begun])
    rows = [
        [*row[:-1], [shown(reason), _names(group, room)]]
        for row, (reason, group) in zip(begun, groups, strict=False)
    ]
    lines = [f"{screen.paint(head, role)}: {len(findings):,}", screen.table(heads, rows)]
    if rest := groups[GROUPS:]:
        count = counted(sum(len(group) for _, group in rest), "finding")
        many = counted(len(rest), "other reason")
        lines.append(f"  and {count} for {many}; --verbose has them")
    return lines


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


def _assumptions(changes: Sequence[Change], screen: Screen) -> Iterator[str]:
    for name, assuming in assumed(changes):
        count = counted(len(assuming), "change")
        head = screen.paint("Assumes", "warning")
        yield from screen.lines(f"{head} {shown(name)}: {count} (--strict refuses)", "", "  ")


def _trust(report: FixReport, screen: Screen) -> Iterator[str]:
    """Why the result may be relied on: proofs, probes and runs."""
    if not report.changes and report.compared is None:
        return
    repaired = sum(change.repairs for change in report.changes)
    if repaired:
        said = f"{counted(repaired, 'change')}: {RUNTIME} does not run the model as it was"
        yield from screen.lines(f"{screen.paint('Repairs', 'good')} {said}", "", "  ")
    if report.changes:
        yield from screen.lines(f"{screen.paint('Proved', 'good')}: {_proved(report)}", "", "  ")
    yield from _validated(report, screen)


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


def _validated(report: FixReport, screen: Screen) -> Iterator[str]:
    validation, paint = report.compared, screen.paint
    if validation is None:
        if report.changes and not report.validate:
            yield from screen.lines(paint("Not validated (--no-validate)", "warning"), "", "  ")
        return
    if validation.outcome == "failed":
        yield from failed_runs(report, screen)
    elif validation.outcome == "passed":
        yield from screen.lines(f"{paint('Validated', 'good')}: {_compared(report)}", "", "  ")
    warning = paint("warning", "warning")
    yield from screen.indented((f"{warning}: {shown(w)}" for w in validation.warnings), 0)
    yield from screen.indented((f"not compared: {shown(w)}" for w in untold(validation)), 0)


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


def _ending(report: FixReport, screen: Screen) -> Iterator[str]:
    yield from screen.lines(ending(report, screen.paint), "", "  ")
    details = "each change with its proof" if report.changes else "each reason in full"
    where = "--verbose has"
    if report.delivery.in_memory:
        where = "result.changes has" if report.changes else "result.findings has"
    explains = ""
    if kept := unrequested(report.findings, report.undone):
        explains = f"; onnxpad rule {kept[0].code} explains a code"
    if report.changes or report.findings or report.undone:
        said = f"{where} {details}{explains}"
        yield from screen.lines(screen.paint(said, "faint"), "", "  ")
