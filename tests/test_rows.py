"""Several rows of a table in one test: each is asked, and one that fails is named."""

import pytest

from tests.support import rows
from tests.support.rows import each_row

ROWS = [(1, 1), pytest.param(2, 4, id="two"), (3, 9), (4, 15), (5, 25)]


def test_each_row_is_asked_until_one_fails() -> None:
    asked = []

    @each_row("number, square", ROWS, at_once=2)
    def holds(number: int, square: int, *, more: int) -> None:
        asked.append(number + more)
        assert number * number == square

    (mark,) = vars(holds)["pytestmark"]
    name, parts = mark.args
    assert name == "rows"
    holds(rows=parts[0], more=10)
    with pytest.raises(AssertionError) as error:
        holds(rows=parts[1], more=20)
    assert error.value.__notes__ == ["in the row (4, 15)"]
    holds(rows=parts[2], more=30)
    assert asked == [11, 12, 23, 24, 35]


def test_a_row_that_an_old_package_lacks_is_skipped_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = f"{__name__.replace('.', '/')}.py"
    gaps = {f"{here}::TestTable::holds[two]": "too old"}
    monkeypatch.setattr(rows, "gap_of", lambda test: gaps.get(test, ""))

    def holds(number: int, square: int) -> None:
        assert number * number == square

    holds.__qualname__ = "TestTable.holds"
    (mark,) = vars(rows.each_row("number, square", ROWS, at_once=3)(holds))["pytestmark"]
    first, second, gap = mark.args[1]
    assert [[name for name, _ in part] for part in (first, second)] == [
        ["(1, 1)", "(3, 9)", "(4, 15)"],
        ["(5, 25)"],
    ]
    assert (gap.id, gap.values) == ("two", ([("two", (2, 4))],))
    (skip,) = gap.marks
    assert (skip.name, skip.kwargs) == ("skip", {"reason": "too old"})
