"""What the analysis knows of every exported model, against onnxruntime at several sizes."""

from math import prod
from pathlib import Path

import onnx
import pytest

from onnxpad.arithmetic.size import Size, Unknown, evaluate
from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from tests.facts.agreement import compare
from tests.support import EXPORTED
from tests.support.rows import one_in


@pytest.mark.parametrize("path", one_in(8, zip(EXPORTED)), ids=lambda path: path.stem)
def test_exported_model_agrees_with_onnxruntime(path: Path) -> None:
    model = onnx.load(path)
    graph = Graph.from_proto(model)
    analysis = Analysis(graph)
    names = {
        extent.symbols[0].name
        for name in graph.inputs
        for extent in analysis.shape(graph.tensor(name)) or ()
        if isinstance(extent, Size)
    }
    counts = (32, 33, 47, 64) if _elements(graph, analysis, 64) < 2**26 else (4, 5, 7, 8)
    sizes = [dict.fromkeys(names, n) for n in counts] if names else [{}]
    agreement = compare(model, sizes)
    assert agreement.wrong == []
    if model.functions:
        return  # an attribute of a function may decide about shapes inside
    for node in graph.nodes:
        if all(analysis.shape(each) is not None for each in node.inputs if each.name):
            known = all(analysis.shape(output) is not None for output in node.outputs)
            assert known == (node.op not in {"Gemm", "QGemm"})
        if node.op == "Pad" and len(node.inputs) > 1:
            pads = analysis.integers(node.inputs[1])
            assert pads is not None
            known = not any(isinstance(amount, Unknown) for amount in pads)
            assert known or "letterbox" in path.stem  # the greatest of two open sizes


def _elements(graph: Graph, analysis: Analysis, size: int) -> int:
    """The elements of all tensors of a graph where every open size is this one."""
    total = 0
    for tensor in (each for node in graph.nodes for each in node.outputs):
        extents = analysis.shape(tensor) or ()
        known = [
            evaluate(each, {which.name: size for which in each.symbols})
            for each in extents
            if isinstance(each, Size)
        ]
        total += prod(known + [each for each in extents if isinstance(each, int)])
    return total
