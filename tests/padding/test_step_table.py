"""The table of steps, held against onnxruntime and against the proof's own table."""

from contextlib import suppress
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxpad.errors import ModelError
from onnxpad.padding import step_fills, step_table
from onnxpad.padding.step_fills import EITHER_ZERO, EitherZero, UncertainError
from onnxpad.padding.step_table import Behind, PadLayer
from onnxpad.proof.steps import data_inputs as proof_inputs
from onnxpad.proof.steps import through
from onnxpad.reasons import RefusalError
from tests.proof.test_steps import (
    REFUSED,
    SPATIAL,
    STEADY,
    Case,
    answers,
    data,
    number,
    padded,
    step_of,
)
from tests.support import run
from tests.support.rows import each_row

FLOAT, DOUBLE, HALF = int(TensorProto.FLOAT), int(TensorProto.DOUBLE), int(TensorProto.FLOAT16)
BFLOAT, UINT8, INT8 = int(TensorProto.BFLOAT16), int(TensorProto.UINT8), int(TensorProto.INT8)

CASES = [case for case in STEADY if len(case.pads) == 1]
NOT_ALL_OF_IT = {"Reshape": -1, "Floor": 0, "Ceil": 0, "Round": 0, "Sign": 0, "Cast": 1}
"""Steps of which the proof knows more, and the amount or fill with which it does."""


def moved(case: Case, model: onnx.ModelProto) -> Behind | None:
    """The layer behind the node of a case; None where it is no step, or refused."""
    graph, analysis, node = step_of(model, case.op)
    inputs = step_table.data_inputs(graph, node)
    if not inputs:
        return None
    fills = [number(fill) for fill in case.fills]
    layers = [PadLayer(case.pads[0], fills[0]) for _ in inputs]
    try:
        return step_table.behind(graph, analysis, node, inputs, layers)
    except RefusalError:
        return None


def on_bare_data(case: Case, behind: Behind) -> onnx.ModelProto:
    """The model on data that is not padded, as a rewrite would leave it."""
    model = case.model(padded=True)
    for value in model.graph.input:
        shape = value.type.tensor_type.shape
        for dim, size in zip(shape.dim, case.shape, strict=True):
            dim.dim_value = size
    (node,) = model.graph.node
    for index, array in behind.constants.items():
        node.input[index] = f"new_{index}"
        model.graph.initializer.append(numpy_helper.from_array(array, f"new_{index}"))
    kept = [each for each in node.attribute if each.name not in behind.attributes]
    made = [
        helper.make_attribute(name, value)
        for name, value in behind.attributes.items()
        if value is not None
    ]
    del node.attribute[:]
    node.attribute.extend([*kept, *made])
    return model


@each_row("case", CASES, at_once=8)
def test_a_step_moves_the_layer_as_onnxruntime_and_the_proof_say(case: Case) -> None:
    behind = moved(case, case.model(padded=True))
    said = answers(case)
    assert said is not None
    if behind is None:
        assert case.op in NOT_ALL_OF_IT
        return
    for passed in said:
        (layer,) = passed.layers
        assert layer.amounts == behind.layer.amounts
        assert number(layer.fill) == behind.layer.value
        assert (layer.fill == "either zero") == isinstance(behind.layer.value, EitherZero) or (
            layer.fill != EITHER_ZERO
        )
    feeds = data(case)
    whole = run(
        case.model(padded=True), {name: padded(each, case.layers) for name, each in feeds.items()}
    )
    inner = run(on_bare_data(case, behind), feeds)
    for one, other, passed in zip(whole, inner, said, strict=True):
        expected = padded(other, passed.layers)
        assert one.shape == expected.shape
        assert (one + 0.0).tobytes() == (expected + 0.0).tobytes()


MORE_THAN_THE_PROOF = {
    "y = Mul (x, c)", "y = Tanh (x)", "y = Slice (x, s, e)",
    "y = Neg (x)", "y = Relu <alpha = 1.0> (x)",
}  # fmt: skip
"""What the proof refuses for a reason of its own."""


@each_row(
    "case",
    [
        case
        for case in (each if isinstance(each, Case) else each.values[0] for each in REFUSED)
        if isinstance(case, Case) and len(case.pads) == 1 and case.body not in MORE_THAN_THE_PROOF
    ],
)
def test_what_the_proof_refuses_is_refused(case: Case) -> None:
    with suppress(ModelError, KeyError):  # of a model that a rewrite never sees
        assert moved(case, case.model(padded=True)) is None


ROWS: list[tuple[str, str, float, float | None]] = [
    ("Cast <to = 11> (x)", "", 0.5, 0.5),
    ("Cast <to = 10> (x)", "", 0.5, 0.5),
    ("Cast <to = 10> (x)", "", 0.1, None),
    ("Cast <to = 6> (x)", "", 3, 3),
    ("Cast <to = 6> (x)", "", 0.5, None),
    ("Cast <to = 9> (x)", "", 0, None),
    ("Clip (x, a, b)", "float a = {-1}, float b = {1}", -3, -1),
    ("Clip (x, a, b)", "float a = {-1}, float b = {1}", 3, 1),
    ("Clip (x, a, b)", "float a = {-1}, float b = {1}", 0.5, 0.5),
    ("Clip (x, , b)", "float b = {1}", 3, 1),
    ("LeakyRelu <alpha = 0.5> (x)", "", -2, None),
    ("Add (x, c)", "float[3, 1, 1] c = {1, 1, 1}", 2, 3),
    ("Add (x, c)", "float[3, 1, 1] c = {1, 1, 2}", 2, None),
    ("Sub (x, c)", "float c = {1}", 3, 2),
    ("Sub (c, x)", "float c = {1}", 3, -2),
    ("Div (c, x)", "float c = {1}", 4, 0.25),
    ("Div (c, x)", "float c = {1}", 0, None),
    ("Expand (x, c)", "int64[4] c = {2, 1, 1, 1}", 2, 2),
    ("Expand (x, c)", "int64[1] c = {1}", 2, 2),
    ("Expand (x, c)", "int64[4] c = {2, 0, 1, 1}", 2, None),
    ("Expand (x, c)", "int64[4] c = {2, -1, 1, 1}", 2, None),
    ("Expand (x, c)", "int64[2] c = {9, 9}", 2, None),
    ("Relu (x)", "", -1, 0),
    ("Relu (x)", "", 1, 1),
    ("Abs (x)", "", -1, 1),
    ("Neg (x)", "", -1, 1),
    ("Floor (x)", "", 2, 2),
    ("Floor (x)", "", np.inf, np.inf),
    ("Ceil (x)", "", 2.5, None),
    ("Round (x)", "", 2.5, None),
    *((f"{op} (x)", "", 0, 0) for op in sorted(step_fills.KEEPS_ZERO - {"Swish", "Gelu"})),
    *((f"{op} (x)", "", 1, None) for op in sorted(step_fills.KEEPS_ZERO - {"Swish", "Gelu"})),
    ("Exp (x)", "", 0, None),
    ("QuantizeLinear (x, s, z)", "float s = {0.5}, uint8 z = {3}", 1, 5),
    ("QuantizeLinear (x, s, z)", "float s = {0.5}, uint8 z = {3}", 0, 3),
    ("QuantizeLinear (x, s, z)", "float s = {0.5}, uint8 z = {3}", 0.25, None),
    ("QuantizeLinear (x, s, z)", "float s = {0.5}, uint8 z = {3}", -9, 0),
    ("QuantizeLinear (x, s, z)", "float s = {0.5}, uint8 z = {3}", 900, 255),
    ("Dropout (x, r, t)", "float r = {0.5}, bool t = {1}", 0, None),
    ("Dropout (x, r, t)", "float r = {0.5}, bool t = {0}", 0, 0),
]  # fmt: skip


@each_row(("body", "given", "fill", "result"), ROWS)
def test_fills(body: str, given: str, fill: float, result: float | None) -> None:
    """None for what is refused."""
    case = Case(f"y = {body}", given, fills=(fill,))
    behind = moved(case, case.model(padded=True))
    assert (None if behind is None else behind.layer.value) == result
    assert behind is None or behind.layer.amounts == SPATIAL


def said(case: Case) -> str:
    """The layer behind the node of a case, and what becomes of the node; or why it stays."""
    graph, analysis, node = step_of(case.model(padded=True), case.op)
    inputs = step_table.data_inputs(graph, node)
    layers = [PadLayer(case.pads[0], number(case.fills[0])) for _ in inputs]
    try:
        found = step_table.behind(graph, analysis, node, inputs, layers)
    except RefusalError as refusal:
        words = (f"{case.op} '<y>' ", "stands between, and ", f"{case.op} between turns its value ")
        text = str(refusal)
        for each in words:
            text = text.replace(each, "")
        return text
    where = "" if found.layer.amounts == SPATIAL else str(found.layer.amounts)
    constants = [f"{place}: {array.tolist()}" for place, array in found.constants.items()]
    attributes = [f"{name}: {value}" for name, value in found.attributes.items()]
    gone = ["nothing left"] if found.vanishes else []
    return ", ".join(
        [str(found.layer.value), *filter(None, [where]), *constants, *attributes, *gone]
    )


CHANNELS = ((0, 0), (1, 1), (0, 0), (0, 0))
SAID: list[tuple[Case, str, bool]] = [
    (Case("y = Elu <alpha = 0.0> (x)"), "a factor of it is not above 0", False),
    (Case("y = Elu <alpha = 0.5> (x)"), "0", True),
    (Case("y = Selu <gamma = -1.0> (x)"), "a factor of it is not above 0", False),
    (
        Case("y = Add (x, c)", "float c = {1}", opset=6),
        "broadcasts by its attributes in opset 6",
        False,
    ),
    (Case("y = Add (x, c)", "float c = {1}", opset=7), "1.0", True),
    (
        Case("y = Add (x, c)", "float[8] c = {1,1,1,1,1,1,1,1}"),
        "between works along the padded axis 3",
        False,
    ),
    (Case("y = Add (x, c)", "float[1, 1] c = {1}"), "1.0", True),
    (
        Case("y = Add (c, x)", "float[5, 1, 1, 1, 1] c = {1,1,1,1,1}"),
        "1.0, ((0, 0), (0, 0), (0, 0), (1, 2), (0, 3))",
        True,
    ),
    (Case("y = Div (x, c)", "int32 c = {1}", dtype="int32"), "divides integers", False),
    (Case("y = Clip (x, a, b)", "float a = {2}, float b = {1}"), "its bounds cross", False),
    (Case("y = Clip (x, a, b)", "float a = {1}, float b = {1}"), "1.0", True),
    (Case("y = Clip (x, a)", "float[2] a = {1, 1}"), "has a bound that is not one number", True),
    (
        Case("y = Clip (x, , b)", "float b = {1}", fills=(-np.inf,)),
        "-inf into the least or greatest number of its type",
        False,
    ),
    (Case("y = Clip (x, a, b)", "float a = {-1}, float b = {1}", fills=(-np.inf,)), "-1.0", True),
    (Case("y = Clip <min = 1.0, max = 2.0> (x)", opset=10), "1.0", True),
    (Case("y = Clip <min = 1.0> (x)", opset=6), "1.0", True),
    (Case("y = Clip (x, a)", "float a = {1}", opset=11), "1.0", True),
    (Case("y = Cast <to = 9> (x)"), "0 into a value that the new type does not hold", False),
    (Case("y = Cast <to = 7> (x)", fills=(2.0,), result="int64"), "2", True),
    (
        Case("y = Cast <to = 12> (x)", fills=(-1.0,), result="uint32"),
        "-1.0 into a value that the new type does not hold",
        False,
    ),
    (Case("y = Dropout (x)", opset=6), "drops elements at random", False),
    (Case("y = Dropout <is_test = 1> (x)", opset=6), "0", True),
    (Case("y = Dropout <is_test = 1> (x)", opset=1), "0", True),
    (Case("y = Dropout (x)", opset=7), "0", True),
    (Case("y = Dropout (x)", opset=11), "0", True),
    (Case("y = Dropout (x)", opset=12), "0", True),
    (
        Case("y = Dropout (x, r, t)", "float r = {0.5}, bool t = {1}", opset=12),
        "drops elements at random",
        False,
    ),
    (Case("y = Dropout (x, r, t)", "float r = {0.5}, bool t = {0}", opset=12), "0", True),
    (
        Case("y = Dropout (x, r, t)", "float r = {0.5}, bool[0] t = {}", opset=12),
        "drops elements at random",
        False,
    ),
    (Case("y, z = Dropout (x)", outputs="y z"), "'z' is read too", False),
    (Case("y, z = Dropout (x)"), "0", True),
    (Case("y = Transpose <perm = [0, 2, 3, 1]> (x)"), "0, ((0, 0), (1, 2), (0, 3), (0, 0))", True),
    (Case("y = Transpose (x)"), "0, ((0, 3), (1, 2), (0, 0), (0, 0))", True),
    (Case("y = Transpose <perm = [0, 1, 2]> (x)"), "its perm does not fit the data", False),
    (Case("y = Unsqueeze (x, c)", "int64[2] c = {1, 1}"), "names an axis twice", False),
    (Case("y = Unsqueeze (x, c)", "int64[1] c = {5}"), "its axes do not fit the data", False),
    (
        Case("y = Unsqueeze (x, c)", "int64[2] c = {0, -1}"),
        "0, ((0, 0), (0, 0), (0, 0), (1, 2), (0, 3), (0, 0))",
        True,
    ),
    (Case("y = Unsqueeze (x, c)", "float[1] c = {1}"), "its axes are no integers", False),
    (
        Case("y = Unsqueeze <axes = [1]> (x)", opset=12),
        "0, ((0, 0), (0, 0), (0, 0), (1, 2), (0, 3))",
        True,
    ),
    (
        Case("y = Squeeze (x, c)", "int64[1] c = {2}"),
        "between works along the padded axis 2",
        False,
    ),
    (
        Case("y = Squeeze (x, c)", "int64[1] c = {0}", shape=(1, 3, 4, 5)),
        "0, ((0, 0), (1, 2), (0, 3))",
        True,
    ),
    (
        Case("y = Squeeze (x, c)", "int64[2] c = {0, -4}", shape=(1, 3, 4, 5)),
        "0, ((0, 0), (1, 2), (0, 3))",
        False,
    ),
    (Case("y = Squeeze (x)", shape=(1, 3, 4, 5)), "0, ((0, 0), (1, 2), (0, 3))", True),
    (Case("y = Squeeze (x)", shape=(1, 3, 1, 5)), "between works along the padded axis 2", True),
    (
        Case("y = Squeeze <axes = [0]> (x)", shape=(1, 3, 4, 5), opset=12),
        "0, ((0, 0), (1, 2), (0, 3))",
        True,
    ),
    (
        Case("y = Reshape (x, c)", "int64[5] c = {2, 3, 1, 7, 8}"),
        "0, ((0, 0), (0, 0), (0, 0), (1, 2), (0, 3)), 1: [2, 3, 1, 4, 5]",
        True,
    ),
    (
        Case("y = Reshape (x, c)", "int64[5] c = {0, 0, 1, -1, 8}"),
        "0, ((0, 0), (0, 0), (0, 0), (1, 2), (0, 3)), 1: [0, 0, 1, -1, 5]",
        True,
    ),
    (
        Case("y = Reshape (x, c)", "int64[3] c = {6, 7, 8}"),
        "does more than add or drop axes of size 1",
        False,
    ),
    (
        Case("y = Reshape <allowzero = 1> (x, c)", "int64[5] c = {2, 3, 1, 7, 8}"),
        "its shape has no constant that could be corrected",
        True,
    ),
    (
        Case("y = Reshape (x, c)", "int64[5] c = {2, 3, 1, 7, 8}", opset=5),
        "0, ((0, 0), (0, 0), (0, 0), (1, 2), (0, 3)), 1: [2, 3, 1, 4, 5]",
        True,
    ),
    (
        Case("y = Reshape <shape = [2, 3, 1, 7, 8]> (x)", opset=4),
        "its shape has no constant that could be corrected",
        True,
    ),
    (
        Case("y = Reshape (x, c)", "int64[3] c = {3, 7, 0}", shape=(1, 3, 4, 5)),
        "does more than add or drop axes of size 1",
        False,
    ),
    (
        Case("y = Reshape (x, c)", "int64[4] c = {0, 1, 7, 8}", shape=(1, 3, 4, 5)),
        "does more than add or drop axes of size 1",
        False,
    ),
    (
        Case("y = Expand (x, c)", "int64[5] c = {2, 1, 1, 7, 8}"),
        "0, ((0, 0), (0, 0), (0, 0), (1, 2), (0, 3)), 1: [2, 1, 1, 4, 5]",
        True,
    ),
    (Case("y = Expand (x, c)", "int64[2] c = {7, 8}"), "0, 1: [4, 5]", True),
    (Case("y = Expand (x, c)", "int64[1] c = {9}"), "between works along the padded axis 3", False),
    (Case("y = Expand (x, c)", "int64[5] c = {2, 0, 1, 1, 1}"), "its shape is none", False),
    (Case("y = Expand (x, c)", "int64[4] c = {2, 3, 7, 1}"), "0, 1: [2, 3, 4, 1]", True),
    (
        Case(
            "y = Flatten <axis = 0> (x)",
            shape=(1, 1, 1, 5),
            pads=(((0, 0), (0, 0), (0, 0), (1, 2)),),
        ),
        "0, ((0, 0), (1, 2))",
        True,
    ),
    (Case("y = Flatten (x)"), "does more than add or drop axes of size 1", False),
    (
        Case(
            "y = QuantizeLinear (x, s, z)",
            "float[3] s = {1, 1, 1}, uint8[3] z = {1, 1, 1}",
            result="uint8",
        ),
        "1",
        True,
    ),
    (
        Case(
            "y = QuantizeLinear <axis = 2> (x, s, z)",
            "float[3] s = {1, 1, 1}, uint8[3] z = {1, 1, 1}",
            result="uint8",
        ),
        "between works along the padded axis 2",
        False,
    ),
    (
        Case(
            "y = QuantizeLinear <axis = -3> (x, s, z)",
            "float[3] s = {1, 1, 1}, uint8[3] z = {1, 1, 2}",
            result="uint8",
        ),
        "0 into several values, one for each element of its constant",
        False,
    ),
    (
        Case(
            "y = QuantizeLinear (x, s, z)", "float[3] s = {1, 1, 1}, uint8 z = {1}", result="uint8"
        ),
        "its scale and zero point differ in size",
        False,
    ),
    (
        Case("y = QuantizeLinear (x, s, z)", "float s = {0}, uint8 z = {1}", result="uint8"),
        "a scale of it is not above 0",
        False,
    ),
    (
        Case("y = QuantizeLinear (x, s, z)", "float s = {inf}, uint8 z = {1}", result="uint8"),
        "a scale of it is not above 0",
        False,
    ),
    (Case("y = QuantizeLinear (x, s)", "float s = {1}", result="uint8"), "0", True),
    (
        Case("y = QuantizeLinear (x, s, z)", "float[1] s = {1}, uint8[1] z = {9}", result="uint8"),
        "9",
        True,
    ),
    (
        Case(
            "y = QuantizeLinear <axis = 4> (x, s, z)",
            "float[1] s = {1}, uint8[1] z = {9}",
            result="uint8",
        ),
        "its axes do not fit the data",
        True,
    ),
    (
        Case(
            "y = QuantizeLinear <output_dtype = 3> (x, s)", "float s = {1}", result="int8", opset=21
        ),
        "is not of a known type",
        True,
    ),
    (
        Case(
            "y = DequantizeLinear (x, s, z)",
            "float s = {0.5}, uint8 z = {3}",
            dtype="uint8",
            result="float",
            fills=(5,),
        ),
        "1.0",
        True,
    ),
    (
        Case(
            "y = DequantizeLinear (x, s)",
            "float s = {0.5}",
            dtype="int32",
            result="float",
            fills=(5,),
        ),
        "2.5",
        True,
    ),
    (
        Case(
            "y = DequantizeLinear (x, s)",
            "double s = {0.5}",
            dtype="int32",
            result="double",
            fills=(5,),
        ),
        "is not of a known type",
        True,
    ),
    (
        Case("y = Concat <axis = 2> (x, q)", inputs="x q"),
        "between works along the padded axis 2",
        False,
    ),
    (Case("y = Concat <axis = 1> (x, q)", inputs="x q"), "0", True),
    (Case("y = Concat <axis = 4> (x, q)", inputs="x q"), "its axes do not fit the data", False),
    (
        Case("y, z = Split <axis = 2> (x)", outputs="y z", opset=11),
        "between works along the padded axis 2",
        False,
    ),
    (Case("y, z = Split (x)", outputs="y z", opset=11), "0", True),
    (
        Case("y, z = Split <axis = 1> (x, c)", "int64[2] c = {1, 2}", outputs="y z", opset=13),
        "0",
        True,
    ),
    (
        Case("y = Slice (x, s, e, a)", "int64[1] s = {1}, int64[1] e = {9}, int64[1] a = {2}"),
        "0, ((0, 0), (0, 0), (0, 2), (0, 3)), nothing left",
        False,
    ),
    (
        Case("y = Slice (x, s, e, a)", "int64[1] s = {2}, int64[1] e = {9}, int64[1] a = {2}"),
        "between works along the padded axis 2",
        False,
    ),
    (
        Case("y = Slice (x, s, e, a)", "int64[1] s = {1}, int64[1] e = {5}, int64[1] a = {2}"),
        "0, ((0, 0), (0, 0), (0, 0), (0, 3)), nothing left",
        False,
    ),
    (
        Case("y = Slice (x, s, e, a)", "int64[1] s = {0}, int64[1] e = {-2}, int64[1] a = {-2}"),
        "0, ((0, 0), (0, 0), (1, 0), (0, 3)), nothing left",
        False,
    ),
    (
        Case("y = Slice (x, s, e, a)", "int64[1] s = {1}, int64[1] e = {-2}, int64[1] a = {2}"),
        "0, ((0, 0), (0, 0), (0, 0), (0, 3)), nothing left",
        False,
    ),
    (
        Case("y = Slice (x, s, e, a)", "int64[1] s = {1}, int64[1] e = {-4}, int64[1] a = {3}"),
        "between works along the padded axis 3",
        False,
    ),
    (
        Case("y = Slice (x, s, e, a)", "int64[1] s = {1}, int64[1] e = {9}, int64[1] a = {3}"),
        "0, 1: [1], 2: [2147483647]",
        False,
    ),
    (
        Case(
            "y = Slice (x, s, e, a, t)",
            "int64[1] s = {0}, int64[1] e = {9}, int64[1] a = {2}, int64[1] t = {2}",
        ),
        "between works along the padded axis 2",
        False,
    ),
    (
        Case(
            "y = Slice (x, s, e, a, t)",
            "int64[1] s = {0}, int64[1] e = {9}, int64[1] a = {1}, int64[1] t = {2}",
        ),
        "0",
        True,
    ),
    (
        Case(
            "y = Slice (x, s, e, a, t)",
            "int64[1] s = {0}, int64[1] e = {9}, int64[1] a = {1}, int64[1] t = {1}",
        ),
        "0",
        True,
    ),
    (Case("y = Slice (x, s, e)", "int64[2] s = {0, 1}, int64[2] e = {9, 9}"), "0", True),
    (
        Case(
            "y = Slice (x, s, e, a)",
            "int64[2] s = {0, 1}, int64[2] e = {9, 9}, int64[2] a = {1, -3}",
        ),
        "its axes do not fit its bounds",
        False,
    ),
    (
        Case("y = Slice (x, s, e, a)", "int64[1] s = {0}, int64[2] e = {9, 9}, int64[1] a = {1}"),
        "lacks its bounds",
        False,
    ),
    (
        Case("y = Slice <starts = [1], ends = [-2], axes = [2]> (x)", opset=9),
        "0, ((0, 0), (0, 0), (0, 0), (0, 3)), nothing left",
        False,
    ),
    (
        Case("y = Slice <starts = [1, 1], ends = [-2, 2], axes = [2, 1]> (x)", opset=9),
        "0, ((0, 0), (0, 0), (0, 0), (0, 3)), starts: [0, 1], ends: [2147483647, 2]",
        False,
    ),
    (
        Case(
            "y = Slice (x, s, e, a)",
            "int32[2] s = {1, 1}, int32[2] e = {-2, 2}, int32[2] a = {2, 1}",
        ),
        "0, ((0, 0), (0, 0), (0, 0), (0, 3)), 1: [0, 1], 2: [2147483647, 2]",
        False,
    ),
    (
        Case("y = Slice (x, s, e, a)", "int64[1] s = {-6}, int64[1] e = {100}, int64[1] a = {2}"),
        "0, ((0, 0), (0, 0), (0, 2), (0, 3)), nothing left",
        False,
    ),
    (
        Case("y = Slice (x, s, e, a)", "int64[1] s = {4}, int64[1] e = {2}, int64[1] a = {2}"),
        "between works along the padded axis 2",
        False,
    ),
    (Case("y = Neg (x)", fills=(0,), dtype="int8"), "0", True),
    (
        Case("y = DequantizeLinear (x, s)", "float s = {0}", dtype="uint8", result="float"),
        "a scale of it is not above 0",
        False,
    ),
    (
        Case("y = DequantizeLinear (x, s)", "float s = {-1}", dtype="uint8", result="float"),
        "a scale of it is not above 0",
        False,
    ),
    (
        Case("y = DequantizeLinear (x, s)", "float s = {inf}", dtype="uint8", result="float"),
        "a scale of it is not above 0",
        False,
    ),
    (
        Case("y = DequantizeLinear (x, s)", "float s = {nan}", dtype="uint8", result="float"),
        "a scale of it is not above 0",
        False,
    ),
    (
        Case(
            "y = DequantizeLinear <axis = 2> (x, s)",
            "float[4] s = {1, 1, 1, 1}",
            dtype="uint8",
            result="float",
        ),
        "between works along the padded axis 2",
        False,
    ),
    (
        Case(
            "y = DequantizeLinear (x, s)", "float[3] s = {1, 2, 4}", dtype="uint8", result="float"
        ),
        "0.0",
        True,
    ),
    (
        Case(
            "y = DequantizeLinear (x, s)",
            "float[3] s = {1, 2, 4}",
            dtype="uint8",
            fills=(2,),
            result="float",
        ),
        "2 into several values, one for each element of its constant",
        False,
    ),
]


@each_row(("case", "expected", "is_proved"), SAID, at_once=8)
def test_what_becomes_of_a_node(case: Case, expected: str, is_proved: bool) -> None:
    """Each refusal of each step, and the case beside it that is none; and what the proof knows.

    A Slice along padded axes is no step for the proof, which reads it as a crop. What it knows of
    nodes that a rewrite leaves alone does no harm.
    """
    assert said(case) == expected
    found = step_of(case.model(padded=True), case.op)
    inputs = proof_inputs(*found)
    passed = through(*found, 0, [case.layers] * len(inputs)) if inputs else None
    assert (passed is not None) == is_proved
    if passed is None or not expected[0].isdigit():
        return
    (layer,) = passed.layers
    assert float(expected.partition(",")[0]) == number(layer.fill)
    assert layer.amounts == SPATIAL or str(layer.amounts) in expected


@pytest.mark.parametrize(
    ("body", "given", "value"),
    [
        ("y = Neg (x)", "", "either"),
        ("y = Mul (x, c)", "float c = {-1}", "either"),
        ("y = Add (x, c)", "float c = {1}", "1.0"),
        ("y = Abs (x)", "", "0.0"),
        ("y = Div (c, x)", "float c = {1}", "refused"),
    ],
)
def test_a_zero_of_either_sign_is_tried_as_both(body: str, given: str, value: str) -> None:
    case = Case(body, given)
    graph, analysis, node = step_of(case.model(padded=True), case.op)
    inputs = step_table.data_inputs(graph, node)
    layers = [PadLayer(SPATIAL, EITHER_ZERO)]
    if value == "refused":
        with pytest.raises(RefusalError):
            step_table.behind(graph, analysis, node, inputs, layers)
        return
    found = step_table.behind(graph, analysis, node, inputs, layers).layer.value
    assert ("either" if isinstance(found, EitherZero) else str(found)) == value


@each_row(
    ("value", "scale", "point", "dtype", "result"),
    [
        (0, 0.0, 7, UINT8, 7),
        (0.4, 1.0, 7, UINT8, 7),
        (0.6, 1.0, 7, UINT8, 8),
        (0.5, 1.0, 7, UINT8, None),
        (0.4995, 1.0, 7, UINT8, None),
        (0.498, 1.0, 7, UINT8, 7),
        (-0.5, 1.0, 7, UINT8, None),
        (1, 0.0, 7, UINT8, None),
        (1, np.inf, 7, UINT8, None),
        (np.inf, 1.0, 7, UINT8, None),
        (300, 1.0, 7, UINT8, 255),
        (-300, 1.0, 7, UINT8, 0),
        (-300, 1.0, 7, INT8, -128),
        (2.0, 1.0, 7, FLOAT, None),
    ],
)
def test_quantised(value: float, scale: float, point: int, dtype: int, result: int | None) -> None:
    if result is None:
        with pytest.raises(UncertainError):
            step_fills.quantised(value, scale, point, dtype)
    else:
        assert step_fills.quantised(value, scale, point, dtype) == result


def test_dequantised() -> None:
    assert step_fills.dequantised(5, 0.5, 3) == 1.0
    assert step_fills.dequantised(2**24, 1.0, 0) == 2.0**24
    with pytest.raises(UncertainError):
        step_fills.dequantised(2**24 + 1, 1.0, 0)


TINY, LEAST_HALF = float(np.finfo(np.float32).tiny), float(np.finfo(np.float16).tiny)


@each_row(
    ("op", "one", "other", "dtype", "result"),
    [
        ("Add", 1.5, 2.0, FLOAT, 3.5),
        ("Div", 1.0, 3.0, FLOAT, float(np.float32(1) / np.float32(3))),
        ("Div", 1.0, 3.0, DOUBLE, 1 / 3),
        ("Div", 1.0, 3.0, HALF, None),
        ("Div", 1.0, 3.0, BFLOAT, None),
        ("Div", 1.0, 4.0, BFLOAT, 0.25),
        ("Div", 1.0, 0.0, FLOAT, None),
        ("Mul", 3e38, 2.0, FLOAT, None),
        ("Mul", 3e38, 2.0, DOUBLE, 6e38),
        ("Mul", TINY, 1.0, FLOAT, TINY),
        ("Mul", TINY, 0.5, FLOAT, None),
        ("Mul", TINY, 0.5, BFLOAT, None),
        ("Mul", TINY, 0.0, FLOAT, 0.0),
        ("Mul", LEAST_HALF, 1.0, HALF, LEAST_HALF),
        ("Mul", LEAST_HALF, 0.5, HALF, None),
        ("Add", np.inf, 1.0, FLOAT, np.inf),
        ("Sub", np.inf, np.inf, FLOAT, None),
        ("Add", 200, 55, UINT8, 255),
        ("Add", 200, 56, UINT8, None),
        ("Sub", 1, 2, UINT8, None),
        ("Sub", 1, 2, INT8, -1),
        ("Div", 4, 2, INT8, None),
        ("Add", 1, 1, int(TensorProto.BOOL), None),
        ("Sub", -np.inf, 1, INT8, None),  # a fill of another type, which onnxruntime refuses
        ("Mul", 1, np.nan, INT8, None),
    ],
)
def test_arithmetic(op: str, one: float, other: float, dtype: int, result: float | None) -> None:
    if result is None:
        with pytest.raises(UncertainError):
            step_fills.computed(step_fills.BINARY[op], one, other, dtype)
    else:
        assert step_fills.computed(step_fills.BINARY[op], one, other, dtype) == result


@each_row(
    ("value", "dtype", "held"),
    [
        (0.5, FLOAT, True),
        (0.1, FLOAT, False),
        (0.1, DOUBLE, True),
        (2**24 + 1, FLOAT, False),
        (2**53 + 1, DOUBLE, False),
        (70000.0, HALF, False),
        (1.5, BFLOAT, True),
        (1 + 2.0**-8, BFLOAT, False),
        (1 + 2.0**-30, BFLOAT, False),
        (255, UINT8, True),
        (0, UINT8, True),
        (256, UINT8, False),
        (-1, UINT8, False),
        (-128, INT8, True),
        (0.5, INT8, False),
        (np.inf, INT8, False),
        (1, int(TensorProto.BOOL), False),
        (1, int(TensorProto.STRING), False),
    ],
)
def test_what_a_type_holds(value: float, dtype: int, held: bool) -> None:
    assert step_fills.holds(value, dtype) is held


def zeros(*values: Any) -> str:
    found = step_fills.one_of(values)
    return "either" if isinstance(found, EitherZero) else str(found)


def test_zeros_of_either_sign() -> None:
    assert zeros(0.0, 0.0) == "0.0"
    assert zeros(-0.0) == "-0.0"
    assert zeros(0.0, -0.0) == zeros(EITHER_ZERO, 0.0) == zeros(EITHER_ZERO) == "either"
    assert not EITHER_ZERO
    with pytest.raises(UncertainError):
        zeros(0.0, 1.0)
    for choose in (step_fills.lesser, step_fills.greater):
        assert isinstance(choose(0.0, -0.0), EitherZero)
        with pytest.raises(UncertainError):
            choose(np.nan, 1.0)
        with pytest.raises(UncertainError):
            choose(1.0, np.nan)
    assert step_fills.lesser(1, 2) == step_fills.greater(0, 1) == 1
