"""The rows of steps: operators that padding commutes with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from onnxpad.semantics import moving, pointwise
from onnxpad.semantics.rows import Kind, Row, Step

_TYPES: Final = (21, 23, 24, 25)  # versions that only added element types
_NONE: Final[Mapping[str, Any]] = {}


def _unary(op: str, *versions: int, step: Step, **attributes: Any) -> Row:
    return Row(op, frozenset(versions), attributes, step=step)


def _operated(op: str) -> Row:
    return Row(op, frozenset({7, 13, 14}), _NONE, 2, step=pointwise.operated, data="operand")


def _keeps_zero(op: str, *versions: int, **attributes: Any) -> Row:
    return Row(op, frozenset(versions), attributes, step=pointwise.keeps_zero)


_STEPS: Final = (
    Row("Identity", frozenset({1, 13, 14, 16, 19, *_TYPES}), _NONE, step=moving.unchanged),
    Row(
        "Dropout",
        frozenset({1, 6, 7, 10, 12, 13, 22}),
        {"consumed_inputs": Kind.INTS, "is_test": 0, "ratio": 0.5, "seed": Kind.INT},
        inputs=3,
        step=moving.dropout,
    ),
    Row("Transpose", frozenset({1, 13, *_TYPES}), {"perm": Kind.INTS}, step=moving.transpose),
    Row(
        "Unsqueeze", frozenset({1, 11, 13, *_TYPES}), {"axes": Kind.INTS}, 2, step=moving.unsqueeze
    ),
    Row("Squeeze", frozenset({1, 11, 13, *_TYPES}), {"axes": Kind.INTS}, 2, step=moving.squeeze),
    Row(
        "Reshape",
        frozenset({1, 5, 13, 14, 19, *_TYPES}),
        {"allowzero": 0, "consumed_inputs": Kind.INTS, "shape": Kind.INTS},
        inputs=2,
        step=moving.reshape,
    ),
    Row("Flatten", frozenset({1, 9, 11, 13, *_TYPES}), {"axis": 1}, step=moving.reshape),
    Row("Expand", frozenset({8, 13}), _NONE, 2, step=moving.expand),
    Row(
        "Concat",
        frozenset({1, 4, 11, 13}),
        {"axis": Kind.INT},
        inputs=None,
        step=moving.concat,
        data="all",
    ),
    Row(
        "Split",
        frozenset({2, 11, 13, 18}),
        {"axis": 0, "num_outputs": Kind.INT, "split": Kind.INTS},
        inputs=2,
        step=moving.split,
        parts=True,
    ),
    Row(
        "Slice",
        frozenset({1, 10, 11, 13}),
        {"axes": Kind.INTS, "ends": Kind.INTS, "starts": Kind.INTS},
        inputs=5,
        step=moving.sliced,
    ),
    Row(
        "Cast",
        frozenset({6, 9, 13, 19, *_TYPES, 28}),
        {"round_mode": "up", "saturate": 1, "to": Kind.INT},
        step=pointwise.cast,
    ),
    _unary("Relu", 6, 13, 14, step=pointwise.unary(pointwise.rectified)),
    _unary("Neg", 6, 13, step=pointwise.unary(pointwise.negative)),
    _unary("Abs", 6, 13, step=pointwise.unary(pointwise.absolute)),
    _unary("Sign", 9, 13, step=pointwise.unary(pointwise.sign_of)),
    _unary("Floor", 6, 13, step=pointwise.unary(pointwise.floor)),
    _unary("Ceil", 6, 13, step=pointwise.unary(pointwise.ceil)),
    _unary("Round", 11, 22, step=pointwise.unary(pointwise.nearest)),
    Row(
        "Clip",
        frozenset({6, 11, 12, 13}),
        {"max": 3.4028234663852886e38, "min": -3.4028234663852886e38},
        inputs=3,
        step=pointwise.clip,
    ),
    *(_operated(op) for op in ("Add", "Sub", "Mul", "Div")),
    Row(
        "QuantizeLinear",
        frozenset({10, 13, 19, *_TYPES, 28}),
        {"axis": 1, "block_size": 0, "output_dtype": 0, "precision": 0, "saturate": 1},
        inputs=3,
        step=pointwise.quantize,
    ),
    Row(
        "DequantizeLinear",
        frozenset({10, 13, 19, *_TYPES, 28}),
        {"axis": 1, "block_size": 0, "output_dtype": 0},
        inputs=3,
        step=pointwise.dequantize,
    ),
)

_KEEPING_ZERO: Final = (
    _keeps_zero("Asin", 7, 22),
    _keeps_zero("Asinh", 9, 22),
    _keeps_zero("Atan", 7, 22),
    _keeps_zero("Atanh", 9, 22),
    _keeps_zero("Celu", 12, 28, alpha=1.0),
    _keeps_zero("Elu", 6, 22, alpha=1.0),
    _keeps_zero("Erf", 9, 13),
    _keeps_zero("Gelu", 20, approximate="none"),
    _keeps_zero("HardSwish", 14, 22),
    _keeps_zero("LeakyRelu", 6, 16, alpha=0.009999999776482582),
    _keeps_zero("Mish", 18, 22),
    _keeps_zero("Selu", 6, 22, alpha=1.6732631921768188, gamma=1.0507010221481323),
    _keeps_zero("Sin", 7, 22),
    _keeps_zero("Sinh", 9, 22),
    _keeps_zero("Softsign", 1, 22),
    _keeps_zero("Sqrt", 6, 13),
    _keeps_zero("Swish", 24, alpha=1.0),
    _keeps_zero("Tan", 7, 22),
    _keeps_zero("Tanh", 6, 13),
    _keeps_zero("ThresholdedRelu", 10, 22, alpha=1.0),
)
"""Operators that give 0 for 0, at which no engine rounds."""

STEPS: Final[Mapping[str, Row]] = {row.op: row for row in (*_STEPS, *_KEEPING_ZERO)}
"""The rows by op type."""
