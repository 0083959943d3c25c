"""Rows of window operators are complete, and say where their axes are."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

from onnxpad.semantics.operators import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    NOT_REWRITTEN,
    OPERATORS,
    Inputs,
    Layout,
    Operator,
    laid_out,
)
from onnxpad.semantics.rows import FLOATS, lowest
from tests.support.rows import each_row


def test_an_attribute_decides_the_layout() -> None:
    row = OPERATORS["com.microsoft", "QLinearConv"].row
    assert laid_out(row, {}).layout is laid_out(row, {"channels_last": 0}).layout is CHANNELS_FIRST
    assert laid_out(row, {"channels_last": 1}).layout is CHANNELS_LAST
    other = OPERATORS["", "QLinearConv"].row
    assert laid_out(other, {"channels_last": 1}).layout is CHANNELS_FIRST


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
    assert NOT_REWRITTEN.isdisjoint(OPERATORS)


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
    assert place["x"] == 0
    return Inputs(
        place.get("w"),
        place.get("b"),
        place.get("x_zero_point"),
    )


@each_row(
    "key",
    sorted(NOT_REWRITTEN),
)
def test_data_is_the_first_input_of_what_is_not_rewritten(key: tuple[str, str]) -> None:
    inputs_of(key)


@each_row(
    "row",
    OPERATORS.values(),
)
def test_a_row_is_as_its_schema_says(row: Operator) -> None:
    first, latest = SCHEMAS[row.key][0], SCHEMAS[row.key][-1]
    assert row.inputs == inputs_of(row.key)
    assert row.pools == ("Pool" in row.op_type)
    assert row.counts == ("count_include_pad" if "count_include_pad" in latest.attributes else None)
    by_attribute = laid_out(row.row, {"channels_last": 1}).layout is CHANNELS_LAST
    assert by_attribute == ("channels_last" in latest.attributes or row.layout is CHANNELS_LAST)
    assert (row.layout is CHANNELS_LAST) == row.op_type.startswith("Nhwc")
    for name in ("dilations", "ceil_mode", "count_include_pad"):
        if name in latest.attributes and not row.row.domain and name not in first.attributes:
            versions = (each for each in SCHEMAS[row.key] if name in each.attributes)
            assert row.since(name) == next(versions).since_version


def test_the_lowest_of_each_type_is_that_of_numpy() -> None:
    for dtype in set(TensorProto.DataType.values()) - {TensorProto.UNDEFINED}:
        kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(dtype))
        if dtype in FLOATS:
            assert lowest(dtype) == -np.inf
        else:
            assert lowest(dtype) == (np.iinfo(kind).min if kind.kind in "iu" else None)
