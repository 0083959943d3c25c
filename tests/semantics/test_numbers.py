"""The arithmetic on fills, and all that it refuses as engines may compute it differently."""

import math
from collections.abc import Callable

import pytest
from onnx import TensorProto

from onnxpad.semantics import pointwise
from onnxpad.semantics.layers import EXCLUDED, LEAST, NEGATIVE_ZERO, Fill
from onnxpad.semantics.pointwise import Number, computed, exact, rectified
from onnxpad.semantics.rows import UnreadError
from tests.support.rows import each_row

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE
HALF, BRAIN = TensorProto.FLOAT16, TensorProto.BFLOAT16
INT8, UINT8, INT64 = TensorProto.INT8, TensorProto.UINT8, TensorProto.INT64


def fill(function: Callable[[Number], pointwise.Numbers], given: Fill, dtype: int = FLOAT) -> Fill:
    """The fill that a function makes of another."""
    return pointwise.mapped(given, function, dtype)


NOT_HELD = [
    (0.1, FLOAT), (65505, HALF), (2.0**-15, HALF), (1 + 2.0**-8, BRAIN), (2.0**-127, FLOAT),
    (2.0**-1023, DOUBLE), (math.nan, FLOAT), (-129, INT8), (-1, UINT8), (2**63, INT64),
    (0.5, INT8), (math.inf, INT8), (math.nan, INT8), (2, TensorProto.BOOL),
    (0, TensorProto.STRING), (2**53 + 1, DOUBLE), (1, TensorProto.FLOAT8E5M2),
]  # fmt: skip


@each_row("number, dtype", NOT_HELD)
def test_what_a_type_does_not_hold_is_refused(number: Number, dtype: int) -> None:
    with pytest.raises(UnreadError):
        exact(number, dtype)


REFUSED = [
    ("Mul", 2.0**-100, 2.0**-100, FLOAT),  # 0 or subnormal
    ("Div", 2.0**-126, 3.0, FLOAT),
    ("Mul", 3e38, 2.0, FLOAT),
    ("Add", 1e308, 1e308, DOUBLE),
    ("Mul", 0.0, math.inf, FLOAT),
    ("Sub", math.inf, math.inf, FLOAT),
    ("Div", 1.0, 0.0, FLOAT),
    ("Div", 1.0, 3.0, HALF),
    ("Add", 2048.0, 1.0, HALF),
    ("Mul", 1.0078125, 1.0078125, BRAIN),
    ("Sub", -100, 29, INT8),
    ("Div", 4, 2, INT64),
]


@each_row("op, a, b, dtype", REFUSED)
def test_results_on_which_engines_differ_are_refused(
    op: str, a: float, b: float, dtype: int
) -> None:
    with pytest.raises(UnreadError):
        computed(op, a, b, dtype)


def test_types_of_16_bits_hold_few_numbers_and_zeros_have_signs() -> None:
    """No array of bfloat16 goes through onnxruntime's Python interface."""
    assert exact(2.0**127, BRAIN) == 2.0**127
    assert computed("Mul", 1.5, 3.0, BRAIN) == 4.5
    assert fill(lambda number: (-number,), 0) == NEGATIVE_ZERO
    assert fill(lambda number: (-number,), 0, INT8) == 0


def test_fills_that_are_no_numbers_or_vary_are_refused() -> None:
    for given in (LEAST, EXCLUDED, 0.1):
        with pytest.raises(UnreadError):
            fill(rectified, given)
    with pytest.raises(UnreadError):
        fill(lambda number: (number, number + 1), 0)
