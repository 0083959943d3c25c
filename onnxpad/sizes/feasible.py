"""The open sizes at which a graph runs, derived from its operators.

Concat, Split, SpaceToDepth, MatMul, Reshape and broadcasting operators need axes that fit each
other: a U-Net that halves its data, doubles it and joins both runs only at even sizes. A window
needs data that it fits in. A size at which such an operator stops is infeasible, provided that
every output of the graph needs the operator.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from math import prod
from typing import Final, TypeAlias

from msgspec import Struct, field

from onnxpad.analysis import BROADCASTING, LARGEST_SIZE, Analysis, Shape
from onnxpad.analysis.shape_inference_check import refused
from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Sizes,
    Unknown,
    bounds,
    climbs,
    equal,
    evaluate,
    less_equal,
    maximum,
    minimum,
    modulo,
    solutions,
)
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, Node
from onnxpad.semantics.operators import OPERATORS, operator_of
from onnxpad.semantics.read_nodes import UnreadableError
from onnxpad.semantics.window import auto_pad_of

Conditions: TypeAlias = Iterator[Extent]
"""Conditions on the sizes: each is 1 where it holds and 0 where it does not."""

_OUTPUTS: Final = 256
_SIZES: Final = 16
"""At most this many sizes that must fit each other are compared; the rest limits nothing."""


class Feasible(Struct, frozen=True):
    """The open sizes at which a graph runs.

    Attributes:
        sizes: The closest range around the feasible sizes of each symbol that is limited, by name.
        short: The sizes at which no axis inside the graph is longer than `LARGEST_SIZE`, for the
            symbols that this limits further.
        stops: A node that runs at none of the sizes; None where every node runs at some.
    """

    sizes: Mapping[str, Sizes] = field(default_factory=dict)
    short: Mapping[str, Sizes] = field(default_factory=dict)
    stops: Node | None = None


EVERYWHERE: Final = Feasible()


def feasible_sizes(graph: Graph, analysis: Analysis) -> Feasible:
    """Derives the open sizes at which all operators run that every output of the graph needs."""
    conditions: dict[str, Extent] = {}
    seen: set[Extent] = set()
    large: set[Extent] = set()
    for node in _needed(graph):
        slides = operator_of(graph, node) is not None
        if not node.inputs or not (slides or graph.is_standard(node)):
            continue
        if node.op in _ENLARGING:
            shape = analysis.shape(node.outputs[0]) or ()
            large |= {size for size in shape if (bounds(size)[1] or 0) > LARGEST_SIZE}
        rule = _windowed if slides else _CONDITIONS.get(node.op)
        for condition in rule(node, graph, analysis) if rule is not None else ():
            if condition == 0:
                return Feasible(stops=node)
            if isinstance(condition, Size) and condition not in seen:
                seen.add(condition)
                if len(condition.symbols) > 1:
                    continue
                name = condition.symbols[0].name
                both = minimum(conditions.get(name, 1), condition)
                if both == 0:
                    return Feasible(stops=node)
                if not isinstance(both, Unknown):
                    conditions[name] = both
    found = {name: solutions(each) for name, each in conditions.items() if isinstance(each, Size)}
    limits = {name: limit for name, limit in found.items() if limit is not None}
    short: dict[str, Sizes] = {}
    for size in large:
        if isinstance(size, Size) and len(size.symbols) == 1 and climbs(size):
            (symbol,) = size.symbols
            limit = short.get(symbol.name) or limits.get(symbol.name, symbol.sizes)
            greatest = _greatest(size)
            if limit.first <= greatest < limit.last:
                short[symbol.name] = limit.until(greatest)
    return Feasible(limits, short)


def stopping(graph: Graph, analysis: Analysis) -> Node | None:
    """A node that stops wherever it runs, by its own sizes or onnx's shape inference; or None.

    A runtime that finds this out when it loads a model refuses it, although a branch with such a
    node may never be taken.
    """
    for node in graph.nodes:
        rule = _CONDITIONS.get(node.op) if node.inputs and graph.is_standard(node) else None
        if rule is not None and any(condition == 0 for condition in rule(node, graph, analysis)):
            return node
    return refused(graph, analysis)


def _greatest(size: Size) -> int:
    """The greatest value of a size's symbol for which the size is at most `LARGEST_SIZE`.

    Exporters compute pads in float32, which rounds larger sizes.
    """
    (symbol,) = size.symbols

    def at(index: int) -> int:
        return evaluate(size, {symbol.name: symbol.sizes.value(index)})

    last = bisect(range(symbol.sizes.count), LARGEST_SIZE, key=at) - 1
    return symbol.sizes.value(max(last, 0))


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
    return (bounds(size)[0] or 0) >= 1


def _holds_data(shapes: Sequence[Shape]) -> bool:
    """Whether no axis can be empty: engines accept an empty tensor even where it does not fit."""
    return all(_is_positive(size) for shape in shapes for size in shape)


def _shapes(node: Node, analysis: Analysis) -> list[Shape]:
    """The shapes of a node's inputs; an empty list where the rank of one is unknown."""
    shapes = [analysis.shape(tensor) for tensor in node.inputs]
    known = [shape for shape in shapes if shape is not None]
    return known if len(known) == len(shapes) else []


def _concatenated(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    axis = node.attrs.get("axis")
    shapes = _shapes(node, analysis)
    if not shapes or not isinstance(axis, int) or len({*map(len, shapes)}) != 1:
        return
    rank = len(shapes[0])
    if rank < 2 or not -rank <= axis < rank or not _holds_data(shapes):
        return
    for place in set(range(rank)) - {axis % rank}:
        first, *others = dict.fromkeys(shape[place] for shape in shapes)
        yield from (equal(first, other) for other in others)


def _broadcast(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    if graph.opset >= 7:
        yield from _fitting(_shapes(node, analysis))


def _expanded(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    shape = analysis.shape(node.inputs[0])
    target = analysis.integers(node.inputs[1]) if len(node.inputs) > 1 else None
    if shape is not None and target is not None:
        yield from _fitting([shape, target])


def _multiplied(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    shapes = _shapes(node, analysis)
    if len(shapes) == 2 and all(len(shape) >= 2 for shape in shapes):
        yield equal(shapes[0][-1], shapes[1][-2])
        yield from _fitting([shape[:-2] for shape in shapes])


def _fitting(shapes: Sequence[Shape]) -> Conditions:
    """Conditions that shapes broadcast: on each axis all sizes other than 1 are equal."""
    for place in range(1, max(map(len, shapes), default=0) + 1):
        each = (shape[-place] for shape in shapes if len(shape) >= place)
        sizes = dict.fromkeys(size for size in each if size != 1)
        for a, b in combinations(islice(sizes, _SIZES), 2):
            yield maximum(equal(a, b), maximum(equal(a, 1), equal(b, 1)))


def _split(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    shape = analysis.shape(node.inputs[0])
    axis = node.attrs.get("axis", 0)
    if shape is None or not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return
    lengths = node.attrs.get("split", [])
    if not isinstance(lengths, list) or not all(isinstance(part, int) for part in lengths):
        return
    parts: tuple[Extent, ...] | None = tuple(lengths)
    if graph.opset >= 13 and (sizes := node.operand(1)) is not None:
        parts = analysis.integers(sizes)
    if parts == ():
        # With `num_outputs` the last part may be smaller; opset 1 has the parts as an input.
        if "num_outputs" not in node.attrs and graph.opset >= 2:
            yield equal(modulo(shape[axis], len(node.outputs)), 0)
    elif parts is not None:
        total: Extent = 0
        for part in parts:
            total = total + part
        yield equal(shape[axis], total)


def _into_depth(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    shape, block = analysis.shape(node.inputs[0]), node.attrs.get("blocksize")
    if shape is not None and len(shape) == 4 and isinstance(block, int) and block > 0:
        yield from (equal(modulo(size, block), 0) for size in shape[2:])


def _reshaped(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    """Conditions that a Reshape keeps the number of elements; equal sizes cancel first."""
    shape = analysis.shape(node.inputs[0])
    target = analysis.integers(node.inputs[1]) if len(node.inputs) > 1 else None
    if shape is None or target is None or node.attrs.get("allowzero"):
        return
    copied = [
        shape[axis] if size == 0 and axis < len(shape) else size for axis, size in enumerate(target)
    ]
    rest = [size for size in copied if size != -1]
    if not all(_is_positive(size) for size in rest):
        return  # a 0 or -1 at some sizes would mean something else
    before = list(shape)
    after: list[Extent] = []
    for size in rest:
        if size in before:
            before.remove(size)
        else:
            after.append(size)
    if len(rest) == len(copied):
        yield equal(prod(before), prod(after))
    elif all(isinstance(size, int) for size in after):
        yield equal(modulo(prod(before), prod(after)), 0)


def _windowed(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    """Conditions that a window operator runs.

    Conv needs room for a window; pools without one give an empty tensor. Pools and SAME need at
    least one element on each axis, except pools of an empty batch. A transposed convolution must
    give something on each axis.
    """
    row = operator_of(graph, node)
    assert row is not None
    pools, layout, data = row.pools, row.layout, node.inputs[row.inputs.data]
    shape, read = analysis.shape(node.outputs[0]), analysis.shape(data)
    yield from (less_equal(0 if pools else 1, size) for size in layout.spatial(shape or ()))
    if not read or row.scatters:
        return
    try:
        is_same = auto_pad_of(node).startswith("SAME")
    except (ModelError, UnreadableError):
        return
    if _is_positive(read[layout.batch]) if pools else is_same:
        yield from (less_equal(1, size) for size in layout.spatial(read))


_ENLARGING: Final = {"Concat", "DepthToSpace", "Resize", "Tile", "Upsample"} | {
    row.op_type for row in OPERATORS.values() if row.scatters
}

_CONDITIONS: Final[Mapping[str, Callable[[Node, Graph, Analysis], Conditions]]] = {
    **dict.fromkeys(BROADCASTING.split(), _broadcast),
    "Concat": _concatenated,
    "Expand": _expanded,
    "MatMul": _multiplied,
    "PRelu": _broadcast,
    "Reshape": _reshaped,
    "SpaceToDepth": _into_depth,
    "Split": _split,
}
