"""The walk upstream, to the tensors that others are computed from, and the one downstream.

And the one inward, to the bodies of nodes and the functions, which counts their padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from onnxpad.errors import ModelError
from onnxpad.finding import Counts
from onnxpad.graph.graph import Graph
from onnxpad.graph.nodes import Node, Tensor, Use

_ENDLESS: Final = 1 << 20

MOST: Final = 512
"""Tensors after which a walk ends: no node so far away has to do with the one that asks."""


def upstream(
    tensors: Iterable[Tensor],
    through: Callable[[Node], Iterable[Tensor]],
    most: int | None = MOST,
) -> Iterator[Tensor | None]:
    """The tensors upstream of some, and these themselves, each once; None at last if cut short.

    It goes on with the inputs that `through` has of a node, once what it computes was given.
    """

    def onward(tensor: Tensor) -> Iterable[Tensor]:
        node = tensor.producer
        return () if node is None else through(node)

    return _reached(tensors, onward, most)


def nodes_upstream(
    tensors: Iterable[Tensor],
    through: Callable[[Node], Iterable[Tensor]],
    most: int | None = MOST,
) -> Iterator[Node | None]:
    """The nodes that compute these tensors, each once; None at last if cut short."""
    seen: set[Node | None] = {None}
    for tensor in upstream(tensors, through, most):
        node = None if tensor is None else tensor.producer
        if tensor is None or node not in seen:
            seen.add(node)
            yield node


def downstream(
    tensors: Iterable[Tensor],
    through: Callable[[Use], Iterable[Tensor]],
    most: int | None = MOST,
) -> Iterator[Tensor | None]:
    """The tensors downstream of some, and these themselves, each once; None at last if cut short.

    It goes on with the outputs that `through` has of a node that reads a tensor.
    """

    def onward(tensor: Tensor) -> Iterator[Tensor]:
        return (each for use in tuple(tensor.uses) for each in through(Use(*use)))

    return _reached(tensors, onward, most)


def _reached(
    tensors: Iterable[Tensor], onward: Callable[[Tensor], Iterable[Tensor]], most: int | None
) -> Iterator[Tensor | None]:
    pending = [each for each in tensors if each.name]
    seen = {each.name for each in pending}
    count = 0
    while pending:
        if count == most:
            yield None
            return
        tensor = pending.pop()
        count += 1
        yield tensor
        for each in onward(tensor):
            if each.name and each.name not in seen:
                seen.add(each.name)
                pending.append(each)


def readable_graphs(graph: Graph) -> Iterator[Graph]:
    """The bodies in a graph, and the functions of a main graph; a finding tells which are none."""
    for node in graph.running():
        for body in () if node.broken else graph.bodies(node):
            yield body
            yield from readable_graphs(body)
    for function in graph.model.functions if graph.is_main else ():
        if isinstance(function, Graph):
            yield function
            yield from readable_graphs(function)


def counts_of(graph: Graph) -> Counts:
    """The padding and the nodes of a model, bodies and functions included."""
    pads = auto_pads = ceil_modes = nodes = 0
    for each in (graph, *readable_graphs(graph)):
        for node in each.nodes:
            nodes += 1
            pads += node.op == "Pad" and each.is_standard(node)
            if attrs := node.attrs:
                auto_pads += attrs.get("auto_pad", "") not in ("NOTSET", "")
                ceil_modes += attrs.get("ceil_mode", 0) == 1
    return Counts(pads, auto_pads, nodes, ceil_modes)


def has_open_loop(graph: Graph) -> bool:
    """Whether a model has a Loop that no constant stops within a million iterations or so."""
    for each in (graph, *readable_graphs(graph)):
        for node in each.nodes:
            if node.op == "Loop" and each.names_standard(node):
                count = node.operand(0)
                try:
                    value = None if count is None else each.constant(count)
                except ModelError:  # its elements do not fit its shape
                    value = None
                if value is None or value.size != 1 or value.item() > _ENDLESS:
                    return True
    return False
