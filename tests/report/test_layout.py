"""Texts and tables laid out for a width: where lines break, and what is left out."""

import pytest

from onnxpad.cli.output import screen
from onnxpad.report.documents import Pairs, Table
from onnxpad.report.layout import Screen, marked


@pytest.mark.parametrize(("columns", "width"), [("100", 100), ("40", 40), ("39", 40)])
def test_the_screen_of_this_process(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert screen() == Screen(width)


def test_no_mark_goes_over_the_end_of_a_line() -> None:
    text = marked("ab cd ef gh", "faint")
    ab, cd, ef, gh = (marked(word, "faint") for word in ("ab", "cd", "ef", "gh"))
    assert [*Screen(10, is_painted=True).block_lines([f"  {text}"])] == [
        f"  {ab} {cd} {ef}",
        f"    {gh}",
    ]
    assert [*Screen(10).block_lines([f"  {text}"])] == ["  ab cd ef", "    gh"]
    rows = [("name", f"of {text}")]
    lines = ["  name", f"      of {ab} {cd}", f"      {ef} {gh}"]
    assert [*Screen(16, is_painted=True).block_lines([Pairs(rows)])] == lines


def test_words_that_are_wider_than_the_screen_stay_whole() -> None:
    assert [*Screen(32).block_lines([Pairs([("name", "text")])])] == ["  name  text"]
    row = ["a" * 30, "b" * 30, "c"]
    assert " ".join(Screen(40).block_lines([Table([""] * 3, [row])])).split() == row
