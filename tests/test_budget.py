"""The product is no larger than `budget.toml` lets it be, and its limits fall with it."""

import tomllib
from textwrap import dedent

import pytest

from tests.budget import (
    FILE,
    STEPS,
    Size,
    budget,
    least,
    measured,
    size_of,
    total,
    whole,
    with_limits,
    wrong_limits,
)

WRITE = "python -m tests.budget --write"


def test_each_package_is_within_its_limits_and_they_are_near() -> None:
    packages = budget()["package"]
    assert packages.keys() == measured().keys(), WRITE
    assert wrong_limits(packages) == [], WRITE


def test_all_together_are_within_the_limits() -> None:
    """Of code and tokens that is the sum of limits: one is raised where another is lowered."""
    over = {key: each for key, each in whole().items() if each[0] > each[1]}
    assert not over
    ratio, limit = total().lines / total().code, budget()["all"]
    assert limit["least_ratio"] <= ratio <= limit["most_ratio"]


def test_what_is_counted() -> None:
    source = '''\
        """A docstring
        of two lines."""

        from typing import NamedTuple  # a comment

        class Row(NamedTuple):
            """A record."""

            name: str
            """What a field is."""

        TEXT = """a text
        is code"""
    '''
    assert size_of(dedent(source)) == Size(lines=13, code=5, tokens=16, records=1)


@pytest.mark.parametrize("figure", STEPS)
def test_limits_that_are_written_leave_room_and_others_are_wrong(figure: str) -> None:
    text = FILE.read_text(encoding="utf-8")
    packages, step = tomllib.loads(with_limits(text))["package"], STEPS[figure]
    assert wrong_limits(packages) == []
    own, row = getattr(measured()["doctor"], figure), packages["doctor"]
    assert row[figure] - own >= step // 2
    lowest = least(own, step)
    for limit in (lowest - step, lowest + 1, lowest + 2 * step):
        told = wrong_limits({**packages, "doctor": {**row, figure: limit}})
        assert [each.partition(":")[0] for each in told] == ["doctor"]
