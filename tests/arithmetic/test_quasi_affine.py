"""Functions of an index, and sets of sizes, against what a walk over all their points says."""

import operator
from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from math import gcd

import pytest

from onnxpad.arithmetic import quasi_affine
from onnxpad.arithmetic.quasi_affine import (
    LIMIT,
    InexpressibleError,
    QuasiAffine,
    Sizes,
    support,
)
from tests.support.rows import each_row

COUNT = 14


@each_row("period", range(4))
@pytest.mark.parametrize("threshold", range(4))
def test_the_support_is_the_closest_range(threshold: int, period: int) -> None:
    """A table of 0 and 1, of which the last part repeats, or that is all there is."""
    for bits in product((0, 1), repeat=threshold + period):
        table = (*bits, *bits[threshold:])
        f = QuasiAffine(table, period, COUNT if period else len(table))
        ones = [index for index in range(f.count) if f.at(index)]
        found = support(f)
        assert {*ones} <= {*found}
        if not ones:
            assert not found
            continue
        assert found.start == ones[0]
        assert found.step == (gcd(*(index - ones[0] for index in ones)) or 1)
        assert ones[-1] < found.stop <= (ones[-1] + 1 if not any(bits[threshold:]) else f.count)


def tabulated(table: list[int], period: int, count: int) -> QuasiAffine:
    """The normal form of a function with f(0) .. f(T+2P-1) as given; of few points, of all."""
    plain = QuasiAffine(tuple(table), period if count > LIMIT else 0, count)
    return quasi_affine.add(plain, QuasiAffine((0, 0), 1, count) if count > LIMIT else plain)


def walked(f: QuasiAffine, indices: Iterable[int]) -> list[int]:
    return [f.at(index) for index in indices]


# Growing, falling, constant, periodic, late to settle; of many points, of few, and of one.
MANY, FEW = 2 * LIMIT, 23
TABLES: list[tuple[list[int], int]] = [
    ([0, 1], 1), ([7, 7], 1), ([3, 1], 1), ([-5, -3], 1), ([9, -40, 8, 7], 1), ([4, 4, 4, 5, 6], 1),
    ([0, 1, 0, 1], 2), ([0, 0, 1, 1], 2), ([5, 0, 2, 3, 1, 5, 6], 3), ([-9, 4, -7, 4], 2),
    ([8, 1, 0, 0, 0, 0], 1), ([1, -1, 1, -1, 2, -4], 2), ([6, 3, 5, 0, 2], 2),
]  # fmt: skip
INDICES = (*range(60), *range(MANY - 30, MANY))
FUNCTIONS = [tabulated(table, period, MANY) for table, period in TABLES]
SHORT = [tabulated([f.at(index) for index in range(FEW)], 1, FEW) for f in FUNCTIONS]


@each_row(("functions", "indices"), [(FUNCTIONS, INDICES), (SHORT, range(FEW))], at_once=1)
def test_every_operation_is_that_of_the_values(
    functions: list[QuasiAffine], indices: Sequence[int]
) -> None:
    for f in functions:
        values = walked(f, indices)
        single = {
            "positive": (quasi_affine.positive_part(f), [max(each, 0) for each in values]),
            "negative": (quasi_affine.negative(f), [int(each < 0) for each in values]),
            "scaled": (quasi_affine.scale(f, -3), [-3 * each for each in values]),
            "moved": (quasi_affine.translate(f, 4), [each + 4 for each in values]),
            "halved": (quasi_affine.divide(f, 2), [each // 2 for each in values]),
            "in fives": (quasi_affine.divide(f, 5), [each // 5 for each in values]),
        }
        for name, (found, expected) in single.items():
            assert walked(found, indices) == expected, (f, name)
            assert is_normal(found), (f, name)
        assert f.bounds() == (min(values), max(values))
        assert any(f.values) is any(values)
        threshold, period = quasi_affine.repetition(f)
        assert 2 * period <= f.count - threshold
        assert all(
            f.at(i) + f.at(i + 2 * period) == 2 * f.at(i + period)
            for i in indices
            if threshold <= i < f.count - 2 * period
        )
        for g in functions:
            others = walked(g, indices)
            total = quasi_affine.add(f, g)
            assert walked(total, indices) == [a + b for a, b in zip(values, others, strict=True)]
            assert is_normal(total)
            if f.period and any(map(operator.mul, grown(f), grown(g))):
                with pytest.raises(InexpressibleError):
                    quasi_affine.multiply(f, g)
            else:
                times = quasi_affine.multiply(f, g)
                assert walked(times, indices) == [
                    a * b for a, b in zip(values, others, strict=True)
                ]


def grown(f: QuasiAffine) -> list[int]:
    """By how much a function grows in six indices, far from where it begins."""
    return [f.at(index + 6) - f.at(index) for index in range(60, 66)]


def is_normal(f: QuasiAffine) -> bool:
    """Whether no smaller threshold, and no part of the period, would do."""
    if not f.period:
        return len(f.values) == f.count <= LIMIT
    place, period = f.threshold - 1, f.period
    late = place < 0 or f.at(place) + f.at(place + 2 * period) != 2 * f.at(place + period)
    return late and not any(
        period % part == 0
        and all(
            f.at(i) + f.at(i + 2 * part) == 2 * f.at(i + part)
            for i in range(f.threshold, f.threshold + 2 * period)
        )
        for part in range(1, period)
    )


def test_a_function_of_a_function() -> None:
    """`through` gives F and s with f(i) = F((g(i) - g(0)) / s), where g climbs in steps of s."""
    climbs = [([3, 5], 1), ([0, 0, 4, 4], 2), ([1, 1, 1, 7, 7, 7, 13], 3), ([2, 5, 5, 8, 8], 2)]
    seen = set()
    for (table, period), (rise, rest) in product(TABLES, climbs):
        for count in (FEW, MANY):
            g = tabulated([*rise], rest, MANY)
            f = tabulated([*table], period, MANY)
            if count == FEW:
                f, g = (QuasiAffine(tuple(walked(each, range(FEW))), 0, FEW) for each in (f, g))
            indices = range(FEW) if count == FEW else INDICES
            by_value: dict[int, set[int]] = {}
            for index in range(FEW if count == FEW else 200):
                by_value.setdefault(g.at(index), set()).add(f.at(index))
            is_function = all(len(values) == 1 for values in by_value.values())
            found = quasi_affine.through(f, g)
            assert (found is not None) is is_function, (table, rise, count)
            seen.add(is_function)
            if found is not None:
                outer, step = found
                assert step == max(b - a for a, b in pairwise(walked(g, range(8))))
                for index in indices:
                    place = (g.at(index) - g.at(0)) // step
                    assert outer.at(place) == f.at(index)
                assert outer.count == (g.at(g.count - 1) - g.at(0)) // step + 1
    assert seen == {True, False}
    falls = tabulated([3, 1], 1, MANY)
    uneven = tabulated([0, 1, 3, 4], 2, MANY)
    for g in (falls, uneven, tabulated([7, 7], 1, MANY)):
        assert quasi_affine.through(quasi_affine.identity(MANY), g) is None


def test_a_set_of_sizes_is_a_range() -> None:
    known = [(a, b, s) for a, b, s in product((-4, 0, 1, 5), (5, 6, 17, 40), (1, 2, 3, 7))]
    for first, last, step in known:
        sizes, values = Sizes(first, last, step), range(first, last + 1, step)
        indices = range(len(values))
        assert sizes.count == len(values)
        assert [sizes.value(index) for index in indices] == [*values]
        assert [sizes.by_index().at(index) for index in indices] == [*values]
        assert [each for each in range(-9, 60) if each in sizes] == [*values]
        assert [*map(sizes.index, values)] == [*indices]
        for each in range(-9, 45):  # counted on as if there were more of them
            assert sizes.from_on(each) == len(range(first, max(each, first), sizes.step))
        assert sizes.as_data() == {"first": first, "last": values[-1], "step": sizes.step}
        assert sizes == Sizes(first, values[-1], step)
        for low, high, by in known[::3]:
            both = sorted({*values} & {*range(low, high + 1, by)})
            found = sizes.common(Sizes(low, high, by))
            assert found == Sizes(low, high, by).common(sizes)
            assert ([*map(found.value, range(found.count))] if found else []) == both
    told = [str(Sizes(*each)) for each in ((4, 11, 4), (1, 9), (7, 8, 2))]
    assert told == ["4..8 in steps of 4", "1..9", "7"]
    with pytest.raises(ValueError, match=r"^6 is no admitted value of 1\.\.9 in steps of 2$"):
        Sizes(1, 9, 2).index(6)
    for empty in ((5, 4, 1), (33, 32, 32), (1, 9, 0)):
        with pytest.raises(ValueError, match="not empty"):
            Sizes(*empty)
