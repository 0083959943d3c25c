"""A `Pad` whose amounts are computed is SAME, or not, at every size that the graph admits."""

import onnx
import pytest

import onnxpad
from onnxpad.reasons import Reason
from tests.support import LOW, W, assert_graph, assert_same, fixed, one

OPEN = "float[1, 2, height, width] x"
GIVEN = f"int64[1] one = {{1}}, int64[1] two = {{2}}, int64[2] none = {{0, 0}}, {W}, {LOW}"
LEFT = "size = Shape <start = 2> (x) left = Mod (size, two)"
HALVES = "total = Add (left, one) begin = Div (total, two) end = Sub (total, begin)"
MORE = "begin = Add (left, one) end = Sub (begin, left)"
"""What SAME_UPPER pads for a kernel of 3 with stride 2, and SAME_LOWER for one of 4."""

WIDE = f"float[3, 2, 4, 4] v = {{{', '.join(str(i % 5 - 2) for i in range(96))}}}"


def padded(amounts: str, operator: str, value: str = "", *, inputs: str = OPEN) -> onnx.ModelProto:
    """A model with an operator that reads `p`, a `Pad` of computed amounts."""
    return one(
        f"{LEFT} {amounts} pads = Concat <axis = 0> (none, begin, none, end)"
        f" p = Pad (x, pads{value}) y = {operator}",
        inputs=inputs,
        initializers=f"{GIVEN}, {WIDE}",
    )


UPPER = padded(HALVES, "Conv <strides = [2, 2]> (p, w)")
LOWER = padded(MORE, "Conv <strides = [2, 2]> (p, v)")
MAXIMA = padded(HALVES, "MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (p)", ", c")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(UPPER, 'Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)', id="upper"),
        pytest.param(LOWER, 'Conv <auto_pad = "SAME_LOWER", strides = [2, 2]> (x, v)', id="lower"),
        pytest.param(
            MAXIMA,
            'MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]> (x)',
            id="maxima",
        ),
    ],
)
def test_becomes_the_attribute(before: onnx.ModelProto, after: str) -> None:
    result = fixed(before, dynamic="auto-pad")
    assert_graph(result.model, one(f"y = {after}", inputs=OPEN, initializers=f"{GIVEN}, {WIDE}"))
    assert [change.code for change in result.changes] == ["PAD501"]
    for size in (3, 4, 5, 6):
        assert_same(before, result.model, size)


@pytest.mark.parametrize(("model", "same"), [(UPPER, "SAME_UPPER"), (LOWER, "SAME_LOWER")])
def test_is_named_without_the_option(model: onnx.ModelProto, same: str) -> None:
    (found,) = onnxpad.check(model).findings
    assert (found.code, found.node) == ("PAD501", "<p>")
    assert (found.reason_code, found.fixable) == (Reason.SAME_AT_EVERY_SIZE, False)
    assert found.evidence["options"] == ("--shape", "--dim", "--dynamic auto-pad")
    assert not onnxpad.fix(model, validate=False).changed


def test_strict_does_not_offer_what_it_would_refuse() -> None:
    """A MaxPool pads with the lowest value, which is what finite data alone cannot tell."""
    offers = [
        onnxpad.check(model, strict=True).findings[0].evidence["options"]
        for model in (MAXIMA, UPPER)
    ]
    assert offers == [("--shape", "--dim"), ("--shape", "--dim", "--dynamic auto-pad")]


@pytest.mark.parametrize(
    ("model", "code"),
    [
        pytest.param(
            padded(HALVES, "Conv <strides = [1, 1]> (p, w)"), "PAD205", id="another stride"
        ),
        pytest.param(
            padded(HALVES, "Conv <strides = [2, 2]> (p, v)"), "PAD205", id="a kernel of 4"
        ),
        pytest.param(
            padded(HALVES, "Conv <dilations = [2, 2], strides = [2, 2]> (p, w)"),
            "PAD205",
            id="dilated",
        ),
        pytest.param(
            padded(HALVES, "Conv <strides = [2, 2]> (p, w)", inputs="float[1, 2, 9, 8] x"),
            "PAD201",
            id="known sizes, which fold",
        ),
        pytest.param(
            padded(
                "begin = Div (left, two) end = Add (none, one)", "Conv <strides = [2, 2]> (p, w)"
            ),
            "PAD201",
            id="in effect constant",
        ),
    ],
)
def test_is_not_same(model: onnx.ModelProto, code: str) -> None:
    findings = onnxpad.check(model, dynamic="auto-pad").findings
    assert [each.code for each in findings if each.op_type == "Pad"] == [code]


def test_the_user_may_want_computed_pads() -> None:
    codes = {each.code for each in onnxpad.check(UPPER, dynamic="pad").findings}
    assert "PAD501" not in codes
