"""Which outputs vary too little to be evidence, by hand."""

from typing import Any

import ml_dtypes
import numpy as np

from onnxpad.validation.compare import is_few, is_flat
from tests.support.rows import each_row


def f(*values: float, kind: Any = np.float32) -> Any:
    return np.array(values, np.float64).astype(kind)


NAN, INF = float("nan"), float("inf")


@each_row(
    ("values", "flat"),
    [
        ([], False), ([None], False), ([[f(1)]], False), ([f(1, 1), None], False),
        ([f()], True), ([f(1, 1)], True), ([f(1, 2)], False),
        ([f(3)], False), ([f(NAN)], True), ([f(INF)], True),  # one number may tell
        ([np.array(True)], False), ([np.array([1, 1])], True), ([np.array([1, 2])], False),
        ([np.array(["a", "b"], object)], False), ([np.array(["a", "a"], object)], True),
        ([f(100, 101)], True), ([f(100, 101.5)], False),  # more than a hundredth
        ([f(100, 103, kind=np.float16)], True), ([f(100, 105, kind=np.float16)], False),
        ([f(100, 115, kind=ml_dtypes.bfloat16)], True),
        ([f(100, 130, kind=ml_dtypes.bfloat16)], False),
        ([f(1, NAN)], False), ([f(NAN, NAN)], True), ([f(INF, INF)], True),
        ([f(INF, -INF)], False), ([f(0, 0)], True), ([f(0, 1e-30)], False),
        ([f(1, 2), f(1, 2)], True), ([f(1, 2), f(2, 1)], False), ([f(1, 2), f(1, 2, 3)], False),
        ([f(1, 2), f(1, 2, 3), f(1, 2)], True), ([f(1, 2), f(1, 2), f(3, 2)], False),
        ([f(3), f(3)], True), ([f(3), f(4)], False),
        ([np.array([1, 2]), np.array([1, 2])], True), ([np.array([1, 2]), np.array([1, 3])], False),
        ([f(1, 1), f(2, 2)], True), ([f(1, 1), f(1, 2)], False),
        ([f(1, NAN), f(1, NAN)], True), ([f(1, NAN), f(1, 2)], False),
        ([f(1, INF), f(1, INF)], True),
    ],
)  # fmt: skip
def test_what_is_flat(values: Any, flat: bool) -> None:
    assert is_flat(values) is flat


def test_what_is_few() -> None:
    assert [is_few([np.zeros(size)]) for size in (0, 1, 64, 65)] == [True, True, True, False]
    others: list[Any] = [np.zeros(65), None, []]
    assert [is_few([np.zeros(2), other]) for other in others] == [False] * 3
    assert is_few([])
