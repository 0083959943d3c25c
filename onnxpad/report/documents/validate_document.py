"""The document of `validate`: the verdict, runs, outputs that differ, and where that began."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from onnxpad.errors import and_list, few
from onnxpad.report import ValidateReport
from onnxpad.report.documents import Block, Document, Group, Pairs, View
from onnxpad.report.layout import UNBREAKABLE, marked
from onnxpad.report.text import NODES_A_REASON, configurations, counted, grouped, more, shown
from onnxpad.validation.result import Comparison, Divergence, Placement, Run, Validation, culprit

OUTPUTS_A_RUN = 20


def validate_document(report: ValidateReport, view: View = "brief") -> Document:
    """The verdict, runs, where nodes ran, the first difference.

    Args:
        report: The report.
        view: But for `brief` every output of every run is listed with all figures.
    """
    models = and_list(marked(shown(e), "strong") for e in (report.original, report.rewritten) if e)
    runs = counted(len(report.validation.runs), "run")
    advice = "Its padding may be why; this looks for the one that agrees:"
    head: list[Block] = [
        f"{models}: {validation_verdict(report)} ({runs}, {report.seconds:.1f} s)",
        *configurations([report.config]),
        *(f"{marked('not compared', 'error')}: {shown(why)}" for why in report.unproven),
        *(f"{marked('warning', 'warning')}: {shown(e)}" for e in report.validation.warnings),
    ]
    command = shown(report.next).replace(" ", UNBREAKABLE)
    ending = Group("", [advice, command] if command else [])
    groups = [Group("", head), *validation_groups(report.validation, view), ending]
    return Document("validate", report.rewritten or report.original, groups)


def validation_groups(found: Validation, view: View = "full") -> list[Group]:
    """The sections about a validation."""
    is_full = view == "full"

    def key(run: Run) -> tuple[str, ...]:
        inputs = run.inputs if is_full or not run.ok else ""
        return inputs, run.provider, run.optimisation, run.subject, run.against, run.note

    runs = [
        block
        for group in grouped(found.runs, key)
        for block in run_blocks(group, found, verbose=is_full)
    ]
    rows = [
        (and_list(dict.fromkeys(map(shown, each.nodes))), _both(each.by_axis))
        for each in found.padding[:OUTPUTS_A_RUN]
    ]
    padding: list[Block] = [Pairs(rows), *more(found.padding, OUTPUTS_A_RUN)]
    differs = f"Padding differs: {counted(len(found.padding), 'operator')}"
    differs += ", though the outputs agree" * found.ok
    parts: list[tuple[str, Sequence[Block]]] = [
        ("Validation", runs),
        ("Where nodes ran", [*map(_placement, found.placements)]),
        ("First difference", [*divergence(found.divergence)]),
        (differs, padding if found.padding else []),
        ("", [f"note: {shown(line)}" for line in found.notes]),
    ]
    return [Group(title, blocks) for title, blocks in parts if blocks]


def validation_verdict(report: ValidateReport) -> str:
    """Whether the models agree, in a few words."""
    found = report.validation
    if report.outcome == "nothing compared":
        missing, why = "nothing compared", found.reason
        if found.ok:
            missing, why = "not all compared", "; ".join(report.unproven)
        return f"{marked(missing, 'warning')}: {shown(why)}"
    if not report.ok:
        return f"{marked('FAILED', 'error')}: {failure(found)}"
    if not report.rewritten:
        return marked("agrees with the reference", "good")
    also = ", also with the reference" * bool(report.reference)
    is_odd = any(not each.ok for run in found.runs for each in run.comparisons)
    return marked(f"agree{also}", "good") + ", except where the warnings say otherwise" * is_odd


def failure(found: Validation) -> str:
    """The failure in a sentence: which output, how far it is off, and where that begins.

    Empty unless the validation failed.
    """
    if found.outcome != "failed":
        return ""
    mine = [run for run in found.runs if not run.ok and run.subject == found.subject]
    wrong = [each for run in mine for each in run.comparisons if not each.ok]
    said = []
    if wrong:
        worst = max(wrong, key=lambda each: (each.max_rel != each.max_rel, each.max_rel))
        others = len({each.output for each in wrong}) - 1
        too = f"; so do {others:,} more" * bool(others)
        how = shown(next(figures(worst), worst.detail))
        said.append(f"output {shown(repr(worst.output))} differs: {how}{too}")
    elif mine:
        said.append(shown(mine[0].note) or "it does not run")
    if where := culprit(found):
        said.append(f"{'' if found.resized else 'it begins at '}{shown(where)}")
    return "; ".join(said)


def run_blocks(
    runs: Sequence[Run], validation: Validation, *, verbose: bool = False
) -> Iterator[Block]:
    """Runs that differ in their inputs alone: outputs that differ, or all if `verbose`."""
    run, compared = runs[0], [each for run in runs for each in run.comparisons]
    provider = shown(run.provider.removesuffix("ExecutionProvider"))
    inputs = shown(run.inputs) if len(runs) == 1 else f"{len(runs)} inputs"
    optimised = run.optimisation == "full" and run.against != "reference"
    who = f"{run.subject} against {run.against}{', not optimised' * optimised}"
    weight = "error" if run.subject == validation.subject else "info"
    verdict = "" if run.ok else f"{marked('DIFFERS', weight)}: "
    note = f"; {shown(run.note)}" * bool(run.note)
    yield f"{verdict}{provider}, optimisation {run.optimisation}, {inputs}: {who}{note}"
    told = [each for each in compared if verbose or not each.ok or each.alignment]
    rows = {(_output(each), result_words(each)): None for each in told}
    yield Pairs([*rows][: None if verbose else OUTPUTS_A_RUN])
    yield from more([*rows], None if verbose else OUTPUTS_A_RUN, "-v")
    rest = [] if verbose else [each for each in compared if each.ok and not each.alignment]
    if equal := sum(each.equal for each in rest):
        yield f"  {counted(equal, 'comparison')} equal bit for bit"
    if apart := [each for each in rest if not each.equal]:
        worst = max(apart, key=lambda each: (each.max_rel == each.max_rel, each.max_rel))
        numbers = next(figures(worst), "")
        most = f", at most {numbers} ({shown(repr(worst.output))})" * bool(numbers)
        yield f"  {counted(len(apart), 'comparison')} within rounding{most}"


def _output(comparison: Comparison) -> str:
    kind = f" {comparison.dtype} {comparison.shape}" if comparison.dtype else ""
    return f"{shown(comparison.output)}{kind}"


def result_words(comparison: Comparison) -> str:
    """How an output compares: equal, within rounding, or how much it differs."""
    how = f" (aligned: {shown(comparison.alignment)})" if comparison.alignment else ""
    if comparison.equal:
        return f"equal bit for bit{how}"
    told = ", ".join(figures(comparison))
    if comparison.ok:
        return f"within rounding{': ' if told else ''}{told}{how}"
    at = f"; {told}, worst at {list(comparison.worst)}" if comparison.worst else ""
    return f"{marked('differs', 'error')}: {shown(comparison.detail)}{at}{how}"


def _placement(place: Placement) -> str:
    provider = place.provider.removesuffix("ExecutionProvider")
    there = place.nodes - len(place.elsewhere)
    nodes = counted(place.nodes, "node")
    line = f"{shown(provider)} ran {there:,} of {nodes} of the {place.model} model"
    if place.elsewhere:
        line += f"; elsewhere {few(map(shown, place.elsewhere), NODES_A_REASON)}"
    return line


def divergence(found: Divergence | None) -> Iterator[Block]:
    """The first difference of two models: the tensor, the node computing it, the worst element."""
    if found is None:
        return
    seen = found.comparison
    kind = f", {seen.dtype} {seen.shape}" if seen.dtype else ""
    worst = f" at {list(seen.worst)}" if seen.worst else ""
    earlier = f"bits differ from {shown(found.earlier)} on, within rounding"
    rows = [
        ("tensor", f"{shown(repr(found.tensor))}{kind}"),
        ("computed by", _both(found.producers)),
        ("attributes", _both(tuple(each or "none" for each in found.attributes))),
        ("reads", _both(tuple(map(", ".join, found.inputs)))),
        *(("which differ", shown(each)) for each in found.operands),
        ("worst", f"{_both(found.values)}{worst}"),
        ("difference", ", ".join(figures(seen))),
        ("found on", f"{shown(found.fed)}; {counted(found.compared, 'tensor')} compared"),
        ("before it", earlier if found.earlier else ""),
        ("note", shown(found.note)),
    ]
    yield Pairs([row for row in rows if row[1]])


def _both(pair: Sequence[str]) -> str:
    before, after = map(shown, pair)
    return f"{before}, in both" if before == after else f"{before}; rewritten: {after}"


def figures(comparison: Comparison) -> Iterator[str]:
    """The figures of a difference that are known, such as `3 ulp`, those that say most first."""
    found = comparison
    if not math.isnan(found.max_abs):
        yield f"max abs {found.max_abs:.3g}, {found.max_rel:.3g} of the greatest value"
    if found.special:
        yield f"NaN or infinity on one side in {counted(found.special, 'place')}"
    if found.noise:
        yield f"two runs of one model differ by {found.noise:.3g}"
    if found.ulp is not None:
        yield f"{found.ulp:,} ulp"
    if found.cosine is not None:
        yield f"cosine {found.cosine:.9g}"
    if found.argmax is not None:
        yield f"argmax agrees in {100 * found.argmax:.4g} %"
