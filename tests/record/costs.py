"""The table of what slow tests cost, by which a test is fast or slow."""

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Final

COSTS: Final = Path(__file__).with_name("costs.json")

FAST: Final = 16_000.0
"""CPU milliseconds that the fast tier may take, without collection."""

ITSELF: Final = 1.0
"""CPU milliseconds that a test takes besides what is recorded of it."""

LEAST: Final = 0.05
"""Blocks that no other test executes, for a CPU millisecond, that let a test into the fast tier."""

CASES: Final = 0.1
"""By what share of its cost a further case of one test seems dearer than the case before it."""

DEAR: Final = 60.0
"""CPU milliseconds above which no test is in the fast tier, whatever it alone executes."""

POWER: Final = Path(__file__).with_name("power.json")
"""How many faults the tests of a file notice for their time, where all tests together notice 1.0.

`python -m tests.faults.power` measures it.
"""

Slow = Mapping[str, Mapping[str, float]]
"""For each file the slow tests, or single cases of them, and what one costs in CPU milliseconds."""


def file_of(test: str) -> str:
    """The file of a test."""
    return test.partition("::")[0]


@cache
def slow_tests() -> Slow:
    """The committed table; a test that it does not name is fast."""
    table: Slow = json.loads(COSTS.read_text())
    return table


def is_slow(test: str) -> bool:
    """Whether the table has this test, by its node id, or all cases of it."""
    return cost_if_slow(test) is not None


def cost_if_slow(test: str) -> float | None:
    """The CPU milliseconds of a test that the table has; of all cases of it, what one costs."""
    path, _, name = test.partition("::")
    named = slow_tests().get(path, {})
    return named.get(name, named.get(name.partition("[")[0]))


def choose_fast(
    costs: Mapping[str, float],
    blocks: Mapping[str, Collection[int]],
    powers: Mapping[str, float],
) -> set[str]:
    """The fast tier: what executes most for its cost, then what notices most for it.

    Of these the first cases of many tests come before all cases of few.

    Args:
        costs: CPU milliseconds of each test.
        blocks: The blocks of the package that each executes.
        powers: What the tests of a file notice for their time; 1.0 where nothing is measured.
    """
    dear = {test: cost + ITSELF for test, cost in costs.items()}
    affordable = {test for test, cost in costs.items() if cost <= DEAR}
    chosen: set[str] = set()
    spent = 0.0
    seen: set[int] = set()
    # Greedy cover (Chvatal 1979): what a test adds only falls, so an old value is a bound.
    heap = [(-len(blocks[test]) / dear[test], test) for test in affordable]
    heapq.heapify(heap)
    while heap:
        _, test = heapq.heappop(heap)
        worth = sum(block not in seen for block in blocks[test]) / dear[test]
        if worth < LEAST:
            continue
        if heap and -worth > heap[0][0]:
            heapq.heappush(heap, (-worth, test))
        elif spent + dear[test] <= FAST:
            chosen.add(test)
            seen.update(blocks[test])
            spent += dear[test]
    # What many tests execute but one notices is a matter of how many there are, and how unlike.
    cases: Counter[str] = Counter()
    ranked: list[tuple[float, str]] = []
    for test in sorted(affordable - chosen, key=lambda test: (costs[test], test)):
        name = test.partition("[")[0]
        power = powers.get(file_of(test), 1.0)
        ranked.append((dear[test] * (1 + CASES * cases[name]) / power, test))
        cases[name] += 1
    for _, test in sorted(ranked):
        if spent + dear[test] <= FAST:
            chosen.add(test)
            spent += dear[test]
    return chosen


def write_costs(costs: Mapping[str, float], fast: Collection[str]) -> None:
    """Writes the table of slow tests; a test of which no case is fast has one line."""
    cases: defaultdict[str, list[str]] = defaultdict(list)
    for test in costs:
        cases[test.partition("[")[0]].append(test)
    table: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for test, its in sorted(cases.items()):
        path, _, name = test.partition("::")
        slow = [case for case in its if case not in fast]
        if len(slow) == len(its):
            table[path][name] = _rounded(sum(costs[case] for case in its) / len(its))
        else:
            for case in sorted(slow):
                table[path][case.partition("::")[2]] = _rounded(costs[case])
    COSTS.write_text(json.dumps(table, indent=0, ensure_ascii=False) + "\n")


def _rounded(cost: float) -> float:
    """One digit of it, so that a new record differs by what has changed."""
    return float(f"{cost:.0e}")
