"""A SAME that depends on an open size, as a `Pad` whose amounts new nodes compute."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec import Struct

from onnxpad.arithmetic.size import Sizes, Unknown, modulo, symbol
from onnxpad.arithmetic.window import odd_side, same_pads
from onnxpad.errors import RUNTIME
from onnxpad.graph import Tensor
from onnxpad.padding.padding import Padding
from onnxpad.padding.site import Sites
from onnxpad.padding.write import write
from onnxpad.reasons import Reason, RefusalError
from onnxpad.runtimes.deployed import misdeclared
from onnxpad.semantics.layers import Pairs
from onnxpad.semantics.operators import WindowOp

Split: TypeAlias = Literal["end", "begin", "odd at end", "odd at begin"]
"""Which side has the total of both; for halves, which one has the odd element."""


class AmountsFormula(Struct, frozen=True):
    """SAME's amounts on the spatial axes: in all (-size) mod modulus + surplus, split in two.

    What is `fixed` comes on top: the side that is constant on each axis, if one is.
    """

    moduli: list[int]
    surplus: list[int]
    split: Split
    fixed: Pairs


def formula_of(op: WindowOp) -> AmountsFormula | None:
    """The formula of SAME's amounts, at every size; None where none gives them."""
    odd, moduli, surplus, kept = odd_side(op.auto_pad), list[int](), list[int](), list[Any]()
    sizes = [symbol(f"n{axis}", Sizes(1)) for axis in op.axes]
    pairs = [same_pads(*each, odd=odd) for each in zip(sizes, op.windows, strict=True)]
    known = [all(isinstance(pair[side], int) for pair in pairs) for side in (0, 1)]
    split: Split = "odd at end" if odd == "end" else "odd at begin"
    if any(known):  # all else is on the other side
        split = "end" if known[0] else "begin"
    for size, (begin, end), window in zip(sizes, pairs, op.windows, strict=True):
        pair: Any = (begin if split == "end" else 0, end if split == "begin" else 0)
        is_open = not (isinstance(begin, int) and isinstance(end, int))
        total = window.extent - window.stride if is_open else begin + end
        modulus = window.stride if is_open else 1
        if isinstance(begin, Unknown) or modulo(-1 * size, modulus) + total != begin + end:
            return None
        if not isinstance(total, int) or total < sum(pair):
            return None
        moduli.append(modulus)
        surplus.append(total - sum(pair))
        kept.append(pair)
    return AmountsFormula(moduli, surplus, split, tuple(kept))


def check_computed(sites: Sites, op: WindowOp) -> None:
    """Raises a `RefusalError` unless a SAME of open sizes can become a `Pad`."""
    graph, analysis = sites.graph, sites.analysis
    if graph.opset < 11:
        said = "a Pad cannot compute its amounts before opset 11"
        raise RefusalError(Reason.OPSET_TOO_OLD, said, opset=graph.opset, needs=11)
    formula: AmountsFormula | None = None
    if Unknown not in map(type, analysis.shape(op.data) or (Unknown("no rank"),)):
        each = zip(sites.spatial(op, op.data, 1), op.windows, strict=True)
        pairs = [same_pads(*pair, odd=odd_side(op.auto_pad)) for pair in each]
        amounts = op.operator.layout.full(pairs, (0, 0))
        sites.judge.check(op, None, _unpadded(op), sites.trust, amounts)
        formula = formula_of(op)
    if formula is None:
        said = "no formula is known for the sizes of the data"
        raise RefusalError(Reason.NOT_WORKED_OUT, said, tensor=op.data.name)
    wrong = misdeclared(graph, analysis, op.data)
    if wrong is not None:
        said = f"{RUNTIME}'s optimiser would compute the amounts from a wrong declared shape"
        raise RefusalError(Reason.WRONG_DECLARATION, said, output=wrong.name)


def write_computed(sites: Sites, op: WindowOp) -> None:
    """Replaces a SAME by a `Pad` whose amounts new nodes compute from the size."""
    graph, formula = sites.graph, formula_of(op)
    assert formula is not None
    name = f"{op.node.name or op.node.outputs[0].name}_same"

    def add(kind: str, *inputs: Tensor, **attributes: int) -> Tensor:
        told = f"{name}_{kind.lower()}"
        return graph.insert(kind, inputs, attributes, before=op.node, name=told)

    def constant(values: Sequence[int]) -> Tensor:
        return graph.add_initializer(np.asarray(values, np.int64), f"{name}_constant")

    first, last = op.axes[0], op.axes[-1] + 1
    if graph.opset >= 15:
        ends = last < op.rank
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
    full = op.operator.layout.full(formula.fixed, (0, 0))
    every: list[Any] = []  # numbers, and tensors that stand for several
    for side, computed in enumerate(sides[formula.split]):
        amounts: list[Any] = [pair[side] for pair in full]
        if computed is not None:
            amounts[first:last] = [computed]
        every += amounts
    parts: list[Tensor] = []
    for is_tensor, run in groupby(every, lambda each: isinstance(each, Tensor)):
        alike = [*run]
        parts += alike if is_tensor else [constant(alike)]
    computed_by = add("Concat", *parts, axis=0)
    write(graph, sites.analysis, op, _unpadded(op), computed=computed_by)


def _unpadded(op: WindowOp) -> Padding:
    none = ((0, 0),) * len(op.windows)
    return Padding(none, ceil=op.ceil_mode, counted=op.count_include_pad)
