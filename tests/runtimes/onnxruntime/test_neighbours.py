"""Operators that a `Pad` keeps apart, and that onnxruntime fuses wrongly once it does not.

A row is a model that onnxruntime runs rightly at every level, in which an exact rewrite would take
away what stands between: that rewrite is not made, and all others are.
"""

from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.reasons import Reason
from tests.support import LEVELS, STYLES, agree, one, ran

PADS = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"
Q8 = "float s = {1}, float t = {0.5}, int8 i = {3}, int8 j = {0}, uint8 u = {7}, uint8 v = {0}"
WEIGHT = f"float[2, 2, 2, 2] w = {{{', '.join(str(n * 0.37) for n in range(-8, 8))}}}"
POOL = "MaxPool <kernel_shape = [3, 3]>"
SCALES = "float[2] r = {0.5, 2}, uint8[2] z = {7, 7}"


def model(
    body: str, kind: str = "float", opset: int = 17, more: str = "", output: str = "float"
) -> onnx.ModelProto:
    return one(
        body,
        inputs=f"{kind}[1, 2, 9, 8] x",
        outputs=f"{output}[] y",
        initializers=", ".join(filter(None, (PADS, more))),
        opset=opset,
        ir=8 if opset < 21 else 10,
    )


DOUBLE = "double low = {-1}, double high = {5}, double none = {-inf}"
APART = [
    pytest.param(
        model(
            "a = QuantizeLinear (x, s, u) b = DequantizeLinear (a, s, u)"
            " c = QuantizeLinear (b, s, v) d = Pad (c, p, v) e = DequantizeLinear (d, s, v)"
            " y = Conv (e, w)",
            more=f"{Q8}, {WEIGHT}",
        ),
        id="two pairs with other zero points",
    ),
    pytest.param(
        model(
            "a = QuantizeLinear (x, s, i) b = DequantizeLinear (a, s, i) c = Identity (b)"
            " d = Pad (c, p) e = QuantizeLinear (d, t, i) f = DequantizeLinear (e, t, i)"
            " y = Conv (f, w)",
            more=f"{Q8}, {WEIGHT}",
        ),
        id="two pairs with other scales, and a copy",
    ),
    pytest.param(
        model(
            "a = QuantizeLinear (x, t, i) b = DequantizeLinear (a, s, j)"
            " c = QuantizeLinear (b, s, j) d = Pad (c, p, i) e = DequantizeLinear (d, t, i)"
            " f = QuantizeLinear (e, s, j) h = DequantizeLinear (f, s, j) y = Conv (h, w)",
            more=f"{Q8}, {WEIGHT}",
        ),
        id="pairs that meet once what is between them is taken out",
    ),
    pytest.param(
        model(
            f"a = Relu (x) b = Pad (a, p, none) c = Clip (b, low, high) y = {POOL} (c)",
            kind="double",
            more=DOUBLE,
            output="double",
        ),
        id="Relu and Clip of double",
    ),
    pytest.param(
        model(
            "a = Relu (x) n = Transpose <perm = [0, 2, 3, 1]> (a) b = Pad (n, q)"
            " c = Clip (b, low, high) t = Transpose <perm = [0, 3, 1, 2]> (c)"
            " f = Cast <to = 1> (t) y = Conv (f, w)",
            kind="int32",
            more="int64[8] q = {0, 1, 1, 0, 0, 1, 1, 0}, int32 low = {-1}, int32 high = {5}, "
            + WEIGHT,
        ),
        id="Relu and Clip of int32, channels last",
    ),
    pytest.param(
        model(
            "a = Div (one, x) b = Pad (a, p) c = Mul (b, two) f = Cast <to = 1> (c)"
            " y = Conv (f, w)",
            kind="int64",
            more=f"int64 one = {{1}}, int64 two = {{6}}, {WEIGHT}",
        ),
        id="1 / x of integers and Mul",
    ),
    pytest.param(
        model(
            f"a = DequantizeLinear (x, s, i) b = Pad (a, p, n) y = {POOL} (b)",
            kind="int8",
            opset=21,
            more=f"{Q8}, float n = {{-inf}}",
        ),
        id="DequantizeLinear of int8 and a pool",
    ),
    pytest.param(
        model(
            "a = QuantizeLinear <output_dtype = 3> (x, t, j) b = Pad (a, p, j)"
            " c = DequantizeLinear (b, t, j) y = Conv (c, w)",
            opset=21,
            more=f"{Q8}, {WEIGHT}",
        ),
        id="output_dtype int8",
    ),
    pytest.param(
        model(
            "a = DequantizeLinear <axis = 1> (x, r, z) b = Pad (a, h, n, k)"
            " c = AveragePool <kernel_shape = [2, 2], count_include_pad = 1> (b)"
            " y = QuantizeLinear (c, s, u)",
            kind="uint8",
            output="uint8",
            opset=18,
            more=f"{Q8}, {SCALES}, float n = {{0}}, int64[4] h = {{1, 1, 1, 1}},"
            " int64[2] k = {2, 3}",
        ),
        id="an average of data with a scale for each channel",
    ),
    pytest.param(
        model(
            'a = DequantizeLinear (x, s, u) b = Pad (a, p) c = AveragePool <auto_pad = "VALID",'
            " ceil_mode = 1, kernel_shape = [3, 3], strides = [2, 2]> (b)"
            " y = QuantizeLinear (c, s, u)",
            kind="uint8",
            output="uint8",
            more=Q8,
        ),
        id="an average that rounds up",
    ),
    pytest.param(
        model(
            "a = DequantizeLinear <axis = 1> (x, r, z) b = Concat <axis = 1> (a, a)"
            f" c = Pad (b, p, n) d = {POOL} (c) y = QuantizeLinear (d, s, i)",
            kind="uint8",
            output="int8",
            more=f"{Q8}, {SCALES}, float n = {{-inf}}",
        ),
        id="a QuantizeLinear to int8 that is copied past a pool",
    ),
    pytest.param(
        model(
            "a = DequantizeLinear (x, s, u) b = Pad (a, p, n) c = Conv (b, w)"
            " y = QuantizeLinear (c, s, u)",
            kind="uint8",
            output="uint8",
            more=f"{Q8}, {WEIGHT}, float n = {{-0.0}}",
        ),
        id="a Conv of float weights between quantisers",
    ),
    pytest.param(
        model(
            f"a = DequantizeLinear (x, s, i) b = Pad (a, p, n) c = {POOL} (b)"
            f" d = ReduceMax <keepdims = 1> (b) y = Sub (c, d)",
            kind="int8",
            opset=21,
            more=f"{Q8}, float n = {{-inf}}",
        ),
        id="DequantizeLinear of int8, a pool and another reader",
    ),
    pytest.param(
        model(
            f"a = DequantizeLinear (x, s, i) b = {POOL} (a) c = Neg (b) d = Pad (b, o) e = Neg (d)"
            " f = Mul (c, e) y = Conv (f, w)",
            kind="int8",
            opset=21,
            more=f"{Q8}, {WEIGHT}, int64[8] o = {{0, 0, 0, 0, 0, 0, 0, 0}}",
        ),
        id="DequantizeLinear of int8, and readers that become one",
    ),
    pytest.param(
        model(
            f"a = DequantizeLinear (x, s) b = Pad (a, p, n) y = {POOL} (b)",
            kind="int32",
            more=f"{Q8}, float n = {{-inf}}",
        ),
        id="DequantizeLinear of int32 and a pool",
    ),
    pytest.param(
        model(
            f"a = DequantizeLinear (x, s, o) b = Pad (a, p, n) y = {POOL} (b)",
            kind="int32",
            more=f"{Q8}, int32 o = {{0}}, float n = {{-inf}}",
        ),
        id="DequantizeLinear of int32 with a zero point and a pool",
    ),
    pytest.param(
        model(
            "a = DequantizeLinear (x, s) b = Pad (a, o) c = MatMul (b, m) d = Add (c, e)"
            " y = Conv (d, w)",
            kind="int8",
            more=f"{Q8}, {WEIGHT}, int64[8] o = {{0, 0, 0, 0, 0, 0, 0, 0}}, float[2] e = {{1, 2}},"
            " float[8, 2] m = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}",
        ),
        id="DequantizeLinear of int8, and a product that is reshaped",
    ),
]


def spread(proto: onnx.ModelProto) -> dict[str, Any]:
    """Data over the whole range of 8 bits, without zeros."""
    (value,) = proto.graph.input
    tensor = value.type.tensor_type
    kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    low = 1 if kind.kind == "u" else -120
    data = np.random.default_rng(0).integers(low, 120, [d.dim_value for d in tensor.shape.dim])
    if kind == np.int64:
        data = np.sign(data) * (1 + abs(data) % 5)
    return {value.name: np.where(data == 0, 1, data).astype(kind)}


@pytest.mark.parametrize("apart", APART)
def test_what_a_pad_keeps_apart_stays_apart(apart: onnx.ModelProto) -> None:
    feeds = spread(apart)
    expected = ran(apart, feeds, LEVELS[0])
    assert not isinstance(expected, str), expected
    assert all(agree(ran(apart, feeds, level), expected) for level in LEVELS)
    reasons = set()
    for style in STYLES:
        result = onnxpad.fix(apart, style=style, validate=False)
        for level in LEVELS:
            found = ran(result.model, feeds, level)
            assert agree(found, expected), f"{style}, {level}: {found}"
        assert not onnxpad.check(result.model, style=style).failing()
        reasons |= {finding.reason_code for finding in result.findings}
    assert Reason.JOINS_NEIGHBOURS in reasons


SAME = [
    pytest.param(
        model(
            "a = QuantizeLinear (x, s, u) b = DequantizeLinear (a, s, u)"
            " c = QuantizeLinear (b, s, u) d = Pad (c, p, u) e = DequantizeLinear (d, s, u)"
            " y = Conv (e, w)",
            more=f"{Q8}, {WEIGHT}",
        ),
        id="two equal pairs",
    ),
    pytest.param(
        model(
            f"a = Relu (x) b = Pad (a, p) c = Clip (b, low, high) y = {POOL} (c)",
            more="float low = {-1}, float high = {5}",
        ),
        id="Relu and Clip of float",
    ),
    pytest.param(
        model(
            "a = Div (one, x) b = Pad (a, p) c = Mul (b, two) y = Conv (c, w)",
            more=f"float one = {{1}}, float two = {{6}}, {WEIGHT}",
        ),
        id="1 / x of floats and Mul",
    ),
    pytest.param(
        model(
            f"a = DequantizeLinear (x, s, u) b = Pad (a, p, n) y = {POOL} (b)",
            kind="uint8",
            opset=21,
            more=f"{Q8}, float n = {{-inf}}",
        ),
        id="DequantizeLinear of uint8 and a pool",
    ),
    pytest.param(
        model(
            "a = DequantizeLinear (x, s, u) b = Pad (a, p) c = Conv (b, w)"
            " y = QuantizeLinear (c, s, u)",
            kind="uint8",
            output="uint8",
            more=f"{Q8}, {WEIGHT}",
        ),
        id="a Pad that onnxruntime folds itself",
    ),
]


@pytest.mark.parametrize("met", SAME)
def test_neighbours_that_are_fused_rightly_may_meet(met: onnx.ModelProto) -> None:
    result = onnxpad.fix(met, validate=False)
    assert "Pad" not in {node.op_type for node in result.model.graph.node}


TURN = "Transpose <perm = [0, 1, 3, 2]>"
READ = {
    "a pool": f"b = Pad (a, p, n) c = {POOL} (b) d = Identity (c)",
    "a Transpose": f"b = {TURN} (a) d = Pad (b, o)",
    "a Transpose of the Pad": f"b = Pad (a, o) d = {TURN} (b)",
    "a Reshape to the same": "b = Reshape (a, l) d = Pad (b, o)",
    "a Slice of all": "b = Slice (a, f, m) d = Pad (b, o)",
    "a pool, and another reader": f"b = Pad (a, p, n) d = {POOL} (b) o2 = Neg (b)",
}


@pytest.mark.parametrize("nodes", READ.values(), ids=READ)
def test_what_a_body_reads_is_kept_apart(nodes: str) -> None:
    """Not run without the `Pad`: onnxruntime ends the process with a failed assertion then."""
    branches = "then_branch = t () => (float[] e) {e = Relu (d)}, else_branch = f () => (float[] g)"
    read = model(
        f"a = DequantizeLinear (x, s, u) {nodes}"
        f" h = Cast <to = 9> (k) y = If <{branches} {{g = Neg (d)}}> (h)",
        kind="float k, uint8",
        output="float[] o2, float" if "o2" in nodes else "float",
        more=f"{Q8}, float n = {{-inf}}, int64[8] o = {{0, 0, 0, 0, 0, 0, 0, 0}},"
        " int64[4] l = {1, 2, -1, 8}, int64[1] f = {0}, int64[1] m = {99}",
    )
    (finding,) = onnxpad.fix(read, validate=False).findings
    assert finding.reason_code == Reason.JOINS_NEIGHBOURS


def test_what_a_second_reader_keeps_apart() -> None:
    """The amounts are constant in effect; once they are written so, the Clip alone reads the Relu.

    The other Pad has nothing to do with it.
    """
    text = (
        "a = Relu (x) c = Clip (a, low, high) h = Shape (a) z = Sub (h, h) q = Concat <axis = 0>"
        f" (z, b) d = Pad (c, q, none) m = {POOL} (d)"
    )
    proto = one(
        f"{text} e = Pad (m, o, none) y = {POOL} (e)",
        inputs="double[n, 2, h, w] x",
        outputs="double[] y",
        initializers=f"{DOUBLE}, int64[4] b = {{0, 0, 1, 1}},"
        " int64[8] o = {0, 0, 1, 0, 0, 0, 0, 1}",
    )
    feeds = {"x": np.random.default_rng(0).normal(size=(1, 2, 9, 8))}
    expected = ran(proto, feeds, LEVELS[1])
    assert not isinstance(expected, str), expected
    result = onnxpad.fix(proto, validate=False)
    assert agree(ran(result.model, feeds, LEVELS[1]), expected)


CUT = "p = Constant <value = int64[8] {0, 0, 1, 1, 0, 0, 1, 1}> ()"
BOUNDS = (
    "n = Constant <value = double {-inf}> () l = Constant <value = double {-1}> ()"
    " h = Constant <value = double {5}> ()"
)
ACROSS = {
    "the Clip in the function": (
        "r = Relu (x) y = local.F (r)",
        f"{CUT} {BOUNDS} b = Pad (v, p, n) c = Clip (b, l, h) z = {POOL} (c)",
    ),
    "the Relu in the function": (
        f"r = local.F (x) {CUT} {BOUNDS} b = Pad (r, p, n) c = Clip (b, l, h) y = {POOL} (c)",
        "w = Neg (v) z = Relu (w)",
    ),
    "both in the function": (
        "y = local.F (x)",
        f"u = Relu (v) {CUT} {BOUNDS} b = Pad (u, p, n) c = Clip (b, l, h) z = {POOL} (c)",
    ),
    "the Pad in the function": (
        f"r = Relu (x) {BOUNDS} b = local.F (r) y = Clip (b, l, h)",
        "p = Constant <value = int64[8] {0, 0, 0, 0, 0, 0, 0, 0}> () z = Pad (v, p)",
    ),
}


@pytest.mark.parametrize(("outside", "inside"), ACROSS.values(), ids=ACROSS)
def test_what_a_call_joins(outside: str, inside: str) -> None:
    proto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17, "local" : 1]>'
        f" g (double[1, 2, 9, 8] x) => (double[a, b, c, d] y) {{ {outside} }}"
        f' <domain: "local", opset_import: ["" : 17]> F (v) => (z) {{ {inside} }}'
    )
    feeds = spread(proto)
    expected = ran(proto, feeds, LEVELS[1])
    assert not isinstance(expected, str), expected
    result = onnxpad.fix(proto, validate=False)
    assert agree(ran(result.model, feeds, LEVELS[1]), expected)
    assert not result.changes
    assert not onnxpad.check(proto).failing()
