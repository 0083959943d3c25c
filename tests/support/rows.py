"""Tests of many cases: several rows of a table a test, and cases that only the night runs."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.older import gap_of

Test: TypeAlias = Callable[..., None]


def each_row(
    names: str | Sequence[str], rows: Iterable[Any], *, at_once: int = 20
) -> Callable[[Test], Test]:
    """Parametrizes a test as pytest does, but with several rows a test; a failure names its row.

    A row that cannot hold with an older package is a test of its own, which is skipped.

    Args:
        names: The parameters that a row gives.
        rows: The rows, perhaps by `pytest.param`.
        at_once: How many rows are one test.
    """
    given = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    several = not isinstance(names, str) or len(given) > 1
    table = [_row(row, several=several) for row in rows]

    def decorated(test: Test) -> Test:
        where = f"{test.__module__.replace('.', '/')}.py::{test.__qualname__.replace('.', '::')}"
        gaps = {name: gap_of(f"{where}[{name}]") for name, _ in table}
        held = [row for row in table if not gaps[row[0]]]
        parts: list[Any] = [held[start : start + at_once] for start in range(0, len(held), at_once)]
        parts += [
            pytest.param([row], marks=pytest.mark.skip(reason=why), id=row[0])
            for row in table
            if (why := gaps[row[0]])
        ]

        def together(*args: Any, rows: list[tuple[str, tuple[Any, ...]]], **others: Any) -> None:
            for name, values in rows:
                try:
                    test(*args, **dict(zip(given, values, strict=True)), **others)
                except BaseException as error:
                    error.add_note(f"in the row {name}")
                    raise

        signature = inspect.signature(test)
        kept = [each for name, each in signature.parameters.items() if name not in given]
        assert len(kept) == len(signature.parameters) - len(given)
        added = inspect.Parameter("rows", inspect.Parameter.KEYWORD_ONLY)
        vars(together)["__signature__"] = signature.replace(parameters=[*kept, added])
        together.__name__, together.__qualname__ = test.__name__, test.__qualname__
        together.__module__, together.__doc__ = test.__module__, test.__doc__
        vars(together).update(vars(test))
        parametrized: Test = pytest.mark.parametrize("rows", parts)(together)
        return parametrized

    return decorated


def rows_below(path: Path, title: str) -> list[tuple[str, ...]]:
    """The rows of a table in text: the lines below `# title`, whose columns have `|` between."""
    _, _, rest = path.read_text(encoding="utf-8").partition(f"# {title}\n")
    lines = rest.partition("\n#")[0].splitlines()
    return [tuple(each.strip() for each in line.split("|")) for line in lines if line]


def one_in(count: int, cases: Iterable[Any]) -> list[Any]:
    """Cases of a test that are much alike: the gate runs one in so many, `-m night` the others.

    Args:
        count: One in how many is the gate's, beginning with the first.
        cases: Each a tuple of values.
    """
    return [
        pytest.param(*case, marks=pytest.mark.night if place % count else ())
        for place, case in enumerate(cases)
    ]


def _row(row: Any, *, several: bool) -> tuple[str, tuple[Any, ...]]:
    """How a row is called, and its values."""
    if isinstance(row, type(pytest.param())):
        assert not row.marks, "a row with marks is a test of its own"
        return str(row.id or row.values), tuple(row.values)
    values = tuple(row) if several else (row,)
    return repr(values), values
