"""Sizes by the remainder of the one size that they vary with."""

import pytest

from onnxpad.arithmetic.residue_table import residue_table
from onnxpad.arithmetic.size import (
    Size,
    Sizes,
    Unknown,
    ceil_div,
    floor_div,
    maximum,
    minimum,
    symbol,
)
from onnxpad.arithmetic.window import Window, same_pads
from tests.support.rows import each_row

HEIGHT = symbol("height")
WIDTH = symbol("width")


def test_pads_of_same_by_the_size_of_the_axis() -> None:
    size = ceil_div(HEIGHT, 2)
    begin, end = same_pads(size, Window(3, 2), odd="end")
    found = residue_table((begin, end), size)
    assert found is not None
    assert (found.of, found.modulus, found.since) == ("", 2, 1)
    assert found.rows == ((8, (0, 1)), (9, (1, 1)))
    assert found.as_data("begin", "end")["rows"] == [
        {"at": 8, "begin": 0, "end": 1},
        {"at": 9, "begin": 1, "end": 1},
    ]


def test_by_the_symbol_where_the_axis_does_not_determine_it() -> None:
    found = residue_table((HEIGHT - 4 * floor_div(HEIGHT, 4), 7), floor_div(HEIGHT, 2))
    assert found is not None
    assert (found.of, found.modulus) == ("height", 4)
    assert [(at % 4, values) for at, values in found.rows] == [(n, (n, 7)) for n in range(4)]


def test_rows_begin_where_the_values_repeat() -> None:
    found = residue_table((maximum(HEIGHT, 11) - HEIGHT + HEIGHT % 2,))
    assert found is not None
    assert found.since >= 10
    assert all(at >= found.since for at, _ in found.rows)


def test_only_sizes_that_may_occur_have_rows() -> None:
    size = symbol("height", Sizes(32, 1024, 32))
    found = residue_table((size % 96,))
    assert found is not None
    assert found.rows == ((96, (0,)), (128, (32,)), (160, (64,)))


def test_a_table_may_be_all_that_there_is() -> None:
    found = residue_table((symbol("height", Sizes(1, 9)) % 2,))
    assert found is not None
    assert found.rows == ((8, (0,)), (9, (1,)))
    longest = residue_table((HEIGHT % 16,))
    assert longest is not None
    assert len(longest.rows) == longest.modulus == 16
    assert longest.rows[0][0] == 16
    shortest = residue_table((HEIGHT % 2,), least=1)
    assert shortest is not None
    assert shortest.rows[0][0] == 2


@each_row(
    "extents",
    [
        pytest.param((1, 2), id="nothing varies"),
        pytest.param((HEIGHT + WIDTH,), id="two symbols"),
        pytest.param((minimum(HEIGHT, WIDTH),), id="the least of two"),
        pytest.param((HEIGHT, Unknown("data")), id="unknown"),
        pytest.param((HEIGHT % 17,), id="many rows"),
        pytest.param((symbol("height", Sizes(1, 3)) % 4,), id="fewer sizes than rows"),
    ],
)
def test_no_table(extents: tuple[object, ...]) -> None:
    assert residue_table(extents) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("extent", "is_constant"),
    [
        pytest.param(HEIGHT % 4, True, id="repeats"),
        pytest.param(HEIGHT, False, id="grows"),
        pytest.param(symbol("height", Sizes(1, 9)) % 2, True, id="no period left to compare"),
        pytest.param(
            -symbol("height", Sizes(1, 11)) % 6, False, id="too few sizes to show the period"
        ),
    ],
)
def test_a_table_of_constants(extent: Size, is_constant: bool) -> None:
    """Each value is that of every size with its remainder, or there is no table."""
    assert residue_table((extent,)) is not None
    table = residue_table((extent,), constant=True)
    assert (table is not None) is is_constant
