"""The document of `fix`: what changed, what stays, whether it holds; in full each proof and run."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onnxpad.errors import RUNTIME, and_list, few, without_names
from onnxpad.finding import Change, Finding, as_options, examples, joined
from onnxpad.options import Options
from onnxpad.reasons import Reason
from onnxpad.report import FixReport, Outcome
from onnxpad.report import text as pieces
from onnxpad.report.documents import Block, Cell, Document, Group, NodeNames, Pairs, Picture, View
from onnxpad.report.layout import UNBREAKABLE, marked
from onnxpad.report.text import command, counted, first_rows, grouped, labelled, shown, warned

if TYPE_CHECKING:
    from onnxpad.validation.result import Validation

GROUPS = 6
"""Groups that are listed; the rest is counted."""
_VALIDATED = {
    "passed": ", validated",
    "failed": ", validation FAILED",
    "nothing compared": "; not validated: ",
    "repaired": "; a repair: ",
}


def fix_document(report: FixReport, view: View = "brief") -> Document:
    """Groups of changes and of padding that stays, and whether the result holds.

    Briefly that is under 40 lines; in full each change has its proof, and each run its outputs.
    """
    is_full, title = view == "full", "Stays as it is"
    changes = report.changes if is_full else joined(report.changes)
    kept = report.findings if is_full else _left(report)
    title = "Left, and not known to be taken" if report.options.targets and not is_full else title
    validation: list[Group] = []
    if report.validation and (is_full or report.outcome is Outcome.INVALID):
        from onnxpad.report.documents.validate_document import validation_groups

        validation = validation_groups(report.validation, view)
    many = _nodes([each for each in kept if each.asked])
    asked = f", {many:,} of them as asked" * bool(many)
    notes = [*pieces.declared(report.declared), *pieces.remarks(report)]
    taken_back = (*report.undone, *report.barred * is_full)
    return Document.of(
        " --target ".join(("fix", *map(shown, report.options.targets))),
        shown(report.name),
        _headline(report, changes),
        [*_counts(report), *notes],
        [*_trust(report, changes), *_assumptions(report.changes)],
        Group("Changes" * is_full, [*_changes(changes, is_full=is_full)]),
        Group("UNDONE, as it was before", _reasons(taken_back, is_full=is_full)),
        Group(f"{title}: {_nodes(kept):,}{asked}", _reasons(kept, is_full=is_full)),
        *validation,
        [*_ending(report, is_full=is_full)],
    )


def _nodes(items: Sequence[Finding | Change]) -> int:
    return len({each.node for each in items})


def _headline(report: FixReport, changes: Sequence[Change]) -> str:
    style = f", style {report.options.style}" if report.options.style != "fold" else ""
    style += pieces.for_targets(report.options.targets)
    if changes:
        found = report.validation
        why = f"{_VALIDATED[found.outcome]}{shown(found.reason)}" if found else ""
        would = " would be made" * report.delivery.check
        said = f"{counted(len(changes), 'change')}{would}{style}{why}"
    elif report.declared:
        said = f"no padding to change{style}, but sizes to declare"
    else:
        said = f"{'no change was kept' if report.undone else 'nothing to change'}{style}"
    if untaken := _nodes(report.untaken):
        said = (
            f"{counted(untaken, 'padding')} left that a target computes wrongly or rejects; {said}"
        )
    stay = _nodes([each for each in _left(report) if not each.asked]) - untaken
    which = " that may not be taken" * bool(report.options.targets)
    return said + f"; {counted(stay, 'padding')} left{which}" * bool(stay)


def _left(report: FixReport) -> Sequence[Finding]:
    """What is told of padding that is left: with targets, of what they are not known to take."""
    is_all = not report.options.targets
    return [each for each in report.findings if is_all or each.reason_code == Reason.TARGET]


def _counts(report: FixReport) -> Iterator[str]:
    told = []
    titles = {"pads": "Pad", "auto_pads": "auto_pad", "ceil_modes": "ceil_mode", "nodes": "nodes"}
    for name, title in titles.items():
        was, now = (getattr(each, name) for each in report.counts)
        if was or now:
            told.append(f"{title} {was:,} -> {now:,}" if was != now else f"{title} {now:,}")
    yield f"  {marked(', '.join(told), 'strong')}"
    if any(made.certificate.within for made in report.changes):
        yield f"Holds for {shown(report.ranges)} only, as the result's metadata records"


def _changes(changes: Sequence[Change], *, is_full: bool) -> Iterator[Block]:
    def variety(change: Change) -> tuple[object, ...]:
        proof = change.certificate
        proved = without_names(proof.statement), proof.assumptions
        return change.code, *change.told(in_full=is_full), *proved * is_full

    rows: list[Sequence[Cell]] = []
    for group in sorted(grouped(changes, variety), key=lambda it: (it[0].is_move, -len(it))):
        first, proof = group[0], group[0].certificate
        told = (shown(each) for each in first.told(in_full=is_full))
        was, now = (re.sub(r"(?<=axis) | (?=-?\d+\+)", UNBREAKABLE, each) for each in told)
        was += " (does not run)" * first.repairs
        names = NodeNames([shown(each.node) for each in group])
        rows.append([f"{len(group):,}", was, now, names])
        if is_full:
            said = proof.statement if len(group) == 1 else without_names(proof.statement)
            proved = f"{marked('proved', 'good')} {shown(said)}"
            inside: list[Block] = [Picture({"": first}), proved]
            inside += [f"{marked('assumes', 'warning')} {shown(e)}" for e in proof.assumptions]
            proofs = [(e.certificate.sizes, e.probe and f"; probe: {e.probe}") for e in group]
            rest = (f"exact for {shown(sizes)}{shown(probe)}" for sizes, probe in proofs)
            inside.append(Pairs([*zip(map(labelled, group), rest, strict=True)]))
            title = f"{len(group):,} x {was} becomes {now} {first.code}"
            yield Group(title, inside)
    if not is_full:
        yield from first_rows(["", "was", "is now", "where"], rows, GROUPS, "--verbose")


def _reasons(findings: Sequence[Finding], *, is_full: bool) -> list[Block]:
    def reason(finding: Finding) -> str:
        asked = f"{finding.asked} asks for it" * bool(finding.asked)
        brief = asked or finding.brief or without_names(finding.reason) or finding.message
        return (finding.reason if is_full else "") or brief

    rows: list[Sequence[Cell]] = []
    for group in grouped(findings, lambda each: (each.code, reason(each))):
        names, said = list(dict.fromkeys(shown(each.node) for each in group)), reason(group[0])
        told = {each.reason for each in group}
        if len(told) == 1 and "..." in said:
            said = told.pop()
        where = NodeNames(names, [shown(said)])
        rows.append([f"{len(names):,}", group[0].code, where])
    return first_rows([""] * 3, rows, None if is_full else GROUPS, "--verbose")


def _assumptions(changes: Sequence[Change]) -> Iterator[str]:
    proofs = [change.certificate for change in changes]
    taken = Counter((name, name in each.refused) for each in proofs for name in each.assumptions)
    for (name, is_refused), many in taken.items():
        said = f"{marked('Assumes', 'warning')} {shown(name)}: {counted(many, 'change')}"
        yield f"{said} (--strict {'refuses' if is_refused else 'accepts'}; onnxpad docs proofs)"


def _trust(report: FixReport, changes: Sequence[Change]) -> Iterator[str]:
    if repaired := sum(change.repairs for change in report.changes):
        said = f"{RUNTIME} does not run the model as it was; {counted(repaired, 'change')} for that"
        yield f"{marked('Repaired', 'good')}: {said}"
    if changes:
        sizes = Counter(shown(each.certificate.told_sizes) for each in changes).items()
        told = few((f"{counted(many, 'change')} for {each}" for each, many in sizes), 3, "; ")
        yield f"{marked('Proved', 'good')} to read the same values as before: {told}"
    if (found := report.validation) is None:
        if report.changes and not report.validate:
            yield marked("Not validated (--no-validate)", "warning")
        return
    if found.outcome == "failed":
        from onnxpad.report.documents.validate_document import failure

        yield f"{marked('Validation FAILED', 'error')}: {failure(found)}"
    elif found.outcome == "passed":
        yield f"{marked('Validated', 'good')}: {_compared(found)}"
    yield from warned(found.warnings)


def _compared(found: Validation) -> str:
    ours = [run for run in found.runs if run.subject == "rewritten" and run.tells and not run.flat]
    runs = [run for run in ours if all(each.ok for each in run.comparisons)]
    where = and_list(dict.fromkeys(r.provider.removesuffix("ExecutionProvider") for r in runs))
    seen = [each for run in runs for each in run.comparisons]
    apart = [each.max_rel for each in seen if not each.equal]
    worst = max(apart, key=lambda share: (share != share, share), default=0)  # NaN is most
    how = "within rounding" if worst != worst else f"to {worst:.0e}"
    alike = f"{len(seen) - len(apart):,}" if apart else "all"
    said = f"{counted(len(seen), 'comparison')}, {alike} bit for bit"
    said += f", the others {how}" * bool(apart)
    return f"outputs are equal in {RUNTIME} ({shown(where)}): {said}"


def sized(findings: Iterable[Finding]) -> tuple[int, Mapping[str, str]]:
    """How many depend on open sizes, and an example for each size that is known by name."""
    facts: list[Any] = [each.evidence for each in findings]
    found = [each for each in facts if "--dim" in each.get("options", ())]
    return len(found), examples(axis for each in found for axis in each.get("sizes", ()))


def _ending(report: FixReport, *, is_full: bool) -> Iterator[str]:
    count, sizes = sized(report.findings)
    if found := report.next:
        is_whole = not report.delivery.in_memory and report.options == Options()
        whole = f"onnxpad fix {shlex.quote(report.name)} " * is_whole
        yield f"{marked('Next:', 'strong')} {command(f'{whole}{found.option}')} would {found.gain}"
    elif count and not report.options.targets:  # for which sizes were tried
        such = command(as_options(sizes) or "--shape or --dim")
        said = f"constant sizes, as with {such}, give {count:,} of these constant amounts"
        yield f"{marked('Next:', 'strong')} {said}"
    invalid = report.outcome is Outcome.INVALID
    yield pieces.delivered(report.delivery, report.seconds, changed=report.changed, invalid=invalid)
    if not is_full and (report.changes or report.findings):
        where = "result has" if report.delivery.in_memory else "--verbose has"
        yield marked(f"{where} each proof and reason; onnxpad rule CODE explains a code", "faint")
