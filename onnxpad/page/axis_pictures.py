"""Windows over padded axes as pictures: for each padding a row of cells, and bars below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onnxpad.arithmetic.size import Size, evaluate
from onnxpad.arithmetic.window import Window, axis_names, pool_output_size, transposed_output_size
from onnxpad.errors import and_list
from onnxpad.finding import Change
from onnxpad.frameworks.conventions.question import Answer, AxisAnswer
from onnxpad.inventory import PaddingSite
from onnxpad.page.markup import Html, el, esc, join
from onnxpad.report.documents import Picture
from onnxpad.report.text import grouped, shown
from onnxpad.report.window_drawing import Columns, Windows, drawn_axes, kind

_CELLS = (32, 64, 128)
_WIDTH = 640
_EDGE = 4
_LANE = 13
_CELL = 20
_LABEL = 16
_SIZES, _EXAMPLES = 256, 2
"""Open sizes that are looked at, and those that are drawn, for example."""
_Axes = Iterator[tuple[str, str, AxisAnswer]]
"""Axes by name, each with the size for which it is told, if that is open."""


def axis_pictures(picture: Picture) -> Html:
    """A picture for each axis that is padded, those alike in one."""
    axes: dict[str, dict[str, AxisAnswer]] = {}
    places = [each() if callable(each) else each for each in picture.subject.values()]
    for label, subject in zip(picture.subject, places, strict=True):
        for name, size, axis in _axes(subject):
            axes.setdefault(name, {})[", ".join(filter(None, (label, size)))] = axis
    transposed = picture.transposed or any(getattr(e, "kind", "") == "transposed" for e in places)
    alike = grouped(axes.items(), lambda each: (*each[1].items(),))
    told = (
        _figure(and_list(name for name, _ in some), some[0][1], transposed=transposed)
        for some in alike
    )
    return join(told)


def _axes(subject: object) -> _Axes:
    match subject:
        case Change():
            return _proved(subject)
        case PaddingSite():
            return _of_site(subject)
        case Answer():
            names = axis_names(len(subject.axes))
            return ((name, "", axis) for name, axis in zip(names, subject.axes, strict=True))
    return iter(())


def _proved(change: Change) -> _Axes:
    """The axes of a certificate at their sizes; at some, for example, where these are open."""
    axes: Any = change.certificate.facts.get("axes") or ()
    for axis in axes:
        cases = axis.get("cases")
        rows = cases["rows"][:_EXAMPLES] if isinstance(cases, Mapping) else [axis]
        for row in rows:
            told = axis.get("kernel"), row["size"], row["start"], row["windows"]
            if all(isinstance(each, int) for each in told):
                window = Window(axis["kernel"], axis["stride"], axis["dilation"])
                size, start, windows = told[1:]
                end = start + (windows - 1) * window.stride + window.extent - size
                answer = AxisAnswer(size, window, -start, max(end, 0), windows)
                yield f"axis {axis['axis']}", f"size {size}" * (row is not axis), answer


def _of_site(site: PaddingSite) -> _Axes:
    """The axes whose sizes and padding are known, or at least are formulas."""
    for axis, window in zip(site.axes, site.windows, strict=False):
        numbers = axis.extent, *axis.pair
        symbols = {each for e in numbers if isinstance(e, Size) for each in e.symbols}
        known = all(isinstance(each, int | Size) for each in numbers)
        found: dict[tuple[int, int], int] = {}
        for step in range(_SIZES if symbols else 1) if known and isinstance(window, Window) else ():
            at = {each.name: each.sizes.value(min(step, each.sizes.count - 1)) for each in symbols}
            size, begin, end = (evaluate(each, at) for each in numbers)
            if size >= 2 * window.extent or not symbols:
                found.setdefault((begin, end), size)
        for (begin, end), size in [*found.items()][:_EXAMPLES]:
            if site.kind == "transposed":
                output = transposed_output_size(size, window, begin, end)
            else:
                ceil = site.read("ceil_mode", False)
                output = pool_output_size(size, window, begin, end, ceil_mode=ceil)
            answer = AxisAnswer(size, window, begin, end, output)
            yield axis.name, f"size {size}" * bool(symbols), answer


def _figure(which: str, ways: Mapping[str, AxisAnswer], *, transposed: bool) -> Html:
    """The picture of an axis, with how far its windows reach."""
    rows = [
        (", ".join(filter(None, (label for label, _ in some))), some[0][1])
        for some in grouped(ways.items(), lambda each: each[1])
    ]
    window, verb = rows[0][1].window, "cropped" if transposed else "padded"
    padded = (f"{verb} {e.begin} before and {e.end} after, output {e.output}" for _, e in rows)
    names = [f"{shown(label)}: " * (len(rows) > 1) for label, _ in rows]
    said = [f"{name}{text}" for name, text in zip(names, padded, strict=True)]
    sizes = " or ".join(dict.fromkeys(str(axis.size) for _, axis in rows))
    caption = f"{which}: size {sizes}, kernel {window.kernel}, stride {window.stride}, "
    caption += f"dilation {window.dilation}" + f"; {said[0]}" * (len(said) == 1)
    axes = [axis for _, axis in rows]
    drawn = (drawn_axes(axes, cells, transposed=transposed) for cells in _CELLS)
    found = next(filter(None, drawn), None)
    if found is None or any(axis.output < 1 for axis in axes):
        return el("p", esc("; ".join([caption, *said[1:]])), class_="faint")
    columns, windows = found
    cell, y, shapes = min(20.0, (_WIDTH - 2 * _EDGE) / len(columns)), 0, list[str]()
    for text, axis, slides in zip(said, axes, windows, strict=True):
        if len(rows) > 1:
            y += _LABEL
            shapes.append(f'<text x="{_EDGE}" y="{y - 4}">{esc(text)}</text>')
        shapes += _shapes(axis, columns, slides, cell, y, transposed=transposed)
        y += _CELL + _LANE * (1 + max((lane for lane, _ in slides), default=0)) + 4
    wide = f"{max(2 * _EDGE + cell * len(columns), 6 * max(map(len, said)) * (len(rows) > 1)):g}"
    told = el("title", esc(f"Windows over {which}")), el("desc", esc("; ".join([caption, *said])))
    box = {"viewBox": f"0 0 {wide} {y}", "width": wide, "height": str(y)}
    picture = el("svg", *told, Html("".join(shapes)), role="img", **box)
    return el("figure", el("figcaption", esc(caption)), picture)


def _shapes(
    axis: AxisAnswer, columns: Columns, windows: Windows, cell: float, top: int, *, transposed: bool
) -> Iterator[str]:
    """The elements of a row: all cells of a kind are one path, as are all windows."""
    kinds = dict[str, str]()
    middles = {at: f"{_EDGE + (place + 0.5) * cell:g}" for place, at in enumerate(columns)}
    fits = not transposed and len(str(axis.size)) * 6.5 <= cell
    named = {None, 0, axis.size - 1} if fits else {None}
    for place, at in enumerate(columns):
        of = "nothing" if at is None else kind(axis, at, transposed=transposed)
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
