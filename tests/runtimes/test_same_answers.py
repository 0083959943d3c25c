"""Whether several answers of a worker are the same tensors, bit for bit."""

from typing import Any

import numpy as np
import pytest

from onnxpad.runtimes.worker import _agree
from tests.support.rows import each_row


@each_row("kind", ["int8", "bool", "float16", "float32", "int64", "float64"])
def test_every_bit_counts(kind: str) -> None:
    one = np.array([[0, 1, 0]], kind)
    other = one.copy()
    assert _agree([[one, one], [other, other]])
    other.view("u1")[0, 0] ^= 1
    assert not _agree([[one, one], [one, other]])


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(np.zeros(2, np.int32), id="another-type"),
        pytest.param(np.zeros((2, 1), np.float32), id="another-shape"),
        pytest.param(-np.zeros(2, np.float32), id="the-sign-of-zero"),
        pytest.param(None, id="none"),
        pytest.param("text", id="no-tensor"),
    ],
)
def test_what_differs_otherwise(other: Any) -> None:
    assert not _agree([[np.zeros(2, np.float32)], [other]])


def test_what_cannot_be_compared_by_bits_is_not_the_same() -> None:
    for each in (np.array(["a"], object), np.zeros(1, np.complex128)):
        assert not _agree([[each], [each]])
    nan = np.array([np.nan], np.float32)
    assert _agree([[nan], [nan.copy()]])
    assert not _agree([[nan], "a crash"])
