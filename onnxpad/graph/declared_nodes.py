"""The declarations of the operators of nodes: those of a custom domain that users declared."""

from __future__ import annotations

from onnxpad import declared
from onnxpad.graph.graph import Graph
from onnxpad.graph.nodes import Node


def row_declared(graph: Graph, node: Node) -> declared.Row | None:
    """A user's declaration of a node's operator, in the version that the graph imports.

    A function of the model needs none: its body says what it computes.
    """
    one = declared.declaration_of(node.domain, node.op)
    if one is None or graph.is_function(node):
        return None
    opset = graph.opsets.get(one.domain)
    return one if opset is not None and (not one.versions or opset in one.versions) else None
