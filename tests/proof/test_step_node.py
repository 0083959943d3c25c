"""What the proof reads of a step's inputs: constants of their type, axes, and numbers."""

from typing import Any

import pytest
from onnx import TensorProto

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph
from onnxpad.proof.layers import Layer
from onnxpad.proof.meaning import MeaninglessError, meaning_of, padding_of
from onnxpad.proof.step_rules.step_node import StepNode, axes_of, axis_of, numbers_of, widened
from tests.support import W, one
from tests.support.rows import each_row

GIVEN = (
    "float[2] f = {1, 2}, int64[2] i = {3, 4}, float[0] none = {}, double d = {1}, "
    "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"
)


def call(body: str = "y = Sum (x, f, i, none, d, , u)") -> StepNode:
    inputs = "float[1, 2, 9, 8] x, float[2] u, int64[2] v"
    graph = Graph.from_proto(one(body, inputs=inputs, initializers=f"{W}, {GIVEN}"))
    (node,) = graph.nodes
    return StepNode(graph, Analysis(graph), node, 13, 0, (0,), ())


@each_row(
    ("place", "dtype", "values"),
    [
        (1, TensorProto.FLOAT, [1, 2]),
        (2, TensorProto.INT64, [3, 4]),
        (4, TensorProto.DOUBLE, 1),
        (1, TensorProto.DOUBLE, None),
        (2, TensorProto.FLOAT, None),
        (3, TensorProto.FLOAT, None),  # it has no element
        (5, TensorProto.FLOAT, None),  # it is left out
        (6, TensorProto.FLOAT, None),  # it is fed
        (7, TensorProto.FLOAT, None),
    ],
)
def test_constants_are_of_the_type_asked_for(place: int, dtype: int, values: Any) -> None:
    node = call()
    if values is None:
        with pytest.raises(MeaninglessError):
            node.constant(place, dtype)
    else:
        assert node.constant(place, dtype).tolist() == values


def test_the_inputs_that_are_given() -> None:
    node = call()
    assert [place for place in range(9) if node.node.operand(place) is not None] == [
        0,
        1,
        2,
        3,
        4,
        6,
    ]
    assert [*node.others()] == [(1, "f"), (2, "i"), (3, "none"), (4, "d"), (6, "u")]
    assert node._replace(data=(0, 4)).source.name == "x"
    assert [place for place, _ in node._replace(data=(0, 4)).others()] == [1, 2, 3, 6]
    assert node.layers == ()
    assert node._replace(inner=((Layer(((1, 0),), 2),), ())).layers == (Layer(((1, 0),), 2),)


@each_row(
    ("axes", "rank", "found"),
    [
        ((0, -1), 4, (0, 3)),
        ((-4, 3), 4, (0, 3)),
        ((5, -7), None, (5, -7)),  # of an unknown rank they are as they are
        ((), 0, ()),
        ((4,), 4, "there is no axis 4"),
        ((-5,), 4, "there is no axis -5"),
        ((1, -3), 4, "an axis is named twice"),
        ((2, 2), None, "an axis is named twice"),
    ],
)
def test_axes(axes: tuple[int, ...], rank: int | None, found: Any) -> None:
    if isinstance(found, str):
        with pytest.raises(MeaninglessError, match=found):
            axes_of(axes, rank)
        return
    assert axes_of(axes, rank) == found
    assert tuple(axis_of(axis, rank) for axis in axes) == found


def test_numbers_of_an_input() -> None:
    node = call("y = Sum (x, i, v, )")
    assert numbers_of(node, 1) == (3, 4)
    for place in (2, 3, 4):
        with pytest.raises(MeaninglessError):
            numbers_of(node, place)


def test_layers_get_axes_in_front() -> None:
    layers = (Layer(((1, 2), (0, 0)), 3.0), Layer(((0, 1), (1, 0)), 0.0))
    assert widened(layers, 0) == layers
    assert widened(layers, 2) == (
        Layer(((0, 0), (0, 0), (1, 2), (0, 0)), 3.0), Layer(((0, 0), (0, 0), (0, 1), (1, 0)), 0.0),
    )  # fmt: skip


@pytest.mark.parametrize("body", ['y = Conv ("", w)', "y = Conv ()", 'y = Pad ("", p)'])
def test_a_node_without_data_has_no_meaning(body: str) -> None:
    node = call(body)
    read = padding_of if "Pad" in body else meaning_of
    with pytest.raises(MeaninglessError):
        read(node.graph, node.analysis, node.node)
