"""The windows of conventions over one padded axis, laid out in cells for a terminal or a picture.

A long axis loses its middle: conventions differ at the ends only.
"""

from __future__ import annotations

import string
from collections.abc import Hashable, Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from onnxpad.frameworks.conventions.effect import effect
from onnxpad.frameworks.conventions.explanation import ExplainReport
from onnxpad.frameworks.conventions.question import AxisAnswer
from onnxpad.report.text import grouped

Kind: TypeAlias = Literal["data", "padding", "cropped", "appended", "nothing"]
DrawnWindow = tuple[int, range]
"""A line below the axis, from 0 on, and the positions that a window reads, or writes there."""

_MOST_LANES = 4


class DrawnRow(Struct, frozen=True):
    """The axis as some groups of conventions pad it, and windows over it.

    Attributes:
        label: The letters of the groups.
        axis: What they do.
        transposed: Whether the axis is the output, which pads crop.
        windows: The windows that are drawn.
    """

    label: str
    axis: AxisAnswer
    transposed: bool
    windows: tuple[DrawnWindow, ...]

    def kind(self, position: int) -> Kind:
        """The kind of element at a position; those of the data count from 0."""
        axis = self.axis
        if not self.transposed:
            if 0 <= position < axis.size:
                return "data"
            return "padding" if -axis.begin <= position < axis.size + axis.end else "nothing"
        full = full_output(axis)
        if axis.begin <= position < axis.begin + axis.output:
            return "data" if position < full else "appended"
        return "cropped" if 0 <= position < full else "nothing"


class Drawing(Struct, frozen=True):
    """All rows of a drawing, which have their columns in common.

    Attributes:
        axis: The axis that is drawn.
        cell: Characters for each element.
        margin: The column in which the elements begin.
        columns: The position in each column; None for the column that stands for the middle.
        rows: The rows.
        left_out: Groups that are not drawn.
    """

    axis: int
    cell: int
    margin: int
    columns: tuple[int | None, ...]
    rows: tuple[DrawnRow, ...]
    left_out: int


def letter(index: int) -> str:
    """The letter of a group: A to Z, then A1 to Z1 and so on."""
    again, place = divmod(index, 26)
    return string.ascii_uppercase[place] + (str(again) if again else "")


def full_output(axis: AxisAnswer) -> int:
    """The length of a transposed convolution's output before it is cropped."""
    return (axis.size - 1) * axis.window.stride + axis.window.extent


def drawing(explanation: ExplainReport, width: int, lines: int) -> Drawing | None:
    """Lays out the windows along the axis on which most conventions differ.

    Args:
        explanation: What is drawn.
        width: How many characters there are for a line.
        lines: How many lines there are for all rows together.

    Returns:
        The drawing; None if a window is longer than half of the space.
    """
    place = max(range(len(explanation.size)), key=lambda axis: len(_alike(explanation, axis)))
    alike = _alike(explanation, place)
    shown = alike[: max(lines // 2, 1)]
    axes = {
        " ".join(map(letter, group)): explanation.answer(explanation.agree[group[0]][0]).axes[place]
        for group in shown
    }
    margin = max(5, 2 + max(map(len, axes)))
    lanes, transposed = max(lines // len(shown) - 1, 1), explanation.op == "convtranspose"
    for cell in (2, 1):
        if found := drawn_axes(axes, (width - margin) // cell, lanes, transposed=transposed):
            return Drawing(place, cell, margin, *found, len(alike) - len(shown))
    return None


def drawn_axes(
    axes: Mapping[str, AxisAnswer],
    cells: int,
    lanes: int = _MOST_LANES,
    *,
    transposed: bool = False,
) -> tuple[tuple[int | None, ...], tuple[DrawnRow, ...]] | None:
    """The columns and rows of axes, by label; None if a window is too long for the cells."""
    columns = _columns([*axes.values()], cells, transposed=transposed)
    if columns is None:
        return None
    needed = max(_lanes(axis, transposed=transposed) for axis in axes.values())
    lanes = min(_MOST_LANES, lanes, needed)
    return columns, tuple(
        DrawnRow(label, axis, transposed, (*_windows(axis, columns, lanes, transposed=transposed),))
        for label, axis in axes.items()
    )


def _alike(explanation: ExplainReport, place: int) -> list[list[int]]:
    """The groups, by index, that compute the same on one axis."""

    def read(index: int) -> Hashable:
        answer = explanation.answer(explanation.agree[index][0])
        return effect(explanation.op, answer.axes[place], counts=answer.counts)

    return grouped(range(len(explanation.agree)), read)


def _columns(
    answers: list[AxisAnswer], cells: int, *, transposed: bool
) -> tuple[int | None, ...] | None:
    """The positions to show: all, or both ends of them."""
    if transposed:
        first, last = 0, max(max(full_output(a), a.begin + a.output) for a in answers)
        before = max(a.begin for a in answers)
        after = last - min(a.begin + a.output for a in answers)
    else:
        before = max(0, *(a.begin for a in answers))
        ends = [(a.output - 1) * a.window.stride + a.window.extent - a.begin for a in answers]
        size = answers[0].size
        after = max(0, *(a.end for a in answers), *(end - size for end in ends))
        first, last = -before, size + after
    if last - first <= cells:
        return tuple(range(first, last))
    half = (cells - 1) // 2
    extent = max(a.window.extent for a in answers)
    if max(before, after) + extent > half:
        return None
    return (*range(first, first + half), None, *range(last - half, last))


def _lanes(axis: AxisAnswer, *, transposed: bool) -> int:
    """Lines that keep all windows apart."""
    windows = axis.size if transposed else axis.output
    return max(1, min(-(-axis.window.extent // axis.window.stride), windows))


def _windows(
    axis: AxisAnswer, columns: tuple[int | None, ...], lanes: int, *, transposed: bool
) -> Iterator[DrawnWindow]:
    """The windows that are wholly among the columns, each in a line where it overlaps no other.

    If there are not enough lines for all, those at both ends come first.
    """
    window = axis.window
    begin, count = (0, axis.size) if transposed else (axis.begin, axis.output)
    near = len(columns) // window.stride + 2
    indices = sorted({*range(min(count, near)), *range(max(count - near, 0), count)})
    lane = {index: index % lanes for index in indices}
    if lanes < _lanes(axis, transposed=transposed):
        lane |= {index: (index - count) % lanes for index in indices if index >= count / 2}
        indices.sort(key=lambda index: min(index, count - 1 - index))
    shown = {position for position in columns if position is not None}
    taken: list[set[int]] = [set() for _ in range(lanes)]
    for index in indices:
        start, line = index * window.stride - begin, taken[lane[index]]
        span = range(start, start + window.extent)
        if shown.issuperset(span) and line.isdisjoint(span):
            line.update(span)
            yield lane[index], span[:: window.dilation]
