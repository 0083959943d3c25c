"""The table of which tests execute which function of the package."""

import heapq
import json
import lzma
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

EXECUTED: Final = Path(__file__).with_name("executed.xz")


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

    def of_files(self, files: Collection[str]) -> Iterator[int]:
        """The tests of these files, the cheapest of each first."""
        ranks: Counter[str] = Counter()
        ranked: list[tuple[int, float, int]] = []
        for cost, test in sorted((cost, test) for test, cost in enumerate(self.costs)):
            file = self.tests[test].partition("::")[0]
            if file in files:
                ranks[file] += 1
                ranked.append((ranks[file], cost, test))
        yield from (test for _, _, test in sorted(ranked))
