"""Windows over padded axes as pictures: for each padding a row of cells, and bars below it."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.frameworks.conventions.question import AxisAnswer
from onnxpad.page.markup import Html, el, esc, join
from onnxpad.report.documents import Picture
from onnxpad.report.window_drawing import Columns, Rows, Windows, drawn_axes, figures, kind

_CELLS = (32, 64, 128)
_WIDTH = 640
_EDGE = 4
_LANE = 13
_CELL = 20
_LABEL = 16


def axis_pictures(picture: Picture) -> Html:
    """A picture for each axis that is padded, those alike in one."""
    return join(_figure(*each) for each in figures(picture))


def _figure(caption: str, rows: Rows, transposed: bool) -> Html:
    """The picture of an axis, with how far its windows reach."""
    axes = [axis for _, axis in rows]
    drawn = (drawn_axes(axes, cells, transposed=transposed) for cells in _CELLS)
    found = next(filter(None, drawn), None)
    whole = esc("; ".join([caption, *(said for said, _ in rows)]))
    if found is None:
        return el("p", whole, class_="faint")
    columns, slides = found
    cell, y, shapes = min(20.0, (_WIDTH - 2 * _EDGE) / len(columns)), 0, list[str]()
    for (said, axis), windows in zip(rows, slides, strict=True):
        y += _LABEL
        shapes.append(f'<text x="{_EDGE}" y="{y - 4}">{esc(said)}</text>')
        shapes += _shapes(axis, columns, windows, cell, y, transposed=transposed)
        y += _CELL + _LANE * (1 + max((lane for lane, _ in windows), default=0)) + 4
    wide = f"{max(2 * _EDGE + cell * len(columns), *(6.5 * len(said) for said, _ in rows)):g}"
    box = {"viewBox": f"0 0 {wide} {y}", "width": wide, "height": str(y)}
    told = el("title", esc(caption)), el("desc", whole), Html("".join(shapes))
    return el("figure", el("figcaption", esc(caption)), el("svg", *told, role="img", **box))


def _shapes(
    axis: AxisAnswer, columns: Columns, windows: Windows, cell: float, top: int, *, transposed: bool
) -> Iterator[str]:
    """The elements of a row: all cells of a kind are one path, as are all windows."""
    kinds = dict[str, str]()
    middles = {at: f"{_EDGE + (place + 0.5) * cell:g}" for place, at in enumerate(columns)}
    fits = not transposed and len(str(axis.size)) * 6.5 <= cell
    named = {None, 0, axis.size - 1} if fits else {None}
    for place, at in enumerate(columns):
        of = kind(axis, at, transposed=transposed)
        if of != "nothing":
            x, wide = _EDGE + place * cell + 0.5, f"{max(cell - 1, 1):g}"
            kinds[of] = f"{kinds.get(of, '')}M{x:g} {top + 1.5}h{wide}v{_CELL - 1}h-{wide}z"
    yield from (f'<path class="{of}" d="{path}"/>' for of, path in kinds.items())
    for at in filter(named.__contains__, columns):
        where = f'x="{middles[at]}" y="{top + _CELL - 5}" text-anchor="middle"'
        yield f"<text {where}>{'…' if at is None else at}</text>"
    bars = taps = ""  # taps are the round ends of lines without length
    for lane, read in windows:
        y = top + _CELL + 9 + lane * _LANE
        bars += f"M{middles[read[0]]} {y}H{middles[read[-1]]}"
        taps += "".join(f"M{middles[tap]} {y}h0" for tap in read)
    yield f'<path class="bar" d="{bars}"/>'
    yield f'<path class="taps" stroke-width="{min(8, cell):g}" d="{taps}"/>'
