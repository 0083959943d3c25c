"""The document of `match`: the verdict, what became of each operator, what was tried."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from onnxpad.errors import few
from onnxpad.report import MatchReport
from onnxpad.report.documents import Document, Group, View, line_of
from onnxpad.report.layout import UNBROKEN, Screen, marked, text_of
from onnxpad.report.text import counted, duration, grouped, shown

_LISTED = 20
"""Operators listed one by one, unless all are asked for; of more only the number is told."""
_TRIED = 8
"""Conventions listed, nearest first, of those that change an operator."""
_SHOWN = 3
"""Names listed of one kind."""
_KINDS = 3
"""Kinds of changes told of a model that is matched."""
_NO_LINE = "none in one line"
_OTHERS = 2
"""Other paddings told of one operator."""


def match_document(report: MatchReport, view: View = "brief") -> Document:
    """The verdict and what became of each operator; what was tried, unless all is explained."""
    is_full = view == "full"
    most = None if is_full else _LISTED
    if is_full or report.exit_code:
        sections = [
            _headline(report),
            _changes(report, most),
            _distinguishable(report, None if is_full else _TRIED),
            _tried(report, None if is_full else _TRIED),
            _left(report, most),
            _notes(report, most),
            _stages(report) if is_full else (),
            _end(report),
        ]
    else:
        told = [_changes(report, _KINDS), _left(report, 0), _notes(report, 1), _end(report)]
        sections = [chain(_headline(report), *told)]
    groups = [Group("", [*map(line_of, lines)]) for lines in sections]
    return Document("match", report.name, groups)


def match_text(report: MatchReport, screen: Screen = UNBROKEN, view: View = "brief") -> str:
    """The document as plain text."""
    return text_of(match_document(report, view), screen)


def _headline(report: MatchReport) -> Iterator[str]:
    matching = report.matching
    role = {"matched": "good", "matches already": "good", "partly matched": "warning"}
    verdict = marked(matching.outcome, role.get(matching.outcome, "error"))
    by = f" by {matching.by!r}, a convention of the whole model" if matching.by else ""
    runs = f"{counted(matching.runs, 'run')}, {duration(report.seconds)}"
    yield f"{marked(shown(report.name), 'strong')}: {verdict}{by} ({runs})"
    if matching.reason:
        yield f"  {shown(matching.reason)}"
    if matching.first:
        yield f"  the first recorded tensor out of reach is that of {shown(matching.first)}:"
        yield "  the cause is there or upstream, behind the recorded tensors that are reached"
    if matching.runs:
        yield f"  {_gap(report)}"
        moved = (f"{shown(name)!r} {how}" for name, how in matching.layout.items())
        yield f"  layout: {'; '.join(moved) or 'as in the model'}"
    if near := matching.nearest:
        count = counted(near.operators, "operator")
        yield f"  nearest: {shown(near.name)}, {_off(near.error)}, changes {count}"
    elif matching.tried and matching.outcome == "not matched":
        yield "  nearest: the model as it is"
    if names := matching.record:
        told = _named([*map(shown, names)], _SHOWN)
        yield f"  record inner tensors too (onnxpad docs match): {told};"
        yield "  they tell where it begins, in fewer runs"


def _gap(report: MatchReport) -> str:
    """How far outputs are off, as the model is and with what was found."""
    offs = dict.fromkeys(map(_off, (report.matching.before, report.matching.after)))
    return f"{', as found '.join(offs)} (of the range of {shown(report.reference)})"


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
        nodes = _named([f"{each.op_type} {shown(each.node)}" for each in group], most and _SHOWN)
        yield f"{first.before}  becomes  {first.after}  ({first.name}): {nodes}"
        yield f"  PyTorch  {first.pytorch or _NO_LINE}"
        yield f"  Keras    {first.keras or _NO_LINE}"
    yield from _more(kinds, most)


def _distinguishable(report: MatchReport, most: int | None) -> Iterator[str]:
    found = report.matching.distinguishable
    kinds = grouped(found, lambda each: (each.padding, *[*each.others.items()][:_OTHERS]))
    if found:
        yield f"{counted(len(found), 'operator')} with padding that decides at these sizes:"
    for group in kinds[:most]:
        yield from (f"  {each.op_type} {shown(each.node)}" for each in group[:_SHOWN])
        yield from _more(group, _SHOWN)
        ways = ("in the model", group[0].padding), *[*group[0].others.items()][:_OTHERS]
        yield from (f"    {name}: {padding}" for name, padding in ways)
    yield from _more(kinds, most)


def _tried(report: MatchReport, most: int | None) -> Iterator[str]:
    tried = sorted(report.matching.tried, key=lambda each: each.error)[:most]
    if tried:
        yield "Conventions tried on the whole model, nearest first:"
    for each in tried:
        count = counted(each.operators, "operator")
        yield f"  {_off(each.error):13}  {each.name}, changes {count}"


def _left(report: MatchReport, most: int | None) -> Iterator[str]:
    left = report.matching.left
    if left:
        yield f"{counted(len(left), 'operator')} left as they are:"
    for node, why in left[:most]:
        yield f"  {shown(node)!r}: {shown(why)}"
    yield from _more(left, most)


def _notes(report: MatchReport, most: int | None) -> Iterator[str]:
    notes = report.matching.notes
    yield from (f"note: {shown(line)}" for line in notes[:most])
    yield from _more(notes, most)


def _stages(report: MatchReport) -> Iterator[str]:
    stages = report.matching.stages.items()
    yield f"Runs: {', '.join(f'{count:,} {stage}' for stage, count in stages)}"
    if report.matching.noise:
        yield f"The runtime's own optimiser changes {report.matching.noise:.2g} (noise)"


def _named(names: Sequence[str], most: int | None) -> str:
    return few(names, most or len(names))


def _more(items: Sequence[object], most: int | None) -> Iterable[str]:
    rest = len(items) - len(items[:most])
    return [f"  and {rest} more (-v has all)"] if rest else []


def _end(report: MatchReport) -> Iterator[str]:
    outcome = report.matching.outcome
    if report.delivery.written and outcome == "matches already":
        yield f"Copied to {shown(report.delivery.written)}: nothing had to change"
    elif report.delivery.written:
        yield f"Wrote {shown(report.delivery.written)}"
    elif outcome == "matched" or (outcome == "partly matched" and report.partial):
        if report.delivery.in_memory:
            yield "Not written yet: save(path) writes it"
        else:
            yield "Nothing written: give -o FILE to write the model."
    elif outcome == "partly matched":
        yield "Nothing written: --partial (partial=True) writes what padding explains."
