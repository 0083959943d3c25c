"""A `Pad` that no window can take over is named, with the first nodes that stand in the way."""

import pytest

import onnxpad
from onnxpad.reasons import Reason
from tests.support import PADS, W, one
from tests.support.rows import each_row

GIVEN = (
    f"{W}, {PADS}, float[2, 1, 3, 3] v = {{{', '.join('1' * 18)}}}, float[3] b = {{1, 2, 3}},"
    " int64[8] k = {0, 0, 0, 0, 0, 0, 1, 1}, int64[2] e = {0, 1}, bool c = {1},"
    " int64[8] c2 = {0, 1, 0, 0, 0, 0, 0, 0}"
)
AS_IT_IS = "else_branch = e () => (float[] z) { z = Relu (x) }"
LEFT = [
    ("a = Pad (x, p) s = Sigmoid (a) y = Conv (s, w)", Reason.STEPS_BETWEEN, "<y>"),
    (
        "a = Pad (x, p) s = Sigmoid (a) t = Exp (s) u = Neg (t) y = Conv (u, w)",
        Reason.STEPS_BETWEEN,
        "<y>",
    ),
    ("a = Pad (x, p) s = Sigmoid (a) y = ConvTranspose (s, v)", Reason.STEPS_BETWEEN, "<y>"),
    (
        "a = Pad (x, p) s = Sigmoid (a) y = com.microsoft.NhwcConv (s, w)",
        Reason.STEPS_BETWEEN,
        "<y>",
    ),
    (
        "a = Pad (x, c2) s = Cos (a) y = MaxPool <kernel_shape = [2, 2]> (s)",
        Reason.STEPS_BETWEEN,
        "<y>",
    ),
    (
        'a = Pad <mode = "edge"> (x, p) s = Cos (a) y = MaxPool <kernel_shape = [2, 2]> (s)',
        Reason.COPIES_DATA,
        "<y>",
    ),
    ("a = Pad (x, p) y = ConvTranspose (a, v)", Reason.OPERATOR_NOT_COVERED, "<y>"),
    ("a = Pad (x, p) y = com.microsoft.NhwcConv (a, w)", Reason.OPERATOR_NOT_COVERED, "<y>"),
    ("a = Pad (w, k) y = Conv (x, a)", Reason.READ_AS_OPERAND, None),
    ("a = Pad (b, e) y = Conv (x, v, a)", Reason.READ_AS_OPERAND, None),
    ("a = Pad (x, p) y = Softmax (a)", Reason.NO_WINDOW, None),
    ("a = Pad (x, p) r = Relu (a) y = GlobalAveragePool (r)", Reason.NO_WINDOW, None),
    ("a = Pad (x, p) y = acme.Thing (a)", Reason.NO_WINDOW, None),
    (
        (
            f"a = Pad (x, p) y = If (c) <then_branch = t () => (float[] z) {{ z = Relu (a) }},"
            f" {AS_IT_IS}>"
        ),
        Reason.READ_IN_BODY,
        None,
    ),
    ("a = Pad (x, p) y = Identity (a)", Reason.GRAPH_OUTPUT, None),
    ("a = Pad (x, p) y = Relu (x)", Reason.UNUSED, None),
    ("a = acme.Pad (x, p) y = Relu (a)", Reason.CUSTOM_OPERATOR, None),
    ("a = com.microsoft.Pad (x, p) y = Relu (a)", Reason.OPERATOR_NOT_COVERED, None),
    (
        (
            "a = Pad (x, p) r = Sin (a) s = Exp (a) t = Tan (a) u = Cos (a) v5 = Erf (a)"
            " y = Sum (r, s, t, u, v5)"
        ),
        Reason.NO_WINDOW,
        None,
    ),
    ("a = Pad (x, p) s = Sin (a) t = Sin (a) y = Sub (s, t)", Reason.NO_WINDOW, None),
]


@pytest.mark.parametrize("style", ["fold", "symmetric", "pad"])
@each_row(("body", "code", "window"), LEFT, at_once=4)
def test_why_it_stays(body: str, code: Reason, window: str | None, style: str) -> None:
    model = one(body, initializers=GIVEN)
    (found,) = [
        each for each in onnxpad.check(model, style=style).findings if "Pad" in each.op_type
    ]
    assert (found.code, found.reason_code) == ("PAD206", code)
    assert found.evidence["window"] == window


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("a = Pad (x, p)", "Pad axis 2 1+2, axis 3 2+1"),
        ("a = Pad (x, p, five)", "Pad axis 2 1+2, axis 3 2+1 with 5.0"),
        ('a = Pad <mode = "edge"> (x, p)', "Pad axis 2 1+2, axis 3 2+1 (edge)"),
        ("a = Pad (x, few, , last)", "Pad axis -1 1+2"),
        ("a = acme.Pad (x, p)", "Pad of acme"),
    ],
)
def test_it_is_described(body: str, message: str) -> None:
    model = one(
        f"{body} y = Sigmoid (a)",
        inputs="float[1, 2, 9, 8] x",
        initializers=f"{PADS}, float five = {{5}}, int64[2] few = {{1, 2}}, int64[1] last = {{-1}}",
        opset=18,
    )
    (found,) = onnxpad.check(model).findings
    assert (found.code, found.message) == ("PAD206", message)


@pytest.mark.parametrize(
    ("style", "body", "kept"),
    [
        ("pad", "a = Pad (x, p) y = Conv (a, w)", ""),
        ("pad", "a = Pad (x, p) y = Conv (a, w) z = Sigmoid (a)", "<a>"),
        ("pad", "a = Pad (x, p) m = Pad (w, k) y = Conv (a, m)", "<m>"),
        ("symmetric", "a = Pad (x, end) y = Conv <pads = [1, 1, 1, 1]> (a, w)", ""),
        ("symmetric", "a = Pad (x, end) y = Sigmoid (a)", "<a>"),
    ],
)
def test_only_what_the_style_does_not_ask_for_is_named(style: str, body: str, kept: str) -> None:
    model = one(
        body,
        outputs="float[] y, float[] z" if "z = " in body else "float[] y",
        initializers=f"{GIVEN}, int64[8] end = {{0, 0, 0, 0, 0, 0, 1, 1}}",
    )
    found = onnxpad.check(model, style=style).findings
    assert [each.node for each in found if each.code == "PAD206"] == ([kept] if kept else [])


def test_the_evidence_names_all_that_reads_it_and_the_way_to_a_window() -> None:
    model = one(
        "a = Pad (x, p) [r] r = Sigmoid (a) [c] y = Conv (r, w) z = Identity (a)",
        outputs="float[] y, float[] z",
        initializers=GIVEN,
    )
    (found,) = onnxpad.check(model).findings
    assert found.reason_code == Reason.STEPS_BETWEEN
    assert found.evidence == {
        "summary": "Conv reads it past Sigmoid; it is an output of the graph",
        "mode": "constant",
        "amounts": ((0, 0), (0, 0), (1, 2), (2, 1)),
        "value": 0,
        "readers": [{"node": "r", "op_type": "Sigmoid", "input": 0}],
        "output": True,
        "steps": ["r"],
        "window": "c",
    }
    (found,) = onnxpad.check(one("a = Pad (x, p) y = Exp (a)", initializers=GIVEN)).findings
    assert (found.evidence["output"], found.evidence["steps"]) == (False, [])


@each_row(
    "body",
    [
        "a = Pad (x, few, , at)",
        "a = Pad (x, few, none, at, at)",
        "a = Pad (x, few, none, at, at, at)",
    ],
)
def test_what_contradicts_its_schema_is_no_custom_operator(body: str) -> None:
    given = f"{GIVEN}, int64[2] at = {{2, 3}}, int64[4] few = {{1, 2, 1, 2}}, float none = {{0}}"
    model = one(f"{body} y = Conv (a, w)", initializers=given)
    about = [each for each in onnxpad.check(model).findings if each.op_type == "Pad"]
    assert [each.code for each in about] == ["PAD901"]
