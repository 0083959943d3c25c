"""Texts and tables laid out for a width: where lines break, and what is left out."""

from typing import Any

import pytest

from onnxpad.report.documents import Line, Pairs, line_of
from onnxpad.report.layout import Screen, cells, here, marked, pattern_of, shortened_to, wrapped
from tests.support.rows import each_row

LONG = "net/stage/block/conv"


@each_row(
    ("text", "count"),
    [("", 0), ("ab", 2), ("é", 1), ("e\u0301", 1), ("畳", 2), (marked("畳a", "good"), 3)],
)
def test_the_cells_of_a_text(text: str, count: int) -> None:
    assert cells(text) == count


@each_row(
    ("width", "short"),
    [(20, LONG), (19, "net/stag...ock/conv"), (18, "net/sta...ock/conv"), (9, "net...onv"),
     (8, "ne...onv"), (7, LONG)],
)  # fmt: skip
def test_a_name_without_its_middle(width: int, short: str) -> None:
    assert shortened_to(LONG, width) == short


@each_row(
    ("name", "room", "pattern"),
    [
        (LONG, 20, LONG), (LONG, 19, "*/stage/block/conv"), (LONG, 18, "*/stage/block/conv"),
        (LONG, 17, "*/block/conv"), (LONG, 12, "*/block/conv"), (LONG, 11, "*block/conv"),
        (LONG, 9, "*ock/conv"), (LONG, 8, "*/conv"), (LONG, 4, "*onv"), (LONG, 3, LONG),
        ("abcdefghijklmnopqrst", 16, "*fghijklmnopqrst"),
    ],
)  # fmt: skip
def test_the_end_of_a_name_as_a_pattern(name: str, room: int, pattern: str) -> None:
    assert pattern_of(name, room) == pattern


@each_row(
    ("text", "width", "first", "rest", "lines"),
    [
        ("ab cd ef", 5, "", None, ["ab cd", "ef"]),
        ("ab cd ef", 4, "", None, ["ab", "cd", "ef"]),
        ("ab cd ef", None, "- ", "  ", ["- ab cd ef"]),
        ("ab cd ef", 7, "- ", None, ["- ab cd", "  ef"]),
        ("ab cd ef", 7, "- ", "", ["- ab cd", "ef"]),
        ("abcdefgh ij", 4, "", None, ["abcdefgh", "ij"]),
        ("", 4, "  ", None, [""]),
        ("a\u00a0b c", 3, "", None, ["a b", "c"]),
        ("畳み み", 6, "", None, ["畳み", "み"]),
        ("畳み み", 7, "", None, ["畳み み"]),
    ],
)
def test_wrapped_lines(
    text: str, width: int | None, first: str, rest: str | None, lines: list[str]
) -> None:
    assert wrapped(text, width, first, rest) == lines


def test_indents() -> None:
    screen = Screen(10)
    lines = [Line("ab cd ef gh"), Line("i"), *map(line_of, ("  ab cd ef gh", "", "i j"))]
    told = ["  ab cd ef", "    gh", "  i", "  ab cd ef", "      gh", "", "i j"]
    assert [*screen.block_lines(lines)] == told


@pytest.mark.parametrize(
    ("width", "widest", "lines"),
    [
        (None, 40, ["  a    one two three", "  bcd  four"]),
        (80, 40, ["  a    one two three", "  bcd  four"]),
        (80, 2, ["  a  one two three", "  bcd  four"]),
        (31, 40, ["  a    one two three", "  bcd  four"]),
        (12, 40, ["  a  one two", "      three", "  bcd  four"]),
    ],
)
def test_names_with_a_text_each(width: int | None, widest: int, lines: list[str]) -> None:
    assert Screen(width).pairs(["a", "bcd"], ["one two three", "four"], widest) == lines


ROWS: Any = [["conv", "12", "a text of several words that goes on"], ["b", "1,234", ["x", "y"]]]


@pytest.mark.parametrize(
    ("screen", "heads", "lines"),
    [
        (Screen(None), ["node", "n", "why"],
         ["  node  n      why", "  conv     12  a text of several words that goes on",
          "  b     1,234  x", "               y"]),
        (Screen(None), ["", "", ""],
         ["  conv     12  a text of several words that goes on", "  b     1,234  x",
          "               y"]),
        (Screen(40), ["node", "n", "why"],
         ["  node  n      why", "  conv     12  a text of several words",
          "                 that goes on", "  b     1,234  x", "               y"]),
    ],
)  # fmt: skip
def test_a_table(screen: Screen, heads: list[str], lines: list[str]) -> None:
    assert screen.table(heads, ROWS).split("\n") == lines


def test_a_column_that_is_too_wide_gives_room_to_the_last() -> None:
    heads, rows = ["a", "b", "c"], [["one two three four", "seven eight", "nine ten"]]
    assert Screen(48).table(heads, rows).split("\n") == [
        "  a        b        c",
        "  one two  seven    nine ten",
        "    three    eight",
        "    four",
    ]
    drawn = [[[cell] for cell in row] for row in rows]
    widths = {100: 65, 60: 25, 59: 24, 20: 24}
    assert {width: Screen(width).last_column(heads, drawn) for width in widths} == widths
    assert Screen(None).last_column(heads, drawn) is None


@pytest.mark.parametrize(("columns", "width"), [("100", 100), ("40", 40), ("39", 40)])
def test_the_screen_of_this_process(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert here(marked) == Screen(width, marked, is_terminal=False)


def test_no_mark_goes_over_the_end_of_a_line() -> None:
    text = marked("ab cd ef gh", "faint")
    parted = [marked("ab cd ef", "faint"), marked("gh", "faint")]
    assert [*Screen(10, marked).block_lines([Line(text)])] == [f"  {parted[0]}", f"    {parted[1]}"]
    assert [*Screen(10).block_lines([Line(text)])] == ["  ab cd ef", "    gh"]
    assert [*Screen(10, marked).block_lines([text])] == [parted[0], f"  {parted[1]}"]
    assert [*Screen(16, marked).block_lines([Pairs([("n", f"of {text}")], width=4)])] == [
        f"{marked('  n   ', 'faint')}of {marked('ab cd', 'faint')}",
        f"      {marked('ef gh', 'faint')}",
    ]


def test_a_short_mark_stays_on_one_line() -> None:
    text = f"several words and {marked('not compared', 'error')}: why"
    assert [*Screen(26).block_lines([text])] == ["several words and", "  not compared: why"]


def test_two_marks_of_a_line_stay_two() -> None:
    text = f"{marked('two', 'strong')} of {marked('nine', 'error')}"
    assert [*Screen(60, marked).block_lines([Line(text, "", "")])] == [text]
