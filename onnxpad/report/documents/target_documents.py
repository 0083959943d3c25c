"""The documents of `targets`: what is known of every runtime, and of some in short or in full."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from onnxpad.messages import and_list, counted
from onnxpad.report.documents import Block, Document, Group, Line, Table
from onnxpad.report.layout import marked
from onnxpad.report.text import shown
from onnxpad.targets.known_targets import USUAL, standing
from onnxpad.targets.target import Cell, Condition, Run, Target, noted
from onnxpad.targets.target_file import SPELLINGS, TOPICS, VERDICTS

ROLES: Final = {"right": "good", "wrong": "error", "rejected": "error", "fallback": "warning"}
"""The role of each verdict that has one."""

_HEADS: Final = ("target", "known by", "as given", "best", "title")

_BY_KIND: Final = ("auto_pad_", "asymmetric_pads_")
"""Topics that there are of each kind of operator begin so."""

_WIDTH: Final = 76
"""Cells of a line of the summary, so that it stays one line in a pipe."""

_BY_VERDICT: Final = ("wrong", "rejected", "fallback", "unknown")


def words_of(when: Iterable[tuple[str, Condition]]) -> str:
    """Conditions on a form, as a target's file writes them.

    >>> words_of([("op", Condition(("Conv", "MaxPool"))), ("stride", Condition(least=2))])
    'op Conv or MaxPool, stride from 2'
    """
    conditions = dict(when)
    is_exact = conditions.keys() >= USUAL.keys()
    told = [
        f"{name} {_values(each)}"
        for name, each in conditions.items()
        if not (is_exact and each.values == (USUAL.get(name),))
    ]
    told += ["all else as usual"] if is_exact else []
    return ", ".join(told) or "every form"


def _values(condition: Condition) -> str:
    if condition.values:
        named = {"": "none", True: "true", False: "false"}
        return " or ".join(named.get(each) or shown(str(each)) for each in condition.values)
    bounds = (("from", condition.least), ("to", condition.most))
    return " ".join(f"{word} {number}" for word, number in bounds if number is not None)


def targets_document(targets: Iterable[Target]) -> Document:
    """A row for each target: how it is known, and how many of the forms it computes rightly."""
    rows = [
        [shown(target.full_name), *_standing(target), shown(target.title)] for target in targets
    ]
    ends = (
        "as given, best: forms of padding that are right as they are, and in the best writing",
        "onnxpad targets NAME tells all that is known of one; fix, check and show take --target",
    )
    lines = [Line(end, "", "") for end in ends]
    return Document("targets", "targets", [Group("", [Table(_HEADS, rows)]), Group("", lines)])


def _standing(target: Target) -> list[str]:
    found = standing(target)
    how = f"{found.models} runs" if found.models else "source"
    return [how, f"{found.given}/{found.forms}", f"{found.best}/{found.forms}"]


def target_document(targets: Iterable[Target], *, in_full: bool) -> Document:
    """What is known of targets: in a few lines each, or all with the source of each cell."""
    groups = _groups if in_full else _summary
    return Document("targets", "targets", [each for target in targets for each in groups(target)])


def _summary(target: Target) -> Iterator[Group]:
    """What a target takes, what it does not take by topic, and how that is written for it."""
    told = [cell for cell in target.cells if cell.about]  # others repeat models that were run
    taken = {name for cell in told if cell.verdict == "right" for name in cell.about}
    takes = (each for name, each in TOPICS.items() if name in taken and name != "other")
    against = sorted(
        (cell for cell in told if cell.verdict in _BY_VERDICT),
        key=lambda cell: _BY_VERDICT.index(cell.verdict),
    )
    by_topic = {name: [cell for cell in against if _topic(cell) == name] for name in TOPICS}
    named = shlex.quote(target.full_name)
    yield Group(
        "",
        [
            *_head(target),
            Line(f"takes: {and_list(takes)}"),
            Line("does not take, or not always:"),
            *(_told(TOPICS[name], *cells) for name, cells in by_topic.items() if cells),
            Line(f"write it so: onnxpad fix MODEL --target {named}"),
            Line(f"all that is known: onnxpad targets {named} -v"),
        ],
    )


def _told(topic: str, cell: Cell, *others: Cell) -> Line:
    """The worst cell of a topic in a line."""
    more = f" (+{len(others)})" if others else ""
    room = _WIDTH - len(more) - max(map(len, VERDICTS)) - len(topic) - 4
    note = shown(cell.note or words_of(cell.when))
    cut = note if len(note) <= room else f"{note[: room - 3].rstrip()}..."
    return Line(f"{_verdict(cell.verdict)}  {topic}: {cut}{more}", "    ", " " * 14)


def _groups(target: Target) -> Iterator[Group]:
    yield Group("", [*_head(target), *_particulars(target)])
    if target.runs:
        yield Group("", [*_measured(target)])
    asked = {topic: [cell for cell in target.cells if _topic(cell) == topic] for topic in TOPICS}
    for topic, cells in asked.items():
        if cells:
            yield Group("", [*_topic_blocks(TOPICS[topic], cells)])
    if target.facts:
        facts = [
            Line(f"{shown(fact.text)}{_source(fact.source)}", "  ", "    ") for fact in target.facts
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
    for each in target.spell:
        yield Line(f"it insists: {SPELLINGS[each]}")
    for note in target.notes:
        yield Line(shown(note))
    yield Line("a cell that says right holds where no other covers the form")


def _topic(cell: Cell) -> str:
    """The first topic of a cell; of one about several kinds of operators none of theirs."""
    first, *others = cell.about or ("other",)
    kinds = [each for each in _BY_KIND if first.startswith(each)]
    return "other" if any(name.startswith(each) for each in kinds for name in others) else first


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


def _verdict(verdict: str) -> str:
    text = f"{verdict:{max(map(len, VERDICTS))}}"
    return marked(text, ROLES[verdict]) if verdict in ROLES else text


def _source(source: str) -> str:
    return f" ({shown(source)})" if source else ""


def _measured(target: Target) -> Iterator[Block]:
    """Models that failed, those together that failed alike, and the number of all others."""
    yield marked("Models that were run", "strong")
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in target.runs:
        if run.verdict != "right":
            alike.setdefault((run.verdict, noted([run])), []).append(run)
    for (verdict, _), runs in alike.items():
        names = and_list(run.label for run in runs)
        yield Line(
            f"{_verdict(verdict)}  {shown(noted(runs)) or 'no message'}: {names}", "  ", " " * 12
        )
    right = len(target.runs) - sum(map(len, alike.values()))
    yield Line(f"{_verdict('right')}  {counted(right, 'model')}, all others that were run")
