"""Small models on which something shows when the package is broken: one or two of each kind."""

from dataclasses import dataclass
from math import prod
from typing import Any, Final

import onnx

from onnxpad.finding import Trust
from tests.support import LOW, one


@dataclass(frozen=True, slots=True)
class Case:
    """A model, and how it is fixed.

    Attributes:
        model: What `fix` is given.
        style: As for `fix`.
        dynamic: As for `fix`.
        no_ceil: As for `fix`.
        trust: As for `fix`.
        sizes: What open dimensions are when it runs.
    """

    model: onnx.ModelProto
    style: str = "fold"
    dynamic: str = "keep"
    no_ceil: bool = False
    trust: Trust | None = None
    sizes: tuple[int, ...] = (9,)


# A kernel that is no square and weights that no turn or swap leaves as they are.
W = "float[3, 2, 3, 2] w = {" + ", ".join(str(i * 7 % 11 - 5) for i in range(36)) + "}"
SQUARE = "float[1, 2, 3, 3] w = {" + ", ".join(str(i * 7 % 11 - 5) for i in range(18)) + "}"
POINT = "float[1, 2, 1, 1] w = {2, -3}"
PADS = "int64[8] p = {0, 0, 1, 2, 0, 0, 0, 3}"
FAR = "int64[8] p = {0, 0, 3, 2, 0, 0, 1, 3}"
OPEN = "float[1, 2, H, V] x"
FAR_BELOW = 'y = Conv <auto_pad = "SAME_UPPER", strides = [5, 5]> (x, w)'
# 0.0 and -0.0 in the shape of the input.
NOUGHT = "m = Abs (x) z = Mul (m, z0) n = Neg (z)"
NOUGHTS = "float z0 = {0}, float n0 = {-0.0}"
THREE = "kernel_shape = [3, 3]"

# What torch's TorchScript exporter writes for F.pad(x, (2, 3, 1, 0)).
TORCH = """
    z = ConstantOfShape <value = int64[1] {0}> (four)
    filled = Concat <axis = 0> (asked, z)
    pairs = Reshape (filled, pairwise)
    turned = Slice (pairs, last, first, none, last)
    columns = Transpose <perm = [1, 0]> (turned)
    amounts = Reshape (columns, last)
    p = Cast <to = 7> (amounts)
    a = Pad (x, p)
    y = Conv (a, w)
"""
TORCH_CONSTANTS = (
    f"{W}, int64[1] four = {{4}}, int64[4] asked = {{2, 3, 1, 0}}, int64[2] pairwise = {{-1, 2}},"
    " int64[1] last = {-1}, int64[1] first = {-9223372036854775807}, int64[1] none = {0}"
)


def _computed(nodes: str, initializers: str, opset: int = 18, inputs: str = "") -> Case:
    """A `Pad` of the last axes by `p`, which nodes compute, before a Conv."""
    return Case(
        one(
            f"{nodes} a = Pad (x, p, , last) y = Conv (a, w)",
            inputs=inputs or "float[1, 2, 9, 8] x",
            initializers=f"{W}, int64[2] last = {{2, 3}}, {initializers}",
            opset=opset,
        ),
        sizes=(8, 9) if inputs else (9,),
    )


def _pool(op: str, attributes: str = THREE, value: str = "", first: str = "", **kind: Any) -> Case:
    """A `Pad` before a pool."""
    return Case(
        one(
            f"{first} a = Pad ({'r' if first else 'x'}, p{', c' if value else ''})"
            f" y = {op} <{attributes}> (a)",
            initializers=", ".join(filter(None, (FAR, value))),
        ),
        **kind,
    )


def _conv(nodes: str, initializers: str = f"{W}, {PADS}", **kind: Any) -> Case:
    """Nodes that end in a Conv."""
    given = {key: kind.pop(key) for key in ("inputs", "outputs", "opset") if key in kind}
    return Case(one(nodes, initializers=initializers, **given), **kind)


def _step(nodes: str, constants: str = "", value: str = "", pads: str = PADS, **kind: Any) -> Case:
    """A `Pad` of `x` to `a`, nodes that make `t` of it, and a Conv."""
    first = f"a = Pad (x, p{', c' if value else ''})"
    given = [kind.pop("weight", W), pads, constants, f"float c = {{{value}}}" if value else ""]
    return _conv(f"{first} {nodes} y = Conv (t, w)", ", ".join(filter(None, given)), **kind)


def _behind(nodes: str) -> Case:
    """Nodes behind a transposed convolution over one axis of 8, whose result is 19 long or so."""
    taps = ", ".join(str(i * 7 % 11 - 5) for i in range(24))
    constants = (
        f"float[2, 3, 4] w = {{{taps}}}, int64[1] s = {{1}}, int64[1] e = {{-3}}, "
        "int64[1] i = {2}, int64[1] one = {1}, "
        "int64[2] h = {3, 18}, int64[6] p = {0, 0, 0, 0, 0, 2}, float c = {5}, "
        "float[3] b = {1, 2, 3}"
    )
    return Case(one(nodes, inputs="float[1, 2, 8] x", initializers=constants))


def _same(side: str, attributes: str = "", weight: str = W, **kind: Any) -> Case:
    """A Conv with SAME."""
    more = f", {attributes}" if attributes else ""
    return _conv(f'y = Conv <auto_pad = "SAME_{side}"{more}> (x, w)', weight, **kind)


# timm's Conv2dSame, on one axis, for kernel 3 and stride 2.
SAME_FORMULA = """
    shape = Shape (x)
    n = Slice (shape, two, three)
    real = Cast <to = 1> (n)
    half = Div (real, by)
    up = Ceil (half)
    count = Cast <to = 7> (up)
    before = Sub (count, one)
    reach = Mul (before, two)
    extent = Add (reach, three)
    missing = Sub (extent, n)
    total = Max (missing, none)
    begin = Div (total, two)
    end = Sub (total, begin)
    p = Concat <axis = 0> (none, none, begin, none, none, end)
    a = Pad (x, p)
    y = Conv <strides = [2]> (a, w)
"""
SAME_CONSTANTS = (
    "float[1, 2, 3] w = {1, -2, 3, 5, -4, 2}, int64[1] two = {2}, int64[1] three = {3},"
    " float[1] by = {2}, int64[1] one = {1}, int64[1] none = {0}"
)
LINE = "float[1, 2, L] x"
NINE = "float[1, 2, 9] x"
LINE_PADS = "int64[6] p = {0, 0, 1, 0, 0, 2}"
WIDE = "float[1, 4, 3, 2] w = {" + ", ".join(str(i * 7 % 11 - 5) for i in range(24)) + "}"
COLUMN = "float[1, 2, 3, 1] w = {1, -2, 3, 5, -4, 2}"

QUANTISED = "float s = {0.5}, float t = {32}, uint8 z = {9}, uint8 r = {128}, uint8 v = {2}"
SIGNED = "float s = {0.5}, float t = {32}, int8 z = {-9}, int8 r = {0}, int8 v = {1}"


def _quantised(op: str, attributes: str = "", pad: str = "", held: str = "", **kind: Any) -> Case:
    """A quantised operator, behind a `Pad` with the given inputs if there are any."""
    last = "Nhwc" in op or "channels_last" in attributes
    given = kind.pop("inputs", f"uint8[{'1, 9, 8, 2' if last else '1, 2, 9, 8'}] x")
    data = "a" if pad else "x"
    tail = {
        "ConvInteger": f"({data}, w, z, v)",
        "QLinearConv": f"({data}, s, z, w, s, v, t, r)",
        "com.microsoft.QLinearConv": f"({data}, s, z, w, s, v, t, r)",
        "com.microsoft.QLinearAveragePool": f"({data}, s, z, s, r)",
        "com.microsoft.NhwcMaxPool": f"({data})",
        "com.microsoft.FusedConv": f"({data}, w)",
    }[op]
    parsed = one(
        f"{f'a = Pad ({pad})' if pad else ''} y = {op} <{attributes}> {tail}".replace("<> ", ""),
        inputs=given,
        outputs=f"{'int32' if op == 'ConvInteger' else given.split('[')[0]}[] y",
        initializers=held,
    )
    return Case(parsed, **kind)


def _weight(kind: str, *shape: int) -> str:
    """A quantised weight that no turn or swap leaves as it is."""
    values = ", ".join(str(i * 7 % 11 - (5 if kind == "int8" else 0)) for i in range(prod(shape)))
    return f"{kind}[{', '.join(map(str, shape))}] w = {{{values}}}"


WU = _weight("uint8", 3, 2, 3, 2)
WI = _weight("int8", 3, 2, 3, 2)
LAST = "int64[8] p = {0, 1, 2, 0, 0, 0, 3, 0}"

CASES: Final[dict[str, Case]] = {
    "Pad QLinearConv, value 0": _quantised(
        "QLinearConv", pad="x, p", held=f"{QUANTISED}, {WU}, {PADS}"
    ),
    "Pad QLinearConv, one off": _quantised(
        "QLinearConv", pad="x, p, c", held=f"{QUANTISED}, {WU}, {PADS}, uint8 c = {{12}}"
    ),
    "Pad QLinearConv": _quantised("QLinearConv", pad="x, p, z", held=f"{QUANTISED}, {WU}, {PADS}"),
    "Pad ConvInteger, zero point fed": Case(
        one(
            "a = Pad (x, p) y = ConvInteger (a, w, z)",
            inputs="uint8[1, 2, 9, 8] x, uint8 z",
            outputs="int32[] y",
            initializers=f"{WU}, {PADS}",
        )
    ),
    "QLinearConv, pad": _quantised(
        "QLinearConv", "pads = [0, 2, 1, 3]", held=f"{QUANTISED}, {WU}", style="pad"
    ),
    "ConvInteger int8, pad": _quantised(
        "ConvInteger",
        "pads = [0, 2, 1, 3]",
        held=f"{SIGNED}, {WI}",
        inputs="int8[1, 2, 9, 8] x",
        style="pad",
    ),
    "QLinearConv last, pad": _quantised(
        "com.microsoft.QLinearConv",
        "pads = [0, 2, 1, 3], channels_last = 1",
        held=f"{QUANTISED}, {WU}",
        style="pad",
    ),
    "Pad QLinearConv, last": _quantised(
        "com.microsoft.QLinearConv",
        "channels_last = 1",
        pad="x, p, z",
        held=f"{QUANTISED}, {WU}, {LAST}",
    ),
    "QLinearConv SAME, kernel far below stride": _quantised(
        "QLinearConv",
        'auto_pad = "SAME_UPPER", strides = [5, 5]',
        held=f"{QUANTISED}, {_weight('uint8', 3, 2, 1, 1)}",
        inputs="uint8[1, 2, 10, 10] x",
    ),
    "FusedConv SAME, kernel far below stride": _quantised(
        "com.microsoft.FusedConv",
        'auto_pad = "SAME_UPPER", strides = [5, 5], activation = "Relu"',
        held=POINT,
        inputs="float[1, 2, 10, 10] x",
    ),
    "Pad FusedConv, lowest": _quantised(
        "com.microsoft.FusedConv",
        'activation = "Relu"',
        pad="x, p, c",
        held=f"{W}, int64[8] p = {{0, 0, 1, 0, 0, 0, 1, 1}}, {LOW}",
        inputs="float[1, 2, 9, 8] x",
    ),
    "QLinearAveragePool last, pad": _quantised(
        "com.microsoft.QLinearAveragePool",
        f"{THREE}, pads = [0, 2, 1, 1], count_include_pad = 1, channels_last = 1",
        held=QUANTISED,
        style="pad",
    ),
    "QLinearAveragePool, pad": _quantised(
        "com.microsoft.QLinearAveragePool",
        f"{THREE}, pads = [0, 2, 1, 1]",
        held=QUANTISED,
        style="pad",
    ),
    "Pad QLinearAveragePool": _quantised(
        "com.microsoft.QLinearAveragePool",
        "kernel_shape = [4, 4]",
        pad="x, p, z",
        held=f"{QUANTISED}, {FAR}",
    ),
    "Pad QLinearAveragePool, ceil_mode": _quantised(
        "com.microsoft.QLinearAveragePool",
        "kernel_shape = [3], strides = [2], ceil_mode = 1",
        pad="x, p, z",
        held=f"{QUANTISED}, int64[6] p = {{0, 0, 1, 0, 0, 1}}",
        inputs="uint8[1, 2, 6] x",
    ),
    "NhwcMaxPool, pad": _quantised(
        "com.microsoft.NhwcMaxPool",
        f"{THREE}, pads = [0, 2, 1, 1]",
        inputs="int8[1, 9, 8, 2] x",
        style="pad",
    ),
    "Pad NhwcMaxPool, 0": _quantised(
        "com.microsoft.NhwcMaxPool",
        "kernel_shape = [4, 4]",
        pad="x, p",
        held="int64[8] p = {0, 3, 3, 0, 0, 3, 3, 0}",
        inputs="int8[1, 9, 8, 2] x",
    ),
    "Pad NhwcMaxPool, wide": _quantised(
        "com.microsoft.NhwcMaxPool",
        THREE,
        pad="x, p, c",
        held=f"{LAST}, int8 c = {{-128}}",
        inputs="int8[1, 9, 8, 2] x",
    ),
    "NhwcMaxPool SAME, kernel far below stride": _quantised(
        "com.microsoft.NhwcMaxPool",
        'auto_pad = "SAME_UPPER", kernel_shape = [1, 1], strides = [5, 5]',
        inputs="int8[1, 10, 10, 2] x",
    ),
    "Pad Conv": _conv("a = Pad (x, p) y = Conv (a, w)"),
    "Pad Conv, added": _conv("a = Pad (x, p) y = Conv <pads = [3, 0, 0, 1]> (a, w)"),
    "Pad Conv, symmetric": _conv("a = Pad (x, p) y = Conv (a, w)", style="symmetric"),
    "Pad Conv, axes": _conv(
        "a = Pad (x, p, , s) y = Conv (a, w)",
        f"{W}, int64[4] p = {{1, 2, 0, 3}}, int64[2] s = {{3, -2}}",
        opset=18,
    ),
    "Pad Conv, opset 9, value 5": _conv(
        "a = Pad <pads = [0, 0, 1, 2, 0, 0, 0, 3], value = 5.0> (x) y = Conv (a, w)", W, opset=9
    ),
    "Pad Conv, value 5": _conv(
        "a = Pad (x, p, c) y = Conv (a, w)", f"{W}, {PADS}, float c = {{5}}"
    ),
    "Pad Conv, value 0.5": _conv(
        "a = Pad (x, p, c) y = Conv (a, w)", f"{W}, {PADS}, float c = {{0.5}}"
    ),
    "Pad Conv, lowest": _conv(
        "a = Pad (x, p, c) y = Conv (a, w)", f"{W}, int64[8] p = {{0, 0, 1, 0, 0, 0, 1, 1}}, {LOW}"
    ),
    "Pad Conv, reflect": _conv('a = Pad <mode = "reflect"> (x, p) y = Conv (a, w)'),
    "Pad Conv, crop": _conv(
        "a = Pad (x, p) y = Conv <pads = [1, 1, 1, 1]> (a, w) z = Sigmoid (a)",
        f"{W}, int64[8] p = {{0, 0, -1, 0, 0, 0, 1, 0}}",
        outputs="float[] y, float[] z",
    ),
    "Pad Conv, channels": _conv(
        "a = Pad (x, p) y = Conv (a, w) z = Sigmoid (a)",
        f"{W}, int64[8] p = {{0, 1, 1, 1, 0, 0, 1, 1}}",
        inputs="float[1, 1, 9, 8] x",
        outputs="float[] y, float[] z",
    ),
    "Conv, symmetric": _conv("y = Conv <pads = [0, 2, 1, 3]> (x, w)", W, style="symmetric"),
    "Conv, pad": _conv("y = Conv <pads = [0, 2, 1, 3]> (x, w)", W, style="pad"),
    "Conv, pad, opset 9": _conv("y = Conv <pads = [0, 2, 1, 3]> (x, w)", W, style="pad", opset=9),
    "SAME_UPPER": _same("UPPER", "strides = [2, 2]", inputs="float[1, 2, 8, 7] x"),
    "SAME_UPPER, sizes": _same("UPPER", "strides = [2, 2]"),
    "SAME_LOWER": _same("LOWER", "strides = [2, 2]"),
    "SAME_UPPER, strides": _same("UPPER", "strides = [2, 1]"),
    "SAME_UPPER, stride 3": _same("UPPER", "strides = [3, 2]", inputs="float[1, 2, 8, 7] x"),
    "SAME_LOWER, stride 1": _same("LOWER"),
    "SAME_LOWER, kernel 2, even": _same(
        "LOWER", "strides = [2, 2]", W, inputs="float[1, 2, 9, 8] x"
    ),
    "SAME_UPPER, dilated": _same("UPPER", "dilations = [2, 2]"),
    "SAME_UPPER, any size": _same("UPPER", "strides = [2, 2]", W, inputs=OPEN, sizes=(8, 9)),
    "SAME_UPPER, kernel 2, any size": _same(
        "UPPER", "strides = [2]", "float[1, 2, 2] w = {1, -2, 3, 5}", inputs=LINE, sizes=(8, 9)
    ),
    "SAME_UPPER, kernel far below stride": _same(
        "UPPER", "strides = [5, 5]", POINT, inputs="float[1, 2, 10, 10] x"
    ),
    "SAME_UPPER, pad": _same("UPPER", "strides = [2, 2]", style="pad"),
    "SAME_UPPER, dynamic pad": _same(
        "UPPER",
        "strides = [3, 2]",
        inputs=OPEN,
        dynamic="pad",
        sizes=(7, 8, 9),
    ),
    "SAME_LOWER, dynamic pad": _same(
        "LOWER", "strides = [2, 2]", inputs=OPEN, dynamic="pad", sizes=(7, 8)
    ),
    "SAME_LOWER, kernel 4, dynamic pad": _same(
        "LOWER",
        "strides = [2]",
        "float[1, 2, 4] w = {1, -2, 3, 5, 4, 1, -3, 2}",
        inputs=LINE,
        dynamic="pad",
        sizes=(8, 9),
    ),
    "Conv SAME behind a Conv": _conv(
        "b = Conv (x, w) c = Concat <axis = 1> (b, b)"
        ' y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (c, v)',
        "float[1, 2, 2, 2] w = {1, -2, 3, 5, -4, 2, 1, 3},"
        " float[1, 2, 3, 3] v = {1, -2, 3, 5, -4, 2, 1, 3, 2, 7, 6, -5, 3, 1, -2, 2, 3, 4}",
        inputs="float[1, 2, 9, 9] x",
    ),
    "Conv SAME behind a MaxPool that rounds up": _conv(
        "b = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1, pads = [0,1,0,1]> (x)"
        ' y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (b, w)',
        SQUARE,
        inputs="float[1, 2, 9, 9] x",
    ),
    "Conv SAME behind a ConvTranspose": _conv(
        "b = ConvTranspose <strides = [2, 2]> (x, u)"
        ' y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (b, w)',
        f"{SQUARE}, float[2, 2, 3, 3] u = {{{', '.join(str(i % 5 - 2) for i in range(36))}}}",
        inputs="float[1, 2, 4, 4] x",
    ),
    "MaxPool, VALID with pads": Case(
        one(f'y = MaxPool <auto_pad = "VALID", {THREE}, pads = [1, 1, 1, 1]> (x)')
    ),
    "MaxPool SAME, dilated": Case(
        one(f'y = MaxPool <auto_pad = "SAME_UPPER", {THREE}, dilations = [2, 2]> (x)')
    ),
    "MaxPool SAME, dilated, as onnxruntime": Case(
        one(f'y = MaxPool <auto_pad = "SAME_UPPER", {THREE}, dilations = [2, 2]> (x)'),
        trust=Trust.RUNTIME,
    ),
    "SAME_UPPER, kernel far below stride, as onnxruntime": Case(
        one(FAR_BELOW, inputs="float[1, 2, 10, 15] x", initializers=POINT), trust=Trust.RUNTIME
    ),
    "SAME_UPPER, kernel far below stride, as specified": Case(
        one(FAR_BELOW, inputs="float[1, 2, 10, 15] x", initializers=POINT), trust=Trust.SPEC
    ),
    "MaxPool, SAME with pads, as onnxruntime": Case(
        one(f'y = MaxPool <auto_pad = "SAME_UPPER", {THREE}, pads = [2, 2, 2, 2]> (x)'),
        trust=Trust.RUNTIME,
    ),
    "MaxPool SAME, kernel 2": Case(
        one('y = MaxPool <auto_pad = "SAME_LOWER", kernel_shape = [2, 2], strides = [2, 2]> (x)')
    ),
    "AveragePool SAME, kernel below stride": Case(
        one(
            'y = AveragePool <auto_pad = "SAME_UPPER", kernel_shape = [1, 1], strides = [3, 3]>'
            " (x)",
            opset=19,
            inputs="float[1, 2, 9, 9] x",
        )
    ),
    "Pad MaxPool, lowest": _pool("MaxPool", "kernel_shape = [4, 4]", value=LOW),
    "Pad MaxPool, 0": _pool("MaxPool", "kernel_shape = [4, 4]"),
    "Pad MaxPool, 0 behind Relu": _pool("MaxPool", "kernel_shape = [4, 4]", first="r = Relu (x)"),
    "Pad MaxPool, 0 behind Tanh": _pool("MaxPool", "kernel_shape = [4, 4]", first="r = Tanh (x)"),
    "Pad MaxPool, 0 behind Clip": _pool(
        "MaxPool",
        "kernel_shape = [4, 4]",
        first="i = Constant <value = float {-3}> () r = Clip (x, i)",
    ),
    "Pad MaxPool, 0 behind Sub": _pool(
        "MaxPool", "kernel_shape = [4, 4]", first="i = Relu (x) j = Abs (x) r = Sub (i, j)"
    ),
    "Pad MaxPool, 3 behind Max, int8, dilated": Case(
        one(
            "r = Max (x, c) a = Pad (r, p, c)"
            " y = MaxPool <kernel_shape = [2], dilations = [3]> (a)",
            inputs="int8[1, 2, 2] x",
            outputs="int8[] y",
            initializers="int64[6] p = {0, 0, 1, 0, 0, 1}, int8 c = {3}",
        )
    ),
    "Pad MaxPool, 5 behind Relu": _pool(
        "MaxPool", "kernel_shape = [4, 4]", value="float c = {5}", first="r = Relu (x)"
    ),
    "Pad MaxPool, 0 behind Pad": _pool(
        "MaxPool",
        "kernel_shape = [4, 4]",
        first="i = Relu (x) c = Constant <value = float {-5}> () r = Pad (i, p, c)",
    ),
    **{
        f"Pad MaxPool, 0 behind {what}": _pool("MaxPool", "kernel_shape = [4, 4]", first=first)
        for what, first in (
            ("Add", "i = Relu (x) r = Add (i, x)"),
            ("Min", "i = Relu (x) r = Min (i, x)"),
            ("Concat", "i = Relu (x) r = Concat <axis = 1> (i, x)"),
            (
                "DequantizeLinear",
                (
                    "s = Constant <value = float {0.5}> () z = Constant <value = uint8 {128}> () "
                    "i = QuantizeLinear (x, s, z) r = DequantizeLinear (i, s, z)"
                ),
            ),
            (
                "a cubic Resize",
                (
                    "s = Constant <value = float[4] {1, 1, 2, 2}> () i = Relu (x) "
                    'r = Resize <mode = "cubic"> (i, , s)'
                ),
            ),
        )
    },
    "Pad AveragePool, wide": _pool("AveragePool"),
    "Pad MaxPool, Indices": Case(
        one(
            "a = Pad (x, p, c) y, i = MaxPool <kernel_shape = [4, 4]> (a)",
            outputs="float[] y, int64[] i",
            initializers=f"{PADS}, {LOW}",
        )
    ),
    "Pad AveragePool, ceil_mode": Case(
        one(
            "a = Pad (x, p) y = AveragePool <kernel_shape = [2], strides = [2], ceil_mode = 1> (a)",
            inputs="float[1, 2, 3] x",
            initializers="int64[6] p = {0, 0, 1, 0, 0, 1}",
        )
    ),
    **{
        what: Case(one(f"y = {pool}> (x)", inputs=inputs), no_ceil=True, sizes=(3, 5, 6, 9))
        for what, pool, inputs in (
            (
                "MaxPool, ceil_mode",
                (
                    "MaxPool <ceil_mode = 1, kernel_shape = [4, 2], strides = [3, 3], "
                    "pads = [0, 1, 1, 0]"
                ),
                "float[1, 2, 8, 10] x",
            ),
            (
                "MaxPool, ceil_mode, any size",
                "MaxPool <ceil_mode = 1, kernel_shape = [2, 4], strides = [2, 4]",
                "float[1, 2, height, width] x",
            ),
            (
                "MaxPool, ceil_mode, no window",
                "MaxPool <ceil_mode = 1, kernel_shape = [5, 5], strides = [2, 2]",
                "float[1, 2, height, 9] x",
            ),
            (
                "AveragePool, ceil_mode",
                f"AveragePool <ceil_mode = 1, count_include_pad = 1, {THREE}, strides = [2, 2]",
                "float[1, 2, 8, 8] x",
            ),
        )
    },
    "Pad MaxPool, dilated": Case(
        one(
            "a = Pad (x, p, c) y = MaxPool <kernel_shape = [3], dilations = [4]> (a)",
            inputs="float[1, 2, 6] x",
            initializers=f"int64[6] p = {{0, 0, 2, 0, 0, 2}}, {LOW}",
        )
    ),
    "Pad MaxPool, dilated, short": Case(
        one(
            "a = Pad (x, p, c) y = MaxPool <kernel_shape = [2], dilations = [3]> (a)",
            inputs="float[1, 2, 2] x",
            initializers=f"int64[6] p = {{0, 0, 1, 0, 0, 1}}, {LOW}",
        )
    ),
    "MaxPool, pad": Case(one(f"y = MaxPool <{THREE}, pads = [0, 2, 1, 1]> (x)"), style="pad"),
    "MaxPool int8, pad": Case(
        one(
            f"y = MaxPool <{THREE}, pads = [0, 2, 1, 1]> (x)",
            inputs="int8[1, 2, 9, 8] x",
            outputs="int8[] y",
        ),
        style="pad",
    ),
    "Pad AveragePool": _pool("AveragePool", "kernel_shape = [4, 4]"),
    "Pad AveragePool, not counted": _pool(
        "AveragePool", "kernel_shape = [5, 5], pads = [1, 1, 1, 1]"
    ),
    "AveragePool, pad": Case(one(f"y = AveragePool <{THREE}, pads = [1, 1, 1, 1]> (x)"), "pad"),
    "Pad LpPool, value 5": _pool("LpPool", "kernel_shape = [4, 4]", value="float c = {5}"),
    "Pad AveragePool, -0.0": _conv(
        f"{NOUGHT} a = Pad (n, p, n0) b = AveragePool <kernel_shape = [4, 4]> (a)"
        " y = Reciprocal (b)",
        f"{FAR}, {NOUGHTS}",
    ),
    "Pad MaxPool, -0.0": _conv(
        f"{NOUGHT} a = Pad (z, p, n0) b = MaxPool <kernel_shape = [4, 4]> (a) y = Reciprocal (b)",
        f"{FAR}, {NOUGHTS}",
    ),
    "Pad MaxPool, 0 beside -0.0": _conv(
        "r = Relu (x) z = Mul (r, n0) a = Pad (z, p)"
        " b = MaxPool <kernel_shape = [4, 4]> (a) y = Reciprocal (b)",
        f"{FAR}, {NOUGHTS}",
    ),
    "Pad AveragePool, product of sizes": Case(
        one(
            "s = Shape (x) h = Gather (s, two) w = Gather (s, three) a = Mul (h, w)"
            " e = Div (a, four) t = Slice (x, none, e, two) b = Pad (t, p)"
            " y = AveragePool <kernel_shape = [2, 1]> (b)",
            inputs=OPEN,
            initializers="int64[1] two = {2}, int64[1] three = {3}, int64[1] four = {4},"
            " int64[1] none = {0}, int64[8] p = {0, 0, 1, 0, 0, 0, 1, 0}",
        ),
        sizes=(1, 9),
    ),
    "Pad Pad, signs of zero": _conv(
        "a = Pad (x, p) b = Pad (a, p, n0) y = Reciprocal (b)", f"{PADS}, float n0 = {{-0.0}}"
    ),
    "Pad Pad": _conv(
        "a = Pad (x, p) b = Pad (a, q) y = Relu (b)",
        f"{PADS}, int64[8] q = {{0, 0, 0, 1, 0, 0, 2, 0}}",
    ),
    "Pad Pad, axes": _conv(
        "a = Pad (x, p, , s) b = Pad (a, q, , s) y = Relu (b)",
        "int64[2] s = {2, 3}, int64[4] p = {1, 2, 0, 3}, int64[4] q = {0, 1, 2, 0}",
        opset=18,
    ),
    "Pad Pad, values": _conv(
        "a = Pad (x, p) b = Pad (a, p, c) y = Relu (b)", f"{PADS}, float c = {{5}}"
    ),
    "Pad Pad, crop first": _conv(
        "a = Pad (x, q) b = Pad (a, p) y = Relu (b)",
        f"{PADS}, int64[8] q = {{0, 0, -1, 0, 0, 0, 0, 0}}",
    ),
    "empty Pad, second input": _conv(
        "a = Pad (x, p) r = Relu (x) y = Sub (r, a)", "int64[8] p = {0, 0, 0, 0, 0, 0, 0, 0}"
    ),
    "Pad Relu": _conv("a = Pad (x, p) y = Relu (a)", PADS),
    "computed reflect": _conv(
        'q = Add (p, p) y = Pad <mode = "reflect"> (x, q)', "int64[8] p = {0, 0, 1, 2, 0, 0, 0, 3}"
    ),
    "computed crop": _conv(
        "q = Add (p, p) y = Pad (x, q)",
        "int64[8] p = {0, 0, -1, -2, 0, 0, 0, 1}",
        inputs=OPEN,
    ),
    "computed axes": _conv(
        't = Cast <to = 7> (s) y = Pad <mode = "edge"> (x, p, , t)',
        "int64[4] p = {1, 2, 3, 4}, int32[2] s = {-1, 2}",
        opset=18,
    ),
    "torch": _conv(TORCH, TORCH_CONSTANTS),
    "Div of negatives": _computed(
        "q = Div (b, c) p = Neg (q)", "int64[4] b = {-3, -5, 0, -7}, int64[4] c = {2, 2, 2, 2}"
    ),
    "Mod of negatives": _computed(
        "p = Mod (b, c)", "int64[4] b = {-3, -5, 0, -7}, int64[4] c = {4, 4, 4, 4}"
    ),
    "Sub": _computed("p = Sub (b, c)", "int64[4] b = {3, 5, 2, 7}, int64[4] c = {2, 3, 2, 6}"),
    "Cast of floats": _computed("p = Cast <to = 7> (b)", "float[4] b = {1.75, 2.25, 0.5, 1}"),
    "Cast that wraps around": _computed(
        "s = Cast <to = 2> (b) p = Cast <to = 7> (s)", "int64[4] b = {257, 2, 258, 1}"
    ),
    "Gather from the end": _computed(
        "p = Gather (b, i)", "int64[5] b = {9, 2, 0, 1, 3}, int64[4] i = {-2, 1, 2, -1}"
    ),
    "Split": _computed(
        "o, p = Split (b, s)", "int64[7] b = {9, 9, 9, 1, 2, 0, 3}, int64[2] s = {3, 4}"
    ),
    "Where": _computed(
        "i = Less (b, c) p = Where (i, b, c)",
        "int64[4] b = {1, 5, 0, 7}, int64[4] c = {2, 3, 2, 1}",
    ),
    "Transpose": _computed(
        "r = Reshape (b, two) t = Transpose <perm = [1, 0]> (r) p = Reshape (t, flat)",
        "int64[4] b = {1, 2, 0, 3}, int64[2] two = {2, 2}, int64[1] flat = {-1}",
    ),
    "Shape": _computed(
        "shape = Shape <start = 2> (x) p = Sub (both, less)".replace(
            "p = Sub", "both = Concat <axis = 0> (shape, shape) p = Sub"
        ),
        "int64[4] less = {8, 6, 9, 5}",
    ),
    "Ceil of a size": _computed(
        "shape = Shape <start = 2> (x) r = Cast <to = 11> (shape) d = Add (r, r) e = Add (d, one)"
        " h = Div (e, two) u = Ceil (h) g = Sub (u, r) i = Cast <to = 7> (g)"
        " p = Concat <axis = 0> (i, none)",
        "double[2] one = {1, 3}, double[1] two = {2}, int64[2] none = {0, 0}",
        inputs=OPEN,
    ),
    "SAME by a formula": _conv(
        SAME_FORMULA, SAME_CONSTANTS, inputs=LINE, dynamic="auto-pad", sizes=(7, 8)
    ),
    "SAME by a formula, stays": _conv(SAME_FORMULA, SAME_CONSTANTS, inputs=LINE, sizes=(7, 8)),
    "Conv, VALID": _conv('y = Conv <auto_pad = "VALID"> (x, w)', W),
    "Pad Pad for two": _conv(
        "a = Pad (x, p) b = Pad (a, p) y = Relu (b) z = Neg (a)",
        PADS,
        outputs="float[] y, float[] z",
    ),
    "begin by a formula": _conv(
        SAME_FORMULA.replace("Div (total, two)", "Identity (total)"),
        SAME_CONSTANTS,
        inputs=LINE,
        dynamic="auto-pad",
        sizes=(7, 8),
    ),
    "Pad Transpose Conv": _step("t = Transpose <perm = [0, 1, 3, 2]> (a)"),
    "Pad Transpose Conv, three axes": _step(
        "t = Transpose <perm = [0, 1, 3, 4, 2]> (a)",
        pads="int64[10] p = {0, 0, 1, 0, 2, 0, 0, 0, 3, 0}",
        inputs="float[1, 2, 4, 5, 6] x",
        weight="float[1, 2, 2, 2, 1] w = {1, -2, 3, 5, -4, 2, 7, -1}",
    ),
    "Pad Unsqueeze Conv": _step(
        "t = Unsqueeze (a, i)", "int64[1] i = {-1}", pads=LINE_PADS, weight=COLUMN, inputs=NINE
    ),
    "Pad Squeeze Conv": _step(
        "t = Squeeze (a, i)",
        "int64[1] i = {2}",
        weight="float[1, 2, 3] w = {1, -2, 3, 5, -4, 2}",
        pads="int64[8] p = {0, 0, 0, 1, 0, 0, 0, 2}",
        inputs="float[1, 2, 1, 9] x",
    ),
    "Pad Reshape Conv": _step(
        "t = Reshape (a, i)",
        "int64[4] i = {1, 2, 12, 1}",
        pads=LINE_PADS,
        weight=COLUMN,
        inputs=NINE,
    ),
    "Pad Reshape Conv, one axis less": _step(
        "t = Reshape (a, i)",
        "int64[4] i = {1, 2, 10, 13}",
        pads="int64[10] p = {0, 0, 0, 1, 2, 0, 0, 0, 0, 3}",
        inputs="float[1, 2, 1, 9, 8] x",
    ),
    "Pad Reshape Conv, sizes exchanged": _step(
        "t = Reshape (a, i)",
        "int64[4] i = {1, 2, 9, 6}",
        pads="int64[8] p = {0, 0, 1, 0, 0, 0, 1, 2}",
        inputs="float[1, 2, 4, 7] x",
    ),
    "Pad Mul Conv, one axis more": _step(
        "t = Mul (a, i)",
        "float[1, 1, 1, 1, 1] i = {2}",
        pads="int64[8] p = {0, 0, 0, 2, 0, 0, 0, 3}",
        weight="float[1, 1, 1, 1, 2] w = {1, 3}",
    ),
    "Pad Sigmoid Conv": _step("t = Sigmoid (a)"),
    "Pad Clip Conv": _step("t = Clip (a, i)", "float i = {1}"),
    "Pad Clip Conv, below 0": _step("t = Clip (a, , i)", "float i = {-1}"),
    "Pad Abs Conv": _step("t = Abs (a)", value="-5"),
    "Pad Neg Conv": _step("t = Neg (a)", value="5"),
    "Pad Add Conv": _step("t = Add (a, i)", "float i = {2}"),
    "Pad Add Conv, by channel": _step("t = Add (a, i)", "float[2, 1, 1] i = {0, 2}"),
    "Pad Div Conv": _step("t = Div (i, a)", "float i = {2}"),
    "Pad Mul Conv, along the Pad": _step(
        "t = Mul (a, i)",
        "float[13] i = {" + ", ".join(str(i % 5 + 1) for i in range(13)) + "}",
    ),
    "Pad Cast Conv": Case(
        one(
            "a = Pad (x, p, c) t = Cast <to = 1> (a) y = Conv (t, w)",
            inputs="int32[1, 2, 9, 8] x",
            initializers=f"{W}, {PADS}, int32 c = {{5}}",
        )
    ),
    "Pad DequantizeLinear Conv": Case(
        one(
            "a = Pad (x, p) t = DequantizeLinear (a, s, z) y = Conv (t, w)",
            inputs="uint8[1, 2, 9, 8] x",
            initializers=f"{W}, {PADS}, float s = {{0.5}}, uint8 z = {{3}}",
        )
    ),
    "Pad Concat Conv, along the Pad": _step("n = Abs (a) t = Concat <axis = 2> (a, n)"),
    "Pad Pad Concat Conv": _conv(
        "a = Pad (x, p) b = Pad (x, q) t = Concat <axis = 1> (a, b) y = Conv (t, w)",
        f"{WIDE}, {PADS}, int64[8] q = {{0, 0, 0, 3, 0, 0, 1, 2}}",
    ),
    "Pad Pad Concat Conv, values": _conv(
        "a = Pad (x, p) b = Pad (x, p, c) t = Concat <axis = 1> (a, b) y = Conv (t, w)",
        f"{WIDE}, {PADS}, float c = {{2}}",
    ),
    "Pad Split Conv, along the Pad": _step(
        "u, v = Split <axis = 2> (a) t = Concat <axis = 1> (u, v)",
        pads="int64[8] p = {0, 0, 1, 2, 0, 0, 2, 3}",
        weight=WIDE,
    ),
    "Pad Slice Conv, of padding": _step(
        "t = Slice (a, s, e, i)", "int64[1] s = {0}, int64[1] e = {-2}, int64[1] i = {3}"
    ),
    "Pad Transpose Conv, value 5": _step("t = Transpose <perm = [0, 1, 3, 2]> (a)", value="5"),
    "ConvTranspose SAME_UPPER": _behind(
        'y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [3]> (x, w)'
    ),
    "ConvTranspose SAME_LOWER, output_padding": _behind(
        'y = ConvTranspose <auto_pad = "SAME_LOWER", strides = [2], output_padding = [1]> (x, w)'
    ),
    "ConvTranspose output_shape": _behind(
        "y = ConvTranspose <output_shape = [16], strides = [2], output_padding = [1]> (x, w)"
    ),
    "ConvTranspose Slice": _behind(
        "a = ConvTranspose <strides = [2]> (x, w) y = Slice (a, s, e, i)"
    ),
    "ConvTranspose Pad": _behind("a = ConvTranspose <strides = [3]> (x, w) y = Pad (a, p)"),
    "ConvTranspose Pad, 5": _behind("a = ConvTranspose <strides = [3]> (x, w) y = Pad (a, p, c)"),
    "ConvTranspose output_padding Tanh Slice": _behind(
        "a = ConvTranspose <strides = [3], output_padding = [2]> (x, w, b) t = Tanh (a)"
        " y = Slice (t, s, e, i)"
    ),
    "end by a remainder": _conv(
        "shape = Shape <start = 2> (x) end = Mod (shape, two) p = Concat <axis = 0>"
        " (none, none, none, none, none, end) a = Pad (x, p) y = Conv <strides = [2]> (a, w)",
        "float[1, 2, 2] w = {1, -2, 3, 5}, int64[1] two = {2}, int64[1] none = {0}",
        inputs=LINE,
        sizes=(7, 8),
    ),
}
