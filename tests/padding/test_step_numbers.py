"""Arithmetic on fills, by the table of steps and by the proof, held against numpy, type by type."""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from onnxpad.analysis.rounding import FLOATS
from onnxpad.analysis.value import INTEGERS
from onnxpad.padding import step_fills
from onnxpad.padding.step_fills import EitherZero, UncertainError
from onnxpad.proof.meaning import MeaninglessError
from onnxpad.proof.step_rules import fill_arithmetic

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": operator.truediv,
}  # fmt: skip
REALS = (0.0, -0.0, 1.0, -1.0, 2.5, 3.0, 60000.0, 1e-4, 3e38, math.inf, -math.inf)
WHOLE = (0, 1, -1, 7, 100, -128, 2**31 - 1)
FLOATING, HALF = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16), TensorProto.FLOAT16


def kind_of(dtype: int) -> Any:
    return helper.tensor_dtype_to_np_dtype(dtype)


def told(compute: Callable[[], Any]) -> Any:
    """The result, or None where it is not certain."""
    try:
        return compute()
    except (UncertainError, MeaninglessError):
        return None


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal, the signs of zeros too where both are known."""
    if one is None or other is None:
        return one is other
    loose = any(type(each) in (EitherZero, fill_arithmetic.SignlessZero) for each in (one, other))
    return one == other and (loose or math.copysign(1, one) == math.copysign(1, other))


def test_limits_are_those_of_the_types() -> None:
    for dtype, limits in INTEGERS.items():
        info = np.iinfo(kind_of(dtype))
        assert limits == (int(info.min), int(info.max))
        assert fill_arithmetic._INTEGERS[dtype] == limits
    assert len(INTEGERS) == 8
    for dtype in FLOATING:
        form, real = fill_arithmetic._FORMATS[dtype], np.finfo(kind_of(dtype))
        assert (form.precision, form.least) == (real.nmant + 1, real.minexp)
        assert form.greatest == real.maxexp - 1
        rounding = FLOATS[dtype]
        assert (rounding.precision, rounding.largest) == (real.nmant + 1, real.maxexp)
        assert (rounding.greatest, rounding.normal) == (float(real.max), float(real.tiny))
        assert math.ldexp(1, rounding.smallest) == float(real.smallest_subnormal)
    bfloat = fill_arithmetic._FORMATS[TensorProto.BFLOAT16]
    assert (bfloat.precision, bfloat.least, bfloat.greatest) == (8, -126, 127)


@pytest.mark.parametrize("dtype", FLOATING)
def test_floats_are_computed_as_their_type_does(dtype: int) -> None:
    kind = kind_of(dtype).type
    with np.errstate(all="ignore"):
        values = [each for each in REALS if float(kind(each)) == each]
        assert len(values) >= 8
        for (name, compute), a, b in product(OPERATIONS.items(), values, values):
            result = told(lambda: float(compute(kind(a), kind(b))))  # noqa: B023
            is_finite = math.isfinite(a) and math.isfinite(b)
            tiny = float(np.finfo(kind).tiny)
            certain = not (math.isnan(result) or (is_finite and math.isinf(result)))
            certain &= not 0 < abs(result) < tiny
            if certain and is_finite and dtype == HALF:
                certain = Fraction(result) == compute(Fraction(a), Fraction(b))
            expected = result if certain else None
            found = told(lambda: step_fills.computed(compute, a, b, dtype))  # noqa: B023
            assert same(found, expected), (name, a, b)
            proved = told(lambda: fill_arithmetic.computed(name, a, b, dtype))  # noqa: B023
            lost = is_finite and result == 0 and name in ("Mul", "Div") and a != 0
            if (name == "Div" and b == 0) or (lost and math.isfinite(b) and b != 0):
                assert proved is None
            else:
                assert same(proved, expected), (name, a, b)


@pytest.mark.parametrize("dtype", [TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32])
def test_integers_are_computed_where_they_fit(dtype: int) -> None:
    info = np.iinfo(kind_of(dtype))
    values = [each for each in WHOLE if info.min <= each <= info.max]
    for (name, compute), a, b in product(OPERATIONS.items(), values, values):
        exact = None if name == "Div" else compute(a, b)
        expected = exact if exact is not None and info.min <= exact <= info.max else None
        if name != "Div" or b:
            assert told(lambda: step_fills.computed(compute, a, b, dtype)) == expected  # noqa: B023
        assert told(lambda: fill_arithmetic.computed(name, a, b, dtype)) == expected  # noqa: B023
    assert told(lambda: step_fills.computed(operator.add, math.inf, 1, dtype)) is None


@pytest.mark.parametrize("dtype", [*FLOATING, TensorProto.INT8, TensorProto.UINT8])
def test_one_number_is_mapped_as_its_type_does(dtype: int) -> None:
    kind, is_float = kind_of(dtype).type, dtype in FLOATING
    numpys: dict[str, Any] = {
        "Abs": np.abs, "Neg": np.negative, "Relu": lambda a: np.maximum(a, kind(0)),
        "Ceil": np.ceil, "Floor": np.floor, "Round": np.rint,
    }  # fmt: skip
    limits = None if is_float else np.iinfo(kind)
    numbers = (0.0, -0.0, 1.0, -3.0, 2.5, -0.5, math.inf) if is_float else (0, 1, 5, -3, -128, 127)
    for number in numbers:
        if limits is not None and not limits.min <= number <= limits.max:
            continue
        assert step_fills.holds(number, dtype)
        for name, compute in numpys.items():
            if not is_float and name in ("Ceil", "Floor", "Round"):
                continue
            result = compute(kind(number))
            expected: Any = float(result) if is_float else int(result)
            if name in ("Ceil", "Floor", "Round") and number in (2.5, -0.5):
                expected = None
            if limits is not None and name in ("Abs", "Neg"):
                exact = -number if name == "Neg" or number < 0 else number
                expected = exact if limits.min <= exact <= limits.max else None
            found = told(lambda: step_fills.UNARY[name](number, dtype))  # noqa: B023
            assert same(found, expected), (name, number)
            assert found is None or type(found) is not int or not is_float
    for name in step_fills.KEEPS_ZERO:
        assert told(lambda: step_fills.UNARY[name](1.0, dtype)) is None  # noqa: B023
        assert told(lambda: step_fills.UNARY[name](-0.0, dtype)) is None  # noqa: B023
        assert told(lambda: step_fills.UNARY[name](0, dtype)) == 0  # noqa: B023
    for outside in (0.1, 1e39) if is_float else (0.5, math.inf, 300, -129):
        is_double = dtype == TensorProto.DOUBLE
        assert step_fills.holds(outside, dtype) is is_double


def test_the_greater_and_the_lesser() -> None:
    for choose, plain in ((step_fills.greater, max), (step_fills.lesser, min)):
        for a, b in product((0.0, -0.0, 1.0, -2.0, math.inf), repeat=2):
            found = choose(a, b)
            assert found == plain(a, b)
            assert (type(found) is EitherZero) is (str(a) != str(b) and a == b)
        assert told(lambda: choose(math.nan, 1.0)) is None  # noqa: B023
        assert told(lambda: choose(1.0, math.nan)) is None  # noqa: B023
    for proved, plain in ((fill_arithmetic.greatest, max), (fill_arithmetic.least, min)):
        for a, b in product((0.0, -0.0, 1.0, -2.0, math.inf), repeat=2):
            found = proved(a, b)
            assert found == plain(a, b)
            is_either = type(found) is fill_arithmetic.SignlessZero
            assert is_either is (str(a) != str(b) and a == b)


def test_quantised_numbers() -> None:
    """saturate(round(x / scale) + zero_point) in float32, ties to even."""
    for dtype, zero in ((TensorProto.UINT8, 7), (TensorProto.INT8, -3)):
        low, high = INTEGERS[dtype]
        for value, scale in product((0.0, 1.0, -2.25, 40.0, -1e4, 1e30), (0.5, 1.0, 4.0)):
            quotient = float(np.float32(value) / np.float32(scale))
            expected = None
            if abs(quotient) % 1 != 0.5:
                expected = max(low, min(high, round(quotient) + zero))
            found = told(lambda: step_fills.quantised(value, scale, zero, dtype))  # noqa: B023
            assert found == expected, (value, scale)
            proved = told(lambda: fill_arithmetic.quantized(value, scale, zero, dtype))  # noqa: B023
            assert proved is None or proved == expected
            assert proved is not None or expected is None or abs(quotient) > 2**20
        for value, scale in ((math.inf, 1.0), (1.0, 0.0), (1.0, math.inf), (3e38, 1e-5)):
            assert told(lambda: step_fills.quantised(value, scale, zero, dtype)) is None  # noqa: B023
    for value, zero, scale in product((0, 7, 255), (0, 7), (0.5, 2.0)):
        assert step_fills.dequantised(value, scale, zero) == (value - zero) * scale
    assert told(lambda: step_fills.dequantised(2**24 + 1, 1.0, 0)) is None
    assert step_fills.dequantised(2**24, 1.0, 0) == 2**24
