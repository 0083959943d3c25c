"""Which sizes the open axes of a model's inputs may have."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from onnxpad.analysis import LARGEST_SIZE, OpenAxis, open_axes
from onnxpad.arithmetic.size import Extent, Sizes, symbol
from onnxpad.finding import Assumption
from onnxpad.graph import Graph

_ANY: Final = Sizes(last=LARGEST_SIZE)


@dataclass(frozen=True, slots=True)
class SizeDomain:
    """Which sizes the open axes of a model's inputs may have.

    Attributes:
        declared: The shapes of inputs in which a user fixed sizes, by name; the graph has them.
        given: The sizes that a user gave of dimensions that stay open, by name.
        needed: The sizes that the model's operators ask for, by name of the symbol.
        by_name: Whether axes whose dimensions have one name have one size, and so one symbol.
        short: Whether sizes are left out at which an axis in between is longer than `LARGEST_SIZE`.
    """

    declared: Mapping[str, tuple[int | str | None, ...]] = field(default_factory=dict)
    given: Mapping[str, Sizes] = field(default_factory=dict)
    needed: Mapping[str, Sizes] = field(default_factory=dict)
    by_name: bool = False
    short: bool = False

    def __str__(self) -> str:
        """The sizes as a certificate names them, as `height 32..1024 in steps of 32, width 1..64`.

        Empty where all are meant.
        """
        parts = [f"{name} {sizes}" for name, sizes in self.given.items()]
        if self.needed:
            parts.append(f"every size at which the model is defined: {in_words(self.needed)}")
        return ", ".join(parts)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What is taken for granted of these sizes.

        For axes that are longer, float32 makes other pads than an exporter means.
        """
        taken = {Assumption.EQUAL_NAMES: self.by_name, Assumption.SHORT_AXES: self.short}
        return tuple(assumption for assumption, is_taken in taken.items() if is_taken)

    def facts(self) -> dict[str, dict[str, int]]:
        """The sizes that are limited, by name: first, last and step."""
        limited = {**self.given, **self.needed}
        return {name: sizes.as_data() for name, sizes in limited.items()}

    def narrowed(self, needed: Mapping[str, Sizes]) -> "SizeDomain":
        """The same with only those sizes of symbols that operators ask for."""
        return replace(self, needed={**self.needed, **needed})

    def extents(self, graph: Graph) -> dict[str, Extent]:
        """The sizes of a graph's open axes, by name of the symbol; none of those not limited."""
        found: dict[str, Extent] = {}
        for axis, name, sizes in self._axes(graph):
            if sizes is not None or self.by_name:
                found[axis.symbol] = symbol(name, sizes or _ANY)
        return found

    def to_draw(self, graph: Graph) -> dict[str, Sizes]:
        """The sizes that limited dimensions may have in a run, by name.

        They end where those given do: a lower end comes from what is large in between, which nobody
        means to run. A dimension whose axes are limited differently is left out.
        """
        found: dict[str, Sizes | None] = {}
        for axis, _, sizes in self._axes(graph):
            if sizes is not None and sizes.count > 1:
                last = self.given.get(axis.label, _ANY).last
                sizes = Sizes(sizes.first, last, sizes.step)
            found[axis.label] = sizes if found.get(axis.label, sizes) == sizes else None
        return {name: sizes for name, sizes in found.items() if sizes is not None}

    def _axes(self, graph: Graph) -> Iterator[tuple[OpenAxis, str, Sizes | None]]:
        """The open axes, the name of the symbol of each, and its sizes where they are limited."""
        for axis in open_axes(graph.inputs):
            name = axis.label if self.by_name else axis.symbol
            yield axis, name, self.needed.get(name, self.given.get(axis.label))


def in_words(needed: Mapping[str, Sizes]) -> str:
    """Sizes that operators ask for, as `height a multiple of 4, width from 3 on`."""
    return ", ".join(f"{name} {_told(sizes)}" for name, sizes in needed.items())


def _told(sizes: Sizes) -> str:
    first, last, step = sizes.first, sizes.last, sizes.step
    if first == last:
        return str(first)
    multiples = f"a multiple of {step} " if step > 1 else ""
    if last + step <= LARGEST_SIZE:  # greater ones are there, and none of them will do
        if first == step or not multiples:
            return f"{multiples}from {first} to {last}"
        if first + step == last:
            return f"{first} or {last}"
        return f"{first}, {first + step} and so on to {last}"
    if not multiples:
        return f"from {first} on"
    return (
        multiples.strip()
        if first == step
        else f"{first}, {first + step} and so on in steps of {step}"
    )
