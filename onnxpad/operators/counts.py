"""How much padding a model has, as a person counts it: `Pad`s, and operators with `auto_pad`."""

from onnxpad.errors import ModelError
from onnxpad.finding import Counts
from onnxpad.graph import Graph


def counts_of(graph: Graph) -> Counts:
    """The padding of a model, bodies and functions included, and the nodes of its main graph."""
    pads = auto_pads = ceil_modes = 0
    left = [graph]
    try:
        left += graph.functions()
    except ModelError:
        left = [graph]
    while left:
        each = left.pop()
        for node in each.nodes:
            pads += node.op == "Pad" and each.is_standard(node)
            auto_pads += node.attrs.get("auto_pad", "") not in ("NOTSET", "")
            ceil_modes += node.attrs.get("ceil_mode", 0) == 1
            if each.runs_graphs(node):
                try:
                    left += each.bodies(node)
                except ModelError:
                    continue
    return Counts(pads, auto_pads, sum(1 for _ in graph.nodes), ceil_modes)
