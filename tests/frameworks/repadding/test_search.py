"""What `match` decides by, and its search alone, on answers made of known effects."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onnxpad.frameworks.repadding.candidates import conventions, options_of
from onnxpad.frameworks.repadding.comparing import Closeness, Trial, trial
from onnxpad.frameworks.repadding.search import Point, Search, Space
from onnxpad.frameworks.repadding.sites import sites_of
from onnxpad.graph import Graph
from onnxpad.rewrite.pass_api import Context
from tests.support import one

SIZE = 64


class Landscape:
    """An answer to which every operator adds the effect of its option, bent by those before it."""

    def __init__(self, options: int, right: Point, bend: float) -> None:
        source, count = np.random.default_rng(0), len(right)
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


def far(gap: float) -> Trial:
    """An answer of another shape, or of the right one."""
    return Trial(gap == 0, gap, 0.0 if gap == 0 else math.inf, None)


def missing(*parts: float) -> Trial:
    """An answer of the right shape that lacks so much."""
    array = np.array(parts)
    return Trial(not array.any(), 0.0, float(np.abs(array).sum()), array)


def space(count: int, options: int, groups: tuple[tuple[int, ...], ...] = ()) -> Space:
    return Space(((0,) * options,) * count, groups)


def found(evaluate: Callable[[Point], Trial], within: Space, start: Point = ()) -> Point:
    search = Search(evaluate, within, lambda: False)
    return search.run([start or (0,) * len(within.tiers)])


@pytest.mark.parametrize("bend", [0.0, 0.1])
def test_wrong_ones_are_found_with_runs_in_proportion_to_moves(bend: float) -> None:
    """14 of 100 operators are wrong: 3^100 combinations, and a few hundred evaluations."""
    right = tuple(1 + each % 2 if each % 7 == 3 else 0 for each in range(100))
    landscape = Landscape(3, right, bend)
    assert found(landscape, space(100, 3)) == right
    assert landscape.count < 8 * 100 * 2


def test_two_that_help_only_together_are_found() -> None:
    """Each alone makes the shapes of two branches differ, so that the model does not run."""

    def evaluate(point: Point) -> Trial:
        return far(math.inf) if point[0] != point[1] else missing(1.0 - point[0], point[2])

    assert found(evaluate, Space(((0, 0),) * 3, ((0, 1),)), (0, 0, 1)) == (1, 1, 0)


def test_shapes_come_before_values() -> None:
    """Where the shape of the answer is wrong, a move that mends it is followed."""

    def evaluate(point: Point) -> Trial:
        gap = float(abs(2 - sum(point)))
        return Trial(point == (1, 0, 1), gap, 0.0 if gap == 0 else math.inf, None)

    assert found(evaluate, space(3, 2)) == (1, 0, 1)


def test_a_step_that_helps_may_lead_away() -> None:
    """A likely move makes the shape less wrong, and only an unlikely one makes it right."""
    known: dict[Point, float] = {(0, 0, 0): 2.0, (1, 0, 0): 1.0, (0, 1, 1): 0.0}
    within = Space(((0, 0), (0, 1), (0, 1)), ())
    assert found(lambda point: far(known.get(point, 3.0)), within) == (0, 1, 1)


def test_two_wrong_ones_that_no_error_tells_are_found() -> None:
    """Each right move alone makes it worse, and there are too many options to combine all."""
    right = (0, 0, 2, 0, 0, 0, 1, 0)
    errors = {0: 0.0, 1: 3.0, 2: 1.0}

    def evaluate(point: Point) -> Trial:
        wrong = sum(one != other for one, other in zip(point, right, strict=True))
        return missing(*[errors.get(wrong, 2.0)] * 2)

    assert found(evaluate, space(8, 4)) == right


def test_options_that_compute_the_same_are_not_tried() -> None:
    tried: set[Point] = set()

    def evaluate(point: Point) -> Trial:
        tried.add(point)
        return missing(1.0, 1.0)

    same = Space(((0, 0),) * 3, (), lambda point, each, one, other: each == 1 or one == other)
    found(evaluate, same)
    assert {point[1] for point in tried} == {0}
    assert {point[0] for point in tried} == {0, 1}


def test_what_is_not_needed_goes_back_and_what_fits_clearly_worse_does_not() -> None:
    """Within what is allowed, the padding that fits to rounding is the right one."""

    def pruned(evaluate: Callable[[Point], Trial], count: int) -> Point:
        return Search(evaluate, space(count, 2), lambda: False).pruned((1,) * count)

    needed = pruned(lambda point: missing(1.0 - point[2], 1.0 - point[5]), 8)
    assert needed == (0, 0, 1, 0, 0, 1, 0, 0)

    def close(point: Point) -> Trial:
        error = 5e-6 * (not point[0]) + 1e-7 * (not point[1])
        return Trial(error < 1e-5, 0.0, error, np.array([error]))

    assert pruned(close, 2) == (1, 0)


def test_a_search_ends_with_the_first_right_point() -> None:
    points: list[str] = []

    def evaluate(point: Point) -> Trial:
        points.append("".join(map(str, point)))
        return missing(*[float(point != (2, 0, 0))] * 2)

    starts: list[Point] = [(0,) * 3, (1,) * 3, (2,) * 3, (1,) * 3]
    assert Search(evaluate, Space(((0, 0, 1),) * 3, ()), lambda: False).run(starts) == (2, 0, 0)
    assert points == ["000", "111", "222", "100", "010", "001", "200"]  # an unlikely one


@pytest.mark.parametrize("most", [1, 4, 20])
def test_a_search_ends_where_time_does_with_the_best_so_far(most: int) -> None:
    landscape, seen = Landscape(2, tuple(each % 2 for each in range(50)), 0.3), []

    def evaluate(point: Point) -> Trial:
        seen.append(landscape(point))
        return seen[-1]

    search = Search(evaluate, space(50, 2), lambda: len(seen) >= most)
    best = search.run([(0,) * 50, (1,) * 50])
    assert len(seen) <= most + 2  # one more where a batch begins
    assert landscape(best).rank == min(each.rank for each in seen)


def floats(*values: float) -> Any:
    return np.array(values, np.float32)


def test_a_trial_of_several_samples() -> None:
    wanted = {(0, "a"): floats(0, 4), (1, "a"): floats(0, 8)}
    found = trial(wanted, {(0, "a"): floats(0, 4), (1, "a"): floats(0, 6)}, Closeness())
    assert (found.solved, found.gap, found.greatest) == (False, 0, 0.25)
    assert found.error == pytest.approx(math.sqrt(0.25**2 / 2 / 2))
    assert found.missing is not None
    assert found.missing.tolist() == pytest.approx([0, 0, 0, 0.25 / math.sqrt(2)])
    assert trial(wanted, wanted, Closeness()).solved
    assert all(trial(each, each, Closeness()).solved for each in ({}, {(0, "a"): floats()}))
    for lacks in ({(0, "a"): floats(0, 4)}, {(0, "a"): floats(0, 4), (1, "a"): floats(0)}):
        other = trial(wanted, lacks, Closeness())
        assert (other.solved, other.error, other.missing) == (False, math.inf, None)
        assert other.gap > 0


def test_a_long_output_is_looked_at_evenly() -> None:
    """At most 8192 elements of all outputs together, each output with equal weight."""
    long, short = np.arange(100_000, dtype=np.float32), floats(0, 2)
    wanted = {(0, "a"): long, (0, "b"): short}
    found = trial(wanted, {(0, "a"): long + 1e5, (0, "b"): short + 2}, Closeness())
    assert found.missing is not None
    assert 4000 < found.missing.size <= 8192
    assert np.linalg.norm(found.missing[:-2]) == pytest.approx(1, rel=1e-4)
    assert np.linalg.norm(found.missing[-2:]) == pytest.approx(1)


def test_options_each_compute_something_else() -> None:
    given = f"float[1, 1, 3, 3] w = {{{', '.join(['1'] * 9)}}}"
    model = one("y = Conv (x, w)", inputs="float[1, 1, h, k] x", initializers=given)
    (steady,), _ = sites_of(Context(Graph.from_proto(model)))
    known, whole = options_of(steady)
    effects = [each.padding.effect((9, 9), steady.windows) for each in known]
    assert len({*map(repr, effects)}) == len(known)
    assert known[0].padding == steady.padding
    told = conventions(steady)
    assert whole.keys() == told.keys()
    for name, at in whole.items():
        assert effects[at] == told[name].effect((9, 9), steady.windows)
