"""The readers of a tensor, the steps past which padding may go, and the way to the next window."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from onnxpad.facts import Analysis
from onnxpad.graph import Graph, Node, Tensor, Use
from onnxpad.reasons import RefusalError
from onnxpad.semantics.operators import (
    MICROSOFT,
    Fill,
    key_of,
    operator_of,
    windowed,
)
from onnxpad.semantics.rows import FLOATS, places_of
from onnxpad.semantics.table import row_of

_DOMAINS: Final = frozenset({"", MICROSOFT})
# A window further downstream has little to do with the padding.
_MOST_STEPS: Final = 8
_MOST_NODES: Final = 64
_ASKING: Final = frozenset({"Shape", "Size"})


_DIFFER_BY_PLACE: Final = frozenset({"Asin", "Atan", "Mish"})
"""What onnxruntime computes of an element depends on its place in the tensor."""


def data_inputs(graph: Graph, node: Node) -> tuple[int, ...]:
    """The inputs of a node that may be padded; none where it is no step."""
    row = row_of(graph, node)
    if row is None or node.op in _DIFFER_BY_PLACE or graph.refers(node):
        return ()
    return places_of(graph, node, row)


def readers_of(graph: Graph, tensor: Tensor) -> Iterator[Use | None]:
    """The places where a tensor is read, directly or through Identity, in no particular order.

    None stands for an output of the graph.
    """
    pending = [tensor]
    while pending:
        current = pending.pop()
        if graph.is_output(current):
            yield None
        for use in graph.uses(current):
            is_copied = use.node.op == "Identity" and graph.is_standard(use.node)
            if is_copied and use.index == 0:
                pending += use.node.outputs[:1]
            else:
                yield use


class Readers:
    """Looks downstream in one graph, which must stay as it is."""

    def __init__(self, graph: Graph) -> None:
        """Caches what it finds in the graph."""
        self._graph = graph
        self._known: dict[str, list[Use | None]] = {}

    def of(self, tensor: Tensor) -> list[Use | None]:
        """As `readers_of`, in file order; None, for an output, comes last."""
        if tensor.name not in self._known:
            uses = list(readers_of(self._graph, tensor))
            listed = [*{(id(use.node), use.index): use for use in uses if use is not None}.values()]
            if len(listed) > 1:  # the places of all nodes are looked up only where order matters
                listed.sort(key=lambda each: (self._places[id(each.node)], each.index))
            self._known[tensor.name] = [*listed, None] if None in uses else [*listed]
        return self._known[tensor.name]

    def path(self, tensor: Tensor) -> tuple[Use, ...]:
        """The shortest path from a tensor to a window operator: each node by the input it reads.

        Empty where none is near.
        """
        pending: deque[tuple[Tensor, tuple[Use, ...]]] = deque([(tensor, ())])
        seen: set[int] = set()
        while pending:
            current, steps = pending.popleft()
            for use in self.of(current):
                if use is None or id(use.node) in seen or len(seen) > _MOST_NODES:
                    continue
                window = windowed(self._graph, use.node)
                if window is not None and use.index == window.inputs.data:
                    return (*steps, use)
                if window is None and len(steps) < _MOST_STEPS and self._hands_on(use):
                    seen.add(id(use.node))
                    pending += [(each, (*steps, use)) for each in use.node.outputs if each.name]
        return ()

    def _hands_on(self, use: Use) -> bool:
        """Whether a node may pass the elements of what it reads on, changed one by one or moved."""
        key = key_of(self._graph, use.node)
        known = key is not None and key[0] in _DOMAINS and key[1] not in _ASKING
        return known and use.index >= 0

    @cached_property
    def _places(self) -> dict[int, int]:
        return {id(node): place for place, node in enumerate(self._graph.nodes)}


def about(graph: Graph, node: Node, why: RefusalError) -> RefusalError:
    """A refusal that is about a node, which its message begins with."""
    said = f"{node.op} {graph.label(node)!r}: {why}"
    return RefusalError(why.code, said, why.brief and f"{node.op}: {why.brief}", **why.facts)


def needs_finite(graph: Graph, analysis: Analysis, tensor: Tensor, reader: Node) -> bool:
    """Whether an operator takes a maximum of floats, which pads with what is below finite data."""
    row = operator_of(graph, reader)
    return row is not None and row.padding is Fill.LOWEST and analysis.dtype(tensor) in FLOATS
