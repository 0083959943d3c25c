"""The document of `match`: the verdict, what became of each operator, what was tried."""

from __future__ import annotations

import math
from collections.abc import Iterator

from onnxpad.errors import few
from onnxpad.report import MatchReport
from onnxpad.report.documents import Document, View, document_of
from onnxpad.report.layout import marked
from onnxpad.report.text import counted, delivered, grouped, listed, more, shown

_SHOWN = 3
"""Names listed of one kind, and kinds of changes told of a model that is matched."""
_TRIED = 8
"""Conventions, paddings and notes listed of a model that is not."""
_HINTS = {
    "matched": "; give -o FILE to write the model",
    "partly matched": "; --partial (partial=True) writes what padding explains",
}


def match_document(report: MatchReport, view: View = "brief") -> Document:
    """The verdict and what became of each operator; what was tried, unless all is explained."""
    found = report.matching
    most = None if view == "full" else _TRIED if report.exit_code else _SHOWN
    tried = sorted(found.tried, key=lambda each: each.error)
    lines = [
        f"  {_off(e.error):13}  {e.name}, changes {counted(e.operators, 'operator')}" for e in tried
    ]
    left = [f"  {shown(node)!r}: {shown(why)}" for node, why in found.left]
    is_told = view == "full" or report.exit_code
    stages = ", ".join(f"{count:,} {stage}" for stage, count in found.stages.items())
    changed = bool(found.changes) and (report.partial or found.outcome == "matched")
    hint = (
        ""
        if changed and report.delivery.in_memory
        else _HINTS.get("matched" if changed else found.outcome, "")
    )
    ending = delivered(report.delivery, report.seconds, changed=changed, invalid=False)
    return document_of(
        "match",
        report.name,
        [*_headline(report)],
        [*_changes(report, most)],
        listed(f"{counted(len(left), 'operator')} left as they are:", left, most, "-v"),
        listed("Tried on the whole model, nearest first:", lines if is_told else [], most, "-v"),
        listed("Notes:", [f"  {shown(line)}" for line in found.notes], most, "-v"),
        [f"Runs: {stages}"] if view == "full" else [],
        [ending + hint * (not report.delivery.written)],
    )


def _headline(report: MatchReport) -> Iterator[str]:
    matching = report.matching
    role = {"matched": "good", "matches already": "good", "partly matched": "warning"}
    verdict = marked(matching.outcome, role.get(matching.outcome, "error"))
    by = f" by {matching.by!r}, a convention of the whole model" if matching.by else ""
    runs = counted(matching.runs, "run")
    yield f"{marked(shown(report.name), 'strong')}: {verdict}{by} ({runs})"
    if matching.reason:
        yield f"  {shown(matching.reason)}"
    if matching.first:
        where = f"that of {shown(matching.first)}: the cause is there or upstream"
        yield f"  the first recorded tensor out of reach is {where}"
    if matching.runs:
        offs = dict.fromkeys(map(_off, (matching.before, matching.after)))
        yield f"  {', as found '.join(offs)} (of the range of {shown(report.reference)})"
        moved = (f"{shown(name)!r} {how}" for name, how in matching.layout.items())
        yield f"  layout: {'; '.join(moved) or 'as in the model'}"
    if matching.record:
        told = few(map(shown, matching.record), _SHOWN)
        yield f"  record inner tensors too (onnxpad docs match): {told}"


def _off(error: float) -> str:
    return f"off by {error:.2g}" if math.isfinite(error) else "of another shape, NaN or infinite"


def _changes(report: MatchReport, most: int | None) -> Iterator[str]:
    """Each padding that became another, with its operators, the most frequent first, and lines."""
    kinds = grouped(
        report.matching.changes,
        lambda each: (each.before, each.after, each.name, each.pytorch, each.keras),
    )
    kinds.sort(key=len, reverse=True)
    for group in kinds[:most]:
        first = group[0]
        listed = _SHOWN if most else len(group)
        nodes = few((f"{each.op_type} {shown(each.node)}" for each in group), listed)
        yield f"{first.before}  becomes  {first.after}  ({first.name}): {nodes}"
        yield f"  PyTorch  {first.pytorch or 'none in one line'}"
        yield f"  Keras    {first.keras or 'none in one line'}"
    yield from more(kinds, most, "-v")
