"""The documents of `targets`: what is known of every runtime, and of some in short or in full."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from textwrap import shorten
from typing import Any

from msgspec.structs import replace

from onnxpad.errors import and_list, counted
from onnxpad.report.documents import Document, Group, Table
from onnxpad.report.layout import marked
from onnxpad.report.text import shown
from onnxpad.targets.form import UNSAID
from onnxpad.targets.known_targets import USUAL, by_topic, standing, topic_of
from onnxpad.targets.target import Target
from onnxpad.targets.target_file import SPELLINGS, TOPICS, VERDICTS, Cell, Condition

_ROLES = {"right": "good", "wrong": "error", "rejected": "error", "fallback": "warning"}
"""The role of each verdict that has one."""
_HEADS = ("target", "known by", "as given", "best", "title")


def words_of(when: Iterable[tuple[str, Condition]]) -> str:
    """Conditions on a form, as a target's file writes them.

    >>> words_of([("op", Condition(("Conv", "MaxPool"))), ("stride", Condition(least=2))])
    'op Conv or MaxPool, stride from 2'
    >>> words_of([("rank", Condition((1,))), ("raw", Condition((True,)))])
    'rank 1, raw true'
    """
    conditions = dict(when)
    exact = _is_exact(conditions)
    told = [
        f"{name} {_values(each)}"
        for name, each in conditions.items()
        if not (exact and each.values == (USUAL.get(name),))
    ]
    return ", ".join([*told, *["all else as usual"] * exact]) or "every form"


def _is_exact(names: Iterable[str]) -> bool:
    """Whether a cell is about one form, with a condition on each field."""
    return {*names} >= USUAL.keys()


def _values(condition: Condition) -> str:
    if condition.values:
        return " or ".join(
            (str(each).lower() if isinstance(each, bool) else shown(str(each))) or "none"
            for each in condition.values
        )
    bounds = (("from", condition.least), ("to", condition.most))
    return " ".join(f"{word} {number}" for word, number in bounds if number is not None)


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
    """What a target takes, what it does not take by topic, and how that is written for it."""
    found = by_topic(target)
    # Runs tell of cells about one form.
    cells = [cell for cell in target.cells if not _is_exact(dict(cell.when))]
    takes, against, unknown = list[str](), list[str](), list[str]()
    for topic, title in TOPICS.items():
        others = [cell for cell in cells if _topic(cell) == topic]
        told = [*dict.fromkeys(filter(_is_against, (*found[topic], *others)))]
        is_right = "right" in {cell.verdict for cell in (*found[topic], *others)}
        if is_right and not any(map(_is_against, found[topic])):
            takes.append(title + " (not always)" * bool(told))
        elif not told:
            unknown.append(title)
        if told:
            worst = min(told, key=lambda cell: (cell.limit, VERDICTS.index(cell.verdict)))
            note = shown(worst.note.rpartition("models measured: ")[2] or words_of(worst.when))
            text = shorten(
                f"{title}{f' (+{len(told) - 1})' * (len(told) > 1)}: {note}", 66, placeholder="..."
            )
            against.append(f"    {_verdict(worst.verdict)}  {text}")
    lines = [f"  takes: {and_list(takes)}"] if takes else []
    lines += ["  does not take, or not always:", *against] if against else []
    lines += [f"  not known: {and_list(unknown)}"] if unknown else []
    lines.append(f"  write it so: onnxpad fix MODEL --target {shlex.quote(name)}")
    lines.append(f"  all that is known: onnxpad targets {shlex.quote(name)} -v")
    return Group("", [*_head(target), *lines])


def _is_against(cell: Cell) -> bool:
    return cell.verdict not in {"right", "unknown"}


def _topic(cell: Cell) -> str:
    """The topic of the first form that a cell's conditions name."""
    first: dict[str, Any] = {name: each.values[0] for name, each in cell.when if each.values}
    return topic_of(replace(UNSAID, **first))


def _groups(target: Target) -> Iterator[Group]:
    particulars = [f"read: {target.read}"] * bool(target.read)
    particulars += [f"it insists: {SPELLINGS[each]}" for each in target.spell]
    particulars += [*target.notes, "a cell that says right holds where no other covers the form"]
    yield Group("", [*_head(target), *(f"  {shown(each)}" for each in particulars)])
    for topic, title in TOPICS.items():
        if cells := [
            line for each in target.cells if _topic(each) == topic for line in _cell(each)
        ]:
            yield Group(title, cells)
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


def _verdict(verdict: str) -> str:
    text = f"{verdict:{max(map(len, VERDICTS))}}"
    return marked(text, _ROLES[verdict]) if verdict in _ROLES else text
