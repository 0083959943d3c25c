"""The headlines of `fix`, `check` and `validate` with a table in HTML, as notebooks show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from onnxpad.report import FixReport, ValidateReport
from onnxpad.report.groups import change_groups
from onnxpad.report.layout import plain, shortened_to
from onnxpad.report.text import counted, shown
from onnxpad.report.text.fix_text import (
    amounts_in_words,
    headline,
    now_in_words,
    verdict,
    was_in_words,
)
from onnxpad.report.text.validation_text import result_words, validation_verdict

ROWS = 12
"""Rows of a table."""
_LONGEST = 300
"""Characters of a text in a cell."""


def fix_html(report: FixReport) -> str:
    """The changes as a table: how many, what was, what is now, amounts."""
    groups = change_groups(report.changes)
    rows = [
        (
            f"{len(group.changes):,}",
            was_in_words(group),
            " ".join(now_in_words(group)),
            "; ".join(amounts_in_words(group)),
        )
        for group in groups[:ROWS]
    ]
    if rest := groups[ROWS:]:
        rows.append((f"{sum(len(group.changes) for group in rest):,}", "others", "", ""))
    told = _text(report.name, headline(report), verdict(report))
    return f"<div>{told}{_table(('', 'was', 'is now', 'amounts'), rows)}</div>"


def validate_html(report: ValidateReport) -> str:
    """The outputs compared as a table, those that differ first."""
    models = " and ".join(filter(None, (report.original, report.rewritten)))
    pairs = [(run, each) for run in report.validation.runs for each in run.comparisons]
    pairs.sort(key=lambda pair: pair[1].ok)
    rows = [
        (
            each.output,
            f"{run.subject} against {run.against}",
            f"{run.provider.removesuffix('ExecutionProvider')}, optimisation {run.optimisation}",
            result_words(each, plain, verbose=False),
        )
        for run, each in pairs[:ROWS]
    ]
    if rest := pairs[ROWS:]:
        rows.append((f"and {counted(len(rest), 'more output')}", "", "", ""))
    lines = [*report.validation.warnings, *report.unproven]
    told = _text(models, validation_verdict(report, plain), lines)
    return f"<div>{told}{_table(('output', 'compared', 'where', 'result'), rows)}</div>"


def _text(name: str, text: str, lines: Iterable[str]) -> str:
    """A headline, with lines below it."""
    below = "".join(f"<div>{_safe(line)}</div>" for line in lines)
    return f"<div><strong>{_safe(name)}</strong>: {_safe(text)}</div>{below}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; none without rows."""
    if not rows:
        return ""
    body = "".join(f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in row)}</tr>" for row in rows)
    head = "".join(f'<th scope="col">{head}</th>' for head in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _safe(text: str) -> str:
    return escape(shortened_to(shown(text), _LONGEST))
