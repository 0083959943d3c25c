"""The whole report of `fix` as text: every change with its proof, every reason and run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from onnxpad.finding import Change, Finding, NextOption
from onnxpad.messages import RUNTIME
from onnxpad.report import FixReport, Outcome
from onnxpad.report.groups import grouped, kept_as_asked, reason_groups, unrequested
from onnxpad.report.layout import Paint, Screen
from onnxpad.report.text import (
    NODES_A_REASON,
    beside,
    blocks_joined,
    counted,
    first_names,
    labelled,
    remarks,
    shown,
)
from onnxpad.report.text.validation_text import divergence_lines, is_warned, noted, times, untold

if TYPE_CHECKING:
    from onnxpad.validation.result import Comparison, Run


def fix_details(report: FixReport, screen: Screen | None = None, above: Sequence[str] = ()) -> str:
    """The report of `fix`: each change, undone changes, padding that stays, each run, the file.

    Args:
        report: The report.
        screen: The place it is laid out for.
        above: The lines to begin with.
    """
    screen = Screen() if screen is None else screen
    return blocks_joined(
        [
            [*above, *declared(report, screen), *screen.told(remarks(report))],
            *_changes(report.changes, screen),
            _assumptions(report.changes, screen),
            _undone(report.undone, screen),
            _kept(report.findings, report.undone, screen),
            as_asked(report.findings, screen),
            _validation(report, screen),
            list(next_lines(report, screen)),
            screen.lines(ending(report, screen.paint), "", "  "),
        ]
    )


def declared(report: FixReport, screen: Screen) -> Iterator[str]:
    """A line for each input with sizes newly declared, and one for ranges."""
    declares = "would declare" if report.delivery.check else "declares"
    if any(made.certificate.within for made in report.changes):
        which = "would say" if report.delivery.check else "says"
        yield from screen.lines(
            f"Proved for {shown(report.ranges)} only, as the model's metadata {which}", "", "  "
        )
    for name, shape in report.declared.items():
        sizes = "x".join("?" if size is None else str(size) for size in shape)
        yield from screen.lines(f"{declares} input {shown(repr(name))} as {shown(sizes)}", "  ")


def _changes(changes: Sequence[Change], screen: Screen) -> Iterator[list[str]]:
    """A block for each code; a proof or probe that all its changes share is said once, on top."""
    for group in grouped(changes, lambda change: change.code):
        common = [said for said in (_proof, _probe) if len({said(c) for c in group}) == 1]
        head = [counted(len(group), "change")]
        head += [_proof(group[0])] * (_proof in common)
        head += [_probe(group[0], of_each=len(group) > 1)] * (_probe in common)
        code = screen.paint(group[0].code, "strong")
        block = screen.lines("; ".join(filter(None, head)), f"{code}  ", "  ")
        for change in group:
            block += screen.pairs(
                [labelled(change)], [f"{shown(change.before)}  becomes  {shown(change.after)}"]
            )
            own = "; ".join(said(change) for said in (_proof, _probe) if said not in common)
            if own:
                block += [screen.paint(line, "faint") for line in screen.lines(own, " " * 6)]
        yield block


def _proof(change: Change) -> str:
    certificate = change.certificate
    repaired = f"; a repair: {RUNTIME} does not run it as it was" if change.repairs else ""
    return f"exact for {shown(certificate.sizes)}: {shown(certificate.statement)}{repaired}"


def _probe(change: Change, *, of_each: bool = False) -> str:
    each = "each " if of_each else ""
    return f"probe: {each}{shown(change.probe)}" if change.probe else ""


def assumed(changes: Sequence[Change]) -> list[tuple[str, list[Change]]]:
    """The assumptions of all proofs, with the changes that rest on each."""
    pairs = [(taken, change) for change in changes for taken in change.certificate.assumptions]
    groups = grouped(pairs, lambda pair: pair[0])
    return [(group[0][0], [change for _, change in group]) for group in groups]


def _assumptions(changes: Sequence[Change], screen: Screen) -> list[str]:
    lines = [
        f"{shown(name)}: {counted(len(group), 'change')}: {first_names(group, len(group))}"
        for name, group in assumed(changes)
    ]
    if not lines:
        return []
    return [
        screen.paint("Assumptions (--strict refuses these)", "warning"),
        *screen.indented(lines),
    ]


def _undone(undone: Sequence[Finding], screen: Screen) -> list[str]:
    if not undone:
        return []
    head = f"UNDONE: {counted(len(undone), 'change')} taken back; this padding is as it was"
    return [screen.paint(head, "error"), *screen.indented(_refusals(undone, screen, stays=""))]


def _kept(findings: Sequence[Finding], undone: Sequence[Finding], screen: Screen) -> list[str]:
    kept = unrequested(findings, undone)
    if not kept:
        return []
    by_code = grouped(kept, lambda finding: finding.code)
    codes = ", ".join(f"{len(group):,} {group[0].code}" for group in by_code)
    head = f"Left as it is: {counted(len(kept), 'finding')} ({codes})"
    return [head, *screen.indented(_refusals(kept, screen, stays="stays: "))]


def as_asked(findings: Sequence[Finding], screen: Screen, most: int = NODES_A_REASON) -> list[str]:
    """A text for each option that asks for padding as it is."""
    lines = (
        f"As {group[0].asked} asks for: {counted(len(group), 'node')} ({first_names(group, most)})"
        for group in kept_as_asked(findings)
    )
    return list(screen.indented(lines, 0))


def next_lines(report: FixReport, screen: Screen) -> Iterator[str]:
    """The option to try next."""
    if report.next:
        said = next_line(report.next, in_memory=report.delivery.in_memory)
        yield from screen.lines(screen.paint(said, "strong"), "", "  ")


def _refusals(findings: Iterable[Finding], screen: Screen, stays: str) -> list[str]:
    """A text for each finding; those of one code and reason stand together."""
    return [
        f"{screen.paint(each.code, 'strong')}  {labelled(each)}: {shown(each.message)}"
        + (f"; {stays}{shown(each.reason)}" if each.reason else "")
        for group in reason_groups(findings)
        for each in group
    ]


def _validation(report: FixReport, screen: Screen) -> list[str]:
    validation, paint = report.compared, screen.paint
    if validation is None:
        skipped = report.changes and not report.validate
        return [paint("Not validated (--no-validate)", "warning")] if skipped else []
    verdict = {
        "passed": paint("passed", "good"),
        "failed": paint("FAILED", "error"),
        "nothing compared": paint("compared nothing", "warning"),
        "repaired": f"compared nothing, for it is a {paint('repair', 'good')}",
    }[validation.outcome]
    probes = f", {counted(validation.probes, 'change')} probed alone" if validation.probes else ""
    runs = counted(len(validation.runs), "run")
    return [
        *screen.lines(f"Validation {verdict}: {runs} of the whole model{probes}", "", "  "),
        *_run_lines(validation.runs, validation.warnings, screen),
        *screen.indented(f"{paint('warning', 'warning')}: {shown(w)}" for w in validation.warnings),
        *screen.indented(f"not compared: {shown(line)}" for line in untold(validation)),
        *(divergence_lines(validation.divergence, screen) if validation.divergence else ()),
    ]


def failed_runs(report: FixReport, screen: Screen) -> Iterator[str]:
    """The runs of a validation that failed, and where the models first differ."""
    validation = report.compared
    assert validation is not None
    failed = [run for run in validation.runs if not run.ok]
    head = screen.paint("Validation FAILED", "error")
    said = f"{head}: {len(failed):,} of {counted(len(validation.runs), 'run')} differ"
    yield from screen.lines(said, "", "  ")
    yield from _run_lines(failed, validation.warnings, screen)
    if validation.divergence:
        yield from divergence_lines(validation.divergence, screen)


def _run_lines(runs: Sequence[Run], warnings: Sequence[str], screen: Screen) -> list[str]:
    names = [_run_name(run) for run in runs]
    return screen.pairs(names, [_run_result(run, warnings, screen.paint) for run in runs])


def _run_name(run: Run) -> str:
    provider = run.provider.removesuffix("ExecutionProvider")
    return f"{shown(provider)}, optimisation {run.optimisation}, {shown(run.inputs)}"


def _run_result(run: Run, warnings: Sequence[str], paint: Paint) -> str:
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
    return result if run.ok else f"{paint('DIFFERS', 'error')}: {result}"


def _difference(comparison: Comparison) -> str:
    numbers = f"max abs {comparison.max_abs:.3g}, {comparison.max_rel:.3g} of the greatest value"
    return f"{shown(repr(comparison.output))}: {shown(comparison.detail) or numbers}"


def ending(report: FixReport, paint: Paint) -> str:
    """The last line: the file that was written, and the time."""
    written = shown(report.delivery.written)
    if report.outcome is Outcome.UNCHANGED:
        copied = "Copied to" if report.delivery.inline else "Copied byte for byte to"
        said = f"{copied} {written}" if written else "Nothing written"
    elif report.delivery.check:
        said = "Nothing written (--check)"
    elif written:
        said = f"Wrote {paint(written, 'strong')}"
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
