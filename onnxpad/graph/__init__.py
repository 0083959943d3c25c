"""The graph of a model, to read and to edit, and the way back to a file."""

from onnxpad.graph.graph import Graph
from onnxpad.graph.journal import Touched
from onnxpad.graph.nodes import Declared, Node, Tensor, Use, describe

__all__ = ["Declared", "Graph", "Node", "Tensor", "Touched", "Use", "describe"]
