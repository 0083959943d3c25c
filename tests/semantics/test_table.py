"""The table of rows against the schemas of onnx: each attribute, default, version and input."""

from collections import defaultdict
from typing import Any, Final

import onnx
import pytest
from msgspec.structs import replace
from onnx import helper

from onnxpad import declared
from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from onnxpad.semantics.rows import INTS, Call, Row, UnreadError, checked_version
from onnxpad.semantics.table import row_of, rows
from tests.semantics.drawn_steps import Case, floats, node
from tests.support.rows import each_row

Schema = onnx.defs.OpSchema
STANDARD: Final = [row for (domain, _), row in rows().items() if not domain]
SCHEMAS: Final[dict[str, dict[int, Schema]]] = defaultdict(dict)
for _schema in onnx.defs.get_all_schemas_with_history():
    if not _schema.domain:
        SCHEMAS[_schema.name][_schema.since_version] = _schema
_TYPES: Final = {
    Schema.AttrType.INT: int,
    Schema.AttrType.FLOAT: float,
    Schema.AttrType.STRING: str,
    Schema.AttrType.INTS: INTS,
    Schema.AttrType.FLOATS: (float,),
}


def expected(schema: Schema) -> dict[str, Any]:
    """The attributes of a schema as a row has them."""
    found = {}
    for name, attribute in schema.attributes.items():
        default = attribute.default_value
        value = helper.get_attribute_value(default) if default.name else _TYPES[attribute.type]
        found[name] = value.decode() if isinstance(value, bytes) else value
    return found


def contradictions(row: Row) -> list[str]:
    """Where a row is not as the schemas of its versions say."""
    schemas = {v: schema for v, schema in SCHEMAS[row.op].items() if v in row.versions}
    written: dict[str, list[Any]] = defaultdict(list)
    for schema in schemas.values():
        for name, value in expected(schema).items():
            written[name].append(value)
    found = [f"attribute {name}" for name in written.keys() ^ row.attributes.keys()]
    for name in written.keys() & row.attributes.keys():
        value, asked = row.attributes[name], written[name]
        if any((type(each), each) != (type(value), value) for each in asked):
            found.append(f"default of {name}: {asked}")
    most = max(schema.max_input for schema in schemas.values())
    if row.inputs != (None if most > 1000 else most):
        found.append(f"{most} inputs")
    return found


@each_row("row", STANDARD)
def test_a_row_is_as_its_schemas_say(row: Row) -> None:
    assert not contradictions(row)


def test_a_row_that_contradicts_its_schema_is_found() -> None:
    elu = rows()["", "Elu"]
    for other in (
        replace(elu, attributes={}),
        replace(elu, attributes={"alpha": 2.0}),
        replace(elu, attributes={"alpha": 1}),
        replace(elu, attributes={"alpha": float}),
        replace(elu, attributes={"alpha": 1.0, "beta": 1.0}),
        replace(elu, inputs=2),
    ):
        assert contradictions(other)


def test_versions_without_a_row_are_these() -> None:
    """A version that a newer onnx brings is refused until it is read, compared and listed."""
    newer, older = {}, {}
    for row in STANDARD:
        others = SCHEMAS[row.op].keys() - row.versions
        newer[row.op] = {version for version in others if version > max(row.versions)}
        older[row.op] = {version for version in others if 1 < version < max(row.versions)}
    assert {op: versions for op, versions in newer.items() if versions} == {}
    assert {op: versions for op, versions in older.items() if versions} == {
        op: {6} for op in ("Add", "Div", "Mul", "Sub")
    }


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


@each_row("row", STANDARD)
def test_an_unknown_version_or_attribute_is_refused(row: Row) -> None:
    opset = min(max(row.versions), onnx.defs.onnx_opset_version())
    model = Case(row.op, opset).model()
    graph = Graph.from_proto(model)
    (one,) = graph.nodes
    version = checked_version(graph, one, row)
    with pytest.raises(UnreadError):
        checked_version(graph, one, replace(row, versions=frozenset({version + 99})))
    for name in expected(SCHEMAS[row.op][version]):
        one.attrs = {name: object()}
        with pytest.raises(UnreadError):
            checked_version(graph, one, row)
    one.attrs = {"more": 1}
    with pytest.raises(UnreadError):
        checked_version(graph, one, replace(row, attributes={**row.attributes, "more": 1}))


def test_an_attribute_of_another_version_or_type_is_refused() -> None:
    assert not refused(node("Cast", opset=13, to=1).model())
    assert refused(node("Cast", opset=13, saturate=1, to=1).model())
    assert refused(node("Elu", alpha=1).model())
    assert refused(node("Transpose", perm=[1.0, 0.0]).model())
    assert refused(node("Neg", "x", "u").model())
    assert refused(Case("Neg").model(), versions=frozenset({6}))
    assert refused(node("Add", "x", floats(1), opset=6).model())


def test_an_operator_of_another_domain_or_a_function_has_no_row() -> None:
    model = Case("Relu").model()
    assert not refused(model)
    (one,) = model.graph.node
    model.opset_import.append(helper.make_opsetid("own", 1))
    one.domain = "own"
    assert refused(model)
    one.domain = ""
    body = helper.make_function(
        "", "Relu", ["x"], ["y"], [helper.make_node("Neg", ["x"], ["y"])], model.opset_import[:1]
    )
    model.functions.append(body)
    assert refused(model)


def test_operators_of_onnxruntime_and_of_users_have_rows() -> None:
    model = Case("Relu").model()
    (one,) = model.graph.node
    for domain, op in (("com.microsoft", "FusedConv"), ("own", "Fuzzy")):
        model.opset_import.append(helper.make_opsetid(domain, 1))
        one.domain, one.op_type = domain, op
        assert refused(model) == (domain == "own")
    own = declared.Row(domain="own", op_type="Fuzzy", like="MaxPool")
    declared.declare(own)
    try:
        assert not refused(model)
    finally:
        declared.withdraw(own)
    assert refused(model)
