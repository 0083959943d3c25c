"""Layers of padding: when several equal one, held against numpy, and what is told of them."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from onnxpad.arithmetic.size import Unknown, symbol
from onnxpad.proof.layers import (
    EITHER_ZERO,
    EXCLUDED,
    LEAST,
    NEGATIVE_ZERO,
    Layer,
    Layers,
    around,
    count_shared,
    fill_of,
    fill_of_tensor,
    finite_layers,
    merged,
    never_pads,
    same_layers,
    total_of,
    without_crops,
    without_sign,
)
from tests.proof.test_steps import padded
from tests.support.rows import each_row

N = symbol("n")


def line(*layers: tuple[int, int, float]) -> Layers:
    return tuple(Layer(((begin, end),), fill) for begin, end, fill in layers)


def test_merged_layers_pad_as_the_layers_do() -> None:
    data = np.arange(10, 19)
    amounts = [(0, 0), (1, 0), (0, 2), (-1, 0), (0, -2), (-2, 3), (1, -1), (-1, -1)]
    for one, other in product(amounts, amounts):
        for fills in ((5, 5), (5, 7)):
            layers = line((*one, fills[0]), (*other, fills[1]))
            found = merged(layers)
            assert padded(data, found).tolist() == padded(data, layers).tolist()
            assert len(found) <= sum(pair != (0, 0) for pair in (one, other))


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
    ],
)
def test_which_layers_join(layers: Sequence[tuple[int, int, float]], result: object) -> None:
    assert [(*layer.amounts[0], layer.fill) for layer in merged(line(*layers))] == result


def test_amounts() -> None:
    assert total_of([]) == 0
    assert total_of([1, N, 2]) == N + 3
    layers = (Layer(((1, 2), (3, 4)), 0), Layer(((10, 20), (30, -40)), 0))
    assert (around(layers, 0), around(layers, 1), around((), 0)) == (33, -3, 0)
    for amounts, never in (
        (((0, 0), (-1, 0)), True),
        (((0, 1), (-1, 0)), False),
        (((-N, 0),), True),
        (((1 - N, 0),), True),
        (((2 - N, 0),), False),
        (((Unknown("why"), 0),), False),
    ):
        assert never_pads(amounts) is never


def test_crops_of_axes_that_are_not_padded() -> None:
    first, second = ((-1, 0), (1, 0), (0, 0)), ((0, -2), (-1, 0), (-3, -4))
    layers = (Layer(first, 5), Layer(second, 6))
    crops, rest = without_crops(layers)
    assert crops == ((-1, -2), (0, 0), (-3, -4))
    assert rest == (
        Layer(((0, 0), (1, 0), (0, 0)), 5),
        Layer(((0, 0), (-1, 0), (0, 0)), 6),
    )
    crops, rest = without_crops(layers, 2)
    assert crops == ((0, 0), (0, 0), (-3, -4))
    assert rest == (layers[0], Layer(((0, -2), (-1, 0), (0, 0)), 6))
    assert without_crops(layers, 1) == ((), layers)
    assert without_crops(layers[:1], 0) == (((-1, 0), (0, 0), (0, 0)),
                                            (Layer(((0, 0), (1, 0), (0, 0)), 5),))  # fmt: skip
    assert without_crops((Layer(((-1, 0),), 5),)) == (((-1, 0),), ())
    assert without_crops(()) == ((), ())


def test_fills() -> None:
    assert [fill_of(value) for value in (0.0, 0, -1.0, 2)] == [0.0, 0, -1.0, 2]
    assert fill_of(-0.0) == NEGATIVE_ZERO
    assert fill_of_tensor("x") not in {0, NEGATIVE_ZERO, LEAST, EXCLUDED, fill_of_tensor("y")}
    fills = (NEGATIVE_ZERO, EITHER_ZERO, LEAST, 3.0)
    layers = tuple(Layer(((1, 1),), fill) for fill in fills)
    assert [layer.fill for layer in without_sign(layers)] == [0, 0, LEAST, 3.0]


def test_layers_in_common() -> None:
    one, two, three = line((1, 1, 5), (2, 2, -math.inf), (3, 3, 6))
    assert count_shared((one, two, three), (one, two)) == 2
    assert count_shared((one, two), (one, three)) == 1
    assert count_shared((one,), (two,)) == 0
    assert count_shared((two, one), (one, one)) == 0
    assert finite_layers((one, three)) == 2
    assert finite_layers((one, two, three)) == 1
    assert finite_layers(line((1, 1, math.inf))) == 0
    assert finite_layers((Layer(((1, 1),), LEAST),)) == 1
    assert same_layers((one,), (one,))
    assert not same_layers((one,), (two,))
    assert same_layers((Layer(((N, 0),), 1),), (Layer(((N, 0),), 1),))
    unknown = (Layer(((Unknown("why"), 0),), 1),)
    assert not same_layers(unknown, unknown)
