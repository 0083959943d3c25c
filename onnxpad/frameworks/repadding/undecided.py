"""What recordings at open sizes leave undecided, and what no padding could give."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from onnxpad.arithmetic.size import Extent, Size, Unknown, evaluate
from onnxpad.facts.engine import open_axes
from onnxpad.frameworks.conventions.question import Question
from onnxpad.frameworks.fitting.case import case_of
from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding.towards import alike, op_of
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.runtimes.sessions import Array

_FURTHER = 64
"""How much larger than what is recorded a size may be that tells paddings apart."""
Doubt: TypeAlias = tuple[Site, Padding | Collection[str]]
"""An operator, and another padding or conventions that compute the same at recorded sizes."""


def differ(site: Site, other: Padding) -> bool:
    """Whether an operator computes something else with a padding, at any size that it may have."""
    asked = case_of(op_of(site) or "conv", site.windows, site.sizes, site.padding).questions
    return any(_told(site, other, each.sizes) for each in asked)


def _told(site: Site, other: Padding | Collection[str], sizes: tuple[int, ...]) -> int:
    """How many of others compute something else than an operator at sizes of its data."""
    if isinstance(other, Padding):
        return site.padding.effect(sizes, site.windows) != other.effect(sizes, site.windows)
    same = alike(site.padding, [Question(op_of(site) or "conv", sizes, site.windows)])
    return len({*other}.difference(same))


def telling(
    graph: Graph, samples: Sequence[Mapping[str, Array]], doubts: Sequence[Doubt]
) -> dict[str, tuple[int, ...]]:
    """The shapes of inputs, next larger than those recorded, that tell the most doubts.

    Empty if none up to 64 larger does, or the sizes of the operators are not known.
    """
    axes = (axis for axis in open_axes(graph.inputs) if axis.tensor in samples[0])
    places = {(each.tensor, each.axis): each.symbol for each in axes}
    recorded = {s: max(e[name].shape[axis] for e in samples) for (name, axis), s in places.items()}
    known = [each for each in doubts if not any(isinstance(e, Unknown) for e in each[0].sizes)]
    open_sizes = [size for site, _ in known for size in site.sizes if isinstance(size, Size)]
    names = {symbol.name for size in open_sizes for symbol in size.symbols}

    def tells(now: Mapping[str, int]) -> int:
        return sum(
            _told(site, to, tuple(evaluate(e, now) for e in site.sizes)) for site, to in known
        )

    larger = [
        recorded | {name: recorded[name] + more for name in names}
        for more in range(1, _FURTHER + 1)
        if names <= recorded.keys()
    ]
    best = max(larger, key=tells, default=recorded)
    shapes = {name: [*enumerate(value.shape)] for name, value in samples[0].items()}
    return {
        name: tuple(best.get(places.get((name, axis), ""), size) for axis, size in shape)
        for name, shape in shapes.items()
        if tells(best)
    }


def is_out_of_reach(
    graph: Graph,
    inputs: Iterable[Sequence[Extent | str | None]],
    wanted: Sequence[int],
    found: Sequence[Extent],
) -> bool:
    """Whether no padding makes an output of a shape one of another, in any layout.

    It changes no rank, nor the batch, which an input has, too, nor the channels: on axis 1, or
    perhaps the last one where axes may be moved. Of fewer than 3 axes any size may change.
    """
    bare, most = [size for size in wanted if size != 1], len(found) - 2
    batches = [shape[0] for shape in inputs if shape and isinstance(shape[0], int)]
    if most < 1 or not isinstance(found[0], int) or found[0] not in batches:
        return len(bare) > len(found)
    is_moved = most == 1 or any(node.op == "Transpose" for node in graph.nodes)
    channels = {found[1], found[-1]} if is_moved else {found[1]}
    if len(wanted) == len(found) and wanted[0] != found[0] and channels & {wanted[1], wanted[-1]}:
        return True
    batch = [found[0]] * (found[0] != 1)
    rest = bare[len(batch) :]

    def fits(count: Extent) -> bool:
        is_open, is_told = not isinstance(count, int), count != 1
        is_there = is_open or not is_told or count in rest[:1] + rest[-1:]
        return is_there and len(rest) - is_told <= most

    return bare[: len(batch)] != batch or not any(map(fits, channels))
