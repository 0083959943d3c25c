"""Contents that the analysis evaluates, operator by operator, against onnxruntime."""

from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from onnxpad.arithmetic.size import Sizes, Unknown, evaluate, symbol
from onnxpad.facts import LARGEST_SIZE, Analysis
from onnxpad.facts.shape_rules import FLOAT
from onnxpad.graph import Graph
from onnxpad.semantics import numbers as floats
from tests.facts.agreement import compare, single, together
from tests.support import parsed, run
from tests.support.rows import each_row

I64, I32, F32, F64, B = np.int64, np.int32, np.float32, np.float64, np.bool_


def i(*items: int, dtype: Any = I64) -> Any:
    return np.array(items, dtype)


MATRIX = np.arange(12, dtype=I64).reshape(3, 4)
SIGNED = i(-7, -4, -1, 1, 4, 7)
DIVISORS = i(2, -3, 5, -2, 3, -5)
REALS = np.array([-2.5, -1.5, -0.25, 0.5, 1.5, 2.5, 7.0], F32)
ZEROS = np.array([-0.0, 0.0], F32)
OVER = {"direction": "LEFT"}
EXACT_POINTS = """Asin Asinh Atan Atanh Cos Cosh Elu Erf Exp Gelu HardSwish Mish Sigmoid Sin Sinh
Softsign Tan Tanh""".split()  # noqa: SIM905

CASES: list[tuple[str, Any, int, Any]] = [
    # op, inputs, opset, attributes
    ("Add", {"a": MATRIX, "b": i(1, 2, 3, 4)}, 17, {}),
    ("Sub", {"a": i(5, dtype=I32), "b": i(7, dtype=I32)}, 17, {}),
    ("Mul", {"a": MATRIX, "b": SIGNED[:4]}, 17, {}),
    ("Div", {"a": SIGNED, "b": DIVISORS}, 17, {}),
    ("Mul", {"a": REALS, "b": np.array(0.75, F32)}, 17, {}),
    ("Add", {"a": REALS, "b": np.array(0.125, F32)}, 17, {}),
    ("Sub", {"a": REALS, "b": np.array(0.125, F32)}, 17, {}),
    ("Mod", {"a": SIGNED, "b": DIVISORS}, 17, {}),
    ("Neg", {"a": SIGNED}, 17, {}),
    ("Neg", {"a": REALS}, 17, {}),
    ("Ceil", {"a": REALS}, 17, {}),
    ("Floor", {"a": REALS}, 17, {}),
    ("Min", {"a": SIGNED, "b": DIVISORS, "c": i(0)}, 17, {}),
    ("Max", {"a": SIGNED, "b": DIVISORS, "c": i(0)}, 17, {}),
    ("Max", {"a": SIGNED}, 17, {}),
    ("Max", {"a": REALS, "b": -REALS}, 17, {}),
    ("Min", {"a": REALS, "b": -REALS}, 7, {}),
    ("Clip", {"a": SIGNED, "lo": np.array(-3, I64), "hi": np.array(2, I64)}, 17, {}),
    ("Clip", {"a": SIGNED, "_": SIGNED, "hi": np.array(2, I64)}, 17, {}),
    ("Clip", {"a": SIGNED, "lo": np.array(3, I64), "hi": np.array(-2, I64)}, 17, {}),
    ("Clip", {"a": REALS, "lo": np.array(-1, F32)}, 17, {}),
    ("Where", {"c": np.array([True, False]), "a": i(1, 2), "b": i(3)}, 17, {}),
    ("Equal", {"a": SIGNED, "b": SIGNED[::-1].copy()}, 17, {}),
    ("Less", {"a": SIGNED, "b": DIVISORS}, 17, {}),
    ("Greater", {"a": SIGNED, "b": DIVISORS}, 17, {}),
    *(
        (op, {"a": np.array([0, 0, 1, 1], B), "b": np.array([0, 1, 0, 1], B)}, 17, {})
        for op in ("And", "Xor", "Equal")
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
        if to != 9 or array.dtype.kind != "f"  # whether a float is 0
    ),
    # layout
    ("Identity", {"a": REALS}, 17, {}),
    ("Reshape", {"a": MATRIX, "s": i(0, -1, 2)}, 17, {}),
    ("Reshape", {"a": MATRIX[:, :0], "s": i(0, 3)}, 17, {"allowzero": 1}),
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
    ("Pad", {"a": MATRIX, "p": i(1, 0, 0, 2), "v": np.array(9, I64)}, 17, {}),
    ("Pad", {"a": MATRIX, "p": i(1, 2), "_": MATRIX, "x": i(-1)}, 18, {}),
    ("Shape", {"a": MATRIX.reshape(3, 2, 2)}, 17, {}),
    ("Shape", {"a": MATRIX.reshape(3, 2, 2)}, 17, {"start": 1}),
    ("Shape", {"a": MATRIX.reshape(3, 2, 2)}, 17, {"start": -9, "end": -1}),
    ("Size", {"a": MATRIX}, 17, {}),
    ("ConstantOfShape", {"s": i(2, 3)}, 17, {}),
    ("Split", {"a": MATRIX, "s": i(1, 3)}, 17, {"axis": 1, "outputs": 2}),
    ("Split", {"a": MATRIX}, 17, {"axis": -1, "outputs": 2}),
    ("Split", {"a": MATRIX}, 12, {"axis": 1, "split": [3, 1], "outputs": 2}),
    ("Split", {"a": SIGNED[:5]}, 18, {"num_outputs": 3, "outputs": 3}),
]


BY_OPSET = {opset: [case for case in CASES if case[2] == opset] for _, _, opset, _ in CASES}


@pytest.mark.parametrize(
    "cases",
    [
        pytest.param(cases[place : place + 40], id=f"{opset} from {place}")
        for opset, cases in BY_OPSET.items()
        for place in range(0, len(cases), 40)
    ],
)
def test_operators_agree_with_onnxruntime(cases: list[tuple[str, Any, int, Any]]) -> None:
    """A session for many operators; a tensor is named by its place and output."""
    model = together([single(op, given, opset, **more) for op, given, opset, more in cases])
    agreement = compare(model)
    assert agreement.wrong == []
    assert agreement.runs == 1
    assert agreement.known == {name for node in model.graph.node for name in node.output}


@each_row(
    ("op", "inputs", "attributes"),
    [
        # To float32 by way of double it would be rounded twice.
        ("Cast", {"a": i(2**60 + 2**36 + 1, 2**53 + 1, 2**40)}, {"to": 1}),
        ("Cast", {"a": REALS.astype(F64) / 3}, {"to": 10}),
        ("Mul", {"a": REALS.astype(np.float16), "b": np.array(0.1, np.float16)}, {}),
        ("Mul", {"a": np.array([1e-30, 1e-20], F32), "b": np.array(1e-12, F32)}, {}),
        ("Mul", {"a": np.array([1e30, 1.0], F32), "b": np.array(1e30, F32)}, {}),
        ("Div", {"a": i(7, 8), "b": i(2, -1)}, {}),
        ("Pow", {"a": i(3, -3), "b": i(35, 40)}, {}),
        ("Pad", {"a": MATRIX, "p": i(-1, 1, 1, -2)}, {}),
        ("Cast", {"a": np.array([1e20, -1.0, np.nan, np.inf], F32)}, {"to": 2}),
        ("Max", {"a": np.array([np.nan, 1.0, np.inf], F32), "b": np.array(0, F32)}, {}),
        ("ReduceProd", {"a": i(2**40, 2**40)}, {}),
        # Which zero it is.
        ("Mul", {"a": ZEROS, "b": -ZEROS[::-1]}, {}),
        ("Add", {"a": ZEROS, "b": ZEROS[::-1].copy()}, {}),
        ("Max", {"a": ZEROS, "b": ZEROS[::-1].copy()}, {}),
        ("Min", {"a": ZEROS, "b": ZEROS[::-1].copy()}, {}),
        ("Clip", {"a": ZEROS, "lo": np.array(0, F32)}, {}),
        *((op, {"a": ZEROS}, {}) for op in ["Relu", "LeakyRelu", "Sqrt", "Sign", *EXACT_POINTS]),
        ("LeakyRelu", {"a": REALS}, {"alpha": 0.0}),
        *((op, {"a": REALS / 8}, {}) for op in ("Ceil", "Floor", "Round")),
        ("CumSum", {"a": ZEROS, "x": np.array(0, I64)}, {"exclusive": 1}),
        ("ReduceSum", {"a": ZEROS[1:]}, {}),
        ("MatMul", {"a": ZEROS, "b": -np.ones(2, F32)}, {}),
        ("Unique", {"a": ZEROS}, {}),
        # What is rounded, and how often.
        ("DequantizeLinear", {"a": i(2**30 + 1, 3, dtype=I32), "s": np.array(0.1, F32)}, {}),
        ("DequantizeLinear", {"a": i(0, 1, dtype=np.int8), "s": np.array(np.inf, F32)}, {}),
        ("ReduceMean", {"a": np.array([7, 0, 0], F32)}, {}),
        ("ReduceMean", {"a": i(7, 0, -8)}, {}),
        ("ReduceSum", {"a": np.array([1e8, 1, -1e8, 0.1], F32)}, {}),
        ("ReduceSumSquare", {"a": i(2**40, 3)}, {}),
        ("CumSum", {"a": np.array([1e8, 1, -1e8, 0.1], F32), "x": np.array(0, I64)}, {}),
        ("MatMul", {"a": REALS * np.array(0.1, F32), "b": REALS}, {}),
        ("Pow", {"a": REALS, "b": np.array(0.5, F32)}, {}),
        ("Sqrt", {"a": REALS}, {}),
        *((op, {"a": REALS}, {}) for op in ["Log", "Reciprocal", *EXACT_POINTS]),
        # What is not in one order, or not defined.
        ("TopK", {"a": i(3, 1, 3, 3), "k": i(2)}, {"outputs": 2}),
        ("ArgMax", {"a": np.array([np.nan, 1], F32)}, {}),
        ("Unique", {"a": MATRIX[::-1].copy()}, {"axis": 0, "sorted": 0}),
        ("Unique", {"a": i(3, 1, 3, 2)}, {"sorted": 0}),
        ("Unique", {"a": i(3, 1, 3, 2)}, {"sorted": 0, "outputs": 4}),
        ("ScatterND", {"a": SIGNED, "i": i(1, 1).reshape(2, 1), "u": i(7, 8)}, {}),
        ("ScatterElements", {"a": SIGNED, "i": i(1, -5), "u": i(7, 8)}, {"reduction": "add"}),
        ("BitShift", {"a": i(200, dtype=np.uint8), "b": i(1, dtype=np.uint8)}, OVER),
    ],
)
def test_hard_cases_are_right_or_unknown(op: str, inputs: Any, attributes: Any) -> None:
    opset = 20 if op in EXACT_POINTS else 18
    agreement = compare(single(op, inputs, opset, **attributes))
    assert agreement.wrong == []
    assert agreement.runs == 1


# Sizes that are not known

SIZES = [{"n": n, "m": 7 * n % 50 + 1} for n in (*range(1, 40), 223, 224, 225)]

HEADER = """
g (float[n, m] x) => () {
  shape = Shape (x)
  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64[1] {1}> ()
  two = Constant <value = int64[1] {2}> ()
  three = Constant <value = int64[1] {3}> ()
  n = Gather (shape, zero)
  m = Gather (shape, one)
"""

CHAINS = {
    # What PyTorch's TorchScript exporter writes for F.pad(x, (1, 2, 3, 4)) of a tensor of rank 4.
    "torchscript_pad": """
      given = Constant <value = int64[4] {1, 2, 3, 4}> ()
      given_shape = Shape (given)
      given_size = Gather <axis = 0> (given_shape, zero)
      rank = Constant <value = int64 {4}> ()
      pair = Constant <value = int64 {2}> ()
      all = Mul (rank, pair)
      missing = Sub (all, given_size)
      cast = Cast <to = 7> (given)
      zeros = ConstantOfShape <value = int64[1] {0}> (missing)
      flat = Concat <axis = 0> (cast, zeros)
      by_axis = Constant <value = int64[2] {-1, 2}> ()
      pairs = Reshape (flat, by_axis)
      last = Constant <value = int64[1] {-1}> ()
      before_first = Constant <value = int64[1] {-9223372036854775807}> ()
      reversed = Slice (pairs, last, before_first, zero, last)
      transposed = Transpose <perm = [1, 0]> (reversed)
      pads = Reshape (transposed, last)
      y = Cast <to = 7> (pads)""",
    # timm's Conv2dSame, in floats as torch.ceil makes it.
    "timm_same": """
      size = Cast <to = 1> (n)
      stride = Constant <value = float {2.0}> ()
      unit = Constant <value = float {1.0}> ()
      span = Constant <value = float {5.0}> ()
      floor = Constant <value = float {0.0}> ()
      quotient = Div (size, stride)
      steps = Ceil (quotient)
      less = Sub (steps, unit)
      reach = Mul (less, stride)
      end = Add (reach, span)
      raw = Sub (end, size)
      total = Clip (raw, floor)
      half = Div (total, stride)
      begin = Cast <to = 7> (half)
      whole = Cast <to = 7> (total)
      rest = Sub (whole, begin)
      y = Concat <axis = 0> (begin, rest)""",
    # EnCodec: the frames of a convolution with stride 5, rounded up, and what they lack.
    "encodec": """
      size = Cast <to = 1> (n)
      unit = Constant <value = float {1.0}> ()
      span = Constant <value = float {5.0}> ()
      stride = Constant <value = int64[1] {5}> ()
      over = Sub (size, span)
      quotient = Div (over, span)
      frames = Add (quotient, unit)
      above = Ceil (frames)
      count = Cast <to = 7> (above)
      reach = Mul (count, stride)
      y = Sub (reach, n)""",
    # timm's in integers, as the scripted -(-n // s) becomes: Div truncates.
    "truncated_division": """
      negative = Neg (n)
      quotient = Div (negative, three)
      steps = Neg (quotient)
      reach = Mul (steps, three)
      raw = Sub (reach, n)
      y = Max (raw, zero)""",
    # tf2onnx: an atrous convolution pads to a multiple of the rate, crops afterwards.
    "tf2onnx_atrous": """
      spatial = Slice (shape, zero, two)
      rate = Constant <value = int32[2] {4, 4}> ()
      base = Constant <value = int32[2] {8, 8}> ()
      size = Cast <to = 6> (spatial)
      full = Add (size, base)
      partial = Mod (full, rate)
      lack = Sub (rate, partial)
      extra = Mod (lack, rate)
      nothing = Constant <value = int32[1] {0}> ()
      is_none = Equal (extra, nothing)
      flag = Cast <to = 6> (is_none)
      is_some = Not (is_none)
      other = Cast <to = 6> (is_some)
      sentinel = Constant <value = int32[1] {2147483647}> ()
      keep = Mul (flag, sentinel)
      crop = Mul (other, extra)
      ends = Sub (keep, crop)
      padded = Add (full, extra)
      step = Constant <value = int32[2] {1, 1}> ()
      axes = Constant <value = int32[2] {0, 1}> ()
      begins = Constant <value = int32[2] {0, 0}> ()
      cut = Slice (x, begins, ends, axes, step)
      y = Shape (cut)""",
    "branch_on_size": """
      limit = Constant <value = int64[1] {32}> ()
      small = Less (n, limit)
      even = Mod (n, two)
      is_odd = Cast <to = 9> (even)
      both = And (small, is_odd)
      doubled = Mul (n, two)
      picked = Where (both, doubled, one)
      float_n = Cast <to = 1> (n)
      thirty = Constant <value = float {30.5}> ()
      low = Min (float_n, thirty)
      lowest = Cast <to = 7> (low)
      y = Max (lowest, picked)""",
    "layout": """
      flat = Concat <axis = 0> (n, m, n)
      column = Unsqueeze (flat, one)
      shape_of_pair = Constant <value = int64[2] {3, 2}> ()
      tiled = Expand (column, shape_of_pair)
      turned = Transpose (tiled)
      first, second = Split <axis = 0> (turned)
      row = Squeeze (second, zero)
      y = Slice (row, one, three)
    """,
}


@pytest.mark.parametrize("name", CHAINS)
def test_chain_of_exporter_agrees_with_onnxruntime(name: str) -> None:
    model = parsed(HEADER + CHAINS[name] + "\n}")
    agreement = compare(model, SIZES)
    assert agreement.wrong == []
    assert agreement.runs == len(SIZES)
    assert "y" in agreement.known


FLOATS = """
  f = Cast <to = 1> (n)
  d = Cast <to = 11> (n)
  point_seven = Constant <value = float {0.7}> ()
  seventh = Constant <value = float {0.14285714924335480}> ()
  two = Constant <value = float {2.0}> ()
  third = Constant <value = float {3.0}> ()
  half = Constant <value = float {0.5}> ()
  minus = Constant <value = float {-3.0}> ()
  broken = Constant <value = float {3.5}> ()
  many = Constant <value = int64 {1000}> ()
  three = Constant <value = double {3.0}> ()
"""


@each_row(
    "body",
    [
        pytest.param("p = Mul (f, point_seven) y = Ceil (p)", id="fraction"),
        pytest.param("p = Mul (f, seventh) y = Ceil (p)", id="reciprocal"),
        pytest.param("q = Div (f, third) y = Add (q, half)", id="kept quotient"),
        pytest.param("q = Div (f, third) y = Add (q, two)", id="moved quotient"),
        pytest.param("q = Div (f, third) y = Mul (q, third)", id="multiplied back"),
        pytest.param("q = Div (f, third) y = Round (q)", id="rounded quotient"),
        pytest.param("q = Div (f, third) y = Cast <to = 11> (q)", id="widened"),
        pytest.param("q = Div (f, third) y = Greater (q, half)", id="compared"),
        pytest.param("y = Div (two, f)", id="divisor"),
        pytest.param("h = Cast <to = 10> (n) y = Cast <to = 7> (h)", id="float16"),
        pytest.param("t = Mul (f, third) y = Ceil (t)", id="above 2^24"),
        pytest.param("i = Cast <to = 6> (n) k = Cast <to = 6> (many) y = Mul (i, k)", id="int32"),
        pytest.param("q = Div (f, broken) y = Floor (q)", id="divisor with a fraction"),
        pytest.param("e = Sub (n, n) o = Cast <to = 1> (e) y = Div (two, o)", id="zero"),
        pytest.param("y = Sqrt (f)", id="root"),
        pytest.param("y = Sin (f)", id="sine"),
    ],
)
def test_what_rounds_or_overflows_is_unknown(body: str) -> None:
    model = parsed(f"g (uint8[n] x) => () {{ n = Shape (x) {FLOATS} {body} z = Identity (y) }}")
    graph = Graph.from_proto(model)
    value = Analysis(graph).value(graph.tensor("z"))
    assert value is not None
    (item,) = value.data
    assert isinstance(item, Unknown)


@pytest.mark.parametrize(
    "body",
    [
        "q = Div (f, third) y = Ceil (q)",
        "q = Div (f, third) y = Floor (q)",
        "q = Div (f, third) y = Cast <to = 7> (q)",
        "q = Mul (f, half) y = Ceil (q)",
        "q = Div (f, minus) y = Ceil (q)",
        "q = Div (f, two) r = Sub (q, half) y = Floor (r)",
        "q = Div (d, three) c = Ceil (q) y = Mul (c, three)",
        "e = Neg (f) q = Div (e, third) y = Floor (q)",
        "e = Neg (f) q = Div (e, third) y = Cast <to = 7> (q)",
        "e = Neg (f) q = Div (e, two) y = Cast <to = 7> (q)",
        "q = Div (f, third) m = Neg (q) y = Floor (m)",
        "q = Div (f, third) c = Ceil (q) t = Mul (c, third) e = Sub (t, f) y = Cast <to = 7> (e)",
        "q = Div (f, third) y = Min (f, third)",
    ],
)
def test_floats_are_right_up_to_the_greatest_size(body: str) -> None:
    sizes = [*range(1, 12), 2**12 + 1, 2**23 - 1, LARGEST_SIZE - 1, LARGEST_SIZE]
    model = parsed(f"g (uint8[n] x) => () {{ n = Shape (x) {FLOATS} {body} }}")
    agreement = compare(model, [{"n": n} for n in sizes])
    assert agreement.wrong == []
    assert agreement.runs == len(sizes)
    assert "y" in agreement.known


@pytest.mark.parametrize("divisor", [3, 5, 7, 10, 12, 49, 127, 1000, 4095])
def test_quotient_rounds_to_whole_numbers_as_float32_does(divisor: int) -> None:
    # Next to multiples of the divisor, where a rounding error would show, over the whole range.
    multiples = np.linspace(0, (2**24 - 2) // divisor, 300).astype(np.int64) * divisor
    numbers = np.unique(np.concatenate([multiples - 1, multiples, multiples + 1]))
    numbers = numbers[(numbers > 0) & (numbers < 2**24)]
    quotients = numbers.astype(np.float32) / np.float32(divisor)
    n = symbol("n", Sizes(last=2**24 - 1))
    quotient = floats.divide(floats.from_integer(n, FLOAT), float(divisor), FLOAT)
    for rounded, expected in (
        (floats.to_integer(floats.floor(quotient, FLOAT)), np.floor(quotients)),
        (floats.to_integer(floats.ceil(quotient, FLOAT)), np.ceil(quotients)),
        (floats.to_integer(quotient), np.trunc(quotients)),
    ):
        assert [evaluate(rounded, {"n": int(number)}) for number in numbers] == expected.tolist()


@each_row("divisor", [3, 5, -5, 6, 7, 10, 49, 1000], at_once=4)
@pytest.mark.parametrize("number", [1, -1, 3, -1000, 2**12 + 1])
def test_a_quotient_plus_a_number_rounds_as_float32_does(divisor: int, number: int) -> None:
    greatest = 2**24 - 2
    while True:  # the greatest power of two up to which it is claimed
        n = symbol("n", Sizes(last=greatest))
        quotient = floats.divide(floats.from_integer(n, FLOAT), float(divisor), FLOAT)
        moved = floats.add(quotient, float(number), FLOAT)
        if not isinstance(moved, Unknown):
            break
        greatest //= 2
    assert isinstance(floats.add(moved, 1.0, FLOAT), Unknown)
    # Where the sum reaches a power of two, and elsewhere.
    powers = abs(divisor) * (2 ** np.arange(24) - abs(number))
    near = (np.concatenate([powers, -powers])[:, None] + np.arange(-3, 4)).ravel()
    numbers = np.unique(np.concatenate([near, np.linspace(1, greatest, 300).astype(np.int64)]))
    numbers = numbers[(numbers > 0) & (numbers <= greatest)]
    sums = numbers.astype(np.float32) / np.float32(divisor) + np.float32(number)
    for rounded, expected in (
        (floats.to_integer(floats.floor(moved, FLOAT)), np.floor(sums)),
        (floats.to_integer(floats.ceil(moved, FLOAT)), np.ceil(sums)),
        (floats.to_integer(moved), np.trunc(sums)),
    ):
        if isinstance(rounded, Unknown):  # the sign may change too late for a form
            assert abs(number) > 3
            continue
        assert [evaluate(rounded, {"n": int(each)}) for each in numbers] == expected.tolist()


INTEGER_OPS = [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Mod",
    "Min",
    "Max",
    "Where",
    "Neg",
    "Clip",
    "Cast",
]
FLOAT_OPS = [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Min",
    "Max",
    "Where",
    "Neg",
    "Ceil",
    "Floor",
    "Clip",
]


def random_arithmetic(seed: int) -> onnx.ModelProto:
    """Random expressions of two sizes and constants, in four types."""
    random = Random(seed)
    lines = []
    pools: dict[int, list[str]] = {}
    for dtype, name in ((7, "int64"), (6, "int32"), (1, "float"), (11, "double")):
        pools[dtype] = [f"n{dtype}", f"m{dtype}"]
        lines += [f"n{dtype} = Cast <to = {dtype}> (n)", f"m{dtype} = Cast <to = {dtype}> (m)"]
        for k in range(4):
            number: float = random.choice([-3, -2, 1, 2, 3, 4, 5, 7, 32])
            if dtype in (1, 11) and random.random() < 0.3:
                number = random.choice([0.5, 0.25, 1.5, 0.7, -2.5])
            pools[dtype].append(f"c{dtype}_{k}")
            lines.append(f"c{dtype}_{k} = Constant <value = {name} {{{number}}}> ()")
    for k in range(14):
        dtype = random.choice(list(pools))
        op = random.choice(FLOAT_OPS if dtype in (1, 11) else INTEGER_OPS)
        a, b, c = (random.choice(pools[dtype]) for _ in range(3))
        if op == "Cast":
            dtype = random.choice(list(pools))
            lines.append(f"v{k} = Cast <to = {dtype}> ({a})")
        elif op in ("Neg", "Ceil", "Floor"):
            lines.append(f"v{k} = {op} ({a})")
        elif op == "Where":
            test = random.choice(["Less", "Equal", "GreaterOrEqual"])
            lines += [f"b{k} = {test} ({a}, {b})", f"v{k} = Where (b{k}, {c}, {a})"]
        elif op == "Clip":
            low, high = (name for name in pools[dtype] if name.startswith("c")), pools[dtype][5]
            lines.append(f"v{k} = Clip ({a}, {next(low)}, {high})")
        elif op in ("Div", "Mod") and dtype in (6, 7):
            lines.append(f"v{k} = {op} ({a}, {pools[dtype][random.randrange(2, 6)]})")
        else:
            lines.append(f"v{k} = {op} ({a}, {b})")
        pools[dtype].append(f"v{k}")
    return parsed(HEADER.replace("int64[1]", "int64") + "\n".join(lines) + "\n}")


def arithmetic_agrees(model: onnx.ModelProto) -> None:
    """Holds every claim on expressions of two sizes against onnxruntime."""
    agreement = compare(model, SIZES[::3])
    assert agreement.wrong == []
    assert agreement.runs == len(SIZES[::3])


@pytest.mark.parametrize("seed", [3, 17, 28, 50])
def test_random_arithmetic_agrees_with_onnxruntime(seed: int) -> None:
    arithmetic_agrees(random_arithmetic(seed))


# Limits


def analysis_of(text: str) -> tuple[Graph, Analysis]:
    graph = Graph.from_proto(parsed(text))
    return graph, Analysis(graph)


def test_constants_that_overflow_are_unknown() -> None:
    limit = np.array([2**31 - 1, 5], np.int32)
    graph = Graph.from_proto(single("Add", {"a": limit, "b": np.array([1, 1], np.int32)}))
    value = Analysis(graph).value(graph.tensor("y0"))
    assert value is not None
    assert isinstance(value.data[0], Unknown)
    assert value.data[1] == 6


def test_float16_results_are_one_number_only_where_they_are_exact() -> None:
    # onnxruntime may compute them in float32 and round them later, or not at all.
    numbers = np.array([0.1, 4.0], np.float16)
    graph = Graph.from_proto(single("Mul", {"a": numbers, "b": numbers}))
    value = Analysis(graph).value(graph.tensor("y0"))
    assert value is not None
    assert isinstance(value.data[0], Unknown)
    assert value.data[1] == 16.0


ONE = ("Neg", "Abs")
HALF_OPS = "Add Sub Mul Div Min Max Ceil Floor Sqrt Relu Neg Abs Cast"


def random_float16(seed: int) -> onnx.ModelProto:
    """A chain of float16 that ends in integers, of which nothing else is exposed."""
    random = Random(seed)
    lines, pool = [], []
    for k in range(3):
        numbers = ", ".join(str(random.randrange(1, 300)) for _ in range(3))
        lines.append(f"i{k} = Constant <value_ints = [{numbers}]> ()")
        lines.append(f"h{k} = Cast <to = 10> (i{k})")
        pool.append(f"h{k}")
    for k in range(2):
        number = random.choice([0.5, 0.25, 2.0, 3.0, 7.0, 5.0, 0.1, 1.5])
        lines.append(f"f{k} = Constant <value_float = {number}> () c{k} = Cast <to = 10> (f{k})")
        pool.append(f"c{k}")
    for k in range(random.randint(1, 6)):
        op = random.choice(HALF_OPS.split())
        a, b = random.choices(pool[-4:], k=2)
        if op == "Cast":
            lines.append(f"w{k} = Cast <to = 1> ({a}) v{k} = Cast <to = 10> (w{k})")
        else:
            lines.append(f"v{k} = {op} ({a}{f', {b}' if len(op) == 3 and op not in ONE else ''})")
        pool.append(f"v{k}")
    return parsed(f"g () => (int64[3] y) {{ {' '.join(lines)} y = Cast <to = 7> ({pool[-1]}) }}")


def float16_agrees(model: onnx.ModelProto) -> None:
    """Holds what is known of `y` against what every level of onnxruntime makes of it."""
    graph = Graph.from_proto(model)
    value = Analysis(graph).value(graph.tensor("y"))
    items: list[Any] = [] if value is None else value.data.reshape(-1).tolist()
    for level in ("off", "full"):
        (actual,) = run(model, {}, level)
        for known, number in zip(items, actual.reshape(-1).tolist(), strict=value is not None):
            assert isinstance(known, Unknown) or known == number


@each_row("seed", [0, 1, 4, 11, 25, 36], at_once=8)
def test_random_float16_is_what_every_level_makes_of_it(seed: int) -> None:
    float16_agrees(random_float16(seed))


@each_row(
    "body",
    [
        "y = ConstantOfShape (huge)",
        "y = Expand (one, huge)",
    ],
)
def test_large_contents_are_not_evaluated(body: str) -> None:
    graph, analysis = analysis_of(
        f"""g (float[n] x) => () {{
          huge = Constant <value = int64[2] {{1000000, 1000000}}> ()
          one = Constant <value = int64[1] {{1}}> ()
          {body} }}"""
    )
    assert analysis.shape(graph.tensor("y")) is not None
    assert analysis.value(graph.tensor("y")) is None


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(TensorProto(data_type=122, raw_data=b"1234"), id="no such type"),
        pytest.param(TensorProto(raw_data=b"1234"), id="no type"),
        pytest.param(TensorProto(data_type=1, raw_data=b"12"), id="half an element"),
        pytest.param(TensorProto(data_type=1, data_location=TensorProto.EXTERNAL), id="in no file"),
    ],
)
def test_what_cannot_be_read_fills_nothing(value: TensorProto) -> None:
    value.dims.append(1)
    graph = Graph.from_proto(single("ConstantOfShape", {"s": i(2)}, value=value))
    assert Analysis(graph).value(graph.tensor("y0")) is None


def test_content_of_weights_is_not_read() -> None:
    weight = np.zeros((65, 64), np.float32)
    graph = Graph.from_proto(single("Identity", {"w": weight}))
    analysis = Analysis(graph)
    assert analysis.value(graph.tensor("w")) is None
    assert analysis.shape(graph.tensor("w")) == (65, 64)


def test_initializer_that_a_caller_may_override_is_not_constant() -> None:
    model = parsed(
        """g (float[2] x, int64[2] pads) => () <int64[2] pads = {1, 1}> { y = Pad (x, pads) }"""
    )
    graph = Graph.from_proto(model)
    analysis = Analysis(graph)
    assert analysis.value(graph.tensor("pads")) is None
    (size,) = analysis.shape(graph.tensor("y")) or ()
    assert isinstance(size, Unknown)


def test_what_selects_is_of_truth_values() -> None:
    graph, analysis = analysis_of("""g () => () {
        c = Constant <value_ints = [1, 0]> () a = Constant <value_ints = [3, 4]> ()
        b = Cast <to = 9> (c) known = Where (b, a, c) unknown = Where (c, a, c) }""")
    known = analysis.value(graph.tensor("known"))
    assert known is not None
    assert known.data.tolist() == [3, 0]
    assert analysis.value(graph.tensor("unknown")) is None


def test_what_is_unknown_does_not_spread_to_other_elements() -> None:
    graph, analysis = analysis_of(
        """g (float[n] x, int64[1] given) => () {
          one = Constant <value = int64[1] {1}> ()
          both = Concat <axis = 0> (given, one)
          y = Add (both, one) }"""
    )
    first, second = analysis.integers(graph.tensor("y")) or ()
    assert isinstance(first, Unknown)
    assert second == 2


def test_deep_graph_needs_no_deep_stack() -> None:
    depth = 5_000
    relus = [helper.make_node("Relu", [f"x{k}"], [f"x{k + 1}"]) for k in range(depth)]
    copies = [helper.make_node("Identity", [f"s{k}"], [f"s{k + 1}"]) for k in range(depth)]
    nodes = [*relus, helper.make_node("Shape", [f"x{depth}"], ["s0"]), *copies]
    x = helper.make_tensor_value_info("x0", TensorProto.FLOAT, ["n"])
    out = onnx.ValueInfoProto(name=f"s{depth}")
    model = helper.make_model(helper.make_graph(nodes, "deep", [x], [out]), ir_version=8)
    graph = Graph.from_proto(model)
    integers = Analysis(graph).integers(graph.tensor(f"s{depth}"))
    assert integers == (symbol("n", Sizes(last=LARGEST_SIZE)),)
