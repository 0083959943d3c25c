"""Judges a padding, then writes it: to the node that has it, and to a `Pad` in front of that.

The proof compares the window as it is with the one to be. Both slide over one tensor, around which
all padding of the site is. Nothing upstream of it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec.structs import replace
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.arithmetic.size import Sizes, symbol
from onnxpad.arithmetic.window import odd_side, same_of, same_pads
from onnxpad.errors import RUNTIME
from onnxpad.facts import Analysis
from onnxpad.finding import Trust
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.padding.padding import Padding
from onnxpad.proof.read import Reader
from onnxpad.proof.refine import Facts, refine
from onnxpad.proof.term import Copied, DiffersError, Term
from onnxpad.reasons import Reason, RefusalError
from onnxpad.semantics.layers import (
    ExtentPairs,
    Layer,
    Operand,
    Pairs,
    fill_of,
    is_padded,
    is_plain_zero,
    onnx_order,
)
from onnxpad.semantics.operators import Fill, PadOp, TransposedOp, WindowOp
from onnxpad.semantics.rows import UnreadError
from onnxpad.semantics.table import amounts_attribute


def write(
    graph: Graph,
    analysis: Analysis,
    op: WindowOp | TransposedOp,
    padding: Padding,
    pad: PadOp | None = None,
    computed: Tensor | None = None,
) -> None:
    """Makes a site pad so; `Graph.sweep` removes the nodes that this leaves unused.

    `pad` is the `Pad` in front of the operator of which that is all; `computed` are the amounts of
    the one to be written, where nodes compute them.
    """
    node, changed, inputs = op.node, changes(op, padding), op.node.inputs
    if isinstance(op, WindowOp):
        source = op.data if pad is None else pad.data
        outside = op.operator.layout.full(padding.outside, (0, 0)) if padding.outside else ()
        if pad is not None and pad.over(op.rank) == outside:
            source = op.data  # the `Pad` stays, with the value that it has
        elif outside or computed is not None:
            amounts = computed or onnx_order(outside)
            dtype = analysis.dtype(source)
            fill = op.fill(dtype)
            assert dtype is not None
            assert fill is not None
            source = write_pad(graph, node, source, amounts, fill, dtype)
        if source is not op.data:
            inputs = (source, *inputs[1:])
    graph.set_attributes(node, changed, inputs)


def attributes(padding: Padding) -> dict[str, object]:
    """The attributes of an operator that itself pads so; those left out are defaults."""
    found: dict[str, object] = {}
    if padding.is_same:
        found["auto_pad"] = same_of(padding.odd)
    elif is_padded(padding.numbers):
        found["pads"] = onnx_order(padding.numbers)
    if any(padding.output_padding):
        found["output_padding"] = [*padding.output_padding]
    if padding.ceil:
        found["ceil_mode"] = 1
    if padding.counted:
        found["count_include_pad"] = 1
    return found


def changes(op: WindowOp | TransposedOp, padding: Padding) -> dict[str, object | None]:
    """The attributes to write so that an operator itself pads so; None removes one.

    What is written already stays, be it a default; but the pads of a transposed convolution come
    after its other attributes.
    """
    key = changes, padding
    known: dict[str, object | None] | None = op.node.notes.get(key)
    if known is not None:  # networks repeat the same few windows
        return known
    wanted, now = attributes(padding), op.node.attrs
    zeros = None if padding.is_same else [0] * (2 * len(op.windows))
    usual: dict[str, object] = {"auto_pad": "NOTSET", "pads": zeros, "output_shape": None}
    usual |= {"output_padding": None, "ceil_mode": 0, "count_include_pad": 0}
    if op.pads_written:
        wanted.setdefault("pads", zeros)
    found = op.node.notes[key] = {
        name: wanted.get(name)
        for name, default in usual.items()
        if wanted.get(name, default) != now.get(name, default)
        or (name == "pads" and isinstance(op, TransposedOp))
    }
    return found


def set_amounts(graph: Graph, pad: Node, amounts: Pairs) -> None:
    """Gives a `Pad` amounts: (begin, end) for each axis of its data."""
    flat = onnx_order(amounts)
    if graph.opset < 11:
        graph.set_attribute(pad, amounts_attribute(graph.opset), flat)
        return
    name = f"{pad.name or pad.outputs[0].name}_pads"
    graph.set_input(pad, 1, graph.add_initializer(np.asarray(flat, np.int64), name))
    if len(pad.inputs) > 3:
        graph.set_input(pad, 3, None)  # its axes


def write_pad(
    graph: Graph,
    before: Node,
    source: Tensor,
    amounts: Tensor | Sequence[int],
    fill: float | int,
    dtype: int,
) -> Tensor:
    """Inserts a constant `Pad` in front of a node, of amounts over all axes; returns its output."""
    name = f"{before.name or before.outputs[0].name}_pad"
    if graph.opset < 11:
        attributes = {"mode": "constant", "pads": amounts, "value": float(fill)}
        return graph.insert("Pad", [source], attributes, before=before, name=name)
    if not isinstance(amounts, Tensor):
        amounts = graph.add_initializer(np.asarray(amounts, np.int64), f"{name}_pads")
    inputs = [source, amounts]
    if not is_plain_zero(fill):
        value = np.asarray(fill, tensor_dtype_to_np_dtype(dtype))
        inputs.append(graph.add_initializer(value, f"{name}_value"))
    return graph.insert("Pad", inputs, {"mode": "constant"}, before=before, name=name)


Split: TypeAlias = Literal["end", "begin", "odd at end", "odd at begin"]
"""Which side has the total of both; for halves, which one has the odd element."""

Formula = tuple[list[int], list[int], Split, Pairs]
"""SAME's amounts on the spatial axes: in all (-size) mod modulus + surplus, split in two.

The last one comes on top: the side that is constant on each axis, if one is.
"""


def formula_of(op: WindowOp) -> Formula | None:
    """The formula of SAME's amounts, at every size; None where none gives them."""
    odd, moduli, surplus, kept = odd_side(op.auto_pad), list[int](), list[int](), list[Any]()
    sizes = [symbol(f"n{axis}", Sizes(1)) for axis in op.axes]
    pairs = [same_pads(*each, odd=odd) for each in zip(sizes, op.windows, strict=True)]
    known = [all(isinstance(pair[side], int) for pair in pairs) for side in (0, 1)]
    split: Split = "odd at end" if odd == "end" else "odd at begin"
    if any(known):  # all else is on the other side
        split = "end" if known[0] else "begin"
    for (begin, end), window in zip(pairs, op.windows, strict=True):
        pair: Any = (begin if split == "end" else 0, end if split == "begin" else 0)
        is_open = not (isinstance(begin, int) and isinstance(end, int))
        total = window.extent - window.stride if is_open else begin + end
        modulus = window.stride if is_open else 1
        if total < sum(pair):  # the kernel is below the stride
            return None
        moduli.append(modulus)
        surplus.append(total - sum(pair))
        kept.append(pair)
    return moduli, surplus, split, tuple(kept)


def write_computed(graph: Graph, analysis: Analysis, op: WindowOp) -> None:
    """Replaces a SAME by a `Pad` whose amounts new nodes compute from the size."""
    formula = formula_of(op)
    assert formula is not None
    moduli, surplus, split, fixed = formula
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
    total = add("Mod", add("Neg", shape), constant(moduli))
    if any(surplus):
        total = add("Add", total, constant(surplus))
    sides: dict[str, tuple[Any, Any]] = {"begin": (total, None), "end": (None, total)}
    if split not in sides:
        less = add("Div", total, constant([2]))
        more = add("Sub", total, less)
        sides |= {"odd at end": (less, more), "odd at begin": (more, less)}
    full = op.operator.layout.full(fixed, (0, 0))
    every: list[Any] = []  # numbers, and tensors that stand for several
    for side, computed in enumerate(sides[split]):
        amounts: list[Any] = [pair[side] for pair in full]
        if computed is not None:
            amounts[first:last] = [computed]
        every += amounts
    parts: list[Tensor] = []
    for is_tensor, run in groupby(every, lambda each: isinstance(each, Tensor)):
        alike = [*run]
        parts += alike if is_tensor else [constant(alike)]
    write(graph, analysis, op, unpadded(op), computed=add("Concat", *parts, axis=0))


def unpadded(op: WindowOp) -> Padding:
    """The padding of an operator that leaves all to a `Pad`."""
    none = ((0, 0),) * len(op.windows)
    return Padding(none, ceil=op.ceil_mode, counted=op.count_include_pad)


class _Told(Reader):
    """Reads nothing of a graph: it is told which tensor has a term, perhaps one of a body."""

    def holder(self, term: Term) -> Tensor | None:
        """The tensor that was told last."""
        return self._holders.get(term)


class Judge:
    """Judges paddings in one graph, which is read as it is at each call."""

    def __init__(self, graph: Graph, analysis: Analysis) -> None:
        """Keeps what it has compared: networks repeat the same few windows."""
        self._graph = graph
        self._analysis = analysis
        self._reader = _Told(graph, analysis)
        self._facts = Facts(graph, analysis, self._reader)

    def check(
        self,
        op: WindowOp,
        pad: PadOp | None,
        padding: Padding,
        trust: Trust | None,
        computed: ExtentPairs = (),
    ) -> Trust | None:
        """Who is trusted, if engines disagree on a site that is to be padded otherwise; may refuse.

        `pad` is one in front of the operator, of which that is all, with known amounts and value;
        `computed` are the amounts, over all axes, of one that is to compute them.
        """
        source = op.data if pad is None else pad.data
        data, amounts = self._reader.opaque(source), computed
        self._reader.keep(source, data)
        if padding.outside:
            amounts = op.operator.layout.full(padding.outside, (0, 0))
        stays = not amounts or (pad is not None and pad.over(op.rank) == amounts)
        try:
            now = data if pad is None else self._behind(op, pad, data)
            data = now if amounts and stays else data
            now = self._slid(op, now)
            if not stays:
                data = self._padded(op, amounts, source, data)
            then = self._slid(_padding_so(op, padding), data)
            equal = refine(then, now, self._facts, op.node.outputs[0], trust)
        except (DiffersError, UnreadError) as error:
            said, facts = str(error), {"operator": self._graph.label(op.node), **error.facts}
            if error.code is Reason.ZERO_POINT_UNKNOWN:
                place = op.operator.inputs.zero_point
                assert place is not None
                said = f"{op.node.op} pads with its zero point, which is not one constant number"
                facts = {"tensor": op.node.inputs[place].name}
            raise RefusalError(error.code, said, **facts) from error
        _check_declared(op, padding.pads)
        opset, counts = self._graph.opset, padding.counted and not op.count_include_pad
        if counts and opset < (needs := op.operator.since("count_include_pad")):
            said = f"{op.node.op} of opset {opset} cannot count its padding"
            raise RefusalError(Reason.OPSET_TOO_OLD, said, opset=opset, needs=needs)
        if not stays:
            check_pads(opset, self._analysis.dtype(source))
        decides = trust is not None and trust.assumption in equal.assumptions
        return trust if decides else None

    def _slid(self, op: WindowOp, data: Term) -> Term:
        return self._reader.slid(op.form, (data, *map(self._reader.opaque, op.node.inputs[1:])), 0)

    def _behind(self, op: WindowOp, pad: PadOp, data: Term) -> Term:
        """The data behind a `Pad`."""
        amounts = pad.extents_over(op.rank)
        assert amounts is not None
        if pad.mode != "constant":
            return self._reader.terms.make(Copied(pad.mode, amounts), (data,))
        read, value = self._reader, pad.value
        fill = Operand(read.opaque(pad.node.inputs[2])) if value is None else fill_of(value)
        return read.terms.padded(data, Layer(amounts, fill))

    def _padded(self, op: WindowOp, amounts: ExtentPairs, source: Tensor, data: Term) -> Term:
        """The data behind a `Pad` that is to be written."""
        fill = op.fill(self._analysis.dtype(source))
        if fill is None:
            is_lowest = op.operator.padding is Fill.LOWEST
            code = Reason.TYPE_UNKNOWN if is_lowest else Reason.ZERO_POINT_UNKNOWN
            said = "the element type of the data is unknown"
            raise DiffersError(said, code, tensor=source.name)
        return self._reader.terms.padded(data, Layer(amounts, fill_of(fill)))


def _padding_so(op: WindowOp, padding: Padding) -> WindowOp:
    """An operator that itself pads as is proposed."""
    pads = padding.pads or ((0, 0),) * len(op.windows)
    return replace(
        op,
        auto_pad=same_of(padding.odd) if padding.is_same else "NOTSET",
        pads=pads,
        pads_written=not padding.is_same and (op.pads_written or is_padded(pads)),
        ceil_mode=padding.ceil,
        count_include_pad=padding.counted,
    )


def _check_declared(op: WindowOp, pads: Pairs | None) -> None:
    """Raises if a user declared that an operator cannot have such pads, or those of SAME."""
    declaration = op.operator.declaration
    if declaration is None or declaration.limit is None:
        return
    why = "its pads are limited, and those of SAME depend on the size of the data"
    if pads is not None:
        why = declaration.refuses(pads, op.node.attrs)
    if why:
        raise RefusalError(Reason.DECLARED_LIMIT, why, pads=onnx_order(pads) if pads else None)


# Types for which the CPU provider has a Pad; with others, a new Pad would not run.
_PADDED_SINCE_2 = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16})
_PADDED_SINCE_11 = _PADDED_SINCE_2 | {
    TensorProto.INT8,
    TensorProto.UINT8,
    TensorProto.INT32,
    TensorProto.INT64,
}


def check_pads(opset: int, dtype: int | None) -> None:
    """Raises a `RefusalError` unless the runtime has a `Pad` for an element type."""
    if opset < 2:
        said = f"opset 1 has no Pad that {RUNTIME} runs"
        raise RefusalError(Reason.OPSET_TOO_OLD, said, opset=1, needs=2)
    if dtype not in (_PADDED_SINCE_2 if opset < 11 else _PADDED_SINCE_11):
        kind = TensorProto.DataType.Name(dtype).lower() if dtype is not None else "unknown"
        said = f"{RUNTIME} has no Pad for element type {kind} at opset {opset}"
        raise RefusalError(Reason.NO_PAD_FOR_TYPE, said, type=kind, opset=opset)
