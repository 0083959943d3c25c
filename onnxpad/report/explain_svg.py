"""The report of `explain` as a picture: windows over the padded axis, a row for each group.

The picture needs nothing outside itself, and follows the reader's light or dark colours.
"""

from __future__ import annotations

import textwrap
from typing import Final
from xml.sax.saxutils import escape

from onnxpad.frameworks.conventions.explanation import ExplainReport
from onnxpad.report.axis_svg import AxisPlace, axis_height, axis_svg, text_svg
from onnxpad.report.documents.explain_document import divides_by, question_text
from onnxpad.report.text import counted, shown
from onnxpad.report.window_drawing import (
    WIDEST,
    Drawing,
    DrawnRow,
    drawing,
)

_WIDTH: Final = 920
_MARGIN: Final = 30
_CELLS: Final = (42, 84, 172, WIDEST)
_LINES: Final = 60
_NAMES: Final = 110
_LINE, _GAP = 18, 26

_STYLE: Final = """
svg { --paper: #ffffff; --ink: #1f2328; --faint: #656d76; --data: #d0d7de; --pad: #ffffff;
  --edge: #8c959f; --window: #0969da; --crop: #cf222e; }
@media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --ink: #e6edf3; --faint: #8d96a0;
  --data: #30363d; --pad: #0d1117; --edge: #6e7681; --window: #58a6ff; --crop: #ff7b72; } }
.paper { fill: var(--paper); }
text { fill: var(--ink); font: 13px ui-sans-serif, system-ui, "DejaVu Sans", sans-serif; }
.title { font-size: 16px; font-weight: 600; }
.label { font-weight: 700; }
.faint, .number { fill: var(--faint); }
.number { font-size: 10px; }
.data, .appended { fill: var(--data); stroke: var(--paper); }
.appended { stroke: var(--window); }
.padding, .cropped { fill: var(--pad); stroke: var(--edge); stroke-dasharray: 3 2; }
.cropped { stroke: var(--crop); }
.bar { stroke: var(--window); stroke-width: 2; }
.tap { fill: var(--window); }
.taps { stroke: var(--window); stroke-linecap: round; }
"""


def explain_svg(explanation: ExplainReport) -> str:
    """A picture of the windows over the padded axis, a row for each group of conventions."""
    found = None
    for cells in _CELLS:
        found = found or drawing(explanation, cells, _LINES)
    body: list[str] = []
    title = question_text(explanation)
    if found is not None and len(explanation.size) > 1:
        title += f" (axis {found.axis})"
    height = _MARGIN + _LINE
    body.append(text_svg(_MARGIN, height, title, "title"))
    if explanation.about is not None:
        height += _LINE
        body.append(text_svg(_MARGIN, height, shown(explanation.about.node), "faint"))
    height += _GAP
    if found is None:
        body.append(text_svg(_MARGIN, height, "The windows are too long to draw."))
    else:
        for row in found.rows:
            height = _row(found, row, _text(explanation, row), height, body)
        height = _legend(found, height, body)
    height += _MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" role="img">'
    )
    return "\n".join(
        (
            head,
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{height}"/>',
            *body,
            "</svg>\n",
        )
    )


def _text(explanation: ExplainReport, row: DrawnRow) -> str:
    """The convention of a row in words."""
    outputs = counted(row.axis.output, "output")
    if row.transposed:
        return f"keeps {outputs} from {row.axis.begin} on"
    before = f"{row.axis.begin} before" if row.axis.begin else "with"
    told = f"{outputs}; the first window starts {before} the data"
    if explanation.op == "avgpool":
        told += f"; averages divide by {divides_by(explanation.answer(row.names[0]))}"
    return told


def _row(found: Drawing, row: DrawnRow, told: str, height: int, body: list[str]) -> int:
    """Adds a row to the picture; returns where the next one begins."""
    body.append(text_svg(_MARGIN, height, row.label, "label"))
    left = _MARGIN + 10 + 9 * len(row.label)
    names = textwrap.wrap(", ".join(row.names), _NAMES, break_on_hyphens=False)
    for line in names:
        body.append(text_svg(left, height, line))
        height += _LINE
    body.append(text_svg(left, height, told, "faint"))
    height += 10
    body += axis_svg(row, AxisPlace(found.columns, _cell(found), _MARGIN), height)
    return height + axis_height(row) + _GAP


def _legend(found: Drawing, height: int, body: list[str]) -> int:
    kinds = {row.kind(p) for row in found.rows for p in found.columns if p is not None}
    names = {
        "data": "kept" if found.transposed else "data",
        "padding": "padding",
        "cropped": "cropped",
        "appended": "appended",
    }
    x = _MARGIN
    for kind, name in names.items():
        if kind in kinds:
            body.append(
                f'<rect class="{kind}" x="{x + 0.5:g}" y="{height - 12.5:g}" width="15" '
                'height="15"/>'
            )
            body.append(text_svg(x + 22, height, name, "faint"))
            x += 50 + 8 * len(name)
    body.append(f'<line class="bar" x1="{x}" y1="{height - 5}" x2="{x + 24}" y2="{height - 5}"/>')
    taps = (x, x + 12, x + 24)
    body += (f'<circle class="tap" cx="{tap}" cy="{height - 5}" r="4"/>' for tap in taps)
    said = "what an input writes" if found.transposed else "a window and what it reads"
    body.append(text_svg(x + 34, height, said, "faint"))
    if found.left_out:
        height += _LINE
        body.append(
            text_svg(_MARGIN, height, f"and {counted(found.left_out, 'group')} more", "faint")
        )
    return height


def _cell(found: Drawing) -> float:
    return min(20.0, (_WIDTH - 2 * _MARGIN) / len(found.columns))
