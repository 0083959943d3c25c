"""A validation as sections: runs and outputs as tables, histograms, the first difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnxpad.page.markup import NOTHING, Html, badge, code, el, esc, join, paragraph, table
from onnxpad.page.pictures.histograms import decades, histogram
from onnxpad.report.text import counted
from onnxpad.report.text.validation_text import noted, untold
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

_OUTPUTS = 200
_HISTOGRAMS = 24


def verdict(found: Validation) -> Html:
    """The verdict in one line."""
    runs = counted(len(found.runs), "run")
    if found.outcome == "nothing compared":
        return join((badge("nothing compared", "warn"), esc(f" {found.reason}")), "")
    if found.outcome == "repaired":
        return join((badge("repaired", "good"), esc(f" {found.reason}")), "")
    if not found.ok:
        failing = [run for run in found.runs if not run.ok and run.subject == found.subject]
        by_reference = failing and all(run.against == "reference" for run in failing)
        said = " The outputs differ from the reference" if by_reference else " The models differ"
        said += f" ({runs})."
        where = culprit(found)
        return join((badge("failed", "bad"), esc(f" {where}." if where else ""), esc(said)), "")
    compared = [each for run in found.runs for each in run.comparisons if run.tells]
    equal = sum(each.equal for each in compared)
    agree = f"{equal:,} of {counted(len(compared), 'comparison')} of outputs equal bit for bit"
    if equal < len(compared):
        agree += ", the others within the tolerance"
    return join((badge("passed", "good"), esc(f" {runs}: {agree}.")), "")


def run_tables(found: Validation) -> Html:
    """A table for each run, and the histograms of outputs that differ."""
    short = [run for run in found.runs if run.ok and len(run.comparisons) == 1 and not run.note]
    parts: list[Html] = [_together(short)] if short else []
    parts += [_run(run, found.warnings) for run in found.runs if run not in short]
    differing = [(run, each) for run in found.runs for each in run.comparisons if each.histogram]
    differing.sort(key=lambda pair: pair[1].ok)
    if differing:
        span = decades([each for _, each in differing])
        pictures = [
            histogram(each, f"{_where(run)}, {_drawn_inputs(run)}", span)
            for run, each in differing[:_HISTOGRAMS]
        ]
        said = (
            "How many elements differ, by their difference relative to the greatest magnitude of "
            "the output; heights are logarithmic."
        )
        rest = len(differing) - len(pictures)
        more = paragraph(f"and {rest:,} more; --format json has all") if rest else NOTHING
        parts += [
            el("h3", esc("Differences by size")),
            paragraph(said, "faint"),
            el("div", *pictures, class_="histograms"),
            more,
        ]
    return join(parts)


def remarks(found: Validation) -> Html:
    """Warnings, comparisons that were not made, and notes."""
    lines = [("warning", "warn", line) for line in found.warnings]
    lines += [("not compared", "warn", line) for line in untold(found)]
    lines += [("note", "plain", line) for line in found.notes]
    items = (el("li", badge(word, kind), esc(f" {line}")) for word, kind, line in lines)
    return el("ul", *items, class_="verdicts") if lines else NOTHING


def divergence_table(found: Divergence | None) -> Html:
    """The first tensor that differs, with the node that computes it in both models."""
    if found is None:
        return NOTHING
    seen = found.comparison
    rows = [
        [esc("computed by"), code(found.producers[0]), code(found.producers[1])],
        [esc("attributes"), *(esc(each or "none") for each in found.attributes)],
        [esc("reads"), *(join(map(code, each), ", ") for each in found.inputs)],
        [esc("worst element"), *map(esc, found.values)],
    ]
    kind = f", {seen.dtype} {seen.shape}" if seen.dtype else ""
    figures = _figures(seen)
    return join(
        [
            el("p", esc("The first tensor that differs is "), code(found.tensor), esc(f"{kind}.")),
            table("In both models", ["", "original", "rewritten"], rows),
            *(paragraph(f"Of its inputs {each}.") for each in found.operands),
            table("The difference", list(_COLUMNS), [figures], range(2, len(_COLUMNS))),
            paragraph(f"Found on {found.fed}; {counted(found.compared, 'tensor')} compared."),
            histogram(seen, "first difference") if seen.histogram else NOTHING,
            paragraph(f"Bits differ from {found.earlier} on, within rounding.")
            if found.earlier
            else NOTHING,
            paragraph(found.note) if found.note else NOTHING,
        ]
    )


def padding_table(found: Sequence[PaddingDifference]) -> Html:
    """Window operators whose total padding differs between the models."""
    if not found:
        return NOTHING
    rows = [
        [join(map(code, dict.fromkeys(each.nodes)), " and "), *map(esc, each.pads)]
        for each in found
    ]
    return table("Total padding that differs", ["Operator", "original", "rewritten"], rows)


def speed_table(found: Sequence[Timing]) -> Html:
    """How fast both models run on each provider."""
    rows = []
    for each in found:
        if each.note:
            rows.append([esc(each.provider), esc(each.note), *[esc("-")] * 4])
            continue
        faster = badge("faster", "good") if each.ratio < 1 else badge("slower", "warn")
        result = faster if each.differs else badge("no difference", "plain")
        times = (esc(f"{1000 * seconds:,.3g} ms") for seconds in each.seconds)
        ratio = f"{each.ratio:.2f}", f"{each.low:.2f} to {each.high:.2f}"
        rows.append([esc(each.provider), result, *times, *map(esc, ratio)])
    if not rows:
        return NOTHING
    head = ["Provider", "rewritten is", "original", "rewritten", "of the time", "95 % interval"]
    runs = ", ".join(f"{min(each.runs):,}" for each in found if not each.note)
    caption = f"Median times at full optimisation{f', of {runs} runs or more' if runs else ''}"
    return table(caption, head, rows, range(2, len(head)))


def placement_table(found: Sequence[Placement]) -> Html:
    """How many nodes ran on the provider that was asked for."""
    if not found:
        return NOTHING
    rows = [
        [
            esc(place.provider),
            esc(place.model),
            esc(f"{place.nodes - len(place.elsewhere):,} of {place.nodes:,}"),
            join(map(code, place.elsewhere[:_OUTPUTS]), ", "),
        ]
        for place in found
    ]
    return table("Where nodes ran", ["Provider", "model", "nodes there", "elsewhere"], rows, [2])


_COLUMNS = ("Output", "result", "max abs", "relative", "ulp", "cosine", "same argmax")


def _together(runs: Sequence[Run]) -> Html:
    """One table for runs of one output each, which agree and have nothing to remark."""
    rows = []
    for run in runs:
        who = f"{run.subject} against {run.against}"
        said = esc(f"{_where(run)}, {_drawn_inputs(run)}, {who}")
        rows.append([said, *_figures(run.comparisons[0])])
    inputs = dict.fromkeys(run.drawn[0] or run.inputs for run in runs)
    caption = f"Runs on {'; '.join(inputs)}"
    return table(caption, ["Run", *_COLUMNS], rows, range(3, len(_COLUMNS) + 1))


def _run(run: Run, warnings: Sequence[str]) -> Html:
    title = el(
        "h3",
        badge("agrees", "good") if run.ok else badge("differs", "bad"),
        esc(f" {_where(run)}"),
    )
    who = f"The {run.subject} model against the {run.against}, on {run.inputs}."
    note = noted(run, warnings)
    said = [paragraph(who, "faint"), paragraph(note) if note else NOTHING]
    if not run.comparisons:
        return el("div", title, *said, class_="run")
    listed = sorted(run.comparisons, key=lambda each: (each.ok, each.equal))
    shown, equal = listed[:_OUTPUTS], NOTHING
    if len(listed) > len(shown):
        equal = paragraph(f"and {len(listed) - len(shown):,} more; --format json has all")
    rows = [_figures(each) for each in shown]
    numbers = table("Outputs", list(_COLUMNS), rows, range(2, len(_COLUMNS)))
    return el("div", title, *said, numbers, equal, class_="run")


def _where(run: Run) -> str:
    provider = run.provider.removesuffix("ExecutionProvider")
    return f"{provider}, optimisation {run.optimisation}"


def _drawn_inputs(run: Run) -> str:
    """The seed of the inputs of a run, and how they were drawn; all of it for given inputs."""
    return run.drawn[1] or run.inputs


def _figures(each: Comparison) -> list[Html]:
    kind = f" {each.dtype} {each.shape}" if each.dtype else ""
    aligned = f" (aligned: {each.alignment})" if each.alignment else ""
    result = badge("equal bit for bit", "good") if each.equal else badge("within tolerance", "good")
    if not each.ok:
        result = join((badge("differs", "bad"), esc(f" {each.detail}")), "")
    special = f", {each.special:,} NaN or infinite" if each.special else ""
    return [
        join((code(each.output), esc(f"{kind}{aligned}")), ""),
        result,
        esc(f"{_number(each.max_abs)}{special}"),
        esc(_number(each.max_rel)),
        esc("-" if each.ulp is None else f"{each.ulp:,}"),
        esc("-" if each.cosine is None else _cosine(each.cosine)),
        esc("-" if each.argmax is None else f"{100 * each.argmax:.4g} %"),
    ]


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"


def _cosine(value: float) -> str:
    """A number up to 1, never rounded to 1 unless it is 1."""
    return f"{value:.4g}" if value == 1 or value < 0.999 else f"1 - {1 - value:.1g}"
