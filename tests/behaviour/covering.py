"""Rows of options in which every pair of values of two options occurs, spread over subjects."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final, TypeAlias

Row: TypeAlias = dict[str, str]
"""A value for each option, by its name."""

Pair: TypeAlias = tuple[tuple[str, str], tuple[str, str]]
"""Two options, in the order of their table, each with a value."""

_CANDIDATES: Final = 12
"""Rows that are drawn for each one that is taken."""


def pairs_of(row: Mapping[str, str]) -> list[Pair]:
    """The pairs of values in a row.

    >>> pairs_of({"style": "pad", "quiet": ""})
    [(('style', 'pad'), ('quiet', ''))]
    """
    return list(combinations(row.items(), 2))


def possible(options: Mapping[str, Sequence[str]]) -> set[Pair]:
    """All pairs of values of two options."""
    return {
        ((one, mine), (other, theirs))
        for (one, ours), (other, others) in combinations(options.items(), 2)
        for mine in ours
        for theirs in others
    }


def covering(
    subjects: Sequence[Mapping[str, Sequence[str]]], rounds: int = 1, seed: int = 0
) -> list[tuple[int, Row]]:
    """Rows, each with the number of its subject, that hold every pair that any subject allows.

    Each subject has as many rows as there are rounds, and more if pairs are still missing. Of some
    random rows the one with the most new pairs is taken, and of these the one with the rarest
    pairs, so that further rounds spread all pairs over the subjects.

    Args:
        subjects: The values that each option may have with each subject.
        rounds: The least number of rows for each subject.
        seed: For the rows drawn. The same one gives the same rows in every process.
    """
    draws = random.Random(seed)
    allowed = [possible(options) for options in subjects]
    missing = set().union(*allowed)
    seen: Counter[Pair] = Counter()
    rows: list[tuple[int, Row]] = []
    turn = 0
    while turn < rounds or missing:
        for number, options in enumerate(subjects):
            if turn >= rounds and allowed[number].isdisjoint(missing):
                continue
            drawn = [_drawn(options, seen, draws) for _ in range(_CANDIDATES)]
            row = min(drawn, key=lambda row: _weight(row, seen))
            rows.append((number, row))
            seen.update(pairs_of(row))
            missing.difference_update(pairs_of(row))
        turn += 1
    return rows


def _drawn(options: Mapping[str, Sequence[str]], seen: Counter[Pair], draws: random.Random) -> Row:
    """A row whose values are chosen one after another, each for new and rare pairs."""
    places = {option: place for place, option in enumerate(options)}
    row: Row = {}
    for option in draws.sample(list(options), len(options)):

        def weight(value: str, option: str = option) -> tuple[int, int]:
            here = (option, value)
            pairs = [
                (here, there) if places[option] < places[there[0]] else (there, here)
                for there in row.items()
            ]
            counts = [seen[pair] for pair in pairs]
            return -counts.count(0), sum(counts)

        row[option] = min(draws.sample(list(options[option]), len(options[option])), key=weight)
    return {option: row[option] for option in options}


def _weight(row: Row, seen: Counter[Pair]) -> tuple[int, int]:
    counts = [seen[pair] for pair in pairs_of(row)]
    return -counts.count(0), sum(counts)
