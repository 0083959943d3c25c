"""One padded axis and the windows over it, as SVG: a row of cells, and lines below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from msgspec import Struct

from onnxpad.report.window_drawing import DrawnRow, DrawnWindow, Kind

LANE = 13
CELL = 20
_WIDE = 12


class AxisPlace(Struct, frozen=True):
    """Where an axis is drawn.

    Attributes:
        columns: The position in each column; None for the column that stands for the middle.
        cell: Width of a column.
        left: Left edge of the first column.
    """

    columns: Sequence[int | None]
    cell: float
    left: float

    def middle(self, position: int) -> float:
        """The middle of the column of a position."""
        return self.left + (self.columns.index(position) + 0.5) * self.cell


def axis_svg(row: DrawnRow, place: AxisPlace, top: float) -> Iterator[str]:
    """The elements of an axis, and the windows over it; `axis_height` says how high that is.

    All cells of a kind are one path, as are all windows, which keeps pages small.
    """
    cells: dict[Kind, list[str]] = {}
    for kind, first, count in _runs(row, place):
        x = place.left + first * place.cell
        if kind is None:
            yield text_svg(x + place.cell / 2, top + CELL - 6, "…", "faint", "middle")
        elif kind != "nothing":
            width, high = max(count * place.cell - 1, 1), CELL - 1
            path = f"M{x + 0.5:g} {top + 0.5:g}h{width:g}v{high}h-{width:g}z"
            cells.setdefault(kind, []).append(path)
    for kind, paths in cells.items():
        yield f'<path class="{kind}" d="{"".join(paths)}"/>'
    for position in _numbered(row, place):
        middle = place.middle(position)
        yield text_svg(middle, top + CELL - 6, str(position), "number", "middle")
    if row.windows:
        yield from _windows(row.windows, place, top + CELL + 8)


def axis_height(row: DrawnRow) -> int:
    """Height of an axis with its windows."""
    lanes = 1 + max((lane for lane, _ in row.windows), default=0)
    return CELL + lanes * LANE


def text_svg(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    """A line of text."""
    kind = f' class="{kind}"' if kind else ""
    anchor = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:g}" y="{y:g}"{kind}{anchor}>{escape(text)}</text>'


def _runs(row: DrawnRow, place: AxisPlace) -> Iterator[tuple[Kind | None, int, int]]:
    """Kind, first column and length of what is drawn as one: narrow cells of a kind, or a cell."""
    kinds = [None if p is None else row.kind(p) for p in place.columns]
    start = 0
    for index, kind in enumerate(kinds):
        following = kinds[index + 1] if index + 1 < len(kinds) else None
        if kind is None or kind != following or place.cell >= _WIDE:
            yield kind, start, index + 1 - start
            start = index + 1


def _windows(windows: Sequence[DrawnWindow], place: AxisPlace, top: float) -> Iterator[str]:
    """All bars, and on them the elements that are read: round ends of lines without length."""
    bars, taps = [], []
    for lane, read in windows:
        y = f"{top + lane * LANE:g}"
        middles = [place.middle(tap) for tap in read]
        bars.append(f"M{middles[0]:g} {y}H{middles[-1]:g}")
        taps += [f"M{middle:g} {y}h0" for middle in middles]
    width = min(8, place.cell)
    yield f'<path class="bar" d="{"".join(bars)}"/>'
    yield f'<path class="taps" stroke-width="{width:g}" d="{"".join(taps)}"/>'


def _numbered(row: DrawnRow, place: AxisPlace) -> list[int]:
    """The positions whose number is shown: the first and the last of the data, if it fits."""
    real = [p for p in place.columns if p is not None and row.kind(p) == "data"]
    if not real or len(str(real[-1])) * 6.5 > place.cell:
        return []
    return sorted({real[0], real[-1]})
