"""The report of `explain` as a picture: windows over the padded axis, a row for each group.

The picture needs nothing outside itself, and follows the reader's light or dark colours.
"""

import textwrap
from collections.abc import Iterator
from typing import Final
from xml.sax.saxutils import escape

from onnxpad.conventions.explanation import Explanation
from onnxpad.report.explain_text import divides_by, question_text
from onnxpad.report.text import counted, shown
from onnxpad.report.window_drawing import (
    WIDEST,
    Drawing,
    DrawnRow,
    DrawnWindow,
    Kind,
    drawing,
)

_WIDTH: Final = 920
_MARGIN: Final = 30
_CELLS: Final = (42, 84, 172, WIDEST)
_LINES: Final = 60
_NAMES: Final = 110
_WIDE: Final = 12
_LINE, _LANE, _CELL, _GAP = 18, 13, 20, 26

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
"""


def explain_svg(explanation: Explanation) -> str:
    """A picture of the windows over the padded axis, a row for each group of conventions."""
    found = None
    for cells in _CELLS:
        found = found or drawing(explanation, cells, _LINES)
    body: list[str] = []
    title = question_text(explanation)
    if found is not None and len(explanation.size) > 1:
        title += f" (axis {found.axis})"
    height = _MARGIN + _LINE
    body.append(_text(_MARGIN, height, title, "title"))
    if explanation.about is not None:
        height += _LINE
        body.append(_text(_MARGIN, height, shown(explanation.about.node), "faint"))
    height += _GAP
    if found is None:
        body.append(_text(_MARGIN, height, "The windows are too long to draw."))
    else:
        for row in found.rows:
            height = _row(found, row, _told(explanation, row), height, body)
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


def _told(explanation: Explanation, row: DrawnRow) -> str:
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
    body.append(_text(_MARGIN, height, row.label, "label"))
    left = _MARGIN + 10 + 9 * len(row.label)
    names = textwrap.wrap(", ".join(row.names), _NAMES, break_on_hyphens=False)
    for line in names:
        body.append(_text(left, height, line))
        height += _LINE
    body.append(_text(left, height, told, "faint"))
    height += 10
    width = _cell(found)
    for kind, first, count in _runs(found, row):
        x = _MARGIN + first * width
        if kind is None:
            body.append(_text(x + width / 2, height + _CELL - 6, "…", "faint", "middle"))
        elif kind != "nothing":
            body.append(
                f'<rect class="{kind}" x="{x + 0.5:g}" y="{height + 0.5:g}" '
                f'width="{max(count * width - 1, 1):g}" height="{_CELL - 1}"/>'
            )
    for position in _numbered(found, row):
        x = _MARGIN + (found.columns.index(position) + 0.5) * width
        body.append(_text(x, height + _CELL - 6, str(position), "number", "middle"))
    height += _CELL
    for window in row.windows:
        body += _window(found, window, height + 8 + window.lane * _LANE)
    lanes = 1 + max((window.lane for window in row.windows), default=0)
    return height + lanes * _LANE + _GAP


def _runs(found: Drawing, row: DrawnRow) -> Iterator[tuple[Kind | None, int, int]]:
    """Kind, first column and length of what is drawn as one: narrow cells of a kind, or a cell."""
    kinds = [None if p is None else row.kind(p) for p in found.columns]
    start = 0
    for place, kind in enumerate(kinds):
        following = kinds[place + 1] if place + 1 < len(kinds) else None
        if kind is None or kind != following or _cell(found) >= _WIDE:
            yield kind, start, place + 1 - start
            start = place + 1


def _window(found: Drawing, window: DrawnWindow, y: int) -> Iterator[str]:
    width = _cell(found)
    places = [_MARGIN + (found.columns.index(tap) + 0.5) * width for tap in window.taps]
    yield f'<line class="bar" x1="{places[0]:g}" y1="{y}" x2="{places[-1]:g}" y2="{y}"/>'
    radius = min(4, width / 2)
    for place in places:
        yield f'<circle class="tap" cx="{place:g}" cy="{y}" r="{radius:g}"/>'


def _numbered(found: Drawing, row: DrawnRow) -> list[int]:
    """The positions whose number is shown: the first and the last of the data, if it fits."""
    real = [p for p in found.columns if p is not None and row.kind(p) == "data"]
    if not real or len(str(real[-1])) * 6.5 > _cell(found):
        return []
    return sorted({real[0], real[-1]})


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
            body.append(_text(x + 22, height, name, "faint"))
            x += 50 + 8 * len(name)
    body.append(f'<line class="bar" x1="{x}" y1="{height - 5}" x2="{x + 24}" y2="{height - 5}"/>')
    taps = (x, x + 12, x + 24)
    body += (f'<circle class="tap" cx="{tap}" cy="{height - 5}" r="4"/>' for tap in taps)
    said = "what an input writes" if found.transposed else "a window and what it reads"
    body.append(_text(x + 34, height, said, "faint"))
    if found.left_out:
        height += _LINE
        body.append(_text(_MARGIN, height, f"and {counted(found.left_out, 'group')} more", "faint"))
    return height


def _cell(found: Drawing) -> float:
    return min(20.0, (_WIDTH - 2 * _MARGIN) / len(found.columns))


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    anchor = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:g}" y="{y:g}"{kind}{anchor}>{escape(text)}</text>'
