"""The layout of arrays whose sizes do not tell it: that whose outputs are nearer the reference."""

from collections.abc import Mapping

import numpy as np
import pytest

from onnxpad.validation.arrays import MatchedInputs
from onnxpad.validation.draw import Draw
from onnxpad.validation.layouts import laid_out
from tests.support import Array, one
from tests.support.rows import each_row

MODEL = one(
    "y = Mul (x, c) z = Mul (x, e)",
    inputs="float[1, 2, 2, 2] x",
    outputs="float[] y, float[] z",
    initializers="float[1, 2, 1, 1] c = {1, 3}, float[1, 2, 1, 1] e = {5, 1}",
)
DATA = np.array([[[[1, 2], [4, 3]], [[5, 7], [9, 6]]]], np.float32)
MOVED = np.moveaxis(DATA, -1, 1)


def y(data: Array) -> Array:
    return data * np.array([1, 3], np.float32).reshape(1, 2, 1, 1)


def z(data: Array) -> Array:
    return data * np.array([5, 1], np.float32).reshape(1, 2, 1, 1)


def chosen(*expected: Mapping[str, Array], others: Array | None = MOVED, data: Array = DATA) -> str:
    """Which draw is kept: that of the data, the other, or both."""
    draws = tuple(Draw({"x": each}, "x") for each in (data, others) if each is not None)
    given = MatchedInputs(draws[:1], expected, others=(draws[1:],) if draws[1:] else ())
    found = laid_out(given, MODEL)
    if found is given:
        return "both"
    assert found.others == ()
    assert found.expected == given.expected
    return "data" if found.draws == given.draws else "other" if found.draws == draws[1:] else "?"


@each_row(
    ("expected", "kept"),
    [
        pytest.param({"y": y(DATA)}, "data", id="as it is"),
        pytest.param({"y": y(MOVED)}, "other", id="moved"),
        pytest.param({"y": y(DATA) * 1.01}, "data", id="nearly as it is"),
        pytest.param({"y": y(MOVED) * 1.01}, "other", id="nearly moved"),
        pytest.param({}, "both", id="no output"),
        pytest.param({"missing": y(DATA)}, "both", id="an output that the model lacks"),
        pytest.param({"y": y(DATA)[..., :1]}, "both", id="another shape"),
        pytest.param({"y": y(DATA).astype(np.str_)}, "both", id="text"),
        pytest.param({"y": np.zeros_like(DATA)}, "other", id="zeros, to which it is nearer"),
        pytest.param({"y": y(MOVED), "missing": DATA}, "both", id="one that is not compared"),
        pytest.param({"y": y(DATA) + 1e4, "z": z(MOVED)}, "other", id="relative to y"),
        pytest.param({"y": y(DATA), "z": z(MOVED) + 1e4}, "data", id="relative to z"),
    ],
    at_once=4,
)
def test_the_layout_is_that_of_the_nearer_outputs(expected: Mapping[str, Array], kept: str) -> None:
    assert chosen(expected) == kept


def test_nothing_is_run_where_there_is_no_choice_or_no_reference() -> None:
    assert chosen({"y": y(DATA)}, others=None) == "both"
    assert chosen() == "both"


def test_data_that_are_alike_in_both_layouts_settle_nothing() -> None:
    alike = np.array([[[[1, 2], [2, 7]], [[2, 7], [7, 5]]]], np.float32)
    assert chosen({"y": y(alike)}, others=np.moveaxis(alike, -1, 1), data=alike) == "both"
