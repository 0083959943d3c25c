"""What the proof asks of a graph: sizes, types, signs and infinities of a term.

Each is asked of a tensor that has the term, in the graph as it is now.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Final

from onnxpad.arithmetic.size import Extent, Unknown, symbol
from onnxpad.arithmetic.size import Sizes as Range
from onnxpad.errors import ModelError
from onnxpad.facts import Analysis
from onnxpad.facts.bounds import infinite, telling
from onnxpad.facts.shapes import KEEPING
from onnxpad.finding import Trust
from onnxpad.graph import Graph, Node, Tensor, describe
from onnxpad.graph.walk import upstream
from onnxpad.messages import Named
from onnxpad.proof.read import Reader
from onnxpad.proof.term import DiffersError, Slid, Stepped, Term
from onnxpad.proof.windows import Comparison, Sizes, compare
from onnxpad.reasons import Reason
from onnxpad.semantics.layers import Layer, Layers, Operand, around, crops, is_finite
from onnxpad.semantics.rows import FLOATS, Call, UnreadError
from onnxpad.semantics.table import padding_row, row_of

_FAR: Final = 256  # tensors downstream that are looked at, and upstream


class Facts:
    """Facts about terms of one graph, at the sizes that its analysis admits."""

    def __init__(self, graph: Graph, analysis: Analysis, reader: Reader) -> None:
        """Asks the graph as it is at each call."""
        self.graph = graph
        self.reader = reader
        self.analysis = analysis
        self._compared: dict[tuple[object, ...], Comparison | DiffersError] = {}

    def compared(
        self, old: Slid, new: Slid, sizes: Sizes, dtype: int | None, trust: Trust | None
    ) -> Comparison:
        """As `windows.compare`, once for each pair: networks repeat the same few windows.

        Raises:
            DiffersError: As there.
        """
        key = old, new, sizes, dtype, trust
        found = self._compared.get(key)
        if found is None:
            try:
                found = compare(old, new, sizes, dtype, trust)
            except DiffersError as error:
                found = error.with_traceback(None)
            self._compared[key] = found
        if isinstance(found, DiffersError):
            raise found
        return found

    def sizes(self, data: Term, axes: range, rank: int) -> tuple[Extent, ...]:
        """The sizes of data on some axes; symbols where they are unknown until run time.

        Args:
            data: The data.
            axes: The axes.
            rank: The number of axes that the data must have.

        Raises:
            DiffersError: It has another number of axes.
        """
        held = self.reader.around(data)
        shape = None if held is None else self.analysis.shape(held[0])
        if shape is not None and len(shape) != rank:
            raise DiffersError(f"the data has {len(shape)} axes, the window {rank}")
        if shape is None:
            shape = (Unknown("run time alone knows"),) * rank
        found = [*shape[axes.start : axes.stop]]
        if held is not None and held[1] != data.layers:
            more = [around(data.layers, axis) - around(held[1], axis) for axis in axes]
            found = [size + each for size, each in zip(found, more, strict=True)]
        for place, size in enumerate(found if Unknown in map(type, found) else ()):
            if isinstance(size, Unknown):
                name = f"data {id(data)}" if held is None else self.graph.unique(held[0].name)
                least = 0 if held is None or data.layers else least_size(self.graph, held[0])
                found[place] = symbol(f"{name}[{place}]", Range(least))
        return tuple(found)

    def shape(self, term: Term) -> tuple[Extent, ...] | None:
        """The shape of a term; None where it is unknown."""
        tensor = self.reader.holder(term)
        return None if tensor is None else self.analysis.shape(tensor)

    def dtype(self, data: Term) -> int | None:
        """The element type of data; None where it is unknown."""
        held = self.reader.around(data)
        return None if held is None else self.analysis.dtype(held[0])

    def bound(self, data: Term) -> float:
        """A number that no element of data is below."""
        held = self.reader.around(data)
        if held is None or not _keeps(held[1], data.layers):
            return -math.inf
        fills = () if held[1] == data.layers else data.layers
        return min([self.analysis.bound(held[0]), *map(least_of_fill, fills)])

    def check_finite(self, data: Term) -> None:
        """Raises where data certainly holds infinities or NaN.

        Raises:
            DiffersError: It does; or nothing is known about it.
        """
        if not all(is_finite(layer.fill) for layer in data.layers):
            raise DiffersError("the padding of the data is infinite", Reason.INFINITE_DATA)
        operands = [each.fill for each in data.layers if isinstance(each.fill, Operand)]
        for operand in operands:
            if isinstance(operand.of, Term):
                self.check_finite(operand.of)
        held = self.reader.around(data if operands else data.bare)
        if held is not None and all(is_finite(layer.fill) for layer in held[1]):
            if (origin := infinite(self.analysis, held[0])) is not None:
                names = {"tensor": held[0].name, "origin": origin.name}
                told = f"{held[0].name!r} holds infinities, from {origin.name!r}"
                said = Named(told, "the data holds infinities")
                raise DiffersError(said, Reason.INFINITE_DATA, **names)
        elif isinstance(data.head, Stepped):
            for each in data.args:
                self.check_finite(each.bare)
        else:
            raise DiffersError("nothing is known about the data")

    def check_zeros_unseen(self) -> None:
        """Raises where something in the model may tell 0.0 from -0.0.

        Raises:
            DiffersError: It may.
        """
        if teller := telling(self.graph):
            said = f"{teller} in the model may tell 0.0 from -0.0"
            raise DiffersError(said, Reason.FILL_WINS, value=0)

    def check_sign_is_lost(self, tensor: Tensor) -> None:
        """Checks that the signs of zeros in a tensor make no difference downstream.

        Steps make equal numbers of 0.0 and -0.0, which may be zeros of other signs again, until
        they are integers, or a sum of products takes them.

        Raises:
            DiffersError: They may make a difference.
        """
        graph, pending, seen = self.graph, [tensor], {tensor}
        while pending:
            tensor = pending.pop()
            if self.analysis.dtype(tensor) not in {None, *FLOATS}:
                continue
            if graph.is_output(tensor) or len(seen) > _FAR:
                said = Named(
                    f"the sign of zeros in {tensor.name!r} differs", "the sign of zeros differs"
                )
                raise DiffersError(said, Reason.FILL_DIFFERS, value=0.0)
            for use in graph.uses(tensor):
                if self._loses_sign(use.node, use.index):
                    continue
                if not self._keeps_numbers(use.node, use.index):
                    named = f"{use.node.op} {describe(use.node)!r} may tell 0.0 from -0.0"
                    said = Named(named, f"{use.node.op} may tell 0.0 from -0.0")
                    raise DiffersError(said, Reason.FILL_DIFFERS, value=0.0, operator=use.node.op)
                further = [each for each in use.node.outputs if each.name and each not in seen]
                pending += further
                seen.update(further)

    def _loses_sign(self, node: Node, place: int) -> bool:
        """Whether a window adds what it reads to 0.0, so that no sign of a zero shows."""
        row = row_of(self.graph, node) if place == 0 else None
        return row is not None and row.window is not None and row.window.loses_signs

    def _keeps_numbers(self, node: Node, place: int) -> bool:
        """Whether equal numbers give equal numbers, at an operand."""
        if not self.graph.is_standard(node) or (node.op == "Div" and place == 1):
            return False
        if node.op in {"Identity", "Pad"}:
            return place == 0
        row = row_of(self.graph, node)
        if row is None or row.step is None:
            return False
        try:
            return place in Call(self.graph, self.analysis, node, row).data_places()
        except (UnreadError, ModelError):
            return False


def least_size(graph: Graph, tensor: Tensor) -> int:
    """The least size that a spatial axis of a tensor may have: 1 or, where it is computed, 0.

    The axes of the main graph's inputs have elements. Runtimes refuse a convolution without window.
    """

    def kept(node: Node) -> Sequence[Tensor]:
        return node.inputs[:1] if node.op in KEEPING and graph.is_standard(node) else ()

    graph, tensor = graph.home(tensor)
    *_, first = upstream([tensor], kept)
    if first is None:
        return 0
    if first.outer is not None and graph.parent is not None:
        return least_size(graph.parent, first.outer)
    if first.name in graph.inputs:
        return int(graph.is_main)  # what is passed to a body or function is computed
    node = first.producer
    row = None if node is None or first is not node.outputs[0] else padding_row(graph, node)
    return int(row is not None and row.window is not None and row.window.rounding == "floor")


def _keeps(layers: Layers, others: Layers) -> bool:
    """Whether layers keep all elements of the data that other layers keep."""
    if not any(crops(layer.amounts) for layer in layers):
        return True
    if not others or any(crops(layer.amounts) for layer in layers[1:]):
        return layers == others
    sides = zip(chain(*layers[0].amounts), chain(*others[0].amounts), strict=True)
    return all(one == other or not crops([(one, 0)]) for one, other in sides)


def least_of_fill(layer: Layer) -> float:
    """A number that the fill of a layer is not below; -inf for -0.0 and what is no number."""
    if isinstance(layer.fill, str | Operand) or math.isnan(layer.fill):
        return -math.inf
    return layer.fill
