"""Shapes and types of onnxruntime's own operators, against what it computes."""

import numpy as np
from onnx import TensorProto

from onnxpad.facts import Analysis
from onnxpad.facts.shape_rules import SHAPES
from onnxpad.graph import Graph
from onnxpad.semantics.operators import OPERATORS
from tests.support import Array, one, run
from tests.support.rows import each_row

INPUTS = "uint8[2, 3, 4, 6] x, uint8[5, 3] m, int8[2, 4] i, float[2, 3, 4, 6] r"
CONSTANTS = ", ".join(
    (
        "float s = {0.5}, uint8 z = {3}, float t = {0.25}, int8 j = {-1}, uint8[3] v = {1, 2, 3}",
        "uint8[3, 2] w = {1, 2, 3, 4, 5, 6}, uint8[2, 3] wt = {1, 2, 3, 4, 5, 6}",
        "uint8[5, 7] u = {" + ", ".join("1" * 35) + "}, uint8[4, 1] row = {1, 2, 3, 4}",
        "uint8[2, 1, 4, 6] one = {" + ", ".join("2" * 48) + "}, float[6] bias = {1, 2, 3, 4, 5, 6}",
        "uint8[2, 3, 1, 6] low = {" + ", ".join("2" * 36) + "}",
    )
)
CASES = [
    ("float", "BiasGelu (r, bias)"),
    ("float", "FastGelu (r)"),
    ("float", "Gelu (r)"),
    ("float", "QuickGelu (r)"),
    ("uint8", "QuantizeLinear (r, s, z)"),
    ("int8", "QuantizeLinear (r, s, j)"),
    ("float", "DequantizeLinear (x, s, z)"),
    ("uint8", "QLinearLeakyRelu (x, s, z, t, z)"),
    ("int8", "QLinearLeakyRelu (i, s, j, t, j)"),
    ("uint8", "QLinearSigmoid (x, s, z, t, z)"),
    ("uint8", "QLinearSoftmax <axis = 1, opset = 13> (x, s, z, t, z)"),
    ("uint8", "QLinearAdd (x, s, z, row, t, z, s, z)"),
    ("uint8", "QLinearAdd (row, s, z, x, t, z, s, z)"),
    ("uint8", "QLinearMul (one, s, z, low, t, z, s, z)"),
    ("uint8", "QLinearConcat <axis = 1> (s, z, x, t, z, one, s, z)"),
    ("uint8", "QLinearConcat <axis = 2> (s, z, x, t, z, low, s, z, x, s, z)"),
    ("int8", "QLinearConcat <axis = 0> (s, j, i, t, j)"),
    ("uint8", "QLinearGlobalAveragePool (x, s, z, t, z)"),
    ("uint8", "QLinearGlobalAveragePool <channels_last = 1> (x, s, z, t, z)"),
]
TYPES = {"uint8": TensorProto.UINT8, "int8": TensorProto.INT8, "float": TensorProto.FLOAT}
FEEDS: dict[str, Array] = {
    "x": np.ones((2, 3, 4, 6), np.uint8),
    "m": np.ones((5, 3), np.uint8),
    "i": np.ones((2, 4), np.int8),
    "r": np.ones((2, 3, 4, 6), np.float32),
}


@each_row(("kind", "call"), CASES)
def test_shape_and_type_are_those_of_the_result(kind: str, call: str) -> None:
    node = f"y = com.microsoft.{call}"
    model = one(node, inputs=INPUTS, outputs=f"{kind}[] y", initializers=CONSTANTS)
    graph = Graph.from_proto(model)
    analysis, tensor = Analysis(graph), graph.tensor("y")
    (found,) = run(model, FEEDS)
    assert analysis.shape(tensor) == found.shape
    assert analysis.dtype(tensor) == TYPES[kind]


def test_every_operator_has_a_case() -> None:
    names = {call.partition(" ")[0] for _, call in CASES}
    shapes = {name.removeprefix("com.microsoft.") for name in SHAPES if "." in name}
    assert shapes - {op for _, op in OPERATORS} == names
