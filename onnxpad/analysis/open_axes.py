"""Names for the axes that a graph's inputs leave open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from onnxpad.records import NamedTuple

Declared: TypeAlias = tuple[int, tuple[int | str | None, ...] | None]


class OpenAxis(NamedTuple):
    """An axis of a graph input whose size the graph leaves open.

    Attributes:
        tensor: The input.
        axis: Which axis of it.
        label: The name of its dimension; `input[axis]` for an unnamed one.
        symbol: The name of its symbol: the label, made unique where several axes share it.
    """

    tensor: str
    axis: int
    label: str
    symbol: str


def open_axes(inputs: Mapping[str, Declared]) -> Iterator[OpenAxis]:
    """Yields the open axes of inputs, in order.

    Axes that share a name get symbols of their own: no runtime checks that their sizes are equal.
    """
    taken: set[str] = set()
    for tensor, (_, declared) in inputs.items():
        for axis, dimension in enumerate(declared or ()):
            if isinstance(dimension, int) and dimension >= 0:
                continue
            place = f"{tensor}[{axis}]"
            label = dimension if isinstance(dimension, str) and dimension else place
            name = label
            while name in taken:
                name = f"{label} ({place})" if name == label else f"{name}'"
            taken.add(name)
            yield OpenAxis(tensor, axis, label, name)
