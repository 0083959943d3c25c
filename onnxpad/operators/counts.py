"""How much padding a model has, as a person counts it: `Pad`s, and operators with `auto_pad`."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpad.errors import ModelError
from onnxpad.finding import Counts
from onnxpad.graph import Graph


def counts_of(graph: Graph) -> Counts:
    """The padding of a model, bodies and functions included, and the nodes of its main graph."""
    pads = auto_pads = ceil_modes = 0
    for each in (graph, *readable(graph)):
        for node in each.nodes:
            pads += node.op == "Pad" and each.is_standard(node)
            auto_pads += node.attrs.get("auto_pad", "") not in ("NOTSET", "")
            ceil_modes += node.attrs.get("ceil_mode", 0) == 1
    return Counts(pads, auto_pads, sum(1 for _ in graph.nodes), ceil_modes)


def readable(graph: Graph) -> Iterator[Graph]:
    """The bodies in a graph that can be opened, and the functions of a main graph."""
    for node in graph.nodes:
        if graph.runs_graphs(node):
            try:
                opened = list(graph.bodies(node))
            except ModelError:
                continue  # a finding says so
            for body in opened:
                yield body
                yield from readable(body)
    if graph.is_main:
        for index in range(len(graph.model.function_sections)):
            try:
                function = graph.function(index)
            except ModelError:
                continue  # a finding says so
            yield function
            yield from readable(function)
