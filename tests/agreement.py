"""What the analysis claims of a model's tensors, held against what onnxruntime computes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper, parser

from onnxpad.graph import Graph
from onnxpad.size import Size, Unknown, evaluate
from onnxpad.values import Analysis
from onnxpad.values.floats import Quotient, Scaled

Array = np.ndarray[Any, Any]


def parse(text: str, opset: int = 17) -> onnx.ModelProto:
    """A model from ONNX text, `name (inputs) => (outputs) { nodes }`."""
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{text}')


def single(
    op: str, inputs: Mapping[str, Array], opset: int = 17, outputs: int = 1, **attributes: Any
) -> onnx.ModelProto:
    """A model of one node with initializers for inputs, and `y0`, `y1`, ... for outputs.

    An input whose name begins with `_` is left out.
    """
    given = ["" if name.startswith("_") else name for name in inputs]
    constants = [numpy_helper.from_array(inputs[name], name) for name in given if name]
    results = [f"y{index}" for index in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op, given, results, **attributes)],
        "single",
        [],
        [onnx.ValueInfoProto(name=name) for name in results],
        constants,
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


def run(
    model: onnx.ModelProto, feeds: Iterable[Mapping[str, Array]] = ({},)
) -> list[dict[str, Array]]:
    """What onnxruntime computes for every node output, with graph optimisation off."""
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    names = [name for node in model.graph.node for name in node.output if name]
    del exposed.graph.output[:]
    exposed.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        exposed.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return [dict(zip(names, session.run(names, dict(feed)), strict=True)) for feed in feeds]


def element(item: object, sizes: Mapping[str, int]) -> float | None:
    """The number that an element is at these sizes; None where that is not claimed."""
    if isinstance(item, Unknown | Quotient):
        return None
    if isinstance(item, Scaled):
        return math.ldexp(evaluate(item.mantissa, sizes), item.exponent)
    if isinstance(item, Size):
        return evaluate(item, sizes)
    assert type(item) in (int, float), f"{item!r} is a {type(item).__name__}"
    return item  # type: ignore[no-any-return]


def disagreements(
    model: onnx.ModelProto,
    feeds: Sequence[Mapping[str, Array]] = ({},),
    sizes: Sequence[Mapping[str, int]] = ({},),
) -> tuple[list[str], set[str]]:
    """Where claims differ from what onnxruntime computes, and the tensors of known content.

    Args:
        model: The model; all its tensors are asked about.
        feeds: Inputs of each run.
        sizes: The value of each symbol in each run.
    """
    graph = Graph.from_proto(model)
    analysis = Analysis(graph)
    wrong: list[str] = []
    known: set[str] = set()
    for results, values in zip(run(model, feeds), sizes, strict=True):
        for name, array in results.items():
            tensor = graph.tensor(name)
            dtype, shape, value = (
                analysis.dtype(tensor),
                analysis.shape(tensor),
                analysis.value(tensor),
            )
            if dtype not in (None, helper.np_dtype_to_tensor_dtype(array.dtype)):
                wrong.append(f"{name}: type {dtype}, not {array.dtype}")
            if shape is not None:
                claimed = [element(extent, values) for extent in shape]
                if len(claimed) != array.ndim or any(
                    a is not None and a != b for a, b in zip(claimed, array.shape, strict=True)
                ):
                    wrong.append(f"{name}: shape {claimed}, not {array.shape} at {values}")
            if value is None:
                continue
            items = [element(item, values) for item in value.data.reshape(-1)]
            if value.data.shape != array.shape:
                wrong.append(f"{name}: content of shape {value.data.shape}, not {array.shape}")
            elif any(
                a is not None and a != b
                for a, b in zip(items, array.reshape(-1).tolist(), strict=True)
            ):
                wrong.append(f"{name}: {items}, not {array.reshape(-1).tolist()} at {values}")
            if None not in items:
                known.add(name)
    return wrong, known
