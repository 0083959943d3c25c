"""The numbers of a probe, each helper on its own: sizes to try, weights, and scales."""

from typing import Any

import numpy as np
import pytest

from onnxpad.arithmetic.size import Size, Sizes, Unknown, ceil_div, floor_div, modulo, symbol
from onnxpad.probe.cut import (
    UnprobeableError,
    _least,
    _number,
    _of_batch,
    _result_scale,
    _slope,
    _spread,
    _taps,
    _telling,
    _values,
)
from tests.support.rows import each_row

H, W = symbol("h"), symbol("w")
EVEN = symbol("e", Sizes(2, 64, 2))


def of(size: object) -> Any:
    assert isinstance(size, Size)
    return size.symbols[0]


@each_row(
    ("elements", "scale"),
    [(1, 1), (15, 1), (16, 2), (31, 2), (32, 4), (63, 4), (64, 8), (200, 16)],
)
def test_the_scale_of_a_result(elements: int, scale: int) -> None:
    """The greatest sum is 8 times that of the weights: 128 / 8 = 16 need the next power of 2."""
    ones = np.ones((1, 1, elements))
    assert _result_scale(ones) == scale
    assert _result_scale(-ones) == scale
    assert _result_scale(np.concatenate([0 * ones, ones])) == scale  # of the greater channel
    assert _result_scale(None) == 0.125


@pytest.mark.parametrize(("kernel", "top"), [((1,), 3), ((8, 8), 3), ((5, 13), 1), ((1, 64), 3)])
def test_weights_are_small_and_never_0(kernel: tuple[int, ...], top: int) -> None:
    found = _taps(*kernel)
    assert found.shape == (2, 1, *kernel)
    assert np.abs(found).min() >= 1
    assert np.abs(found).max() <= top
    assert found.min() < 0 < found.max() or found.size == 2
    if found.size > 60:
        assert {*np.abs(found).ravel()} == {*range(1, top + 1)}
    assert _taps(*kernel) is found


def test_sizes_as_numbers() -> None:
    assert _number(7, {}, "x") == 7
    assert _number(2 * H + W, {"h": 3, "w": 4, "z": 9}, "x") == 10
    with pytest.raises(UnprobeableError):
        _number(Unknown("at run time"), {"h": 3}, "x")
    with pytest.raises(UnprobeableError):
        _number(H + W, {"h": 3}, "x")


def test_the_first_size_at_which_no_axis_is_empty() -> None:
    assert _least(of(H), [H, 3, W - 9]) == 0
    assert _least(of(H), [H - 4, W - 9]) == 4  # the fifth: 5
    assert _least(of(EVEN), [EVEN - 4]) == 2  # the third: 6
    assert _least(of(H), [H - 4, floor_div(H, 9)]) == 8
    assert _least(of(symbol("s", Sizes(1, 3))), [symbol("s", Sizes(1, 3)) - 9]) == 0  # at none


@each_row(
    ("shape", "slope"),
    [([H], 1), ([3 * H], 3), ([3 * H, 2 * H - 1], 2), ([floor_div(H, 2)], 1), ([5, 7 * W], 1),
     ([3 * H + W], 1)],
)  # fmt: skip
def test_how_fast_axes_grow(shape: Any, slope: int) -> None:
    assert _slope(of(H), 0, shape) == slope
    few = symbol("h", Sizes(1, 2))
    assert _slope(of(few), 1, [few * 4]) == 1  # it grows no more


def test_the_axis_of_the_batch() -> None:
    assert _of_batch([H, 3, W], [H, 3, W, modulo(W, 2)]) == {"h"}
    assert _of_batch([H, 3, H], [H, 3, H]) == set()
    assert _of_batch([H, 3, W], [H, 3, W, modulo(H, 2)]) == set()
    assert _of_batch([2, H], [2, H]) == set()
    assert _of_batch([], []) == set()


def test_sizes_at_which_amounts_are_others() -> None:
    amount = modulo(H, 4)
    assert isinstance(amount, Size)
    assert _spread(amount) == 3
    assert [*_telling(of(H), [amount], [0, 1], range(8))] == [2, 3]  # 3 and 4: 3 and 0
    assert [*_telling(of(H), [amount], [0, 1, 2, 3], range(8))] == []
    assert [*_telling(of(H), [amount, H], [0], range(4))] == [1, 2, 3]
    assert [*_telling(of(symbol("h", Sizes(1, 2))), [modulo(symbol("h", Sizes(1, 2)), 4)], [0],
                      range(8))] == [1]  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "further", "first"),
    [([H], [], [1, 2, 3, 4]), ([H - 2], [], [3, 4, 5, 6]), ([EVEN], [], [2, 4, 6, 8])],
)
def test_values_begin_with_the_least(shape: Any, further: Any, first: list[int]) -> None:
    (found,) = _values(shape, [*shape, *further]).values()
    assert found[:4] == first
    assert len({*found}) == len(found)


def test_values_of_amounts_are_of_every_remainder() -> None:
    assert _values([H], [H, ceil_div(H, 3)]) == {
        "h": [1, 2, 3, 4, 5, 9, 13, 17, 21, 25, 29, 33, 37, 61]
    }
    assert _values([H - 2], [H - 2]) == {"h": [3, 4, 5, 6, 7, 9, 11, 13, 15, 17, 19, 21, 63]}
    assert {value % 40 for value in _values([H], [H, modulo(H, 40)])["h"]} == {*range(40)}
    few = symbol("h", Sizes(5, 6))
    assert _values([few], [few, modulo(few, 2)]) == {"h": [5, 6]}
    assert _values([5], [5]) == {}
