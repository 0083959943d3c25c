"""The document of `match`: the verdict, what became of each operator, what was tried."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from onnxpad.report import MatchReport
from onnxpad.report.documents import Document, Group, line_of
from onnxpad.report.groups import grouped
from onnxpad.report.layout import UNBROKEN, Screen, marked, text_of
from onnxpad.report.text import counted, duration, shown

if TYPE_CHECKING:
    from onnxpad.frameworks.repadding.verdict import Distinguishable, Repadded

_LISTED = 20
"""Operators listed one by one; of more only the number is told."""
_TRIED = 8
"""Conventions listed, nearest first, of those that change an operator."""
_SHOWN = 3
"""Operators listed of those whose padding decides, for each kind."""
_COLUMNS = 80
_OTHERS = 2
"""Other paddings told of one operator."""
_KINDS = 3
"""Kinds of changes told of a model that is matched."""


def match_document(report: MatchReport) -> Document:
    """The verdict and what became of each operator; what was tried, unless all is explained."""
    if report.exit_code and not _is_searched(report):
        sections = [_headline(report), _notes(report, _LISTED), _end(report)]
    elif report.exit_code:
        told = [_changes(report), _distinguishable(report), _tried(report), _left(report)]
        sections = [_headline(report), *told, _notes(report, _LISTED), _end(report)]
    else:
        told = [_headline(report), _kinds(report), _counts(report), _notes(report, 1), _end(report)]
        sections = [chain.from_iterable(told)]
    groups = [Group("", [*map(line_of, lines)]) for lines in sections]
    return Document("match", report.name, groups)


def match_text(report: MatchReport, screen: Screen = UNBROKEN) -> str:
    """The document as plain text."""
    return text_of(match_document(report), screen)


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
    if _is_searched(report):
        yield f"  {_gap(report)}"


def _is_searched(report: MatchReport) -> bool:
    """Whether anything ran with another padding, or was measured."""
    matching = report.matching
    is_measured = matching.outcome != "not matched" or math.isfinite(matching.before)
    return bool(matching.runs or matching.tried) or is_measured


def _gap(report: MatchReport) -> str:
    """How far outputs are off, and unless they are reproduced from which reference."""
    before, after = report.matching.before, report.matching.after
    first = _off(before)
    if first != _off(after):
        first = f"{first} before, {_off(after, again=math.isfinite(before))} after"
    of = ["of the output's range"] if math.isfinite(min(before, after)) else []
    of += [f"from {shown(report.reference)}"] if report.exit_code else []
    return f"{first} ({', '.join(of)})"


def _off(
    error: float, unlike: str = "no output of the recorded shape", *, again: bool = False
) -> str:
    off = "" if again else "off by "
    return f"{off}{error:.2g}" if math.isfinite(error) else unlike


def _alike(report: MatchReport) -> list[list[Repadded]]:
    """The changes in groups of one padding before, one after, and one convention."""
    return grouped(report.matching.changes, lambda each: (each.before, each.after, each.name))


def _changes(report: MatchReport) -> Iterator[str]:
    """Each padding that became another, with the operators below it."""
    for place, group in enumerate(_alike(report)):
        first = group[0]
        if place:
            yield ""
        if len(line := f"{first.before}  {_becomes(first)}") <= _COLUMNS:
            yield line
        else:
            yield from (first.before, _becomes(first))
        yield from (f"  {each.op_type} {shown(each.node)}" for each in group[:_LISTED])
        yield from _more(len(group) - _LISTED)


def _becomes(change: Repadded) -> str:
    return f"becomes  {change.after}  ({change.name})"


def _kinds(report: MatchReport) -> Iterator[str]:
    """The same in a line or two for each kind, the most frequent one first."""
    kinds = sorted(_alike(report), key=len, reverse=True)
    for group in kinds[:_KINDS]:
        names = ", ".join(f"{each.op_type} {shown(each.node)}" for each in group[:_SHOWN])
        rest = f" and {len(group) - _SHOWN:,} more" if len(group) > _SHOWN else ""
        yield f"{group[0].before}  {_becomes(group[0])}: {names}{rest}"
    yield from _more(sum(map(len, kinds[_KINDS:])))


def _counts(report: MatchReport) -> Iterator[str]:
    """How many operators were left out, and how many the reference shows to be right."""
    matching = report.matching
    if left := matching.left:
        yield f"{counted(len(left), 'operator')} left as they are (--format json says why)"
    changed = {each.node for each in matching.changes}
    right = [each for each in matching.distinguishable if each.node not in changed]
    if right and changed:
        yield f"{_deciding(right)}: right as in the model (--format json)"


def _deciding(found: Sequence[Distinguishable]) -> str:
    return f"{counted(len(found), 'operator')} with padding that decides at these sizes"


def _distinguishable(report: MatchReport) -> Iterator[str]:
    found = report.matching.distinguishable
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for each in found:
        ways = ("in the model", each.padding), *[*each.others.items()][:_OTHERS]
        alike.setdefault(ways, []).append(f"{each.op_type} {shown(each.node)}")
    if not found:
        yield "No operator has padding that decides at these sizes."
        return
    yield f"{_deciding(found)}:"
    for ways, nodes in alike.items():
        yield from (f"  {node}" for node in nodes[:_SHOWN])
        yield from _more(len(nodes) - _SHOWN)
        width = max(len(name) for name, _ in ways)
        yield from (f"    {name:<{width}}  {padding}" for name, padding in ways)


def _tried(report: MatchReport) -> Iterator[str]:
    others = [each for each in report.matching.tried if each.operators]
    tried = sorted(others, key=lambda each: each.error)[:_TRIED]
    if tried:
        yield "Conventions tried on the whole model, nearest first:"
    width = max((len(each.name) for each in tried), default=0)
    offs = [_off(each.error, "another shape") for each in tried]
    wide = max(map(len, offs), default=0)
    for each, off in zip(tried, offs, strict=True):
        count = counted(each.operators, "operator")
        yield f"  {each.name:<{width}}  {off:<{wide}}  changes {count}"


def _left(report: MatchReport) -> Iterator[str]:
    left = report.matching.left
    if left:
        yield f"{counted(len(left), 'operator')} left as they are:"
    for node, why in left[:_LISTED]:
        yield f"  {shown(node)!r}: {shown(why)}"
    yield from _more(len(left) - _LISTED)


def _notes(report: MatchReport, most: int) -> Iterator[str]:
    """The first notes, and how many more there are."""
    notes = report.matching.notes
    yield from (f"note: {shown(line)}" for line in notes[:most])
    if rest := notes[most:]:
        yield f"and {counted(len(rest), 'note')} more (--format json has all)"


def _more(count: int) -> Iterable[str]:
    return [f"  and {count} more (--format json has all)"] if count > 0 else []


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
        how = "--partial with -o FILE writes"
        if report.delivery.in_memory:
            how = "partial=True gives the model with"
        yield f"Nothing written: {how} what padding explains."
