"""Comparisons against the same figures worked out element by element."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from onnxpad.validation.compare import Tolerance, alike, compare

NAN, INF = math.nan, math.inf


def row(values: Any) -> Any:
    return np.array(values, np.float32)


@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
def test_units_in_the_last_place(kind: Any) -> None:
    one: Any = np.array([1.0], kind)
    for start in (1.0, -1.0, 0.0, -0.0, float(np.finfo(kind).max), 1 - np.finfo(kind).epsneg):
        value: Any = np.array([start], kind)
        for steps in (1, 2, 3):
            other = value
            for _ in range(steps):
                other = np.nextafter(other, np.array([-2.0], kind))
            assert compare("y", value, other).ulp == steps
            assert compare("y", other, value).ulp == steps
            pair = np.concatenate([value, one, other]), np.concatenate([other, one, value])
            assert compare("y", *pair).ulp == steps
    assert compare("y", np.array([NAN, 1], kind), np.array([2, 1], kind)).ulp == 0
    assert compare("y", one, one).ulp == 0
    least = float(np.finfo(kind).smallest_subnormal)
    assert compare("y", np.array([-least], kind), np.array([least], kind)).ulp == 2
    assert compare("y", np.array([1]), np.array([2])).ulp is None


def test_bfloat16_is_compared_in_float32() -> None:
    before: Any = np.array([1, 2], ml_dtypes.bfloat16)
    found = compare("y", before, (before * 2).astype(ml_dtypes.bfloat16))
    assert (found.max_abs, found.ulp, found.dtype, found.ok) == (2.0, 128, "bfloat16", False)


def test_cosine_and_share_of_rows() -> None:

    def of(before: Any, after: Any, kind: str = "float32") -> Any:
        found = compare("y", np.array(before, kind), np.array(after, kind))
        return found.cosine, found.argmax

    def near(*expected: Any) -> Any:
        return pytest.approx(expected, nan_ok=True)

    assert of([3, 4], [3, 4]) == (1.0, 1.0)
    assert of([3, 4, 0], [4, 3, 0]) == near(24 / 25, 0.0)
    assert of([3, 4], [-3, -4]) == near(-1.0, 0.0)
    assert of([[3, 4], [1, 0]], [[3, 4], [0, 1]]) == near(25 / 26, 0.5)
    assert of([[3], [1]], [[3], [2]]) == (pytest.approx(11 / math.sqrt(130)), None)
    assert of([[[3, 4]]], [[[4, 3]]]) == (pytest.approx(24 / 25), None)
    assert of([0, 0], [1, 0]) == (None, 1.0)
    assert of([1, 0], [0, 0]) == (None, 1.0)
    assert of([3, 4, NAN], [3, 3, 1])[0] == pytest.approx(21 / (5 * math.sqrt(18)))
    assert of([3, 4], [4, 3], "int32") == (pytest.approx(24 / 25), None)
    assert of([3e30, 4e30], [4e30, 3e30])[0] == pytest.approx(24 / 25)
    assert of([True, False], [False, True], "bool") == (None, None)
    assert of(np.zeros((0, 3)), np.zeros((0, 3))) == (None, None)


def test_values_of_other_shapes() -> None:
    shape = compare("y", row([[1, 2]]), row([1]))
    assert (shape.shape, shape.dtype, shape.ok, shape.equal) == ("1x2", "float32", False, False)


def test_what_the_optimiser_moved_too_is_alike() -> None:
    exact, moved = row([1, 2, NAN]), row([1, 3, 5])
    for found, same in (
        ([1, 2, NAN], True), ([1, 3, 5], True), ([1, 3, NAN], True), ([1, 2, 5], True),
        ([1, 4, 5], False), ([0, 3, 5], False), ([NAN, 3, 5], False),
    ):  # fmt: skip
        assert alike("y", exact, moved, row(found)) == same, found
    assert alike("y", exact, moved, row([1, 3.5, 5]), Tolerance(atol=0.5))
    assert not alike("y", exact, moved[:2], exact)
    assert alike("y", np.array(["a"], object), np.array(["b"], object), np.array(["b"], object))
    assert not alike("y", np.array(["a"], object), np.array(["b"], object), np.array(["a"], object))


def slices(*wrong: tuple[tuple[int, ...], float], shape: tuple[int, ...] = (2, 3, 32)) -> Any:
    """Ones, the slice 1 of axis 1 a thousandth of it, and some elements wrong by a factor."""
    before = np.ones(shape, np.float32)
    before[:, 1] = 1e-3
    before[0, 0, 0] = 10
    after = before.copy()
    for place, factor in wrong:
        after[place] *= np.float32(factor)
    return before, after
