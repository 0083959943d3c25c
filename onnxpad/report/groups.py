"""Changes that do the same, and padding that stays for the same reason, in groups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from onnxpad.finding import Change, Finding
from onnxpad.records import dataclass
from onnxpad.site_form import SiteForm, WrittenAmounts

_T = TypeVar("_T")
_NAME: Final = re.compile(r""" ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
"""A name as `repr` writes it, and the space before it."""


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """Changes of one rule that write the same form of one operator as the same other form.

    Attributes:
        code: The code of the rule.
        op_type: The operator.
        was: The form before, without amounts.
        now: The form after, without amounts.
        amounts: The amounts and how many changes have them, most frequent first; None for those
            that are not constant.
        repairs: Whether the runtime does not run what was there.
        changes: The changes, in order.
    """

    code: str
    op_type: str
    was: SiteForm
    now: SiteForm
    amounts: tuple[tuple[WrittenAmounts | None, int], ...]
    repairs: bool
    changes: tuple[Change, ...]


def change_groups(changes: Iterable[Change]) -> list[ChangeGroup]:
    """The changes in groups, the greatest group first."""

    def key(change: Change) -> tuple[object, ...]:
        # With and without pads are amounts of one form.
        was, now = (_bare(form, with_pads=False) for form in (change.was, change.now))
        return change.code, change.op_type, was, now, change.repairs

    found = []
    for group in grouped(changes, key):
        amounts = Counter(change.now.amounts or change.was.amounts for change in group)
        first = group[0]
        found.append(
            ChangeGroup(
                code=first.code,
                op_type=first.op_type,
                was=_bare(max((change.was for change in group), key=_has_pads)),
                now=_bare(max((change.now for change in group), key=_has_pads)),
                amounts=tuple(amounts.most_common()),
                repairs=first.repairs,
                changes=tuple(group),
            )
        )
    return sorted(found, key=lambda group: -len(group.changes))


def _has_pads(form: SiteForm) -> bool:
    """Whether the last operator has pads, and nothing else."""
    last = form.steps[-1] if form.steps else None
    return last is not None and last.has_pads and not (last.is_counted or last.rounds_up)


def _bare(form: SiteForm, *, with_pads: bool = True) -> SiteForm:
    """A form without amounts; it may also be without the pads that the last operator has."""
    steps = [replace(step, amounts=None, fill=None, computing=0) for step in form.steps]
    if _has_pads(form) and not with_pads:
        steps[-1] = replace(steps[-1], has_pads=False)
    return SiteForm(tuple(steps))


def reason_groups(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings in groups of one code and one reason, in the order of first appearance."""
    return grouped(findings, lambda f: (f.severity, f.code, reason_without_names(f) or f.message))


def reason_without_names(finding: Finding) -> str:
    """The reason without names if the rule gives one, else the reason as it is."""
    summary = finding.evidence.get("summary")
    return summary if isinstance(summary, str) else finding.reason


def message_without_names(finding: Finding) -> str:
    """The message without the names in it, so that those of like findings are equal.

    >>> from onnxpad.finding import Finding, Severity
    >>> message = "Pad H 0+1, W 0+1 before Conv 'stem/Conv'"
    >>> message_without_names(Finding("PAD201", Severity.WARNING, "pad", "Pad", message))
    'Pad H 0+1, W 0+1 before Conv'
    """
    return _NAME.sub("", finding.message)


def grouped(items: Iterable[_T], key: Callable[[_T], Hashable]) -> list[list[_T]]:
    """The items grouped by key; groups and items in the order of first appearance."""
    groups: dict[Hashable, list[_T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def unrequested(findings: Sequence[Finding], undone: Sequence[Finding]) -> list[Finding]:
    """The findings about what nobody asked to keep, and not about changes that were taken back."""
    told = {(finding.code, finding.node, finding.reason) for finding in undone}
    return [
        each
        for each in findings
        if (each.code, each.node, each.reason) not in told and not each.asked
    ]


def kept_as_asked(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings about padding that stays since an option asks for that, by option."""
    return grouped([each for each in findings if each.asked], lambda each: each.asked)
