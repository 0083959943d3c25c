"""At which of its open sizes a graph is defined: what its own operators ask of them.

Concat, Split, SpaceToDepth, MatMul, Reshape and whatever broadcasts want axes that go together: a
U-Net that joins what it halved and doubled again runs only at even sizes. Windows want data that
they fit in. A size at which such an operator stops is no size of the graph, if every output of the
graph needs that operator; nor is one that makes an axis longer than any size can be.

May import: graph, operators, size, values.
"""

from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
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
    evaluate,
    less_equal,
    maximum,
    minimum,
    modulo,
    solutions,
    symbol,
)
from onnxpad.values import BROADCASTING, LARGEST_SIZE, Analysis, Shape, open_axes

Node: TypeAlias = Any
Conditions: TypeAlias = Iterator[Extent]
"""What must not be 0."""

_OUTPUTS: Final = 256
_ROUNDS: Final = 16


@dataclass(frozen=True, slots=True)
class Defined:
    """What is known of a graph at the sizes at which it is defined.

    Attributes:
        analysis: What is known of it there.
        dims: The extents of its open axes, by name of the symbol, where they are limited.
        limits: What symbols are limited to, by name.
    """

    analysis: Analysis
    dims: Mapping[str, Extent]
    limits: Mapping[str, Symbol]

    def __str__(self) -> str:
        """The limits, as `every size at which the model is defined: height a multiple of 4`."""
        listed = ", ".join(_told(symbol) for symbol in self.limits.values())
        return f"every size at which the model is defined: {listed}"


def defined(graph: Graph, analysis: Analysis, dims: Mapping[str, Extent]) -> Defined:
    """At which sizes a graph is defined, of those that the analysis admits by these extents.

    Where what is asked of a size is no range in even steps, the closest such range around it.
    """
    found = Defined(analysis, dims, {})
    for _ in range(_ROUNDS):
        limits = _limits(graph, found.analysis)
        if not limits:
            break
        # With sizes left out more is known, and so more may be.
        narrow = {**found.dims, **dict(_narrowed(graph, found.dims, limits))}
        found = Defined(Analysis(graph, narrow), narrow, {**found.limits, **limits})
    return found


def _narrowed(
    graph: Graph, dims: Mapping[str, Extent], limits: Mapping[str, Symbol]
) -> Iterator[tuple[str, Extent]]:
    """The extents of open axes whose symbols are limited."""
    for axis in open_axes(graph.inputs):
        known = dims.get(axis.symbol)
        name = known.symbols[0].name if isinstance(known, Size) else axis.symbol
        if name in limits:
            limit = limits[name]
            yield axis.symbol, symbol(name, limit.minimum, limit.maximum, limit.step)


def _limits(graph: Graph, analysis: Analysis) -> dict[str, Symbol]:
    """What open sizes are limited to, by the name of the symbol: those that are limited at all."""
    asked: dict[str, Extent] = {}
    seen: set[Extent] = set()
    large: set[Extent] = set()
    for node in _needed(graph):
        if not graph.is_standard(node):
            continue
        for condition in _RULES.get(node.op, _nothing)(node, graph, analysis):
            if not isinstance(condition, Size) or condition in seen or len(condition.symbols) > 1:
                continue
            seen.add(condition)
            name = condition.symbols[0].name
            both = minimum(asked.get(name, 1), condition)
            if not isinstance(both, Unknown):
                asked[name] = both
        if node.op in _ENLARGING:
            shape = analysis.shape(node.outputs[0]) or ()
            large |= {size for size in shape if (bounds(size)[1] or 0) > LARGEST_SIZE}
    found = {name: solutions(each) for name, each in asked.items() if isinstance(each, Size)}
    limits = {name: limit for name, limit in found.items() if limit is not None}
    for size in large:
        if isinstance(size, Size) and len(size.symbols) == 1:
            (varying,) = size.symbols
            limit = limits.get(varying.name, varying)
            greatest = max(limit.minimum, min(limit.maximum, _greatest(size)))
            limits[varying.name] = replace(limit, maximum=greatest)
    return limits


def _greatest(size: Size) -> int:
    """The greatest value of a size's symbol up to which the size is that of no too large an axis.

    Exporters compute pads in float32, so for larger ones other pads than they mean.
    """
    (varying,) = size.symbols

    def at(index: int) -> int:
        return evaluate(size, {varying.name: varying.value(index)})

    return varying.value(max(bisect(range(varying.count), LARGEST_SIZE, key=at) - 1, 0))


def _told(symbol: Symbol) -> str:
    first, step = symbol.minimum, symbol.step
    limit = f" up to {symbol.maximum}" if symbol.maximum + step <= LARGEST_SIZE else ""
    if step > 1 and first == step:
        return f"{symbol.name} a multiple of {step}{limit}"
    if step > 1:
        return f"{symbol.name} {first}, {first + step} and so on in steps of {step}{limit}"
    if first == 1:
        return f"{symbol.name}{limit}"
    return f"{symbol.name} from {first}{limit or ' on'}"


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
        first = shapes[0][place]
        yield from (equal(first, shape[place]) for shape in shapes[1:])


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
    for one, other in combinations(shapes, 2):
        for a, b in zip(reversed(one), reversed(other), strict=False):
            if not (isinstance(a, int) and isinstance(b, int)):
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


def _nothing(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    yield from ()


def _windowed(node: Node, graph: Graph, analysis: Analysis) -> Conditions:
    """That data holds a window; pools, not Conv, give an empty tensor where it holds none."""
    shape = analysis.shape(node.outputs[0])
    least = 1 if node.op == "Conv" else 0
    if shape is not None:
        yield from (less_equal(least, size) for size in shape[2:])


_ENLARGING: Final = ("Concat", "ConvTranspose", "DepthToSpace", "Resize", "Tile", "Upsample")

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
