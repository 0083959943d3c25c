"""Domains, walks up- and downstream, and what a model's protos become once they are edited."""

from operator import attrgetter
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from onnxpad.errors import ModelError
from onnxpad.file.proto_walk import normal_domain
from onnxpad.file.skeleton import read_bytes
from onnxpad.graph import Graph, Tensor, Use, downstream, nodes_upstream, upstream
from onnxpad.graph.model import _declaring, imported
from onnxpad.graph.nodes import MOST
from tests.support import one, parsed


def test_the_default_domain_has_two_names() -> None:
    names = (None, "", "ai.onnx", "ai.onnx.ml", "local")
    assert [normal_domain(name) for name in names] == ["", "", "", "ai.onnx.ml", "local"]


def test_imports() -> None:
    opsets = [helper.make_opsetid(*each) for each in (("ai.onnx", 17), ("ai.onnx.ml", 3), ("q", 1))]
    assert imported(opsets, 9) == {"": 17, "ai.onnx.ml": 3, "q": 1}
    assert imported([*opsets, helper.make_opsetid("q", 2)], 9)["q"] == 2
    with pytest.raises(ModelError):
        imported([*opsets, helper.make_opsetid("", 17)], 9)
    assert [imported([], version) for version in (1, 2, 3, 9)] == [{"": 1}, {"": 1}, {}, {}]


def graph_of(nodes: str) -> Graph:
    return Graph.from_proto(one(nodes))


every = attrgetter("inputs")


@pytest.mark.parametrize(
    ("through", "most", "tensors", "ops"),
    [
        (every, MOST, ["y", "c", "x", "b", "a"], ["Add", "Neg", "Add", "Relu"]),
        (lambda node: node.inputs[:1], MOST, ["y", "b", "a", "x"], ["Add", "Add", "Relu"]),
        (lambda node: (), MOST, ["y"], ["Add"]),
        (every, None, ["y", "c", "x", "b", "a"], ["Add", "Neg", "Add", "Relu"]),
        (every, 2, ["y", "c", None], ["Add", "Neg", None]),
        (every, 5, ["y", "c", "x", "b", "a"], ["Add", "Neg", "Add", "Relu"]),
    ],
)
def test_what_is_upstream(
    through: object, most: int | None, tensors: list[str | None], ops: list[str | None]
) -> None:
    start = [graph_of("a = Relu (x) b = Add (a, a) c = Neg (x) y = Add (b, c)").tensor("y")]
    found = upstream(start, through, most)  # type: ignore[arg-type]
    assert [each and each.name for each in found] == tensors
    nodes = nodes_upstream(start, through, most)  # type: ignore[arg-type]
    assert [each and each.op for each in nodes] == ops


@pytest.mark.parametrize(
    ("index", "most", "tensors"),
    [
        (None, MOST, ["x", "c", "y", "a", "b"]),
        (0, MOST, ["x", "c", "a", "b", "y"]),
        (1, MOST, ["x"]),
        (None, 3, ["x", "c", "y", None]),
        (None, 5, ["x", "c", "y", "a", "b"]),
    ],
)
def test_what_is_downstream(index: int | None, most: int | None, tensors: list[str | None]) -> None:
    graph = graph_of("a = Relu (x) b = Add (a, a) c = Neg (x) y = Add (b, c)")

    def through(use: Use) -> tuple[Tensor, ...]:
        return use.node.outputs if index in {None, use.index} else ()

    found = [each and each.name for each in downstream([graph.tensor("x")], through, most)]
    assert found == tensors


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
    found = _declaring(before, shape)
    expected = value(becomes)
    for dim, old, size in zip(dims(expected), dims(before), shape, strict=True):
        if size is None and old.WhichOneof("value") is not None:
            dim.ClearField("denotation")
    assert found == expected


@pytest.mark.parametrize("shape", [(2, 3), ("n", None, 4)])
def test_an_input_of_unknown_rank_is_declared_anew(shape: tuple[int | str | None, ...]) -> None:
    found = _declaring(onnx.helper.make_tensor_value_info("x", 1, None), shape)
    assert found == onnx.helper.make_tensor_value_info("x", 1, shape)


def test_each_body_of_a_list_has_a_section_of_its_own() -> None:
    bodies = [parsed(f"g () => (float y) {{ y = {op} (x) }}").graph for op in ("Abs", "Neg", "Exp")]
    node = onnx.helper.make_node("Choose", ["x"], ["y"], domain="vendor", first=bodies[0])
    node.attribute.append(onnx.helper.make_attribute("all", bodies))
    proto = parsed("g (float x) => (float y) { y = Relu (x) }")
    proto.graph.node[0].CopyFrom(node)
    data = proto.SerializeToString()
    skeleton = read_bytes(data, "model")
    (record,) = skeleton.main.fields[1]
    keys = "first", "all[0]", "all[1]", "all[2]"
    for key, body in zip(keys, [bodies[0], *bodies], strict=True):
        section = skeleton.body(record, key, body)
        (container,) = section.containers
        assert onnx.GraphProto.FromString(data[container.body : container.end]) == body


def test_only_what_may_run_what_was_edited_counts_as_edited() -> None:
    model = parsed(
        """<ir_version: 9, opset_import: ["" : 17, "local" : 1]>
        g (float[1] x) => (float[1] y) { a = Neg (x) b = local.F (a) y = Abs (b) }
        <domain: "local", opset_import: ["" : 17]> F (d) => (e) { e = Softmax <axis = 0> (d) }"""
    )
    graph = Graph.from_bytes(model.SerializeToString())
    nodes = [*graph.nodes]
    assert [graph.runs_edited(node) for node in nodes] == [False] * 3
    function = graph.called(nodes[1])
    assert function is not None
    (inner,) = function.nodes
    function.set_attributes(inner, {"axis": -1})
    assert [graph.runs_edited(node) for node in nodes] == [False, True, False]
    assert [graph.is_edited(node) for node in nodes] == [False] * 3
    graph.set_input(nodes[2], 0, nodes[0].outputs[0])
    assert [graph.runs_edited(node) for node in nodes] == [False, True, True]


def test_what_is_run_finds_its_external_data(tmp_path: Path) -> None:
    model = parsed("g (float[1] x) => (float[1] y) { y = Add (x, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(600, np.float32), "w"))
    plain, outside = tmp_path / "plain.onnx", tmp_path / "outside.onnx"
    onnx.save(model, plain)
    onnx.save(model, outside, save_as_external_data=True, location="w.bin", size_threshold=0)
    assert Graph.load(plain).model.to_run() == (plain.read_bytes(), None)
    assert Graph.load(outside).model.to_run() == (outside.read_bytes(), tmp_path)
    assert Graph.from_bytes(outside.read_bytes()).model.to_run() == (outside.read_bytes(), None)
