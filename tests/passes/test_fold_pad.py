"""`Pad`s in front of operators: what folds, what it becomes, and what stays and why."""

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import LOW, PADS, W, assert_graph, feeds_of, fixed, one, run

TELLING = (
    "then_branch = t () => (float[] t) { t = Reciprocal (m) },"
    "else_branch = e () => (float[] e) { e = Identity (m) }"
)
ANY = "float[] x, float[] K"
"""Data and a weight of any rank."""
TWO_RANKS = "float[1, 2, 9] x, float[3, 2, 3] w, float[1, 2, 9, 9] u, float[3, 2, 3, 3] v"
POOL = "y = MaxPool <kernel_shape = [3, 3]>"

FOLDS = [
    pytest.param(
        one(f'a = Pad <mode = "edge"> (x, p) {POOL} (a)', initializers=PADS),
        one("y = MaxPool <kernel_shape = [3, 3], pads = [1, 2, 2, 1]> (x)"),
        id="copies that never win",
    ),
    pytest.param(
        one("a = Pad (x, p) y = Conv (a, w)", initializers=f"{W}, {PADS}"),
        one("y = Conv <pads = [1, 2, 2, 1]> (x, w)", initializers=W),
        id="conv",
    ),
    pytest.param(
        one("a = Pad (x, p) y = Conv <pads = [1, 0, 0, 3]> (a, w)", initializers=f"{W}, {PADS}"),
        one("y = Conv <pads = [2, 2, 2, 4]> (x, w)", initializers=W),
        id="adds to the operator's own",
    ),
    pytest.param(
        one(
            "i = Identity (x) a = Pad (i, p) j = Identity (a) y = Conv (j, w)",
            initializers=f"{W}, {PADS}",
        ),
        one("i = Identity (x) y = Conv <pads = [1, 2, 2, 1]> (i, w)", initializers=W),
        id="through Identity",
    ),
    pytest.param(
        one('a = Pad (x, p) y = Conv <auto_pad = "VALID"> (a, w)', initializers=f"{W}, {PADS}"),
        one("y = Conv <pads = [1, 2, 2, 1]> (x, w)", initializers=W),
        id="VALID",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, , s) y = Conv (a, w)",
            initializers=f"{W}, int64[4] p = {{1, 2, 2, 1}}, int64[2] s = {{-2, 3}}",
            opset=18,
        ),
        one("y = Conv <pads = [1, 2, 2, 1]> (x, w)", initializers=W, opset=18),
        id="with axes",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, , s) y = Conv (a, w) b = Pad (u, p, , s) z = Conv (b, v)",
            inputs=TWO_RANKS,
            outputs="float[] y, float[] z",
            initializers="int64[2] p = {1, 2}, int64[1] s = {2}",
            opset=18,
        ),
        one(
            "y = Conv <pads = [1, 2]> (x, w) z = Conv <pads = [1, 0, 2, 0]> (u, v)",
            inputs=TWO_RANKS,
            outputs="float[] y, float[] z",
            opset=18,
        ),
        id="written alike, with weights of two ranks",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Conv (a, w) b = Pad (u, q) z = Conv (b, w)",
            inputs="float[1, 2, 9, 9] x, float[1, 2, 9, 9] u",
            outputs="float[] y, float[] z",
            initializers=f"{W}, {PADS}, int64[8] q = {{0, 0, 2, 1, 0, 0, 1, 2}}",
        ),
        one(
            "y = Conv <pads = [1, 2, 2, 1]> (x, w) z = Conv <pads = [2, 1, 1, 2]> (u, w)",
            inputs="float[1, 2, 9, 9] x, float[1, 2, 9, 9] u",
            outputs="float[] y, float[] z",
            initializers=W,
        ),
        id="written alike, behind other amounts",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 1, 2, 0, 0, 2, 1]> (x) y = Conv (a, w)", initializers=W, opset=9
        ),
        one("y = Conv <pads = [1, 2, 2, 1]> (x, w)", initializers=W, opset=9),
        id="opset 9, amounts as an attribute",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = MaxPool <kernel_shape = [3, 3]> (a)",
            initializers=f"{PADS}, {LOW}",
        ),
        one("y = MaxPool <kernel_shape = [3, 3], pads = [1, 2, 2, 1]> (x)"),
        id="MaxPool, -inf",
    ),
    pytest.param(
        one(
            "r = Relu (x) s = Sigmoid (x) c = Concat <axis = 1> (r, s) d = Mul (c, c) "
            "e = AveragePool <kernel_shape = [2, 2]> (d) a = Pad (e, p) "
            "y = MaxPool <kernel_shape = [3, 3]> (a)",
            initializers=PADS,
        ),
        one(
            "r = Relu (x) s = Sigmoid (x) c = Concat <axis = 1> (r, s) d = Mul (c, c) "
            "e = AveragePool <kernel_shape = [2, 2]> (d) "
            "y = MaxPool <kernel_shape = [3, 3], pads = [1, 2, 2, 1]> (e)"
        ),
        id="MaxPool of what several operators keep non-negative",
    ),
    pytest.param(
        one(
            "r = Relu (x) a = Pad (r, p) y = MaxPool <kernel_shape = [3, 3]> (a)", initializers=PADS
        ),
        one("r = Relu (x) y = MaxPool <kernel_shape = [3, 3], pads = [1, 2, 2, 1]> (r)"),
        id="MaxPool, 0 on data that is never negative",
    ),
    *(
        pytest.param(
            one(f"{first} a = Pad (s, p, c) {POOL} (a)", initializers=f"{PADS}, float c = {{{c}}}"),
            one(
                f"{first} y = MaxPool <kernel_shape = [3, 3], pads = [1, 2, 2, 1]> (s)",
                initializers=f"float c = {{{c}}}",
            ),
            id=f"MaxPool, {c} on data that is never below it",
        )
        for first, c in (
            ("s = Clip (x, c)", -0.5),
            ("s = Clip (x, c)", 3),
        )
    ),
    pytest.param(
        one("a = Pad (x, p) y = AveragePool <kernel_shape = [3, 3]> (a)", initializers=PADS),
        one(
            "y = AveragePool <kernel_shape = [3, 3], pads = [1, 2, 2, 1], count_include_pad = 1>"
            " (x)"
        ),
        id="AveragePool counts what was data",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = AveragePool <kernel_shape = [4, 4], pads = [1, 1, 1, 1],"
            " count_include_pad = 1> (a)",
            initializers=PADS,
        ),
        one(
            "y = AveragePool <kernel_shape = [4, 4], pads = [2, 3, 3, 2], count_include_pad = 1>"
            " (x)"
        ),
        id="AveragePool that counts its own",
    ),
    pytest.param(
        one("a = Pad (x, p) y = LpPool <kernel_shape = [3, 3]> (a)", initializers=PADS),
        one("y = LpPool <kernel_shape = [3, 3], pads = [1, 2, 2, 1]> (x)"),
        id="LpPool",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Conv (a, w) z = Conv <strides = [2, 2]> (a, w)",
            outputs="float[] y, float[] z",
            initializers=f"{W}, {PADS}",
        ),
        one(
            "y = Conv <pads = [1, 2, 2, 1]> (x, w)"
            " z = Conv <pads = [1, 2, 2, 1], strides = [2, 2]> (x, w)",
            outputs="float[] y, float[] z",
            initializers=W,
        ),
        id="two consumers take it",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Conv (a, w) z = Relu (a)",
            outputs="float[] y, float[] z",
            initializers=f"{W}, {PADS}",
        ),
        one(
            "a = Pad (x, p) y = Conv <pads = [1, 2, 2, 1]> (x, w) z = Relu (a)",
            outputs="float[] y, float[] z",
            initializers=f"{W}, {PADS}",
        ),
        id="stays for whom it must",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Conv (a, w)",
            outputs="float[] y, float[] a",
            initializers=f"{W}, {PADS}",
        ),
        one(
            "a = Pad (x, p) y = Conv <pads = [1, 2, 2, 1]> (x, w)",
            outputs="float[] y, float[] a",
            initializers=f"{W}, {PADS}",
        ),
        id="stays as a graph output",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) b = Pad (a, p) y = Conv (b, w)",
            initializers=f"{W}, {PADS}",
        ),
        one("y = Conv <pads = [2, 4, 4, 2]> (x, w)", initializers=W),
        id="a chain",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Conv (a, w)",
            inputs="float[N, 2, H, V] x",
            initializers=f"{W}, {PADS}",
        ),
        one("y = Conv <pads = [1, 2, 2, 1]> (x, w)", inputs="float[N, 2, H, V] x", initializers=W),
        id="any size",
    ),
]


@pytest.mark.parametrize(("before", "after"), FOLDS)
def test_folds(before: object, after: object) -> None:
    runs = "K" not in str(before)
    result = fixed(before, runs=runs)  # type: ignore[arg-type]
    assert_graph(result.model, after)  # type: ignore[arg-type]
    assert not onnxpad.check(result.model).failing()


BITS = [
    pytest.param(
        one("a = Pad (x, p, c) y = Conv (a, w)", initializers=f"{W}, {PADS}, float c = {{-0.0}}"),
        id="Conv",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = LpPool <kernel_shape = [3, 3], p = 1> (a)",
            initializers=f"{PADS}, float c = {{-0.0}}",
        ),
        id="LpPool",
    ),
]


@pytest.mark.parametrize("value", [-0.0, 0.0, 1.0])
@pytest.mark.parametrize("before", BITS)
def test_what_cannot_tell_minus_zero_folds_it(before: onnx.ModelProto, value: float) -> None:
    result = fixed(before)
    assert [c.code for c in result.changes] == ["PAD201"]
    data = {"x": np.full((1, 2, 9, 8), value, np.float32)}
    for one_, other in zip(run(before, data), run(result.model, data), strict=True):
        assert one_.tobytes() == other.tobytes()


RUN_TIME = [
    pytest.param("t = Slice (x, none, e, two)", "int64[1] e", id="a Slice before Conv"),
    pytest.param("v = Slice (x, none, e, two) t = Relu (v)", "int64[1] e", id="behind a Relu"),
]


@pytest.mark.parametrize("length", [0, 1, 3])
@pytest.mark.parametrize(("source", "given"), RUN_TIME)
def test_a_conv_may_read_nothing_but_padding(source: str, given: str, length: int) -> None:
    before = one(
        f"{source} a = Pad (t, p) y = Conv (a, w)",
        inputs=f"float[1, 2, 8] x, {given}",
        initializers="int64[6] p = {0, 0, 2, 0, 0, 1}, int64[1] none = {0}, int64[1] two = {2},"
        " float[1, 2, 2] w = {1, 2, 3, 4}",
    )
    result = fixed(before, runs=False)
    assert [c.code for c in result.changes] == ["PAD201"]
    data = {**feeds_of(before), "e": np.array([length])}
    np.testing.assert_array_equal(run(before, data)[0], run(result.model, data)[0])


@pytest.mark.parametrize("between", ["t = Conv (x, w)", "c = Conv (x, w) t = Relu (c)"])
def test_what_a_conv_gives_is_not_empty(between: str) -> None:
    before = one(
        f"x = Reshape (u, s) {between} a = Pad (t, p) y = AveragePool <kernel_shape = [2]> (a)",
        inputs="float[N] u, int64[K] s",
        initializers="int64[6] p = {0, 0, 1, 0, 0, 1}, float[1, 2, 2] w = {1, 2, 3, 4}",
    )
    assert [c.code for c in fixed(before, runs=False).changes] == ["PAD201"]


STAYS = [
    pytest.param(
        one(f'a = Pad <mode = "reflect"> (x, p) {POOL} (a)', initializers=PADS),
        "copies-data",
        id="reflect that reaches far",
    ),
    pytest.param(
        one('a = Pad <mode = "reflect"> (x, p) y = Conv (a, w)', initializers=f"{W}, {PADS}"),
        "copies-data",
        id="reflect",
    ),
    pytest.param(
        one("a = Pad (x, p, c) y = Conv (a, w)", initializers=f"{W}, {PADS}, float c = {{5}}"),
        "fill-differs",
        id="another value",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Conv (a, w)",
            initializers=f"{W}, int64[8] p = {{0, 0, -1, 0, 0, 0, -2, 0}}",
        ),
        "crops",
        id="negative amounts",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Conv (a, w)",
            inputs="float[1, 1, 9, 8] x",
            initializers=f"{W}, int64[8] p = {{0, 1, 0, 0, 0, 0, 0, 0}}",
        ),
        "pads-batch-or-channels",
        id="channels",
    ),
    pytest.param(
        one("a = Pad (x, p) y = MaxPool <kernel_shape = [3, 3]> (a)", initializers=PADS),
        "fill-wins",
        id="MaxPool, 0 on data that may be negative",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = MaxPool <kernel_shape = [2, 3]> (a)",
            initializers=f"{PADS}, {LOW}",
        ),
        "pads-not-below-kernel",
        id="pads as large as the kernel",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y, i = MaxPool <kernel_shape = [3, 3]> (a)",
            outputs="float[] y, int64[] i",
            initializers=f"{PADS}, {LOW}",
        ),
        "indices-read",
        id="MaxPool with Indices",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = AveragePool <kernel_shape = [4, 4], pads = [1, 1, 1, 1]> (a)",
            initializers=PADS,
        ),
        "own-padding-uncounted",
        id="AveragePool that does not count its own",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = MaxPool <kernel_shape = [2], strides = [2], ceil_mode = 1> (a)",
            inputs="float[1, 2, 3] x",
            initializers=f"int64[6] p = {{0, 0, 1, 0, 0, 1}}, {LOW}",
        ),
        "ceil-windows-differ",
        id="ceil_mode drops the last window",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Conv (a, w)",
            inputs="float[1, 2, 9, 8] x, int64[8] p",
            initializers=W,
        ),
        "amounts-unknown",
        id="amounts from an input",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = Conv (a, w)",
            inputs="float[1, 2, 9, 8] x, float c",
            initializers=f"{W}, {PADS}",
        ),
        "fill-unknown",
        id="value from an input",
    ),
    pytest.param(
        one(
            'a = Pad (x, p) y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)',
            inputs="float[1, 2, H, V] x",
            initializers=f"{W}, {PADS}",
        ),
        "same-stays",
        id="SAME behind it that stays",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = MaxPool <kernel_shape = [2], dilations = [4]> (a)",
            inputs="float[1, 2, L] x",
            initializers=f"int64[6] p = {{0, 0, 1, 0, 0, 1}}, {LOW}",
        ),
        "window-in-padding",
        id="a dilated window may read padding only",
    ),
    pytest.param(
        one(
            f"s = Clip (x, c) a = Pad (s, p, d) {POOL} (a)",
            initializers=f"{PADS}, float c = {{-0.5}}, float d = {{-0.25}}",
        ),
        "fill-wins",
        id="data that may be below the value",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = AveragePool <kernel_shape = [3, 3]> (a)",
            initializers=f"{PADS}, float c = {{-0.0}}",
        ),
        "fill-differs",
        id="AveragePool tells -0.0 from 0.0",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 1, 2, 0, 0, 2, 1], value = -0.0> (x)"
            " y = AveragePool <kernel_shape = [3, 3]> (a)",
            opset=10,
        ),
        "fill-differs",
        id="-0.0 as an attribute",
    ),
    pytest.param(
        one(
            "r = Relu (x) a = Pad (r, p, c) y = MaxPool <kernel_shape = [3, 3]> (a)",
            initializers=f"{PADS}, float c = {{-0.0}}",
        ),
        "fill-wins",
        id="-0.0 is no less than a 0.0 of the data",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) m = AveragePool <kernel_shape = [3, 3]> (a) y = Reciprocal (m)",
            initializers=PADS,
        ),
        "fill-wins",
        id="an average of -0.0 alone",
    ),
    *(
        pytest.param(
            one(
                f"r = Relu (x) a = Pad (r, p) m = MaxPool <kernel_shape = [3, 3]> (a) {reader}",
                initializers=f"{PADS}, float c = {{-1}}, bool yes = {{1}}",
            ),
            "fill-wins",
            id=f"a -0.0 of the data, read by {said}",
        )
        for reader, said in (
            ("n = Neg (m) y = Div (c, n)", "Div '<y>' downstream may tell"),
            ("y = Pow (m, c)", "Pow '<y>' downstream may tell"),
            ("n = Neg (m) y = com.custom.Any (n)", "Any '<y>' downstream may tell"),
            (f"y = If (yes) <{TELLING}>", "If '<y>' downstream may tell"),
        )
    ),
    *(
        pytest.param(
            one(
                f"{source} a = Pad (t, p, c) y = {op} <kernel_shape = [2]> (a)",
                inputs=inputs,
                initializers="int64[6] p = {0, 0, 1, 0, 0, 1}, int64[1] none = {0},"
                f" int64[1] two = {{2}}, float c = {{{fill}}}",
                opset=18,
            ),
            "may-be-empty",
            id=f"{op} of {told}",
        )
        for op, fill in (("AveragePool", "0"), ("MaxPool", "-inf"), ("LpPool", "0"))
        for told, source, inputs in (
            ("a run-time Slice", "t = Slice (x, none, e, two)", "float[1, 2, L] x, int64[1] e"),
            (
                "what is not 0",
                "i = NonZero (x) f = Cast <to = 1> (i) t = Unsqueeze (f, none)",
                "float[1, 2, L] x",
            ),
            ("what a mask leaves", "t = Compress <axis = 2> (x, b)", "float[1, 2, L] x, bool[L] b"),
            ("a run-time Reshape", "t = Reshape (x, s)", "float[1, 2, L] x, int64[3] s"),
        )
        if (op, told) != ("MaxPool", "what a mask leaves")  # whose element type is unknown
    ),
    pytest.param(
        one(
            "s = Shape (x) h = Gather (s, two) w = Gather (s, three) m = Mul (h, w)"
            " e = Div (m, four) t = Slice (x, none, e, two) a = Pad (t, p)"
            " y = AveragePool <kernel_shape = [2, 1]> (a)",
            inputs="float[1, 2, H, V] x",
            initializers="int64[1] two = {2}, int64[1] three = {3}, int64[1] four = {4},"
            " int64[1] none = {0}, int64[8] p = {0, 0, 1, 0, 0, 0, 1, 0}",
        ),
        "may-be-empty",
        id="AveragePool of a product of sizes",
    ),
    pytest.param(
        one(
            "t = Reshape (x, s) a = Pad (t, p) y = Conv (a, w)",
            inputs="float[N] x, int64[K] s",
            initializers=f"{W}, int64[6] p = {{0, 0, 1, 0, 0, 1}}",
        ),
        "rank-differs",
        id="amounts of the wrong length on data of unknown rank",
    ),
]


@pytest.mark.parametrize(("before", "reason"), STAYS)
def test_stays(before: object, reason: str) -> None:
    result = onnxpad.fix(before)  # type: ignore[arg-type]
    assert {change.code for change in result.changes} <= {"PAD701"}  # which guards what stays
    assert reason in {f.reason_code for f in result.findings if f.code in {"PAD201", "PAD205"}}
    assert all(f.severity == "info" for f in result.findings)


def test_of_copies_that_never_win_a_part_stays_in_a_pad() -> None:
    edge = one(f'a = Pad <mode = "edge"> (x, p) {POOL} (a)', initializers=PADS)
    result = onnxpad.fix(edge, style="symmetric")
    pad, pool = result.model.graph.node
    assert (pad.op_type, [*pool.attribute[-1].ints]) == ("Pad", [1, 1, 1, 1])
    assert result.ok
    assert "mode" not in str(pad.attribute) or pad.attribute[0].s == b"constant"
