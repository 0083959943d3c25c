"""Changes that do the same, and padding that stays for the same reason, in groups."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, TypeVar

from onnxpad.finding import Change, Finding
from onnxpad.records import dataclass

_T = TypeVar("_T")
_NAME: Final = re.compile(r""" ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
"""A name as `repr` writes it, and the space before it."""


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """Changes of one rule that write the same form of one operator as the same other form.

    Attributes:
        code: The code of the rule.
        op_type: The operator.
        was: The form before, such as `Pad -> Conv`.
        now: The form after, such as `Conv pads`; empty if nothing is written any more.
        amounts: The amounts and how many changes have them, most frequent first; no amounts are an
            empty text.
        repairs: Whether onnxruntime does not run what was there.
        changes: The changes, in order.
    """

    code: str
    op_type: str
    was: str
    now: str
    amounts: tuple[tuple[str, int], ...]
    repairs: bool
    changes: tuple[Change, ...]


def change_groups(changes: Iterable[Change]) -> list[ChangeGroup]:
    """The changes in groups, the greatest group first."""

    def key(change: Change) -> tuple[object, ...]:
        # With and without pads are amounts of one form.
        was, now = (form.removesuffix(" pads") for form in change.forms)
        return change.code, change.op_type, was, now, change.repairs

    found = []
    for group in grouped(changes, key):
        forms = [max((change.forms[side] for change in group), key=len) for side in (0, 1)]
        amounts = Counter(change.amounts for change in group)
        first = group[0]
        found.append(
            ChangeGroup(
                code=first.code,
                op_type=first.op_type,
                was=forms[0],
                now=forms[1],
                amounts=tuple(amounts.most_common()),
                repairs=first.repairs,
                changes=tuple(group),
            )
        )
    return sorted(found, key=lambda group: -len(group.changes))


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
