"""The document of `validate`: the verdict, a section for each run, the outputs that differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from onnxpad.errors import few
from onnxpad.report import ValidateReport
from onnxpad.report.documents import Block, Document, Group, Line, Pairs, Tallies, View
from onnxpad.report.layout import UNBREAKABLE, Screen, marked, text_of
from onnxpad.report.text import NODES_A_REASON, configurations, counted, duration, grouped, shown
from onnxpad.validation.result import (
    Comparison,
    Divergence,
    PaddingDifference,
    Placement,
    Run,
    Validation,
    culprit,
)

OUTPUTS_A_RUN = 20


def validate_document(report: ValidateReport, view: View = "brief") -> Document:
    """The verdict, runs, where nodes ran, the first difference.

    Args:
        report: The report.
        view: But for `brief` every output is listed with all figures, and the time of each run.
    """
    found, brief = report.validation, view == "brief"
    advice = "Its padding may be why; this looks for the one that agrees:"
    command = shown(report.next).replace(" ", UNBREAKABLE)
    rest: list[Block] = [
        *configurations([report.config]),
        *(f"{marked('not compared', 'error')}: {shown(why)}" for why in report.unproven),
    ]
    following: list[Block] = [advice, command] if report.next else []
    if brief:
        after = [*_after(found, verbose=False).values(), [*_remarks(found), *rest], following]
        sections: list[Sequence[Block]] = [[_headline(report)], *_runs(found), *after]
        groups = [Group("", blocks) for blocks in sections]
    else:
        head: list[Block] = [
            _counts(report),
            _headline(report),
            *_sources(report),
            *rest,
            *following,
        ]
        groups = [Group("", head), *validation_groups(found)]
    return Document("validate", report.rewritten or report.original, groups)


def validate_text(
    report: ValidateReport, screen: Screen | None = None, view: View = "brief"
) -> str:
    """The report as text."""
    return text_of(validate_document(report, view), Screen() if screen is None else screen)


def validation_groups(found: Validation) -> list[Group]:
    """The sections about a validation in full."""
    runs = [block for blocks in _runs(found, verbose=True) for block in blocks]
    after = [
        Group(title, blocks) for title, blocks in _after(found, verbose=True).items() if blocks
    ]
    return [Group("Validation", [*runs, *_remarks(found)]), *after]


def _counts(report: ValidateReport) -> Tallies:
    found = report.validation
    compared = [each for run in found.runs for each in run.comparisons if run.tells or not run.ok]
    counts = {
        "runs": len(found.runs),
        "outputs compared": len(compared),
        "equal bit for bit": sum(each.equal for each in compared),
        "differ": sum(not each.ok for each in compared),
    }
    return Tallies([(name, count, count) for name, count in counts.items()])


def _sources(report: ValidateReport) -> Iterator[str]:
    """Where references and inputs came from."""
    if report.reference:
        yield f"Compared with the reference {shown(report.reference)}"
    if report.inputs:
        yield f"On the inputs of {shown(report.inputs)}"


def _after(found: Validation, *, verbose: bool) -> dict[str, list[Block]]:
    """All that is said after the runs, by its title on a page."""
    return {
        "Where nodes ran": [_placement(place) for place in found.placements],
        "First difference": divergence(found.divergence, verbose=verbose),
        "Padding that differs": _padding(found.padding, agree=found.ok),
    }


def _remarks(found: Validation) -> Iterator[str]:
    yield from (f"{marked('warning', 'warning')}: {shown(line)}" for line in found.warnings)
    yield from (f"note: {shown(line)}" for line in found.notes)


def _headline(report: ValidateReport) -> str:
    models = marked(shown(report.original), "strong")
    if report.rewritten:
        models += f" and {marked(shown(report.rewritten), 'strong')}"
    runs = counted(len(report.validation.runs), "run")
    verdict = validation_verdict(report) + (";" if failure(report.validation) else ",")
    return f"{models}: {verdict} {runs} ({duration(report.seconds)})"


def validation_verdict(report: ValidateReport) -> str:
    """Whether the models agree, in a few words."""
    verdict = marked("agree", "good") if report.ok else marked("FAILED", "error")
    if said := failure(report.validation):
        verdict += f": {said}"
    if report.ok and not report.rewritten:
        verdict = marked("agrees with the reference", "good")
    elif report.ok and report.reference:
        verdict = marked("agree, also with the reference", "good")
    if report.outcome == "nothing compared":
        missing, why = "nothing compared", report.validation.reason
        if report.validation.ok:
            missing, why = "not all compared", "; ".join(report.unproven)
        verdict = f"{marked(missing, 'warning')}: {shown(why)}"
    if report.ok and any(not each.ok for run in report.validation.runs for each in run.comparisons):
        verdict += ", except where the warnings say otherwise"
    return verdict


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
        too = f", and {counted(others, 'other output')} differ{'s' * (others == 1)}" * bool(others)
        how = shown(figures(worst, all_of_them=False) or worst.detail)
        said.append(f"output {shown(repr(worst.output))} differs: {how}{too}")
    elif mine:
        said.append(shown(mine[0].note) or "it does not run")
    if where := culprit(found):
        said.append(f"{'' if found.resized else 'it begins at '}{shown(where)}")
    return "; ".join(said)


def _runs(validation: Validation, *, verbose: bool = False) -> Iterator[list[Block]]:
    """A section for each run; unless `verbose`, those that agree and are alike share one."""
    groups = grouped(
        enumerate(validation.runs),
        lambda each: each[0] if verbose or not _is_calm(each[1]) else _alike(each[1]),
    )
    for group in groups:
        runs = [run for _, run in group]
        if len(runs) > 1:
            yield _agreeing(runs)
        else:
            yield run_blocks(runs[0], validation, verbose=verbose)


def _is_calm(run: Run) -> bool:
    """Whether all of a run's outputs agree, with nothing to say of them."""
    calm = all(each.ok and not each.alignment for each in run.comparisons)
    return run.ok and calm and bool(run.comparisons) and (run.flat or not run.note)


def _alike(run: Run) -> tuple[str, ...]:
    return run.provider, run.optimisation, run.subject, run.against, run.note


def _agreeing(runs: Sequence[Run]) -> list[Block]:
    """Runs on several inputs whose outputs agree: how many are equal, and the worst of the rest."""
    where = _where(runs[0], f"{len(runs)} inputs")
    compared = [each for run in runs for each in run.comparisons]
    apart = [each for each in compared if not each.equal]
    equal = counted(len(compared) - len(apart), "comparison")
    said = [f"{equal} equal bit for bit"] if len(apart) < len(compared) else []
    if apart:
        worst = max(apart, key=lambda each: (each.max_rel == each.max_rel, each.max_rel))
        told = figures(worst, all_of_them=False)
        most = f", at most {told} ({shown(repr(worst.output))})" if told else ""
        said.append(f"{counted(len(apart), 'comparison')} within rounding{most}")
    return [Line(f"{where}: {_who(runs[0])}", "", "    "), Line("; ".join(said), "  ", "  ")]


def _where(run: Run, inputs: str) -> str:
    provider = shown(run.provider.removesuffix("ExecutionProvider"))
    return f"{provider}, optimisation {run.optimisation}, {shown(inputs)}"


def _who(run: Run) -> str:
    who = f"{run.subject} against {run.against}"
    if run.optimisation == "full" and run.against != "reference":
        who += ", which ran without optimisation"
    return f"{who}; {shown(run.note)}" if run.note else who


def run_blocks(run: Run, validation: Validation, *, verbose: bool = False) -> list[Block]:
    """A run: what was compared on which inputs, and outputs that differ, or all if `verbose`."""
    where, who = _where(run, run.inputs), _who(run)
    time = f" ({times(run)})" if verbose and times(run) else ""
    weight = "error" if run.subject == validation.subject else "info"
    verdict = "" if run.ok else f"{marked('DIFFERS', weight)}: "
    plainly = [each for each in run.comparisons if each.equal and not each.alignment]
    told = run.comparisons if verbose else [each for each in run.comparisons if each not in plainly]
    listed = sorted(told, key=lambda each: each.ok)[: None if verbose else OUTPUTS_A_RUN]
    rest = len(told) - len(listed)
    equal = counted(len(plainly), "output")
    return [
        Line(f"{verdict}{where}: {who}{time}", "", "    "),
        Pairs([(_output(each), result_words(each, verbose=verbose)) for each in listed]),
        *([Line(f"and {counted(rest, 'more output')}; --verbose lists all")] if rest else []),
        *([Line(f"{equal} equal bit for bit")] if plainly and not verbose else []),
    ]


def _padding(found: Sequence[PaddingDifference], *, agree: bool) -> list[Block]:
    """The operators whose total padding differs, and whether the outputs agree all the same."""
    if not found:
        return []
    head = f"Padding differs: {counted(len(found), 'operator')}"
    head += ", though the outputs agree" if agree else ""
    rows = [
        (
            " and ".join(dict.fromkeys(map(shown, each.nodes))),
            "{} in the original, {} rewritten".format(*map(shown, each.by_axis)),
        )
        for each in found[:OUTPUTS_A_RUN]
    ]
    blocks: list[Block] = [marked(head, "warning"), Pairs(rows)]
    if rest := len(found) - len(rows):
        blocks.append(Line(f"and {rest:,} more; --format json lists all"))
    return blocks


def _output(comparison: Comparison) -> str:
    kind = f" {comparison.dtype} {comparison.shape}" if comparison.dtype else ""
    return f"{shown(comparison.output)}{kind}"


def result_words(comparison: Comparison, *, verbose: bool) -> str:
    """How an output compares: equal, within rounding, or how much it differs."""
    how = f" (aligned: {shown(comparison.alignment)})" if comparison.alignment else ""
    if comparison.equal:
        return f"equal bit for bit{how}"
    if comparison.ok:
        told = figures(comparison, all_of_them=verbose)
        return f"within rounding{': ' if told else ''}{told}{how}"
    differs = marked("differs", "error")
    at = f" at {list(comparison.worst)}" if comparison.worst else ""
    numbers = f"; {figures(comparison, all_of_them=verbose)}, worst{at}" if at else ""
    return f"{differs}: {shown(comparison.detail)}{numbers}{how}"


def _placement(place: Placement) -> str:
    provider = place.provider.removesuffix("ExecutionProvider")
    there = place.nodes - len(place.elsewhere)
    nodes = counted(place.nodes, "node")
    line = f"{shown(provider)} ran {there:,} of {nodes} of the {place.model} model"
    if place.elsewhere:
        line += f"; elsewhere {few(map(shown, place.elsewhere), NODES_A_REASON)}"
    return line


def times(run: Run) -> str:
    """The time of the run compared with, if it is known, and of this run."""
    return " -> ".join(filter(None, map(duration, run.seconds)))


def divergence(found: Divergence | None, *, verbose: bool = True) -> list[Block]:
    """The first difference of two models: the tensor, the node computing it, the worst element."""
    if found is None:
        return []
    seen = found.comparison
    kind = f", {seen.dtype} {seen.shape}" if seen.dtype else ""
    tensor = marked(shown(repr(found.tensor)), "strong")
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
    if numbers := figures(seen, all_of_them=verbose):
        rows.append(("difference", numbers))
    rows.append(("found on", f"{shown(found.fed)}; {counted(found.compared, 'tensor')} compared"))
    if found.earlier:
        rows.append(("before it", f"bits differ from {shown(found.earlier)} on, within rounding"))
    if found.note:
        rows.append(("note", shown(found.note)))
    return [title, Pairs(rows)]


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
        parts.append(f"cosine {comparison.cosine:.9g}")
    if comparison.argmax is not None and (all_of_them or comparison.ok):
        parts.append(f"argmax agrees in {100 * comparison.argmax:.4g} %")
    if comparison.special:
        parts.append(f"NaN or infinity on one side in {counted(comparison.special, 'place')}")
    if comparison.noise:
        parts.append(f"two runs of one model differ by {comparison.noise:.3g}")
    return ", ".join(parts)
