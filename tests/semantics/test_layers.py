"""Layers of padding: when several equal one, held against numpy, and what is told of them."""

import math
import random
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest

from onnxpad.arithmetic.size import Unknown, symbol
from onnxpad.semantics.layers import (
    EXCLUDED,
    LEAST,
    NEGATIVE_ZERO,
    Fill,
    Layer,
    Layers,
    Operand,
    around,
    crops,
    fill_of,
    is_finite,
    is_padded,
    merged,
    never_pads,
    number_of,
    of_axes,
    total,
    touched_axes,
    without_sign,
)
from tests.semantics.drawn_steps import padded
from tests.support.rows import each_row

N = symbol("n")
PAIRS = ((0, 0), (1, 0), (0, 2), (-1, 0), (0, -2), (-2, 3), (1, -1), (-1, -1), (2, 2))


def drawn(seed: int, fills: Sequence[int]) -> list[Layers]:
    """Layers over two axes of a square of 9."""
    draw = random.Random(seed)
    return [
        tuple(
            Layer((draw.choice(PAIRS), draw.choice(PAIRS)), draw.choice(fills))
            for _ in range(draw.randint(0, 4))
        )
        for _ in range(500)
    ]


@pytest.mark.parametrize("fills", [(5,), (5, 7)])
def test_merged_layers_pad_as_the_layers_do_and_equal_ones_are_alike(fills: tuple[int]) -> None:
    """However a padding of one fill is parted, crops included, it has one form."""
    data = np.arange(100, 181).reshape(9, 9)
    forms: dict[tuple[object, ...], set[Layers]] = defaultdict(set)
    for seed in range(4):
        for layers in drawn(seed, fills):
            found, wanted = merged(layers), padded(data, layers)
            assert padded(data, found).tolist() == wanted.tolist()
            assert merged(found) == found
            assert all(is_padded(layer.amounts) for layer in found)
            forms[wanted.shape, wanted.tobytes()].add(found)
    assert len(fills) > 1 or all(len(each) == 1 for each in forms.values())
    assert len(forms) > 500


@each_row(
    ("layers", "result"),
    [
        ([(0, 0, 3)], []),
        ([(1, 0, 3), (0, 2, 3)], [(1, 2, 3)]),
        ([(1, 0, 3), (0, 2, 4)], [(1, 0, 3), (0, 2, 4)]),
        ([(-1, 0, 3), (0, -2, 4)], [(-1, -2, 0)]),
        ([(-1, 0, 3), (0, 2, 4)], [(-1, 2, 4)]),
        ([(1, 0, 3), (0, -2, 4)], [(1, -2, 3)]),
        ([(2, 0, 3), (-1, 0, 4)], [(1, 0, 3)]),
        ([(1, 0, 3), (-2, 0, 3)], [(-1, 0, 0)]),
        ([(-1, 0, 3), (1, 0, 3)], [(-1, 0, 0), (1, 0, 3)]),
        ([(1, 0, 3), (-1, 0, 3), (1, 0, 3)], [(1, 0, 3)]),
        ([(1, 0, 3), (0, 0, 9), (1, 0, 3)], [(2, 0, 3)]),
        ([(1, 0, 3), (-1, 0, 0), (2, 0, 4)], [(2, 0, 4)]),
        ([(0, 1, 3), (0, N, 3)], [(0, N + 1, 3)]),
        ([(0, N, 3), (0, 1, 3)], [(0, N + 1, 3)]),
        ([(0, N - 2, 3), (0, 1, 3)], [(0, N - 2, 3), (0, 1, 3)]),
        ([(0, 1, 3), (0, N - 2, 3)], [(0, 1, 3), (0, N - 2, 3)]),
        ([(0, N, 3), (0, -1, 3)], [(0, N, 3), (0, -1, 0)]),
        ([(0, -1, 3), (0, N, 3)], [(0, -1, 0), (0, N, 3)]),
        ([(1, 0, LEAST), (0, 2, EXCLUDED)], [(1, 0, LEAST), (0, 2, EXCLUDED)]),
        ([(1, 0, Operand(2)), (0, 2, Operand(2))], [(1, 2, Operand(2))]),
    ],
)
def test_which_layers_join(layers: Sequence[tuple[int, int, float]], result: object) -> None:
    given = tuple(Layer(((begin, end),), fill) for begin, end, fill in layers)
    assert [(*layer.amounts[0], layer.fill) for layer in merged(given)] == result


def test_amounts() -> None:
    assert total([]) == 0
    assert total([1, N, 2]) == N + 3
    layers = (Layer(((1, 2), (3, 4)), 0), Layer(((10, 20), (30, -40)), 0))
    assert (around(layers, 0), around(layers, 1), around((), 0)) == (33, -3, 0)
    assert touched_axes((Layer(((0, 0), (0, 1)), 0),)) == {1}
    assert of_axes(layers[0], {1}) == Layer(((0, 0), (3, 4)), 0)
    for amounts, never, cropping in (
        (((0, 0), (-1, 0)), True, True),
        (((0, 1), (-1, 0)), False, True),
        (((0, 1), (N, 0)), False, False),
        (((-N, 0),), True, True),
        (((1 - N, 0),), True, True),
        (((2 - N, 0),), False, True),
        (((Unknown("why"), 0),), False, True),
    ):
        assert never_pads(amounts) is never
        assert crops(amounts) is cropping


def test_fills() -> None:
    found = [number_of(fill_of(n)) for n in (0.0, 0, -0.0, -1.0, 2, 0.5, math.inf, 3e38)]
    assert " ".join(map(repr, found)) == "0 0 -0.0 -1 2 0.5 inf 3e+38"  # equal ones are told alike
    assert fill_of(-0.0) == NEGATIVE_ZERO
    assert fill_of(float("nan")) is fill_of(float("nan"))
    others: tuple[Fill, ...] = (LEAST, 3.0, Operand(1), math.inf, math.nan)
    fills: tuple[Fill, ...] = (NEGATIVE_ZERO, *others)
    layers = tuple(Layer(((1, 1),), fill) for fill in fills)
    assert [layer.fill for layer in without_sign(layers)] == [0, *fills[1:]]
    assert [is_finite(fill) for fill in fills] == [True, False, True, True, False, False]
