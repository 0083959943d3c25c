"""What a model's protos become once they are edited."""

import onnx
import pytest

from onnxpad.file.skeleton import read_bytes
from onnxpad.graph import Declared, Graph
from onnxpad.graph.encode import _declaring
from tests.support import parsed


def dims(value: onnx.ValueInfoProto) -> list[onnx.TensorShapeProto.Dimension]:
    return list(value.type.tensor_type.shape.dim)


def value(text: str) -> onnx.ValueInfoProto:
    found: onnx.ValueInfoProto = parsed(f"g ({text} x) => ({text} x) {{ }}").graph.input[0]
    for dim in dims(found):
        dim.denotation = "kept"
    return found


@pytest.mark.parametrize(
    ("was", "shape", "becomes"),
    [
        ("float[n, 3, ?]", (5, 4, 6), "float[5, 4, 6]"),
        ("float[n, 3, ?]", ("m", "k", "n"), "float[m, k, n]"),
        ("float[n, 3, ?]", ("n", 3, None), "float[n, 3, ?]"),
        ("float[n, 3, 4]", (None, None, 4), "float[?, ?, 4]"),
        ("float[n]", (0,), "float[0]"),
    ],
)
def test_an_input_that_is_declared_anew(
    was: str, shape: tuple[int | str | None, ...], becomes: str
) -> None:
    before = value(was)
    found = _declaring(before, Declared(1, shape))
    expected = value(becomes)
    for dim, old, size in zip(dims(expected), dims(before), shape, strict=True):
        if size is None and old.WhichOneof("value") is not None:
            dim.ClearField("denotation")
    assert found == expected


@pytest.mark.parametrize("shape", [(2, 3), ("n", None, 4)])
def test_an_input_of_unknown_rank_is_declared_anew(shape: tuple[int | str | None, ...]) -> None:
    found = _declaring(onnx.helper.make_tensor_value_info("x", 1, None), Declared(1, shape))
    assert found == onnx.helper.make_tensor_value_info("x", 1, shape)


def test_functions_of_a_working_copy_keep_their_elements() -> None:
    ones = ", ".join("1" * 300)
    proto = parsed(
        f"""<ir_version: 10, opset_import: ["" : 17, "local" : 1]>
        g (float[300] x) => (float[300] y) {{ a = local.F (x) y = local.G (a) }}
        <domain: "local", opset_import: ["" : 17]>
        F (x) => (y) {{ c = Constant <value = float[300] {{{ones}}}> () y = Add (x, c) }}
        <domain: "local", opset_import: ["" : 17]>
        G (x) => (y) {{ y = Relu (x) }}"""
    )
    copy = Graph.from_proto(proto).working_copy(lambda tensor: True)
    assert list(copy.functions) == list(proto.functions)


def test_each_body_of_a_list_has_a_section_of_its_own() -> None:
    bodies = [parsed(f"g () => (float y) {{ y = {op} (x) }}").graph for op in ("Abs", "Neg", "Exp")]
    node = onnx.helper.make_node("Choose", ["x"], ["y"], domain="vendor", first=bodies[0])
    node.attribute.append(onnx.helper.make_attribute("all", bodies))
    proto = parsed("g (float x) => (float y) { y = Relu (x) }")
    proto.graph.node[0].CopyFrom(node)
    data = proto.SerializeToString()
    skeleton = read_bytes(data, "model")
    (record,) = skeleton.fields[1]
    for index, body in [(None, bodies[0]), *enumerate(bodies)]:
        name = "first" if index is None else "all"
        section = skeleton.body(record, name, body, index)
        (container,) = section.containers
        assert onnx.GraphProto.FromString(data[container.body : container.end]) == body
