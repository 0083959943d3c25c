"""Graphs of graphsurgeon: what its own export loses, and that nothing given is changed."""

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_graphsurgeon.ir.tensor import LazyValues

import onnxpad
from onnxpad.api.graphsurgeon_graph import serialised
from onnxpad.errors import ModelError
from tests.api.test_kinds import PADDED
from tests.support import parsed


def read(graph: gs.Graph) -> onnx.ModelProto:
    """A graph as a model."""
    model = onnx.ModelProto()
    model.ParseFromString(serialised(graph))
    return model


def exported(graph: gs.Graph) -> onnx.ModelProto:
    """A graph as a model, checked."""
    model = read(graph)
    onnx.checker.check_model(model)
    return model


def identity(tensor: onnx.TensorProto | None = None, **attributes: Any) -> onnx.ModelProto:
    """A model that returns its input, and a constant beside it."""
    model = parsed("g (float[2] x) => (float[2] y) { y = Identity (x) }", opset=25, ir=13)
    if tensor is not None:
        model.graph.initializer.append(tensor)
        model.graph.node.append(helper.make_node("Identity", [tensor.name], ["z"]))
    model.graph.node[0].attribute.extend(
        helper.make_attribute(name, value, attr_type=helper_type)
        for name, (value, helper_type) in attributes.items()
    )
    return model


def fields(model: onnx.ModelProto) -> list[object]:
    """What a graph holds of a model without functions, in the order of the model."""
    graph = model.graph
    return [
        *(model.ir_version, model.producer_name, model.producer_version, list(model.opset_import)),
        *(graph.name, graph.doc_string, list(graph.node), list(graph.input), list(graph.output)),
        *(list(graph.initializer), list(graph.value_info)),
    ]


BODIES = """g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}>
{
  q = Add (x, w)
  y = If (c) <
    then_branch = t () => (float[2] a) { b = Add (q, w) a = Neg (b) },
    else_branch = e () => (float[2] d) <float[2] v = {3, 4}> { d = Add (q, v) }
  >
}"""


def test_a_graph_is_the_model_that_it_came_from() -> None:
    model = parsed(BODIES)
    model.producer_name, model.producer_version, model.graph.doc_string = "maker", "1", "a graph"
    model.opset_import.append(helper.make_opsetid("unused", 7))
    model.graph.value_info.append(helper.make_tensor_value_info("q", TensorProto.FLOAT, ["n"]))
    assert fields(exported(gs.import_onnx(model))) == fields(model)


def test_functions() -> None:
    text = """g (float[2] x) => (float[2] y) { y = own.scaled <by = [2.0]> (x) }
        <opset_import: ["" : 17], domain: "own">
        scaled <by, axes: ints = [1, 2]> (v) => (u) {
          k = Constant <value_floats: floats = @by> () m = Mul (v, k) u = Neg (m)
        }"""
    model = parsed(text)
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions[0].doc_string = "scales"
    assert exported(gs.import_onnx(model)).functions == model.functions
    graph = gs.import_onnx(model)
    (function,) = graph.functions
    function.tensors()["k"].inputs.clear()
    function.nodes = [node for node in function.nodes if node.op != "Constant"]
    function.tensors()["k"].to_constant(np.array([2.0], np.float32))
    constant, *_ = exported(graph).functions[0].node
    assert (constant.op_type, list(constant.output)) == ("Constant", ["k"])
    assert numpy_helper.to_array(constant.attribute[0].t).tolist() == [2.0]


@pytest.mark.parametrize("name", ["INT4", "UINT4", "FLOAT4E2M1", "INT2", "FLOAT6E2M3"])
def test_weights_that_share_bytes_are_packed(name: str) -> None:
    tensor = helper.make_tensor("w", TensorProto.DataType.Value(name), [3], [1, 0, 1])
    graph = gs.import_onnx(identity(tensor))
    values = graph.tensors()["w"].values
    (found,) = read(graph).graph.initializer
    assert found.data_type == tensor.data_type
    assert np.array_equal(numpy_helper.to_array(found), values)


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 2], ml_dtypes.float8_e4m3fnuz),
        np.array([1, 2], ml_dtypes.bfloat16),
        np.array(["a", "ü"], object),
        np.array(["a", "ü"]),
        np.zeros((0, 3), np.float32),
        np.array([[1, 2], [3, 4]], np.int32).T,
        np.array([1, 2], ">f4"),
    ],
    ids=lambda values: f"{values.dtype} {values.shape}",
)
def test_loaded_weights_keep_their_type_and_values(values: Any) -> None:
    graph = gs.import_onnx(identity(numpy_helper.from_array(np.zeros(2), "w")))
    graph.tensors()["w"].values = values
    (found,) = exported(graph).graph.initializer
    back = numpy_helper.to_array(found)
    assert back.shape == values.shape
    assert back.tolist() == values.tolist()
    if values.dtype.kind == "V":
        assert back.dtype == values.dtype


def test_weights_loaded_from_another_file_are_inside() -> None:
    graph = gs.import_onnx(identity(numpy_helper.from_array(np.ones(2), "w")))
    weight = graph.tensors()["w"]
    assert weight.values.tolist() == [1, 1]
    weight.data_location = TensorProto.EXTERNAL  # as graphsurgeon leaves it
    (found,) = exported(graph).graph.initializer
    assert not found.HasField("data_location")
    assert found.raw_data


def test_sparse_weights() -> None:
    model = identity()
    values = numpy_helper.from_array(np.array([5.0], np.float32), "s")
    indices = numpy_helper.from_array(np.array([1]), "i")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2]))
    model.graph.node.append(helper.make_node("Identity", ["s"], ["z"]))
    graph = gs.import_onnx(model)
    graph.tensors()["s"].name = "renamed"
    (found,) = read(graph).graph.sparse_initializer
    assert found.values.name == "renamed"
    assert model.graph.sparse_initializer[0].values.name == "s"


@pytest.mark.parametrize(
    ("operator", "name", "kind"),
    [
        ("ReduceSum", "axes", onnx.AttributeProto.INTS),
        ("Upsample", "scales", onnx.AttributeProto.FLOATS),
        ("Unknown", "any", onnx.AttributeProto.INTS),
    ],
)
def test_empty_lists(operator: str, name: str, kind: int) -> None:
    model = parsed("g (float[2] x) => (float[2] y) { y = Identity (x) }", opset=7)
    model.graph.node[0].op_type = operator
    model.graph.node[0].attribute.append(onnx.AttributeProto(name=name, type=kind))  # type: ignore[arg-type]
    graph = gs.import_onnx(model)
    found = read(graph)
    assert found.graph.node == model.graph.node


def test_types_other_than_tensors() -> None:
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    for kind in (helper.make_optional_type_proto(tensor), helper.make_sequence_type_proto(tensor)):
        model = identity()
        model.graph.input[0].type.CopyFrom(kind)
        found = read(gs.import_onnx(model)).graph.input[0].type
        assert found.WhichOneof("value") == kind.WhichOneof("value")
        if kind.HasField("optional_type"):
            assert found == kind
    model.graph.input[0].type.CopyFrom(helper.make_map_type_proto(TensorProto.STRING, tensor))
    with pytest.raises(ModelError, match=r"input or output 'x' .* has a map_type, of which"):
        serialised(gs.import_onnx(model))


def test_domains_are_imported_once() -> None:
    model = parsed(BODIES)
    graph = gs.import_onnx(model)
    before = list(model.opset_import)
    for node, domain in zip(graph.nodes, ("ai.onnx", "own"), strict=True):
        node.domain = domain
    body = graph.nodes[1].attrs["then_branch"]
    body.nodes[0].domain = "inner"
    found = read(graph).opset_import
    assert {each.domain: each.version for each in found} == {"": 17, "own": 1, "inner": 1}
    assert list(model.opset_import) == before


def new_graph() -> gs.Graph:
    x, y = (gs.Variable(name, np.float32, [2]) for name in "xy")
    return gs.Graph([gs.Node("Relu", inputs=[x], outputs=[y])], [x], [y], opset=13)


def test_a_new_graph_gets_the_lowest_version_that_fits() -> None:
    graph = new_graph()
    assert exported(graph).ir_version == 7
    assert graph.import_domains is None
    fixed = onnxpad.fix(graph).as_same_kind()
    assert (fixed.ir_version, fixed.import_domains, fixed.opset) == (None, None, 13)


def test_initializers_of_an_old_graph_are_inputs() -> None:
    """Before IR version 4 they had to be, and graphsurgeon removes them from the inputs."""
    model = parsed("g (float[2] x) => (float[2] y) { y = Add (x, w) }", opset=8, ir=3)
    model.graph.initializer.append(numpy_helper.from_array(np.ones(2, np.float32), "w"))
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2]))
    assert fields(exported(gs.import_onnx(model))) == fields(model)


def test_the_graph_given_is_not_changed() -> None:
    model = onnx.ModelProto.FromString(PADDED.SerializeToString())
    graph = gs.import_onnx(model)
    graph.tensors()["w"].name = "renamed"
    graph.nodes[1].domain = None
    nodes, tensors = list(graph.nodes), graph.tensors()
    told = str(graph)
    result = onnxpad.fix(graph)
    assert [change.code for change in result.changes] == ["PAD201"]
    fixed = result.as_same_kind()
    assert model == PADDED  # its initializer is not renamed
    assert str(graph) == told
    assert all(one is other for one, other in zip(graph.nodes, nodes, strict=True))
    assert all(graph.tensors()[name] is each for name, each in tensors.items())
    assert isinstance(graph.tensors()["renamed"]._values, LazyValues)  # not loaded either
    assert fixed.nodes[0].inputs[1].name == "renamed"


def test_values_are_shared_and_declarations_kept() -> None:
    graph = gs.import_onnx(PADDED)
    values = graph.tensors()["w"].values
    graph.tensors()["q"].dtype, graph.tensors()["q"].shape = None, [1, 1, 11, 11]
    again = onnxpad.fix(graph, style="pad").as_same_kind()
    assert again.tensors()["w"].values is values
    assert again.tensors()["q"].shape == [1, 1, 11, 11]
    fixed = onnxpad.fix(graph).as_same_kind()
    assert fixed.tensors()["w"].values is values
    assert "q" not in fixed.tensors()


def test_a_result_is_of_the_graph_as_it_was() -> None:
    graph = gs.import_onnx(PADDED)
    values = graph.tensors()["w"].values
    result = onnxpad.fix(graph, validate=False)
    graph.tensors()["w"].values = np.zeros((1, 1, 3, 3), np.float32)
    assert result.as_same_kind().tensors()["w"].values is values


def test_values_in_bodies_are_shared() -> None:
    graph = gs.import_onnx(parsed(BODIES))
    values = graph.nodes[1].attrs["else_branch"].tensors()["v"].values
    again = onnxpad.fix(graph).as_same_kind()
    assert again.nodes[1].attrs["else_branch"].tensors()["v"].values is values


# Refusals


def test_two_constants_of_one_name() -> None:
    graph = gs.import_onnx(PADDED)
    graph.tensors()["w"].name = "p"
    with pytest.raises(ModelError, match="two tensors of the graphsurgeon Graph have the name 'p'"):
        onnxpad.fix(graph)


def test_equal_constants_of_one_name() -> None:
    """As graphsurgeon's own users write them: a new object at each use."""
    graph = new_graph()
    w = [gs.Constant("w", np.ones(2, np.float32)) for _ in range(2)]
    (relu,) = graph.nodes
    a, b = gs.Variable("a"), gs.Variable("b")
    graph.nodes.append(gs.Node("Add", inputs=[relu.inputs[0], w[0]], outputs=[a]))
    graph.nodes.append(gs.Node("Add", inputs=[a, w[1]], outputs=[b]))
    (found,) = exported(graph).graph.initializer
    assert found.name == "w"


def test_an_input_without_a_type() -> None:
    graph = gs.import_onnx(PADDED)
    graph.inputs[0].dtype = None
    with pytest.raises(ModelError, match="input or output 'x' of the graphsurgeon Graph has no dt"):
        onnxpad.fix(graph)


def test_an_attribute_that_is_none() -> None:
    graph = gs.import_onnx(PADDED)
    graph.nodes[1].attrs["group"] = None
    with pytest.raises(ModelError, match=r"attribute 'group' of Conv '' .* cannot be"):
        onnxpad.fix(graph)


def test_over_two_gibibytes() -> None:
    graph = gs.import_onnx(PADDED)
    graph.tensors()["w"].values = np.broadcast_to(np.float32(1), (1 << 20, 600))
    with pytest.raises(ModelError, match=r"holds 2\.3 GiB .* save it with onnx\.save\(gs\.export"):
        onnxpad.check(graph)
