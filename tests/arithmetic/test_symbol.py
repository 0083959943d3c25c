"""Sets of sizes, against lists of their values."""

from itertools import product

import pytest

from onnxpad.arithmetic import quasi_affine
from onnxpad.arithmetic.symbol import Sizes, Symbol, counted

PLAIN = [
    Sizes(first, last, step)
    for first, last, step in product((-4, 0, 1, 5), (5, 6, 17, 40), (1, 2, 3, 7))
]


def values_of(sizes: Sizes) -> list[int]:
    return list(range(sizes.first, sizes.last + 1, sizes.step))


def test_plain_sets() -> None:
    for sizes in PLAIN:
        values = values_of(sizes)
        assert sizes.count == len(values)
        assert [sizes.value(index) for index in range(len(values))] == values
        assert [each for each in range(-9, 60) if each in sizes] == values
        assert [sizes.index(each) for each in values] == [*range(len(values))]
        for each in range(-9, 45):
            assert sizes.from_on(each) == sum(value < each for value in values[:-1]) + (
                0 if each <= values[-1] else -(-(each - values[-1]) // sizes.step)
            )
        assert [sizes.by_index().at(index) for index in range(len(values))] == values
        assert (sizes.settled, sizes.repeats, sizes.span) == (0, 1, sizes.step)
        assert sizes.as_data() == {"first": values[0], "last": values[-1], "step": sizes.step}
        assert values_of(sizes.until(50)) == [*range(sizes.first, 51, sizes.step)]
    with pytest.raises(ValueError, match=r"^6 is no admitted value of 1\.\.9 in steps of 2$"):
        Sizes(1, 9, 2).index(6)


def test_what_two_sets_have_in_common() -> None:
    for one, other in product(PLAIN, PLAIN[::3]):
        both = sorted({*values_of(one)} & {*values_of(other)})
        found = one.common(other)
        assert (values_of(found) if found else []) == both
        assert found == other.common(one)


GAPS = [
    # Values, after how many of them they repeat, and by how much they then are greater.
    ([3, 4, 7, 8, 11, 12], (), 2, 4, "3, 4, 7, 8 and so on to 200"),
    ([1, 2, 5, 8, 11], (1,), 1, 3, "1, 2, 5 and so on to 200"),
    ([0, 5, 6, 10, 15, 16], (), 3, 10, "0, 5, 6, 10, 15, 16 and so on to 200"),
]


@pytest.mark.parametrize(("given", "early", "repeats", "period", "words"), GAPS)
def test_sets_with_gaps(
    given: list[int], early: tuple[int, ...], repeats: int, period: int, words: str
) -> None:
    cycle = given[len(early) : len(early) + repeats]
    values = [*early]
    for start in range(0, 400, period):
        values += [each + start for each in cycle]
    values = [each for each in values if each <= 200]
    sizes = counted(quasi_affine.QuasiAffine(tuple(values), 0, len(values)))
    assert sizes is not None
    assert (sizes.early, sizes.cycle, sizes.period) == (early, tuple(cycle), period)
    assert (sizes.first, sizes.last, sizes.count) == (values[0], values[-1], len(values))
    assert [sizes.value(index) for index in range(len(values))] == values
    assert [each for each in range(-5, 260) if each in sizes] == values
    assert [sizes.index(each) for each in values] == [*range(len(values))]
    for each in range(-5, values[-1] + 1):
        assert sizes.from_on(each) == sum(value < each for value in values)
    assert (sizes.settled, sizes.repeats, sizes.span) == (len(early), repeats, period)
    data = sizes.as_data()
    assert (data["early"], data["cycle"], data["period"]) == ([*early], cycle, period)
    assert str(sizes) == words.replace("200", str(values[-1]))
    for last in (values[0], 30, 100, 390):
        until = sizes.until(last)
        expected = [each for each in (*early, *cycle) if each <= last]
        assert [until.value(index) for index in range(until.count)][: len(expected)] == expected
        assert until.last <= last < until.last + period


def test_gaps_in_words() -> None:
    cycle = (1, 2, 4, 8, 9, 15, 17, 18, 26)
    values = tuple(each + 30 * period for period in range(40) for each in cycle)
    many = counted(quasi_affine.QuasiAffine(values, 0, len(values)))
    assert many is not None
    few = counted(quasi_affine.QuasiAffine((1, 2, 9), 0, 3))
    assert few is not None
    assert str(few) == "1, 2 or 9"


def test_symbols_that_are_derived() -> None:
    n, m = Symbol("n"), Symbol("m", Sizes(2, 8, 2))
    form = quasi_affine.identity(5)
    most = Symbol("most", Sizes(1, 9), "max", ((1, ((n, form),)), (0, ((m, form),))))
    deep = Symbol("deep", Sizes(1, 9), "min", ((0, ((most, form),)), (2, ((n, form),))))
    assert (n.bases, m.bases) == ((n,), (m,))
    assert (*most.bases,) == tuple(sorted((n, m)))
    assert (*deep.bases,) == tuple(sorted((n, m)))
    kinds = [sorted(each.kinds) for each in (n, most, deep)]
    assert kinds == [[], ["max"], ["max", "min"]]
    assert (n.depth, most.depth, deep.depth) == (0, 1, 2)
