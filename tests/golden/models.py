"""Small models which between them reach what reports tell apart."""

from collections.abc import Mapping
from typing import Final

import onnx

from tests.support import BORDER, W, one, parsed

_V: Final = f"float[2, 3, 3, 3] v = {{{', '.join(str(i % 4) for i in range(54))}}}"

_GIVEN: Final = f"""{W}, {BORDER}, float low = {{-inf}}, float five = {{5}},
    int64[2] yx = {{2, 3}}, int64[2] ends = {{-1, -1}}, int64[2] ones = {{1, 1}},
    int64[8] high = {{0, 0, 0, 1, 0, 0, 1, 0}},
    int64[8] crop = {{0, 0, -1, 0, 0, 0, 0, -1}}, int64[8] zero = {{0, 0, 0, 0, 0, 0, 0, 0}}"""

_TF: Final = """
    s = Shape (x) h = Gather (s, two) k = Add (h, one) l = Div (k, two) m = Sub (l, one)
    n = Mul (m, two) o = Add (n, three) d = Sub (o, h) e = Max (d, nil) b = Div (e, two)
    f = Sub (e, b) u = Unsqueeze (b, at) v = Unsqueeze (f, at)
    pads = Concat <axis = 0> (z, z, u, z, z, z, v, z)
"""
"""The amounts of SAME for a window of three with a stride of two, computed by the model."""

_NUMBERS: Final = """int64 two = {2}, int64 one = {1}, int64 three = {3}, int64 nil = {0},
    int64[1] at = {0}, int64[1] z = {0}"""


def _named(model: onnx.ModelProto, *names: str) -> onnx.ModelProto:
    """The model with other names of its first nodes."""
    for node, name in zip(model.graph.node, names, strict=False):
        node.name = name
    return model


def _ported(first: str, second: str, pool: str) -> onnx.ModelProto:
    """Two convolutions and a pool with pads, of numbers that no rounding changes."""
    return one(
        f"""
        [first] a = Conv <strides = [2, 2], pads = {first}> (x, w) b = Relu (a)
        [second] c = Conv <strides = [2, 2], pads = {second}> (b, v)
        [pool] y = MaxPool <kernel_shape = [3, 3], pads = {pool}> (c)
        """,
        inputs="float[1, 2, 16, 16] x",
        outputs="float[] y, float[] c",
        initializers=f"{W}, {_V}",
    )


def _pools(*pads: int) -> onnx.ModelProto:
    """Maxima alone: of any numbers the same with every version of onnxruntime."""
    return one(
        f"""
        [first] a = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = {[*pads]}> (x)
        b = Neg (a) [second] y = MaxPool <kernel_shape = [2, 2]> (b)
        [other] z = MaxPool <kernel_shape = [2, 2], pads = [0, 0, 1, 1]> (x)
        """,
        outputs="float[] y, float[] z",
    )


def _negative(first: str, pool: str, counted: int) -> onnx.ModelProto:
    """A convolution whose negative results pools read, which tells zeros from the least."""
    return one(
        f"""
        [first] a = Conv <strides = [2, 2], pads = {first}> (x, w) b = Abs (a) d = Neg (b)
        [pool] c = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = {pool}> (d)
        [mean] y = AveragePool <kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1],
            count_include_pad = {counted}> (c)
        """,
        inputs="float[1, 2, 16, 16] x",
        outputs="float[] y, float[] c",
        initializers=W,
    )


def _of_three(*pads: str) -> onnx.ModelProto:
    """A pool for each output, two of them negated or doubled."""
    first, second, third = (f"MaxPool <kernel_shape = [3, 3], pads = {each}> (x)" for each in pads)
    return one(
        f"y = {first} a = {second} z = Add (a, a) u = {third}",
        outputs="float[] y, float[] z, float[] u",
    )


MODELS: Final[Mapping[str, onnx.ModelProto]] = {
    "forms": one(
        """
        [first_pad] a = Pad (x, p) [first] b = Conv (a, w)
        [low] c = Pad (x, p, low) d = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (c)
        [mirror] e = Pad <mode = "reflect"> (x, p) [mirrored] f = Conv <dilations = [2, 1]> (e, w)
        [same] g = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)
        [lower] h = Conv <auto_pad = "SAME_LOWER", strides = [2, 2]> (x, w)
        [ceil] i = AveragePool <kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 1, 1],
            ceil_mode = 1> (x)
        [five] j = Pad (x, p, five) [fives] k = Conv (j, w)
        [one] l = Pad (x, high) [two] m = Pad (l, p) n = Relu (m) [after] o = Conv (n, w)
        [shared] q = Pad (x, p) [left] r = Conv (q, w) [right] s = Relu (q)
        [cut] t = Pad (x, crop) [cutting] u = MaxPool <kernel_shape = [2, 2]> (t)
        [empty] v = Pad (x, zero) z = LpPool <kernel_shape = [2, 2], pads = [1, 1, 1, 1]> (v)
        [valid] y = Conv <auto_pad = "VALID", kernel_shape = [3, 3]> (x, w)
        """,
        outputs="float[] y, float[] b, float[] d, float[] f, float[] g, float[] h, float[] i, "
        "float[] k, float[] o, float[] r, float[] s, float[] u, float[] z",
        initializers=_GIVEN,
    ),
    "open": one(
        f"""
        {_TF}
        [computed] t = Pad (x, pads) [by_size] y = Conv <strides = [2, 1]> (t, w)
        [same] a = Conv <auto_pad = "SAME_UPPER", strides = [2, 3]> (x, w)
        [lower] c = MaxPool <auto_pad = "SAME_LOWER", kernel_shape = [2, 2], strides = [2, 1]> (x)
        [folds] g = Pad (x, p) [open] i = Conv <strides = [2, 2]> (g, w)
        [unknown] q = Pad (x, given) [of_input] r = Conv (q, w)
        [ceil] j = AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)
        """,
        inputs="float[1, 2, height, width] x, int64[8] given",
        outputs="float[] y, float[] a, float[] c, float[] i, float[] r, float[] j",
        initializers=f"{W}, {BORDER}, {_NUMBERS}",
    ),
    "transposed": one(
        """
        a = ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]> (x, w)
        [same_up] b = ConvTranspose <strides = [2, 2], auto_pad = "SAME_UPPER"> (x, w)
        [asked] c = ConvTranspose <strides = [2, 3], output_shape = [9, 13]> (x, w)
        [grown] d = ConvTranspose <strides = [2, 2]> (x, w) [crop] e = Slice (d, ones, ends, yx)
        [low] f = ConvTranspose <strides = [2, 2]> (x, w) [negative] y = Pad (f, crop)
        """,
        inputs="float[1, 3, 5, 4] x",
        outputs="float[] y, float[] a, float[] b, float[] c, float[] e",
        initializers=_GIVEN,
    ),
    "last": one(
        """
        [pad] a = Pad (x, at_end) b = Transpose <perm = [0, 3, 1, 2]> (a) [conv] c = Conv (b, w)
        d = Transpose <perm = [0, 2, 3, 1]> (c) e = Relu (d)
        f = Transpose <perm = [0, 3, 1, 2]> (e)
        y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2], group = 1> (f, v)
        """,
        inputs="float[1, 9, 8, 2] x",
        initializers=f"""{W}, int64[8] at_end = {{0, 1, 1, 0, 0, 1, 1, 0}},
        float[1, 3, 2, 2] v = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}""",
    ),
    "ranks": one(
        """
        [line_pad] a = Pad (x, p) [line] b = Conv <strides = [2]> (a, w)
        [cube_pad] c = Pad (cube, q) [cube] d = MaxPool <kernel_shape = [2, 3, 2]> (c)
        [mean] y = AveragePool <kernel_shape = [3], pads = [1, 1], count_include_pad = 1> (b)
        """,
        inputs="float[1, 2, 11] x, float[1, 1, 4, 5, 6] cube",
        outputs="float[] y, float[] d",
        initializers="""float[1, 2, 3] w = {1, 2, 3, 4, 5, 6}, int64[6] p = {0, 0, 2, 0, 0, 1},
        int64[10] q = {0, 0, 0, 1, 0, 0, 0, 1, 1, 1}""",
    ),
    "scopes": parsed(
        f"""<ir_version: 9, opset_import: ["": 17, "local": 1]>
        g (float[1, 2, 9, 8] x, bool c) => (float[] y, float[] z, float[] u) <{W}, {BORDER}> {{
          [choice] y = If (c) <
            then_branch = t () => (float[] i) {{
              [inner_pad] a = Pad (x, p) [inner] i = Conv (a, w)
            }},
            else_branch = e () => (float[] j) {{
              [else] j = Conv <auto_pad = "SAME_UPPER"> (x, w)
            }}
          >
          z = local.Padded (x, w)
          [again] u = local.Padded (x, w)
        }}
        <opset_import: ["": 17], domain: "local">
        Padded (d, k) => (r) {{ r = Conv <auto_pad = "SAME_LOWER", strides = [2, 2]> (d, k) }}"""
    ),
    "names": _named(
        one(
            """
        [first] a = Pad (x, p) [second] b = Conv (a, w)
        c = Pad (b, p) d = Conv (c, v) e = Pad (d, p) f = Conv (e, v) g = Pad (f, p) h = Conv (g, v)
        i = Conv <pads = [1, 1, 1, 1]> (h, v) j = Conv <pads = [0, 1, 0, 1]> (i, v)
        [mine] k = Custom.Pool <pads = [1, 1], auto_pad = "SAME_UPPER"> (j)
        y = Pad <mode = "edge"> (k, p)
        """,
            initializers=f"""{W}, {BORDER},
        float[3, 3, 3, 3] v = {{{", ".join(str(i % 3) for i in range(81))}}}""",
        ),
        "<b>&amp; 'it\"s'\n",
        "a/very/long/name/of/a/layer/of/a/network/with/many/layers/in/it",
    ),
    "port": _ported("[1, 1, 1, 1]", "[1, 1, 1, 1]", "[1, 1, 1, 1]"),
    "source": _ported("[0, 0, 1, 1]", "[0, 0, 1, 1]", "[1, 1, 1, 1]"),
    "mixed": _ported("[0, 0, 1, 1]", "[1, 1, 1, 1]", "[0, 0, 2, 2]"),
    "pools": _pools(1, 1, 1, 1),
    "others": _pools(0, 0, 2, 2),
    "ends": _of_three("[1, 1, 1, 1]", "[1, 1, 1, 1]", "[0, 0, 0, 0]"),
    "end": _of_three("[0, 0, 2, 2]", "[2, 2, 1, 1]", "[1, 1, 1, 1]"),
    "many": one(
        " ".join(
            [
                *(
                    f"[pad_{i}] p{i} = Pad (x{i}, p) [conv_{i}] y{i} = Conv (p{i}, w)"
                    for i in range(9)
                ),
                "[long] a = Custom.Op <pads = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]> (x0)",
                "[dozen] b = Custom.Op <pads = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]> (x0)",
                *(
                    f'r{i} = Pad <mode = "edge"> (x{i}, p) [edge_{i}] z{i} = Conv (r{i}, w)'
                    for i in range(9)
                ),
            ]
        ),
        inputs=", ".join(f"float[1, 2, h{i}, 8] x{i}" for i in range(9)),
        outputs=", ".join(f"float[] {name}{i}" for i in range(9) for name in "yz")
        + ", float[] a, float[] b",
        initializers=f"{W}, {BORDER}",
    ),
    "signs": _negative("[1, 1, 1, 1]", "[1, 1, 1, 1]", 1),
    "signed": _negative("[0, 0, 1, 1]", "[0, 0, 1, 1]", 0),
    "unknown": one(
        """
        a = Reshape (x, to) [same] b = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)
        s = NonZero (x) n = Shape (s) k = Gather (n, last) z = Concat <axis = 0> (h, k, k, h, k, k)
        [counted] d = Pad (x, z) [reader] y = Conv (d, w)
        [valued] e = Pad (x, p, v) [padded] f = Conv (e, w)
        [axed] g = Pad (x, q, , axes) [of_axes] i = MaxPool <kernel_shape = [2, 2]> (g)
        """,
        inputs="float[1, 2, h, v] x, int64[4] to, float v, int64[2] axes",
        outputs="float[] y, float[] b, float[] f, float[] i",
        initializers=f"{W}, {BORDER}, int64[4] q = {{1, 1, 1, 1}}, int64[1] last = {{1}}, "
        "int64[2] h = {0, 0}",
    ),
    "eight": one(
        "y = Sum (a, b, c, d, e, f, g, h)", inputs=", ".join(f"float[2] {i}" for i in "abcdefgh")
    ),
    "plain": one("y = Relu (x)"),
}
