"""Floats that vary with a size, computed again by numpy at each size, and what stays unknown."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.analysis import floats
from onnxpad.analysis.floats import ZERO, Quotient, Real, Scaled
from onnxpad.analysis.value import fit
from onnxpad.arithmetic.quasi_affine import Sizes
from onnxpad.arithmetic.size import Extent, Size, Unknown, evaluate, symbol
from onnxpad.semantics.rows import FORMATS, INTEGERS
from tests.support.rows import each_row

FLOAT, DOUBLE, HALF = int(TensorProto.FLOAT), int(TensorProto.DOUBLE), int(TensorProto.FLOAT16)
N = symbol("n", Sizes(1, 1000))
NEVER = Unknown("for a test")
INF, NAN = math.inf, math.nan


def whole(number: Extent) -> Real:
    return floats.from_integer(number, FLOAT)


V, W = whole(N), whole(N - 500)
THIRD = floats.divide(V, 3.0, FLOAT)
FIFTH = floats.divide(W, 5.0, FLOAT)
EIGHTFOLD = floats.multiply(V, 8.0, FLOAT)
QUARTER = floats.divide(V, 4.0, FLOAT)


def quotient(numerator: Extent, denominator: int, moved: bool = False) -> Quotient:
    assert isinstance(numerator, Size)
    return Quotient(numerator, denominator, moved)


def at(value: Real, size: int) -> float:
    """The number at one size."""
    if isinstance(value, Scaled):
        return math.ldexp(evaluate(value.mantissa, {"n": size}), value.exponent)
    if isinstance(value, Quotient):  # which is rounded at any rate
        return evaluate(value.numerator, {"n": size}) / value.denominator
    assert isinstance(value, float), value
    return value


KNOWN: list[tuple[Callable[..., Real], Callable[..., Any], tuple[Real, ...]]] = [
    (floats.add, np.add, (V, W)),
    (floats.add, np.add, (V, 0.5)),
    (floats.add, np.add, (QUARTER, 3.0)),
    (floats.add, np.add, (1.5, 2.25)),
    (floats.add, np.add, (THIRD, 2.0)),
    (floats.add, np.add, (-3.0, FIFTH)),
    (floats.subtract, np.subtract, (V, QUARTER)),
    (floats.subtract, np.subtract, (THIRD, 1.0)),
    (floats.subtract, np.subtract, (1.0, FIFTH)),
    (floats.multiply, np.multiply, (V, W)),
    (floats.multiply, np.multiply, (QUARTER, -0.75)),
    (floats.multiply, np.multiply, (1.5, -2.0)),
    (floats.divide, np.divide, (V, 8.0)),
    (floats.divide, np.divide, (V, -0.5)),
    (floats.divide, np.divide, (W, 1.5)),
    (floats.divide, np.divide, (QUARTER, 6.0)),
    (floats.divide, np.divide, (EIGHTFOLD, 3.0)),
    (floats.divide, np.divide, (EIGHTFOLD, 12.0)),
    (floats.divide, np.divide, (ZERO, 3.0)),
    (floats.divide, np.divide, (1.0, 3.0)),
    (floats.minimum, np.minimum, (V, 7.5)),
    (floats.minimum, np.minimum, (W, QUARTER)),
    (floats.minimum, np.minimum, (V, INF)),
    (floats.minimum, np.minimum, (INF, V)),
    (floats.minimum, np.minimum, (2.0, -1.0)),
    (floats.minimum, np.minimum, (2.0, 2.0)),
    (floats.maximum, np.maximum, (V, 7.5)),
    (floats.maximum, np.maximum, (W, QUARTER)),
    (floats.maximum, np.maximum, (V, -INF)),
    (floats.maximum, np.maximum, (2.0, -1.0)),
    (floats.negative, np.negative, (W,)),
    (floats.negative, np.negative, (FIFTH,)),
    (floats.negative, np.negative, (1.5,)),
    (floats.floor, np.floor, (QUARTER,)),
    (floats.floor, np.floor, (THIRD,)),
    (floats.floor, np.floor, (FIFTH,)),
    (floats.floor, np.floor, (floats.add(FIFTH, 2.0, FLOAT),)),
    (floats.floor, np.floor, (V,)),
    (floats.floor, np.floor, (-1.5,)),
    (floats.ceil, np.ceil, (QUARTER,)),
    (floats.ceil, np.ceil, (THIRD,)),
    (floats.ceil, np.ceil, (floats.negative(FIFTH, FLOAT),)),
    (floats.ceil, np.ceil, (V,)),
    (floats.ceil, np.ceil, (1.25,)),
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
        (lambda: floats.add(V, 0.5, FLOAT), Scaled(2 * N + 1, -1)),
        (lambda: floats.multiply(V, 0.0, FLOAT), ZERO),
        (lambda: floats.add(0.0, V, FLOAT), Scaled(N, 0)),
        (lambda: floats.add(V, floats.negative(V, FLOAT), FLOAT), ZERO),
        (lambda: floats.multiply(ZERO, 3.0, FLOAT), ZERO),
        (lambda: floats.divide(V, 3.0, FLOAT), quotient(N, 3)),
        (lambda: floats.divide(V, -1.5, FLOAT), quotient(2 * N, -3)),
        (lambda: floats.divide(QUARTER, 3.0, FLOAT), quotient(N, 12)),
        (lambda: floats.add(THIRD, 2.0, FLOAT), quotient(N + 6, 3, moved=True)),
        (lambda: floats.negative(THIRD, FLOAT), quotient(N, -3)),
        (lambda: floats.minimum(0.0, -0.0, FLOAT), ZERO),
        (lambda: floats.ceil(-0.5, FLOAT), ZERO),
        (lambda: floats.scaled(0, 3, FLOAT), ZERO),
        (lambda: floats.scaled(-6, 1, FLOAT), -12.0),
        (lambda: floats.scaled(2**24, 0, FLOAT), 2.0**24),
        (lambda: floats.scaled(2**24 + 2, 0, FLOAT), 2.0**24 + 2),
        (lambda: floats.scaled(-3 * 2**24, 0, FLOAT), -3.0 * 2**24),
        (lambda: floats.scaled(2**26 * N, 0, FLOAT), Scaled(2**14 * N, 12)),
        (lambda: floats.scaled(1, -149, FLOAT), 2.0**-149),
        (lambda: floats.scaled(1, 127, FLOAT), 2.0**127),
        (lambda: floats.convert(V, DOUBLE), Scaled(N, 0)),
        (lambda: floats.convert(0.25, HALF), 0.25),
        (lambda: floats.convert(0.1, FLOAT), float(np.float32(0.1))),
        (lambda: floats.add(THIRD, 2.0**22 - 335, FLOAT), quotient(N + 3 * 2**22 - 1005, 3, True)),
        (lambda: floats.add(2.0**-126, 2.0**-160, DOUBLE), 2.0**-126 + 2.0**-160),
        (lambda: floats.convert(2.0**-126 + 2.0**-160, FLOAT), 2.0**-126),
        (lambda: floats.from_integer(2**53, DOUBLE), 2.0**53),
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
        lambda: floats.scaled(2**24 + 1, 0, FLOAT),
        lambda: floats.scaled(-(2**24) - 1, 0, FLOAT),
        lambda: floats.scaled(1, -150, FLOAT),
        lambda: floats.scaled(1, 128, FLOAT),
        lambda: floats.scaled(NEVER, 0, FLOAT),
        lambda: floats.scaled(symbol("m"), 0, FLOAT),
        lambda: floats.from_integer(2**53 + 1, DOUBLE),
        lambda: floats.convert(THIRD, DOUBLE),
        lambda: floats.add(THIRD, 0.5, FLOAT),
        lambda: floats.add(THIRD, V, FLOAT),
        lambda: floats.add(floats.add(THIRD, 1.0, FLOAT), 1.0, FLOAT),
        lambda: floats.add(THIRD, 2.0**22 - 334, FLOAT),
        lambda: floats.convert(2.0**-127 + 2.0**-160, FLOAT),
        lambda: floats.convert(1e39, FLOAT),
        lambda: floats.add(THIRD, INF, FLOAT),
        lambda: floats.add(INF, 1.0, FLOAT),
        lambda: floats.multiply(THIRD, 2.0, FLOAT),
        lambda: floats.multiply(V, INF, FLOAT),
        lambda: floats.divide(V, 0.0, FLOAT),
        lambda: floats.divide(V, INF, FLOAT),
        lambda: floats.divide(V, V, FLOAT),
        lambda: floats.divide(1.0, NEVER, FLOAT),
        lambda: floats.divide(THIRD, 3.0, FLOAT),
        lambda: floats.divide(whole(2**15 * N), 3.0, FLOAT),
        lambda: floats.minimum(NAN, 1.0, FLOAT),
        lambda: floats.minimum(1.0, NAN, FLOAT),
        lambda: floats.minimum(THIRD, 1.0, FLOAT),
        lambda: floats.to_integer(INF),
        lambda: floats.to_integer(NAN),
    ],
)
def test_stays_unknown(made: Callable[[], object]) -> None:
    assert isinstance(made(), Unknown)


@each_row(
    ("made", "expected"),
    [
        (lambda: floats.to_integer(-2.75), lambda n: -2),
        (lambda: floats.to_integer(QUARTER), lambda n: n // 4),
        (lambda: floats.to_integer(FIFTH), lambda n: int((n - 500) / 5)),
        (lambda: floats.to_integer(whole(2 * N)), lambda n: 2 * n),
        (lambda: floats.to_integer(floats.scaled(2**26 * N, 0, FLOAT)), lambda n: 2**26 * n),
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
    return "?" if isinstance(found, Unknown) else "either" if type(found) is Scaled else repr(found)


@each_row(
    ("function", "expected"),
    [
        (floats.negative, "inf 2.5 0.5 0.0 -0.0 -0.5 -1.5 -inf nan"),
        (floats.floor, "-inf -3.0 -1.0 -0.0 0.0 0.0 1.0 inf nan"),
        (floats.ceil, "-inf -2.0 either -0.0 0.0 1.0 2.0 inf nan"),
        (lambda a, dtype: floats.to_integer(a), "? -2 0 0 0 0 1 ? ?"),
    ],
)
def test_special_numbers(function: Callable[[float, int], object], expected: str) -> None:
    """`either` is a zero of either sign, and `?` is unknown."""
    assert " ".join(shown(function(value, FLOAT)) for value in SPECIAL) == expected


@each_row(
    ("function", "expected"),
    [
        (floats.add, "0.0 -0.0 ? ? ? ? ? 1.5"),
        (floats.subtract, "0.0 0.0 ? ? ? ? ? 3.5"),
        (floats.multiply, "-0.0 0.0 ? ? ? ? ? -2.5"),
        (floats.divide, "? ? ? ? ? ? ? -2.5"),
        (floats.minimum, "either -0.0 1.0 -inf 1.0 ? ? -1.0"),
        (floats.maximum, "either -0.0 inf inf inf ? ? 2.5"),
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


def test_a_half_that_may_be_rounded_later_is_unknown() -> None:
    assert isinstance(floats.divide(1.0, 3.0, HALF), Unknown)
    assert floats.divide(1.0, 4.0, HALF) == 0.25


@pytest.mark.parametrize("dtype", [FLOAT, DOUBLE, HALF])
def test_formats_are_those_of_numpy(dtype: int) -> None:
    info: Any = np.finfo(tensor_dtype_to_np_dtype(dtype))
    precision, smallest, greatest = FORMATS[dtype]
    assert (precision, smallest, greatest) == (info.nmant + 1, info.minexp, info.maxexp - 1)
