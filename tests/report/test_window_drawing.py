"""The cells and windows of a drawing, against windows that are counted one by one."""

from itertools import combinations, product

import pytest

import onnxpad
from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import AxisAnswer
from onnxpad.report.documents import Picture
from onnxpad.report.window_drawing import drawn_axes, figures, kind
from tests.support import BORDER, W, one

_CASES = [
    (size, Window(kernel, stride, dilation), begin, end)
    for size, kernel, stride, dilation, begin, end in product(
        (1, 4, 7), (1, 2, 3), (1, 2, 5), (1, 2), (0, 1, 3), (0, 2)
    )
    if size + begin + end >= (kernel - 1) * dilation + 1
]


def _axis(size: int, window: Window, begin: int, end: int) -> AxisAnswer:
    output = (size + begin + end - window.extent) // window.stride + 1
    return AxisAnswer(size, window, begin, end, output)


def test_every_cell_and_window_of_a_short_axis_is_drawn() -> None:
    for size, window, begin, end in _CASES:
        axis = _axis(size, window, begin, end)
        drawn = drawn_axes([axis], 100)
        assert drawn is not None
        columns, (windows,) = [place for place in drawn[0] if place is not None], drawn[1]
        assert drawn[0] == tuple(range(-begin, size + end))
        cells = "." * begin + "o" * size + "." * end
        assert "".join(kind(axis, place) for place in columns) == cells
        assert {kind(axis, -begin - 1), kind(axis, size + end)} == {" "}
        starts = [each * window.stride - begin for each in range(axis.output)]
        least = max(1, min(-(-window.extent // window.stride), axis.output))
        if least <= 4:
            assert [(read[0], lane) for lane, read in windows] == [
                (start, index % least) for index, start in enumerate(starts)
            ]
        for _, read in windows:
            assert [*read] == [read[0] + tap * window.dilation for tap in range(window.kernel)]
        for first, other in combinations(windows, 2):
            assert first[0] != other[0] or abs(first[1][0] - other[1][0]) >= window.extent
        assert {lane for lane, _ in windows} == set(range(min(least, 4)))


@pytest.mark.parametrize(
    ("cells", "columns"),
    [
        (22, [*range(-1, 21)]),
        (21, [*range(-1, 9), None, *range(11, 21)]),
        (20, [*range(-1, 8), None, *range(12, 21)]),
        (9, [-1, 0, 1, 2, None, 17, 18, 19, 20]),
        (8, None),  # half a picture would show no window with its padding
    ],
)
def test_a_long_axis_loses_its_middle(cells: int, columns: list[int | None] | None) -> None:
    drawn = drawn_axes([_axis(20, Window(3), 1, 1)], cells)
    assert (drawn and [*drawn[0]]) == columns


def test_windows_at_the_ends_come_before_those_between() -> None:
    drawn = drawn_axes([_axis(12, Window(6), 0, 0)], 100)
    assert drawn is not None
    assert [(read[0], lane) for lane, read in drawn[1][0]] == [
        (0, 0), (6, 0), (1, 1), (5, 2), (2, 3),
    ]  # fmt: skip


def test_what_a_transposed_convolution_crops_and_appends() -> None:
    axis = AxisAnswer(3, Window(3, 2), 1, 0, 7, output_padding=1)
    assert "".join(kind(axis, place, transposed=True) for place in range(-1, 9)) == " .oooooo+ "
    cut = AxisAnswer(3, Window(3, 2), 1, 1, 5)
    assert "".join(kind(cut, place, transposed=True) for place in range(-1, 8)) == " .ooooo. "


def test_an_open_axis_of_which_no_short_table_tells_all_is_not_drawn() -> None:
    body = "a = Pad (x, p) y = Conv <strides = [2, 9]> (a, w)"
    model = one(body, inputs="float[1, 2, h, v] x", initializers=f"{W}, {BORDER}")
    (change,) = onnxpad.fix(model, validate=False).changes
    assert [caption[:6] for caption, *_ in figures(Picture({"": change}))] == ["axis 2"]
