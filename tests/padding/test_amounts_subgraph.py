"""AmountsWriter of SAME that nodes compute, wherever the spatial axes are."""

import numpy as np
import pytest

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.window import Side, Window, same_pads
from onnxpad.graph import Graph
from onnxpad.operators.table import CHANNELS_FIRST, CHANNELS_LAST, Layout
from onnxpad.padding.amounts_subgraph import AmountsWriter, formula_of_same
from tests.support import one, run

WINDOWS = (Window(3, 2), Window(5, 3, 2))


@pytest.mark.parametrize("layout", [CHANNELS_FIRST, CHANNELS_LAST, Layout(-1, 0)])
@pytest.mark.parametrize("opset", [13, 17])
@pytest.mark.parametrize("odd", ["begin", "end"])
def test_only_spatial_axes_are_padded(layout: Layout, opset: int, odd: Side) -> None:
    proto = one("y = Relu (x)", inputs="float[a, b, c, d] x", opset=opset)
    graph = Graph.from_proto(proto)
    (node,) = graph.nodes
    data = node.inputs[0]
    formula = formula_of_same(layout, WINDOWS, odd)
    amounts = AmountsWriter(graph, Analysis(graph)).compute(formula, data, node, "same")
    padded = graph.insert("Pad", [data, amounts], {"mode": "constant"}, before=node, name="p")
    graph.set_input(node, 0, padded)
    for sizes in ((6, 7), (9, 12), (1, 2)):
        shape = layout.full(sizes, 2)
        pads = [same_pads(n, window, odd=odd) for n, window in zip(sizes, WINDOWS, strict=True)]
        ones = np.ones(shape, np.float32)
        (found,) = run(graph.model.to_proto(), {"x": ones})
        np.testing.assert_array_equal(found, np.pad(ones, layout.full(pads, (0, 0))))
