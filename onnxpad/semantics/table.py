"""All that is known of operators, one row each.

Without a row, nothing is proved through an operator; nor of a version, an attribute or a type that
its row does not name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from itertools import chain
from typing import Any

from msgspec import Struct
from onnx import TensorProto

from onnxpad.arithmetic.size import Extent, Unknown
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.graph import row_declared
from onnxpad.graph.nodes import noted
from onnxpad.semantics import moving, pointwise
from onnxpad.semantics.layers import (
    ExtentPair,
    ExtentPairs,
    Pairs,
    is_plain_zero,
    numbers_of,
    pairs_of,
)
from onnxpad.semantics.rows import INTS, Call, MalformedError, Row, Step, UnreadError
from onnxpad.semantics.window import LONGEST, TRANSPOSED, WINDOWS, declared_row

_PAD = Row(
    "Pad",
    frozenset({1, 2, 11, 13, 18, 19, 21, 23, 24, 25}),
    {"mode": "constant", "paddings": INTS, "pads": INTS, "value": 0.0},
    inputs=4,
)
_MODES = ("constant", "reflect", "edge", "wrap")
_TYPES = {1: (TensorProto.INT64,), 3: (TensorProto.INT32, TensorProto.INT64)}
_PADDING: Mapping[tuple[str, str], Row] = {("", "Pad"): _PAD, **WINDOWS, **TRANSPOSED}


def rows() -> dict[tuple[str, str], Row]:
    """All rows by domain and op type, but those of users."""
    return {**_PADDING, **{("", op): row for op, row in STEPS.items()}}


@noted
def padding_row(graph: Graph, node: Node) -> Row | None:
    """As `row_named`; None for a node that contradicts its schema."""
    row = row_named(graph, node)
    return None if row is None or graph.contradiction(node) else row


@noted
def row_named(graph: Graph, node: Node) -> Row | None:
    """The row of a `Pad`, of an operator with a window, or of what a user declared; else None."""
    if graph.names_standard(node):
        return _PADDING.get(("", node.op))
    if not node.domain or graph.is_function(node):
        return None
    row = _PADDING.get((node.domain, node.op))
    if row is None and (declaration := row_declared(graph, node)) is not None:
        return declared_row(declaration)
    return row


@noted
def row_of(graph: Graph, node: Node) -> Row | None:
    """The row of a node's operator, as `padding_row`, or as a step; None where it has none."""
    found = padding_row(graph, node)
    if found is not None or not graph.is_standard(node):
        return found
    return STEPS.get(node.op)


class PadOp(Struct, frozen=True):
    """A `Pad` node, according to the specification.

    Without axes it pads all in order; amounts and the value are None where they are not known, and
    the constant amounts unless all are numbers.
    """

    node: Node
    mode: str
    axes: tuple[int, ...] | None
    amounts: ExtentPairs | None
    value: float | int | None
    constant_amounts: Pairs | None = None

    @property
    def data(self) -> Tensor:
        """The tensor that is padded."""
        return self.node.inputs[0]

    def over(self, rank: int) -> Pairs | None:
        """(begin, end) for each of `rank` axes, as `extents_over`; None unless all are numbers."""
        known = self.constant_amounts
        return None if known is None else over_axes(known, self.axes, rank)  # type: ignore[return-value]

    def extents_over(self, rank: int | None) -> ExtentPairs | None:
        """(begin, end) for each of `rank` axes, as `over_axes`; None where one is unknown."""
        amounts = self.amounts
        if amounts is None or Unknown in map(type, chain.from_iterable(amounts)):
            return None
        return over_axes(amounts, self.axes, rank)


_numbers = lru_cache(maxsize=1024)(numbers_of)  # networks repeat the same few paddings


@lru_cache(maxsize=1024)
def over_axes(
    amounts: ExtentPairs, axes: tuple[int, ...] | None, rank: int | None
) -> ExtentPairs | None:
    """(begin, end) for each of `rank` axes, zeros where `axes` leaves one out.

    None where they do not fit the rank, or name an axis twice, which the specification leaves
    undefined; as they are written where the rank is unknown.
    """
    if rank is None or axes is None:
        return amounts if rank in (None, len(amounts)) else None
    places = [axis % rank if -rank <= axis < rank else -1 for axis in axes]
    if -1 in places or len(set(places)) < len(places):
        return None
    full: list[ExtentPair] = [(0, 0)] * rank
    for place, pair in zip(places, amounts, strict=True):
        full[place] = pair
    return tuple(full)


def pad_of(call: Call) -> PadOp:
    """What a `Pad` says; a value of 0.0 is one that is left out.

    Source: the page of Pad in the ONNX specification. onnxruntime runs `wrap` before opset 19 too.
    """
    mode = call.attribute("mode")
    if mode not in _MODES:
        raise UnreadError(f"mode {mode!r} is none of {', '.join(_MODES)}")
    amounts, axes = amounts_of(call)
    if call.version < 11:
        value = call.attribute("value")
    else:
        _check_types(call)
        filler = call.operand(2)
        if filler is not None and len({call.dtype(2), call.dtype(0)} - {None}) > 1:
            raise UnreadError("the value of a Pad is of another type than the data")
        value = 0 if filler is None else call.element(2)
    value = 0 if is_plain_zero(value) else value
    return PadOp(call.node, mode, axes, amounts, value, _numbers(amounts))


def amounts_of(call: Call) -> tuple[ExtentPairs | None, tuple[int, ...] | None]:
    """The amounts of a `Pad`, None where they or their axes are unknown, and the axes it names."""
    if call.version < 11:
        written = call.attribute(amounts_attribute(call.version))
        if written is None:
            raise MalformedError("it has no amounts, which the opset requires")
        return _pairs(tuple(written), None), None
    if call.operand(1) is None:
        raise MalformedError("it has no pads input, which the opset requires")
    axes, flat = None, call.integers(1)
    if call.operand(3) is not None:
        try:
            axes = call.numbers(3)
        except UnreadError:
            return None, None
    return None if flat is None else _pairs(flat, axes), axes


def amounts_attribute(opset: int) -> str:
    """The attribute of a `Pad` that holds its amounts, before opset 11."""
    return "pads" if opset > 1 else "paddings"


def _check_types(call: Call) -> None:
    """Raises if an input of a `Pad` is known to have another type or rank than Pad takes."""
    for place in range(len(call.node.inputs)):
        types = _TYPES.get(place)
        if types is None:
            continue
        dtype, shape = call.declared(place) or (call.dtype(place), call.shape(place))
        if dtype and dtype not in types:
            kind = MalformedError if place == 1 else UnreadError
            raise kind(f"input {place} is of a type that Pad does not take")
        if shape is not None and len(shape) != 1:
            raise UnreadError(f"input {place} is no list, as Pad takes it")


@lru_cache(maxsize=1024)
def _pairs(flat: tuple[Extent, ...], axes: tuple[int, ...] | None) -> ExtentPairs:
    """Amounts in ONNX order as (begin, end) pairs."""
    half = len(flat) // 2
    if len(flat) % 2 or (axes is not None and half != len(axes)):
        raise MalformedError(f"{len(flat)} pads, where each axis needs a begin and an end")
    if any(isinstance(amount, int) and abs(amount) > LONGEST for amount in flat):
        raise UnreadError(f"its pads are beyond {LONGEST}")
    return pairs_of(flat)


_TYPED = (21, 23, 24, 25)  # versions that only added element types
_NONE: Mapping[str, Any] = {}


def _unary(op: str, *versions: int, step: Step, **attributes: Any) -> Row:
    return Row(op, frozenset(versions), attributes, step=step)


_keeps_zero = partial(_unary, step=pointwise.keeps_zero)
_STEPS = (
    Row("Identity", frozenset({1, 13, 14, 16, 19, *_TYPED}), _NONE, step=moving.unchanged),
    Row("Transpose", frozenset({1, 13, *_TYPED}), {"perm": INTS}, step=moving.transpose),
    Row("Unsqueeze", frozenset({1, 11, 13, *_TYPED}), {"axes": INTS}, 2, step=moving.unsqueeze),
    Row("Squeeze", frozenset({1, 11, 13, *_TYPED}), {"axes": INTS}, 2, step=moving.squeeze),
    Row(
        "Reshape",
        frozenset({1, 5, 13, 14, 19, *_TYPED}),
        {"allowzero": 0, "consumed_inputs": INTS, "shape": INTS},
        inputs=2,
        step=moving.reshape,
    ),
    Row("Flatten", frozenset({1, 9, 11, 13, *_TYPED}), {"axis": 1}, step=moving.reshape),
    Row(
        "Concat",
        frozenset({1, 4, 11, 13}),
        {"axis": int},
        inputs=None,
        step=moving.concat,
        data="all",
    ),
    Row(
        "Split",
        frozenset({2, 11, 13, 18}),
        {"axis": 0, "num_outputs": int, "split": INTS},
        inputs=2,
        step=moving.split,
    ),
    Row(
        "Slice",
        frozenset({1, 10, 11, 13}),
        {"axes": INTS, "ends": INTS, "starts": INTS},
        inputs=5,
        step=moving.sliced,
    ),
    Row(
        "Cast",
        frozenset({6, 9, 13, 19, *_TYPED, 28}),
        {"round_mode": "up", "saturate": 1, "to": int},
        step=pointwise.cast,
    ),
    _unary("Relu", 6, 13, 14, step=pointwise.unary(pointwise.rectified)),
    _unary("Neg", 6, 13, step=pointwise.unary(pointwise.negative)),
    _unary("Abs", 6, 13, step=pointwise.unary(pointwise.absolute)),
    Row(
        "Clip",
        frozenset({6, 11, 12, 13}),
        {"max": 3.4028234663852886e38, "min": -3.4028234663852886e38},
        inputs=3,
        step=pointwise.clip,
    ),
    *(
        Row(op, frozenset({7, 13, 14}), _NONE, 2, step=pointwise.operated, data="operand")
        for op in ("Add", "Sub", "Mul", "Div")
    ),
    Row(
        "QuantizeLinear",
        frozenset({10, 13, 19, *_TYPED, 28}),
        {"axis": 1, "block_size": 0, "output_dtype": 0, "precision": 0, "saturate": 1},
        inputs=3,
        step=pointwise.quantize,
    ),
    Row(
        "DequantizeLinear",
        frozenset({10, 13, 19, *_TYPED, 28}),
        {"axis": 1, "block_size": 0, "output_dtype": 0},
        inputs=3,
        step=pointwise.dequantize,
    ),
)

_KEEPING_ZERO = (
    _keeps_zero("Ceil", 6, 13),
    _keeps_zero("Celu", 12, 28, alpha=1.0),
    _keeps_zero("Elu", 6, 22, alpha=1.0),
    _keeps_zero("Erf", 9, 13),
    _keeps_zero("Floor", 6, 13),
    _keeps_zero("Gelu", 20, approximate="none"),
    _keeps_zero("HardSwish", 14, 22),
    _keeps_zero("LeakyRelu", 6, 16, alpha=0.009999999776482582),
    _keeps_zero("Round", 11, 22),
    _keeps_zero("Selu", 6, 22, alpha=1.6732631921768188, gamma=1.0507010221481323),
    _keeps_zero("Sign", 9, 13),
    _keeps_zero("Sin", 7, 22),
    _keeps_zero("Softsign", 1, 22),
    _keeps_zero("Sqrt", 6, 13),
    _keeps_zero("Swish", 24, alpha=1.0),
    _keeps_zero("Tanh", 6, 13),
    _keeps_zero("ThresholdedRelu", 10, 22, alpha=1.0),
)
"""Operators that give 0 for 0, at which no engine rounds."""

STEPS: Mapping[str, Row] = {row.op: row for row in (*_STEPS, *_KEEPING_ZERO)}
"""The rows by op type."""
