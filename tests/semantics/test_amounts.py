"""Amounts and fills of padding: their order, their sums, and when two are the same."""

import math

from onnxpad.arithmetic.size import symbol
from onnxpad.semantics.layers import add, is_padded, is_plain_zero, onnx_order, pairs_of
from onnxpad.semantics.table import over_axes
from tests.support.rows import each_row

PAIRS = ((1, 2), (3, 4))


def test_orders_and_sums() -> None:
    assert pairs_of([1, 3, 2, 4]) == PAIRS
    assert onnx_order(PAIRS) == [1, 3, 2, 4]
    assert pairs_of([]) == ()
    assert add(PAIRS, ((10, 20), (30, 50))) == ((11, 22), (33, 54))


@each_row(
    ("axes", "rank", "full"),
    [
        (None, 2, PAIRS),
        (None, 3, None),
        ((2, 0), 3, ((3, 4), (0, 0), (1, 2))),
        ((-1, -3), 3, ((3, 4), (0, 0), (1, 2))),
        ((0, 3), 3, None),
        ((-4, 0), 3, None),
        ((1, -2), 3, None),
    ],
)
def test_amounts_of_some_axes(axes: tuple[int, ...] | None, rank: int, full: object) -> None:
    assert over_axes(PAIRS, axes, rank) == full


def test_what_pads() -> None:
    assert not is_padded(())
    assert not is_padded([(0, 0), (0, 0)])
    assert is_padded([(0, 0), (0, -1)])
    assert is_padded([(symbol("n"), 0)])


def test_fills() -> None:
    fills = [0, 0.0, -0.0, 1.0, -1.0, None, math.nan]
    assert [is_plain_zero(fill) for fill in fills] == [place < 2 for place in range(7)]
