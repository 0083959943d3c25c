"""The graphs of a model: reading, editing, and writing them back to a file."""

from __future__ import annotations

from onnxpad.file.proto_walk import function_label, normal_domain
from onnxpad.graph.graph import Graph, counts_of
from onnxpad.graph.model import Model
from onnxpad.graph.nodes import (
    Declared,
    Node,
    Tensor,
    Touched,
    Use,
    describe,
    downstream,
    held_bodies,
    nodes_upstream,
    upstream,
)

__all__ = [
    "Declared", "Graph", "Model", "Node", "Tensor", "Touched", "Use", "counts_of", "describe",
    "downstream", "function_label", "held_bodies", "nodes_upstream", "normal_domain",
    "upstream",
]  # fmt: skip
