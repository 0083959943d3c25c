"""Small graphs as SVG: boxes in layers from top to bottom, with arrows between them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from onnxpad.page.markup import Html, el, esc
from onnxpad.page.pictures.site_graph import Box, Boxes
from onnxpad.records import dataclass
from onnxpad.report.axis_svg import text_svg
from onnxpad.report.text import shown

_WIDTH: Final = 236
_LETTERS: Final = 34
_PADDING, _LINE, _GAP, _BESIDE = 11, 17, 26, 14
_STATES: Final = {"removed": "goes away", "added": "new", "changed": "changed"}


@dataclass(frozen=True, slots=True)
class _Placed:
    """A box with its lines wrapped, and where it stands."""

    box: Box
    lines: tuple[tuple[str, str], ...]
    left: float
    top: float

    @property
    def height(self) -> float:
        return 2 * _PADDING + _LINE * len(self.lines) - 4


def graph_svg(boxes: Boxes, title: str) -> Html:
    """A small graph with a title, and a description in words for those who do not see it."""
    placed, width, height = _laid_out(boxes)
    body: list[str] = []
    for each in placed:
        for index in each.box.above:
            body += _arrow(placed[index], each)
    for each in placed:
        body += _drawn(each)
    return el(
        "svg",
        el("title", esc(title)),
        el("desc", esc(described(boxes))),
        Html("".join(body)),
        role="img",
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
    )


def described(boxes: Boxes) -> str:
    """A small graph in words."""
    return "; ".join(
        ", ".join(
            (
                box.title,
                *box.lines,
                *([_STATES[box.state]] if box.state in _STATES else []),
                *(f"after {boxes[index].title}" for index in box.above),
            )
        )
        for box in boxes
    )


def _laid_out(boxes: Boxes) -> tuple[list[_Placed], float, float]:
    """The boxes with their places, and the size of all."""
    depth: list[int] = []
    for box in boxes:
        depth.append(1 + max((depth[index] for index in box.above), default=-1))
    layers = [[i for i, d in enumerate(depth) if d == each] for each in range(max(depth) + 1)]
    widest = max(map(len, layers))
    width = widest * _WIDTH + (widest - 1) * _BESIDE + 2
    places: dict[int, _Placed] = {}
    top = 1.0
    for layer in layers:
        row = len(layer) * _WIDTH + (len(layer) - 1) * _BESIDE
        left = (width - row) / 2
        for index in layer:
            places[index] = _Placed(boxes[index], _wrapped(boxes[index]), left, top)
            left += _WIDTH + _BESIDE
        top += max(places[index].height for index in layer) + _GAP
    return [places[index] for index in range(len(boxes))], width, top - _GAP + 1


def _wrapped(box: Box) -> tuple[tuple[str, str], ...]:
    """The lines of a box, each with its class."""
    title = shown(box.title)
    title = title if len(title) <= _LETTERS else f"{title[: _LETTERS - 1]}…"
    note = _STATES.get(box.state)
    lines = [(title if note is None else f"{title} ({note})", "strong")]
    for line in box.lines:
        lines += [(each, "small") for each in textwrap.wrap(shown(line), _LETTERS)]
    return tuple(lines)


def _drawn(placed: _Placed) -> Iterator[str]:
    round_ = placed.height / 2 if placed.box.state == "tensor" else 7
    yield (
        f'<rect class="{placed.box.state}" x="{placed.left:g}" y="{placed.top:g}" '
        f'width="{_WIDTH}" height="{placed.height:g}" rx="{round_:g}"/>'
    )
    middle = placed.left + _WIDTH / 2
    for place, (line, kind) in enumerate(placed.lines):
        yield text_svg(middle, placed.top + _PADDING + 11 + place * _LINE, line, kind, "middle")


def _arrow(above: _Placed, below: _Placed) -> Sequence[str]:
    x0, y0 = above.left + _WIDTH / 2, above.top + above.height
    x1, y1 = below.left + _WIDTH / 2, below.top
    bend = (y0 + y1) / 2
    path = f"M{x0:g} {y0:g}C{x0:g} {bend:g} {x1:g} {bend:g} {x1:g} {y1 - 6:g}"
    head = f"M{x1 - 5:g} {y1 - 8:g}L{x1:g} {y1:g}L{x1 + 5:g} {y1 - 8:g}Z"
    return f'<path class="edge" d="{path}"/>', f'<path class="head" d="{head}"/>'
