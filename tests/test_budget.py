"""The product is no larger than `budget.toml` lets it be, and the limits only fall."""

from textwrap import dedent

import pytest

from tests.budget import (
    FIGURES,
    Size,
    budget,
    budget_before,
    lowered,
    measured,
    modules_of_fix,
    python_lines,
    size_of,
    total,
)

SLACK = 0.02
"""How far the limits of all packages together may be above what is measured."""


@pytest.mark.parametrize("figure", FIGURES)
def test_no_package_is_larger_than_its_limit(figure: str) -> None:
    packages = budget()["package"]
    assert measured().keys() <= packages.keys(), "a package without a row in budget.toml"
    over = []
    for name, size in measured().items():
        row = packages[name]
        if "limit" not in row and figure != "code":  # being built: its goal alone limits it
            continue
        limit = row.get("limit", row["goal"])[figure]
        if getattr(size, figure) > limit:
            over.append(f"{name}: {getattr(size, figure):,} {figure}, limit {limit:,}")
    assert not over, over


@pytest.mark.parametrize("figure", ["lines", *FIGURES])
def test_all_packages_together_are_no_larger_than_the_whole(figure: str) -> None:
    packages = budget()["package"]
    limited = [name for name, row in packages.items() if "limit" in row]
    assert getattr(total(limited), figure) <= budget()["limit"][figure]
    if figure in FIGURES:
        limits = sum(row["limit"][figure] for row in packages.values() if "limit" in row)
        assert limits <= budget()["limit"][figure] * (1 + SLACK), "one is raised, none is lowered"


def test_no_limit_of_the_whole_rises_and_no_package_loses_its_own() -> None:
    before, now = budget_before(), budget()
    if before is None:
        pytest.skip("there is no commit to compare with")
    product = {"lines", *FIGURES}
    others = before["limit"].keys() - product - {"least_ratio"}
    assert not [key for key in others if now["limit"][key] > before["limit"][key]]
    grown = sum(now["limit"][key] - before["limit"][key] for key in ("lines", "test_lines"))
    assert grown <= 0, "the product and its tests together never grow"
    assert all(now["limit"][key] <= now["goal"][key] for key in ("lines", "code"))
    assert now["limit"]["least_ratio"] >= before["limit"]["least_ratio"]
    limited = {name for name, row in before["package"].items() if "limit" in row}
    lost = {name for name in limited & measured().keys() if "limit" not in now["package"][name]}
    assert not lost, "a package that is there keeps its limit"


def test_goals_of_packages_are_no_more_than_the_goal() -> None:
    read = budget()
    for part, row in read["sum"].items():
        goals = [each["goal"] for each in read["package"].values() if each["of"] == part]
        for figure, most in row["goal"].items():
            assert sum(each[figure] for each in goals) <= most


@pytest.mark.parametrize("figure", ["lines", *FIGURES])
def test_limits_fall_with_what_they_limit(figure: str) -> None:
    slack = budget()["limit"][figure] / getattr(total(), figure) - 1
    assert slack <= SLACK, "python -m tests.budget --lower"


def test_modules_ratio_and_tests() -> None:
    limit = budget()["limit"]
    assert modules_of_fix() <= limit["modules_of_fix"]
    assert python_lines() <= limit["test_lines"]
    assert limit["least_ratio"] <= total().lines / total().code <= limit["most_ratio"]


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


def test_limits_are_lowered_and_never_raised() -> None:
    text = "[package.doctor.limit]\ncode = 99_999\ntokens = 1\n\n[limit]\nleast_ratio = 1.25\n"
    code = measured()["doctor"].code
    assert lowered(text) == text.replace("99_999", f"{code:_}")
