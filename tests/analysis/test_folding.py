"""Constants of which runtimes may make different things are not folded; those beside them are."""

from typing import Any

import numpy as np
import pytest

from onnxpad.analysis import Analysis
from onnxpad.analysis.floats import ZERO
from onnxpad.arithmetic.size import Unknown
from onnxpad.graph import Graph
from tests.analysis.agreement import single
from tests.support import Array


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def floats(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


GRID = np.arange(6).reshape(2, 3)
CUBE = np.arange(16, dtype=np.float32).reshape(1, 4, 2, 2)
TOP = {"k": ints(1), "outputs": 2}
BACK = {"time_axis": 1, "batch_axis": 0}
INF, NAN = float("inf"), float("nan")

# The operator, constants that are folded, constants that are not and differ in one thing, and why.
PAIRS = [
    ("ArgMax", {"a": floats(1, 2)}, {"a": floats(1, NAN)}, "NaN has no place"),
    ("ArgMin", {"a": floats(1, 0)}, {"a": floats(-0.0, 0)}, "which zero is less"),
    ("ArgMax", {"a": floats(1), "axis": 0}, {"a": floats(), "axis": 0}, "nothing to choose from"),
    ("TopK", {"a": ints(3, 1), **TOP}, {"a": ints(3, 3), **TOP}, "equal elements"),
    (
        "TopK",
        {"a": ints(3, 1), **TOP},
        {"a": ints(3, 1), **TOP, "sorted": 0},
        "elements in any order",
    ),
    (
        "TopK",
        {"a": floats(3, 1), **TOP, "opset": 10},
        {"a": floats(3, 1), "k": 1, "outputs": 2, "opset": 9},
        "an old opset",
    ),
    (
        "Unique",
        {"a": GRID, "axis": 0},
        {"a": GRID, "axis": 0, "sorted": 0},
        "rows in any order",
    ),
    (
        "ScatterElements",
        {"a": ints(1, 2), "i": ints(0), "u": ints(9)},
        {"a": ints(1, 2), "i": ints(0), "u": ints(9), "reduction": "add"},
        "a reduction",
    ),
    (
        "ScatterElements",
        {"a": ints(1, 2), "i": ints(1, -2), "u": ints(8, 9)},
        {"a": ints(1, 2), "i": ints(1, -1), "u": ints(8, 9)},
        "one place twice, once from the end",
    ),
    (
        "ScatterElements",
        {"a": GRID, "i": GRID[:1] * 0, "u": GRID[:1]},
        {"a": GRID, "i": GRID[:1], "u": GRID[:1]},
        "a place past the end",
    ),
    (
        "ScatterElements",
        {"a": GRID, "i": GRID[:1], "u": GRID[:1], "axis": 1},
        {"a": GRID, "i": GRID[:1], "u": GRID[:1], "axis": 2},
        "an axis that there is not",
    ),
    (
        "ScatterND",
        {"a": GRID, "i": ints(0, 1).reshape(2, 1), "u": GRID},
        {"a": GRID, "i": ints(0, 0).reshape(2, 1), "u": GRID},
        "one row twice",
    ),
    (
        "ScatterND",
        {"a": GRID, "i": ints(-2).reshape(1, 1), "u": GRID[:1]},
        {"a": GRID, "i": ints(-3).reshape(1, 1), "u": GRID[:1]},
        "a row before the first",
    ),
    (
        "GatherND",
        {"a": GRID, "i": ints(1, 2).reshape(1, 2)},
        {"a": GRID, "i": ints(1, 3).reshape(1, 2)},
        "a place past the end of a row",
    ),
    (
        "GatherND",
        {"a": GRID, "i": ints(-2, -3).reshape(1, 2)},
        {"a": GRID, "i": ints(-2, -4).reshape(1, 2)},
        "a place before the first of a row",
    ),
    (
        "OneHot",
        {"i": ints(1), "d": ints(3), "v": ints(0, 1)},
        {"i": ints(1), "d": ints(0), "v": ints(0, 1)},
        "no depth",
    ),
    (
        "OneHot",
        {"i": ints(1), "d": ints(3), "v": ints(0, 1)},
        {"i": ints(1), "d": ints(3), "v": ints(0, 1, 2)},
        "three values",
    ),
    (
        "OneHot",
        {"i": ints(1), "d": ints(3), "v": ints(0, 1)},
        {"i": ints(1), "d": ints(2**20), "v": ints(0, 1)},
        "a large result",
    ),
    (
        "DepthToSpace",
        {"a": CUBE, "blocksize": 2},
        {"a": CUBE[:, :3], "blocksize": 2},
        "channels that do not divide",
    ),
    (
        "SpaceToDepth",
        {"a": CUBE, "blocksize": 2},
        {"a": CUBE[..., :1], "blocksize": 2},
        "a width that does not divide",
    ),
    (
        "ReverseSequence",
        {"a": GRID, "n": ints(3, 0), **BACK},
        {"a": GRID, "n": ints(4, 0), **BACK},
        "longer than the data",
    ),
    (
        "ReverseSequence",
        {"a": GRID, "n": ints(3, 1), **BACK},
        {"a": GRID, "n": ints(3, -1), **BACK},
        "a negative length",
    ),
    (
        "ReverseSequence",
        {"a": GRID, "n": ints(3, 1), **BACK},
        {"a": GRID, "n": ints(3, 1, 1), **BACK},
        "lengths of another number",
    ),
    (
        "Pad",
        {"a": ints(1, 2, 3), "p": ints(2, 1), "mode": "reflect"},
        {"a": ints(1, 2, 3), "p": ints(3, 1), "mode": "reflect"},
        "more than there is to reflect",
    ),
    (
        "Pad",
        {"a": ints(1, 2, 3), "p": ints(2, 1), "mode": "edge"},
        {"a": ints(1, 2, 3), "p": ints(2, -1), "mode": "edge"},
        "a crop",
    ),
    (
        "Pad",
        {"a": ints(1, 2, 3), "p": ints(2, 1), "mode": "edge"},
        {"a": ints(1, 2, 3), "p": ints(2, 1), "mode": "wrap", "opset": 19},
        "another mode",
    ),
    (
        "OneHot",
        {"i": ints(1, 0), "d": ints(2048), "v": ints(0, 1)},
        {"i": ints(1, 0), "d": ints(2049), "v": ints(0, 1)},
        "one column beyond what is folded",
    ),
    (
        "OneHot",
        {"i": ints(1, -3), "d": ints(3), "v": ints(0, 1)},
        {"i": ints(1, -3), "d": ints(3, 3), "v": ints(0, 1)},
        "two depths",
    ),
    (
        "Pad",
        {"a": ints(1, 2), "p": ints(4000, 94), "mode": "edge"},
        {"a": ints(1, 2), "p": ints(4000, 95), "mode": "edge"},
        "one element beyond what is folded",
    ),
    (
        "Pad",
        {"a": ints(1, 2, 3), "p": ints(1, 2), "mode": "reflect"},
        {"a": ints(1, 2, 3), "p": ints(1, 3), "mode": "reflect"},
        "more to reflect at the end",
    ),
    (
        "Pad",
        {"a": GRID, "p": ints(1, 0, 0, 2), "mode": "reflect"},
        {"a": GRID, "p": ints(0, 0, 2, 1), "mode": "reflect"},
        "more rows to reflect than there are",
    ),
    (
        "Pad",
        {"a": GRID, "p": ints(1, 2, 1, 2), "mode": "reflect"},
        {"a": GRID, "p": ints(1, 3, 1, 2), "mode": "reflect"},
        "more columns to reflect than there are",
    ),
    (
        "Pad",
        {"a": ints(1, 2), "p": ints(1, 1), "mode": "edge", "opset": 11},
        {"a": ints(), "p": ints(1, 1), "mode": "edge", "opset": 11},
        "no element to repeat",
    ),
    (
        "GatherND",
        {"a": GRID, "i": ints(2, 0).reshape(2, 1), "batch_dims": 1},
        {"a": GRID, "i": ints(3, 0).reshape(2, 1), "batch_dims": 1},
        "a place past the end of a batch",
    ),
    (
        "DepthToSpace",
        {"a": CUBE, "blocksize": 1},
        {"a": CUBE, "blocksize": 0},
        "blocks of nothing",
    ),
    (
        "SpaceToDepth",
        {"a": CUBE, "blocksize": 2},
        {"a": CUBE[0], "blocksize": 2},
        "no batch",
    ),
    (
        "ReverseSequence",
        {"a": GRID, "n": ints(3, 1), **BACK},
        {"a": GRID, "n": ints(1, 2, 0), "time_axis": 1, "batch_axis": 1},
        "one axis twice",
    ),
    ("NonZero", {"a": ints(0)}, {"a": np.array(0)}, "a scalar"),
    ("ReduceL1", {"a": ints(1)}, {"a": ints(1), "keepdims": 2}, "neither kept nor dropped"),
    ("ReduceSum", {"a": floats(1, 2)}, {"a": floats(1, 0.5)}, "fractions"),
    ("ReduceSum", {"a": floats(1, 2)}, {"a": floats(1, INF)}, "an infinity"),
    ("ReduceSum", {"a": floats(2**24 - 1, 1)}, {"a": floats(2**24, 1)}, "a sum that is rounded"),
    (
        "ReduceProd",
        {"a": np.array([2**15, 2**15], np.int32)},
        {"a": np.array([2**16, 2**15], np.int32)},
        "a product that overflows",
    ),
    (
        "ReduceSum",
        {"a": np.array([2.0**52, 1, 1])},
        {"a": np.array([2.0**53, 1, 1])},
        "a sum of doubles that is rounded",
    ),
    ("MatMul", {"a": GRID, "b": GRID.T}, {"a": GRID / 4, "b": GRID.T / 4}, "products of fractions"),
    (
        "Gemm",
        {"a": floats(1).reshape(1, 1), "b": floats(2).reshape(1, 1)},
        {"a": floats(1).reshape(1, 1), "b": floats(2).reshape(1, 1), "alpha": 0.5},
        "a factor",
    ),
    (
        "Gemm",
        {"a": floats(1).reshape(1, 1), "b": floats(2).reshape(1, 1), "beta": 1.0},
        {"a": floats(1).reshape(1, 1), "b": floats(2).reshape(1, 1), "beta": 0.5},
        "a factor of the bias",
    ),
    ("ReduceMean", {"a": floats(1, 3)}, {"a": floats(1, 2, 2)}, "thirds, which are rounded"),
    ("ReduceMean", {"a": floats(1, 3)}, {"a": ints(1, 3)}, "a mean of integers"),
    ("ReduceMean", {"a": floats(1, 3)}, {"a": floats(0.5, 0.5)}, "a mean of fractions"),
    ("Reciprocal", {"a": floats(0.25)}, {"a": floats(3)}, "a third"),
    ("Reciprocal", {"a": floats(-2)}, {"a": floats(0)}, "a division by zero"),
    ("Exp", {"a": floats(0)}, {"a": floats(1)}, "a function that is rounded"),
    ("Log", {"a": floats(1)}, {"a": floats(2)}, "a logarithm that is rounded"),
    ("Sigmoid", {"a": floats(0)}, {"a": floats(1)}, "a curve that is rounded"),
    ("Tanh", {"a": floats(0)}, {"a": floats(0.5)}, "another one"),
]  # fmt: skip


def is_known(op: str, given: dict[str, Any]) -> bool:
    """Whether each element of the first output is a number."""
    inputs = {name: each for name, each in given.items() if isinstance(each, np.ndarray)}
    others = {name: each for name, each in given.items() if name not in inputs}
    graph = Graph.from_proto(single(op, inputs, others.pop("opset", 17), **others))
    value = Analysis(graph).value(graph.tensor("y0"))
    return value is not None and not any(isinstance(each, Unknown) for each in value.data.flat)


@pytest.mark.parametrize(
    ("op", "folded", "left"),
    [pytest.param(*case[:3], id=f"{case[0]}, {case[3]}") for case in PAIRS],
)
def test_what_is_folded_and_what_is_not(
    op: str, folded: dict[str, Any], left: dict[str, Any]
) -> None:
    assert is_known(op, folded)
    assert not is_known(op, left)


@pytest.mark.parametrize(
    ("op", "data"),
    [
        ("MatMul", {"a": floats(-1, 1).reshape(1, 2), "b": floats(2, 2).reshape(2, 1)}),
        ("ReduceSum", {"a": floats(-0.0)}),
        ("ReduceMean", {"a": floats(-1, 1)}),
        ("Sin", {"a": floats(-0.0)}),
    ],
)
def test_the_sign_of_a_zero_is_left_open(op: str, data: dict[str, Any]) -> None:
    """Runtimes that add in another order, or start at 0.0, get either zero."""
    graph = Graph.from_proto(single(op, data))
    value = Analysis(graph).value(graph.tensor("y0"))
    assert value is not None
    assert value.data.tolist() in ([[ZERO]], [ZERO])
