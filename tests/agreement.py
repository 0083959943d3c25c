"""What the analysis claims of a model's tensors, held against what onnxruntime computes."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, parser

from onnxpad.graph import Graph
from onnxpad.size import Extent, Unknown, evaluate
from onnxpad.values import Analysis
from onnxpad.values.floats import FLOATS, Quotient, Scaled

Model = onnx.ModelProto


def parse(text: str, opset: int = 17) -> Model:
    """A model from ONNX text, `name (inputs) => (outputs) { nodes }`."""
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{text}')


def single(op: str, inputs: Mapping[str, np.ndarray[Any, Any]], opset: int = 17, **attributes: Any) -> Model:
    """A model of one node whose inputs are initializers; `outputs` says how many outputs it has."""
    outputs = [f"y{index}" for index in range(attributes.pop("outputs", 1))]
    node = helper.make_node(op, list(inputs), outputs, **attributes)
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in inputs.items() if name]
    results = [helper.make_tensor_value_info(name, 0, None) for name in outputs]
    for result in results:
        result.ClearField("type")
    graph = helper.make_graph([node], "single", [], results, constants)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])
