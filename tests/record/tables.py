"""The two tables of the record: what slow tests cost, and which tests execute which function."""

import heapq
import json
import lzma
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

COSTS: Final = Path(__file__).with_name("costs.json")
EXECUTED: Final = Path(__file__).with_name("executed.xz")

FAST: Final = 16_000.0
"""CPU milliseconds that the fast tier may take, without collection."""

DEAR: Final = 400.0
"""CPU milliseconds above which no test is in the fast tier, whatever it alone executes."""

OFTEN: Final = 3
"""By how many tests of the fast tier a block is executed, if it can be afforded."""

Slow = Mapping[str, Mapping[str, float]]
"""For each file the slow tests, or single cases of them, and what one costs in CPU milliseconds."""


@cache
def slow_tests() -> Slow:
    """The committed table; a test that it does not name is fast."""
    table: Slow = json.loads(COSTS.read_text())
    return table


def is_slow(test: str) -> bool:
    """Whether the table has this test, by its node id, or all cases of it."""
    path, _, name = test.partition("::")
    named = slow_tests().get(path, {})
    return name in named or name.partition("[")[0] in named


def choose_fast(costs: Mapping[str, float], blocks: Mapping[str, Collection[int]]) -> set[str]:
    """The tests of the fast tier: those that execute most for what they cost, then the cheapest.

    Args:
        costs: CPU milliseconds of each test.
        blocks: The blocks of the package that each executes.
    """
    chosen: set[str] = set()
    spent = 0.0
    seen: Counter[int] = Counter()
    for often in range(1, OFTEN + 1):
        # Greedy cover (Chvatal 1979): what a test adds only falls, so an old value is a bound.
        heap = [
            (-len(blocks[test]) / max(cost, 1.0), test)
            for test, cost in costs.items()
            if cost <= DEAR and test not in chosen
        ]
        heapq.heapify(heap)
        while heap and spent < FAST:
            _, test = heapq.heappop(heap)
            new = sum(seen[block] < often for block in blocks[test])
            if not new:
                continue
            worth = -new / max(costs[test], 1.0)
            if heap and worth > heap[0][0]:
                heapq.heappush(heap, (worth, test))
            elif spent + costs[test] <= FAST:
                chosen.add(test)
                seen.update(blocks[test])
                spent += costs[test]
    for test in sorted(costs, key=lambda test: (costs[test], test)):
        if test not in chosen and spent + costs[test] <= FAST:
            chosen.add(test)
            spent += costs[test]
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


@dataclass(frozen=True, slots=True)
class Executed:
    """Which tests execute which functions.

    Attributes:
        tests: Node ids.
        costs: CPU milliseconds of each.
        functions: File and qualified name, such as `passes/fold_pad.py::FoldPad.visit`.
        table: Of shape (functions, tests): whether the test executes the function, in whatever
            process.
    """

    tests: Sequence[str]
    costs: Sequence[float]
    functions: Sequence[str]
    table: np.ndarray[tuple[int, int], np.dtype[np.bool_]]

    @classmethod
    def read(cls) -> "Executed":
        """The committed table."""
        head, bits = lzma.decompress(EXECUTED.read_bytes()).split(b"\n", 1)
        tests, costs, functions = json.loads(head)
        flat = np.unpackbits(np.frombuffer(bits, np.uint8), count=len(tests) * len(functions))
        return cls(tests, costs, functions, flat.reshape(len(functions), -1).astype(bool))

    def write(self) -> None:
        """Commits it to the file."""
        head = json.dumps([self.tests, self.costs, self.functions]).encode()
        EXECUTED.write_bytes(lzma.compress(head + b"\n" + np.packbits(self.table).tobytes()))

    def best(self, functions: Collection[str]) -> Iterator[int]:
        """The tests that execute one of these functions, those first that say most about them.

        That is, by what they cost and how much else they execute; further cases of one test come
        later.
        """
        rows = [row for row, name in enumerate(self.functions) if name in functions]
        executing = np.flatnonzero(self.table[rows].any(axis=0))
        worth = np.maximum(self.costs, 1.0) * self.table.sum(axis=0)
        cases: Counter[str] = Counter()
        heap = [(worth[test], int(test)) for test in executing]
        heapq.heapify(heap)
        while heap:
            value, test = heapq.heappop(heap)
            name = self.tests[test].partition("[")[0]
            due = worth[test] * (1 + cases[name])
            if heap and due > value and due > heap[0][0]:
                heapq.heappush(heap, (due, test))
                continue
            cases[name] += 1
            yield test
