"""Padding whose amounts depend on a size that the graph does not fix.

A computed `Pad` may read the same elements as SAME_UPPER or SAME_LOWER at every size, and can then
become that attribute. A SAME without constant pads can become a `Pad` that computes its amounts, as
one that pads to a multiple can be computed by few nodes. Sites of one graph share nodes: where
their axes have the same sizes, the Shape; where all else is the same too, all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain, groupby
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from msgspec import Struct

from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Sizes,
    Unknown,
    bounds,
    floor_div,
    in_terms_of,
    modulo,
    residues,
    symbol,
)
from onnxpad.arithmetic.window import ODD, odd_side, same_pads
from onnxpad.facts import Analysis, Shape
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.messages import RUNTIME
from onnxpad.padding.padding import Padding
from onnxpad.padding.site import Sites
from onnxpad.padding.write import set_amounts, write
from onnxpad.reasons import Reason, RefusalError
from onnxpad.runtimes.deployed import misdeclared
from onnxpad.semantics.amounts import ExtentPair, ExtentPairs, Pairs, is_padded
from onnxpad.semantics.operators import Fill
from onnxpad.semantics.read_nodes import PadOp, WindowOp

MANY: Final = 100
"""The nodes that compute the amounts of a `Pad` are counted up to this number."""

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


class DynamicSites:
    """Reads and writes padding that depends on open sizes, in one graph."""

    def __init__(self, graph: Graph, analysis: Analysis, sites: Sites, plain: Analysis) -> None:
        """Reads the graph as it is at each call; `plain` is its analysis without assumptions."""
        self._graph = graph
        self._analysis = analysis
        self._sites = sites
        self._plain = plain
        self._amounts = AmountsWriter(graph, plain)

    def same_of(self, op: WindowOp) -> Padding | None:
        """The SAME that equals the computed `Pad` in front of an operator at every size.

        None where there is no such `Pad`, or it is not SAME.

        Raises:
            RefusalError: It is SAME but for what it fills in, or was declared not to be possible.
        """
        pad = self._sites.pad_before(op)
        if pad is None or pad.constant_amounts is not None or op.auto_pad != "NOTSET":
            return None
        amounts = pad.extents_over(op.rank)
        if pad.mode != "constant" or amounts is None or is_padded(op.pads):
            return None
        counted = op.count_include_pad or op.operator.padding is Fill.EXCLUDED
        for odd in ODD.values():
            padding = Padding(None, odd=odd, ceil=op.ceil_mode, counted=counted)
            try:
                self._sites.judge.check(op, pad, padding, self._sites.trust)
            except RefusalError as refusal:
                if not refusal.code.value.startswith(("fill", "declared")):
                    continue  # it is not SAME, or no engine would read that
                self._sites.check_form_of(op, pad)
                raise
            return padding
        return None

    def check_computed(self, op: WindowOp) -> AmountsFormula:
        """The amounts of the computed `Pad` that a SAME which depends on open sizes can become.

        Raises:
            RefusalError: The operator's padding cannot be in a `Pad` in front of it.
        """
        if self._graph.opset < 11:
            opset, said = self._graph.opset, "a Pad cannot compute its amounts before opset 11"
            raise RefusalError(Reason.OPSET_TOO_OLD, said, opset=opset, needs=11)
        known, shape, formula = self._analysis.shape(op.data), self._plain.shape(op.data), None
        if known is not None and not any(isinstance(size, Unknown) for size in known):
            amounts = self._same(op, self._sites.spatial(op, op.data, 1))
            self._sites.judge.check(op, None, _unpadded(op), self._sites.trust, amounts)
            any_size = [symbol(f"n{axis}", Sizes(1)) for axis in op.axes]
            for sizes in ((() if shape is None else op.operator.layout.spatial(shape)), any_size):
                if formula is None and sizes:
                    formula = formula_of(self._same(op, sizes), op.operator.layout.full(sizes, 1))
        if formula is None:
            said = "no formula is known for the sizes of the data"
            raise RefusalError(Reason.NOT_WORKED_OUT, said, tensor=op.data.name)
        wrong = misdeclared(self._graph, self._analysis, op.data)
        if wrong is not None:
            said = f"{RUNTIME}'s optimiser would compute the amounts from a wrong declared shape"
            raise RefusalError(Reason.WRONG_DECLARATION, said, output=wrong.name)
        return formula

    def _same(self, op: WindowOp, sizes: Sequence[Extent]) -> ExtentPairs:
        """SAME's amounts over all axes, at some sizes of the spatial ones."""
        odd = odd_side(op.auto_pad)
        pairs = zip(sizes, op.windows, strict=True)
        return op.operator.layout.full([same_pads(*each, odd=odd) for each in pairs], (0, 0))

    def write_computed(self, op: WindowOp) -> None:
        """Replaces a SAME by a `Pad` whose amounts are computed from the size."""
        graph, node = self._graph, op.node
        formula = self.check_computed(op)
        name = f"{node.name or node.outputs[0].name}_same"
        amounts = self._amounts.compute(formula, op.data, node, name)
        write(graph, self._analysis, op, _unpadded(op), computed=amounts)

    def simpler(self, pad: PadOp) -> tuple[AmountsFormula, int, int] | None:
        """The amounts of a `Pad`, if fewer nodes could compute them than do; and both numbers.

        They are remainders of sizes that it pads, as those of SAME, or of a `Pad` to a multiple.
        """
        shape = self._analysis.shape(pad.data)
        if pad.constant_amounts is not None or shape is None or self._graph.opset < 11:
            return None
        amounts = pad.extents_over(len(shape))
        formula = None if amounts is None else formula_of(amounts, shape)
        if formula is None or misdeclared(self._graph, self._analysis, pad.data) is not None:
            return None
        nodes, least = self.computing(pad.node), self._amounts.count(formula)
        return (formula, nodes, least) if nodes > least else None

    def computing(self, pad: Node) -> int:
        """The number of nodes that compute amounts of `Pad`s and nothing else, up to `MANY`."""
        own: dict[int, Node] = {}
        pending = [*pad.inputs[1:2], *pad.inputs[3:4]]
        while pending and len(own) < MANY:
            node = pending.pop().producer
            if node is None or id(node) in own:
                continue
            uses = [use for output in node.outputs for use in self._graph.uses(output)]
            serves = all(
                id(use.node) in own or (use.node.op == "Pad" and use.index in {1, 3})
                for use in uses
            )
            if serves and not any(self._graph.is_output(output) for output in node.outputs):
                own[id(node)] = node
                pending += [tensor for tensor in node.inputs if tensor.name]
        return sum(node.op != "Constant" for node in own.values())

    def write_simpler(self, pad: PadOp, formula: AmountsFormula) -> None:
        """Computes the amounts by new nodes in front of the `Pad`."""
        node = pad.node
        name = f"{node.name or node.outputs[0].name}_amounts"
        amounts = self._amounts.compute(formula, pad.data, node, name)
        set_amounts(self._graph, node, amounts)

    def told(self, op: WindowOp, sizes: Mapping[int, Extent]) -> tuple[str, dict[str, int]]:
        """SAME's pads on some axes, as formulas, and the multiples at which they are constant."""
        odd, wording = odd_side(op.auto_pad), self._sites.wording
        windows = {axis: op.windows[op.axes.index(axis)] for axis in sizes}
        pairs = (same_pads(size, windows[axis], odd=odd) for axis, size in sizes.items())
        return wording.same(windows, odd), wording.multiples(chain.from_iterable(pairs))

    def resolves(self, op: WindowOp) -> PadOp | None:
        """The computed `Pad` before an operator, if it is in effect constant, or SAME.

        Also where that cannot be written: the rule about it says why.
        """
        pad = self._sites.pad_before(op)
        if pad is None or pad.constant_amounts is not None:
            return None
        try:
            is_same = self.in_effect_constant(op, pad) or self.same_of(op) is not None
        except RefusalError:
            return pad
        return pad if is_same else None

    def in_effect_constant(self, op: WindowOp, pad: PadOp) -> bool:
        """Whether constant amounts read what a computed `Pad` before an operator adds."""
        try:
            next(self._sites.outside(op, pad), None)
        except RefusalError:
            return False
        return True


def _unpadded(op: WindowOp) -> Padding:
    none = ((0, 0),) * len(op.windows)
    return Padding(none, ceil=op.ceil_mode, counted=op.count_include_pad)
