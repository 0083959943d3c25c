"""The report of `fix` as a text that fits a screen: what changed, what stays, and whether it holds.

`fix_details` has every change with its proof.
"""

import re
from collections.abc import Iterator, Sequence

from onnxpad.finding import Change, Finding
from onnxpad.report import FixReport, Outcome
from onnxpad.report.groups import (
    ChangeGroup,
    change_groups,
    grouped,
    reason_without_names,
    told_apart,
)
from onnxpad.report.layout import UNBREAKABLE, Screen, shortened_to
from onnxpad.report.text import blocks_joined, counted, remarks, shown
from onnxpad.report.text.fix_details import (
    as_asked,
    assumed,
    declared,
    ending,
    failed_runs,
    fix_details,
)
from onnxpad.report.text.next_text import next_line
from onnxpad.report.text.validation_text import untold

GROUPS = 6
"""Groups that are listed; the rest is counted."""
_VARIANTS, _NAMES = 4, 3
_QUOTED = re.compile(r" '[^']*'")
_FORMULA = ": on ax"
"""How the formula of an open size begins in a reason: the details have it."""


def fix_text(report: FixReport, screen: Screen | None = None) -> str:
    """The report of `fix` in under 40 lines: groups of changes and of padding that stays."""
    screen = Screen() if screen is None else screen
    return blocks_joined(
        [
            [*_headline(report, screen), *declared(report, screen), *remarks(report, screen)],
            _changes(report.changes, screen),
            _stays("UNDONE, as it was before", report.undone, screen, "error"),
            _stays("Stays as it is", told_apart(report.findings, report.undone), screen, "strong"),
            as_asked(report.findings, screen, _NAMES),
            [*_assumptions(report.changes, screen), *_trust(report, screen)],
            [*_next(report, screen), *_ending(report, screen)],
        ]
    )


def fix_verbose(report: FixReport, screen: Screen | None = None) -> str:
    """The whole report of `fix`, below the headline of the short one."""
    screen = Screen() if screen is None else screen
    return fix_details(report, screen, list(_headline(report, screen)))


def headline(report: FixReport) -> str:
    """The result in a few words: `236 changes, style fold`."""
    if report.outcome is Outcome.UNCHANGED:
        nothing = "no change was kept" if report.undone else "nothing to change"
        return f"{nothing} for style {report.style}"
    if not report.changes:
        if report.declared:
            return f"no padding to change for style {report.style}, but sizes to declare"
        return f"no change was kept for style {report.style}"
    would = " would be made" if report.check else ""
    found, why = report.validation, ""
    if found is not None and found.outcome == "nothing compared":
        why = f"; not validated: {shown(found.reason)}"
    return f"{counted(len(report.changes), 'change')}{would}, style {report.style}{why}"


def counts_line(report: FixReport) -> str:
    """Counts before and after: `Pad 15 -> 0, auto_pad 1 -> 0, nodes 357 -> 274`."""
    before, after = report.counts
    named = [("Pad", before.pads, after.pads), ("auto_pad", before.auto_pads, after.auto_pads)]
    if before.ceil_modes != after.ceil_modes:
        named.append(("ceil_mode", before.ceil_modes, after.ceil_modes))
    said = [(name, was, now) for name, was, now in named if was or now]
    said.append(("nodes", report.nodes_before, report.nodes_after))
    return ", ".join(
        f"{name} {was:,} -> {now:,}" if was != now else f"{name} {now:,}" for name, was, now in said
    )


def verdict(report: FixReport) -> list[str]:
    """The counts, and whether the result holds, in a line each."""
    lines = [counts_line(report)]
    if report.changes:
        lines.append(f"Proved {_proved(report)}")
    found = report.validation
    if found is None:
        lines += ["Not validated"] if report.changes else []
    elif found.outcome == "passed":
        lines.append(f"Validated {_compared(report)}")
    else:
        lines.append(f"Validation {found.outcome}{f': {found.reason}' if found.reason else ''}")
    return lines


def _headline(report: FixReport, screen: Screen) -> Iterator[str]:
    model = screen.paint(shown(report.model), "strong")
    yield from screen.lines(f"{model}: {headline(report)}", "", "  ")
    yield from screen.lines(screen.paint(counts_line(report), "strong"), "  ")


def _changes(changes: Sequence[Change], screen: Screen) -> list[str]:
    if not changes:
        return []
    groups = change_groups(changes)
    heads = ["", "was", "is now", "amounts, and where"]
    rows = [[f"{len(group.changes):,}", _was(group), _now(group), ""] for group in groups[:GROUPS]]
    room = screen.last_column(heads, [[[cell] for cell in row] for row in rows])
    listed: list[Sequence[str | Sequence[str]]] = [
        [*row[:-1], _where(group, room)] for row, group in zip(rows, groups, strict=False)
    ]
    lines = [screen.table(heads, listed)]
    if rest := groups[GROUPS:]:
        count = counted(sum(len(group.changes) for group in rest), "change")
        lines.append(f"  and {count} of {counted(len(rest), 'other kind')}; --verbose has them")
    return lines


def _was(group: ChangeGroup) -> str:
    refused = " (does not run)" if group.repairs else ""
    return shown(group.was) + refused


def _now(group: ChangeGroup) -> str:
    """The form after, without the operator that the form before names already."""
    if group.now == group.op_type and group.was.endswith(group.op_type):
        return "no pads"
    rest = group.now.removeprefix(f"{group.op_type} ")
    return shown(group.now if rest.startswith("->") else rest) or "gone"


def _where(group: ChangeGroup, room: int | None) -> list[str]:
    """The amounts of a group, how many changes have each, and the first names."""
    return [*filter(None, [in_short(group)]), _names(group.changes, room)]


def in_short(group: ChangeGroup) -> str:
    """The most frequent amounts of a group, and how many changes have each."""
    several = len(group.amounts) > 1
    if not several and not group.amounts[0][0]:
        return ""
    told = []
    for amounts, count in group.amounts[:_VARIANTS]:
        said = amounts.partition(", pads [")[0] if several else amounts
        said = f"{shown(said) or 'none'}{f' ({count:,})' if several else ''}"
        told.append(said.replace(", pads [", "   pads [").replace(" ", UNBREAKABLE))
    rest = len(group.amounts) - _VARIANTS
    return "; ".join(told) + (f"; and {counted(rest, 'other')}" if rest > 0 else "")


def _names(items: Sequence[Change] | Sequence[Finding], room: int | None) -> str:
    """As many of the first names as fit one line, at least one, and how many more there are."""
    names = [shown(item.node) for item in items]
    for many in range(min(_NAMES, len(names)), 0, -1):
        rest = len(names) - many
        more = f" and {rest:,} more" if rest else ""
        line = ", ".join(names[:many]) + more
        if room is None or len(line) <= room:
            return line
    return shortened_to(names[0], max(12, (room or 0) - len(more))) + more


def _stays(head: str, findings: Sequence[Finding], screen: Screen, role: str) -> list[str]:
    if not findings:
        return []
    groups = _short_groups(findings)
    heads = ["", "", ""]
    cells = [[f"{len(group):,}", group[0].code, ""] for _, group in groups[:GROUPS]]
    room = screen.last_column(heads, [[[cell] for cell in row] for row in cells])
    rows = [
        [*row[:-1], [shown(reason), _names(group, room)]]
        for row, (reason, group) in zip(cells, groups, strict=False)
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
    reason = reason_without_names(finding) or finding.message
    head, formula, _ = reason.partition(_FORMULA)
    return head if formula else reason


def _assumptions(changes: Sequence[Change], screen: Screen) -> Iterator[str]:
    for name, assuming in assumed(changes):
        count = counted(len(assuming), "change")
        head = screen.paint("Assumes", "warning")
        yield from screen.lines(f"{head} {shown(name)}: {count} (--strict refuses)", "", "  ")


def _trust(report: FixReport, screen: Screen) -> Iterator[str]:
    """Why the result may be relied on: proofs, probes and runs."""
    if not report.changes and report.validation is None:
        return
    repaired = sum(change.repairs for change in report.changes)
    if repaired:
        said = f"{counted(repaired, 'change')}: onnxruntime does not run the model as it was"
        yield from screen.lines(f"{screen.paint('Repairs', 'good')} {said}", "", "  ")
    if report.changes:
        yield from screen.lines(f"{screen.paint('Proved', 'good')} {_proved(report)}", "", "  ")
    yield from _validated(report, screen)


def _proved(report: FixReport) -> str:
    """For which sizes the changes are exact."""
    limited = [change for change in report.changes if change.certificate.limited_to]
    every = "the same elements are read at every size the model allows"
    if not limited:
        return f"for {counted(len(report.changes), 'change')}: {every}"
    sizes = list(dict.fromkeys(change.certificate.limited_to for change in limited))
    others = f" and {len(sizes) - 1:,} other ranges" if len(sizes) > 1 else ""
    rest = len(report.changes) - len(limited)
    rest_said = f"; {counted(rest, 'change')}: {every}" if rest else ""
    return f"for {counted(len(limited), 'change')} at {shown(sizes[0])} only{others}{rest_said}"


def _validated(report: FixReport, screen: Screen) -> Iterator[str]:
    validation, paint = report.validation, screen.paint
    if validation is None:
        if report.changes and not report.validate:
            yield from screen.lines(paint("Not validated (--no-validate)", "warning"), "", "  ")
        return
    if validation.outcome == "failed":
        yield from failed_runs(report, screen)
    elif validation.outcome == "passed":
        yield from screen.lines(f"{paint('Validated', 'good')} {_compared(report)}", "", "  ")
    warning = paint("warning", "warning")
    yield from screen.indented((f"{warning}: {shown(w)}" for w in validation.warnings), 0)
    yield from screen.indented((f"not compared: {shown(w)}" for w in untold(validation)), 0)


def _compared(report: FixReport) -> str:
    """The runs of a validation that passed."""
    validation = report.validation
    assert validation is not None
    runs = [run for run in validation.runs if run.comparisons]
    where = " and ".join(dict.fromkeys(r.provider.removesuffix("ExecutionProvider") for r in runs))
    apart = [run for run in runs if not all(each.equal for each in run.comparisons)]
    optimised = bool(apart) and all(run.optimisation != "off" for run in apart)
    said = f"on {shown(where)}: outputs equal bit for bit"
    if len(apart) == len(runs):
        said = f"on {shown(where)}: outputs equal within rounding"
    elif optimised and all(run in apart for run in runs if run.optimisation != "off"):
        said += " (optimised: within rounding)"
    elif apart:
        said += f" in {len(runs) - len(apart)}, within rounding in {len(apart)}"
    probed = f"; {counted(validation.probes, 'change')} also alone" if validation.probes else ""
    return f"in {counted(len(runs), 'run')} of both models {said}{probed}"


def _next(report: FixReport, screen: Screen) -> Iterator[str]:
    if report.next:
        yield from screen.lines(screen.paint(next_line(report.next), "strong"), "", "  ")


def _ending(report: FixReport, screen: Screen) -> Iterator[str]:
    detail = "; --verbose has every change with its proof" if report.changes else ""
    if not report.changes and (report.findings or report.undone):
        detail = "; --verbose has every reason in full"
    yield from screen.lines(f"{ending(report, screen.paint)}{detail}", "", "  ")
