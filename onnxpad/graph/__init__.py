"""The graphs of a model: reading, editing, and writing them back to a file."""

from __future__ import annotations

from onnxpad.file.proto_walk import function_label, normal_domain
from onnxpad.graph.graph import Graph
from onnxpad.graph.model import Model
from onnxpad.graph.nodes import Declared, Node, Tensor, Touched, Use, describe, held_bodies

__all__ = [
    "Declared",
    "Graph",
    "Model",
    "Node",
    "Tensor",
    "Touched",
    "Use",
    "describe",
    "function_label",
    "held_bodies",
    "normal_domain",
]
