"""Windows over a padded axis as pictures: a row of cells, and lines below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onnxpad.arithmetic.window import Window, output_size
from onnxpad.finding import Change
from onnxpad.frameworks.conventions.question import AxisAnswer
from onnxpad.inventory import PaddingSite, known_number
from onnxpad.page.markup import Html, el, esc, join
from onnxpad.report.text import counted, grouped
from onnxpad.report.window_drawing import Columns, Windows, drawn_axes, kind

_CELLS = (32, 64, 128)
_WIDTH = 640
_EDGE = 4
_LANE = 13
_CELL = 20


def axis_pictures(subject: object) -> Html:
    """Pictures of the axes of a change or of the place of a padding, those alike drawn once."""
    found = _proved(subject) if isinstance(subject, Change) else _of_site(subject)
    alike = grouped(found, lambda each: each[1])
    return join(_figure(" and ".join(name for name, _ in group), group[0][1]) for group in alike)


def _proved(change: Change) -> Iterator[tuple[str, AxisAnswer]]:
    """The axes of a certificate at their sizes; at one, for example, where that is open."""
    axes: Any = change.certificate.facts.get("axes") or ()
    for axis in axes:
        cases = axis.get("cases")
        row = cases["rows"][0] if isinstance(cases, Mapping) else axis
        told = (axis.get("kernel"), row["size"], row["start"], row["windows"])
        if all(isinstance(each, int) for each in told):
            window = Window(axis["kernel"], axis["stride"], axis["dilation"])
            size, start, windows = told[1:]
            end = start + (windows - 1) * window.stride + window.extent - size
            yield f"axis {axis['axis']}", AxisAnswer(size, window, -start, max(end, 0), windows)


def _of_site(site: object) -> Iterator[tuple[str, AxisAnswer]]:
    """The axes whose sizes and padding are known; none of transposed convolutions."""
    if not isinstance(site, PaddingSite) or site.kind != "window" or site.read("ceil_mode"):
        return
    for axis, window in zip(site.axes, site.windows, strict=False):
        size, begin, end = map(known_number, (axis.extent, *axis.pair))
        if isinstance(window, Window) and not (size is None or begin is None or end is None):
            count = output_size(size, window, begin, end)
            if count:
                yield axis.name, AxisAnswer(size, window, begin, end, count)


def _figure(which: str, axis: AxisAnswer) -> Html:
    """The picture of an axis, with how far its windows reach."""
    found = next((each for cells in _CELLS if (each := drawn_axes([axis], cells))), None)
    window = axis.window
    said = (
        f"{which}: {counted(axis.size, 'element')}, {counted(axis.output, 'window')} of "
        f"{window.kernel}, stride {window.stride}, dilation {window.dilation}; padded {axis.begin} "
        f"before and {axis.end} after"
    )
    if found is None or axis.output < 1:
        return el("p", esc(f"{said}."), class_="faint")
    columns, (windows,) = found
    cell = min(20.0, (_WIDTH - 2 * _EDGE) / len(columns))
    lanes = 1 + max((lane for lane, _ in windows), default=0)
    wide, high = f"{2 * _EDGE + cell * len(columns):g}", str(_CELL + lanes * _LANE + 4)
    told = el("title", esc(f"Windows over {which}")), el("desc", esc(said))
    shapes = Html("".join(_shapes(axis, columns, windows, cell)))
    box = {"viewBox": f"0 0 {wide} {high}", "width": wide, "height": high}
    picture = el("svg", *told, shapes, role="img", **box)
    return el("figure", el("figcaption", esc(said)), picture)


def _shapes(axis: AxisAnswer, columns: Columns, windows: Windows, cell: float) -> Iterator[str]:
    """The elements of a picture: all cells of a kind are one path, as are all windows."""
    kinds = dict[str, str]()
    middles = {at: f"{_EDGE + (place + 0.5) * cell:g}" for place, at in enumerate(columns)}
    named = {None, 0, axis.size - 1} if len(str(axis.size)) * 6.5 <= cell else {None}
    for place, at in enumerate(columns):
        if at is not None and (of := kind(axis, at)) != "nothing":
            x, wide = _EDGE + place * cell + 0.5, f"{max(cell - 1, 1):g}"
            kinds[of] = f"{kinds.get(of, '')}M{x:g} 1.5h{wide}v{_CELL - 1}h-{wide}z"
    yield from (f'<path class="{of}" d="{path}"/>' for of, path in kinds.items())
    for at in filter(named.__contains__, columns):
        where = f'x="{middles[at]}" y="{_CELL - 5}" text-anchor="middle"'
        yield f"<text {where}>{'…' if at is None else at}</text>"
    bars = taps = ""  # taps are the round ends of lines without length
    for lane, read in windows:
        y = _CELL + 9 + lane * _LANE
        bars += f"M{middles[read[0]]} {y}H{middles[read[-1]]}"
        taps += "".join(f"M{middles[tap]} {y}h0" for tap in read)
    yield f'<path class="bar" d="{bars}"/>'
    yield f'<path class="taps" stroke-width="{min(8, cell):g}" d="{taps}"/>'
