"""The search alone, on answers made of known effects."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from onnxpad.frameworks.repadding.comparing import Trial
from onnxpad.frameworks.repadding.search import Point, Search, Space
from tests.support.rows import each_row

SIZE = 64


class Landscape:
    """An answer to which every operator adds the effect of its option, bent by those before it."""

    def __init__(self, count: int, options: int, right: Point, bend: float, seed: int = 0) -> None:
        source = np.random.default_rng(seed)
        self.effects = source.normal(size=(count, options, SIZE))
        self.mix = source.normal(size=(count, SIZE, SIZE)) / math.sqrt(SIZE)
        self.bend = bend
        self.count = 0
        self.right = self.answer(right)

    def answer(self, point: Point) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        found = np.zeros(SIZE)
        for place, option in enumerate(point):
            found = found + self.effects[place, option]
            found = (1 - self.bend) * found + self.bend * np.tanh(self.mix[place] @ found)
        return found

    def __call__(self, point: Point) -> Trial:
        self.count += 1
        missing = self.right - self.answer(point)
        error = float(np.sqrt(np.mean(missing**2)))
        return Trial(error < 1e-9, 0.0, error, missing)


def space(count: int, options: int, groups: tuple[tuple[int, ...], ...] = ()) -> Space:
    return Space(((0,) * options,) * count, groups)


def search(evaluate: Callable[[Point], Trial], within: Space) -> Search:
    return Search(evaluate, within, lambda: False)


@pytest.mark.parametrize("bend", [0.0, 0.1])
def test_wrong_ones_are_found_with_runs_in_proportion_to_moves(bend: float) -> None:
    """15 of 100 operators are wrong: 3^100 combinations, and a few hundred evaluations."""
    count, options = 100, 3
    right = tuple(1 + each % 2 if each % 7 == 3 else 0 for each in range(count))
    assert sum(map(bool, right)) == 14
    landscape = Landscape(count, options, right, bend)
    found = search(landscape, space(count, options)).run([(0,) * count])
    assert found == right
    assert landscape.count < 8 * count * (options - 1)


def test_a_group_is_split_where_only_a_part_of_it_is_wrong() -> None:
    right = (1, 1, 1, 0, 0, 1, 0, 0)
    landscape = Landscape(8, 2, right, 0.2)
    found = search(landscape, space(8, 2, ((0, 1, 2, 3), (4, 5, 6, 7)))).run([(0,) * 8])
    assert found == right


def test_only_free_operators_change() -> None:
    landscape = Landscape(6, 2, (1, 0, 1, 0, 1, 0), 0.1)
    found = search(landscape, Space(((0, 0),) * 3 + ((),) * 3, ())).run([(0,) * 6])
    assert found[3:] == (0, 0, 0)
    assert found[:3] == (1, 0, 1)


def test_two_that_help_only_together_are_found() -> None:
    """Each alone makes the shapes of two branches differ, so that the model does not run."""

    def evaluate(point: Point) -> Trial:
        if point[0] != point[1]:
            return Trial(solved=False, gap=math.inf, error=math.inf, missing=None)
        missing = np.array([1.0 - point[0], float(point[2])])
        return Trial(not missing.any(), 0.0, float(np.abs(missing).sum()), missing)

    found = search(evaluate, Space(((0, 0),) * 3, ((0, 1),))).run([(0, 0, 1)])
    assert found == (1, 1, 0)


def test_shapes_come_before_values() -> None:
    """Where the shape of the answer is wrong, a move that mends it is followed."""

    def evaluate(point: Point) -> Trial:
        gap = float(abs(2 - sum(point)))
        return Trial(point == (1, 0, 1), gap, 0.0 if gap == 0 else math.inf, None)

    found = search(evaluate, space(3, 2)).run([(0, 0, 0)])
    assert found == (1, 0, 1)


def test_a_step_that_helps_may_lead_away() -> None:
    """A likely move makes the shape less wrong, and only an unlikely one makes it right."""

    def evaluate(point: Point) -> Trial:
        known: dict[Point, float] = {(0, 0, 0): 2.0, (1, 0, 0): 1.0, (0, 1, 1): 0.0}
        gap = known.get(point, 3.0)
        return Trial(gap == 0, gap, 0.0 if gap == 0 else math.inf, None)

    assert search(evaluate, Space(((0, 0), (0, 1), (0, 1)), ())).run([(0, 0, 0)]) == (0, 1, 1)


def test_options_that_compute_the_same_are_not_tried() -> None:
    tried: set[Point] = set()

    def evaluate(point: Point) -> Trial:
        tried.add(point)
        return Trial(solved=False, gap=0.0, error=1.0, missing=np.ones(2))

    within = Space(((0, 0),) * 3, (), lambda point, each, one, other: each == 1 or one == other)
    search(evaluate, within).run([(0, 0, 0)])
    assert {point[1] for point in tried} == {0}
    assert {point[0] for point in tried} == {0, 1}


def test_what_is_not_needed_goes_back() -> None:
    """Operators whose change makes no difference are as they were."""

    def evaluate(point: Point) -> Trial:
        missing = np.array([1.0 - point[2], 1.0 - point[5]])
        return Trial(not missing.any(), 0.0, float(np.abs(missing).sum()), missing)

    task = search(evaluate, space(8, 2))
    assert task.pruned((1,) * 8) == (0, 0, 1, 0, 0, 1, 0, 0)


def test_what_fits_clearly_worse_does_not_go_back() -> None:
    """Within what is allowed, the padding that fits to rounding is the right one."""

    def evaluate(point: Point) -> Trial:
        error = 2e-8 if point[0] else 5e-6
        return Trial(error < 1e-5, 0.0, error, np.array([error]))

    assert search(evaluate, space(2, 2)).pruned((1, 1)) == (1, 0)


def test_time_ends_it() -> None:
    landscape = Landscape(50, 2, tuple(each % 2 for each in range(50)), 0.3)
    task = Search(landscape, space(50, 2), lambda: landscape.count > 20)
    task.run([(0,) * 50])
    assert landscape.count < 30


def test_two_wrong_ones_that_no_error_tells_are_found() -> None:
    """Each right move alone makes it worse, and there are too many options to combine all."""
    right = (0, 0, 2, 0, 0, 0, 1, 0)

    def evaluate(point: Point) -> Trial:
        wrong = sum(one != other for one, other in zip(point, right, strict=True))
        error = {0: 0.0, 1: 3.0, 2: 1.0}.get(wrong, 2.0)
        missing = np.full(2, error)
        return Trial(not error, 0.0, error, missing)

    assert search(evaluate, space(8, 4)).run([(0,) * 8]) == right


def way(
    evaluate: Callable[[Point], Trial],
    within: Space,
    starts: list[Point],
    most: float = math.inf,
) -> tuple[list[str], Point]:
    """The points that a search evaluates, in order, and the one that it ends with."""
    tried: list[str] = []

    def noted(point: Point) -> Trial:
        tried.append("".join(map(str, point)))
        return evaluate(point)

    found = Search(noted, within, lambda: len(tried) >= most).run(starts)
    return tried, found


def sums(count: int, right: list[int] | Point, bend: float) -> Callable[[Point], Trial]:
    """Answers in whole numbers: sums of effects, bent by their squares."""
    effects = np.random.default_rng(3).integers(-9, 10, (8, 4, 6))[:count]

    def answer(point: Point) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        total = sum(effects[place, option] for place, option in enumerate(point))
        return np.asarray(total + bend * (total * total % 7), np.float64)

    wanted = answer(right) if isinstance(right, tuple) else np.array(right, np.float64)

    def evaluate(point: Point) -> Trial:
        missing = wanted - answer(point)
        error = float(np.sqrt(np.mean(missing**2)))
        return Trial(error == 0, 0.0, error, missing)

    return evaluate


def test_the_moves_of_a_space() -> None:
    within = Space(((0, 1), (0, 1), (2, 0)), ((0, 1),))
    assert [*dict.fromkeys(within.moves((0, 1, 0), 0))] == [
        ((1, 0),), ((2, 1),)
    ]  # fmt: skip
    assert len({*within.moves((0, 0, 0), 2)}) == 4
    some = Space(((0, 1), (), (2, 0)), ((0, 1),))
    assert [*dict.fromkeys(some.moves((1, 1, 1), 1))] == [((0, 0),), ((2, 0),)]


RIGHT = Trial(True, 0.0, 0.0, np.zeros(1))


@pytest.mark.parametrize(
    ("right", "last"),
    [
        ((1, 1, 1), "000 111"),  # another start
        ((0, 0, 1), "000 111 222 100 010 001"),  # a move
        ((2, 0, 0), "000 111 222 100 010 001 200"),  # an unlikely one
    ],
)
def test_a_search_ends_with_the_first_right_point(right: Point, last: str) -> None:
    def evaluate(point: Point) -> Trial:
        return RIGHT if point == right else Trial(False, 0.0, 1.0, np.ones(1))

    starts: list[Point] = [(0,) * 3, (1,) * 3, (2,) * 3, (1,) * 3]
    tried, found = way(evaluate, Space(((0, 0, 1),) * 3, ()), starts)
    assert (" ".join(tried), found) == (last, right)


@each_row("most", [1, 2, 4, 9, 10, 12, 20, 30], at_once=4)
def test_a_search_ends_where_time_does(most: int) -> None:
    evaluate = sums(4, [5, 4, 3, 2, 1, 0], 0.5)
    within = Space(((0, 0, 1, 1),) * 4, ((0, 1),))
    points, _ = way(evaluate, within, [(0,) * 4, (1,) * 4], 40)
    tried, found = way(evaluate, within, [(0,) * 4, (1,) * 4], most)
    assert tried == points[: len(tried)]
    assert len(tried) <= most + 2  # one more where a batch begins
    assert evaluate(found).rank == min(evaluate(tuple(map(int, point))).rank for point in tried)


def test_joint_moves_end_with_the_first_right_point() -> None:
    def evaluate(point: Point) -> Trial:
        missing = np.array([4.0, 4, 0]) - np.array(point)
        error = float(np.abs(missing).sum())
        return Trial(error == 0, 0.0, error, missing)

    tried, found = way(evaluate, Space(((1,) * 5,) * 3, ()), [(0, 0, 0)])
    assert found == (4, 4, 0)
    assert " ".join(tried) == "000 100 200 300 400 010 020 030 040 001 002 003 004 440"
