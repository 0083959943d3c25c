"""What an edit does not concern survives it byte for byte, whatever a model holds."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper

import onnxpad
from onnxpad.file.skeleton import encode, scan
from onnxpad.graph import Graph
from tests.support import one

MODEL = """
<ir_version: 10, opset_import: ["" : 17, "custom" : 1]>
agraph (float[1, 1, 5, 5] x) => (float[1, 1, 5, 5] y)
<float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1},
 float[1, 1, 7, 7] a, float[1, 1, 5, 5] c>
{
    a = Pad (x, p)
    c = Conv <strides = [1, 1]> (a, w)
    y = Relu (c)
}
"""


def fold(graph: Graph) -> None:
    """Folds the Pad of MODEL into its Conv."""
    conv = next(use.node for use in graph.uses(graph.tensor("a")))
    graph.set_attribute(conv, "pads", [1, 1, 1, 1])
    graph.set_input(conv, 0, graph.tensor("x"))
    graph.sweep()


def fold_proto(model: onnx.ModelProto) -> None:
    """The same done to the proto by hand."""
    graph = model.graph
    conv = next(node for node in graph.node if "a" in node.input)
    conv.input[0] = "x"
    conv.attribute.append(helper.make_attribute("pads", [1, 1, 1, 1]))
    graph.node.remove(next(node for node in graph.node if "a" in node.output))
    graph.initializer.remove(next(item for item in graph.initializer if item.name == "p"))
    for name, values in (("a", graph.value_info), ("p", graph.input)):
        for value in [item for item in values if item.name == name]:
            values.remove(value)
    for annotation in [i for i in graph.quantization_annotation if i.tensor_name == "a"]:
        graph.quantization_annotation.remove(annotation)


def canonical(model: onnx.ModelProto) -> bytes:
    return bytes(model.SerializeToString(deterministic=True))


def records(data: bytes) -> list[bytes]:
    """The records of a model and of its graph."""
    found = []
    for record in scan(memoryview(data), 0, len(data)):
        if record.field == 7 and record.delimited:
            inner = scan(memoryview(data), record.body, record.end)
            found += [data[part.begin : part.end] for part in inner]
        else:
            found.append(data[record.begin : record.end])
    return found


def doc_strings(model: onnx.ModelProto) -> None:
    graph = model.graph
    for item in (model, graph, *graph.node, *graph.input, *graph.initializer):
        item.doc_string = "documented"
    graph.node[1].attribute[0].doc_string = "documented"


def metadata(model: onnx.ModelProto) -> None:
    graph = model.graph
    for item in (model, graph, *graph.node, *graph.input, *graph.initializer, graph.value_info[1]):
        item.metadata_props.add(key="key", value="value")


def quantization(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(helper.make_tensor("scale", 1, [], [0.5]))
    for name in ("x", "a", "c"):
        annotation = model.graph.quantization_annotation.add(tensor_name=name)
        annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")


def training(model: onnx.ModelProto) -> None:
    info = model.training_info.add()
    info.algorithm.node.add(op_type="Sub", input=["w", "w"], output=["w_new"])
    info.update_binding.add(key="w", value="w_new")


def functions(model: onnx.ModelProto) -> None:
    for overload in ("", "one", "two"):
        function = model.functions.add(name="f", domain="custom", overload=overload)
        function.input.extend(["i", "p"])
        function.output.append("o")
        function.node.add(op_type="Pad", input=["i", "p"], output=["o"])
        function.attribute.append("axis")
        model.graph.node.add(
            op_type="f", domain="custom", overload=overload, input=["x"], output=["f" + overload]
        )


def sparse_initializers(model: onnx.ModelProto) -> None:
    values = helper.make_tensor("sparse", 1, [1], [3.0])
    indices = helper.make_tensor("", 7, [1], [2])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [5]))
    model.graph.node.add(op_type="Relu", input=["sparse"], output=["dense"])


def unused_initializers(model: onnx.ModelProto) -> None:
    for name in ("unused", "also"):
        model.graph.initializer.append(helper.make_tensor(name, 1, [2], [1, 2]))


def dead_nodes(model: onnx.ModelProto) -> None:
    model.graph.node.add(op_type="Relu", input=["c"], output=["dead"])
    model.graph.node.add(op_type="Relu", input=["dead"], output=["deader"])
    model.graph.value_info.append(helper.make_tensor_value_info("dead", 1, [1]))
    model.graph.value_info.append(helper.make_tensor_value_info("nothing", 1, [1]))


def overridable_initializers(model: onnx.ModelProto) -> None:
    model.graph.input.append(helper.make_tensor_value_info("w", 1, [1, 1, 3, 3]))


def listed_initializers(model: onnx.ModelProto) -> None:
    model.ir_version = 3
    model.graph.input.append(helper.make_tensor_value_info("p", 7, [8]))
    model.graph.input.append(helper.make_tensor_value_info("w", 1, [1, 1, 3, 3]))


def types(model: onnx.ModelProto) -> None:
    tensor = helper.make_tensor_type_proto(1, ["n", None, 3])
    sequence = helper.make_sequence_type_proto(tensor)
    mapping = helper.make_map_type_proto(8, tensor)
    optional = helper.make_optional_type_proto(sequence)
    sparse = helper.make_sparse_tensor_type_proto(1, [3])
    opaque = onnx.TypeProto()
    opaque.opaque_type.name = "opaque"
    for index, kind in enumerate((sequence, mapping, optional, sparse, opaque, onnx.TypeProto())):
        model.graph.input.append(helper.make_value_info(f"input{index}", kind))
        model.graph.output.append(helper.make_value_info(f"input{index}", kind))


def odd_attributes(model: onnx.ModelProto) -> None:
    node = model.graph.node[1]
    for kind, name in enumerate(("floats", "ints", "strings", "tensors", "graphs"), 6):
        node.attribute.add(name=f"empty_{name}", type=kind)
    node.attribute.add(name="bytes", type=3, s=b"\xff\xfe")
    node.attribute.add(name="list_of_bytes", type=8, strings=[b"\xff\xfe", b"text"])
    node.attribute.add(name="nan", type=1, f=float("nan"))
    node.attribute.add(name="nans", type=6, floats=[float("nan"), float("inf")])
    node.attribute.add(name="tensor", type=4, t=helper.make_tensor("t", 1, [600], range(600)))
    node.attribute.add(name="type", type=13, tp=helper.make_tensor_type_proto(1, [3]))
    node.attribute.add(name="reference", type=2, ref_attr_name="outer")
    node.attribute.add(name="untyped", i=3)
    node.attribute.add(name="nothing")
    node.attribute.add(name="future", type=2, i=3, ints=[1, 2])


def big_constants(model: onnx.ModelProto) -> None:
    value = helper.make_tensor("", 1, [2000], range(2000))
    model.graph.node.insert(0, helper.make_node("Constant", [], ["big"], value=value))
    model.graph.node.add(op_type="Relu", input=["big"], output=["z"])


def external_data(model: onnx.ModelProto) -> None:
    tensor = model.graph.initializer.add(name="external", data_type=1, dims=[2], data_location=1)
    tensor.external_data.add(key="location", value="gone.bin")


def bodies(model: onnx.ModelProto) -> None:
    value = helper.make_tensor_value_info("inner", 1, None)
    body = helper.make_graph([helper.make_node("Mul", ["c", "w"], ["inner"])], "g", [], [value])
    model.graph.initializer.append(helper.make_tensor("yes", 9, [], [1]))
    node = helper.make_node("If", ["yes"], ["z"], then_branch=body, else_branch=body)
    model.graph.node.append(node)


def node_names(model: onnx.ModelProto) -> None:
    model.graph.node[1].name = model.graph.node[2].name = "same"


def bytes_as_names(model: onnx.ModelProto) -> bytes:
    raw = model.SerializeToString()
    node = encode(1, b"c") + encode(2, b"other") + encode(4, b"Relu") + encode(3, b"\xff\xfe")
    return bytes(raw + encode(7, encode(1, node) + encode(10, b"\xff")))


def spelled_domains(model: onnx.ModelProto) -> None:
    model.opset_import[0].domain = "ai.onnx"
    model.graph.node[0].domain = "ai.onnx"
    model.graph.node[1].domain = "ai.onnx"
    model.graph.node[2].domain = ""


def devices(model: onnx.ModelProto) -> None:
    model.configuration.add(name="two", num_devices=2)
    for node in model.graph.node:
        node.device_configurations.add(configuration_id="two", pipeline_stage=1)


def unknown_fields(model: onnx.ModelProto) -> bytes:
    future = encode(1000, b"future") + b"\xc0\x3e\x05" + b"\xc3\x3e\x08\x01\xc4\x3e"
    conv = model.graph.node[1]
    conv.attribute[0].MergeFromString(future)
    for item in (conv, model.graph.node[2], model.graph.initializer[0], model.graph.input[0]):
        item.MergeFromString(future)
    model.graph.MergeFromString(future)
    return bytes(model.SerializeToString() + future)


def two_graphs(model: onnx.ModelProto) -> bytes:
    second = onnx.GraphProto()
    second.node.append(model.graph.node.pop())
    second.initializer.append(model.graph.initializer.pop())
    second.value_info.append(model.graph.value_info.pop())
    second.name = "second"
    first = model.SerializeToString()
    return bytes(first + encode(7, second.SerializeToString()) + encode(7, b"") + b"\x28\x07")


def other_order(model: onnx.ModelProto) -> bytes:
    raw = model.SerializeToString()
    graph = model.graph.SerializeToString()
    parts = [graph[r.begin : r.end] for r in scan(memoryview(graph), 0, len(graph))]
    # Stable, so the order within a field stays, and only that means something.
    parts.sort(key=lambda part: -part[0])
    others = [raw[r.begin : r.end] for r in scan(memoryview(raw), 0, len(raw)) if r.field != 7]
    return encode(7, b"".join(parts)) + b"".join(others)


def other_packing(model: onnx.ModelProto) -> bytes:
    """Lists of numbers packed where ONNX does not pack them, and the reverse."""
    raw = bytes(model.SerializeToString())
    w = next(item for item in model.graph.initializer if item.name == "w")
    loose = onnx.TensorProto(name="w", data_type=1).SerializeToString()
    loose += encode(1, bytes(w.dims))
    loose += b"".join(b"\x25" + np.float32(item).tobytes() for item in range(1, 10))
    conv = model.graph.node[1]
    ints = encode(1, b"strides") + b"\xa0\x01\x07" + encode(8, b"\x01\x01")
    packed = onnx.NodeProto(op_type="Conv", input=conv.input, output=conv.output)
    swapped = raw
    for before, after in (
        (encode(5, bytes(w.SerializeToString())), encode(5, bytes(loose))),
        (
            encode(1, bytes(conv.SerializeToString())),
            encode(1, bytes(packed.SerializeToString()) + encode(5, ints)),
        ),
    ):
        graph = bytes(next(r for r in records_of_graph(swapped)))
        assert graph.count(before) == 1
        swapped = swapped.replace(encode(7, graph), encode(7, graph.replace(before, after)))
    return swapped


def records_of_graph(raw: bytes) -> list[bytes]:
    return [raw[r.body : r.end] for r in scan(memoryview(raw), 0, len(raw)) if r.field == 7]


TRAPS: list[Callable[[onnx.ModelProto], bytes | None]] = [
    *(doc_strings, metadata, quantization, training, functions, sparse_initializers),
    *(unused_initializers, dead_nodes, overridable_initializers, listed_initializers, types),
    *(odd_attributes, big_constants, external_data, bodies, node_names, bytes_as_names),
    *(spelled_domains, devices, unknown_fields, two_graphs, other_order, other_packing),
]


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: str(trap.__name__))
def test_survives(trap: Callable[[onnx.ModelProto], bytes | None], tmp_path: Path) -> None:
    """A fold, an addition, and both taken back, in memory and in the file."""
    model = onnx.parser.parse_model(MODEL)
    raw = trap(model) or bytes(model.SerializeToString())
    expected = onnx.ModelProto.FromString(raw)
    fold_proto(expected)
    (tmp_path / "gone.bin").write_bytes(bytes(8))
    path = tmp_path / "net.onnx"
    path.write_bytes(raw)
    graph = Graph.load(path)
    fold(graph)
    assert canonical(graph.model.to_proto()) == canonical(expected)

    # Only the Pad, its amounts, their declarations and the Conv are not as they were.
    old, new = records(raw), records(graph.model.to_bytes())
    kept = [record for record in old if record in new]
    assert [record for record in new if record in old] == kept
    assert len(new) - len(kept) == 1
    assert 4 <= len(old) - len(kept) <= 6

    graph.model.write(tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx").read_bytes() == graph.model.to_bytes()
    last = list(graph.nodes)[-1]
    amounts = graph.add_initializer(np.arange(8), "fresh_amounts")
    graph.insert("Pad", [graph.tensor("x"), amounts], {"mode": "edge"}, before=last, name="fresh")
    values = onnx.numpy_helper.from_array(np.arange(8), "fresh_amounts")
    expected.graph.initializer.append(values)
    if expected.ir_version < 4:
        value = helper.make_tensor_value_info("fresh_amounts", onnx.TensorProto.INT64, [8])
        expected.graph.input.append(value)
    node = helper.make_node(
        "Pad", ["x", "fresh_amounts"], ["fresh_output"], name="fresh", mode="edge"
    )
    expected.graph.node.insert(len(expected.graph.node) - 1, node)
    assert canonical(graph.model.to_proto()) == canonical(expected)
    graph.rollback(0)
    graph.model.write(path)
    assert path.read_bytes() == raw


def test_notes_that_are_no_text_go_along_with_a_step() -> None:
    """The Transpose is written anew, as it was; an exporter wrote its notes in another encoding."""
    model = one(
        "a = Pad (x, p) t = Transpose <perm = [0, 3, 1, 2]> (a) y = Conv (t, w)",
        inputs="float[1, 8, 8, 2] x, float[2, 2, 3, 3] w",
        initializers="int64[8] p = {0, 1, 1, 0, 0, 1, 1, 0}",
    )
    model.graph.node[1].doc_string = "__ note"
    model.graph.node[1].metadata_props.add(key="key", value="value")
    data = model.SerializeToString().replace(b"__ note", b"\xff\xfe note")
    result = onnxpad.fix(onnx.ModelProto.FromString(data), validate=False)
    assert [change.code for change in result.changes] == ["PAD207", "PAD201"]
    step = result.model.graph.node[0]
    assert (step.op_type, step.metadata_props[0].value) == ("Transpose", "value")
    assert b"\xff\xfe note" in step.SerializeToString()
