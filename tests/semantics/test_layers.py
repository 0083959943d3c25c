"""Layers of padding and their fills: held against numpy, and what engines may compute otherwise."""

import math
import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from onnxpad.arithmetic.size import Extent, Unknown, symbol
from onnxpad.semantics import pointwise
from onnxpad.semantics.layers import (
    EXCLUDED,
    LEAST,
    NEGATIVE_ZERO,
    Fill,
    Layer,
    Layers,
    Operand,
    add,
    around,
    crops,
    fill_of,
    is_finite,
    is_padded,
    is_plain_zero,
    merged,
    never_pads,
    number_of,
    of_axes,
    onnx_order,
    pairs_of,
    total,
    touched_axes,
    without_sign,
)
from onnxpad.semantics.pointwise import Number, computed, exact, rectified
from onnxpad.semantics.rows import UnreadError
from tests.semantics.drawn_steps import padded
from tests.support.rows import each_row, rows_below

N = symbol("n")
PAIRS = ((0, 0), (1, 0), (0, 2), (-1, 0), (0, -2), (-2, 3), (1, -1), (-1, -1), (2, 2))


@pytest.mark.parametrize("fills", [(5,), (5, 7)])
def test_merged_layers_pad_as_the_layers_do_and_equal_ones_are_alike(fills: tuple[int]) -> None:
    """However a padding of one fill is parted, crops included, it has one form."""
    data, draw = np.arange(100, 181).reshape(9, 9), random.Random(0)
    forms: dict[tuple[object, ...], set[Layers]] = defaultdict(set)
    for _ in range(2000):
        layers = tuple(
            Layer((draw.choice(PAIRS), draw.choice(PAIRS)), draw.choice(fills))
            for _ in range(draw.randint(0, 4))
        )
        found, wanted = merged(layers), padded(data, layers)
        assert padded(data, found).tolist() == wanted.tolist()
        assert merged(found) == found
        assert all(is_padded(layer.amounts) for layer in found)
        forms[wanted.shape, wanted.tobytes()].add(found)
    assert len(fills) > 1 or all(len(each) == 1 for each in forms.values())
    assert len(forms) > 500


def layers_in(text: str) -> list[tuple[Extent, Extent, Fill]]:
    """Layers of one axis, as `1 0 3, 0 n-2 least`."""
    numbers = {"n": N, "n+1": N + 1, "n-2": N - 2}
    named: dict[str, Fill] = {"least": LEAST, "excluded": EXCLUDED}
    parts = [each.split() for each in text.split(", ") if each != "none"]

    def size(word: str) -> Extent:
        return numbers[word] if word in numbers else int(word)

    return [(size(a), size(b), named[c] if c in named else int(c)) for a, b, c in parts]


JOINED = "which layers join: begin, end and fill of each, and the same of those that are made"


@each_row(("layers", "result"), rows_below(Path(__file__).with_name("rows.txt"), JOINED))
def test_which_layers_join(layers: str, result: str) -> None:
    given = tuple(Layer(((begin, end),), fill) for begin, end, fill in layers_in(layers))
    found = [(*layer.amounts[0], layer.fill) for layer in merged(given)]
    assert found == layers_in(result)


def test_amounts() -> None:
    assert (total([]), total([1, N, 2])) == (0, N + 3)
    layers = (Layer(((1, 2), (3, 4)), 0), Layer(((10, 20), (30, -40)), 0))
    assert (around(layers, 0), around(layers, 1), around((), 0)) == (33, -3, 0)
    assert touched_axes((Layer(((0, 0), (0, 1)), 0),)) == {1}
    assert of_axes(layers[0], {1}) == Layer(((0, 0), (3, 4)), 0)
    assert (pairs_of([1, 3, 2, 4]), onnx_order(((1, 2), (3, 4)))) == (
        ((1, 2), (3, 4)),
        [1, 3, 2, 4],
    )
    assert add(((1, 2), (3, 4)), ((10, 20), (30, 50))) == ((11, 22), (33, 54))
    assert not is_padded([(0, 0), (0, 0)])
    assert is_padded([(0, 0), (0, -1)])
    for amounts, never, cropping in (
        (((0, 0), (-1, 0)), True, True),
        (((0, 1), (-1, 0)), False, True),
        (((0, 1), (N, 0)), False, False),
        (((-N, 0),), True, True),
        (((1 - N, 0),), True, True),
        (((2 - N, 0),), False, True),
        (((Unknown("why"), 0),), False, True),
    ):
        assert (never_pads(amounts), crops(amounts)) == (never, cropping)


def test_fills() -> None:
    found = [number_of(fill_of(n)) for n in (0.0, 0, -0.0, -1.0, 2, 0.5, math.inf, 3e38)]
    assert " ".join(map(repr, found)) == "0 0 -0.0 -1 2 0.5 inf 3e+38"  # equal ones are told alike
    assert fill_of(-0.0) == NEGATIVE_ZERO
    assert fill_of(float("nan")) is fill_of(float("nan"))
    plain = [is_plain_zero(fill) for fill in (0, 0.0, -0.0, 1.0, -1.0, None, math.nan)]
    assert plain == [True] * 2 + [False] * 5
    fills: tuple[Fill, ...] = (NEGATIVE_ZERO, LEAST, 3.0, Operand(1), math.inf, math.nan)
    layers = tuple(Layer(((1, 1),), fill) for fill in fills)
    assert [layer.fill for layer in without_sign(layers)] == [0, *fills[1:]]
    assert [is_finite(fill) for fill in fills] == [True, False, True, True, False, False]


# The arithmetic on fills

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE
HALF, BRAIN = TensorProto.FLOAT16, TensorProto.BFLOAT16
INT8, UINT8, INT64 = TensorProto.INT8, TensorProto.UINT8, TensorProto.INT64


@each_row(
    ("number", "dtype"),
    [
        (0.1, FLOAT), (65505, HALF), (2.0**-15, HALF), (1 + 2.0**-8, BRAIN), (2.0**-127, FLOAT),
        (2.0**-1023, DOUBLE), (math.nan, FLOAT), (-129, INT8), (-1, UINT8), (2**63, INT64),
        (0.5, INT8), (math.inf, INT8), (math.nan, INT8), (2, TensorProto.BOOL),
        (0, TensorProto.STRING), (2**53 + 1, DOUBLE), (1, TensorProto.FLOAT8E5M2),
    ],
)  # fmt: skip
def test_what_a_type_does_not_hold_is_refused(number: Number, dtype: int) -> None:
    with pytest.raises(UnreadError):
        exact(number, dtype)


@each_row(
    ("op", "a", "b", "dtype"),
    [
        ("Mul", 2.0**-100, 2.0**-100, FLOAT),  # 0 or subnormal
        ("Div", 2.0**-126, 3.0, FLOAT), ("Div", 2.0**-126, 3e38, FLOAT),
        ("Mul", 2.0**-126, 1.0, FLOAT), ("Mul", 3e38, 2.0, FLOAT), ("Add", 1e308, 1e308, DOUBLE),
        ("Mul", 0.0, math.inf, FLOAT), ("Sub", math.inf, math.inf, FLOAT), ("Div", 1.0, 0.0, FLOAT),
        ("Div", 1.0, 3.0, HALF), ("Add", 2048.0, 1.0, HALF), ("Mul", 1.0078125, 1.0078125, BRAIN),
        ("Sub", -100, 29, INT8), ("Div", 4, 2, INT64),
    ],
)  # fmt: skip
def test_results_on_which_engines_differ_are_refused(
    op: str, a: float, b: float, dtype: int
) -> None:
    with pytest.raises(UnreadError):
        computed(op, a, b, dtype)


def test_types_of_16_bits_hold_few_numbers_and_zeros_have_signs() -> None:
    """No array of bfloat16 goes through onnxruntime's Python interface."""

    def fill(function: Callable[[Number], pointwise.Numbers], given: Fill, dtype: int) -> Fill:
        return pointwise.mapped(given, function, dtype)

    assert exact(2.0**127, BRAIN) == 2.0**127
    assert computed("Mul", 1.5, 3.0, BRAIN) == 4.5
    assert computed("Add", 1.0, math.inf, FLOAT) == math.inf
    assert fill(lambda number: (-number,), 0, FLOAT) == NEGATIVE_ZERO
    assert fill(lambda number: (-number,), 0, INT8) == 0
    for given in (LEAST, EXCLUDED, 0.1):
        with pytest.raises(UnreadError):
            fill(rectified, given, FLOAT)
    with pytest.raises(UnreadError):
        fill(lambda number: (number, number + 1), 0, FLOAT)


# How sizes join


M, UNKNOWN = symbol("m"), Unknown("why")
