"""Sets of sizes, against lists of their values."""

from itertools import product

import pytest

from onnxpad.arithmetic.quasi_affine import Sizes

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
        assert sizes.as_data() == {"first": values[0], "last": values[-1], "step": sizes.step}
    with pytest.raises(ValueError, match=r"^6 is no admitted value of 1\.\.9 in steps of 2$"):
        Sizes(1, 9, 2).index(6)


def test_what_two_sets_have_in_common() -> None:
    for one, other in product(PLAIN, PLAIN[::3]):
        both = sorted({*values_of(one)} & {*values_of(other)})
        found = one.common(other)
        assert (values_of(found) if found else []) == both
        assert found == other.common(one)
