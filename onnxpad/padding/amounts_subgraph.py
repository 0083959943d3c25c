"""Builds the few nodes that compute a `Pad`'s amounts from the size of each axis at run time.

The amounts are those of SAME, or those that pad to a multiple, and what is like these. Sites of one
graph share nodes: where their axes have the same sizes, the Shape; where all else is the same too,
all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from msgspec import Struct

from onnxpad.analysis import Analysis, Shape
from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Unknown,
    bounds,
    floor_div,
    in_terms_of,
    modulo,
    residues,
)
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.semantics.amounts import ExtentPair, Pairs

Split: TypeAlias = Literal["end", "begin", "odd at end", "odd at begin"]
"""Which side has the total of both; for halves, which one has the odd element."""


class AmountsFormula(Struct, frozen=True):
    """Amounts that depend on the sizes of successive axes.

    The total on such an axis is (offset - size) mod modulus + surplus.

    Attributes:
        axes: The axes.
        offsets: The offset on each.
        moduli: The modulus on each.
        surplus: What is added on each.
        split: How the total is split.
        constant: (begin, end) of all axes of the tensor, as far as they are constant; else 0.
    """

    axes: range
    offsets: tuple[int, ...]
    moduli: tuple[int, ...]
    surplus: tuple[int, ...]
    split: Split
    constant: Pairs


def formula_of(amounts: Sequence[ExtentPair], shape: Shape) -> AmountsFormula | None:
    """The formula of these amounts at every size of a tensor's axes; None where none gives them."""
    varying = [axis for axis, pair in enumerate(amounts) if {*map(type, pair)} != {int}]
    if not varying or any(isinstance(each, Unknown) for pair in amounts for each in pair):
        return None
    axes = range(varying[0], varying[-1] + 1)
    for split in get_args(Split):
        found = [_remainder(amounts[axis], shape[axis], split) for axis in axes]
        parts = [part for part in found if part is not None]
        if len(parts) == len(axes):
            offsets, moduli, surplus, others = zip(*parts, strict=True)
            constant = [
                (begin, end) if isinstance(begin, int) and isinstance(end, int) else (0, 0)
                for begin, end in amounts
            ]
            constant[axes.start : axes.stop] = others
            return AmountsFormula(axes, offsets, moduli, surplus, split, tuple(constant))
    return None


def _remainder(
    pair: ExtentPair, size: Extent, split: Split
) -> tuple[int, int, int, tuple[int, int]] | None:
    """Return offset, modulus and surplus of the amounts on an axis, and the constant ones."""
    begin, end = pair
    total = begin + end
    others = 0, 0
    if split == "end" and isinstance(begin, int):
        total, others = end, (begin, 0)
    elif split == "begin" and isinstance(end, int):
        total, others = begin, (0, end)
    elif split in {"begin", "end"} or floor_div(total, 2) != (
        begin if split == "odd at end" else end
    ):
        return None
    if isinstance(total, int):
        return 0, 1, total, others
    own = in_terms_of(total, size, "n")
    least, surplus = bounds(size)[0], bounds(own)[0]
    if not isinstance(own, Size) or least is None or surplus is None:
        return None
    [(modulus, _)] = residues(own).values()
    offset = (own.constant - surplus + least) % modulus
    fits = modulo(offset - size, modulus) + surplus == total
    return (offset, modulus, surplus, others) if fits else None


class AmountsWriter:
    """Adds nodes to one graph that compute amounts, over all axes, in ONNX order."""

    def __init__(self, graph: Graph, analysis: Analysis) -> None:
        """Reads the graph as it is at each call; shares nodes where sizes are known to be equal."""
        self._graph = graph
        self._analysis = analysis
        self._known: dict[tuple[object, ...], tuple[Tensor, int]] = {}

    def count(self, formula: AmountsFormula) -> int:
        """The number of nodes that compute the amounts, without sharing."""
        halves = formula.split in {"odd at begin", "odd at end"}
        optional = (self._graph.opset < 15, any(formula.surplus), halves, halves)
        return 4 + sum(optional)

    def compute(self, formula: AmountsFormula, source: Tensor, before: Node, name: str) -> Tensor:
        """The amounts over all axes of a tensor, in ONNX order, by new nodes in front of another.

        Their names begin with that name.
        """
        place = self._places.get(id(before), -1)

        def add(
            op: str, *inputs: Tensor, key: tuple[object, ...] = (), **attributes: int
        ) -> Tensor:
            """Adds a node, or returns the output of an equal one that comes earlier."""
            key = key or (op, *(tensor.name for tensor in inputs), *attributes.items())
            known, since = self._known.get(key, (None, place))
            if known is not None and since <= place and self._graph.holds(known):
                return known
            told = f"{name}_{op.lower()}"
            made = self._graph.insert(op, inputs, attributes, before=before, name=told)
            if place >= 0:
                self._known[key] = made, place
            return made

        def constant(values: Sequence[int]) -> Tensor:
            return self._graph.add_initializer(np.asarray(values, np.int64), f"{name}_constant")

        # The sizes of the axes, perhaps of another tensor whose sizes are always equal.
        first, last = formula.axes.start, formula.axes.stop
        sizes: tuple[object, ...] = (self._analysis.shape(source) or ())[first:last]
        if not sizes or any(isinstance(size, Unknown) for size in sizes):
            sizes = (source.name,)
        if self._graph.opset >= 15:
            ends = last < len(formula.constant)
            part = {"start": first, "end": last} if ends else {"start": first}
            shape = add("Shape", source, key=("Shape", sizes), **part)
        else:
            whole = add("Shape", source, key=("whole Shape", sizes))
            given = constant([first]), constant([last])
            shape = add("Slice", whole, *given, key=("Slice", whole.name))
        negative = (
            add("Sub", constant(formula.offsets), shape)
            if any(formula.offsets)
            else add("Neg", shape)
        )
        total = add("Mod", negative, constant(formula.moduli))
        if any(formula.surplus):
            total = add("Add", total, constant(formula.surplus))
        sides: dict[str, tuple[Tensor | None, Tensor | None]]
        sides = {"begin": (total, None), "end": (None, total)}
        if formula.split not in sides:
            less = add("Div", total, constant([2]))
            more = add("Sub", total, less)
            sides |= {"odd at end": (less, more), "odd at begin": (more, less)}
        every: list[Any] = []  # numbers, and tensors that stand for several
        for side, computed in enumerate(sides[formula.split]):
            amounts: list[Any] = [pair[side] for pair in formula.constant]
            if computed is not None:
                amounts[first:last] = [computed]
            every += amounts
        parts: list[Tensor] = []
        for is_tensor, run in groupby(every, lambda each: isinstance(each, Tensor)):
            alike = [*run]
            parts += alike if is_tensor else [constant(alike)]
        return add("Concat", *parts, axis=0)

    @cached_property
    def _places(self) -> dict[int, int]:
        """The positions of the nodes, as of the first time that amounts were computed."""
        return {id(node): place for place, node in enumerate(self._graph.nodes)}
