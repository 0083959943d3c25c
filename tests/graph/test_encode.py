"""What a model's protos become once they are edited."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from onnxpad.graph import Graph
from onnxpad.graph.model import _declaring
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
