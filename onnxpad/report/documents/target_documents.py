"""The documents of `targets`: what is known of every runtime, and of some in short or in full."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import to_builtins

from onnxpad.errors import and_list, counted
from onnxpad.report.documents import Block, Document, Group, Line, Table
from onnxpad.report.layout import marked
from onnxpad.report.text import shown
from onnxpad.targets.known_targets import USUAL, forms, sites, standing
from onnxpad.targets.target import VERDICTS, Cell, Range, Said, Target

ROLES = {"right": "good", "wrong": "error", "rejected": "error", "fallback": "warning"}
"""The role of each verdict that has one."""

_HEADS = ("target", "known by", "as given", "best", "title")


def words_of(when: Mapping[str, Said]) -> str:
    """Conditions on a form, as a target's file writes them.

    >>> words_of({"op": ("Conv", "MaxPool"), "stride": Range(least=2)})
    'op Conv or MaxPool, stride from 2'
    >>> words_of({"rank": 1, "raw": True})
    'rank 1, raw true'
    """
    exact = when.keys() >= USUAL.keys()
    told = [
        f"{name} {_values(said)}"
        for name, said in when.items()
        if not (exact and said == USUAL.get(name))
    ]
    told += ["all else as usual"] * exact
    return ", ".join(told) or "every form"


def _values(said: Said) -> str:
    if isinstance(said, Range):
        ends = {"min": "from", "max": "to"}
        return " ".join(f"{ends[end]} {number}" for end, number in to_builtins(said).items())
    return " or ".join(
        (str(each).lower() if isinstance(each, bool) else shown(str(each))) or "none"
        for each in (said if isinstance(said, tuple) else (said,))
    )


def targets_document(targets: Iterable[Target]) -> Document:
    """A row for each target: how it is known, and how many of the forms it computes rightly."""
    rows = [
        [shown(target.full_name), *_standing(target), shown(target.title)] for target in targets
    ]
    ends = (
        "as given, best: forms of padding that are right as they are, and in the best writing",
        "onnxpad targets NAME tells of one, with -v all that is known of it",
        "fix, check and show take --target",
    )
    lines = [Line(end, "", "") for end in ends]
    return Document("targets", "targets", [Group("", [Table(_HEADS, rows)]), Group("", lines)])


def _standing(target: Target) -> list[str]:
    found = standing(target)
    how = f"{found.models} runs" if found.models else "source"
    return [how, f"{found.given}/{found.forms}", f"{found.best}/{found.forms}"]


def target_document(targets: Mapping[str, Target], *, in_full: bool) -> Document:
    """What is known of targets, by their names: in a few lines each, or all with its sources."""
    groups = [
        _groups(each) if in_full else [_summary(name, each)] for name, each in targets.items()
    ]
    return Document("targets", "targets", [*chain.from_iterable(groups)])


def _summary(name: str, target: Target) -> Group:
    """What a target does with each form that was run somewhere, as it was given, by topic."""
    found: dict[str, list[Cell]] = {}
    for (form, style), given in sites().items():
        if style == "given":
            found.setdefault(forms()[form]["about"], []).extend(map(target.cell, given))
    takes, against, unknown = list[str](), list[Line](), list[str]()
    for topic, cells in found.items():
        title = _title(topic)
        right = sum(cell.verdict == "right" for cell in cells)
        number = f" ({right} of {len(cells)})" * (right < len(cells))
        spoken = (cell for cell in target.cells if topic in cell.about)
        told = [*dict.fromkeys(cell for cell in (*cells, *spoken) if _is_against(cell))]
        told.sort(key=lambda cell: (cell.limit, VERDICTS.index(cell.verdict)))
        if right and not any(map(_is_against, cells)):
            takes.append(title + (" (not always)" if told else number))
        elif not told:
            unknown.append(title)
        against += [_told(title, *told)] if told else []
    lines = [Line(f"takes: {and_list(takes)}")] if takes else []
    lines += [Line("does not take, or not always:"), *against] if against else []
    lines += [Line(f"not known: {and_list(unknown)}")] if unknown else []
    lines.append(Line(f"write it so: onnxpad fix MODEL --target {shlex.quote(name)}"))
    lines.append(Line(f"all that is known: onnxpad targets {shlex.quote(name)} -v"))
    return Group("", [*_head(target), *lines])


def _is_against(cell: Cell) -> bool:
    return cell.verdict not in {"right", "unknown"}


def _told(topic: str, cell: Cell, *others: Cell) -> Line:
    """The worst cell of a topic in a line."""
    more = f" (+{len(others)})" if others else ""
    note = shown(cell.note) or words_of(cell.when)
    return Line(f"{topic}{more}: {note}", f"    {_verdict(cell.verdict)}  ", None)


def _groups(target: Target) -> Iterator[Group]:
    yield Group("", [*_head(target), *_particulars(target)])
    topics: dict[str, list[Cell]] = {}
    for cell in target.cells:
        topics.setdefault(cell.about[0] if cell.about else "other", []).append(cell)
    for topic, cells in topics.items():
        yield Group("", [*_topic_blocks(_title(topic), cells)])
    if target.facts:
        facts = [
            Line(shown(fact.text + f" ({fact.source})" * bool(fact.source)))
            for fact in target.facts
        ]
        yield Group("", [marked("What no form can tell", "strong"), *facts])


def _head(target: Target) -> Iterator[Block]:
    name = f"{marked(shown(target.full_name), 'strong')}  {shown(target.title)}"
    yield Line(name, "", "  ")
    found = standing(target)
    ran = f"measured: {counted(found.models, 'model')} of {counted(found.forms, 'form')}"
    told = f"{found.given} right as given, {found.best} by the best writing"
    yield Line(f"{ran}; {told}" if target.runs else f"not measured; by what was read: {told}")
    measured = sum(cell.measured for cell in target.cells)
    yield Line(
        f"{measured} of {counted(len(target.cells), 'cell')} measured, the others read or inferred"
    )


def _particulars(target: Target) -> Iterator[Block]:
    if target.read:
        yield Line(f"read: {shown(target.read)}")
    if target.spell:
        yield Line(f"it insists on spellings: {and_list(target.spell)}")
    for note in target.notes:
        yield Line(shown(note))
    yield Line("a cell that says right holds where no other covers the form")


def _topic_blocks(title: str, cells: Sequence[Cell]) -> Iterator[Block]:
    yield marked(title, "strong")
    for cell in cells:
        words = words_of(cell.when)
        note = f": {shown(cell.note)}" if cell.note not in {"", words} else ""
        advice = f"; give {cell.advice}" if cell.advice else ""
        yield Line(f"{_verdict(cell.verdict)}  {words}{note}{advice}", "  ", " " * 12)
        models = f"from {and_list(cell.forms)}" if cell.forms else ""
        source = " ".join(filter(None, (f"[{cell.known_by}]", shown(cell.source), models)))
        if cell.source or cell.forms:
            yield Line(marked(source, "faint"), " " * 12, " " * 14)


def _title(topic: str) -> str:
    return topic.replace("_", " ")


def _verdict(verdict: str) -> str:
    text = f"{verdict:{max(map(len, VERDICTS))}}"
    return marked(text, ROLES[verdict]) if verdict in ROLES else text
