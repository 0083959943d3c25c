"""Floats that vary with a size, computed again by numpy at each size, and what stays unknown."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.arithmetic.quasi_affine import Sizes
from onnxpad.arithmetic.size import Extent, Unknown, evaluate, symbol
from onnxpad.facts.shape_rules import fit
from onnxpad.semantics import numbers
from onnxpad.semantics.numbers import ZERO, Ratio, Real
from onnxpad.semantics.rows import FORMATS, INTEGERS
from tests.support.rows import each_row

FLOAT, DOUBLE, HALF = int(TensorProto.FLOAT), int(TensorProto.DOUBLE), int(TensorProto.FLOAT16)
N = symbol("n", Sizes(1, 1000))
NEVER = Unknown("for a test")
INF, NAN = math.inf, math.nan


def whole(number: Extent) -> Real:
    return numbers.from_integer(number, FLOAT)


V, W = whole(N), whole(N - 500)
THIRD = numbers.divide(V, 3.0, FLOAT)
FIFTH = numbers.divide(W, 5.0, FLOAT)
EIGHTFOLD = numbers.multiply(V, 8.0, FLOAT)
QUARTER = numbers.divide(V, 4.0, FLOAT)


def at(value: Real, size: int) -> float:
    """The number at one size; a quotient is rounded at any rate."""
    if isinstance(value, Ratio):
        return evaluate(value.numerator, {"n": size}) / value.denominator
    assert isinstance(value, float), value
    return value


KNOWN: list[tuple[Callable[..., Real], Callable[..., Any], tuple[Real, ...]]] = [
    (numbers.add, np.add, (V, W)),
    (numbers.add, np.add, (V, 0.5)),
    (numbers.add, np.add, (QUARTER, 3.0)),
    (numbers.add, np.add, (1.5, 2.25)),
    (numbers.add, np.add, (THIRD, 2.0)),
    (numbers.add, np.add, (-3.0, FIFTH)),
    (numbers.subtract, np.subtract, (V, QUARTER)),
    (numbers.subtract, np.subtract, (THIRD, 1.0)),
    (numbers.subtract, np.subtract, (1.0, FIFTH)),
    (numbers.multiply, np.multiply, (V, W)),
    (numbers.multiply, np.multiply, (QUARTER, -0.75)),
    (numbers.multiply, np.multiply, (1.5, -2.0)),
    (numbers.divide, np.divide, (V, 8.0)),
    (numbers.divide, np.divide, (V, -0.5)),
    (numbers.divide, np.divide, (W, 1.5)),
    (numbers.divide, np.divide, (QUARTER, 6.0)),
    (numbers.divide, np.divide, (EIGHTFOLD, 3.0)),
    (numbers.divide, np.divide, (EIGHTFOLD, 12.0)),
    (numbers.divide, np.divide, (ZERO, 3.0)),
    (numbers.divide, np.divide, (1.0, 3.0)),
    (numbers.minimum, np.minimum, (V, 7.5)),
    (numbers.minimum, np.minimum, (W, QUARTER)),
    (numbers.minimum, np.minimum, (2.0, -1.0)),
    (numbers.minimum, np.minimum, (2.0, 2.0)),
    (numbers.maximum, np.maximum, (V, 7.5)),
    (numbers.maximum, np.maximum, (W, QUARTER)),
    (numbers.maximum, np.maximum, (2.0, -1.0)),
    (numbers.negative, np.negative, (W,)),
    (numbers.negative, np.negative, (FIFTH,)),
    (numbers.negative, np.negative, (1.5,)),
    (numbers.floor, np.floor, (QUARTER,)),
    (numbers.floor, np.floor, (THIRD,)),
    (numbers.floor, np.floor, (FIFTH,)),
    (numbers.floor, np.floor, (numbers.add(FIFTH, 2.0, FLOAT),)),
    (numbers.floor, np.floor, (V,)),
    (numbers.floor, np.floor, (-1.5,)),
    (numbers.ceil, np.ceil, (QUARTER,)),
    (numbers.ceil, np.ceil, (THIRD,)),
    (numbers.ceil, np.ceil, (numbers.negative(FIFTH, FLOAT),)),
    (numbers.ceil, np.ceil, (V,)),
    (numbers.ceil, np.ceil, (1.25,)),
]


@each_row(("function", "same", "operands"), KNOWN)
def test_is_as_numpy_computes_it(
    function: Callable[..., Real], same: Callable[..., Any], operands: tuple[Real, ...]
) -> None:
    found = function(*operands, FLOAT)
    for size in (1, 2, 3, 4, 7, 499, 500, 501, 999, 1000):
        given = [at(operand, size) for operand in operands]
        expected = same(*map(np.float64, given))
        assert np.float32(at(found, size)) == np.float32(expected), size


@each_row(
    ("made", "expected"),
    [
        (lambda: numbers.add(V, 0.5, FLOAT), Ratio(2 * N + 1, 2)),
        (lambda: numbers.multiply(V, 0.0, FLOAT), ZERO),
        (lambda: numbers.add(0.0, V, FLOAT), Ratio(N)),
        (lambda: numbers.add(V, numbers.negative(V, FLOAT), FLOAT), ZERO),
        (lambda: numbers.multiply(ZERO, 3.0, FLOAT), ZERO),
        (lambda: numbers.divide(V, 3.0, FLOAT), Ratio(N, 3, 1)),
        (lambda: numbers.divide(V, -1.5, FLOAT), Ratio(2 * N, -3, 1)),
        (lambda: numbers.divide(QUARTER, 3.0, FLOAT), Ratio(N, 12, 1)),
        (lambda: numbers.divide(7.0, 3.0, FLOAT), Ratio(7, 3, 1)),
        (lambda: numbers.divide(6.0, 3.0, FLOAT), 2.0),
        (lambda: numbers.convert(-0.0, HALF), -0.0),
        (lambda: numbers.from_integer(0, FLOAT), 0.0),
        (lambda: numbers.add(THIRD, 2.0, FLOAT), Ratio(N + 6, 3, 2)),
        (lambda: numbers.negative(THIRD, FLOAT), Ratio(-N, 3, 1)),
        (lambda: numbers.minimum(0.0, -0.0, FLOAT), ZERO),
        (lambda: numbers.ceil(-0.5, FLOAT), ZERO),
        (lambda: numbers.exact(0, 8, FLOAT), ZERO),
        (lambda: numbers.exact(-12, 1, FLOAT), -12.0),
        (lambda: numbers.exact(2**24, 1, FLOAT), 2.0**24),
        (lambda: numbers.exact(2**24 + 2, 1, FLOAT), 2.0**24 + 2),
        (lambda: numbers.exact(-3 * 2**24, 1, FLOAT), -3.0 * 2**24),
        (lambda: numbers.exact(2**26 * N, 1, FLOAT), Ratio(2**26 * N)),
        (lambda: numbers.exact(1, 2**149, FLOAT), 2.0**-149),
        (lambda: numbers.exact(2**127, 1, FLOAT), 2.0**127),
        (lambda: numbers.convert(V, DOUBLE), Ratio(N)),
        (lambda: numbers.convert(0.25, HALF), 0.25),
        (
            lambda: numbers.add(THIRD, 2.0**22 - 335, FLOAT),
            Ratio(N + 3 * 2**22 - 1005, 3, 2),
        ),
        (lambda: numbers.add(2.0**-126, 2.0**-160, DOUBLE), 2.0**-126 + 2.0**-160),
        (lambda: numbers.from_integer(2**53, DOUBLE), 2.0**53),
    ],
)
def test_is_this(made: Callable[[], Real], expected: Real) -> None:
    value = made()
    assert type(value) is type(expected)
    assert value == expected
    if isinstance(value, float) and isinstance(expected, float):
        assert math.copysign(1, value) == math.copysign(1, expected)


@each_row(
    "made",
    [
        lambda: numbers.exact(2**24 + 1, 1, FLOAT),
        lambda: numbers.exact(-(2**24) - 1, 1, FLOAT),
        lambda: numbers.exact(1, 2**150, FLOAT),
        lambda: numbers.exact(2**128, 1, FLOAT),
        lambda: numbers.exact(NEVER, 1, FLOAT),
        lambda: numbers.exact(symbol("m"), 1, FLOAT),
        lambda: numbers.from_integer(2**53 + 1, DOUBLE),
        lambda: numbers.convert(THIRD, DOUBLE),
        lambda: numbers.add(THIRD, 0.5, FLOAT),
        lambda: numbers.add(THIRD, V, FLOAT),
        lambda: numbers.add(numbers.add(THIRD, 1.0, FLOAT), 1.0, FLOAT),
        lambda: numbers.add(THIRD, 2.0**22 - 334, FLOAT),
        lambda: numbers.convert(2.0**-127 + 2.0**-160, FLOAT),
        lambda: numbers.convert(1e39, FLOAT),
        lambda: numbers.convert(0.1, FLOAT),
        lambda: numbers.add(THIRD, INF, FLOAT),
        lambda: numbers.add(INF, 1.0, FLOAT),
        lambda: numbers.multiply(THIRD, 2.0, FLOAT),
        lambda: numbers.multiply(V, INF, FLOAT),
        lambda: numbers.divide(V, 0.0, FLOAT),
        lambda: numbers.divide(V, INF, FLOAT),
        lambda: numbers.divide(V, V, FLOAT),
        lambda: numbers.divide(1.0, NEVER, FLOAT),
        lambda: numbers.divide(THIRD, 3.0, FLOAT),
        lambda: numbers.divide(whole(2**15 * N), 3.0, FLOAT),
        lambda: numbers.minimum(V, INF, FLOAT),
        lambda: numbers.minimum(NAN, 1.0, FLOAT),
        lambda: numbers.minimum(1.0, NAN, FLOAT),
        lambda: numbers.minimum(THIRD, 1.0, FLOAT),
        lambda: numbers.to_integer(INF),
        lambda: numbers.to_integer(NAN),
    ],
)
def test_stays_unknown(made: Callable[[], object]) -> None:
    assert isinstance(made(), Unknown)


@each_row(
    ("made", "expected"),
    [
        (lambda: numbers.to_integer(-2.75), lambda n: -2),
        (lambda: numbers.to_integer(QUARTER), lambda n: n // 4),
        (lambda: numbers.to_integer(FIFTH), lambda n: int((n - 500) / 5)),
        (lambda: numbers.to_integer(whole(2 * N)), lambda n: 2 * n),
        (lambda: numbers.to_integer(numbers.exact(2**26 * N, 1, FLOAT)), lambda n: 2**26 * n),
    ],
)
def test_integers_and_truth(made: Callable[[], Extent], expected: Callable[[int], int]) -> None:
    found = made()
    for size in (1, 3, 4, 7, 8, 499, 501, 1000):
        assert evaluate(found, {"n": size}) == expected(size), size


SPECIAL = (-INF, -2.5, -0.5, -0.0, 0.0, 0.5, 1.5, INF, NAN)
PAIRS = ((0.0, -0.0), (-0.0, -0.0), (1.0, INF), (-INF, INF), (INF, 1.0), (NAN, 1.0), (1.0, NAN),
         (2.5, -1.0))  # fmt: skip


def shown(found: Any) -> str:
    return "?" if isinstance(found, Unknown) else "either" if type(found) is Ratio else repr(found)


@each_row(
    ("function", "expected"),
    [
        (numbers.negative, "inf 2.5 0.5 0.0 -0.0 -0.5 -1.5 -inf nan"),
        (numbers.floor, "? -3.0 -1.0 either either either 1.0 ? ?"),
        (numbers.ceil, "? -2.0 either either either 1.0 2.0 ? ?"),
        (lambda a, dtype: numbers.to_integer(a), "? -2 0 0 0 0 1 ? ?"),
    ],
)
def test_special_numbers(function: Callable[[float, int], object], expected: str) -> None:
    """`either` is a zero of either sign, and `?` is unknown."""
    assert " ".join(shown(function(value, FLOAT)) for value in SPECIAL) == expected


@each_row(
    ("function", "expected"),
    [
        (numbers.add, "either either ? ? ? ? ? 1.5"),
        (numbers.subtract, "either either ? ? ? ? ? 3.5"),
        (numbers.multiply, "either either ? ? ? ? ? -2.5"),
        (numbers.divide, "? ? ? ? ? ? ? -2.5"),
        (numbers.minimum, "either either ? ? ? ? ? -1.0"),
        (numbers.maximum, "either either ? ? ? ? ? 2.5"),
    ],
)
def test_pairs_of_special_numbers(
    function: Callable[[float, float, int], object], expected: str
) -> None:
    assert " ".join(shown(function(*pair, FLOAT)) for pair in PAIRS) == expected


@each_row("dtype", INTEGERS)
def test_integers_are_those_of_numpy(dtype: int) -> None:
    info = np.iinfo(tensor_dtype_to_np_dtype(dtype))
    assert INTEGERS[dtype] == (info.min, info.max)
    for number, is_held in ((info.min, True), (info.max, True), (int(info.max) + 1, False)):
        assert isinstance(fit(int(number), dtype), int) == is_held
    assert isinstance(fit(int(info.min) - 1, dtype), Unknown)
    few, most = symbol("few", Sizes(1, 100)), int(info.max)
    assert fit(few + (most - 100), dtype) == few + (most - 100)
    assert isinstance(fit(few + (most - 99), dtype), Unknown)
    assert fit(few + (int(info.min) - 1), dtype) == few + (int(info.min) - 1)
    assert isinstance(fit(few + (int(info.min) - 2), dtype), Unknown)


@pytest.mark.parametrize("dtype", [FLOAT, DOUBLE, HALF])
def test_formats_are_those_of_numpy(dtype: int) -> None:
    info: Any = np.finfo(tensor_dtype_to_np_dtype(dtype))
    precision, smallest, greatest = FORMATS[dtype]
    assert (precision, smallest, greatest) == (info.nmant + 1, info.minexp, info.maxexp - 1)
