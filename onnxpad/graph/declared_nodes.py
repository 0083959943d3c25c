"""The declarations of the operators of nodes: those of a custom domain that users declared."""

from __future__ import annotations

from onnxpad import declared
from onnxpad.graph.graph import Graph
from onnxpad.graph.nodes import Node


def row_declared(graph: Graph, node: Node) -> declared.Row | None:
    """A user's declaration of a window operator; None for all other operators."""
    one = _declaration(graph, node)
    return one if isinstance(one, declared.Row) else None


def step_declared(graph: Graph, node: Node) -> declared.Step | None:
    """A user's declaration of an operator that a `Pad` can be moved past; None for all others.

    Nor is there a declaration of a node with bodies, with attributes of the function around, or
    with a further output that is read.
    """
    one = _declaration(graph, node)
    if not isinstance(one, declared.Step) or not node.inputs or not node.inputs[0].name:
        return None
    apart = graph.refers(node) or graph.runs_graphs(node)
    return None if apart or any(map(graph.is_read, node.outputs[1:])) else one


def _declaration(graph: Graph, node: Node) -> declared.Declaration | None:
    """The declaration of a node's operator, in the version that the graph imports.

    A function of the model needs none: its body says what it computes.
    """
    one = declared.declaration_of(node.domain, node.op)
    if one is None or graph.is_function(node):
        return None
    opset = graph.opsets.get(one.domain)
    return one if opset is not None and (not one.versions or opset in one.versions) else None
