"""Arithmetic on sizes of axes, held against Python's own slices and numpy."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from onnxpad.arithmetic.size import Extent, Unknown, evaluate, symbol
from onnxpad.semantics import moving
from onnxpad.semantics.rows import UnreadError
from tests.support.rows import each_row

N, M, UNKNOWN = symbol("n"), symbol("m"), Unknown("why")


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_a_slice_is_that_of_python(step: int) -> None:
    for size, start, end in product((0, 1, 3, 4), range(-5, 6), range(-5, 6)):
        if step < 0 and start < -size:
            continue  # ONNX takes the first element then, and Python none
        taken = range(size)[start:end:step]
        assert moving.slice_size(size, start, end, step) == len(taken)
        if taken:
            assert moving.slice_start(size, start, step) == taken[0]
    assert moving.slice_size(1, -5, -5, -1) == 1
    found = moving.slice_size(N, -3, 2**40, step)
    for size in (1, 2, 3, 4, 9):
        assert evaluate(found, {"n": size}) == len(range(size)[-3 : 2**40 : step])


@each_row("shapes", [
    [(2, 1), (3,)], [(1,), (1, 4)], [(), (2, 3)], [(5, 1, 2), (1, 3, 1)], [(0,), (1,)], [],
])  # fmt: skip
def test_shapes_broadcast_as_those_of_numpy(shapes: Any) -> None:
    assert moving.broadcast(shapes) == np.broadcast_shapes(*shapes)


@each_row(
    ("one", "other", "result"),
    [
        (N + 1, 1, N + 1),
        (1, N + 1, N + 1),
        (N, N, N),
        (N + 1, UNKNOWN, N + 1),
        (UNKNOWN, N + 1, N + 1),
        (N, 4, 4),
        (4, N, 4),
    ],
)
def test_open_sizes_broadcast(one: Extent, other: Extent, result: Extent) -> None:
    assert moving.broadcast([(one,), (other,)]) == (result,)


def test_sizes_that_do_not_broadcast() -> None:
    with pytest.raises(UnreadError):
        moving.broadcast([(2,), (3,)])
    assert isinstance(moving.broadcast([(N,), (UNKNOWN,)])[0], Unknown)


def test_sizes_that_must_be_equal() -> None:
    assert moving.agreed([UNKNOWN, N, 3, M]) == 3
    assert moving.agreed([3, UNKNOWN, N]) == 3
    assert moving.agreed([UNKNOWN, N, M]) == N
    assert isinstance(moving.agreed([UNKNOWN]), Unknown)
    with pytest.raises(UnreadError):
        moving.agreed([3, N, 4])


@each_row(
    ("total", "taken", "left"),
    [
        ([2, 3, 4], [6], 4),
        ([N, 3], [N], 3),
        ([N, M, 4], [2, N], 2 * M),
        ([N, M], [M, N], 1),
        ([N, 4], [2], 2 * N),
        ([N, 6], [N, 2], 3),
        ([0, 4], [0], None),
        ([UNKNOWN, 4], [2], None),
        ([4], [UNKNOWN], None),
        ([N - 1, 4], [N - 1], None),
    ],
)
def test_what_a_reshape_leaves(
    total: list[Extent], taken: list[Extent], left: Extent | None
) -> None:
    found = moving.remaining(total, taken)
    assert (None if isinstance(found, Unknown) else found) == left


def test_the_number_of_elements() -> None:
    assert moving.product([]) == 1
    assert moving.product([2, N, 3]) == 6 * N
    assert moving.at_least(N, 1)
    assert not moving.at_least(N, 2)
    assert moving.at_least(0, 0)
    assert not moving.at_least(UNKNOWN, 0)
