"""The cells and windows of a drawing, against windows that are counted one by one."""

from itertools import combinations, product

import pytest

from onnxpad.arithmetic.window import Window
from onnxpad.frameworks.conventions.question import AxisAnswer
from onnxpad.report.axis_svg import AxisPlace, axis_height, axis_svg, text_svg
from onnxpad.report.window_drawing import DrawnRow, DrawnWindow, full_output, letter, one_axis

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
        drawn = one_axis(axis, 100)
        assert drawn is not None
        columns, row = [place for place in drawn[0] if place is not None], drawn[1]
        assert drawn[0] == tuple(range(-begin, size + end))
        cells = ["padding"] * begin + ["data"] * size + ["padding"] * end
        assert [row.kind(place) for place in columns] == cells
        assert {row.kind(-begin - 1), row.kind(size + end)} == {"nothing"}
        starts = [each * window.stride - begin for each in range(axis.output)]
        least = max(1, min(-(-window.extent // window.stride), axis.output))
        if least <= 4:
            assert [(read[0], lane) for lane, read in row.windows] == [
                (start, index % least) for index, start in enumerate(starts)
            ]
        for _, read in row.windows:
            assert [*read] == [read[0] + tap * window.dilation for tap in range(window.kernel)]
        for one, other in combinations(row.windows, 2):
            assert one[0] != other[0] or abs(one[1][0] - other[1][0]) >= window.extent
        assert {lane for lane, _ in row.windows} == set(range(min(least, 4)))


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
    drawn = one_axis(_axis(20, Window(3), 1, 1), cells)
    assert (drawn and [*drawn[0]]) == columns


def test_windows_at_the_ends_come_before_those_between() -> None:
    drawn = one_axis(_axis(12, Window(6), 0, 0), 100)
    assert drawn is not None
    assert [(read[0], lane) for lane, read in drawn[1].windows] == [
        (0, 0), (6, 3), (1, 1), (5, 2),
    ]  # fmt: skip


def test_what_a_transposed_convolution_crops_and_appends() -> None:
    axis = AxisAnswer(3, Window(3, 2), 1, 0, 7, output_padding=1)
    row = DrawnRow("A", (), axis, True, ())
    assert full_output(axis) == 7
    assert [row.kind(place) for place in range(-1, 9)] == [
        "nothing", "cropped", *["data"] * 6, "appended", "nothing",
    ]  # fmt: skip
    cut = DrawnRow("A", (), AxisAnswer(3, Window(3, 2), 1, 1, 5), True, ())
    assert [cut.kind(place) for place in range(-1, 8)] == [
        "nothing", "cropped", *["data"] * 5, "cropped", "nothing",
    ]  # fmt: skip


def test_letters_of_groups() -> None:
    assert [letter(index) for index in (0, 25, 26, 51, 52)] == ["A", "Z", "A1", "Z1", "A2"]


def _row(*windows: DrawnWindow) -> DrawnRow:
    return DrawnRow("A", (), AxisAnswer(3, Window(2), 1, 1, 4), False, windows)


def test_an_axis_with_windows_as_svg() -> None:
    row = _row((0, range(-1, 1)), (1, range(1, 3)))
    assert axis_height(row) == 46
    assert axis_height(_row()) == 33
    wide = AxisPlace(range(-1, 4), 12, 5)
    assert [*axis_svg(row, wide, 100)] == [
        '<path class="padding" d="M5.5 100.5h11v19h-11zM53.5 100.5h11v19h-11z"/>',
        (
            '<path class="data" d="M17.5 100.5h11v19h-11zM29.5 100.5h11v19h-11z'
            'M41.5 100.5h11v19h-11z"/>'
        ),
        '<text x="23" y="114" class="number" text-anchor="middle">0</text>',
        '<text x="47" y="114" class="number" text-anchor="middle">2</text>',
        '<path class="bar" d="M11 128H23M35 141H47"/>',
        '<path class="taps" stroke-width="8" d="M11 128h0M23 128h0M35 141h0M47 141h0"/>',
    ]


def test_narrow_cells_of_a_kind_are_one_and_have_no_numbers() -> None:
    narrow = AxisPlace((-2, -1, 0, None, 2, 3, 4), 6, 0)
    assert [*axis_svg(_row(), narrow, 0)] == [
        '<text x="21" y="14" class="faint" text-anchor="middle">…</text>',
        '<path class="padding" d="M6.5 0.5h5v19h-5zM30.5 0.5h5v19h-5z"/>',
        '<path class="data" d="M12.5 0.5h5v19h-5zM24.5 0.5h5v19h-5z"/>',
    ]
    wide = AxisPlace((0, 1, 2), 11.5, 0)
    assert '"M0.5 0.5h33.5v19' in next(iter(axis_svg(_row(), wide, 0)))
    one = AxisPlace((-1, 0, 1, 2, 3), 6.5, 0)
    texts = [each for each in axis_svg(_row(), one, 0) if each.startswith("<text")]
    assert [each.partition(">")[2] for each in texts] == ["0</text>", "2</text>"]
    assert '"M0.5 0.5h1v19h-1z' in next(iter(axis_svg(_row(), AxisPlace((-1, 0), 1.5, 0), 0)))


def test_text_is_escaped_and_has_only_the_attributes_it_needs() -> None:
    assert text_svg(1.5, 2, "a<b") == '<text x="1.5" y="2">a&lt;b</text>'
    assert text_svg(1, 2, "a", "b") == '<text x="1" y="2" class="b">a</text>'
    assert text_svg(1, 2, "a", anchor="end") == '<text x="1" y="2" text-anchor="end">a</text>'
