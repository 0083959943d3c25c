"""Contents that the analysis evaluates, operator by operator, against onnxruntime."""

from typing import Any

import numpy as np
import pytest

from tests.agreement import disagreements, single

I64, I32, F32, F64, B = np.int64, np.int32, np.float32, np.float64, np.bool_


def i(*items: int, dtype: Any = I64) -> Any:
    return np.array(items, dtype)


MATRIX = np.arange(12, dtype=I64).reshape(3, 4)
SIGNED = i(-7, -4, -1, 1, 4, 7)
DIVISORS = i(2, -3, 5, -2, 3, -5)
REALS = np.array([-2.5, -1.5, -0.25, 0.5, 1.5, 2.5, 7.0], F32)

CASES = [
    # op, inputs, opset, attributes
    ("Add", {"a": MATRIX, "b": i(1, 2, 3, 4)}, 17, {}),
    ("Sub", {"a": i(5, dtype=I32), "b": i(7, dtype=I32)}, 17, {}),
    ("Mul", {"a": MATRIX, "b": SIGNED[:4]}, 17, {}),
    ("Div", {"a": SIGNED, "b": DIVISORS}, 17, {}),
    ("Div", {"a": REALS, "b": np.array(3, F32)}, 17, {}),
    ("Div", {"a": REALS.astype(F64), "b": np.array(3, F64)}, 17, {}),
    ("Mul", {"a": REALS, "b": np.array(0.7, F32)}, 17, {}),
    ("Add", {"a": REALS, "b": np.array(0.1, F32)}, 17, {}),
    ("Sub", {"a": REALS, "b": np.array(0.1, F32)}, 17, {}),
    ("Mod", {"a": SIGNED, "b": DIVISORS}, 17, {}),
    ("Mod", {"a": SIGNED, "b": DIVISORS}, 17, {"fmod": 1}),
    ("Mod", {"a": REALS, "b": np.array(0.7, F32)}, 17, {"fmod": 1}),
    ("Neg", {"a": SIGNED}, 17, {}),
    ("Neg", {"a": REALS}, 17, {}),
    ("Abs", {"a": SIGNED}, 17, {}),
    ("Abs", {"a": REALS}, 17, {}),
    ("Sign", {"a": i(-3, 0, 3)}, 17, {}),
    ("Pow", {"a": SIGNED, "b": i(3)}, 17, {}),
    ("Pow", {"a": i(2, 3, 4), "b": i(0, 1, 5)}, 17, {}),
    ("Pow", {"a": i(2, 3, 4), "b": np.array(2.0, F32)}, 17, {}),
    ("Ceil", {"a": REALS}, 17, {}),
    ("Floor", {"a": REALS}, 17, {}),
    ("Round", {"a": REALS}, 17, {}),
    ("Min", {"a": SIGNED, "b": DIVISORS, "c": i(0)}, 17, {}),
    ("Max", {"a": SIGNED, "b": DIVISORS, "c": i(0)}, 17, {}),
    ("Max", {"a": SIGNED}, 17, {}),
    ("Max", {"a": REALS, "b": -REALS}, 17, {}),
    ("Min", {"a": REALS, "b": -REALS}, 7, {}),
    ("Sum", {"a": REALS, "b": REALS, "c": REALS[:1]}, 17, {}),
    ("Clip", {"a": SIGNED, "lo": np.array(-3, I64), "hi": np.array(2, I64)}, 17, {}),
    ("Clip", {"a": SIGNED, "_": SIGNED, "hi": np.array(2, I64)}, 17, {}),
    ("Clip", {"a": SIGNED, "lo": np.array(3, I64), "hi": np.array(-2, I64)}, 17, {}),
    ("Clip", {"a": REALS, "lo": np.array(-1, F32)}, 17, {}),
    ("Clip", {"a": REALS}, 10, {"min": -1.0, "max": 1.25}),
    ("Clip", {"a": REALS}, 10, {}),
    ("Where", {"c": np.array([True, False]), "a": i(1, 2), "b": i(3)}, 17, {}),
    ("Where", {"c": np.array([[True], [False]]), "a": REALS, "b": -REALS}, 17, {}),
    ("Equal", {"a": SIGNED, "b": SIGNED[::-1].copy()}, 17, {}),
    ("Equal", {"a": REALS, "b": REALS[::-1].copy()}, 17, {}),
    ("Less", {"a": SIGNED, "b": DIVISORS}, 17, {}),
    ("Less", {"a": REALS, "b": -REALS}, 17, {}),
    ("Greater", {"a": SIGNED, "b": DIVISORS}, 17, {}),
    ("Greater", {"a": REALS, "b": -REALS}, 17, {}),
    ("LessOrEqual", {"a": SIGNED, "b": SIGNED[::-1].copy()}, 17, {}),
    ("LessOrEqual", {"a": REALS, "b": -REALS}, 17, {}),
    ("GreaterOrEqual", {"a": SIGNED, "b": SIGNED[::-1].copy()}, 17, {}),
    ("GreaterOrEqual", {"a": REALS, "b": -REALS}, 17, {}),
    *(
        (op, {"a": np.array([0, 0, 1, 1], B), "b": np.array([0, 1, 0, 1], B)}, 17, {})
        for op in ("And", "Or", "Xor", "Equal")
    ),
    ("Not", {"a": np.array([0, 1], B)}, 17, {}),
    *(
        ("Cast", {"a": array}, 17, {"to": to})
        for array in (
            SIGNED,
            i(0, 1, 200, dtype=I32),
            REALS,
            np.array([0, 1], B),
            REALS.astype(F64),
        )
        for to in (1, 6, 7, 9, 11)
    ),
    ("CastLike", {"a": REALS, "b": SIGNED}, 17, {}),
    ("ReduceSum", {"a": MATRIX, "axes": i(-1)}, 17, {"keepdims": 0}),
    ("ReduceSum", {"a": MATRIX, "axes": i()}, 17, {}),
    ("ReduceSum", {"a": MATRIX}, 17, {"noop_with_empty_axes": 1}),
    ("ReduceSum", {"a": MATRIX}, 12, {"axes": [0]}),
    ("ReduceProd", {"a": MATRIX + 1}, 17, {"axes": [1]}),
    ("ReduceProd", {"a": MATRIX + 1, "axes": i(0, 1)}, 18, {"keepdims": 0}),
    ("ReduceMax", {"a": MATRIX, "axes": i(0)}, 18, {}),
    ("ReduceMin", {"a": SIGNED}, 17, {"keepdims": 0}),
    ("ReduceMax", {"a": REALS}, 17, {"keepdims": 0}),
    # layout
    ("Identity", {"a": REALS}, 17, {}),
    ("Reshape", {"a": MATRIX, "s": i(0, -1, 2)}, 17, {}),
    ("Reshape", {"a": MATRIX[:, :0], "s": i(0, 3)}, 17, {"allowzero": 1}),
    ("Flatten", {"a": MATRIX.reshape(3, 2, 2)}, 17, {"axis": 2}),
    ("Flatten", {"a": MATRIX.reshape(3, 2, 2)}, 17, {"axis": -2}),
    ("Flatten", {"a": MATRIX}, 17, {"axis": 0}),
    ("Transpose", {"a": MATRIX}, 17, {}),
    ("Transpose", {"a": MATRIX.reshape(3, 2, 2)}, 17, {"perm": [1, 2, 0]}),
    ("Squeeze", {"a": MATRIX.reshape(1, 12, 1), "axes": i(-1)}, 17, {}),
    ("Squeeze", {"a": MATRIX.reshape(1, 12, 1)}, 17, {}),
    ("Squeeze", {"a": MATRIX.reshape(1, 12, 1)}, 12, {"axes": [0]}),
    ("Unsqueeze", {"a": MATRIX, "axes": i(0, -1)}, 17, {}),
    ("Unsqueeze", {"a": MATRIX}, 12, {"axes": [1, 3]}),
    ("Concat", {"a": MATRIX, "b": MATRIX[:1]}, 17, {"axis": 0}),
    ("Concat", {"a": MATRIX, "b": MATRIX[:, :1]}, 17, {"axis": -1}),
    ("Gather", {"a": MATRIX, "i": i(-1, 0)}, 17, {}),
    ("Gather", {"a": MATRIX, "i": np.array(2, I64)}, 17, {"axis": 1}),
    ("Gather", {"a": MATRIX, "i": MATRIX[:2, :2] % 3}, 17, {"axis": -1}),
    ("GatherElements", {"a": MATRIX, "i": i(1, 0, -1, 2).reshape(1, 4)}, 17, {"axis": 0}),
    ("GatherElements", {"a": MATRIX, "i": i(1, 0, -1).reshape(3, 1)}, 17, {"axis": 1}),
    ("Slice", {"a": MATRIX, "s": i(1), "e": i(2**63 - 1)}, 17, {}),
    (
        "Slice",
        {"a": MATRIX, "s": i(-1, -1), "e": i(-(2**63), -9), "x": i(0, 1), "t": i(-1, -2)},
        17,
        {},
    ),
    ("Slice", {"a": MATRIX, "s": i(-3), "e": i(-1), "x": i(1)}, 17, {}),
    ("Slice", {"a": MATRIX, "s": i(3), "e": i(1), "x": i(-1)}, 17, {}),
    ("Slice", {"a": MATRIX}, 9, {"starts": [0, 1], "ends": [2, 100]}),
    ("Slice", {"a": MATRIX}, 9, {"starts": [-2], "ends": [-1], "axes": [1]}),
    ("Expand", {"a": MATRIX[:, :1], "s": i(2, 1, 4)}, 17, {}),
    ("Expand", {"a": MATRIX[:, :1], "s": i(1)}, 17, {}),
    ("Tile", {"a": MATRIX, "r": i(2, 1)}, 17, {}),
    ("Pad", {"a": MATRIX, "p": i(1, 0, 0, 2), "v": np.array(9, I64)}, 17, {}),
    ("Pad", {"a": MATRIX, "p": i(-1, 1, 1, -2)}, 17, {}),
    ("Pad", {"a": MATRIX, "p": i(1, 2), "_": MATRIX, "x": i(-1)}, 18, {}),
    ("Pad", {"a": REALS}, 10, {"pads": [1, 2], "value": 0.5}),
    ("Shape", {"a": MATRIX.reshape(3, 2, 2)}, 17, {}),
    ("Shape", {"a": MATRIX.reshape(3, 2, 2)}, 17, {"start": 1}),
    ("Shape", {"a": MATRIX.reshape(3, 2, 2)}, 17, {"start": -9, "end": -1}),
    ("Size", {"a": MATRIX}, 17, {}),
    ("ConstantOfShape", {"s": i(2, 3)}, 17, {}),
    ("Range", {"a": np.array(1, I64), "b": np.array(9, I64), "c": np.array(3, I64)}, 17, {}),
    ("Range", {"a": np.array(9, I64), "b": np.array(0, I64), "c": np.array(-3, I64)}, 17, {}),
    ("Range", {"a": np.array(9, I64), "b": np.array(9, I64), "c": np.array(1, I64)}, 17, {}),
    ("Split", {"a": MATRIX, "s": i(1, 3)}, 17, {"axis": 1, "outputs": 2}),
    ("Split", {"a": MATRIX}, 17, {"axis": -1, "outputs": 2}),
    ("Split", {"a": MATRIX}, 12, {"axis": 1, "split": [3, 1], "outputs": 2}),
    ("Split", {"a": SIGNED[:5]}, 18, {"num_outputs": 3, "outputs": 3}),
]


@pytest.mark.parametrize(
    ("op", "inputs", "opset", "attributes"), CASES, ids=[f"{n}-{c[0]}" for n, c in enumerate(CASES)]
)
def test_operator_agrees_with_onnxruntime(
    op: str, inputs: Any, opset: int, attributes: Any
) -> None:
    model = single(op, inputs, opset, **attributes)
    wrong, known = disagreements(model)
    assert not wrong
    assert known == {name for node in model.graph.node for name in node.output}
