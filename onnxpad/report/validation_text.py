"""The report of `validate` as text: a block for each run, a line for each output."""

from collections.abc import Sequence

from onnxpad.engine.timing import Timing
from onnxpad.report import ValidateReport
from onnxpad.report.text import (
    NODES_A_REASON,
    Paint,
    columns,
    counted,
    divergence_lines,
    duration,
    figures,
    noted,
    plain,
    shown,
    times,
    untold,
)
from onnxpad.validation.result import (
    Comparison,
    PaddingDifference,
    Placement,
    Run,
    Validation,
)

OUTPUTS_A_RUN = 20


def validate_text(report: ValidateReport, paint: Paint = plain) -> str:
    """The report of `validate`: verdict, runs, where nodes ran, the first difference."""
    validation = report.validation
    remarks = [paint("warning", "warning") + f": {shown(line)}" for line in validation.warnings]
    remarks += [f"not compared: {shown(line)}" for line in untold(validation)]
    remarks += [f"note: {shown(line)}" for line in validation.notes]
    divergence = validation.divergence
    blocks = [
        [_headline(report, paint)],
        *(_run(run, validation, paint) for run in validation.runs),
        [_placement(place) for place in validation.placements],
        divergence_lines(divergence, paint) if divergence else [],
        _padding(validation.padding, paint),
        [_time(each, paint) for each in validation.times or ()],
        [*remarks, *(f"{paint('not compared', 'error')}: {shown(w)}" for w in report.unproven)],
        ["Its padding may be why; this looks for the one that agrees:", shown(report.next)]
        if report.next
        else [],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _headline(report: ValidateReport, paint: Paint) -> str:
    models = paint(shown(report.original), "strong")
    if report.rewritten:
        models += f" and {paint(shown(report.rewritten), 'strong')}"
    verdict = paint("agree", "good") if report.ok else paint("FAILED", "error")
    if report.ok and not report.rewritten:
        verdict = paint("agrees with the reference", "good")
    elif report.ok and report.reference:
        verdict = paint("agree, also with the reference", "good")
    if report.outcome == "nothing compared":
        verdict = f"{paint('nothing compared', 'warning')}: {shown(report.validation.reason)}"
    if report.ok and any(not each.ok for run in report.validation.runs for each in run.comparisons):
        verdict += ", except where the warnings say otherwise"
    runs = counted(len(report.validation.runs), "run")
    return f"{models}: {verdict}, {runs} ({duration(report.seconds)})"


def _run(run: Run, validation: Validation, paint: Paint) -> list[str]:
    provider = run.provider.removesuffix("ExecutionProvider")
    where = f"{shown(provider)}, optimisation {run.optimisation}, {shown(run.inputs)}"
    who = f"{run.subject} against {run.against}"
    if run.optimisation == "full" and run.against != "reference":
        who += ", which ran without optimisation"
    time = f" ({times(run)})" if times(run) else ""
    note = f"; {said}" if (said := noted(run, validation.warnings)) else ""
    weight = "error" if run.subject == validation.subject else "info"
    verdict = "" if run.ok else f"{paint('DIFFERS', weight)}: "
    listed = sorted(run.comparisons, key=lambda each: each.ok)[:OUTPUTS_A_RUN]
    rest = len(run.comparisons) - len(listed)
    return [
        f"{verdict}{where}: {who}{time}{note}",
        *columns([_output(each) for each in listed], [_result(each, paint) for each in listed]),
        *([f"  and {counted(rest, 'more output')}; --format json lists all"] if rest else []),
    ]


def _padding(found: Sequence[PaddingDifference], paint: Paint) -> list[str]:
    """The operators whose total padding differs, even if the outputs agree."""
    if not found:
        return []
    head = f"Padding differs: {counted(len(found), 'operator')}, even where the outputs agree"
    listed = found[:OUTPUTS_A_RUN]
    rest = len(found) - len(listed)
    return [
        paint(head, "warning"),
        *columns(
            [" and ".join(dict.fromkeys(map(shown, each.nodes))) for each in listed],
            [
                f"{shown(each.pads[0])} in the original, {shown(each.pads[1])} rewritten"
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
    spread = f"ratio {timing.ratio:.2f} ({timing.low:.2f} to {timing.high:.2f})"
    if not timing.differs:
        spread = f"no difference, {spread}"
    elif timing.ratio < 1:
        spread = paint(spread, "good")
    runs = " and ".join(dict.fromkeys(f"{count:,}" for count in timing.runs))
    each = "runs each" if timing.runs[0] == timing.runs[1] else "runs"
    return f"{head}: {before} -> {after} median of {runs} {each}; {spread}"


def _clock(seconds: float) -> str:
    """A time to three digits.

    >>> _clock(0.0000213), _clock(0.0033), _clock(0.1), _clock(1.234)
    ('21.3 us', '3.30 ms', '100 ms', '1.23 s')
    """
    factor, unit = (1.0, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "us")
    number = seconds * factor
    return f"{number:,.0f} {unit}" if number >= 99.95 else f"{number:#.3g} {unit}"


def _output(comparison: Comparison) -> str:
    kind = f" {comparison.dtype} {comparison.shape}" if comparison.dtype else ""
    return f"{shown(comparison.output)}{kind}"


def _result(comparison: Comparison, paint: Paint) -> str:
    how = f" (aligned: {shown(comparison.alignment)})" if comparison.alignment else ""
    if comparison.equal:
        return f"equal bit for bit{how}"
    if comparison.ok:
        return f"{figures(comparison)}{how}"
    numbers = (
        ""
        if not comparison.worst
        else f"; {figures(comparison)}, worst at {list(comparison.worst)}"
    )
    return f"{paint('differs', 'error')}: {shown(comparison.detail)}{numbers}{how}"


def _placement(place: Placement) -> str:
    provider = place.provider.removesuffix("ExecutionProvider")
    there = place.nodes - len(place.elsewhere)
    nodes = counted(place.nodes, "node")
    line = f"{shown(provider)} ran {there:,} of {nodes} of the {place.model} model"
    if not place.elsewhere:
        return line
    rest = len(place.elsewhere) - NODES_A_REASON
    more = f" and {rest:,} more" if rest > 0 else ""
    return f"{line}; elsewhere {', '.join(map(shown, place.elsewhere[:NODES_A_REASON]))}{more}"
