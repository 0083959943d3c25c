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
from onnxpad.facts import contents
from onnxpad.facts.contents import ZERO, Ratio, Real
from onnxpad.facts.rule_api import fit
from onnxpad.semantics.rows import FORMATS, INTEGERS
from tests.support.rows import each_row

FLOAT, DOUBLE, HALF = int(TensorProto.FLOAT), int(TensorProto.DOUBLE), int(TensorProto.FLOAT16)
N = symbol("n", Sizes(1, 1000))
NEVER = Unknown("for a test")
INF, NAN = math.inf, math.nan


def whole(number: Extent) -> Real:
    return contents.from_integer(number, FLOAT)


V, W = whole(N), whole(N - 500)
THIRD = contents.divide(V, 3.0, FLOAT)
FIFTH = contents.divide(W, 5.0, FLOAT)
EIGHTFOLD = contents.multiply(V, 8.0, FLOAT)
QUARTER = contents.divide(V, 4.0, FLOAT)


def at(value: Real, size: int) -> float:
    """The number at one size; a quotient is rounded at any rate."""
    if isinstance(value, Ratio):
        return evaluate(value.numerator, {"n": size}) / value.denominator
    assert isinstance(value, float), value
    return value


KNOWN: list[tuple[Callable[..., Real], Callable[..., Any], tuple[Real, ...]]] = [
    (contents.add, np.add, (V, W)),
    (contents.add, np.add, (V, 0.5)),
    (contents.add, np.add, (QUARTER, 3.0)),
    (contents.add, np.add, (1.5, 2.25)),
    (contents.add, np.add, (THIRD, 2.0)),
    (contents.add, np.add, (-3.0, FIFTH)),
    (contents.subtract, np.subtract, (V, QUARTER)),
    (contents.subtract, np.subtract, (THIRD, 1.0)),
    (contents.subtract, np.subtract, (1.0, FIFTH)),
    (contents.multiply, np.multiply, (V, W)),
    (contents.multiply, np.multiply, (QUARTER, -0.75)),
    (contents.multiply, np.multiply, (1.5, -2.0)),
    (contents.divide, np.divide, (V, 8.0)),
    (contents.divide, np.divide, (V, -0.5)),
    (contents.divide, np.divide, (W, 1.5)),
    (contents.divide, np.divide, (QUARTER, 6.0)),
    (contents.divide, np.divide, (EIGHTFOLD, 3.0)),
    (contents.divide, np.divide, (EIGHTFOLD, 12.0)),
    (contents.divide, np.divide, (ZERO, 3.0)),
    (contents.divide, np.divide, (1.0, 3.0)),
    (contents.minimum, np.minimum, (V, 7.5)),
    (contents.minimum, np.minimum, (W, QUARTER)),
    (contents.minimum, np.minimum, (2.0, -1.0)),
    (contents.minimum, np.minimum, (2.0, 2.0)),
    (contents.maximum, np.maximum, (V, 7.5)),
    (contents.maximum, np.maximum, (W, QUARTER)),
    (contents.maximum, np.maximum, (2.0, -1.0)),
    (contents.negative, np.negative, (W,)),
    (contents.negative, np.negative, (FIFTH,)),
    (contents.negative, np.negative, (1.5,)),
    (contents.floor, np.floor, (QUARTER,)),
    (contents.floor, np.floor, (THIRD,)),
    (contents.floor, np.floor, (FIFTH,)),
    (contents.floor, np.floor, (contents.add(FIFTH, 2.0, FLOAT),)),
    (contents.floor, np.floor, (V,)),
    (contents.floor, np.floor, (-1.5,)),
    (contents.ceil, np.ceil, (QUARTER,)),
    (contents.ceil, np.ceil, (THIRD,)),
    (contents.ceil, np.ceil, (contents.negative(FIFTH, FLOAT),)),
    (contents.ceil, np.ceil, (V,)),
    (contents.ceil, np.ceil, (1.25,)),
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
        (lambda: contents.add(V, 0.5, FLOAT), Ratio(2 * N + 1, 2)),
        (lambda: contents.multiply(V, 0.0, FLOAT), ZERO),
        (lambda: contents.add(0.0, V, FLOAT), Ratio(N)),
        (lambda: contents.add(V, contents.negative(V, FLOAT), FLOAT), ZERO),
        (lambda: contents.multiply(ZERO, 3.0, FLOAT), ZERO),
        (lambda: contents.divide(V, 3.0, FLOAT), Ratio(N, 3, 1)),
        (lambda: contents.divide(V, -1.5, FLOAT), Ratio(2 * N, -3, 1)),
        (lambda: contents.divide(QUARTER, 3.0, FLOAT), Ratio(N, 12, 1)),
        (lambda: contents.divide(7.0, 3.0, FLOAT), Ratio(7, 3, 1)),
        (lambda: contents.divide(6.0, 3.0, FLOAT), 2.0),
        (lambda: contents.convert(-0.0, HALF), -0.0),
        (lambda: contents.from_integer(0, FLOAT), 0.0),
        (lambda: contents.add(THIRD, 2.0, FLOAT), Ratio(N + 6, 3, 2)),
        (lambda: contents.negative(THIRD, FLOAT), Ratio(-N, 3, 1)),
        (lambda: contents.minimum(0.0, -0.0, FLOAT), ZERO),
        (lambda: contents.ceil(-0.5, FLOAT), ZERO),
        (lambda: contents.exact(0, 8, FLOAT), ZERO),
        (lambda: contents.exact(-12, 1, FLOAT), -12.0),
        (lambda: contents.exact(2**24, 1, FLOAT), 2.0**24),
        (lambda: contents.exact(2**24 + 2, 1, FLOAT), 2.0**24 + 2),
        (lambda: contents.exact(-3 * 2**24, 1, FLOAT), -3.0 * 2**24),
        (lambda: contents.exact(2**26 * N, 1, FLOAT), Ratio(2**26 * N)),
        (lambda: contents.exact(1, 2**149, FLOAT), 2.0**-149),
        (lambda: contents.exact(2**127, 1, FLOAT), 2.0**127),
        (lambda: contents.convert(V, DOUBLE), Ratio(N)),
        (lambda: contents.convert(0.25, HALF), 0.25),
        (
            lambda: contents.add(THIRD, 2.0**22 - 335, FLOAT),
            Ratio(N + 3 * 2**22 - 1005, 3, 2),
        ),
        (lambda: contents.add(2.0**-126, 2.0**-160, DOUBLE), 2.0**-126 + 2.0**-160),
        (lambda: contents.from_integer(2**53, DOUBLE), 2.0**53),
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
        lambda: contents.exact(2**24 + 1, 1, FLOAT),
        lambda: contents.exact(-(2**24) - 1, 1, FLOAT),
        lambda: contents.exact(1, 2**150, FLOAT),
        lambda: contents.exact(2**128, 1, FLOAT),
        lambda: contents.exact(NEVER, 1, FLOAT),
        lambda: contents.exact(symbol("m"), 1, FLOAT),
        lambda: contents.from_integer(2**53 + 1, DOUBLE),
        lambda: contents.convert(THIRD, DOUBLE),
        lambda: contents.add(THIRD, 0.5, FLOAT),
        lambda: contents.add(THIRD, V, FLOAT),
        lambda: contents.add(contents.add(THIRD, 1.0, FLOAT), 1.0, FLOAT),
        lambda: contents.add(THIRD, 2.0**22 - 334, FLOAT),
        lambda: contents.convert(2.0**-127 + 2.0**-160, FLOAT),
        lambda: contents.convert(1e39, FLOAT),
        lambda: contents.convert(0.1, FLOAT),
        lambda: contents.add(THIRD, INF, FLOAT),
        lambda: contents.add(INF, 1.0, FLOAT),
        lambda: contents.multiply(THIRD, 2.0, FLOAT),
        lambda: contents.multiply(V, INF, FLOAT),
        lambda: contents.divide(V, 0.0, FLOAT),
        lambda: contents.divide(V, INF, FLOAT),
        lambda: contents.divide(V, V, FLOAT),
        lambda: contents.divide(1.0, NEVER, FLOAT),
        lambda: contents.divide(THIRD, 3.0, FLOAT),
        lambda: contents.divide(whole(2**15 * N), 3.0, FLOAT),
        lambda: contents.minimum(V, INF, FLOAT),
        lambda: contents.minimum(NAN, 1.0, FLOAT),
        lambda: contents.minimum(1.0, NAN, FLOAT),
        lambda: contents.minimum(THIRD, 1.0, FLOAT),
        lambda: contents.to_integer(INF),
        lambda: contents.to_integer(NAN),
    ],
)
def test_stays_unknown(made: Callable[[], object]) -> None:
    assert isinstance(made(), Unknown)


@each_row(
    ("made", "expected"),
    [
        (lambda: contents.to_integer(-2.75), lambda n: -2),
        (lambda: contents.to_integer(QUARTER), lambda n: n // 4),
        (lambda: contents.to_integer(FIFTH), lambda n: int((n - 500) / 5)),
        (lambda: contents.to_integer(whole(2 * N)), lambda n: 2 * n),
        (lambda: contents.to_integer(contents.exact(2**26 * N, 1, FLOAT)), lambda n: 2**26 * n),
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
        (contents.negative, "inf 2.5 0.5 0.0 -0.0 -0.5 -1.5 -inf nan"),
        (contents.floor, "? -3.0 -1.0 either either either 1.0 ? ?"),
        (contents.ceil, "? -2.0 either either either 1.0 2.0 ? ?"),
        (lambda a, dtype: contents.to_integer(a), "? -2 0 0 0 0 1 ? ?"),
    ],
)
def test_special_numbers(function: Callable[[float, int], object], expected: str) -> None:
    """`either` is a zero of either sign, and `?` is unknown."""
    assert " ".join(shown(function(value, FLOAT)) for value in SPECIAL) == expected


@each_row(
    ("function", "expected"),
    [
        (contents.add, "either either ? ? ? ? ? 1.5"),
        (contents.subtract, "either either ? ? ? ? ? 3.5"),
        (contents.multiply, "either either ? ? ? ? ? -2.5"),
        (contents.divide, "? ? ? ? ? ? ? -2.5"),
        (contents.minimum, "either either ? ? ? ? ? -1.0"),
        (contents.maximum, "either either ? ? ? ? ? 2.5"),
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
