"""Padding in bodies and functions that cannot be rewritten is named, with where it is."""

import onnx
import pytest

import onnxpad
from onnxpad.reasons import Reason
from tests.support import PADS, W, one, parsed
from tests.support.rows import each_row

GIVEN = f"{W}, {PADS}, bool c = {{1}}"


def held(body: str, *, inputs: str = "float[1, 2, 9, 8] x", reads: str = "x") -> onnx.ModelProto:
    """A custom operator with a body, which gives `z`."""
    return one(
        f"y = acme.Run ({reads}) <body = some () => (float[] z) {{ {body} }}>",
        inputs=inputs,
        initializers=GIVEN,
    )


def called(body: str, opset: int = 17) -> onnx.ModelProto:
    """A call of a function of `a` and `b`, which gives `z`."""
    return parsed(
        f"g (float[1, 2, 9, 8] x) => (float[] y) <{W}> {{ y = f.go (x, w) }}"
        f' <domain: "f", opset_import: ["" : {opset}]> go (a, b) => (z) {{ {body} }}'
    )


BODY = "Run '<y>' > body"
NAMED = [
    # The model, and the label of what is named.
    (held("a = Pad (x, p) z = Conv (a, w)"), f"{BODY} > Pad '<a>'"),
    (
        held("q = Mul (n, p) z = Pad (x, q)", inputs="float[1, 2, 9, 8] x, int64 n", reads="x, n"),
        f"{BODY} > Pad '<z>'",
    ),
    (held("z = acme.Pad (x, p)"), f"{BODY} > Pad '<z>'"),
    (
        held('[k] z = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'),
        f"{BODY} > Conv 'k'",
    ),
    (
        held(
            "z = If (c) <then_branch = t () => (float[] q) { q = Pad (x, p) },"
            " else_branch = e () => (float[] q) { q = Relu (x) }>"
        ),
        f"{BODY} > If '<z>' > then_branch > Pad '<q>'",
    ),
    (called('z = Conv <auto_pad = "SAME_UPPER"> (a, b)', opset=99), "f::go > Conv '<z>'"),
]


@each_row(("model", "label"), NAMED)
@pytest.mark.parametrize("style", ["fold", "symmetric", "pad"])
def test_is_named(model: onnx.ModelProto, label: str, style: str) -> None:
    (found,) = onnxpad.check(model, style=style).findings
    assert (found.code, found.node) == ("PAD903", label)
    assert (found.reason_code, found.fixable) == (Reason.OTHER_SCOPE, False)


def test_the_evidence_says_where_it_is() -> None:
    pad, conv = onnxpad.check(held('a = Pad (x, p) z = Conv <auto_pad = "VALID"> (a, w)')).findings
    assert pad.evidence == {"scope": BODY}
    assert conv.evidence == {"auto_pad": "VALID", "scope": BODY}


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(held("z = Conv <pads = [1, 1, 1, 1]> (x, w)"), id="pads of an operator"),
        pytest.param(held('z = Conv <auto_pad = "NOTSET"> (x, w)'), id="nothing is left to it"),
        pytest.param(held("z = Relu (x)"), id="no padding"),
        pytest.param(called("z = Relu (a)", opset=99), id="a function without padding"),
    ],
)
def test_says_nothing(model: onnx.ModelProto) -> None:
    assert not onnxpad.check(model).findings


def test_the_other_rules_look_into_the_standards_bodies() -> None:
    model = one(
        "y = If (c) <then_branch = t () => (float[] z) { a = Pad (x, p) z = Conv (a, w) },"
        " else_branch = e () => (float[] z) { z = Conv (x, w) }>",
        initializers=GIVEN,
    )
    assert [each.code for each in onnxpad.check(model).findings] == ["PAD201"]
