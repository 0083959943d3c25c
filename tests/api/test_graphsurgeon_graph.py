"""Graphs of graphsurgeon, taken and given back by its own export and import."""

import numpy as np
import onnx_graphsurgeon as gs
import pytest

import onnxpad
from onnxpad.errors import ModelError
from tests.api.test_kinds import PADDED


def test_a_graph_and_its_result() -> None:
    graph = gs.import_onnx(PADDED)
    graph.tensors()["x"].name = "image"
    result = onnxpad.fix(graph)
    assert [change.code for change in result.changes] == ["PAD201"]
    fixed = result.as_same_kind()
    assert [node.op for node in fixed.nodes] == ["Conv"]
    assert [each.name for each in fixed.inputs] == ["image"]
    assert [node.op for node in graph.nodes] == ["Pad", "Conv"]


def test_a_new_graph_gets_a_version_that_runs() -> None:
    x, y = (gs.Variable(name, np.float32, [2]) for name in "xy")
    graph = gs.Graph([gs.Node("Relu", inputs=[x], outputs=[y])], [x], [y], opset=13)
    result = onnxpad.fix(graph)
    assert result.model.ir_version == 8
    assert result.as_same_kind().opset == 13
    assert onnxpad.validate(graph, graph).ok


def test_what_cannot_be_exported_is_one_line() -> None:
    graph = gs.import_onnx(PADDED)
    graph.inputs[0].dtype = None
    with pytest.raises(ModelError):
        onnxpad.fix(graph)
    graph = gs.import_onnx(PADDED)
    graph.nodes[1].attrs["group"] = None
    with pytest.raises(ModelError):
        onnxpad.fix(graph)
