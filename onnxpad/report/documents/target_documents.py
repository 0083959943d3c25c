"""The documents of `targets`: what is known of every runtime, and of some in short or in full."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from textwrap import shorten

from onnxpad.errors import and_list, counted
from onnxpad.report.documents import Document, Group, Table
from onnxpad.report.layout import marked
from onnxpad.report.text import shown
from onnxpad.targets.target import VERDICTS, Cell, Target, forms, sites

_ROLES = {"right": "good", "wrong": "error", "rejected": "error", "fallback": "warning"}


def targets_document(targets: Iterable[Target]) -> Document:
    """A row for each target: how it is known, and how many of the forms it computes rightly."""
    rows = []
    for target in targets:
        found = target.standing
        how = f"{found.models} runs" if found.models else "source"
        numbers = f"{found.given}/{found.forms}", f"{found.best}/{found.forms}"
        rows.append((shown(target.full_name), how, *numbers, shown(target.title)))
    ends = (
        "as given, best: forms of padding that are right as they are, and in the best writing",
        "onnxpad targets NAME tells of one, -v all of it; fix, check and show take --target",
    )
    table = Table(("target", "known by", "as given", "best", "title"), rows)
    return Document("targets", "", "", [Group("", [table]), Group("", ends)])


def target_document(targets: Mapping[str, Target], *, in_full: bool) -> Document:
    """What is known of targets, by their names: in a few lines each, or all with its sources."""
    told = (_in_full(e) if in_full else _summary(name, e) for name, e in targets.items())
    return Document("targets", "", "", [*chain.from_iterable(told)])


def _summary(name: str, target: Target) -> Iterator[Group]:
    found: dict[str, list[Cell]] = {}
    for form, table in forms().items():
        found.setdefault(table["about"], []).extend(map(target.cell, sites()[form]))
    rows = []
    for topic, cells in found.items():
        wrong = [cell for cell in cells if cell.verdict != "right"]
        worst = min(wrong or cells, key=lambda cell: (cell.limit, VERDICTS.index(cell.verdict)))
        note = "" if worst.verdict == "right" else shown(worst.note) or shown(worst.text)
        told = _verdict(worst.verdict), shorten(note, 30, placeholder="...")
        rows.append((topic.replace("_", " "), f"{len(cells) - len(wrong)}/{len(cells)}", *told))
    known = [*chain.from_iterable(sites().values())] if name.endswith(".toml") else []
    vain = (each for each in target.cells if known and not any(map(each.covers, known)))
    idle = [f"  none of these forms, though models may have it: {shown(e.text)}" for e in vain]
    write = f"  write it so: onnxpad fix MODEL --target {shlex.quote(name)}"
    tell = f"  all that is known: onnxpad targets {shlex.quote(name)} -v"
    topics = Table(("topic", "right", "or else", ""), rows)
    yield Group("", [*_head(target), topics, *idle, write, tell])


def _in_full(target: Target) -> Iterator[Group]:
    told = [f"read: {target.read}"] * bool(target.read)
    told += [f"it insists on spellings: {and_list(target.spell)}"] * bool(target.spell)
    told += [*target.notes, "of cells that cover a form a narrower answers, or the first"]
    yield Group("", [*_head(target), *(f"  {shown(each)}" for each in told)])
    topics: dict[str, list[Cell]] = {}
    for cell in target.cells:
        topics.setdefault(cell.about[0] if cell.about else "other", []).append(cell)
    for topic, cells in topics.items():
        yield Group(topic.replace("_", " "), [line for each in cells for line in _cell(each)])
    facts = [f"  {shown(each.text)} ({shown(each.source)})" for each in target.facts]
    yield Group("What no form can tell" * bool(facts), facts)


def _head(target: Target) -> Iterator[str]:
    yield f"{marked(shown(target.full_name), 'strong')}  {shown(target.title)}"
    found, measured = target.standing, sum(cell.measured for cell in target.cells)
    yield f"  {found.given} of {counted(found.forms, 'form')} right as given, {found.best} at best"
    yield f"  {measured} of {len(target.cells)} cells measured, the others read or inferred"


def _cell(cell: Cell) -> Iterator[str]:
    words = shown(cell.text)
    note = f": {shown(cell.note)}" * (cell.note not in {"", words})
    advice = f"; give {cell.advice}" * bool(cell.advice)
    yield f"  {_verdict(cell.verdict)}  {words}{note}{advice}"
    models = f"from {and_list(cell.forms)}" if cell.forms else ""
    source = " ".join(filter(None, (f"[{cell.known_by}]", shown(cell.source), models)))
    yield f"            {marked(source, 'faint')}"


def _verdict(verdict: str) -> str:
    text = f"{verdict:{max(map(len, VERDICTS))}}"
    return marked(text, _ROLES[verdict]) if verdict in _ROLES else text
