"""Rows of window operators are complete, and say where their axes are."""

from dataclasses import MISSING, fields, replace
from typing import Any

import pytest

from onnxpad.operators.table import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    OPERATORS,
    UNCOVERED,
    Feed,
    Fill,
    Inputs,
    Layout,
    Operator,
)

CONV = OPERATORS["", "Conv"]


def traits(row: Operator) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(row)}


@pytest.mark.parametrize("trait", [field.name for field in fields(Operator)])
def test_a_row_that_lacks_a_trait_cannot_be_made(trait: str) -> None:
    rest = traits(CONV)
    del rest[trait]
    with pytest.raises(TypeError, match=trait):
        Operator(**rest)


@pytest.mark.parametrize("kind", [Operator, Inputs, Layout, Feed, type(CONV.onnxruntime)])
def test_no_trait_is_filled_in(kind: Any) -> None:
    given = [
        field.default is MISSING and field.default_factory is MISSING for field in fields(kind)
    ]
    assert all(given)


@pytest.mark.parametrize(
    ("op_type", "changes"),
    [
        pytest.param("Conv", {"weight_layout": None}, id="a weight of unknown axes"),
        pytest.param("MaxPool", {"weight_layout": CHANNELS_FIRST}, id="axes of no weight"),
        pytest.param("Conv", {"padding": Fill.ZERO_POINT}, id="pads with no input"),
        pytest.param("AveragePool", {"since": {}}, id="counts by an attribute of no opset"),
        pytest.param("Conv", {"since": {"ceil_mode": 10}}, id="rounds up and is no pool"),
        pytest.param("Conv", {"probe": replace(CONV.probe, scales=(3,))}, id="has no scale"),
        pytest.param("MaxPool", {"probe": CONV.probe}, id="groups no weight"),
        pytest.param("MaxPool", {"indices": 0}, id="Indices are the result"),
    ],
)
def test_traits_go_together(op_type: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=op_type):
        replace(OPERATORS["", op_type], **changes)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param((0, 0, None, None, ()), id="data and weight"),
        pytest.param((0, 1, 2, None, (2, 3)), id="bias and scale"),
        pytest.param((0, -1, None, None, ()), id="no place"),
        pytest.param((0, 1, None, 2, ()), id="a zero point apart"),
    ],
)
def test_an_input_has_one_part(given: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"an input has two|zero point is not among"):
        Inputs(*given)


def test_an_axis_has_one_part() -> None:
    with pytest.raises(ValueError, match="one axis"):
        Layout(batch=1, channels=1)


def test_an_attribute_decides_the_layout() -> None:
    row = OPERATORS["com.microsoft", "QLinearConv"]
    assert row.laid_out({}) is row
    assert row.laid_out({"channels_last": 0}) is row
    assert row.laid_out({"channels_last": 1}).layout is CHANNELS_LAST
    assert OPERATORS["", "QLinearConv"].laid_out({"channels_last": 1}).layout is CHANNELS_FIRST


@pytest.mark.parametrize("row", OPERATORS.values(), ids=lambda row: ".".join(row.key))
def test_a_probe_feeds_all_of_a_quantised_row(row: Operator) -> None:
    zero = {row.inputs.zero_point} - {None}
    assert row.probe.quantisation | zero == {*row.inputs.quantisation}


@pytest.mark.parametrize(
    ("layout", "spatial", "others"),
    [(CHANNELS_FIRST, "hw", "nc"), (CHANNELS_LAST, "ch", "nw"), (Layout(-1, 1), "nh", "cw")],
)
def test_axes_by_layout(layout: Layout, spatial: str, others: str) -> None:
    assert "".join(layout.spatial("nchw")) == spatial
    assert "".join(layout.others("nchw")) == others
    assert layout.spatial(layout.full("hw", "-")) == ("h", "w")
    assert layout.others(layout.full("hw", "-")) == ("-", "-")
    assert layout.replaced("nchw", spatial) == tuple("nchw")
    assert layout.rank(len(layout.axes(5))) == 5


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_tensor_of_few_axes_has_no_spatial_ones(rank: int) -> None:
    assert CHANNELS_FIRST.axes(rank) == CHANNELS_LAST.axes(rank) == ()


def test_an_operator_is_covered_or_not() -> None:
    assert not OPERATORS.keys() & UNCOVERED.keys()
