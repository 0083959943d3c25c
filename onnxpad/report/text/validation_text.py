"""The report of `validate` as text: a block for each run, a line for each output that differs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from onnxpad.report import ValidateReport
from onnxpad.report.groups import grouped
from onnxpad.report.layout import Screen
from onnxpad.report.text import NODES_A_REASON, Paint, blocks_joined, counted, duration, shown
from onnxpad.validation.result import (
    Comparison,
    Divergence,
    PaddingDifference,
    Placement,
    Run,
    Validation,
    culprit,
)

if TYPE_CHECKING:
    from onnxpad.runtimes.timing import Timing

OUTPUTS_A_RUN = 20


def validate_text(
    report: ValidateReport, screen: Screen | None = None, *, verbose: bool = False
) -> str:
    """The report of `validate`: verdict, runs, where nodes ran, the first difference.

    Args:
        report: The report.
        screen: The place it is laid out for.
        verbose: Whether to list every output with all figures, and the time of each run.
    """
    screen = Screen() if screen is None else screen
    paint, validation = screen.paint, report.validation
    remarks = [paint("warning", "warning") + f": {shown(line)}" for line in validation.warnings]
    remarks += [f"not compared: {shown(line)}" for line in untold(validation)]
    remarks += [f"note: {shown(line)}" for line in validation.notes]
    remarks += [f"{paint('not compared', 'error')}: {shown(why)}" for why in report.unproven]
    divergence = validation.divergence
    advice = "Its padding may be why; this looks for the one that agrees:"
    return blocks_joined(
        [
            screen.lines(_headline(report, paint), "", "  "),
            *_runs(validation, screen, verbose=verbose),
            [each for place in validation.placements for each in _placement(place, screen)],
            divergence_lines(divergence, screen) if divergence else [],
            _padding(validation.padding, screen, agree=validation.ok),
            [
                x
                for each in validation.times or ()
                for x in screen.lines(_time(each, paint), "", "  ")
            ],
            list(screen.indented(remarks, 0)),
            [*screen.lines(advice, "", "  "), shown(report.next)] if report.next else [],
        ]
    )


def _headline(report: ValidateReport, paint: Paint) -> str:
    models = paint(shown(report.original), "strong")
    if report.rewritten:
        models += f" and {paint(shown(report.rewritten), 'strong')}"
    runs = counted(len(report.validation.runs), "run")
    verdict = validation_verdict(report, paint) + (";" if culprit(report.validation) else ",")
    return f"{models}: {verdict} {runs} ({duration(report.seconds)})"


def validation_verdict(report: ValidateReport, paint: Paint) -> str:
    """Whether the models agree, in a few words."""
    verdict = paint("agree", "good") if report.ok else paint("FAILED", "error")
    if where := culprit(report.validation):
        verdict += f": {shown(where)}"
    if report.ok and not report.rewritten:
        verdict = paint("agrees with the reference", "good")
    elif report.ok and report.reference:
        verdict = paint("agree, also with the reference", "good")
    if report.outcome == "nothing compared":
        missing, why = "nothing compared", report.validation.reason
        if report.validation.ok:
            missing, why = "not all compared", "; ".join(report.unproven)
        verdict = f"{paint(missing, 'warning')}: {shown(why)}"
    if report.ok and any(not each.ok for run in report.validation.runs for each in run.comparisons):
        verdict += ", except where the warnings say otherwise"
    return verdict


def _runs(validation: Validation, screen: Screen, *, verbose: bool) -> Iterator[list[str]]:
    """A block for each run; unless `verbose`, those that agree and are alike share one."""
    groups = grouped(
        enumerate(validation.runs),
        lambda each: each[0] if verbose or not _is_calm(each[1]) else _alike(each[1]),
    )
    for group in groups:
        runs = [run for _, run in group]
        if len(runs) > 1:
            yield list(_agreeing(runs, screen))
        else:
            yield _run(runs[0], validation, screen, verbose=verbose)


def _is_calm(run: Run) -> bool:
    """Whether all of a run's outputs agree, with nothing to say of them."""
    calm = all(each.ok and not each.alignment for each in run.comparisons)
    return run.ok and calm and bool(run.comparisons) and not run.note


def _alike(run: Run) -> tuple[str, ...]:
    return run.provider, run.optimisation, run.subject, run.against


def _agreeing(runs: Sequence[Run], screen: Screen) -> Iterator[str]:
    """Runs on several inputs whose outputs agree: how many are equal, and the worst of the rest."""
    yield from screen.lines(f"{_where(runs[0])}, {len(runs)} inputs: {_who(runs[0])}", "", "    ")
    compared = [each for run in runs for each in run.comparisons]
    apart = [each for each in compared if not each.equal]
    equal = counted(len(compared) - len(apart), "comparison")
    said = [f"{equal} equal bit for bit"] if len(apart) < len(compared) else []
    if apart:
        worst = max(apart, key=lambda each: (each.max_rel == each.max_rel, each.max_rel))
        told = figures(worst, all_of_them=False)
        most = f", at most {told} ({shown(repr(worst.output))})" if told else ""
        said.append(f"{counted(len(apart), 'comparison')} within rounding{most}")
    yield from screen.lines("; ".join(said), "  ")


def _where(run: Run) -> str:
    return (
        f"{shown(run.provider.removesuffix('ExecutionProvider'))}, optimisation {run.optimisation}"
    )


def _who(run: Run) -> str:
    who = f"{run.subject} against {run.against}"
    if run.optimisation == "full" and run.against != "reference":
        who += ", which ran without optimisation"
    return who


def _run(run: Run, validation: Validation, screen: Screen, *, verbose: bool) -> list[str]:
    paint = screen.paint
    where, who = f"{_where(run)}, {shown(run.inputs)}", _who(run)
    time = f" ({times(run)})" if verbose and times(run) else ""
    note = f"; {said}" if (said := noted(run, validation.warnings)) else ""
    weight = "error" if run.subject == validation.subject else "info"
    verdict = "" if run.ok else f"{paint('DIFFERS', weight)}: "
    plainly = [each for each in run.comparisons if each.equal and not each.alignment]
    told = run.comparisons if verbose else [each for each in run.comparisons if each not in plainly]
    listed = sorted(told, key=lambda each: each.ok)[: None if verbose else OUTPUTS_A_RUN]
    rest = len(told) - len(listed)
    results = [result_words(each, paint, verbose=verbose) for each in listed]
    equal = counted(len(plainly), "output")
    return [
        *screen.lines(f"{verdict}{where}: {who}{time}{note}", "", "    "),
        *screen.pairs([_output(each) for each in listed], results),
        *([f"  and {counted(rest, 'more output')}; --verbose lists all"] if rest else []),
        *([f"  {equal} equal bit for bit"] if plainly and not verbose else []),
    ]


def _padding(found: Sequence[PaddingDifference], screen: Screen, *, agree: bool) -> list[str]:
    """The operators whose total padding differs, and whether the outputs agree all the same."""
    if not found:
        return []
    head = f"Padding differs: {counted(len(found), 'operator')}"
    head += ", though the outputs agree" if agree else ""
    listed = found[:OUTPUTS_A_RUN]
    rest = len(found) - len(listed)
    return [
        *screen.lines(screen.paint(head, "warning"), "", "  "),
        *screen.pairs(
            [" and ".join(dict.fromkeys(map(shown, each.nodes))) for each in listed],
            [
                "{} in the original, {} rewritten".format(*map(shown, each.by_axis))
                for each in listed
            ],
        ),
        *([f"  and {rest:,} more; --format json lists all"] if rest else []),
    ]


def _time(timing: Timing, paint: Paint) -> str:
    """How fast both models run on a provider, in one line."""
    provider = timing.provider.removesuffix("ExecutionProvider")
    head = f"time on {shown(provider)}"
    if timing.note:
        return f"{head}: {shown(timing.note)}"
    before, after = map(_clock, timing.seconds)
    spread = f"the rewritten model takes {timing.ratio:.2f} of the time"
    spread += f" ({timing.low:.2f} to {timing.high:.2f}, 95 %)"
    if not timing.differs:
        spread = f"no difference: {spread}"
    elif timing.ratio < 1:
        spread = paint(spread, "good")
    runs = " and ".join(dict.fromkeys(f"{count:,}" for count in timing.runs))
    each = "runs each" if timing.runs[0] == timing.runs[1] else "runs"
    return f"{head}: {before} -> {after} median of {runs} {each}; {spread}"


def _clock(seconds: float) -> str:
    """A time to three digits.

    >>> _clock(0.0000213), _clock(0.001), _clock(0.1), _clock(1), _clock(99.95)
    ('21.3 us', '1.00 ms', '100 ms', '1.00 s', '100 s')
    """
    factor, unit = (1.0, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "us")
    number = seconds * factor
    return f"{number:,.0f} {unit}" if number >= 99.95 else f"{number:#.3g} {unit}"


def _output(comparison: Comparison) -> str:
    kind = f" {comparison.dtype} {comparison.shape}" if comparison.dtype else ""
    return f"{shown(comparison.output)}{kind}"


def result_words(comparison: Comparison, paint: Paint, *, verbose: bool) -> str:
    """How an output compares: equal, within rounding, or how much it differs."""
    how = f" (aligned: {shown(comparison.alignment)})" if comparison.alignment else ""
    if comparison.equal:
        return f"equal bit for bit{how}"
    if comparison.ok:
        told = figures(comparison, all_of_them=verbose)
        return f"within rounding{': ' if told else ''}{told}{how}"
    numbers = (
        ""
        if not comparison.worst
        else f"; {figures(comparison)}, worst at {list(comparison.worst)}"
    )
    return f"{paint('differs', 'error')}: {shown(comparison.detail)}{numbers}{how}"


def _placement(place: Placement, screen: Screen) -> Iterator[str]:
    provider = place.provider.removesuffix("ExecutionProvider")
    there = place.nodes - len(place.elsewhere)
    nodes = counted(place.nodes, "node")
    line = f"{shown(provider)} ran {there:,} of {nodes} of the {place.model} model"
    if place.elsewhere:
        rest = len(place.elsewhere) - NODES_A_REASON
        more = f" and {rest:,} more" if rest > 0 else ""
        line += f"; elsewhere {', '.join(map(shown, place.elsewhere[:NODES_A_REASON]))}{more}"
    yield from screen.lines(line, "", "  ")


def noted(run: Run, warnings: Sequence[str]) -> str:
    """The note of a run, or a pointer to the warning that already says the same."""
    return "see the warning" if is_warned(run, warnings) else shown(run.note)


def is_warned(run: Run, warnings: Sequence[str]) -> bool:
    """Whether a warning already says what the note of a run does."""
    return bool(run.note) and any(run.note in warning for warning in warnings)


def untold(validation: Validation) -> list[str]:
    """The comparisons that were not made, without those that a run or a warning already names."""
    told = [*validation.warnings, *(run.note for run in validation.runs if run.note)]
    return [
        skipped.text
        for skipped in validation.skipped
        if not any(skipped.why in each for each in told)
    ]


def times(run: Run) -> str:
    """The time of the run compared with, if it is known, and of this run."""
    return " -> ".join(filter(None, map(duration, run.seconds)))


def divergence_lines(found: Divergence, screen: Screen) -> list[str]:
    """The first difference of two models: the tensor, the node computing it, the worst element."""
    seen = found.comparison
    kind = f", {seen.dtype} {seen.shape}" if seen.dtype else ""
    tensor = screen.paint(shown(repr(found.tensor)), "strong")
    title = f"First difference: tensor {tensor}{kind}"
    rows = [
        ("computed by", _both(found.producers)),
        ("attributes", _both(tuple(each or "none" for each in found.attributes))),
        ("reads", _both(tuple(map(", ".join, found.inputs)))),
    ]
    rows += [("which differ", shown(each)) for each in found.operands]
    worst = f" at {list(seen.worst)}" if seen.worst else ""
    before, after = found.values
    rows.append(("worst", f"{shown(before)} in the original, {shown(after)} rewritten{worst}"))
    if numbers := figures(seen):
        rows.append(("difference", numbers))
    rows.append(("found on", f"{shown(found.fed)}; {counted(found.compared, 'tensor')} compared"))
    if found.earlier:
        rows.append(("before it", f"bits differ from {shown(found.earlier)} on, within rounding"))
    if found.note:
        rows.append(("note", shown(found.note)))
    names, texts = zip(*rows, strict=True)
    return [*screen.lines(title, "", "  "), *screen.pairs(names, texts)]


def _both(pair: Sequence[str]) -> str:
    before, after = map(shown, pair)
    return f"{before}, in both" if before == after else f"{before}; rewritten: {after}"


def figures(comparison: Comparison, *, all_of_them: bool = True) -> str:
    """The figures of a difference that are known, such as `max abs 1e-07, 3 ulp`.

    Args:
        comparison: The comparison.
        all_of_them: Whether to give also those that say little where outputs agree.
    """
    parts = []
    if not math.isnan(comparison.max_abs):
        parts.append(
            f"max abs {comparison.max_abs:.3g}, {comparison.max_rel:.3g} of the greatest value"
        )
    if comparison.ulp is not None and all_of_them:
        parts.append(f"{comparison.ulp:,} ulp")
    if comparison.cosine is not None and all_of_them:
        parts.append(f"cosine {_share(comparison.cosine)}")
    if comparison.argmax is not None:
        parts.append(f"argmax agrees in {100 * comparison.argmax:.4g} %")
    if comparison.special:
        parts.append(f"NaN or infinity on one side in {counted(comparison.special, 'place')}")
    if comparison.noise:
        parts.append(f"two runs of one model differ by {comparison.noise:.3g}")
    return ", ".join(parts)


def _share(value: float) -> str:
    """A number up to 1, never rounded to 1 unless it is 1.

    >>> _share(1.0), _share(0.999999999), _share(0.5)
    ('1', '1 - 1e-09', '0.5')
    """
    if value == 1 or value < 0.999:
        return f"{value:.4g}"
    return f"1 - {1 - value:.1g}"
