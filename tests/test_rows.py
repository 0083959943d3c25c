"""Several rows of a table in one test: each is asked, and one that fails is named."""

import pytest

from tests.support import rows

ROWS = [(1, 1), pytest.param(2, 4, id="two"), (3, 9), (4, 15), (5, 25)]


def test_each_row_is_asked_until_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that an old package lacks is a test of its own, which is skipped."""
    gaps = {f"{__name__.replace('.', '/')}.py::holds[two]": "too old"}
    monkeypatch.setattr(rows, "gap_of", lambda test: gaps.get(test, ""))
    asked = []

    def holds(number: int, square: int, *, more: int) -> None:
        asked.append(number + more)
        assert number * number == square

    holds.__qualname__ = "holds"
    together = rows.each_row("number, square", ROWS, at_once=3)(holds)
    (mark,) = vars(together)["pytestmark"]
    name, (first, second, gap) = mark.args
    assert name == "rows"
    with pytest.raises(AssertionError) as error:
        together(rows=first, more=10)
    assert error.value.__notes__ == ["in the row (4, 15)"]
    together(rows=second, more=30)
    assert asked == [11, 13, 14, 35]
    assert (gap.id, gap.values) == ("two", ([("two", (2, 4))],))
    assert [(each.name, each.kwargs) for each in gap.marks] == [("skip", {"reason": "too old"})]
