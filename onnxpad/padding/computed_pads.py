"""Padding whose amounts depend on a size that the graph does not fix.

A computed `Pad` may read the same elements as SAME_UPPER or SAME_LOWER at every size, and can then
become that attribute. A SAME without constant pads can become a `Pad` that computes its amounts, as
one that pads to a multiple can be computed by few nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec import Struct

from onnxpad.arithmetic.size import Extent, Sizes, Unknown, modulo, symbol
from onnxpad.arithmetic.window import ODD, odd_side, same_pads
from onnxpad.errors import RUNTIME
from onnxpad.facts import Analysis
from onnxpad.graph import Graph, Tensor
from onnxpad.padding.padding import Padding
from onnxpad.padding.site import Sites
from onnxpad.padding.write import write
from onnxpad.reasons import Reason, RefusalError
from onnxpad.runtimes.deployed import misdeclared
from onnxpad.semantics.layers import Pairs, is_padded
from onnxpad.semantics.operators import Fill, PadOp, WindowOp

Split: TypeAlias = Literal["end", "begin", "odd at end", "odd at begin"]
"""Which side has the total of both; for halves, which one has the odd element."""


class AmountsFormula(Struct, frozen=True):
    """SAME's amounts on successive axes: in all (-size) mod modulus + surplus, split in two.

    `constant` are those of all axes of the tensor, as far as they are constant; else 0.
    """

    axes: range
    moduli: list[int]
    surplus: list[int]
    split: Split
    constant: Pairs


def formula_of(op: WindowOp, sizes: Sequence[Extent]) -> AmountsFormula | None:
    """The formula of SAME's amounts at every size of the axes; None where none gives them."""
    odd = odd_side(op.auto_pad)
    pairs = [same_pads(*each, odd=odd) for each in zip(sizes, op.windows, strict=True)]
    numbers = [tuple(each if isinstance(each, int) else None for each in pair) for pair in pairs]
    varying = [place for place, pair in enumerate(numbers) if None in pair]
    if not varying or any(isinstance(each, Unknown) for pair in pairs for each in pair):
        return None
    places = range(varying[0], varying[-1] + 1)
    split: Split = "odd at end" if odd == "end" else "odd at begin"
    fixed = [all(numbers[place][side] is not None for place in places) for side in (0, 1)]
    if any(fixed):  # all else is on the other side
        split = "end" if fixed[0] else "begin"
    constant, moduli, surplus = [], list[int](), list[int]()
    for place, (pair, window) in enumerate(zip(numbers, op.windows, strict=True)):
        begin, end = (each or 0 for each in pair)
        if place in places:
            kept = begin if split == "end" else 0, end if split == "begin" else 0
            is_open = None in pair
            moduli.append(window.stride if is_open else 1)
            total = window.extent - window.stride if is_open else begin + end
            if not isinstance(total, int) or total < sum(kept):
                return None
            surplus.append(total - sum(kept))
            found = modulo(-1 * sizes[place], moduli[-1]) + total
            if found != pairs[place][0] + pairs[place][1]:
                return None
            begin, end = kept
        constant.append((begin, end))
    full = op.operator.layout.axes(op.rank)
    axes = range(full[places.start], full[places[-1]] + 1)
    return AmountsFormula(axes, moduli, surplus, split, op.operator.layout.full(constant, (0, 0)))


class DynamicSites:
    """Reads and writes padding that depends on open sizes, in one graph."""

    def __init__(self, graph: Graph, analysis: Analysis, sites: Sites, plain: Analysis) -> None:
        """Reads the graph as it is at each call; `plain` is its analysis without assumptions."""
        self._graph = graph
        self._analysis = analysis
        self._sites = sites
        self._plain = plain

    def same_of(self, op: WindowOp) -> Padding | None:
        """The SAME that equals the computed `Pad` in front of an operator at every size, or None.

        Refused where it is SAME but for what it fills in, or was declared not to be possible.
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
        """The amounts of the `Pad` that a SAME of open sizes can become; or a refusal."""
        if self._graph.opset < 11:
            opset, said = self._graph.opset, "a Pad cannot compute its amounts before opset 11"
            raise RefusalError(Reason.OPSET_TOO_OLD, said, opset=opset, needs=11)
        plain, formula = self._plain.shape(op.data), None
        if Unknown not in map(type, self._analysis.shape(op.data) or (Unknown("no rank"),)):
            odd = odd_side(op.auto_pad)
            each = zip(self._sites.spatial(op, op.data, 1), op.windows, strict=True)
            pairs = [same_pads(*pair, odd=odd) for pair in each]
            amounts = op.operator.layout.full(pairs, (0, 0))
            self._sites.judge.check(op, None, _unpadded(op), self._sites.trust, amounts)
            any_size = [symbol(f"n{axis}", Sizes(1)) for axis in op.axes]
            now = () if plain is None else op.operator.layout.spatial(plain)
            formula = (formula_of(op, now) if now else None) or formula_of(op, any_size)
        if formula is None:
            said = "no formula is known for the sizes of the data"
            raise RefusalError(Reason.NOT_WORKED_OUT, said, tensor=op.data.name)
        wrong = misdeclared(self._graph, self._analysis, op.data)
        if wrong is not None:
            said = f"{RUNTIME}'s optimiser would compute the amounts from a wrong declared shape"
            raise RefusalError(Reason.WRONG_DECLARATION, said, output=wrong.name)
        return formula

    def write_computed(self, op: WindowOp) -> None:
        """Replaces a SAME by a `Pad` whose amounts new nodes compute from the size."""
        graph, formula = self._graph, self.check_computed(op)
        name = f"{op.node.name or op.node.outputs[0].name}_same"

        def add(kind: str, *inputs: Tensor, **attributes: int) -> Tensor:
            told = f"{name}_{kind.lower()}"
            return graph.insert(kind, inputs, attributes, before=op.node, name=told)

        def constant(values: Sequence[int]) -> Tensor:
            return graph.add_initializer(np.asarray(values, np.int64), f"{name}_constant")

        first, last = formula.axes.start, formula.axes.stop
        if graph.opset >= 15:
            ends = last < len(formula.constant)
            part = {"start": first, "end": last} if ends else {"start": first}
            shape = add("Shape", op.data, **part)
        else:
            shape = add("Slice", add("Shape", op.data), constant([first]), constant([last]))
        total = add("Mod", add("Neg", shape), constant(formula.moduli))
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
        computed_by = add("Concat", *parts, axis=0)
        write(graph, self._analysis, op, _unpadded(op), computed=computed_by)

    def told(self, op: WindowOp, axes: Iterable[int]) -> str:
        """SAME's pads on some axes, as formulas."""
        windows = {axis: op.windows[op.axes.index(axis)] for axis in axes}
        return self._sites.wording.same(windows, odd_side(op.auto_pad))

    def resolves(self, op: WindowOp) -> PadOp | None:
        """The computed `Pad` before an operator, if in effect constant, or SAME, be it refused."""
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
            self._sites.outside(op, pad)
        except RefusalError:
            return False
        return True


def _unpadded(op: WindowOp) -> Padding:
    none = ((0, 0),) * len(op.windows)
    return Padding(none, ceil=op.ceil_mode, counted=op.count_include_pad)
