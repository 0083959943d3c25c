"""Windows over a padded axis as pictures: a row of cells, and lines below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import AxisAnswer
from onnxpad.page.markup import Html, el, esc, join
from onnxpad.report.text import counted
from onnxpad.report.window_drawing import DrawnRow, one_axis

_CELLS = (32, 64, 128)
_WIDTH = 640
_EDGE = 4
_LANE = 13
_CELL = 20


def axis_pictures(facts: Mapping[str, object]) -> Html:
    """Pictures of the windows of a certificate; axes that are alike are drawn once."""
    axes = facts.get("axes")
    groups: dict[tuple[str, AxisAnswer], list[str]] = {}
    for axis in axes if isinstance(axes, Sequence) else ():
        if drawn := _drawn(axis):
            groups.setdefault(drawn, []).append(str(axis["axis"]))
    return join(
        _figure(
            f"axis {numbers[0]}" if len(numbers) == 1 else f"axes {' and '.join(numbers)}",
            axis,
            f"they reach {axis.begin} before the data and {axis.end} past it",
            said,
        )
        for (said, axis), numbers in groups.items()
    )


def axis_picture(name: str, axis: AxisAnswer) -> Html:
    """A picture of the windows over one axis, which pads as much as it says."""
    return _figure(name, axis, f"padded {axis.begin} before and {axis.end} after")


def _drawn(axis: Mapping[str, Any]) -> tuple[str, AxisAnswer] | None:
    """The axis at its size, or at one of an open size, which is told; None if none is known."""
    cases = axis.get("cases")
    said, row = "", axis
    if isinstance(cases, Mapping):
        said, row = f" of the open size {str(axis['size'])!r}, for example", cases["rows"][0]
    told = (axis.get("kernel"), row["size"], row["start"], row["windows"])
    if not all(isinstance(each, int) for each in told):
        return None
    window = Window(axis["kernel"], axis["stride"], axis["dilation"])
    size, start, windows = row["size"], row["start"], row["windows"]
    end = start + (windows - 1) * window.stride + window.extent - size
    return said, AxisAnswer(size, window, -start, max(end, 0), windows)


def _figure(which: str, axis: AxisAnswer, padded: str, example: str = "") -> Html:
    """The picture of an axis, with how far its windows reach or how it is padded."""
    found = next((each for cells in _CELLS if (each := one_axis(axis, cells))), None)
    window = axis.window
    stride = f", stride {window.stride}" if window.stride > 1 else ""
    dilation = f", dilation {window.dilation}" if window.dilation > 1 else ""
    said = (
        f"{which[:1].upper()}{which[1:]}{example}: {counted(axis.size, 'element')}, "
        f"{counted(axis.output, 'window')} of {window.kernel}{stride}{dilation}; {padded}"
    )
    if found is None or axis.output < 1:
        return el("p", esc(f"{said}."), class_="faint")
    columns, row = found
    cell = min(20.0, (_WIDTH - 2 * _EDGE) / len(columns))
    lanes = 1 + max((lane for lane, _ in row.windows), default=0)
    width, height = f"{2 * _EDGE + cell * len(columns):g}", str(_CELL + lanes * _LANE + 4)
    picture = el(
        "svg",
        el("title", esc(f"Windows over {which}")),
        el("desc", esc(said)),
        Html("".join(_shapes(row, columns, cell))),
        role="img",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
    )
    return el("figure", el("figcaption", esc(said)), picture)


def _shapes(row: DrawnRow, columns: Sequence[int | None], cell: float) -> Iterator[str]:
    """The elements of a picture: all cells of a kind are one path, as are all windows."""
    kinds: dict[str, str] = {}
    texts: list[str] = []
    real = [at for at in columns if at is not None and row.kind(at) == "data"]
    ends = {*real[:1], *real[-1:]} if real and len(str(real[-1])) * 6.5 <= cell else set()
    for place, at in enumerate(columns):
        x, middle = _EDGE + place * cell, _EDGE + (place + 0.5) * cell
        if at is None or at in ends:
            kind, text = ("faint", "…") if at is None else ("number", str(at))
            where = f'x="{middle:g}" y="{_CELL - 5}" class="{kind}" text-anchor="middle"'
            texts.append(f"<text {where}>{text}</text>")
        if at is not None and (kind := row.kind(at)) != "nothing":
            wide, high = max(cell - 1, 1), _CELL - 1
            path = f"M{x + 0.5:g} 1.5h{wide:g}v{high}h-{wide:g}z"
            kinds[kind] = kinds.get(kind, "") + path
    yield from (f'<path class="{kind}" d="{path}"/>' for kind, path in kinds.items())
    yield from texts
    bars = taps = ""  # taps are the round ends of lines without length
    for lane, read in row.windows:
        y = _CELL + 9 + lane * _LANE
        middles = [f"{_EDGE + (columns.index(tap) + 0.5) * cell:g}" for tap in read]
        bars += f"M{middles[0]} {y}H{middles[-1]}"
        taps += "".join(f"M{middle} {y}h0" for middle in middles)
    yield f'<path class="bar" d="{bars}"/>'
    yield f'<path class="taps" stroke-width="{min(8, cell):g}" d="{taps}"/>'
