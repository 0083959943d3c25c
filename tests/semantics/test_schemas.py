"""The tables of rows against the schemas of onnx and onnxruntime: attributes, versions, inputs."""

from typing import Any, Final

import numpy as np
import onnx
import pytest
from msgspec.structs import replace
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

from onnxpad import declared
from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from onnxpad.semantics.operators import CHANNELS_LAST, OPERATORS, Inputs, Operator, laid_out
from onnxpad.semantics.rows import FLOATS, Call, Row, UnreadError, checked_version, lowest
from onnxpad.semantics.table import row_of, rows
from onnxpad.semantics.window import TRANSPOSED, WINDOWS
from tests.semantics.drawn_steps import Case
from tests.support.rows import each_row

Key = tuple[str, str]
ROWS: Final[dict[Key, Row]] = {
    **{key: row for key, row in rows().items() if not key[0]}, **WINDOWS, **TRANSPOSED,
}  # fmt: skip
UNLISTED: Final[dict[Key, set[int]]] = {
    # onnxruntime runs none of the first, so nothing can hold a reading to it
    ("", "LpPool"): {1},
    **{("", op): {6} for op in ("Add", "Div", "Mul", "Sub")},
}
"""Versions below the newest without a row: a newer onnx's are refused until they are listed."""
KINDS: Final = {"INT": int, "FLOAT": float, "STRING": str, "INTS": (int,), "FLOATS": (float,)}
SCHEMAS: Final[dict[Key, dict[int, Any]]] = {}
for _schema in (*onnx.defs.get_all_schemas_with_history(), *get_all_operator_schema()):
    if _schema.domain == "com.microsoft" or isinstance(_schema, onnx.defs.OpSchema):
        SCHEMAS.setdefault((_schema.domain, _schema.name), {})[_schema.since_version] = _schema


def described(attribute: Any) -> object:
    """The default of an attribute of a schema, or its type where it has none."""
    default = onnx.AttributeProto.FromString(attribute._default_value)
    if default.type:
        value = helper.get_attribute_value(default)
        return value.decode() if isinstance(value, bytes) else value
    return KINDS[str(attribute.type).rpartition(".")[2]]


def contradictions(key: Key, row: Row) -> list[str]:
    """Where a row is not as the schemas of its versions say."""
    schemas = {v: schema for v, schema in SCHEMAS[key].items() if v in row.versions}
    told = {
        (name, repr(described(attribute)))
        for schema in schemas.values()
        for name, attribute in schema.attributes.items()
    }
    found = [str(each) for each in told ^ {(n, repr(v)) for n, v in row.attributes.items()}]
    most = max(getattr(each, "max_input", len(each.inputs)) for each in schemas.values())
    found += [f"{most} inputs"] * (row.inputs != (None if most > 1000 else most))
    others = {
        v for v in SCHEMAS[key].keys() - row.versions if v > 1 or key in {*WINDOWS, *TRANSPOSED}
    }
    return found + [f"version {v}" for v in others if v not in UNLISTED.get(key, ())]


@each_row("key", ROWS)
def test_a_row_is_as_its_schemas_say(key: Key) -> None:
    assert not contradictions(key, ROWS[key])


def inputs_of(key: Key) -> Inputs:
    """The parts of an operator's inputs by the names in its newest schema."""
    names = [each.name.lower() for each in SCHEMAS[key][max(SCHEMAS[key])].inputs]
    place = {name: index for index, name in enumerate(names)}
    assert place["x"] == 0
    return Inputs(place.get("w"), place.get("b"), place.get("x_zero_point"))


@each_row("row", OPERATORS.values())
def test_an_operator_is_as_its_schema_says(row: Operator) -> None:
    schemas = SCHEMAS[row.key]
    latest = schemas[max(schemas)]
    assert row.inputs == inputs_of(row.key)
    assert row.pools == ("Pool" in row.op_type)
    assert row.counts == ("count_include_pad" if "count_include_pad" in latest.attributes else None)
    by_attribute = laid_out(row.row, {"channels_last": 1}).layout is CHANNELS_LAST
    assert by_attribute == ("channels_last" in latest.attributes or row.layout is CHANNELS_LAST)
    assert (row.layout is CHANNELS_LAST) == row.op_type.startswith("Nhwc")
    for name in ("dilations", "ceil_mode", "count_include_pad"):
        having = [v for v in schemas if name in schemas[v].attributes]
        if not row.row.domain and having and min(having) > min(schemas):
            assert row.since(name) == min(having)


def test_the_lowest_of_each_type_is_that_of_numpy() -> None:
    for dtype in set(TensorProto.DataType.values()) - {TensorProto.UNDEFINED}:
        kind = np.dtype(helper.tensor_dtype_to_np_dtype(dtype))
        limit = np.iinfo(kind).min if kind.kind in "iu" else None
        assert lowest(dtype) == (-np.inf if dtype in FLOATS else limit)


def refused(model: onnx.ModelProto, **changed: Any) -> bool:
    """Whether the first node of a model is not read by its row, of which something is changed."""
    graph = Graph.from_proto(model)
    one = next(iter(graph.nodes))
    row = row_of(graph, one)
    if row is None:
        return True
    try:
        Call(graph, Analysis(graph), one, replace(row, **changed))
    except UnreadError:
        return True
    return False


@each_row("row", [row for row in ROWS.values() if not row.domain])
def test_an_unknown_version_or_attribute_is_refused(row: Row) -> None:
    graph = Graph.from_proto(
        Case(row.op, min(max(row.versions), onnx.defs.onnx_opset_version())).model()
    )
    (one,) = graph.nodes
    version = checked_version(graph, one, row)
    wrong: list[tuple[Row, dict[str, Any]]] = [
        (replace(row, versions=frozenset({version + 99})), {})
    ]
    wrong += [(row, {name: object()}) for name in SCHEMAS["", row.op][version].attributes]
    wrong += [(replace(row, attributes={**row.attributes, "more": 1}), {"more": 1})]
    for changed, attributes in wrong:
        one.attrs = attributes
        with pytest.raises(UnreadError):
            checked_version(graph, one, changed)


def test_operators_of_other_domains_have_rows_where_they_are_known_or_declared() -> None:
    model = Case("Relu").model()
    (one,) = model.graph.node
    for domain, op in (("com.microsoft", "FusedConv"), ("own", "Relu"), ("own", "Fuzzy")):
        model.opset_import.append(helper.make_opsetid(domain, 1))
        one.domain, one.op_type = domain, op
        assert refused(model) == (domain == "own")
    own = declared.Row(domain="own", op_type="Fuzzy", like="MaxPool")
    declared.declare(own)
    try:
        assert not refused(model)
    finally:
        declared.withdraw(own)
    one.domain, one.op_type = "", "Relu"
    assert not refused(model)
    neg = helper.make_node("Neg", ["x"], ["y"])
    body = helper.make_function("", "Relu", ["x"], ["y"], [neg], model.opset_import[:1])
    model.functions.append(body)
    assert refused(model)
