"""The document of `validate`: the verdict, runs, outputs that differ, and where that began."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from onnxpad.errors import and_list, few
from onnxpad.proving.pairs import Decision
from onnxpad.report import ValidationResult
from onnxpad.report.documents import Block, Document, Group, Pairs, Picture, View
from onnxpad.report.layout import marked
from onnxpad.report.text import command, configurations, counted, first_rows, grouped, shown, warned
from onnxpad.validation.result import Comparison, Divergence, Placement, Run, Validation, culprit

OUTPUTS_A_RUN = 20


def validate_document(report: ValidationResult, view: View = "brief") -> Document:
    """The verdict, runs, where nodes ran, the first difference; in full, every output compared."""
    models = and_list(shown(each) for each in (report.original, report.rewritten) if each)
    head: list[Block] = [
        f"{counted(len(report.validation.runs), 'run')} in {report.seconds:.1f} s",
        *([proved(report.proof)] if report.proof else []),
        *configurations([("", report.config)]),
        *warned(report.unproven, "not compared", "error"),
        *warned(report.validation.warnings),
    ]
    advice = "Its padding may be why; this looks for the one that agrees:"
    ending = [advice, command(report.next)] if report.next else []
    groups = validation_groups(report.validation, view)
    return Document.of("validate", models, _verdict(report), head, *groups, ending)


def validation_groups(found: Validation, view: View = "full") -> list[Group]:
    """The sections about a validation."""
    is_full = view == "full"

    def key(run: Run) -> tuple[str, ...]:
        inputs = run.inputs if is_full or not run.ok else ""
        return inputs, run.provider, run.optimisation, run.subject, run.against, run.note

    runs = [block for some in grouped(found.runs, key) for block in _runs(some, found, is_full)]
    rows = [(and_list(dict.fromkeys(map(shown, e.nodes))), both(e.by_axis)) for e in found.padding]
    padding: list[Block] = [Picture(each.sites) for each in found.padding[:1]]
    padding += first_rows(["", ""], rows, OUTPUTS_A_RUN)
    differs = f"Padding differs: {counted(len(rows), 'operator')}"
    parts: dict[str, Sequence[Block]] = {
        "Validation": runs,
        "Where nodes ran": [*map(_placement, found.placements)],
        "First difference": [*map(_difference, filter(None, [found.divergence]))],
        differs + ", though the outputs agree" * (found.ok and not _apart(found)): padding,
        "": [f"note: {shown(line)}" for line in found.notes],
    }
    return [Group(title, blocks) for title, blocks in parts.items()]


def proved(found: Decision) -> str:
    """For which sizes it is proved that both models compute the same, and what that assumes."""
    sizes = shown(found.limits) or "every size"
    told = f"{marked('proved', 'good')} to compute the same for {sizes}"
    return told + "".join(f"; assumes: {shown(each)}" for each in found.assumptions)


def _verdict(report: ValidationResult) -> str:
    found = report.validation
    if report.outcome == "nothing compared":
        told = "not all compared" if found.ok else "nothing compared"
        why = "; ".join(report.unproven) if found.ok else found.reason
        return f"{marked(told, 'warning')}: {shown(why)}"
    if not report.ok:
        return f"{marked('FAILED', 'error')}: {failure(found)}"
    if not report.rewritten:
        return marked("agrees with the reference", "good")
    apart, told = _apart(found), "agree" + ", also with the reference" * bool(report.reference)
    odd = ", except where the warnings say otherwise" * bool(apart)
    if ("original", "reference") in apart and ("rewritten", "reference") not in apart:
        odd, told = "", "the rewritten model agrees with the reference, the original does not"
    return marked(told, "good") + odd


def _apart(found: Validation) -> set[tuple[str, str]]:
    """The sides of runs in which an output differs, also if that is excused."""
    return {(e.subject, e.against) for e in found.runs if any(not o.ok for o in e.comparisons)}


def failure(found: Validation) -> str:
    """Which output failed, how far it is off, and where that begins."""
    mine = [run for run in found.runs if not run.ok and run.subject == found.subject]
    wrong = [each for run in mine for each in run.comparisons if not each.ok]
    said = [shown(run.note) or "it does not run" for run in mine[:1] if not wrong]
    if wrong:
        worst = max(wrong, key=lambda each: (each.max_rel != each.max_rel, each.max_rel))
        others = len({each.output for each in wrong}) - 1
        how = shown(next(figures(worst), worst.detail)) + f"; so do {others:,} more" * bool(others)
        said.append(f"output {shown(repr(worst.output))} differs: {how}")
    if where := culprit(found):
        said.append(f"{'' if found.resized else 'it begins at '}{shown(where)}")
    return "; ".join(said)


def _runs(runs: Sequence[Run], validation: Validation, is_full: bool) -> Iterator[Block]:
    run, seen = runs[0], [each for run in runs for each in run.comparisons]
    provider = shown(run.provider.removesuffix("ExecutionProvider"))
    inputs = shown(run.inputs) if len(runs) == 1 else f"{len(runs)} inputs"
    model = "model" if validation.subject == "original" else run.subject
    who = f"{model} against {run.against}" + f"; {shown(run.note)}" * bool(run.note)
    told = f"{provider}, optimisation {run.optimisation}, {inputs}: {who}"
    differs = marked("DIFFERS", "error" if run.subject == validation.subject else "info")
    yield told if run.ok else f"{differs}: {told}"
    within = f"within {'what is allowed' if run.against == 'reference' else 'rounding'}"
    some = [each for each in seen if is_full or not each.ok or each.alignment]
    rows = [*dict.fromkeys(_compared(each, within, is_full or validation.ok) for each in some)]
    yield from first_rows(["", ""], rows, None if is_full else OUTPUTS_A_RUN, "-v")
    if rest := [each for each in seen if each.ok and not (is_full or each.alignment)]:
        worst = max(rest, key=lambda each: (not each.equal, each.max_rel))
        most_of = f"{within}, at most {next(figures(worst))} ({worst.output!r})"
        how = "equal bit for bit" if worst.equal else shown(most_of)
        yield f"  {counted(len(rest), 'comparison')} {how}"


def _compared(seen: Comparison, within: str, is_full: bool) -> tuple[str, str]:
    kind = f" {seen.dtype} {seen.shape}" if seen.dtype else ""
    how = f" (aligned: {shown(seen.alignment)})" if seen.alignment else ""
    told = ", ".join(figures(seen))
    words = "equal bit for bit" if seen.equal else f"{within}{': ' if told else ''}{told}"
    if not seen.ok:
        at = f"; {told}, worst at {list(seen.worst)}" if seen.worst and is_full else ""
        words = f"{marked('differs', 'error')}: {shown(seen.detail)}{at}"
    return f"{shown(seen.output)}{kind}", f"{words}{how}"


def _placement(place: Placement) -> str:
    provider = place.provider.removesuffix("ExecutionProvider")
    there, nodes = place.nodes - len(place.elsewhere), counted(place.nodes, "node")
    elsewhere = f"; elsewhere {few(map(shown, place.elsewhere), OUTPUTS_A_RUN)}"
    line = f"{shown(provider)} ran {there:,} of {nodes} of the {place.model} model"
    return line + elsewhere * bool(place.elsewhere)


def _difference(found: Divergence) -> Block:
    seen = found.comparison
    kind = f", {seen.dtype} {seen.shape}" * bool(seen.dtype)
    rows = [
        ("tensor", f"{shown(repr(found.tensor))}{kind}"),
        ("computed by", both(found.producers)),
        ("attributes", both([each or "none" for each in found.attributes])),
        ("reads", both([*map(", ".join, found.inputs)])),
        *(("which differ", shown(each)) for each in found.operands),
        ("worst", f"{both(found.values)}{f' at {list(seen.worst)}' * bool(seen.worst)}"),
        ("difference", ", ".join(figures(seen))),
        ("note", shown(found.note)),
    ]
    return Pairs([row for row in rows if row[1]])


def both(pair: Sequence[str]) -> str:
    """What two models have, the original first."""
    before, after = map(shown, pair)
    return f"{before}, in both" if before == after else f"{before}; rewritten: {after}"


def figures(found: Comparison) -> Iterator[str]:
    """The figures of a difference that are known, such as `3 ulp`, those that say most first."""
    if not math.isnan(found.max_abs):
        yield f"max abs {found.max_abs:.3g}, {found.max_rel:.3g} of the greatest value"
    if found.special:
        yield f"NaN or infinity on one side in {counted(found.special, 'place')}"
    if found.ulp is not None:
        yield f"{found.ulp:,} ulp"
    if found.cosine is not None:
        yield f"cosine {found.cosine:.9g}"
    if found.argmax is not None:
        yield f"argmax agrees in {100 * found.argmax:.4g} %"
