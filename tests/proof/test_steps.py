"""The proof's table of steps, held against onnxruntime, and what it refuses to see through.

A model has one step. It runs on data and on the same data padded; both results are compared with
the layers that `through` answers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import symbol
from onnxpad.graph import Graph, Node
from onnxpad.proof import meaning
from onnxpad.proof.layers import EITHER_ZERO, EXCLUDED, LEAST, NEGATIVE_ZERO, Layer, Layers
from onnxpad.proof.meaning import SLIDING, MeaninglessError
from onnxpad.proof.scattering import SCATTERING
from onnxpad.proof.step_rules.fill_arithmetic import (
    computed,
    exact_in,
    quantized,
)
from onnxpad.proof.step_rules.step_node import Passed
from onnxpad.proof.steps import STEPS, crop_of, data_inputs, through
from tests.operators.test_table import SCHEMAS
from tests.support import Array, one, run
from tests.support.rows import each_row

SPATIAL = ((0, 0), (0, 0), (1, 2), (0, 3))


@dataclass(frozen=True)
class Case:
    """One step on data of a shape, `x` and further inputs alike, with layers around it.

    Attributes:
        body: The node, which writes `y` and perhaps `z`.
        given: Initializers.
        bare: Initializers where the data is not padded, if others.
        pads: (begin, end) per axis of each layer.
        fills: The fill of each layer.
    """

    body: str
    given: str = ""
    bare: str | None = None
    shape: tuple[int, ...] = (2, 3, 4, 5)
    pads: Sequence[tuple[tuple[int, int], ...]] = (SPATIAL,)
    fills: Sequence[float | int | str] = (0,)
    dtype: str = "float"
    result: str | None = None
    opset: int = 17
    inputs: str = "x"
    outputs: str = "y"
    ir: int = 9

    @property
    def op(self) -> str:
        return self.body.partition("= ")[2].split()[0]

    @property
    def layers(self) -> Layers:
        return tuple(Layer(pads, fill) for pads, fill in zip(self.pads, self.fills, strict=True))

    @property
    def padded_shape(self) -> tuple[int, ...]:
        totals = [sum(sum(pads[axis]) for pads in self.pads) for axis in range(len(self.shape))]
        return tuple(size + total for size, total in zip(self.shape, totals, strict=True))

    def model(self, padded: bool) -> onnx.ModelProto:
        shape = ", ".join(map(str, self.padded_shape if padded else self.shape))
        given = self.given if padded or self.bare is None else self.bare
        return one(
            self.body,
            inputs=", ".join(f"{self.dtype}[{shape}] {name}" for name in self.inputs.split()),
            outputs=", ".join(f"{self.result or self.dtype}[] {o}" for o in self.outputs.split()),
            initializers=given,
            opset=self.opset,
            ir=self.ir,
        )


def step_of(model: onnx.ModelProto, op: str) -> tuple[Graph, Analysis, Node]:
    graph = Graph.from_proto(model)
    (node,) = [node for node in graph.nodes if node.op == op]
    return graph, Analysis(graph), node


def answers(case: Case) -> list[Passed] | None:
    """What `through` says of each output; None where it refuses."""
    found = step_of(case.model(padded=True), case.op)
    bare = step_of(case.model(padded=False), case.op)
    count = len(data_inputs(*found))
    said = []
    for place, _ in enumerate(case.outputs.split()):
        passed = through(*found, place, [case.layers] * count)
        if passed is None:
            return None
        within = through(*bare, place, [()] * count)
        assert within is not None
        assert (within.key, within.layers) == (passed.key, ())
        assert hash(within.key) == hash(passed.key)
        said.append(passed)
    return said


def number(fill: float | int | str) -> float | int:
    return fill if isinstance(fill, float | int) else {NEGATIVE_ZERO: -0.0, EITHER_ZERO: 0.0}[fill]


def padded(array: Array, layers: Layers) -> Array:
    """Layers of padding around an array; negative amounts crop."""
    for layer in layers if array.ndim else ():
        pairs = [(int(str(begin)), int(str(end))) for begin, end in layer.amounts]
        array = np.pad(
            array,
            [(max(begin, 0), max(end, 0)) for begin, end in pairs],
            constant_values=np.array(number(layer.fill)).astype(array.dtype),
        )
        array = array[tuple(slice(max(-begin, 0), min(end, 0) or None) for begin, end in pairs)]
    return array


def data(case: Case, seed: int = 0) -> dict[str, Array]:
    (proto, *_) = case.model(padded=False).graph.input
    kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(proto.type.tensor_type.elem_type))
    draw = np.random.default_rng(seed)
    low = 0 if kind.kind in "ub" else -8
    found = {}
    for name in case.inputs.split():
        values = draw.integers(low, 2 if kind.kind == "b" else 9, case.shape)
        found[name] = (values / 4 if kind.kind in "fV" else values).astype(kind)
    return found


def check(case: Case) -> list[Passed]:
    """Both sides of a case that is a step give the same bits."""
    said = answers(case)
    assert said is not None, "refused"
    feeds = data(case)
    wide = {name: padded(array, case.layers) for name, array in feeds.items()}
    before = run(case.model(padded=True), wide)
    after = run(case.model(padded=False), feeds)
    for passed, whole, inner in zip(said, before, after, strict=True):
        expected = padded(inner, passed.layers)
        assert whole.shape == expected.shape
        assert whole.dtype == expected.dtype
        if any(layer.fill == EITHER_ZERO for layer in passed.layers):
            whole, expected = whole + 0.0, expected + 0.0
        assert whole.tobytes() == expected.tobytes(), (whole.tolist(), expected.tolist())
    return said


ONE_D = ((0, 0), (0, 0), (2, 1))
UNIT = ((0, 0), (0, 0), (1, 1), (0, 0))
C = "float[3, 1, 1] c = {0.5, 0.5, 0.5}"

STEADY = [
    Case("y = Transpose <perm = [0, 2, 3, 1]> (x)"),
    Case("y = Transpose (x)"),
    Case("y = Transpose <perm = [3, 0, 1, 2]> (x)", fills=(NEGATIVE_ZERO,)),
    Case("y = Unsqueeze (x, a)", "int64[2] a = {-1, 1}"),
    Case("y = Unsqueeze <axes = [2]> (x)", shape=(2, 3, 4), pads=(ONE_D,), opset=11),
    Case("y = Unsqueeze <axes = [-2]> (x)", shape=(2, 3, 4), pads=(ONE_D,), opset=12),
    Case("y = Squeeze (x, a)", "int64[1] a = {-1}", shape=(2, 3, 4, 1), pads=(UNIT,)),
    Case("y = Squeeze (x)", shape=(2, 3, 4, 1), pads=(UNIT,)),
    Case("y = Squeeze <axes = [3]> (x)", shape=(2, 3, 4, 1), pads=(UNIT,), opset=9),
    Case(
        "y = Reshape (x, s)",
        "int64[4] s = {2, 3, 1, 7}",
        "int64[4] s = {2, 3, 1, 4}",
        shape=(2, 3, 4),
        pads=(ONE_D,),
    ),
    Case("y = Reshape (x, s)", "int64[4] s = {0, 0, 1, -1}", shape=(2, 3, 4), pads=(ONE_D,)),
    Case("y = Reshape (x, s)", "int64[3] s = {0, 0, -1}", shape=(2, 3, 1, 1), pads=(UNIT,)),
    Case(
        "y = Reshape (x, s)",
        "int64[4] s = {2, 1, 5, 1}",
        "int64[4] s = {2, 3, 5, 1}",
        shape=(2, 3, 5),
        pads=(((0, 0), (-1, -1), (0, 0)),),
    ),
    Case(
        "y = Reshape (x, s)",
        "int64[3] s = {2, 1, 6}",
        "int64[3] s = {2, 6, 5}",
        shape=(2, 1, 6, 5),
        pads=(((0, 0), (0, 0), (-3, -2), (0, 1)),),
    ),
    Case(
        "y = Reshape (x, s)",
        "int64[4] s = {1, 1, 2, 3}",
        "int64[4] s = {1, 4, 2, 3}",
        shape=(1, 4, 2, 3),
        pads=(((0, 0), (-3, 0), (0, 0), (0, 0)),),
    ),
    Case("y = Flatten <axis = 1> (x)", shape=(4, 1, 5), pads=(((0, 0), (0, 0), (1, 2)),)),
    Case("y = Flatten <axis = 0> (x)", shape=(1, 1, 5), pads=(((0, 0), (0, 0), (1, 2)),)),
    Case("y = Expand (x, s)", "int64[1] s = {1}", fills=(2.5,)),
    Case("y = Expand (x, s)", "int64[6] s = {2, 1, 1, 1, 1, 1}"),
    Case("y = Expand (x, s)", "int64[4] s = {2, 3, 1, 1}", shape=(1, 3, 4, 5), opset=8),
    Case("y = Expand (x, s)", "int64[2] s = {7, 8}", "int64[2] s = {4, 5}"),
    Case(
        "y = Expand (x, s)",
        "int64[3] s = {4, 1, 8}",
        "int64[3] s = {4, 1, 5}",
        shape=(2, 1, 4, 5),
        fills=(NEGATIVE_ZERO,),
    ),
    Case("y = Dropout (x)", fills=(2.5,)),
    Case("y, m = Dropout (x)", opset=10),
    Case("y = Dropout (x, r, t)", "float r = {0.5}, bool t = {0}"),
    Case("y = Concat <axis = 1> (a, b, a)", inputs="a b", fills=(NEGATIVE_ZERO,)),
    Case("y = Concat <axis = -3> (a, b)", inputs="a b", fills=(-np.inf,), opset=11),
    Case("y, z = Split <axis = 1> (x, s)", "int64[2] s = {1, 2}", outputs="y z"),
    Case("y, z = Split <axis = -4> (x)", outputs="y z", fills=(7,)),
    Case("y, z = Split <axis = 1, split = [2, 1]> (x)", outputs="y z", opset=11),
    Case("y, z = Split <axis = 1, num_outputs = 2> (x)", outputs="y z", opset=18),
    Case(
        "y = Slice (x, s, e, a, t)",
        "int64[2] s = {-1, 0}, int64[2] e = {-9, 9223372036854775807}, int64[2] a = {1, 3}, "
        "int64[2] t = {-1, 1}",
    ),
    Case("y = Slice <starts = [1], ends = [3], axes = [1]> (x)", opset=9),
    Case("y = Cast <to = 11> (x)", result="double", fills=(NEGATIVE_ZERO,)),
    Case("y = Cast <to = 10> (x)", result="float16", fills=(1.5,)),
    Case("y = Cast <to = 6> (x)", result="int32", fills=(NEGATIVE_ZERO,)),
    Case("y = Cast <to = 1> (x)", dtype="uint8", result="float", fills=(255,)),
    Case("y = Cast <to = 1> (x)", dtype="bool", result="float", fills=(1,)),
    Case("y = Relu (x)", fills=(-3,)),
    Case("y = Neg (x)"),
    Case("y = Neg (x)", fills=(NEGATIVE_ZERO,)),
    Case("y = Abs (x)", fills=(NEGATIVE_ZERO,)),
    Case("y = Abs (x)", fills=(-5,), dtype="int32"),
    Case("y = Sign (x)", fills=(-5,)),
    Case("y = Floor (x)", fills=(-0.5,)),
    Case("y = Ceil (x)", fills=(0.25,)),
    Case("y = Round (x)", fills=(2.5,)),
    Case("y = Clip (x, a, b)", "float a = {-1}, float b = {1}", fills=(-np.inf,)),
    Case("y = Clip (x, , b)", "float b = {1}", fills=(3,)),
    Case("y = Clip <min = 0.0, max = 6.0> (x)", fills=(7,), opset=9),
    Case("y = Add (x, c)", C, fills=(0.25,)),
    Case("y = Sub (c, x)", C, fills=(0.25,)),
    Case("y = Mul (x, c)", "float[3, 1, 1] c = {1, 2, 3}"),
    Case("y = Mul (x, c)", "float[2, 1, 1, 1] c = {1, 2}"),
    Case("y = Mul (x, c)", "float c = {0.1}", fills=(0.30000001192092896,)),
    Case("y = Mul (x, c)", "float[1, 1, 1, 1, 1] c = {1}"),
    Case("y = Mul (c, x)", "float[3, 1, 2, 1, 1, 1] c = {1, 2, 3, 4, 5, 6}"),
    Case("y = Sub (c, x)", "float[2, 1, 1, 1, 1] c = {3, 3}", fills=(1,)),
    Case("y = Div (x, c)", "float c = {3}", fills=(1,)),
    Case("y = Div (c, x)", "float c = {3}", fills=(np.inf,)),
    Case("y = Add (x, c)", "int32 c = {-7}", fills=(9,), dtype="int32"),
    Case(
        "y = QuantizeLinear (x, s, z)",
        "float[3] s = {0.1, 0.2, 0.3}, int8[3] z = {4, 4, 4}",
        result="int8",
    ),
    Case(
        "y = QuantizeLinear (x, s, z)",
        "float s = {2}, uint8 z = {128}",
        result="uint8",
        fills=(-3.4028234663852886e38,),
    ),
    Case("y = QuantizeLinear (x, s)", "float s = {0.1}", result="uint8", fills=(1.3125,)),
    Case(
        "y = DequantizeLinear (x, s, z)",
        "float[3] s = {0.1, 0.2, 0.3}, uint8[3] z = {128, 128, 128}",
        dtype="uint8",
        result="float",
        fills=(128,),
    ),
    Case(
        "y = DequantizeLinear <axis = 1> (x, s, z)",
        "float[1] s = {0.1}, int8 z = {-3}",
        dtype="int8",
        result="float",
        fills=(-128,),
        opset=21,
    ),
    Case("y = DequantizeLinear (x, s)", "float s = {0.1}", dtype="int32", result="float"),
]
"""Steps that are known, one for each entry of the table at least, and their forms by version."""

ZEROS = {
    "Asin": 7, "Asinh": 9, "Atan": 7, "Atanh": 9, "Celu": 12, "Elu": 6, "Erf": 9, "Gelu": 20,
    "HardSwish": 14, "LeakyRelu": 6, "Mish": 18, "Selu": 6, "Sin": 7, "Sinh": 9, "Softsign": 1,
    "Sqrt": 6, "Swish": 24, "Tan": 7, "Tanh": 6, "ThresholdedRelu": 10,
}  # fmt: skip
"""Operators that are steps of 0 alone, with the opset that brought them."""


@each_row("case", STEADY, at_once=8)
def test_a_step_is_as_onnxruntime_runs_it(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("op", ZEROS)
def test_zero_stays_zero(op: str) -> None:
    case = Case(f"y = {op} (x)", opset=max(ZEROS[op], 17))
    if op == "Swish":  # onnxruntime has no kernel; the function's body is x * Sigmoid(x)
        assert answers(case)
    else:
        check(case)
    assert answers(replace(case, fills=(NEGATIVE_ZERO,))) is None
    assert answers(replace(case, fills=(1.0,))) is None


def test_bfloat16_holds_few_numbers() -> None:
    """No array of that type goes through onnxruntime's Python interface."""
    case = Case("y = Cast <to = 16> (x)", result="bfloat16")
    for fill in (-np.inf, 1.5, 2.0**127, NEGATIVE_ZERO):
        assert answers(replace(case, fills=(fill,)))
    for fill in (float(np.float32(0.1)), 2.0**-130):
        assert answers(replace(case, fills=(fill,))) is None
    case = Case("y = Mul (x, c)", "bfloat16 c = {16448}", dtype="bfloat16")  # the bits of 3.0
    told = answers(replace(case, fills=(1.5,)))
    assert told is not None
    assert told[0].layers[0].fill == 4.5
    assert answers(replace(case, fills=(1.0078125,))) is None


def test_a_squeeze_of_all_that_is_1_is_another_function_of_bare_data() -> None:
    case = Case("y = Squeeze (x)", shape=(2, 1, 1, 1), pads=(UNIT,))
    found, bare = (step_of(case.model(padded=padded), "Squeeze") for padded in (True, False))
    passed, within = through(*found, 0, [case.layers]), through(*bare, 0, [()])
    assert passed is not None
    assert within is not None
    assert passed.key == ("Reshape", (2, 1))
    assert within.key == ("Reshape", (2,))


LATER_THAN_1 = {
    2: {"Split"},
    6: {"Abs", "Cast", "Ceil", "Clip", "Elu", "Floor", "LeakyRelu", "Neg", "Relu", "Selu", "Sqrt",
        "Tanh"},
    7: {"Add", "Div", "Mul", "Sub"},
}  # fmt: skip
"""Operators whose first versions mean something else, by the version from which they are known."""


@each_row(
    ("op", "versions"),
    [
        *((op, step.versions) for op, step in STEPS.items()),
        *((op, row.versions) for (domain, op), row in SLIDING.items() if not domain),
        *((op, row.versions) for (domain, op), row in SCATTERING.items() if not domain),
        ("Pad", meaning._PAD_VERSIONS),
    ],
)
def test_the_versions_are_those_of_the_schemas(op: str, versions: frozenset[int]) -> None:
    """All, or all from some version on; later ones than this onnx knows may follow."""
    history = {schema.since_version for schema in SCHEMAS["", op]}
    latest = onnx.defs.onnx_opset_version()
    first = next((first for first, ops in LATER_THAN_1.items() if op in ops), 1)
    assert {version for version in versions if version <= latest} == {
        version for version in history if version >= first
    }


FLOATING = [
    (TensorProto.FLOAT, np.float32), (TensorProto.DOUBLE, np.float64),
    (TensorProto.FLOAT16, np.float16),
]  # fmt: skip
WHOLE = [
    (TensorProto.INT8, np.int8), (TensorProto.INT16, np.int16), (TensorProto.INT32, np.int32),
    (TensorProto.INT64, np.int64), (TensorProto.UINT8, np.uint8), (TensorProto.UINT16, np.uint16),
    (TensorProto.UINT32, np.uint32), (TensorProto.UINT64, np.uint64),
]  # fmt: skip


def holds(number: float | int, dtype: int) -> bool:
    try:
        return exact_in(number, dtype) == number
    except MeaninglessError:
        return False


@pytest.mark.parametrize(("dtype", "scalar"), FLOATING)
def test_floats_hold_what_numpy_says(dtype: int, scalar: Any) -> None:
    info = np.finfo(scalar)
    greatest, tiny, above_one = float(info.max), float(info.tiny), 1 + float(info.eps)
    for number in (0, 1, greatest, -greatest, tiny, -tiny, above_one, np.inf, -np.inf):
        assert holds(number, dtype), number
    assert not holds(tiny / 2, dtype)
    assert not holds(np.nan, dtype)
    assert not holds(1 + 3 * float(info.eps) / 2, dtype) or scalar is np.float64
    assert not holds(2.0 * greatest, dtype) or scalar is np.float64
    with pytest.raises(MeaninglessError):
        computed("Mul", greatest, 2.0, dtype)
    with pytest.raises(MeaninglessError):
        computed("Mul", tiny, 0.5, dtype)
    assert computed("Mul", tiny, 1.0, dtype) == tiny


@each_row(("dtype", "scalar"), [*WHOLE, (TensorProto.BOOL, None)])
def test_integers_hold_what_numpy_says(dtype: int, scalar: Any) -> None:
    low, high = (0, 1) if scalar is None else (np.iinfo(scalar).min, np.iinfo(scalar).max)
    assert holds(int(low), dtype)
    assert holds(int(high), dtype)
    assert not holds(int(low) - 1, dtype)
    assert not holds(int(high) + 1, dtype)
    assert not holds(0.5, dtype)
    with pytest.raises(MeaninglessError):
        computed("Add", int(high), 1, dtype)


@each_row(
    ("number", "scale", "point", "expected"),
    [
        (1.0, 0.5, 3, 5),
        (-1.0, 0.5, 3, 1),
        (0.7, 1.0, 0, 1),
        (0.3, 1.0, 0, 0),
        (2.7, 1.0, 0, 3),
        (-2.7, 1.0, 10, 7),
        (254.4, 1.0, 0, 254),
        (255.4, 1.0, 0, 255),
        (255.6, 1.0, 0, 255),
        (256.0, 1.0, 0, 255),
        (300.0, 1.0, 0, 255),
        (-0.4, 1.0, 0, 0),
        (-3.0, 1.0, 2, 0),
        (-4.0, 1.0, 2, 0),
        (1.5, 1.0, 0, None),
        (-1.5, 1.0, 9, None),
        (2.5, 1.0, 0, None),
        (2.4995, 1.0, 0, None),
        (2.4985, 1.0, 0, 2),
        (np.inf, 1.0, 0, None),
        (1e38, 1e-30, 0, None),
    ],
)
def test_a_number_is_quantised_where_engines_agree(
    number: float, scale: float, point: int, expected: int | None
) -> None:
    if expected is None:
        with pytest.raises(MeaninglessError):
            quantized(number, scale, point, TensorProto.UINT8)
    else:
        assert quantized(number, scale, point, TensorProto.UINT8) == expected


@each_row(
    ("op", "a", "b", "dtype", "expected"),
    [
        ("Add", 1.5, 2.0, TensorProto.FLOAT, 3.5),
        ("Sub", 1.5, 2.0, TensorProto.FLOAT, -0.5),
        ("Mul", 1.5, 2.0, TensorProto.FLOAT, 3.0),
        ("Div", 1.5, 2.0, TensorProto.FLOAT, 0.75),
        ("Div", 1.0, 3.0, TensorProto.FLOAT, float(np.float32(1) / np.float32(3))),
        ("Div", 1.0, 3.0, TensorProto.DOUBLE, 1 / 3),
        ("Div", 1.0, 3.0, TensorProto.FLOAT16, None),
        ("Div", 1.0, 4.0, TensorProto.FLOAT16, 0.25),
        ("Div", 1.0, 0.0, TensorProto.FLOAT, None),
        ("Add", np.inf, 1.0, TensorProto.FLOAT, np.inf),
        ("Sub", np.inf, np.inf, TensorProto.FLOAT, None),
        ("Sub", 1.0, 1.0, TensorProto.FLOAT, 0.0),
        ("Sub", 3, 5, TensorProto.INT8, -2),
        ("Mul", 3, 5, TensorProto.INT8, 15),
        ("Div", 6, 3, TensorProto.INT8, None),
        ("Sub", 3, 5, TensorProto.UINT8, None),
    ],
)
def test_arithmetic_on_fills(
    op: str, a: float, b: float, dtype: int, expected: float | None
) -> None:
    if expected is None:
        with pytest.raises(MeaninglessError):
            computed(op, a, b, dtype)
    else:
        assert computed(op, a, b, dtype) == expected


def test_every_entry_has_a_case() -> None:
    assert {case.op for case in STEADY} | ZEROS.keys() == STEPS.keys()


REFUSED = [
    pytest.param(Case("y = Sigmoid (x)"), id="Sigmoid"),
    pytest.param(Case("y = Softmax (x)"), id="Softmax"),
    pytest.param(Case("y = Mul (x, c)", "float[4, 1] c = {1, 1, 1, 1}"), id="a padded axis"),
    pytest.param(
        Case("y = Mul (x, c)", "float[1, 1, 1, 1, 8] c = {1, 1, 1, 1, 1, 1, 1, 1}"),
        id="more axes than the data, and one along a padded axis",
    ),
    pytest.param(
        Case("y = Add (x, c)", "float[2, 1, 1, 1, 1] c = {1, 2}"), id="fills that vary in front"
    ),
    *(
        pytest.param(Case(f"y = {op} (a, b)", inputs="a b"), id=f"{op} of two that vary")
        for op in ("Add", "Sub", "Mul", "Div")
    ),
    pytest.param(Case("y = Mul (x, x)"), id="a square"),
    pytest.param(Case("y = Max (x, c)", C), id="Max"),
    pytest.param(Case("y = Min (x, c)", C), id="Min"),
    pytest.param(Case("y = PRelu (x, c)", C), id="PRelu"),
    pytest.param(Case("y = LeakyRelu (x)", fills=(-3.0,)), id="LeakyRelu of a number"),
    pytest.param(
        Case(
            "y = BatchNormalization (x, c, d, d, c)",
            "float[3] c = {1, 1, 1}, float[3] d = {0, 0, 0}",
        ),
        id="BatchNormalization",
    ),
    pytest.param(
        Case(
            "y = Expand (x, s)",
            "int64[1] s = {4}",
            shape=(2, 3, 4, 0),
            pads=(((0, 0), (0, 0), (0, 0), (1, 0)),),
        ),
        id="Expand of a padded axis",
    ),
    pytest.param(
        Case(
            "y = Expand (x, s)",
            "int64[1] s = {2}",
            shape=(2, 3, 4, 0),
            pads=(((0, 0), (0, 0), (0, 0), (1, 1)),),
        ),
        id="Expand of an axis of padding alone",
    ),
    pytest.param(Case("y = Expand (x, s)", inputs="x s"), id="Expand to an input"),
    pytest.param(Case("y = Expand (x, s)", "int64[1] s = {0}"), id="Expand to nothing"),
    pytest.param(Case("y = Add (x, c)", "float[3, 1, 1] c = {0, 0, 1}"), id="fills that vary"),
    pytest.param(Case("y = Mul (x, c)", "float c = {0}", fills=(np.inf,)), id="NaN"),
    pytest.param(Case("y = Mul (x, c)", "float c = {1e30}", fills=(1e30,)), id="overflow"),
    pytest.param(
        Case("y = Mul (x, c)", "float c = {1e-30}", fills=(1.0000000031710769e-30,)),
        id="underflow",
    ),
    pytest.param(Case("y = Mul (x, c)", "float c = {1}", fills=(1e-40,)), id="subnormal"),
    pytest.param(Case("y = Mul (x, c)", "float c = {1}", fills=(0.1,)), id="no float32"),
    pytest.param(Case("y = Div (c, x)", "float c = {1}"), id="a division by 0"),
    pytest.param(
        Case("y = Add (x, c)", "int32 c = {1}", fills=(2**31 - 1,), dtype="int32"),
        id="int overflow",
    ),
    pytest.param(
        Case("y = Sub (x, c)", "uint64 c = {1}", fills=(0,), dtype="uint64"), id="below 0"
    ),
    pytest.param(
        Case("y = Neg (x)", fills=(-128,), dtype="int8"), id="the negative of the least integer"
    ),
    pytest.param(Case("y = Div (x, c)", "int32 c = {2}", dtype="int32"), id="integer Div"),
    pytest.param(
        Case("y = Mul (x, c)", "float16 c = {3}", fills=(1.0009765625,), dtype="float16"),
        id="float16 that rounds",
    ),
    pytest.param(Case("y = Tanh (x)", fills=(EITHER_ZERO,)), id="Tanh of a zero of either sign"),
    pytest.param(Case("y = Div (c, x)", "float c = {1}", fills=(EITHER_ZERO,)), id="1 / 0"),
    pytest.param(Case("y = Clip (x, c)", "float c = {0}", fills=(np.inf,)), id="Clip of inf"),
    pytest.param(
        Case("y = Clip (x, a, b)", "float a = {1}, float b = {0}"), id="bounds that cross"
    ),
    pytest.param(Case("y = Add <broadcast = 1> (x, c)", "float c = {1}", opset=6), id="Add 6"),
    pytest.param(Case("y = Cast <to = 6> (x)", fills=(0.5,), result="int32"), id="Cast of 0.5"),
    pytest.param(Case("y = Cast <to = 2> (x)", fills=(256,), result="uint8"), id="Cast to uint8"),
    pytest.param(
        Case("y = Cast <to = 10> (x)", fills=(0.10000000149011612,), result="float16"),
        id="Cast that rounds",
    ),
    pytest.param(Case("y = Cast <to = 9> (x)", result="bool"), id="Cast to bool"),
    pytest.param(
        Case("y = Squeeze (x, a)", "int64[1] a = {2}", shape=(2, 3, 1, 5), pads=(UNIT,)),
        id="Squeeze of a padded axis",
    ),
    pytest.param(
        Case("y = Squeeze (x)", shape=(2, 3, 0, 5), pads=(((0, 0), (0, 0), (1, 0), (0, 0)),)),
        id="Squeeze of an axis that padding makes 1",
    ),
    pytest.param(
        Case("y = Reshape (x, s)", "int64[3] s = {0, 0, -1}"), id="Reshape that merges axes"
    ),
    pytest.param(
        Case("y = Reshape (x, s)", "int64[4] s = {0, 0, 8, 7}"), id="Reshape that swaps axes"
    ),
    pytest.param(
        Case(
            "y = Reshape (x, s)",
            "int64[4] s = {2, 1, 1, 5}",
            shape=(2, 0, 5),
            pads=(((0, 0), (1, 0), (0, 0)),),
        ),
        id="Reshape that inserts an axis beside one that padding makes 1",
    ),
    pytest.param(
        Case(
            "y = Reshape (x, s)",
            "int64[3] s = {2, 1, 5}",
            shape=(2, 0, 0, 5),
            pads=(((0, 0), (1, 0), (1, 0), (0, 0)),),
        ),
        id="Reshape that drops one of two axes that padding makes 1",
    ),
    pytest.param(Case("y = Flatten (x)"), id="Flatten that merges axes"),
    pytest.param(Case("y = Reshape (x, s)", inputs="x s"), id="Reshape to an input"),
    pytest.param(
        Case("y = Dropout (x, r, t)", "float r = {0.5}, bool t = {1}"), id="Dropout that trains"
    ),
    pytest.param(Case("y, z = Dropout (x)", outputs="y z"), id="Dropout with a mask"),
    pytest.param(Case("y = Dropout (x)", opset=6), id="Dropout 6 that trains"),
    pytest.param(Case("y = Concat <axis = 2> (x, x)"), id="Concat along a padded axis"),
    pytest.param(Case("y, z = Split <axis = 3> (x)", outputs="y z"), id="Split of a padded axis"),
    pytest.param(
        Case("y = Slice (x, s, e)", "int64[4] s = {0, 0, 1, 0}, int64[4] e = {9, 9, 9, 9}"),
        id="Slice of a padded axis",
    ),
    pytest.param(
        Case(
            "y = Slice (x, s, e, a, t)",
            "int64[1] s = {0}, int64[1] e = {1}, int64[1] a = {0}, int64[1] t = {0}",
        ),
        id="Slice in steps of 0",
    ),
    pytest.param(
        Case("y = Slice (x, s, e, a)", "int64[2] s = {0, 0}, int64[1] e = {1}, int64[1] a = {0}"),
        id="Slice with more starts than ends",
    ),
    pytest.param(Case("y = Neg (x)", fills=(LEAST,)), id="what never wins"),
    pytest.param(Case("y = Transpose (x)", fills=(EXCLUDED,)), id="what does not count"),
    pytest.param(Case("y = Neg (x)", fills=(np.nan,)), id="NaN itself"),
    pytest.param(Case("y = Elu <alpha = -1.0> (x)"), id="a factor below 0"),
    pytest.param(Case("y = Relu <alpha = 1.0> (x)"), id="an unknown attribute"),
    pytest.param(Case("y = Relu (x, x)"), id="too many inputs"),
    pytest.param(Case("y = QuantizeLinear (x, s)", "float s = {-1}"), id="a scale below 0"),
    pytest.param(
        Case("y = QuantizeLinear (x, s)", "float s = {2}", fills=(1,)), id="a quotient on a tie"
    ),
    pytest.param(
        Case("y = QuantizeLinear (x, s)", "float s = {2}", fills=(-np.inf,)), id="quantised inf"
    ),
    pytest.param(
        Case("y = QuantizeLinear (x, s, z)", "float[3] s = {1, 1, 1}, int8[3] z = {1, 2, 3}"),
        id="zero points that vary",
    ),
    pytest.param(
        Case(
            "y = QuantizeLinear <axis = 2> (x, s, z)",
            "float[7] s = {1, 2, 1, 1, 1, 1, 1}, int8[7] z = {0, 0, 0, 0, 0, 0, 0}",
        ),
        id="QuantizeLinear along a padded axis",
    ),
    pytest.param(
        Case("y = DequantizeLinear (x, s)", "float[3] s = {1, 2, 1}", dtype="int8", fills=(1,)),
        id="scales that vary",
    ),
    pytest.param(
        Case(
            "y = DequantizeLinear <axis = -1> (x, s)",
            "float[8] s = {1, 2, 3, 4, 5, 6, 7, 8}",
            dtype="int8",
        ),
        id="DequantizeLinear along a padded axis",
    ),
    pytest.param(
        Case("y = DequantizeLinear (x, s)", "float s = {1}", dtype="float"), id="no integers"
    ),
]


@each_row("case", REFUSED)
def test_is_no_step(case: Case) -> None:
    found = step_of(case.model(padded=True), case.op)
    count = len(data_inputs(*found))
    assert all(
        through(*found, place, [case.layers] * count) is None
        for place, _ in enumerate(case.outputs.split())
    )


def test_other_domains_are_no_steps() -> None:
    model = one("y = custom.Relu (x)")
    model.opset_import.append(onnx.helper.make_opsetid("custom", 1))
    found = step_of(model, "Relu")
    assert data_inputs(*found) == ()
    assert through(*found, 0, [()]) is None


def test_a_function_of_the_name_is_no_step() -> None:
    model = one("y = Relu (x)")
    function = onnx.helper.make_function(
        "", "Relu", ["a"], ["b"], [onnx.helper.make_node("Sigmoid", ["a"], ["b"])],
        [onnx.helper.make_opsetid("", 17)],
    )  # fmt: skip
    model.functions.append(function)
    assert data_inputs(*step_of(model, "Relu")) == ()


def test_an_operator_newer_than_the_table_is_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("y = Relu (x)")
    assert answers(case)
    monkeypatch.setitem(STEPS, "Relu", replace(STEPS["Relu"], versions=frozenset({6, 13})))
    found = step_of(case.model(padded=True), "Relu")
    assert data_inputs(*found) == ()


SIGNS = [
    Case("y = Relu (x)", fills=(NEGATIVE_ZERO,)),
    Case("y = Sign (x)", fills=(NEGATIVE_ZERO,)),
    Case("y = Ceil (x)", fills=(-0.5,)),
    Case("y = Mul (x, c)", "float[3, 1, 1] c = {1, -1, 1}"),
    Case("y = Clip (x, c)", "float c = {0}", fills=(NEGATIVE_ZERO,)),
    Case("y = Clip (x, c, d)", "float c = {-1}, float d = {0}", fills=(NEGATIVE_ZERO,)),
    Case("y = Neg (x)", fills=(EITHER_ZERO,)),
    Case("y = Transpose (x)", fills=(EITHER_ZERO,)),
]


@each_row("case", SIGNS, at_once=8)
def test_zeros_of_either_sign(case: Case) -> None:
    assert [layer.fill for passed in check(case) for layer in passed.layers] == [EITHER_ZERO]


@pytest.mark.parametrize(
    ("case", "fill"),
    [
        (Case("y = Abs (x)"), 0),
        (Case("y = Add (x, c)", "float c = {2}"), 2),
        (Case("y = Cast <to = 6> (x)", result="int32"), 0),
        (Case("y = QuantizeLinear (x, c, z)", "float c = {1}, uint8 z = {7}", result="uint8"), 7),
    ],
    ids=lambda each: each.body if isinstance(each, Case) else "",
)
def test_a_zero_of_either_sign_that_becomes_a_number(case: Case, fill: float) -> None:
    (passed,) = check(replace(case, fills=(EITHER_ZERO,)))
    assert passed.layers == (Layer(SPATIAL, fill),)


def test_zeros_of_other_signs_are_joined() -> None:
    found = step_of(Case("y = Concat <axis = 1> (a, b)", inputs="a b").model(padded=True), "Concat")
    plain, negative, either = ((Layer(SPATIAL, fill),) for fill in (0, NEGATIVE_ZERO, EITHER_ZERO))
    for pair in ((plain, negative), (negative, either), (either, either)):
        passed = through(*found, 0, pair)
        assert passed is not None
        assert passed.layers == either


def test_inputs_that_are_padded_otherwise_join_no_step() -> None:
    case = Case("y = Concat <axis = 1> (a, b)", inputs="a b")
    found = step_of(case.model(padded=True), "Concat")
    assert data_inputs(*found) == (0, 1)
    other = (Layer(SPATIAL, 1.0),)
    assert through(*found, 0, [case.layers, other]) is None
    assert through(*found, 0, [case.layers, ()]) is None
    assert through(*found, 0, [case.layers]) is None


CHANNELS = ((0, 0), (0, -1), (0, 0), (0, 0))


@pytest.mark.parametrize(
    ("body", "given", "inputs"),
    [
        ("y = Mul (x, c)", "float[2, 1, 1] c = {2, 3}", "x"),
        ("y = Concat <axis = 1> (a, b)", "", "a b"),
        ("y, z = Split <axis = 1> (x)", "", "x"),
    ],
)
def test_a_crop_of_other_axes_is_done_first(body: str, given: str, inputs: str) -> None:
    """What is left of the channels is the data, whether they are cropped before or after."""
    case = Case(body, given, inputs=inputs, pads=(SPATIAL, CHANNELS), fills=(0, 0))
    found = step_of(case.model(padded=True), case.op)
    count = len(data_inputs(*found))
    first, second = case.layers
    passed = through(*found, 0, [case.layers] * count)
    assert passed is not None
    assert passed.layers == (first,)
    within = through(*found, 0, [(second,)] * count)
    assert within is not None
    assert (within.key, within.layers) == (passed.key, ())
    elsewhere = through(*found, 0, [(first,)] * count)
    assert elsewhere is not None
    assert elsewhere.key != passed.key
    padded_too = Layer(((0, 0), (1, 0), (0, 0), (0, 0)), 0)
    assert through(*found, 0, [(first, second, padded_too)] * count) is None


def test_what_only_crops_has_no_value() -> None:
    case = Case("y = Div (c, x)", "float c = {1}", pads=(SPATIAL, UNIT, SPATIAL), fills=(1, 4, 2))
    told = answers(case)
    assert told is not None
    assert [layer.fill for layer in told[0].layers] == [1, 0.25, 0.5]
    crop = ((0, 0), (0, 0), (0, -1), (0, -2))
    told = answers(replace(case, pads=(SPATIAL, crop, SPATIAL), fills=(1, 0, 2)))
    assert told is not None
    assert [layer.fill for layer in told[0].layers] == [1, 0, 0.5]


def test_parts_of_one_tensor_join() -> None:
    case = Case("y = Concat <axis = 1> (a, b)", inputs="a b")
    found = step_of(case.model(padded=True), "Concat")
    rest = Layer(((0, 0), (-2, 0), (0, 0), (0, 0)), 0)
    parts = [(*case.layers, Layer(CHANNELS, 0)), (*case.layers, rest)]
    passed, within, turned = (
        through(*found, 0, each) for each in (parts, [part[1:] for part in parts], parts[::-1])
    )
    assert passed is not None
    assert within is not None
    assert turned is not None
    assert passed.layers == case.layers
    assert passed.key == within.key != turned.key
    spatial = Layer(((0, 0), (0, 0), (-1, 0), (0, 0)), 0)
    assert through(*found, 0, [case.layers, (*case.layers, spatial)]) is None


def test_a_key_tells_functions_apart() -> None:
    def key(body: str, given: str = "", **changes: Any) -> object:
        said = answers(Case(body, given, **changes))
        assert said is not None
        return said[0].key

    constants = "float c = {2}, float d = {3}"
    pairs = [
        (key("y = Mul (x, c)", constants), key("y = Mul (x, d)", constants)),
        (key("y = Sub (x, c)", constants), key("y = Sub (c, x)", constants)),
        (key("y = LeakyRelu <alpha = 1.5> (x)"), key("y = LeakyRelu <alpha = 1.0> (x)")),
        (key("y = Transpose <perm = [1, 0, 2, 3]> (x)"), key("y = Transpose (x)")),
        (key("y = Cast <to = 6> (x)"), key("y = Cast <to = 7> (x)")),
        (
            key("y = Unsqueeze (x, a)", "int64[1] a = {1}"),
            key("y = Unsqueeze (x, a)", "int64[1] a = {2}"),
        ),
    ]
    assert all(one != other for one, other in pairs)
    split = answers(Case("y, z = Split <axis = 1, split = [2, 1]> (x)", outputs="y z", opset=11))
    assert split is not None
    assert split[0].key != split[1].key


def test_what_the_key_holds_by_name_is_told() -> None:
    named = answers(Case("y = Mul (x, c)", C))
    assert named is not None
    assert named[0].taken == ("c",)
    by_value = answers(Case("y = Unsqueeze (x, a)", "int64[1] a = {1}"))
    assert by_value is not None
    assert by_value[0].taken == ()


def drawn() -> Iterator[Case]:
    """Steps with numbers at random: most are steps, and some round, overflow or vary."""
    draw = np.random.default_rng(11)
    fills = (0, NEGATIVE_ZERO, 1.5, -2.0, 0.25, -7.0, float(np.float32(0.1)), np.inf, -np.inf, 3e38)
    numbers = ("0", "-0.0", "1", "-1", "0.1", "3", "-2.5", "6", "1e30", "0.3333333")
    bodies = (
        "y = Add (x, c)", "y = Add (c, x)", "y = Sub (x, c)", "y = Sub (c, x)", "y = Mul (x, c)",
        "y = Div (x, c)", "y = Div (c, x)", "y = Relu (x)",
        "y = Clip (x, d)", "y = Clip (x, , d)", "y = LeakyRelu (x)",
        "y = LeakyRelu <alpha = 0.3> (x)", "y = Round (x)", "y = Floor (x)", "y = Ceil (x)",
        "y = Sign (x)", "y = Neg (x)", "y = Abs (x)", "y = QuantizeLinear (x, e)",
    )  # fmt: skip
    for body in bodies:
        for _ in range(12):
            c = draw.choice(numbers)
            count = int(draw.integers(1, 3))
            found = [fills[place] for place in draw.integers(0, len(fills), count)]
            given = f"float[3, 1, 1] c = {{{c}, {c}, {draw.choice([c, c, c, '2'])}}}, "
            given += f"float d = {{{draw.choice(numbers)}}}, float e = {{0.07}}"
            pads = [
                (
                    (0, 0),
                    (0, 0),
                    *((int(draw.integers(-1, 3)), int(draw.integers(0, 3))) for _ in "hw"),
                )
                for _ in range(count)
            ]
            result = "uint8" if "Quantize" in body else "float"
            yield Case(body, given, pads=pads, fills=found, result=result)


def drawn_layouts() -> Iterator[Case]:
    """Steps that move axes, of shapes, axes and paddings at random."""
    draw = np.random.default_rng(5)

    def listed(name: str, numbers: Sequence[int]) -> str:
        return f"int64[{len(numbers)}] {name} = {{{', '.join(map(str, numbers))}}}"

    for _ in range(16):
        rank = int(draw.integers(2, 5))
        shape = tuple(int(draw.choice([1, 1, 2, 3])) for _ in range(rank))
        pads = tuple(
            (int(draw.integers(0, 3)), int(draw.integers(0, 2))) if draw.integers(2) else (0, 0)
            for _ in range(rank)
        )
        of = Case("", shape=shape, pads=(pads,), fills=(float(draw.integers(-2, 3)),))
        axis = int(draw.integers(-rank, rank))
        units = [
            size - rank if draw.integers(2) else size
            for size, extent in enumerate(of.padded_shape)
            if extent == 1
        ]
        yield replace(of, body=f"y = Transpose <perm = {draw.permutation(rank).tolist()}> (x)")
        news = draw.permutation(rank + 2)[:2] - draw.choice([0, rank + 2])
        yield replace(of, body="y = Unsqueeze (x, a)", given=listed("a", news.tolist()))
        if units:
            yield replace(of, body="y = Squeeze (x, a)", given=listed("a", units))
        sizes = [(size, bare) for size, bare in zip(of.padded_shape, shape, strict=True)]
        sizes = [pair for pair in sizes if pair[0] != 1 or draw.integers(2)]
        for _ in range(2):
            sizes.insert(int(draw.integers(0, len(sizes) + 1)), (1, 1))
        yield replace(
            of,
            body="y = Reshape (x, s)",
            given=listed("s", [size for size, _ in sizes]),
            bare=listed("s", [bare for _, bare in sizes]),
        )
        yield replace(of, body=f"y = Flatten <axis = {axis}> (x)")
        yield replace(of, body=f"y = Concat <axis = {axis}> (x, x)")
        yield replace(
            of,
            body="y = Slice (x, s, e, a)",
            given=", ".join((listed("s", [0]), listed("e", [-1]), listed("a", [axis]))),
        )


def is_reached(case: Case) -> bool:
    """Whether a case is a step that gives the same key within the padding as around it."""
    found = step_of(case.model(padded=True), case.op)
    passed = through(*found, 0, [case.layers] * len(data_inputs(*found)))
    if passed is None or case.op != "Reshape":
        return passed is not None
    sizes = onnx.numpy_helper.to_array(case.model(padded=False).graph.initializer[0])
    return passed.key == ("Reshape", tuple(sizes.tolist()))


def test_whatever_moves_is_so() -> None:
    cases = list(drawn_layouts())
    steps = [case for case in cases if is_reached(case)]
    assert len(steps) > len(cases) // 3
    assert {case.op for case in steps} == {case.op for case in cases}
    for case in steps:
        check(case)


def test_whatever_is_answered_is_so() -> None:
    cases = list(drawn())
    steps = [case for case in cases if answers(case) is not None]
    assert len(steps) > len(cases) // 3
    for case in steps:
        check(case)


def test_open_sizes_pass() -> None:
    h, w = symbol("h"), symbol("w")
    layers = (Layer(((0, 0), (0, 0), (1, w), (0, 0)), 0),)
    graph, analysis, node = step_of(
        one("y = Unsqueeze (x, a)", inputs="float[n, 3, h, w] x", initializers="int64 a = {2}"),
        "Unsqueeze",
    )
    told = through(graph, analysis, node, 0, [layers])
    assert told is not None
    assert told.layers[0].amounts == ((0, 0), (0, 0), (0, 0), (1, w), (0, 0))
    model = one(
        "y = Reshape (x, s)", inputs="float[1, 3, h, w] x", initializers="int64[3] s = {3, 0, -1}"
    )
    assert through(*step_of(model, "Reshape"), 0, [layers]) is None  # 0 is the second axis
    model = one(
        "t = Squeeze (x, a) y = Reshape (t, s)",
        inputs="float[1, 3, h, w] x",
        initializers="int64[1] a = {0}, int64[5] s = {0, 0, -1, 1, 1}",
    )
    told = through(*step_of(model, "Reshape"), 0, [(Layer(((0, 0), (1, 1), (0, 2)), 0),)])
    assert told is not None
    assert told.layers[0].amounts == ((0, 0), (1, 1), (0, 2), (0, 0), (0, 0))
    assert h != w


# Crops


def crop(body: str, given: str = "", shape: str = "2, 3, 9, 8", opset: int = 17) -> object:
    model = one(body, inputs=f"float[{shape}] x", initializers=given, opset=opset)
    found = crop_of(*step_of(model, body.partition("= ")[2].split()[0]))
    return found[0] if found is not None and not found[1] else found


BOUNDS = "int64[1] s = {{{}}}, int64[1] e = {{{}}}, int64[1] a = {{{}}}"


@each_row(
    ("bounds", "amounts"),
    [
        ((1, 9, 2), (-1, 0)),
        ((1, -2, -2), (-1, -2)),
        ((-7, 2**31 - 1, 2), (-2, 0)),
        ((0, 2**63 - 1, 2), (0, 0)),
        ((3, 5, 2), (-3, -4)),
        ((3, 3, 2), (-3, -6)),
    ],
)
def test_crops(bounds: tuple[int, int, int], amounts: tuple[int, int]) -> None:
    found = crop("y = Slice (x, s, e, a)", BOUNDS.format(*bounds))
    assert found == ((0, 0), (0, 0), amounts, (0, 0))


def test_crops_by_attributes_and_of_all_axes() -> None:
    body = "y = Slice <starts = [0, 0, 1], ends = [9, 9, -1]> (x)"
    assert crop(body, opset=9) == ((0, 0), (0, 0), (-1, -1), (0, 0))


def test_crops_of_open_sizes() -> None:
    start, end = BOUNDS.format(0, -1, 2), BOUNDS.format(1, -1, 2)
    shape = "2, 3, h, 8"
    found = crop("y = Slice (x, s, e, a)", start, shape)
    assert found == ((0, 0), (0, 0), (0, -1), (0, 0))
    assert crop("y = Slice (x, s, e, a)", end, shape) is None  # h may be 1


@each_row(
    ("body", "given"),
    [
        ("y = Slice (x, s, e, a)", BOUNDS.format(5, 4, 2)),
        ("y = Slice (x, s, e, a)", BOUNDS.format(-10, 4, 2)),
        ("y = Slice (x, s, e, a)", BOUNDS.format(10, 12, 2)),
        ("y = Slice (x, s, e, a)", BOUNDS.format(0, -10, 2)),
        ("y = Slice (x, s, e, a)", BOUNDS.format(0, 4, 4)),
        (
            "y = Slice (x, s, e, a)",
            "int64[2] s = {0, 0}, int64[2] e = {4, 4}, int64[2] a = {2, -2}",
        ),
        ("y = Slice (x, s, e, a, t)", BOUNDS.format(0, 4, 2) + ", int64[1] t = {2}"),
        ("y = Relu (x)", ""),
    ],
)
def test_is_no_crop(body: str, given: str) -> None:
    assert crop(body, given) is None


def test_a_slice_of_other_axes_is_a_step_beside_the_crop() -> None:
    """h may be 1, of which 1:-1 leaves nothing; and no crop takes every other element."""
    given = (
        "int64[3] s = {1, 1, 0}, int64[3] e = {-1, -1, 99}, int64[3] a = {2, 1, 3}, "
        "int64[3] t = {1, 1, 2}"
    )
    found = crop("y = Slice (x, s, e, a, t)", given, "2, 3, h, 8")
    assert found == (((0, 0), (-1, -1), (0, 0), (0, 0)), ((2, (1, -1, 1)), (3, (0, 99, 2))))


def test_crops_by_numbers_known_at_run_time_are_none() -> None:
    model = one(
        "y = Slice (x, s, e)", inputs="float[2, 3, 9, 8] x, int64[4] s", initializers=""
        "int64[4] e = {2, 3, 8, 8}",
    )  # fmt: skip
    assert crop_of(*step_of(model, "Slice")) is None


def test_a_slice_by_a_number_that_is_partly_known_is_no_step() -> None:
    model = one(
        "s = Concat <axis = 0> (zero, k) y = Slice (x, s, e, a)",
        inputs="float[2, 3, 9, 8] x, int64[1] k",
        initializers="int64[1] zero = {0}, int64[2] e = {2, 3}, int64[2] a = {0, 1}",
    )
    found = step_of(model, "Slice")
    assert found[1].integers(found[2].inputs[1]) is not None  # of which one is unknown
    assert through(*found, 0, [()]) is None
