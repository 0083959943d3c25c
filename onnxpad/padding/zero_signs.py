"""Whether anything downstream of a tensor can tell 0.0 from -0.0 in it."""

from typing import Final

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.operators.table import FLOATS, operator_of
from onnxpad.padding.readers import readers_of
from onnxpad.padding.step_fills import says_uncertain
from onnxpad.padding.step_table import data_inputs
from onnxpad.reasons import RefusalError

_MOST_NODES: Final = 128


def check_sign_is_lost(graph: Graph, analysis: Analysis, step: Node) -> None:
    """Raises if the signs of zeros that a step makes may show downstream.

    They do not in a Conv, which adds products to 0.0, nor in integers. Other steps hand them on.

    Raises:
        RefusalError: A node may show them.
    """
    pending: list[Tensor] = list(step.outputs)
    seen = {id(step)}
    while pending:
        tensor = pending.pop()
        if analysis.dtype(tensor) not in {None, *FLOATS}:
            continue
        for node, index in readers_of(graph, tensor):
            if node is None or index < 0 or len(seen) > _MOST_NODES:
                raise _shows(step, "an output may show")
            row = operator_of(graph, node)
            if row is not None and row.loses_signs and index == 0:
                continue
            inputs = (0,) if node.op == "Pad" else data_inputs(graph, node)
            divides = node.op == "Div" and index == 1
            if not graph.is_standard(node) or index not in inputs or divides:
                raise _shows(step, f"{node.op} {graph.label(node)!r} may tell")
            if id(node) not in seen:
                seen.add(id(node))
                pending += node.outputs


def _shows(step: Node, who: str) -> RefusalError:
    return says_uncertain(step.op, 0.0, f"a zero of either sign, which {who}")
