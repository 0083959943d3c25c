"""Cards of changes and findings for pages: those that are alike together, with a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from onnxpad.finding import Change, Finding
from onnxpad.messages import RUNTIME
from onnxpad.reasons import Reason
from onnxpad.report.documents import Block, Group, Pairs, Picture
from onnxpad.report.groups import change_groups, grouped, message_without_names
from onnxpad.report.layout import marked
from onnxpad.report.text import counted, fixable_text, labelled, shown

LISTED: Final = 2000
"""Names that one list shows; `--format json` has all of them."""
_DRAWN: Final = 250
"""Kinds of changes that have pictures on one page; further ones are told in words."""
_SHOWN: Final = 1000
_MEANINGS: Final = {reason.value: reason.meaning for reason in Reason}


def finding_cards(findings: Sequence[Finding], model: int) -> list[Group]:
    """Findings, a card for each code and reason, the most frequent ones first.

    Args:
        findings: The findings.
        model: The place of their model among those that the page is of.
    """
    groups = grouped(findings, lambda finding: (finding.severity, finding.code, _why(finding)))
    groups.sort(key=lambda group: (-group[0].severity.rank, -len(group)))
    return [_finding_card(group, model) for group in groups]


def _why(finding: Finding) -> str:
    """The reason without names, or what is found where it can be rewritten."""
    if not finding.reason:
        return message_without_names(finding)
    return str(finding.evidence.get("summary") or finding.reason_code or finding.reason)


def _finding_card(group: Sequence[Finding], model: int) -> Group:
    first = group[0]
    if not first.reason:
        said = first.message if len(group) == 1 else message_without_names(first)
    elif len(group) == 1 or first.evidence.get("summary"):
        said = str(first.evidence.get("summary") or first.reason)
    else:  # a user's own pass may give a reason of its own
        said = _MEANINGS.get(first.reason_code, first.reason)
    if said.split(" ", 1)[0] != first.op_type:  # most messages begin with it
        said = f"{first.op_type}: {said}"
    many = marked(times(len(group)), first.severity)
    title = f"{many} {shown(said)} {marked(first.code, 'faint')}"
    variants = grouped(group, lambda each: (each.reason, repr(each.evidence.get("cases"))))
    blocks: list[Block] = []
    for variant in variants:
        one = variant[0]
        blocks.append(Picture(one, model))
        blocks += [f"{marked('why', 'info')} {shown(one.reason)}"] * bool(one.reason)
        told = [(labelled(e), shown(e.message) if e.reason else fixable_text(e)) for e in variant]
        blocks.append(members(told))
    return Group(title, blocks)


def change_cards(changes: Sequence[Change], said: Callable[[Change], str]) -> Iterator[Block]:
    """All changes, a card for each kind, the most frequent ones first.

    Args:
        changes: The changes.
        said: The proof and the probe of a change.
    """
    if changes:
        yield Picture("legend")
    drawn = 0
    for place, group in enumerate(change_groups(changes)):
        before, after = group.was.form, group.now.form
        if not before and not after:  # a pass of a user's own may tell no forms
            before, after = group.changes[0].before, group.changes[0].after
        repair = f"{marked('repair', 'warning')} " if group.repairs else ""
        code = marked(group.code, "faint")
        varieties = sorted(grouped(group.changes, _variety), key=len, reverse=True)
        blocks: list[Block] = []
        if group.repairs:
            blocks.append(f"Repairs: {RUNTIME} does not run these operators as they were")
        for each in varieties[:_SHOWN]:
            blocks.append(_change_card(each, said, is_drawn=drawn < _DRAWN))
            drawn += 1
        if (rest := len(varieties) - _SHOWN) > 0:
            blocks.append(f"and {counted(rest, 'form')} more; --format json lists all")
        title = _became(len(group.changes), before, after)
        yield Group(f"{title} {repair}{code}", blocks, is_open=place == 0)


def _variety(change: Change) -> tuple[object, ...]:
    """The same for changes of one kind that also look alike, and are proved alike."""
    made = change.certificate
    proved = made.general or made.statement, made.assumptions, made.limited_to
    return change.before, change.after, *proved


def _change_card(
    group: Sequence[Change], said: Callable[[Change], str], *, is_drawn: bool
) -> Group:
    """Changes that are alike: the proof, pictures of the first one, and all by name."""
    first = group[0]
    made = first.certificate
    where = f", for {made.limited_to}" if made.limited_to else ""
    blocks: list[Block] = [
        f"{marked('proved', 'good')} {shown((made.general or made.statement) + where)}"
    ]
    if made.assumptions:
        blocks.append(f"{marked('assumes', 'warning')} {', '.join(map(shown, made.assumptions))}")
    if is_drawn:
        blocks.append(Picture(first))
        if len({repr(change.certificate.facts.get("axes")) for change in group}) > 1:
            blocks.append(marked(f"Drawn for {shown(first.node)}", "faint"))
    told = [(labelled(each), said(each)) for each in group]
    title = _became(len(group), first.before, first.after)
    return Group(title, [*blocks, members(told)], is_open=True)


def _became(count: int, before: str, after: str) -> str:
    becomes = marked("becomes", "faint")
    return f"{marked(times(count), 'info')} {shown(before)} {becomes} {shown(after or 'nothing')}"


def members(rows: Sequence[tuple[str, str]]) -> Block:
    """Operators that are alike, each with what is said of it alone; many are folded away."""
    listed: list[Block] = [Pairs(rows[:LISTED])]
    if rest := len(rows) - LISTED if len(rows) > LISTED else 0:
        listed.append(f"and {rest:,} more; --format json lists all")
    if len(rows) == 1:
        return listed[0]
    return Group(f"All {counted(len(rows), 'operator')} by name", listed)


def times(count: int) -> str:
    """How many there are of a kind."""
    return f"{count:,} \u00d7"
