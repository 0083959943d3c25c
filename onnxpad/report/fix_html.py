"""The headline of `fix` as a table in HTML, as notebooks show it."""

from html import escape

from onnxpad.report import FixReport
from onnxpad.report.groups import change_groups
from onnxpad.report.text import shown
from onnxpad.report.text.fix_text import headline, in_short, verdict

GROUPS = 12
"""Groups of changes that are listed."""


def headline_html(report: FixReport) -> str:
    """The changes as a table: how many, what was, what is now, amounts."""
    groups = change_groups(report.changes)
    rows = [
        (f"{len(group.changes):,}", group.was, group.now or "gone", in_short(group))
        for group in groups[:GROUPS]
    ]
    if rest := groups[GROUPS:]:
        rows.append((f"{sum(len(group.changes) for group in rest):,}", "others", "", ""))
    cells = "".join(
        f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("", "was", "is now", "amounts"))
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table>" if rows else ""
    counts = "".join(f"<div>{_safe(line)}</div>" for line in verdict(report))
    title = f"<strong>{_safe(report.model)}</strong>: {_safe(headline(report))}"
    return f"<div>{title}</div>{counts}{table}"


def _safe(text: str) -> str:
    return escape(shown(text))
