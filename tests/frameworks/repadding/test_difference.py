"""How much an output changes, from the two values alone."""

import math
from typing import Any

import ml_dtypes
import numpy as np

from onnxpad.frameworks.repadding.comparing import _change
from onnxpad.frameworks.repadding.results import OutputChange
from tests.support.rows import each_row

INF, NAN = math.inf, math.nan


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


@each_row(
    ("before", "after", "greatest", "relative"),
    [
        (f32(1, 2, 5), f32(1, 2, 5), 0.0, 0.0),
        (f32(1, 2, 5), f32(1, 4, 4), 2.0, 0.5),
        (f32(3, 3), f32(3, 4.5), 1.5, 0.5),
        (f32(0, 0), f32(0, 2), 2.0, 2.0),
        (f32(NAN, INF, -INF, 1), f32(NAN, INF, -INF, 1), 0.0, 0.0),
        (f32(NAN, 1), f32(2, 1), INF, INF),
        (f32(1, 1), f32(NAN, 1), INF, INF),
        (f32(INF, 1), f32(-INF, 1), INF, INF),
        (np.array([1, 200], np.uint8), np.array([200, 1], np.uint8), 199.0, 1.0),
        (np.array([True, False]), np.array([False, False]), 1.0, 1.0),
        (np.array([1, 3], ml_dtypes.bfloat16), np.array([1, 4], ml_dtypes.bfloat16), 1.0, 0.5),
        (np.array(["a"], object), np.array(["a"], object), 0.0, 0.0),
        (np.array(["a"], object), np.array(["b"], object), INF, INF),
        (np.zeros((0, 2)), np.zeros((0, 2)), 0.0, 0.0),
    ],
)
def test_a_change(before: Any, after: Any, greatest: float, relative: float) -> None:
    found = _change("y", before, after)
    assert found == OutputChange("y", before.shape, after.shape, greatest, relative)
    assert found.is_equal == (greatest == 0)


def test_other_shapes_and_what_is_no_tensor() -> None:
    assert _change("y", f32(1), f32(1, 2)) == OutputChange("y", (1,), (2,), INF, INF)
    for before, after in (([], f32(1)), (f32(1), []), (f32(1), None)):
        assert _change("y", before, after) == OutputChange("y", (), (), INF, INF)
    assert not OutputChange("y", (1,), (2,), 0.0, 0.0).is_equal
