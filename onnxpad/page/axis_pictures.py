"""Windows over a padded axis as pictures; of an open size one for each of some remainders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import AxisAnswer
from onnxpad.page.markup import NOTHING, Html, el, esc, join, paragraph
from onnxpad.report.axis_svg import AxisPlace, axis_height, axis_svg
from onnxpad.report.text import counted
from onnxpad.report.window_drawing import one_axis

_CELLS = (32, 64, 128)
_WIDTH = 640
_EDGE = 4
_PICTURES = 4


def axis_pictures(facts: Mapping[str, object]) -> Html:
    """Pictures of the windows of a certificate; axes that are alike are drawn once."""
    axes = facts.get("axes")
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for axis in axes if isinstance(axes, Sequence) else ():
        groups.setdefault(repr(_without_names(axis)), []).append(axis)
    return join(_pictures(group) for group in groups.values())


def legend() -> Html:
    """The meaning of the colours in pictures of axes."""
    keys = (("data", "data"), ("padding", "padding"))
    items = [
        el("li", _key(f'<rect class="{kind}" x="1" y="1" width="16" height="16"/>', 18), esc(name))
        for kind, name in keys
    ]
    taps = "".join(f'<circle class="tap" cx="{x}" cy="9" r="4"/>' for x in (5, 17, 29))
    bar = f'<line class="bar" x1="5" y1="9" x2="29" y2="9"/>{taps}'
    items.append(el("li", _key(bar, 34), esc("a window, and what it reads")))
    return el("ul", *items, class_="legend", aria_label="In the pictures")


def _key(shape: str, width: int) -> Html:
    box = f"0 0 {width} 18"
    return el("svg", Html(shape), aria_hidden="true", viewBox=box, width=width, height=18)


def _without_names(axis: Mapping[str, Any]) -> dict[str, object]:
    """The facts of an axis from which it is drawn."""
    cases = axis.get("cases")
    if isinstance(cases, Mapping):
        kept = {key: cases[key] for key in ("modulus", "rows")}
        return {**{key: axis[key] for key in ("kernel", "stride", "dilation")}, "cases": kept}
    return {key: value for key, value in axis.items() if key != "axis"}


def _pictures(axes: Sequence[Mapping[str, Any]]) -> Html:
    first = axes[0]
    numbers = [str(axis["axis"]) for axis in axes]
    which = f"axis {numbers[0]}" if len(axes) == 1 else f"axes {' and '.join(numbers)}"
    drawn = _drawn(first)
    if not drawn:
        return NOTHING
    pictures = [_figure(which, each, remainder) for remainder, each in drawn[:_PICTURES]]
    if not isinstance(first.get("cases"), Mapping):
        return join(pictures)
    sizes = " and ".join(dict.fromkeys(repr(str(axis["size"])) for axis in axes))
    said = paragraph(f"The size of {which} is open: {sizes}.", "faint")
    return join([said, *pictures])


def _drawn(axis: Mapping[str, Any]) -> list[tuple[str, AxisAnswer]]:
    """The axis at its size, or at one size for each remainder, which is told in words.

    Empty if that is not known.
    """
    kernel, cases = axis.get("kernel"), axis.get("cases")
    if not isinstance(kernel, int):
        return []
    window = Window(kernel, axis["stride"], axis["dilation"])
    if not isinstance(cases, Mapping):
        numbers = axis["size"], axis["start"], axis["windows"]
        rows = [("", *numbers)] if all(isinstance(each, int) for each in numbers) else []
    else:
        name, modulus = str(cases["of"]) or "size", int(cases["modulus"])
        rows = [
            (
                f"{name} mod {modulus} is {row['at'] % modulus}, for example"
                if modulus > 1
                else "the same at every size, for example",
                row["size"],
                row["start"],
                row["windows"],
            )
            for row in cases["rows"]
        ]
    return [
        (said, AxisAnswer(size, window, -start, max(end, 0), windows))
        for said, size, start, windows in rows
        if (end := start + (windows - 1) * window.stride + window.extent - size) is not None
    ]


def axis_picture(name: str, axis: AxisAnswer) -> Html:
    """A picture of the windows over one axis, which pads as much as it says."""
    return _figure(name, axis, padded=f"padded {axis.begin} before and {axis.end} after")


def _figure(which: str, axis: AxisAnswer, remainder: str = "", padded: str = "") -> Html:
    """The picture of an axis; unless it is told how it is padded, how far its windows reach."""
    padded = padded or f"they reach {axis.begin} before the data and {axis.end} past it"
    found = next((each for cells in _CELLS if (each := one_axis(axis, cells))), None)
    window = axis.window
    stride = f", stride {window.stride}" if window.stride > 1 else ""
    dilation = f", dilation {window.dilation}" if window.dilation > 1 else ""
    when = f": {remainder}" if remainder else ""
    said = (
        f"{which[:1].upper()}{which[1:]}{when or ':'} {counted(axis.size, 'element')}, "
        f"{counted(axis.output, 'window')} of {window.kernel}{stride}{dilation}; {padded}"
    )
    if found is None or axis.output < 1:
        return el("p", esc(f"{said}."), class_="faint")
    columns, row = found
    cell = min(20.0, (_WIDTH - 2 * _EDGE) / len(columns))
    width, height = 2 * _EDGE + cell * len(columns), axis_height(row) + 4
    picture = el(
        "svg",
        el("title", esc(f"Windows over {which}")),
        el("desc", esc(said)),
        Html("".join(axis_svg(row, AxisPlace(columns, cell, _EDGE), 1))),
        role="img",
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
    )
    return el("figure", el("figcaption", esc(said)), picture)
