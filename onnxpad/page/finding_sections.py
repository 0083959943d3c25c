"""Padding that stays, or could be rewritten, as sections grouped by reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from onnxpad.finding import Finding
from onnxpad.page.drawn import case_tables, same_tables
from onnxpad.page.markup import (
    NOTHING,
    Html,
    badge,
    code,
    el,
    esc,
    folded,
    join,
    paragraph,
    table,
    times,
)
from onnxpad.page.pictures.both_graphs import Outline
from onnxpad.page.pictures.graph_svg import graph_svg
from onnxpad.page.pictures.site_graph import Boxes, finding_graph
from onnxpad.reasons import Reason
from onnxpad.report.groups import grouped, message_without_names
from onnxpad.report.text import counted

_LISTED: Final = 2000
_MEANINGS: Final = {reason.value: reason.meaning for reason in Reason}
_KINDS: Final = {"error": "bad", "warning": "warn", "info": "plain"}


def finding_sections(
    findings: Sequence[Finding], outline: Outline | None, *, level: int = 3
) -> Html:
    """Findings, a card for each code and reason, the most frequent ones first.

    Args:
        findings: The findings.
        outline: The model in which their nodes are drawn; None where there is none.
        level: The level of the headings of cards.
    """
    groups = grouped(findings, lambda finding: (finding.severity, finding.code, _why(finding)))
    groups.sort(key=lambda group: (-group[0].severity.rank, -len(group)))
    return join(_card(group, outline, level) for group in groups)


def _why(finding: Finding) -> str:
    """The reason without names, or what is found where it can be rewritten."""
    if not finding.reason:
        return message_without_names(finding)
    summary = finding.evidence.get("summary")
    if summary:
        return str(summary)
    return finding.reason_code or finding.reason


def _title(group: Sequence[Finding]) -> str:
    first = group[0]
    if not first.reason:
        return first.message if len(group) == 1 else message_without_names(first)
    if len(group) == 1 or first.evidence.get("summary"):
        return str(first.evidence.get("summary") or first.reason)
    # A user's own pass may give a reason of its own.
    return _MEANINGS.get(first.reason_code, first.reason)


def _card(group: Sequence[Finding], outline: Outline | None, level: int) -> Html:
    first = group[0]
    said = _title(group)
    if said.split(" ", 1)[0] != first.op_type:  # most messages begin with it
        said = f"{first.op_type}: {said}"
    title = el(
        f"h{level}",
        times(len(group), _KINDS[first.severity.value]),
        esc(f" {said} "),
        el("span", esc(first.code), class_="rule"),
    )
    drawn = [(each, finding_graph(each, outline) if outline else ()) for each in group]
    variants = grouped(drawn, lambda pair: (pair[1], repr(_cases(pair[0]))))
    content = [
        _variant([each for each, _ in variant], variant[0][1], outline) for variant in variants
    ]
    inside = el("div", *content, class_="inside")
    return folded(title, inside, kind="card")


def _variant(group: Sequence[Finding], boxes: Boxes, outline: Outline | None) -> Html:
    first = group[0]
    picture = el("figure", graph_svg(boxes, "As it is")) if boxes else NOTHING
    tables = case_tables(first)
    if not tables and outline is not None:
        tables = same_tables(first, outline)
    return el("div", picture, *tables, _members(group), class_="variant")


def _cases(finding: Finding) -> Mapping[Any, Mapping[str, Any]]:
    cases = finding.evidence.get("cases")
    return cases if isinstance(cases, Mapping) else {}


def _members(group: Sequence[Finding]) -> Html:
    listed = group[:_LISTED]
    reasons = {finding.reason for finding in group}
    said = NOTHING
    if len(reasons) == 1 and group[0].reason:
        said = el("p", badge("why", "plain"), esc(f" {group[0].reason}."))
    rows = [
        [
            code(finding.node),
            esc(finding.message),
            *([] if said or not finding.reason else [esc(finding.reason)]),
            *([esc(_exact(finding))] if not finding.reason else []),
        ]
        for finding in listed
    ]
    head = ["Operator", "padding"]
    head += [] if said or not group[0].reason else ["why it stays"]
    head += [] if group[0].reason else ["exact for"]
    body = [table("Where", head, rows)]
    if rest := len(group) - len(listed):
        body.append(paragraph(f"and {rest:,} more; --format json lists all"))
    if len(group) == 1:
        return join((said, *body))
    shown = folded(esc(f"All {counted(len(group), 'operator')} by name"), *body, kind="names")
    return join((said, shown))


def _exact(finding: Finding) -> str:
    taken = f"; assumes {', '.join(finding.assumptions)}" if finding.assumptions else ""
    return f"{finding.sizes or 'every size that the model takes'}{taken}"
