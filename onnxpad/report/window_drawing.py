"""Windows over one padded axis, laid out in cells for a terminal or a picture.

A long axis loses its middle: conventions differ at the ends only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from onnxpad.frameworks.conventions.question import AxisAnswer

Kind: TypeAlias = Literal["data", "padding", "cropped", "appended", "nothing"]
Columns = tuple[int | None, ...]
"""The position in each column; None for the column that stands for the middle."""
DrawnWindow = tuple[int, range]
"""A line below the axis, from 0 on, and the positions that a window reads, or writes there."""

_MOST_LANES = 4


class DrawnRow(Struct, frozen=True):
    """The axis as some conventions pad it, by a label, and the windows over it that are drawn.

    The axis of a transposed convolution is its output, which pads crop.
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


def full_output(axis: AxisAnswer) -> int:
    """The length of a transposed convolution's output before it is cropped."""
    return (axis.size - 1) * axis.window.stride + axis.window.extent


def drawn_axes(
    axes: Mapping[str, AxisAnswer],
    cells: int,
    lanes: int = _MOST_LANES,
    *,
    transposed: bool = False,
) -> tuple[Columns, tuple[DrawnRow, ...]] | None:
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


def _columns(answers: Sequence[AxisAnswer], cells: int, *, transposed: bool) -> Columns | None:
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
    if max(before, after) + max(a.window.extent for a in answers) > half:
        return None
    return (*range(first, first + half), None, *range(last - half, last))


def _lanes(axis: AxisAnswer, *, transposed: bool) -> int:
    """Lines that keep all windows apart."""
    windows = axis.size if transposed else axis.output
    return max(1, min(-(-axis.window.extent // axis.window.stride), windows))


def _windows(
    axis: AxisAnswer, columns: Columns, lanes: int, *, transposed: bool
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
    taken: list[set[int]] = [set() for _ in range(lanes)]
    for index in indices:
        start, line = index * window.stride - begin, taken[lane[index]]
        span = range(start, start + window.extent)
        if {*columns}.issuperset(span) and line.isdisjoint(span):
            line.update(span)
            yield lane[index], span[:: window.dilation]
