"""Values compared: equal, equal but for rounding, or different, and how that is said."""

import math
from typing import Any

import numpy as np
import pytest

from onnxpad.validation.compare import compare
from tests.support.rows import each_row

NAN, INF = math.nan, math.inf


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


@each_row(
    ("before", "after"),
    [
        pytest.param(f32(1, -2, 3), f32(1, -2, 3), id="floats"),
        pytest.param(f32(0.0), f32(-0.0), id="zeros of both signs"),
        pytest.param(f32(NAN, INF, -INF, 1), f32(NAN, INF, -INF, 1), id="NaN and infinities"),
        pytest.param(np.array(3), np.array(3), id="scalars"),
        pytest.param(np.zeros((0, 3)), np.zeros((0, 3)), id="no elements"),
        pytest.param(np.zeros((0, 0)), np.zeros((0, 3)), id="no iterations"),
        pytest.param(np.array(["a"], object), np.array(["a"], object), id="strings"),
        pytest.param(np.array([1 + 2j]), np.array([1 + 2j]), id="complex"),
    ],
)
def test_equal(before: Any, after: Any) -> None:
    found = compare("y", before, after)
    assert (found.equal, found.ok, found.max_abs, found.max_rel) == (True, True, 0.0, 0.0)
    assert not found.detail


@each_row(
    ("before", "after", "says"),
    [
        pytest.param(f32(1, 2), f32(1, 2.1), "at [1] (1 of 2 elements", id="far apart"),
        pytest.param(f32(1, NAN), f32(1, 2), "NaN", id="NaN lost"),
        pytest.param(f32(1, 2), f32(NAN, 2), "NaN", id="NaN gained"),
        pytest.param(f32(INF), f32(-INF), "infinity", id="the other infinity"),
        pytest.param(f32(3.4e38), f32(INF), "infinity", id="overflow"),
        pytest.param(np.array([7]), np.array([8]), "7 became 8", id="integers off by one"),
        pytest.param(np.array([1 << 60]), np.array([1 + (1 << 60)]), "6977", id="large integers"),
        pytest.param(np.array([True]), np.array([False]), "True became False", id="booleans"),
        pytest.param(np.array(["a"], object), np.array(["b"], object), "a became b", id="strings"),
        pytest.param(f32(1, 2), f32(1, 2, 3), "has shape 3, was 2", id="shape"),
        pytest.param(np.zeros((0, 1)), np.zeros((1, 0)), "has shape 1x0", id="no elements"),
        pytest.param(f32(1), np.array(1, np.float32), "shape scalar, was 1", id="rank"),
        pytest.param(f32(1), np.array([1.0]), "has type float64, was float32", id="type"),
    ],
)
def test_different(before: Any, after: Any, says: str) -> None:
    found = compare("y", before, after)
    assert (found.equal, found.ok) == (False, False)
    assert np.isnan(found.max_abs) or "NaN" not in found.detail
    assert says in found.detail
    assert "\n" not in found.detail


@pytest.mark.parametrize(
    ("dtype", "fine", "coarse"),
    [(np.float64, 1e-11, 1e-8), (np.float32, 1e-5, 1e-3), (np.float16, 2e-3, 3e-2)],
)
def test_rounding_is_allowed_relative_to_the_output(
    dtype: type, fine: float, coarse: float
) -> None:
    before: Any = np.array([1000, 1, 0], dtype)
    for error, ok in ((fine, True), (coarse, False)):
        after: Any = (before * (1 + error)).astype(dtype)
        assert not np.array_equal(before, after)
        found = compare("y", before, after)
        assert (found.equal, found.ok) == (False, ok)
        assert found.max_abs == float(np.abs(after.astype(float) - before.astype(float)).max())
        assert found.max_rel == pytest.approx(found.max_abs / 1000)
    # near zero the output's greatest magnitude is the measure
    assert compare("y", before, before + np.array([0, 0, fine * 10], dtype)).ok


def channels(*scales: float, shape: tuple[int, ...] = (1, -1, 9, 9)) -> Any:
    """Floats of both signs, with another magnitude on each channel."""
    sizes = [len(scales) if size == -1 else size for size in shape]
    values = np.random.default_rng(0).standard_normal(sizes).astype(np.float32)
    axis = shape.index(-1)
    wide = [len(scales) if place == axis else 1 for place in range(len(shape))]
    return values * np.array(scales, np.float32).reshape(wide)


SMALL, WRONG = (1, 1e4, 1), (1.01, 1e4, 1)
