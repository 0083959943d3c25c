"""Rows of window operators are complete, and say where their axes are."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

from onnxpad.operators.table import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    FLOATS,
    NOT_REWRITTEN,
    OPERATORS,
    Feed,
    Fill,
    Inputs,
    Layout,
    Operator,
    lowest,
)
from onnxpad.proof import refine
from onnxpad.validation.inputs import _WEIGHTS
from tests.support.rows import each_row

CONV = OPERATORS["", "Conv"]


def traits(row: Operator) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(row)}


@pytest.mark.parametrize("trait", ["op_type", "padding"])
def test_a_row_that_lacks_what_every_operator_has_cannot_be_made(trait: str) -> None:
    rest = traits(CONV)
    del rest[trait]
    with pytest.raises(TypeError, match=trait):
        Operator(**rest)


def test_what_a_row_does_not_name_the_operator_does_not_have() -> None:
    """A gathering operator of ONNX's own, of data alone, of which every trait is the plainest."""
    plain = Operator(op_type="Plain", padding=Fill.ZERO)
    rest = traits(plain)
    assert rest.pop("layout") == CHANNELS_FIRST
    assert rest.pop("inputs") == Inputs(0, None, None, None, ())
    assert rest.pop("probe") == Feed(None, (), None, None, ())
    assert not any(rest[name] for name in rest if name not in {"op_type", "padding"})


@each_row(
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


@each_row(
    "row",
    OPERATORS.values(),
)
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
    assert not OPERATORS.keys() & NOT_REWRITTEN.keys()


SCHEMAS: dict[tuple[str, str], list[Any]] = {}
"""All versions of each operator, as onnx and onnxruntime describe them; the oldest first."""
for schema in (*onnx.defs.get_all_schemas_with_history(), *get_all_operator_schema()):
    if schema.domain == "com.microsoft" or isinstance(schema, onnx.defs.OpSchema):
        SCHEMAS.setdefault((schema.domain, schema.name), []).append(schema)
for versions in SCHEMAS.values():
    versions.sort(key=lambda schema: schema.since_version)


def inputs_of(key: tuple[str, str]) -> Inputs:
    """The parts of an operator's inputs by the names in its schema."""
    names = [each.name.lower() for each in SCHEMAS[key][-1].inputs]
    place = {name: index for index, name in enumerate(names)}
    return Inputs(
        place["x"],
        place.get("w"),
        place.get("b"),
        place.get("x_zero_point"),
        tuple(i for i, name in enumerate(names) if name.endswith(("_scale", "_zero_point"))),
    )


@each_row(
    "key",
    [*OPERATORS, *NOT_REWRITTEN],
)
def test_inputs_are_those_of_the_schema(key: tuple[str, str]) -> None:
    assert (OPERATORS.get(key) or NOT_REWRITTEN[key]).inputs == inputs_of(key)


@each_row(
    "row",
    OPERATORS.values(),
)
def test_a_row_is_as_its_schema_says(row: Operator) -> None:
    """What has an attribute, since when, and which inputs and outputs a probe replaces."""
    first, latest = SCHEMAS[row.key][0], SCHEMAS[row.key][-1]
    names = [each.name.lower() for each in latest.inputs]
    assert row.inputs == inputs_of(row.key)
    assert row.pools == ("Pool" in row.op_type)
    assert row.counts == ("count_include_pad" if "count_include_pad" in latest.attributes else None)
    assert row.power == ("p" if "p" in latest.attributes else None)
    assert row.channels_last == ("channels_last" if "channels_last" in latest.attributes else None)
    assert (row.layout is CHANNELS_LAST) == row.op_type.startswith("Nhwc")
    outputs = [each.name for each in latest.outputs]
    assert row.indices == (outputs.index("Indices") if "Indices" in outputs else None)
    assert row.probe.group == ("group" if "group" in latest.attributes else None)
    assert {*row.probe.left_out} == {name for name in latest.attributes if "activation" in name}
    place = {name: index for index, name in enumerate(names)}
    assert row.probe.weight_zero == place.get("w_zero_point")
    scales = [place[name] for name in ("x_scale", "w_scale") if name in place]
    assert row.probe.scales == tuple(scales)
    result = (place["y_scale"], place["y_zero_point"]) if "y_scale" in place else None
    assert row.probe.result == result
    since = {
        name: next(each for each in SCHEMAS[row.key] if name in each.attributes).since_version
        for name in ("dilations", "ceil_mode", "count_include_pad")
        if name in latest.attributes and not (row.domain == "" and name in first.attributes)
    }
    if row.domain:  # of its own domain, which has one version
        since = {row.counts: 0} if row.counts else {}
    assert row.since == since


def test_inputs_are_drawn_for_the_channels_of_every_weight() -> None:
    """Validation has a table of its own, as it shares nothing with what rewrites."""
    weights = {
        row.op_type: (row.inputs.weight, row.weight_layout.channels)
        for row in OPERATORS.values()
        if row.weight_layout is not None
    }
    assert weights == {op: _WEIGHTS[op] for op in weights}


@pytest.mark.parametrize("least_of", [lowest, refine.least_of])
def test_the_lowest_of_each_type_is_that_of_numpy(least_of: Any) -> None:
    for dtype in set(TensorProto.DataType.values()) - {TensorProto.UNDEFINED}:
        kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(dtype))
        if dtype in FLOATS:
            assert least_of(dtype) == -np.inf
        else:
            assert least_of(dtype) == (np.iinfo(kind).min if kind.kind in "iu" else None)
