"""`auto_pad` on operators that no other rule reads is named, with who could say what it means."""

import pytest

import onnxpad
from onnxpad.reasons import Reason
from tests.support import W, one, parsed
from tests.support.rows import each_row

CUSTOM = "Conv is a custom operator of acme: only its author defines how it pads; an onnxpad.Row"
NAMED = [
    # The node, its message, and why it stays.
    pytest.param(
        'y = com.microsoft.NhwcConv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
        "auto_pad=SAME_UPPER, strides (2, 2)",
        Reason.OPERATOR_NOT_COVERED,
        "onnxpad does not cover NhwcConv of com.microsoft",
        id="an operator of onnxruntime",
    ),
    pytest.param(
        'y = acme.Conv <auto_pad = "VALID"> (x, w)',
        "auto_pad=VALID",
        Reason.CUSTOM_OPERATOR,
        f"{CUSTOM} can declare it",
        id="another domain",
    ),
    pytest.param(
        "y = acme.Conv <auto_pad = 3> (x, w)",
        "auto_pad=?",
        Reason.CUSTOM_OPERATOR,
        f"{CUSTOM} can declare it",
        id="not a string",
    ),
    pytest.param(
        'y = Relu <auto_pad = "SAME_LOWER"> (x)',
        "auto_pad=SAME_LOWER",
        Reason.OPERATOR_NOT_COVERED,
        "onnxpad does not cover Relu",
        id="an operator of the standard",
    ),
]


@each_row(("body", "message", "code", "reason"), NAMED)
@pytest.mark.parametrize("style", ["fold", "symmetric", "pad"])
def test_is_named(body: str, message: str, code: Reason, reason: str, style: str) -> None:
    (found,) = onnxpad.check(one(body, initializers=W), style=style).findings
    assert (found.code, found.node, found.message) == ("PAD103", "<y>", message)
    assert (found.reason_code, found.reason, found.fixable) == (code, reason, False)


def test_a_function_gives_it_to_the_operators_inside() -> None:
    model = parsed(
        f"g (float[1, 2, 9, 8] x) => (float[] y) <{W}>"
        ' { y = f.go <auto_pad = "SAME_UPPER"> (x, w) }'
        ' <domain: "f", opset_import: ["" : 17]> go <auto_pad> (a, b) => (c)'
        " { c = Conv <auto_pad: string = @auto_pad> (a, b) }"
    )
    inside, call = onnxpad.check(model).findings
    assert (inside.code, inside.node) == ("PAD901", "f::go > Conv '<c>'")
    assert (call.code, call.node, call.reason_code) == ("PAD103", "<y>", Reason.CUSTOM_OPERATOR)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param('y = acme.Conv <auto_pad = "NOTSET"> (x, w)', id="nothing is left to it"),
        pytest.param("y = acme.Conv (x, w)", id="none"),
    ],
)
def test_says_nothing(body: str) -> None:
    assert not onnxpad.check(one(body, initializers=W)).findings


def test_other_rules_have_told_of_it() -> None:
    """The SAME of a Conv of open size is PAD101's, also where it stays."""
    model = one(
        'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
        inputs="float[1, 2, h, w] x",
        initializers=W,
    )
    assert [each.code for each in onnxpad.check(model).findings] == ["PAD101"]
