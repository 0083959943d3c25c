"""Kinds of steps between a `Pad` and its operator: a model for each step that a `Pad` passes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import onnx

from tests.forms.outcome import Form
from tests.support import W, one


@dataclass(frozen=True, slots=True)
class Step:
    """A step `t` of a `Pad` `a`, before a Conv.

    Attributes:
        nodes: The nodes that make `t` of `a`, or of `x`.
        constants: Their constants.
        value: The value of the `Pad`.
        shape: The shape of the data.
        pads: The amounts of the `Pad`; they are 1 and 2 on each padded axis.
        weight: The weight of the Conv.
        kind: The element type of the data.
        title: The form in words, where that is not its operators.
    """

    nodes: str
    constants: str = ""
    value: float = 0
    shape: str = "1, 2, 9, 9"
    pads: str = "0, 0, 1, 1, 0, 0, 2, 2"
    weight: str = W
    kind: str = "float"
    title: str = ""

    @property
    def form(self) -> Form:
        """The model."""
        return _form(self)


@cache
def _form(step: Step) -> Form:
    a = f"a = Pad ({'x, p, c' if step.value else 'x, p'})"
    given = [step.weight, f"int64[{len(step.pads.split(','))}] p = {{{step.pads}}}"]
    given += [f"{step.kind} c = {{{step.value:g}}}"] if step.value else []
    given += [step.constants] if step.constants else []
    return Form(
        one(
            f"{a} {step.nodes} y = Conv (t, w)",
            inputs=f"{step.kind}[{step.shape}] x",
            initializers=", ".join(given),
            opset=max(_since(word) for word in step.nodes.split()),
        )
    )


def _since(op: str) -> int:
    """The opset to use for an operator: 17, unless it came later."""
    if not onnx.defs.has(op) or onnx.defs.has(op, 17):
        return 17
    return min(
        version
        for version in range(18, onnx.defs.onnx_opset_version() + 1)
        if onnx.defs.has(op, version)
    )


@dataclass(frozen=True, slots=True)
class Kind:
    """Steps that a `Pad` passes, or does not, for one reason.

    Attributes:
        when: What must hold, in words.
        passed: The steps that it passes, by operator.
        kept: Steps that it does not pass, each with its title.
    """

    when: str
    passed: Mapping[str, Step]
    kept: tuple[Step, ...]


_LAST: Final[dict[str, Any]] = {"shape": "1, 9, 9, 2", "pads": "0, 1, 1, 0, 0, 2, 2, 0"}
_LINE: Final[dict[str, Any]] = {"shape": "1, 2, 9", "pads": "0, 0, 1, 0, 0, 2"}
_ROW: Final = "float[3, 2, 1, 3] w = {" + ", ".join(str(n % 5 - 2) for n in range(18)) + "}"
_COLUMN: Final = "float[3, 2, 3] w = {" + ", ".join(str(n % 5 - 2) for n in range(18)) + "}"
_THIN: Final[dict[str, Any]] = {"shape": "1, 2, 1, 9", "pads": "0, 0, 0, 1, 0, 0, 0, 2"}
_WIDE: Final = "float[3, 4, 3, 3] w = {" + ", ".join(str(n % 5 - 2) for n in range(108)) + "}"
_NARROW: Final = "float[3, 1, 3, 3] w = {" + ", ".join(str(n % 5 - 2) for n in range(27)) + "}"
_SCALE: Final = "float s = {0.5}, uint8 z = {9}"
_EACH: Final = "float[2, 1, 1] k = {1, 2}"
_TALL: Final = "float[12, 1] k = {" + ", ".join(map(str, range(1, 13))) + "}"


def _with_constant(op: str, value: float, constant: float) -> Step:
    return Step(f"t = {op} (a, k)", f"float k = {{{constant:g}}}", value)


_KEEP_ZERO: Final = (
    "Tanh", "Asinh", "Atanh", "Ceil", "Celu", "Elu", "Erf", "Floor", "Gelu", "HardSwish",
    "LeakyRelu", "Round", "Selu", "Sign", "Sin", "Sinh", "Softsign", "Sqrt", "Swish", "Tan",
    "ThresholdedRelu",
)  # fmt: skip

KINDS: Final = (
    Kind(
        "always; the amounts follow the axes",
        {"Transpose": Step("t = Transpose <perm = [0, 3, 1, 2]> (a)", **_LAST)},
        (Step(
            "t = Transpose <perm = [0, 2, 1, 3]> (a)", title="a padded axis becomes the channels",
            pads="0, 0, 1, 0, 0, 0, 2, 0", shape="1, 9, 2, 9",
            weight="float[3, 5, 3, 3] w = {" + ", ".join(str(n % 5) for n in range(135)) + "}",
        ),),
    ),
    Kind(
        "only axes of size 1 come or go; the shape of a Reshape is corrected",
        {
            "Unsqueeze": Step("t = Unsqueeze (a, k)", "int64[1] k = {2}", weight=_ROW, **_LINE),
            "Squeeze": Step("t = Squeeze (a, k)", "int64[1] k = {2}", weight=_COLUMN, **_THIN),
            "Reshape": Step(
                "t = Reshape (a, k)", "int64[4] k = {1, 2, 1, 12}", weight=_ROW, **_LINE
            ),
            "Flatten": Step(
                "f = Flatten <axis = 0> (a) t = Unsqueeze (f, k)", "int64[1] k = {1}",
                shape="9", pads="1, 2",
                weight="float[3, 1, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}",
            ),
        },
        (Step(
            "t = Reshape (a, k)", "int64[3] k = {1, 2, 144}", weight=_COLUMN,
            title="Reshape that joins axes",
        ),),
    ),
    Kind(
        "all inputs are padded alike, along another axis",
        {"Concat": Step(
            "b = Pad (x, p) t = Concat <axis = 1> (a, b)", weight=_WIDE
        )},
        (Step(
            "b = Neg (z) t = Concat <axis = 1> (a, b)", weight=_WIDE,
            constants="float[1, 2, 12, 12] z = {" + ", ".join(["1"] * 288) + "}",
            title="Concat with data that is not padded",
        ),),
    ),
    Kind(
        "along another axis; a Slice may crop the padding",
        {
            "Split": Step("u, v = Split <axis = 1> (a) t = Concat <axis = 1> (v, u)"),
            "Slice": Step(
                "t = Slice (a, k, m, k)", "int64[1] k = {1}, int64[1] m = {2}", weight=_NARROW
            ),
        },
        (Step("t, u = Split <axis = 2> (a)", title="Split of a padded axis"),),
    ),
    Kind(
        "constant scales and zero points, the same along padded axes; the value comes out as one "
        "number",
        {
            "QuantizeLinear": Step(
                "q = QuantizeLinear (a, s, z) t = DequantizeLinear (q, s, z)", _SCALE
            ),
            "DequantizeLinear": Step(
                "t = DequantizeLinear (a, s, z)", _SCALE, value=9, kind="uint8"
            ),
            "Cast": Step("t = Cast <to = 1> (a)", kind="int32"),
        },
        (Step(
            "q = QuantizeLinear <axis = 2> (a, s, z) t = DequantizeLinear <axis = 2> (q, s, z)",
            "float[12] s = {" + ", ".join(["0.5"] * 12) + "}, uint8[12] z = {"
            + ", ".join(["9"] * 12) + "}",
            title="scales that differ along a padded axis",
        ),),
    ),
    Kind(
        "the new value of the `Pad` is certain",
        {
            "Relu": Step("t = Relu (a)", value=-3), "Neg": Step("t = Neg (a)"),
            "Abs": Step("t = Abs (a)"),
            "Clip": Step("t = Clip (a, k)", "float k = {0}", value=-3),
        },
        (Step(
            "t = Clip (a, k, l)", "float k = {1}, float l = {0}", title="Clip whose bounds cross"
        ),),
    ),
    Kind(
        "the other operand is constant, of size 1 along padded axes; one value comes out",
        {
            "Add": _with_constant("Add", -3, 3), "Sub": _with_constant("Sub", 3, 3),
            "Mul": Step("t = Mul (a, k)", _EACH), "Div": _with_constant("Div", 0, 3),
        },
        (
            Step("t = Mul (a, k)", _TALL, title="Mul by what differs along a padded axis"),
            Step("t = Add (a, k)", _EACH, title="Add of what differs along the channels"),
        ),
    ),
    Kind(
        "the value is 0, of which they make 0",
        {op: Step(f"t = {op} (a)") for op in _KEEP_ZERO},
        (
            Step("t = Tanh (a)", value=1, title="Tanh of 1"),
            Step("t = Sigmoid (a)", title="Sigmoid of 0"),
            Step("t = LeakyRelu (a)", value=-3, title="LeakyRelu of -3"),
        ),
    ),
)  # fmt: skip
"""All kinds of steps; each operator of the table of steps is in one."""
