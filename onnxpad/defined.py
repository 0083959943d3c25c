"""At which of its open sizes a graph is defined: what its own operators ask of them.

Concat, Split, SpaceToDepth, MatMul, Reshape and whatever broadcasts want axes that go together: a
U-Net that joins what it halved and doubled again runs only at even sizes. Windows want data that
they fit in. A size at which such an operator stops is no size of the graph, if every output of the
graph needs that operator. May import: graph, operators, size, values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import prod
from typing import Any, Final, TypeAlias

from onnxpad.graph import Graph
from onnxpad.size import (
    Extent,
    Size,
    Symbol,
    Unknown,
    bounds,
    equal,
    less_equal,
    maximum,
    minimum,
    modulo,
    solutions,
)
from onnxpad.values import BROADCASTING, Analysis, Shape

Node: TypeAlias = Any
Conditions: TypeAlias = Iterator[Extent]
"""What must not be 0."""

_OUTPUTS: Final = 256
_SIZES: Final = 16
"""How many different sizes that must go together are compared: leaving some out limits less."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a graph's operators ask of its open sizes.

    Attributes:
        symbols: What open sizes are limited to, by the name of the symbol: those that are limited
            at all. Where what is asked is no range in even steps, the closest one around it.
        stops: A node that runs at none of the sizes; None where there is no such.
    """

    symbols: Mapping[str, Symbol]
    stops: Node | None = None


NONE: Final = Limits({})


def defined(graph: Graph, analysis: Analysis) -> Limits:
    """What is asked of open sizes by the operators that every output of a graph needs."""
    asked: dict[str, Extent] = {}
    seen: set[Extent] = set()
    for node in _needed(graph):
        rule = _RULES.get(node.op)
        if rule is None or not graph.is_standard(node):
            continue
        for condition in rule(node, graph, analysis):
            if condition == 0:
                return Limits({}, node)
            if isinstance(condition, Size) and condition not in seen:
                seen.add(condition)
                if len(condition.symbols) > 1:
                    continue
                name = condition.symbols[0].name
                both = minimum(asked.get(name, 1), condition)
                if both == 0:
                    return Limits({}, node)
                if not isinstance(both, Unknown):
                    asked[name] = both
    found = {name: solutions(each) for name, each in asked.items() if isinstance(each, Size)}
    return Limits({name: limit for name, limit in found.items() if limit is not None})


def listed(limits: Limits) -> str:
    """The limits in words, as `height a multiple of 4, width from 3 on`; empty without."""
    return ", ".join(_told(symbol) for symbol in limits.symbols.values())


def _told(symbol: Symbol) -> str:
    first = symbol.minimum
    if symbol.step == 1:
        return f"{symbol.name} from {first} on"
    if first == symbol.step:
        return f"{symbol.name} a multiple of {symbol.step}"
    return f"{symbol.name} {first}, {first + symbol.step} and so on in steps of {symbol.step}"


def _needed(graph: Graph) -> list[Node]:
    """The nodes that every output of the graph depends on; none of a graph with very many.

    What only graphs inside of nodes read counts as read by nobody.
    """
    needed: list[Node] = []
    if not 0 < len(graph.outputs) <= _OUTPUTS:
        return needed
    reached = {name: 1 << index for index, name in enumerate(graph.outputs)}
    everything = (1 << len(graph.outputs)) - 1
    for node in reversed(list(graph.nodes)):
        outputs = 0
        for tensor in node.outputs:
            outputs |= reached.get(tensor.name, 0)
        if outputs:
            for tensor in node.inputs:
                reached[tensor.name] = reached.get(tensor.name, 0) | outputs
        if outputs == everything:
            needed.append(node)
    return needed


def _is_positive(size: Extent) -> bool:
    return (bounds(size)[0] or 0) >= 1


def _holds_data(shapes: Sequence[Shape]) -> bool:
    """Whether no axis can be empty: engines let an empty tensor pass that does not fit."""
    return all(_is_positive(size) for shape in shapes for size in shape)


def _shapes(node: Node, analysis: Analysis) -> list[Shape]:
    """The shapes of a node's inputs; none where the rank of one is not known."""
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
    target = analysis.integers(node.inputs[1])
    if shape is not None and target is not None:
        yield from _fitting([shape, target])


def _multiplied(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    shapes = _shapes(node, analysis)
    if len(shapes) == 2 and all(len(shape) >= 2 for shape in shapes):
        yield equal(shapes[0][-1], shapes[1][-2])
        yield from _fitting([shape[:-2] for shape in shapes])


def _fitting(shapes: Sequence[Shape]) -> Conditions:
    """That shapes broadcast: on each axis all that are not 1 are the same."""
    for place in range(1, max(map(len, shapes), default=0) + 1):
        sizes = dict.fromkeys(shape[-place] for shape in shapes if len(shape) >= place)
        for a, b in combinations(islice(sizes, _SIZES), 2):
            yield maximum(equal(a, b), maximum(equal(a, 1), equal(b, 1)))


def _split(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    shape = analysis.shape(node.inputs[0])
    axis = node.attrs.get("axis", 0)
    if shape is None or not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return
    if graph.opset >= 13 and len(node.inputs) > 1 and node.inputs[1].name:
        parts = analysis.integers(node.inputs[1])
    elif isinstance(node.attrs.get("split"), list):
        parts = tuple(node.attrs["split"])
    elif "num_outputs" in node.attrs or graph.opset < 2:
        return  # the last part may be smaller; or the parts are an input of their own
    else:
        yield equal(modulo(shape[axis], len(node.outputs)), 0)
        return
    if parts is not None:
        total: Extent = 0
        for part in parts:
            total = total + part
        yield equal(shape[axis], total)


def _into_depth(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    shape, block = analysis.shape(node.inputs[0]), node.attrs.get("blocksize")
    if shape is not None and len(shape) == 4 and isinstance(block, int) and block > 0:
        yield from (equal(modulo(size, block), 0) for size in shape[2:])


def _reshaped(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    """That there are as many elements as before; what stands on both sides cancels."""
    shape = analysis.shape(node.inputs[0])
    target = analysis.integers(node.inputs[1]) if len(node.inputs) > 1 else None
    if shape is None or target is None or node.attrs.get("allowzero"):
        return
    copied = [
        shape[axis] if size == 0 and axis < len(shape) else size for axis, size in enumerate(target)
    ]
    rest = [size for size in copied if size != -1]
    if not all(_is_positive(size) for size in rest):
        return  # at some sizes it may mean something else
    before = list(shape)
    after: list[Extent] = []
    for size in rest:
        if size in before:
            before.remove(size)
        else:
            after.append(size)
    if len(rest) == len(copied):
        yield equal(_product(before), _product(after))
    elif all(isinstance(size, int) for size in after):
        yield equal(modulo(_product(before), _product(after)), 0)


def _product(sizes: Sequence[Extent]) -> Extent:
    return prod(sizes, start=1)


def _windowed(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    """That data holds a window; pools, not Conv, give an empty tensor where it holds none.

    Pools, and SAME, want data on each axis.
    """
    shape = analysis.shape(node.outputs[0])
    least = 1 if node.op == "Conv" else 0
    if shape is not None:
        yield from (_at_least(least, size) for size in shape[2:])
    if node.op != "Conv" or str(node.attrs.get("auto_pad", "")).startswith("SAME"):
        data = analysis.shape(node.inputs[0])
        if data is not None:
            yield from (_at_least(1, size) for size in data[2:])


def _at_least(least: int, size: Extent) -> Extent:
    """Where a size is no less: almost always everywhere, which its bounds tell."""
    lowest, _ = bounds(size)
    return 1 if lowest is not None and lowest >= least else less_equal(least, size)


_RULES: Final[Mapping[str, Callable[[Node, Graph, Analysis], Conditions]]] = {
    **dict.fromkeys(BROADCASTING.split(), _broadcast),
    **dict.fromkeys(("AveragePool", "Conv", "LpPool", "MaxPool"), _windowed),
    "Concat": _concatenated,
    "Expand": _expanded,
    "MatMul": _multiplied,
    "Reshape": _reshaped,
    "SpaceToDepth": _into_depth,
    "Split": _split,
}
