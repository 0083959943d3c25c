"""Windows over one padded axis, laid out in cells for a terminal or a picture.

A long axis loses its middle: conventions differ at the ends only. The axis of a transposed
convolution is its output, which pads crop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from onnxpad.arithmetic.window import transposed_output_size
from onnxpad.frameworks.conventions.question import AxisAnswer

Kind: TypeAlias = Literal["data", "padding", "cropped", "appended", "nothing"]
Columns = tuple[int | None, ...]
"""The position in each column; None for the column that stands for the middle."""
Windows = tuple[tuple[int, range], ...]
"""Windows over an axis: the line below it, from 0 on, and the positions that each one reads, or
writes if transposed."""

_MOST_LANES = 4


def kind(axis: AxisAnswer, position: int, *, transposed: bool = False) -> Kind:
    """The kind of element at a position; those of the data count from 0."""
    line, real = range(-axis.begin, axis.size + axis.end), range(axis.size)
    if transposed:
        line = range(transposed_output_size(axis.size, axis.window, 0, 0))
        real = range(axis.begin, axis.begin + axis.output)
    if position in real:
        return "appended" if transposed and position >= line.stop else "data"
    outside: Kind = "cropped" if transposed else "padding"
    return outside if position in line else "nothing"


def drawn_axes(
    axes: Sequence[AxisAnswer], cells: int, lanes: int = _MOST_LANES, *, transposed: bool = False
) -> tuple[Columns, tuple[Windows, ...]] | None:
    """The columns and the windows of axes; None if a window is too long for the cells."""
    slides = [(0, each.size) if transposed else (-each.begin, each.output) for each in axes]
    pairs = [*zip(axes, slides, strict=True)]
    inner = 0, axes[0].size
    ends = [axes[0].size, *(each.size + each.end for each in axes)]
    if transposed:
        ends = [each.begin + each.output for each in axes]
        inner = max(each.begin for each in axes), min(ends)
    reach = (at + (n - 1) * a.window.stride + a.window.extent for a, (at, n) in pairs)
    first, last = min(0, *(start for start, _ in slides)), max(*ends, *reach)
    columns: Columns = tuple(range(first, last))
    if last - first > cells:
        half = (cells - 1) // 2
        longest = max(each.window.extent for each in axes)
        if max(inner[0] - first, last - inner[1]) + longest > half:
            return None
        columns = (*range(first, first + half), None, *range(last - half, last))
    lanes = min(_MOST_LANES, lanes)
    return columns, tuple((*_windows(axis, *slide, columns, lanes),) for axis, slide in pairs)


def _windows(
    axis: AxisAnswer, first: int, count: int, columns: Columns, lanes: int
) -> Iterator[tuple[int, range]]:
    """The windows that are wholly among the columns, each in a line where it overlaps no other.

    If there are not enough lines for all, those at both ends come first.
    """
    window = axis.window
    near = len(columns) // window.stride + 2
    indices = sorted({*range(min(count, near)), *range(max(count - near, 0), count)})
    needed = max(1, min(-(-window.extent // window.stride), count))  # lines for all of them
    lanes = min(lanes, needed)
    lane = {index: index % lanes for index in indices}
    if lanes < needed:
        lane |= {index: (index - count) % lanes for index in indices if index >= count / 2}
        indices.sort(key=lambda index: min(index, count - 1 - index))
    taken: list[set[int]] = [set() for _ in range(lanes)]
    for index in indices:
        start, line = index * window.stride + first, taken[lane[index]]
        span = range(start, start + window.extent)
        if {*columns}.issuperset(span) and line.isdisjoint(span):
            line.update(span)
            yield lane[index], span[:: window.dilation]
