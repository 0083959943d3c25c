"""The open sizes at which a graph runs, derived from its operators.

Concat, Split, SpaceToDepth, MatMul, Reshape and broadcasting operators need axes that fit each
other: a U-Net that halves its data, doubles it and joins both runs only at even sizes. A window
needs data that it fits in. A size at which such an operator stops is infeasible, provided that
every output of the graph needs the operator.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice
from math import prod
from typing import Final, TypeAlias

from msgspec import Struct, field

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
from onnxpad.facts import BROADCASTING, LARGEST_SIZE, Analysis, Shape
from onnxpad.facts.inference import refused
from onnxpad.facts.reshaping import at_least
from onnxpad.facts.rule_api import Call
from onnxpad.graph import Graph, Node
from onnxpad.semantics.operators import OPERATORS, Operator, operator_of
from onnxpad.semantics.rows import UnreadError, axis_of
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
        if node.op in _ENLARGING and node.inputs and graph.is_standard(node):
            shape = analysis.shape(node.outputs[0]) or ()
            large |= {size for size in shape if (bounds(size)[1] or 0) > LARGEST_SIZE}
        for condition in _conditions(node, graph, analysis):
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
        is_window = operator_of(graph, node) is not None
        if not is_window and any(each == 0 for each in _conditions(node, graph, analysis)):
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
    return at_least(size, 1)


def _concatenated(call: Call) -> Conditions:
    shapes = call.shapes()
    axis = axis_of(call.integer("axis", 1), len(shapes[0]))
    # Engines accept an empty tensor even where it does not fit.
    fits = len({*map(len, shapes)}) == 1 and all(map(_is_positive, chain(*shapes)))
    for place, sizes in enumerate(zip(*shapes, strict=True) if fits else ()):
        first, *others = dict.fromkeys(sizes)
        yield from (equal(first, other) for other in others if place != axis)


def _broadcast(call: Call) -> Conditions:
    return _fitting(call.shapes() if call.version >= 7 else [])


def _expanded(call: Call) -> Conditions:
    return _fitting([call.shape_of(0), call.integers(1)])


def _multiplied(call: Call) -> Conditions:
    left, right = call.shapes()
    if len(left) >= 2 and len(right) >= 2:
        yield equal(left[-1], right[-2])
        yield from _fitting([left[:-2], right[:-2]])


def _fitting(shapes: Sequence[Shape]) -> Conditions:
    """Conditions that shapes broadcast: on each axis all sizes other than 1 are equal."""
    for place in range(1, max(map(len, shapes), default=0) + 1):
        each = (shape[-place] for shape in shapes if len(shape) >= place)
        sizes = dict.fromkeys(size for size in each if size != 1)
        for a, b in combinations(islice(sizes, _SIZES), 2):
            yield maximum(equal(a, b), maximum(equal(a, 1), equal(b, 1)))


def _split(call: Call) -> Conditions:
    shape = call.shape_of(0)
    size = shape[axis_of(call.integer("axis", 0), len(shape))]
    by_input = call.version >= 13 and call.has(1)
    parts = call.integers(1) if by_input else call.ints("split", ())
    if parts:
        yield equal(size, sum(parts[1:], parts[0]))
    # With `num_outputs` the last part may be smaller; opset 1 has the parts as an input.
    elif "num_outputs" not in call.node.attrs and call.version >= 2:
        yield equal(modulo(size, len(call.node.outputs)), 0)


def _into_depth(call: Call) -> Conditions:
    block = call.integer("blocksize", 0)
    for size in call.ranked_shape_of(0, 4)[2:] if block > 0 else ():
        yield equal(modulo(size, block), 0)


def _reshaped(call: Call) -> Conditions:
    """Conditions that a Reshape keeps the number of elements; equal sizes cancel first."""
    shape, target = call.shape_of(0), call.integers(1)
    copied = [
        shape[axis] if size == 0 and axis < len(shape) else size for axis, size in enumerate(target)
    ]
    rest = [size for size in copied if size != -1]
    if call.flag("allowzero") or not all(map(_is_positive, rest)):
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
    row = operator_of(graph, node)
    rule = _CONDITIONS.get(node.op) if row is None and graph.is_standard(node) else None
    if not node.inputs or (row is None and rule is None):
        return
    call = analysis.call(node)
    try:
        yield from _windowed(call, row) if row is not None else rule(call) if rule else ()
    except (ModelError, UnreadError):
        return


_ENLARGING: Final = {"Concat", "DepthToSpace", "Resize", "Tile", "Upsample"} | {
    row.op_type for row in OPERATORS.values() if row.scatters
}

_CONDITIONS: Final[Mapping[str, Callable[[Call], Conditions]]] = {
    **dict.fromkeys(BROADCASTING.split(), _broadcast),
    "Concat": _concatenated,
    "Expand": _expanded,
    "MatMul": _multiplied,
    "PRelu": _broadcast,
    "Reshape": _reshaped,
    "SpaceToDepth": _into_depth,
    "Split": _split,
}
