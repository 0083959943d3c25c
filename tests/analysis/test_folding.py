"""Constants of which runtimes may make different things are not folded; those beside them are."""

from typing import Any

import numpy as np
import pytest

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Unknown
from onnxpad.graph import Graph
from tests.analysis.agreement import single
from tests.support import Array


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def floats(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


GRID = np.arange(6).reshape(2, 3)
INF, NAN = float("inf"), float("nan")

# The operator, constants that are folded, constants that are not and differ in one thing, and why.
PAIRS = [
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
        "GatherND",
        {"a": GRID, "i": ints(2, 0).reshape(2, 1), "batch_dims": 1},
        {"a": GRID, "i": ints(3, 0).reshape(2, 1), "batch_dims": 1},
        "a place past the end of a batch",
    ),
    ("NonZero", {"a": ints(0)}, {"a": np.array(0)}, "a scalar"),
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
