"""Searches for the padding of drawn models, whose answers are sums of effects, bent a little.

`searches.txt` keeps what each finds and which trials it makes: a search that finds less, needs more
runs, or tries what is unlikely earlier than before shows there.
"""

import math
import random
import zlib
from pathlib import Path
from typing import Final

import numpy as np

from onnxpad.frameworks.repadding.comparing import Trial
from onnxpad.frameworks.repadding.search import Point, Search, Space
from tests.support.lines import Lines

_SIZE: Final = 12


class Problem:
    """Operators with options, some of which may not run together, and an answer to find."""

    def __init__(self, seed: int) -> None:
        draws, numbers = random.Random(seed), np.random.default_rng(seed)
        self.count = draws.choice((3, 5, 8, 12))
        self.options = draws.choice((2, 3, 4))
        shape = (self.count, self.options, _SIZE)
        self.effects = numbers.normal(size=shape).round(3)
        self.effects[numbers.random(shape[:2]) < 0.2] = 0.0
        self.mix = numbers.normal(size=(_SIZE, _SIZE)).round(3)
        self.bend = draws.choice((0.0, 0.0, 0.3, 1.0, 3.0))
        self.breaks = draws.choice((0, 0, 1, 2))  # pairs that run only together
        self.is_out = draws.random() < 0.3  # the answer is none of the space's
        wrong = draws.choice((1, 2, 3, self.count))
        right = [0] * self.count
        for place in draws.sample(range(self.count), min(wrong, self.count)):
            right[place] = draws.randrange(1, self.options)
        for pair in range(self.breaks):
            right[2 * pair + 1 if 2 * pair + 1 < self.count else 0] = right[2 * pair % self.count]
        self.right = tuple(right)
        tiers = tuple(
            (0, *sorted(draws.choice((0, 1, 2)) for _ in range(self.options - 1)))
            for _ in range(self.count)
        )
        places = draws.sample(range(self.count), self.count)
        groups = (tuple(sorted(places[:2])), tuple(sorted(places[2:5]))) if self.count > 4 else ()
        groups = groups if draws.random() < 0.6 else ()
        zero = (0,) * self.count
        self.starts: list[Point] = [zero, *draws.choice(([], [(1,) * self.count]))]
        free = frozenset(draws.sample(range(self.count), max(2, self.count // 2)))
        if draws.choice((True, True, False)) is False:
            tiers = tuple(each if place in free else () for place, each in enumerate(tiers))
        self.space = Space(tiers, groups)
        self.most = draws.choice((None, None, 20, 60))
        self.wanted = self.answer(self.right) + (0.4 if self.is_out else 0.0)

    def answer(self, point: Point) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        total = np.zeros(_SIZE)
        for place, option in enumerate(point):
            total = total + self.effects[place, option]
        found: np.ndarray[tuple[int], np.dtype[np.float64]] = total + self.bend * np.tanh(
            self.mix @ total
        )
        return found

    def evaluate(self, point: Point) -> Trial:
        apart = sum(
            point[2 * pair] != point[2 * pair + 1]
            for pair in range(self.breaks)
            if 2 * pair + 1 < self.count
        )
        if apart:
            return Trial(False, float(apart), math.inf, None)
        missing = (self.wanted - self.answer(point)).round(9)
        error = float(np.sqrt(np.mean(missing**2)))
        return Trial(error < 1e-6, 0.0, error, missing)


def said(line: str) -> str:
    """What is found of a problem, how well, by how many trials, and a checksum of these."""
    number = int(line.partition(":")[0])
    problem = Problem(number)
    tried: list[Point] = []

    def evaluate(point: Point) -> Trial:
        tried.append(point)
        return problem.evaluate(point)

    search = Search(
        evaluate,
        problem.space,
        lambda: problem.most is not None and len(tried) >= problem.most,
    )
    found = search.run(problem.starts)
    runs = len(tried)
    few = search.pruned(found)
    trial = search.trial(few)
    told = "solved" if trial.solved else f"off by {trial.error:.4g}, {trial.gap:g} in shape"
    order = zlib.crc32(repr(tried).encode())
    points = " ".join("".join(map(str, point)) for point in (problem.right, found, few))
    return f"{number}: {points}, {told}, {runs} + {len(tried) - runs} trials, {order:08x}"


LINES: Final = Lines(Path(__file__).with_name("searches.txt"), said)
