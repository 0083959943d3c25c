"""Small valid models to be damaged: of forms that no random model has, and those of mutants."""

from functools import cache
from typing import Final

import onnx

from tests.mutants.reading import read
from tests.support import parsed

_W: Final = "float[3, 2, 3, 3] w = {" + ", ".join(str(i % 5 - 2) for i in range(54)) + "}"
_P: Final = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 2}"

TEXTS: Final = (
    # Bodies.
    f"""g (float[1, 2, 9, 9] x, bool c, int64 n) => (float[?, ?, ?, ?] y) <{_W}, {_P}>
    {{ i = If (c) <then_branch = t () => (float[?, ?, ?, ?] a) {{ e = Pad (x, p)
       a = AveragePool <kernel_shape = [3, 3]> (e) }}, else_branch = e () => (float[?, ?, ?, ?] b)
       {{ b = MaxPool <kernel_shape = [2, 2], auto_pad = "SAME_UPPER", strides = [2, 2]> (x) }}>
       l = Loop (n, c, i) <body = b (int64 k, bool d, float[1, 2, h, v] s) => (bool o,
       float[1, 2, h, v] r) {{ o = Identity (d) f = Pad (s, p) m = Conv (f, w)
       j = Concat <axis = 1> (m, m) r = Slice (j, p0, p1, p2) }}>
       y = Conv <auto_pad = "SAME_LOWER"> (l, w) }}""".replace(
        f"{_P}>",
        f"{_P}, int64[1] p0 = {{0}}, int64[1] p1 = {{2}}, int64[1] p2 = {{1}}>",
    ),
    """g (float[4, 2, 9] x) => (float[?, ?, ?] y) <int64[6] p = {0, 0, 1, 0, 0, 1},
    float[2, 2, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}>
    { s = Scan <num_scan_inputs = 1, body = b (float[2, 9] e) => (float[2, 9] o)
      { z = Constant <value_ints = [0]> () u = Unsqueeze (e, z) v = Pad (u, p)
        c = AveragePool <kernel_shape = [3]> (v) o = Squeeze (c, z) }> (x)
      q = Pad (s, p) y = Conv (q, w) }""",
    # Sizes and contents from here and there.
    f"""g (float[N, 2, h, v] x, int64[2] hw) => (float[?, ?, ?, ?] y) <{_W}, {_P},
    float[4] sc = {{1, 1, 2, 2}}, int64[2] nc = {{1, 2}}, int64 i = {{1}}, int64 lim = {{9}},
    int64[1] one = {{1}}, int64[2] sq = {{1, -1}}>
    {{ r = Resize <mode = "nearest"> (x, , sc) t4 = Concat <axis = 0> (nc, hw) e = Expand (r, t4)
       cond = Greater (e, r) g = Where (cond, e, r) k = Range (i, lim, i) ks = ReduceSum (k)
       f = Flatten <axis = 1> (g) ff = Reshape (f, sq) tt = Tile (r, t4)
       am = ArgMax <axis = 1> (tt) dd = DepthToSpace <blocksize = 1> (tt)
       a = Pad (dd, p) y = Conv <auto_pad = "SAME_UPPER"> (a, w) }}""",
    # Dead nodes, an omitted output, an Identity to an output, a Dropout, a BatchNormalization.
    f"""g (float[1, 2, 9, 9] x) => (float[?, ?, ?, ?] y, float[?, ?, ?, ?] copy) <{_W}, {_P},
    float[2] b = {{1, 1}}>
    {{ a = Pad (x, p) dead = Conv <auto_pad = "SAME_UPPER"> (a, w) copy = Identity (a)
       bn = BatchNormalization (a, b, b, b, b) dr, mask = Dropout (bn)
       m, = MaxPool <kernel_shape = [3, 3], strides = [3, 3], ceil_mode = 1> (dr)
       deadpad = Pad (m, p) y = Conv (dr, w) }}""".replace("m, =", "m ="),
)

OLD: Final = (
    # Attributes hold what later opsets have as inputs.
    """g (float[1, 2, 9, 9] x) => (float[?, ?, ?, ?] y)
    { a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 2], mode = "constant", value = 0.0> (x)
      u = Unsqueeze <axes = [0]> (a) s = Squeeze <axes = [0]> (u)
      l = Slice <starts = [0, 1], ends = [9, 9], axes = [2, 3]> (s) c = Clip <min = 0.0> (l)
      k1, k2 = Split <axis = 1, split = [1, 1]> (c) d, m = Dropout <ratio = 0.5> (k1)
      p = AveragePool <kernel_shape = [3, 3], auto_pad = "SAME_UPPER"> (d)
      y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], storage_order = 0> (p) }""",
)

FUNCTIONS: Final = (
    """<ir_version: 9, opset_import: ["" : 17, "local" : 1]>
    g (float[1, 2, 9, 9] x) => (float[?, ?, ?, ?] y) <float[3, 2, 3, 3] w = {1, 0, 1, 0, 1, 0, 1, 0,
    1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0,
    1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1}>
    { a = local.padded <mode = "constant"> (x) b = local.block <s = [2, 2]> (a, w)
      c = local.block <s = [1, 1]> (a, w) y = Concat <axis = 2> (b, c) }
    <opset_import: ["" : 17], domain: "local"> padded <mode> (x) => (y)
    { p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> ()
      y = Pad <mode: string = @mode> (x, p) }
    <opset_import: ["" : 17, "local" : 1], domain: "local"> block <s> (x, w) => (y)
    { i = local.inner (x) y = Conv <auto_pad = "SAME_UPPER", strides: ints = @s> (i, w) }
    <opset_import: ["" : 17], domain: "local"> inner (x) => (y)
    { p = Constant <value = int64[8] {0, 0, 1, 1, 0, 0, 1, 1}> () e = Pad (x, p)
      y = MaxPool <kernel_shape = [3, 3]> (e) }""",
)


@cache
def bases() -> tuple[list[onnx.ModelProto], list[onnx.ModelProto]]:
    """Those of this file, and those on which mutants show."""
    found = [parsed(text, opset=18) for text in TEXTS]
    found += [parsed(text, opset=9, ir=5) for text in OLD]
    found += [onnx.parser.parse_model(text) for text in FUNCTIONS]
    return found, [case.model for case in read()[0].values()]
