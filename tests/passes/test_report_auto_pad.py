"""`auto_pad` on operators that no other rule reads is named, with who could say what it means."""

import pytest

import onnxpad
from onnxpad.reasons import Reason
from tests.support import W, one, parsed
from tests.support.rows import each_row

NAMED = [
    ('y = com.microsoft.NhwcConv <auto_pad = "SAME_UPPER"> (x, w)', Reason.OPERATOR_NOT_COVERED),
    ('y = acme.Conv <auto_pad = "VALID"> (x, w)', Reason.CUSTOM_OPERATOR),
    ("y = acme.Conv <auto_pad = 3> (x, w)", Reason.CUSTOM_OPERATOR),
    ('y = Relu <auto_pad = "SAME_LOWER"> (x)', Reason.OPERATOR_NOT_COVERED),
]


@each_row(("body", "code"), NAMED)
@pytest.mark.parametrize("style", ["fold", "symmetric", "pad"])
def test_is_named(body: str, code: Reason, style: str) -> None:
    (found,) = onnxpad.check(one(body, initializers=W), style=style).findings
    assert (found.code, found.node) == ("PAD103", "<y>")
    assert (found.reason_code, found.fixable) == (code, False)


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
