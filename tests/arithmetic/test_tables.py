"""Sizes by the remainder of the one size that they vary with."""

from typing import Any

import pytest

from onnxpad.arithmetic.size import (
    Extent,
    Sizes,
    Unknown,
    ceil_div,
    floor_div,
    maximum,
    minimum,
    symbol,
    table_of,
)
from onnxpad.arithmetic.window import Window, same_pads
from tests.support.rows import each_row

HEIGHT = symbol("height")
WIDTH = symbol("width")


def test_pads_of_same_by_the_size_of_the_axis() -> None:
    size = ceil_div(HEIGHT, 2)
    begin, end = same_pads(size, Window(3, 2), odd="end")
    rows = [{"at": 8, "begin": 0, "end": 1}, {"at": 9, "begin": 1, "end": 1}]
    found = table_of({"begin": begin, "end": end}, size)
    assert found == {"of": "", "modulus": 2, "since": 1, "rows": rows}


def test_by_the_symbol_where_the_axis_does_not_determine_it() -> None:
    rest = HEIGHT - 4 * floor_div(HEIGHT, 4)
    found = table_of({"rest": rest, "seven": 7}, floor_div(HEIGHT, 2))
    rows = [{"at": 8 + n, "rest": n, "seven": 7} for n in range(4)]
    assert found == {"of": "height", "modulus": 4, "since": 1, "rows": rows}


def tabulated(*extents: Extent) -> list[tuple[int, ...]] | None:
    """The rows of a table."""
    found = table_of(dict(zip("abc", extents, strict=False)), Unknown("no size"))
    rows: Any = found and found["rows"]
    return rows and [(*row.values(),) for row in rows]


def test_rows_begin_where_the_values_repeat() -> None:
    rows = tabulated(maximum(HEIGHT, 11) - HEIGHT + HEIGHT % 2)
    assert rows is not None
    assert all(at >= 10 for at, _ in rows)


def test_only_sizes_that_may_occur_have_rows() -> None:
    size = symbol("height", Sizes(32, 1024, 32))
    assert tabulated(size % 96) == [(96, 0), (128, 32), (160, 64)]


def test_a_table_may_be_all_that_there_is() -> None:
    assert tabulated(symbol("height", Sizes(1, 9)) % 2) == [(8, 0), (9, 1)]
    longest = tabulated(HEIGHT % 8)
    assert longest is not None
    assert len(longest) == longest[0][0] == 8


@each_row(
    "extents",
    [
        pytest.param((1, 2), id="nothing varies"),
        pytest.param((HEIGHT + WIDTH,), id="two symbols"),
        pytest.param((minimum(HEIGHT, WIDTH),), id="the least of two"),
        pytest.param((HEIGHT, Unknown("data")), id="unknown"),
        pytest.param((HEIGHT % 9,), id="many rows"),
        pytest.param((symbol("height", Sizes(1, 3)) % 4,), id="fewer sizes than rows"),
    ],
)
def test_no_table(extents: tuple[Extent, ...]) -> None:
    assert tabulated(*extents) is None
