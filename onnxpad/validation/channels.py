"""The sizes of channels that a graph leaves open, by what is known of it.

What is drawn is no oracle, so that it may go by the facts that rewriting goes by.
"""

from __future__ import annotations

import onnx
import onnx.inliner

from onnxpad.arithmetic.size import Extent
from onnxpad.errors import ModelError
from onnxpad.facts import Analysis, open_axes
from onnxpad.file.proto_walk import unfolded
from onnxpad.graph import Graph
from onnxpad.semantics.operators import operator_of

_MOST_INLINED = 10_000  # nodes


def channels(model: onnx.ModelProto) -> dict[str, int]:
    """The sizes of open dimensions that a convolution reads as its channels, by name."""
    try:
        graph = Graph.from_proto(inlined(model))
    except ModelError:
        return {}
    analysis, opened, found = Analysis(graph), dict[Extent, str](), dict[str, int]()
    for axis in open_axes(graph.model.main.inputs):
        shape = analysis.shape(graph.tensor(axis.tensor))
        opened |= {} if shape is None else {shape[axis.axis]: axis.label}
    for node in graph.nodes:
        row = operator_of(graph, node)
        if row is None or row.weight_layout is None or row.inputs.weight is None:
            continue
        data, weight = map(analysis.shape, (node.inputs[0], node.inputs[row.inputs.weight]))
        if data is not None and weight is not None:
            size = weight[row.weight_layout.channels]
            group = 1 if row.scatters else node.attrs.get("group", 1)
            if (name := opened.get(data[row.layout.channels])) and isinstance(size, int):
                found.setdefault(name, size * group)
    return found


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the bodies of its functions in place of their calls, unless they are many."""
    if not model.functions or unfolded(model) > _MOST_INLINED:
        return model
    try:
        return onnx.inliner.inline_local_functions(model)
    except (RuntimeError, ValueError, onnx.checker.ValidationError):  # malformed, or over 2 GiB
        return model
