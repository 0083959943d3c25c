"""Operators that commute with constant padding, from the specification: none so far."""

from collections.abc import Sequence
from typing import NamedTuple

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph, Node
from onnxpad.proof.layers import Amounts, Layers


class Passed(NamedTuple):
    """Layers of padding behind an operator that they were carried through.

    Attributes:
        key: What the operator does to the data within the layers: with equal keys, equal data gives
            equal results.
        layers: The layers around its output.
        taken: Names of its other inputs.
    """

    key: tuple[object, ...]
    layers: Layers
    taken: tuple[str, ...]


def data_inputs(graph: Graph, analysis: Analysis, node: Node) -> tuple[int, ...]:
    """The inputs of a node whose padding is carried through; none where it does not commute."""
    return ()


def through(
    graph: Graph, analysis: Analysis, node: Node, output: int, inner: Sequence[Layers]
) -> Passed | None:
    """Carries layers around each data input through a node; None where it does not commute."""
    return None


def crop_of(graph: Graph, analysis: Analysis, node: Node) -> Amounts | None:
    """The amounts, none above 0, of a Slice that only crops; None for all other nodes."""
    return None
