"""The open sizes at which a graph runs, derived from its operators.

Concat and broadcasting operators need axes that fit each other: a U-Net that halves its data,
doubles it and joins both runs only at even sizes. A window needs data that it fits in. A size at
which such an operator stops is infeasible, provided that every output of the graph needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, islice
from typing import Final, TypeAlias

from msgspec import Struct, field

from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Sizes,
    equal,
    less_equal,
    maximum,
    minimum,
    solutions,
)
from onnxpad.errors import ModelError
from onnxpad.facts import BROADCASTING, Analysis, Shape
from onnxpad.facts.inference import refused
from onnxpad.facts.reshaping import at_least
from onnxpad.facts.rule_api import Call
from onnxpad.graph import Graph, Node
from onnxpad.semantics.operators import Operator, operator_of
from onnxpad.semantics.rows import UnreadError
from onnxpad.semantics.window import auto_pad_of

Conditions: TypeAlias = Iterator[Extent]
"""Conditions on the sizes: each is 1 where it holds and 0 where it does not."""

_OUTPUTS: Final = 256
_BROADCASTING: Final = frozenset({*BROADCASTING.split(), "PRelu"})
_SIZES: Final = 16
"""At most this many sizes that must fit each other are compared; the rest limits nothing."""


class Feasible(Struct, frozen=True):
    """The open sizes at which a graph runs.

    Attributes:
        sizes: The closest range around the feasible sizes of each symbol that is limited, by name.
        stops: A node that runs at none of the sizes; None where every node runs at some.
    """

    sizes: Mapping[str, Sizes] = field(default_factory=dict)
    stops: Node | None = None


EVERYWHERE: Final = Feasible()


def feasible_sizes(graph: Graph, analysis: Analysis) -> Feasible:
    """Derives the open sizes at which all operators run that every output of the graph needs."""
    conditions: dict[str, Size] = {}
    seen: set[Extent] = set()
    for node in _needed(graph):
        for condition in _conditions(node, graph, analysis):
            both = condition
            if isinstance(condition, Size) and condition not in seen:
                seen.add(condition)
                if len(condition.symbols) == 1:
                    name = condition.symbols[0].name
                    both = minimum(conditions.get(name, 1), condition)
                    if isinstance(both, Size):
                        conditions[name] = both
            if both == 0:
                return Feasible(stops=node)
    found = {name: solutions(each) for name, each in conditions.items()}
    return Feasible({name: limit for name, limit in found.items() if limit is not None})


def stopping(graph: Graph, analysis: Analysis) -> Node | None:
    """A node that stops wherever it runs, by its own sizes or onnx's shape inference; or None.

    A runtime that finds this out when it loads a model refuses it, although a branch with such a
    node may never be taken.
    """
    for node in graph.nodes:
        is_window = operator_of(graph, node) is not None
        if not is_window and any(each == 0 for each in _conditions(node, graph, analysis)):
            return node
    return refused(graph, analysis)


def _needed(graph: Graph) -> list[Node]:
    """The nodes that every output of the graph depends on; none if it has very many outputs.

    Tensors that a body of If, Loop or Scan captures do not count as inputs of its node here.
    """
    needed: list[Node] = []
    if not 0 < len(graph.outputs) <= _OUTPUTS:
        return needed
    reached = {name: 1 << index for index, name in enumerate(graph.outputs)}
    everything = (1 << len(graph.outputs)) - 1
    for node in reversed(list(graph.nodes)):
        outputs = 0
        for tensor in node.outputs:
            outputs |= reached.get(tensor.name, 0) if tensor.name else 0
        if outputs:
            for tensor in node.inputs:
                reached[tensor.name] = reached.get(tensor.name, 0) | outputs
        if outputs == everything:
            needed.append(node)
    return needed


def _is_positive(size: Extent) -> bool:
    return at_least(size, 1)


def _concatenated(call: Call) -> Conditions:
    shapes = call.shapes()
    axis = call.axis(len(shapes[0]), 1)
    # Engines accept an empty tensor even where it does not fit.
    fits = len({*map(len, shapes)}) == 1 and all(map(_is_positive, chain(*shapes)))
    for place, sizes in enumerate(zip(*shapes, strict=True) if fits else ()):
        first, *others = dict.fromkeys(sizes)
        yield from (equal(first, other) for other in others if place != axis)


def _fitting(shapes: Sequence[Shape]) -> Conditions:
    """Conditions that shapes broadcast: on each axis all sizes other than 1 are equal."""
    for place in range(1, max(map(len, shapes), default=0) + 1):
        each = (shape[-place] for shape in shapes if len(shape) >= place)
        sizes = dict.fromkeys(size for size in each if size != 1)
        for a, b in combinations(islice(sizes, _SIZES), 2):
            yield maximum(equal(a, b), maximum(equal(a, 1), equal(b, 1)))


def _windowed(call: Call, row: Operator) -> Conditions:
    """Conditions that a window operator runs.

    Conv needs room for a window; pools without one give an empty tensor. Pools and SAME need at
    least one element on each axis, except pools of an empty batch. A transposed convolution must
    give something on each axis.
    """
    layout = row.layout
    shape = call.result_shape() or ()
    yield from (less_equal(0 if row.pools else 1, size) for size in layout.spatial(shape))
    if row.scatters:
        return
    read = call.shape_of(0)
    is_same = auto_pad_of(call.node).startswith("SAME")
    if read and (_is_positive(read[layout.batch]) if row.pools else is_same):
        yield from (less_equal(1, size) for size in layout.spatial(read))


def _conditions(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    """The conditions that an operator runs, as far as they are known."""
    row, call = operator_of(graph, node), analysis.call(node)
    try:
        if row is not None and node.inputs:
            yield from _windowed(call, row)
        elif call.op == "Concat":
            yield from _concatenated(call)
        elif call.op in _BROADCASTING and call.version >= 7:
            yield from _fitting(call.shapes())
    except (ModelError, UnreadError):
        return
