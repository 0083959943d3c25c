"""The documents of `targets`: what is known of every runtime, and of some in short or in full."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from textwrap import shorten

from msgspec import to_builtins

from onnxpad.errors import and_list, counted
from onnxpad.report.documents import Document, Group, Table
from onnxpad.report.layout import marked
from onnxpad.report.text import shown
from onnxpad.targets.known_targets import USUAL, forms, sites, standing
from onnxpad.targets.target import VERDICTS, Cell, Range, Said, Target

_ROLES = {"right": "good", "wrong": "error", "rejected": "error", "fallback": "warning"}
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
    return ", ".join([*told, *["all else as usual"] * exact]) or "every form"


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
    rows = []
    for target in targets:
        found = standing(target)
        how = f"{found.models} runs" if found.models else "source"
        numbers = (f"{found.given}/{found.forms}", f"{found.best}/{found.forms}")
        rows.append((shown(target.full_name), how, *numbers, shown(target.title)))
    ends = (
        "as given, best: forms of padding that are right as they are, and in the best writing",
        "onnxpad targets NAME tells of one, with -v all that is known of it",
        "fix, check and show take --target",
    )
    return Document("targets", "targets", [Group("", [Table(_HEADS, rows)]), Group("", ends)])


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
    takes, against, unknown = list[str](), list[str](), list[str]()
    for topic, cells in found.items():
        title = _title(topic)
        right = sum(cell.verdict == "right" for cell in cells)
        number = f" ({right} of {len(cells)})" * (right < len(cells))
        spoken = (cell for cell in target.cells if topic in cell.about)
        told = [*dict.fromkeys(cell for cell in (*cells, *spoken) if _is_against(cell))]
        if right and not any(map(_is_against, cells)):
            takes.append(title + (" (not always)" if told else number))
        elif not told:
            unknown.append(title)
        if told:
            worst = min(told, key=lambda cell: (cell.limit, VERDICTS.index(cell.verdict)))
            more = f" (+{len(told) - 1})" * (len(told) > 1)
            text = f"{title}{more}: {shown(worst.note) or words_of(worst.when)}"
            short = shorten(text, 66, placeholder="...")
            against.append(f"    {_verdict(worst.verdict)}  {short}")
    lines = [f"  takes: {and_list(takes)}"] if takes else []
    lines += ["  does not take, or not always:", *against] if against else []
    lines += [f"  not known: {and_list(unknown)}"] if unknown else []
    lines.append(f"  write it so: onnxpad fix MODEL --target {shlex.quote(name)}")
    lines.append(f"  all that is known: onnxpad targets {shlex.quote(name)} -v")
    return Group("", [*_head(target), *lines])


def _is_against(cell: Cell) -> bool:
    return cell.verdict not in {"right", "unknown"}


def _groups(target: Target) -> Iterator[Group]:
    particulars = [f"read: {target.read}"] * bool(target.read)
    particulars += [f"it insists on spellings: {and_list(target.spell)}"] * bool(target.spell)
    particulars += [*target.notes, "a cell that says right holds where no other covers the form"]
    yield Group("", [*_head(target), *(f"  {shown(each)}" for each in particulars)])
    topics: dict[str, list[Cell]] = {}
    for cell in target.cells:
        topics.setdefault(cell.about[0] if cell.about else "other", []).append(cell)
    for topic, cells in topics.items():
        yield Group(_title(topic), [line for each in cells for line in _cell(each)])
    if target.facts:
        facts = [
            shown(each.text + f" ({each.source})" * bool(each.source)) for each in target.facts
        ]
        yield Group("What no form can tell", [f"  {each}" for each in facts])


def _head(target: Target) -> Iterator[str]:
    yield f"{marked(shown(target.full_name), 'strong')}  {shown(target.title)}"
    found = standing(target)
    ran = f"measured: {counted(found.models, 'model')} of {counted(found.forms, 'form')}"
    told = f"{found.given} right as given, {found.best} by the best writing"
    yield f"  {ran if target.runs else 'not measured, by what was read'}; {told}"
    measured = sum(cell.measured for cell in target.cells)
    cells = counted(len(target.cells), "cell")
    yield f"  {measured} of {cells} measured, the others read or inferred"


def _cell(cell: Cell) -> Iterator[str]:
    words = words_of(cell.when)
    note = f": {shown(cell.note)}" if cell.note not in {"", words} else ""
    advice = f"; give {cell.advice}" if cell.advice else ""
    yield f"  {_verdict(cell.verdict)}  {words}{note}{advice}"
    models = f"from {and_list(cell.forms)}" if cell.forms else ""
    source = " ".join(filter(None, (f"[{cell.known_by}]", shown(cell.source), models)))
    if cell.source or cell.forms:
        yield f"            {marked(source, 'faint')}"


def _title(topic: str) -> str:
    return topic.replace("_", " ")


def _verdict(verdict: str) -> str:
    text = f"{verdict:{max(map(len, VERDICTS))}}"
    return marked(text, _ROLES[verdict]) if verdict in _ROLES else text
