"""Cards of changes and findings for pages: those that are alike together."""

from __future__ import annotations

from collections.abc import Sequence

from onnxpad.errors import without_names
from onnxpad.finding import Finding
from onnxpad.reasons import Reason
from onnxpad.report.documents import Block, Group, Pairs
from onnxpad.report.layout import marked
from onnxpad.report.text import counted, fixable_text, grouped, labelled, shown

LISTED = 2000
"""Names that one list shows; `--format json` has all of them."""
_MEANINGS = {reason.value: reason.meaning for reason in Reason}


def finding_cards(findings: Sequence[Finding]) -> list[Group]:
    """Findings, a card for each code and reason, the most frequent ones first."""
    groups = grouped(findings, lambda finding: (finding.severity, finding.code, _why(finding)))
    groups.sort(key=lambda group: (-group[0].severity.rank, -len(group)))
    return [_finding_card(group) for group in groups]


def _why(finding: Finding) -> str:
    """The reason without names, or its code; what is found where it can be rewritten."""
    if not finding.reason:
        return without_names(finding.message)
    return finding.reason_code or finding.reason


def _finding_card(group: Sequence[Finding]) -> Group:
    first = group[0]
    if not first.reason:
        said = _why(first)
    elif len(group) == 1:
        said = first.brief or without_names(first.reason)
    else:  # a user's own pass may give a reason of its own
        said = _MEANINGS.get(first.reason_code, first.reason)
    if first.reason or first.op_type not in said:
        said = f"{', '.join(dict.fromkeys(each.op_type for each in group))}: {said}"
    many = marked(f"{len(group):,} x", first.severity)
    title = f"{many} {shown(said)} {marked(first.code, 'faint')}"
    variants = grouped(group, lambda each: each.reason)
    blocks: list[Block] = []
    for variant in variants:
        one = variant[0]
        blocks += [f"{marked('why', 'info')} {shown(one.reason)}"] * bool(one.reason)
        if not any(each.reason or each.sizes for each in variant):
            blocks.append(f"{marked('exact', 'good')} for every size that the model takes")
        told = [(labelled(e), shown(e.message) if e.reason else fixable_text(e)) for e in variant]
        blocks.append(members(told))
    return Group(title, blocks)


def members(rows: Sequence[tuple[str, str]]) -> Block:
    """Operators that are alike, each with what is said of it alone; many are folded away."""
    listed: list[Block] = [Pairs(rows[:LISTED])]
    if rest := len(rows) - LISTED if len(rows) > LISTED else 0:
        listed.append(f"and {rest:,} more; --format json lists all")
    if len(rows) == 1:
        return listed[0]
    all_of = "Both operators" if len(rows) == 2 else f"All {counted(len(rows), 'operator')}"
    return Group(f"{all_of} by name", listed)
