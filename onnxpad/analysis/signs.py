"""Proves tensors non-negative; finds what puts infinities in them, or tells their zeros apart."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from onnx import TensorProto

from onnxpad.analysis.analysis import Analysis
from onnxpad.analysis.rule_api import Bound
from onnxpad.graph import Graph, Node, Tensor, Use
from onnxpad.graph.walk import downstream
from onnxpad.messages import Named
from onnxpad.semantics.operators import gathering, operator_of
from onnxpad.semantics.rows import FLOATS

if TYPE_CHECKING:
    from onnxpad.analysis.infinities import Infinities

# Operators that may make other numbers of 0.0 and -0.0, and the input at which they do.
_TELLING: Final = {
    "BitCast": 0,
    "Cast": 0,
    "Div": 1,
    "Pow": 0,
    "QuantizeLinear": 1,
    "Reciprocal": 0,
}


class Signs:
    """Facts about the signs of the tensors of one graph."""

    def __init__(self, graph: Graph, analysis: Analysis, outer: Signs | None = None) -> None:
        """Starts with nothing proved; a body gets the `Signs` of the graph around it as `outer`."""
        self._graph = graph
        self._analysis = analysis
        self._outer = outer

    @cached_property
    def _infinities(self) -> Infinities:
        from onnxpad.analysis.infinities import Infinities  # only maxima ask for them

        around = None if self._outer is None else self._outer._infinities
        return Infinities(self._graph, self._analysis, around)

    def non_negative(self, tensor: Tensor) -> bool:
        """Whether no element of a tensor can be below zero (NaN is not below zero)."""
        return self.bound(tensor) >= 0

    def bound(self, tensor: Tensor) -> Bound:
        """A number that no element of a tensor is below; -inf where none is known."""
        return self._analysis.bound(tensor)

    def infinite(self, tensor: Tensor) -> Tensor | None:
        """Where infinities or NaN in a tensor come from; None is no proof that it holds none."""
        return self._infinities.origin(tensor)

    def telling(self, tensor: Tensor) -> Named | None:
        """The operator downstream that may make other numbers of 0.0 and -0.0; None without one.

        An output that shows -0.0 for 0.0 is no other number. A window operator that adds products
        to 0.0 loses the sign, as does a tensor without zeros, or without fractions.
        """
        if not _tellers(self._graph):
            return None
        graph = self._graph
        for current in downstream([tensor], self._keeping_signs):
            if current is None or (graph.is_output(current) and not graph.is_main):
                of = "what is computed from"
                return Named(f"{of} {(current or tensor).name!r}", f"{of} it")
            for use in graph.uses(current):
                node = use.node
                tells = _tells(graph, node, use.index)
                if graph.runs_graphs(node):
                    tells = not graph.inner_operators(node).isdisjoint(_tellers(graph))
                if tells:
                    return Named(f"{node.op} {graph.label(node)!r}", node.op)
        return None

    def _keeping_signs(self, use: Use) -> Iterator[Tensor]:
        """The results of a node in which the signs of an input's zeros may show."""
        row = operator_of(self._graph, use.node)
        if use.index or row is None or not row.loses_signs:
            for each in use.node.outputs:
                if self._analysis.dtype(each) in {None, *FLOATS} and self.bound(each) <= 0:
                    yield each


def _tellers(graph: Graph) -> frozenset[str]:
    """The operators anywhere in a model that may tell zeros apart; edits bring none that does."""
    main = graph.main
    if main not in _FOUND:
        inside = (main, *main.inside(), *main.functions())
        _FOUND[main] = frozenset(
            node.op
            for each in (*inside, *(body for one in main.functions() for body in one.inside()))
            for node in each.nodes
            for index in range(len(node.inputs))
            if not each.runs_graphs(node) and _tells(each, node, index)
        )
    return _FOUND[main]


_FOUND: Final[WeakKeyDictionary[Graph, frozenset[str]]] = WeakKeyDictionary()


def _tells(graph: Graph, node: Node, index: int) -> bool:
    """Whether a node without bodies may make other numbers of 0.0 and -0.0 in an input."""
    if not graph.is_standard(node):
        return gathering(graph, node) is None
    if _TELLING.get(node.op) != index:
        return False
    if node.op == "Cast":
        return graph.refers(node) != "" or node.attrs.get("to") == TensorProto.STRING
    other = node.inputs[1] if len(node.inputs) > 1 else None
    array = None if other is None else graph.constant(other)
    if node.op == "Pow" and array is not None:
        return not bool((array >= 0).all())
    return index == 0 or array is None
