"""Padding in other forms than one `Pad` before one operator: a model for each."""

from typing import Any, Final

import onnx

from tests.forms.outcome import Form
from tests.support import W, one

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


def _sides(*amounts: int, name: str = "p") -> str:
    """Amounts of a `Pad` as an initializer."""
    return f"int64[{len(amounts)}] {name} = {{{', '.join(map(str, amounts))}}}"


_PADS: Final = _sides(0, 0, 1, 1, 0, 0, 2, 2)
_OPEN: Final = "float[1, 2, H, V] x"


def _form(
    nodes: str,
    constants: str = _PADS,
    *,
    inputs: str = "float[1, 2, 9, 9] x",
    weight: str = W,
    opset: int = 17,
    **options: Any,
) -> Form:
    """Nodes that make `y`, and perhaps `z`, of `x`, and how `fix` is asked to fix them."""
    outputs = "float[] y, float[] z" if "z = " in nodes else "float[] y"
    given = ", ".join(filter(None, (weight, constants)))
    model = one(nodes, inputs=inputs, outputs=outputs, initializers=given, opset=opset)
    return Form(model, options)


def _called(attributes: str = "", own: str = "", given: str = "") -> Form:
    """A model that calls a function with a `Pad` twice."""
    text = f"""
        <ir_version: 9, opset_import: ["" : 17, "mine" : 1]>
        g (float[1, 2, 9, 9] x) => (y, z) <{W}, {_PADS}>
        {{ y = mine.Stem {given} (x, p, w) z = mine.Stem {given} (x, p, w) }}
        <domain: "mine", opset_import: ["" : 17]>
        Stem {own} (x, p, w) => (c) {{ a = Pad (x, p) c = Conv {attributes} (a, w) }}
    """
    return Form(onnx.parser.parse_model(text))


def _same(attributes: str = "", inputs: str = _OPEN, **options: Any) -> Form:
    return _form(
        f'y = Conv <auto_pad = "SAME_UPPER"{attributes}> (x, w)', "", inputs=inputs, **options
    )


def _formula(**options: Any) -> Form:
    """SAME as timm computes it, on one open axis."""
    return _form(SAME_FORMULA, "", inputs=LINE, weight=SAME_CONSTANTS, **options)


def _branches(then: str, before: str = "") -> Form:
    """An If with nodes in one branch, which make `t`."""
    return _form(
        f"{before} y = If (ok) <then_branch = one () => (float[] t) {{ {then} }},"
        " else_branch = other () => (float[] e) { e = Conv (x, w) }>",
        f"{_PADS}, bool ok = {{1}}",
    )


_STRIDE: Final = ", strides = [2, 2]"
_MAXIMUM: Final = "MaxPool <kernel_shape = [3, 3]"
_BRAIN: Final = "bfloat16[3, 2, 3, 3] w = {" + ", ".join(["1"] * 54) + "}"
_TURNED: Final = "float[2, 3, 3, 3] w = {" + ", ".join(str(n % 5) for n in range(54)) + "}"

FORMS: Final[dict[str, Form]] = {
    "two `Pad`s": _form(
        "a = Pad (x, p) b = Pad (a, q) y = Conv (b, w)",
        f"{_PADS}, {_sides(0, 0, 0, 0, 0, 0, 1, 1, name='q')}",
    ),
    "`Pad`, and own pads": _form("a = Pad (x, p) y = Conv <pads = [1, 1, 1, 1]> (a, w)"),
    "negative amounts": _form("a = Pad (x, p) y = Conv (a, w)", _sides(0, 0, -1, -1, 0, 0, 2, 2)),
    "`Pad` of padding, cropped": _form(
        "a = Pad (x, p) b = Pad (a, q) y = Conv (b, w)",
        f"{_PADS}, {_sides(0, 0, -1, -1, 0, 0, 0, 0, name='q')}",
    ),
    "amounts from constants": _form(
        "k = Add (p, p) a = Pad (x, k) y = Conv (a, w)", inputs="float[1, 2, 9, 9] x"
    ),
    "two operators read it": _form(
        "a = Pad (x, p) y = Conv (a, w) z = LpPool <kernel_shape = [3, 3]> (a)"
    ),
    "others read it too": _form("a = Pad (x, p) y = Conv (a, w) z = Sigmoid (a)"),
    "others read a step": _form(f"a = Pad (x, p) t = Neg (a) y = Conv (t, w) z = {_MAXIMUM}> (t)"),
    "an output of the graph": _form("z = Pad (x, p) y = Conv (z, w)"),
    "SAME, known size": _same(_STRIDE, "float[1, 2, 8, 8] x"),
    "SAME, open size, stride 1": _same(),
    "SAME, open size, stride 2": _same(_STRIDE),
    "with `--dynamic pad`": _same(_STRIDE, dynamic="pad"),
    "`Pad` before that": _form(
        f'a = Pad (x, p) y = Conv <auto_pad = "SAME_UPPER"{_STRIDE}> (a, w)', inputs=_OPEN
    ),
    "SAME of a pool with dilation": _form(
        f'y = {_MAXIMUM}, auto_pad = "SAME_UPPER", dilations = [2, 2]> (x)', "", weight=""
    ),
    "computed amounts of SAME": _formula(),
    "with `--dynamic auto-pad`": _formula(dynamic="auto-pad"),
    "`ceil_mode`, `--no-ceil`": _form(
        f"y = {_MAXIMUM}, ceil_mode = 1{_STRIDE}> (x)",
        "",
        inputs="float[1, 2, 8, 8] x",
        weight="",
        no_ceil=True,
    ),
    "no `Pad` of the type": _form(
        "y = Conv <pads = [1, 1, 2, 2]> (x, w)",
        "",
        inputs="bfloat16[1, 2, 9, 9] x",
        weight=_BRAIN,
        opset=22,
    ),
    "in a body": _branches("a = Pad (x, p) t = Conv (a, w)"),
    "read in a body": _branches("t = Conv (a, w)", "a = Pad (x, p)"),
    "in a function": _called(),
    "the calls set `pads`": _called("<pads: ints = @pads>", "<pads>", "<pads = [0, 0, 0, 0]>"),
    "before ConvTranspose": _form("a = Pad (x, p) y = ConvTranspose (a, w)", weight=_TURNED),
    "SAME of ConvTranspose": _form(
        'y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
        "",
        inputs=_OPEN,
        weight=_TURNED,
    ),
    "a Slice behind it": _form(
        "a = ConvTranspose <strides = [2, 2]> (x, w) y = Slice (a, from, to, on)",
        "int64[2] from = {1, 1}, int64[2] to = {-1, -1}, int64[2] on = {2, 3}",
        inputs=_OPEN,
        weight=_TURNED,
    ),
    "a `Pad` behind it": _form(
        "a = ConvTranspose <strides = [2, 2]> (x, w) y = Pad (a, p)",
        _sides(0, 0, 0, 0, 0, 0, 1, 1),
        weight=_TURNED,
    ),
}
"""The forms, by what they are, in the order in which the manual tells them."""
