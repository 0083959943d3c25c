"""What is known of constants: their type, their shape, and their elements."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxpad.errors import ModelError
from onnxpad.graph import Declared, Graph
from tests.support import parsed
from tests.support.rows import each_row

Known = tuple[Declared | None, Any]
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
TENSOR = numpy_helper.from_array(np.array([[1.5, 2]], np.float32))
LONG = numpy_helper.from_array(np.arange(400, dtype=np.float32))
SPARSE = helper.make_sparse_tensor(
    helper.make_tensor("v", FLOAT, [1], [3.0]), helper.make_tensor("i", INT64, [1], [2]), [4, 5]
)


def known(graph: Graph, name: str) -> Known:
    tensor = graph.tensor(name)
    value = graph.constant(tensor)
    if value is not None:
        assert not value.flags.writeable
        assert graph.constant(tensor) is value
    return graph.declared(tensor), None if value is None else value.tolist()


def constant(op: str = "Constant", domain: str = "", **values: Any) -> Graph:
    """A graph whose `c` is written by such a node."""
    proto = parsed('<ir_version: 8, opset_import: ["" : 17, "mine" : 1]> g () => (float[] c) { }')
    proto.graph.node.append(helper.make_node(op, [], ["c"], domain=domain, **values))
    return Graph.from_proto(proto)


@each_row(
    ("values", "expected"),
    [
        ({"value": TENSOR}, (Declared(FLOAT, (1, 2)), [[1.5, 2]])),
        ({"value": LONG}, (Declared(FLOAT, (400,)), [*range(400)])),
        ({"value": helper.make_tensor("t", FLOAT, [0, 3], [])}, (Declared(FLOAT, (0, 3)), [])),
        ({"value_float": 2.5}, (Declared(FLOAT, ()), 2.5)),
        ({"value_floats": [2.5, 3.0]}, (Declared(FLOAT, (2,)), [2.5, 3])),
        ({"value_int": 7}, (Declared(INT64, ()), 7)),
        ({"value_ints": [7, 8, 9]}, (Declared(INT64, (3,)), [7, 8, 9])),
        ({"sparse_value": SPARSE}, (None, None)),
        ({"value_int": [7]}, (None, None)),
        ({"value_ints": 7}, (None, None)),
        ({"value_int": 7.0}, (None, None)),
        ({"value_floats": [1, 2]}, (None, None)),
        ({"value_int": 7, "value_float": 2.5}, (None, None)),
        ({"other": 7}, (None, None)),
        ({}, (None, None)),
        ({"value_int": 7, "op": "ConstantOfShape"}, (None, None)),
        ({"value_int": 7, "domain": "mine"}, (None, None)),
    ],
)
def test_a_constant(values: dict[str, Any], expected: Known) -> None:
    graph = constant(**values)
    assert known(graph, "c") == expected
    assert not graph.is_external(graph.tensor("c"))


def given(ir: int = 8) -> Graph:
    """A graph with initializers of all kinds, one of them also an input."""
    proto = parsed(
        f"""<ir_version: {ir}, opset_import: ["" : 17]>
        g (float[2] fed, float[n] x, bool on) => (float[] y, float[] z)
        <float[2] fed = {{1, 2}}, float[2] own = {{3, 4}}> {{
            y = Add (x, own) z = If (on) <
                then_branch = t () => (float u) {{
                    two = Constant <value_int = 2> () u = Add (own, fed) }},
                else_branch = e () => (float v) {{ v = Add (x, sparse) }}> }}"""
    )
    proto.graph.input[1].type.tensor_type.shape.dim.add(dim_value=-1)  # as some exporters do
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(
        helper.make_tensor("sparse", FLOAT, [1], [3.0]), helper.make_tensor("i", INT64, [1], [2]),
        [6],
    ))  # fmt: skip
    part = helper.make_tensor("part", FLOAT, [2], [1, 2])
    part.segment.begin, part.segment.end = 0, 2
    outside = TensorProto(name="outside", data_type=FLOAT, dims=[3])
    outside.data_location = TensorProto.EXTERNAL
    outside.external_data.add(key="location", value="data.bin")
    bad = TensorProto(name="bad", data_type=FLOAT, dims=[3], float_data=[1.0])
    proto.graph.initializer.extend([part, outside, bad])
    return Graph.from_proto(proto)


GIVEN: list[tuple[str, Known]] = [
    ("fed", (Declared(FLOAT, (2,)), None)),
    ("own", (Declared(FLOAT, (2,)), [3, 4])),
    ("x", (Declared(FLOAT, ("n", None)), None)),
    ("sparse", (None, None)),
    ("part", (Declared(FLOAT, (2,)), None)),
    ("outside", (Declared(FLOAT, (3,)), None)),
    ("y", (None, None)),
]


def test_initializers() -> None:
    graph = given()
    assert [(name, known(graph, name)) for name, _ in GIVEN] == GIVEN
    outside = [name for name, _ in GIVEN if graph.is_external(graph.tensor(name))]
    assert outside == ["outside"]
    defaults = [name for name, _ in GIVEN if name in graph.initializers]
    assert defaults == ["fed", "own", "part", "outside"]
    assert [*graph.inputs] == ["fed", "x", "on"]
    with pytest.raises(ModelError):
        graph.constant(graph.tensor("bad"))


def test_before_ir_version_4_an_initializer_is_no_input() -> None:
    graph = given(3)
    assert known(graph, "fed") == (Declared(FLOAT, (2,)), [1, 2])
    assert [*graph.inputs] == ["x", "on"]


def test_constants_of_the_graph_around() -> None:
    main = given()
    then, other = (body for node in main.nodes for body in main.bodies(node))
    assert known(then, "own") == known(main, "own")
    assert known(then, "fed") == known(main, "fed")
    assert known(then, "two") == (Declared(INT64, ()), 2)
    assert known(other, "sparse") == known(main, "sparse")
    assert [each.is_external(each.tensor("own")) for each in (main, then)] == [False, False]


def test_external_elements(tmp_path: Path) -> None:
    model = parsed("g (float[1] x) => (float[3] y) { y = Add (x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.arange(3, dtype=np.float32), "w"))
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    near, far = Graph.load(path), Graph.from_bytes(path.read_bytes())
    assert known(near, "w") == (Declared(FLOAT, (3,)), [0, 1, 2])
    assert known(far, "w") == (Declared(FLOAT, (3,)), None)
    assert near.is_external(near.tensor("w"))
    assert far.is_external(far.tensor("w"))


def test_a_constant_that_a_call_of_a_function_gives() -> None:
    proto = parsed(
        """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        g (float[1] x) => (float[1] y) { y = local.F <v = 3> (x) }
        <domain: "local", opset_import: ["" : 17]> F <v> (a) => (b) {
            n = Constant <value: tensor = @v> () b = Add (a, n) }"""
    )
    proto.functions[0].node[0].attribute[0].t.CopyFrom(TENSOR)  # as nothing writes it
    (function,) = Graph.from_proto(proto).model.functions
    assert known(function, "n") == (None, None)
