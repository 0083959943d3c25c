"""`Pad`s in front of operators: what folds, what it becomes, and what stays and why."""

import pytest

import onnxpad
from tests.support import canonical, fixed, one

W = "float[3, 2, 3, 3] w = {" + ", ".join(str(i % 5 - 2) for i in range(54)) + "}"
PADS = "int64[8] p = {0, 0, 1, 2, 0, 0, 2, 1}"
LOW = "float c = {-inf}"

FOLDS = [
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
            "r = Relu (x) a = Pad (r, p) y = MaxPool <kernel_shape = [3, 3]> (a)", initializers=PADS
        ),
        one("r = Relu (x) y = MaxPool <kernel_shape = [3, 3], pads = [1, 2, 2, 1]> (r)"),
        id="MaxPool, 0 on data that is never negative",
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
            inputs="float[1, 2, 9, 8] x, float[3, 2, K, L] w",
            initializers=PADS,
        ),
        one(
            "y = Conv <pads = [1, 2, 2, 1]> (x, w)",
            inputs="float[1, 2, 9, 8] x, float[3, 2, K, L] w",
        ),
        id="a kernel that only run time knows",
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
    assert canonical(result.model) == canonical(after)  # type: ignore[arg-type]
    assert not onnxpad.check(result.model).failing()


STAYS = [
    pytest.param(
        one('a = Pad <mode = "reflect"> (x, p) y = Conv (a, w)', initializers=f"{W}, {PADS}"),
        "copies data (reflect)",
        id="reflect",
    ),
    pytest.param(
        one("a = Pad (x, p, c) y = Conv (a, w)", initializers=f"{W}, {PADS}, float c = {{5}}"),
        "pads with 5.0, Conv with 0",
        id="another value",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Conv (a, w)",
            initializers=f"{W}, int64[8] p = {{0, 0, -1, 0, 0, 0, 2, 0}}",
        ),
        "crops",
        id="negative amounts",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Conv (a, w)",
            inputs="float[1, 1, 9, 8] x",
            initializers=f"{W}, int64[8] p = {{0, 1, 1, 1, 0, 0, 1, 1}}",
        ),
        "batch or channels",
        id="channels",
    ),
    pytest.param(
        one("a = Pad (x, p) y = MaxPool <kernel_shape = [3, 3]> (a)", initializers=PADS),
        "can win in a MaxPool",
        id="MaxPool, 0 on data that may be negative",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = MaxPool <kernel_shape = [2, 3]> (a)",
            initializers=f"{PADS}, {LOW}",
        ),
        "smaller than its kernel",
        id="pads as large as the kernel",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y, i = MaxPool <kernel_shape = [3, 3]> (a)",
            outputs="float[] y, int64[] i",
            initializers=f"{PADS}, {LOW}",
        ),
        "Indices",
        id="MaxPool with Indices",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = AveragePool <kernel_shape = [4, 4], pads = [1, 1, 1, 1]> (a)",
            initializers=PADS,
        ),
        "count_include_pad=0",
        id="AveragePool that does not count its own",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = MaxPool <kernel_shape = [2], strides = [2], ceil_mode = 1> (a)",
            inputs="float[1, 2, 3] x",
            initializers=f"int64[6] p = {{0, 0, 1, 0, 0, 1}}, {LOW}",
        ),
        "ceil_mode",
        id="ceil_mode drops the last window",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Conv (a, w)",
            inputs="float[1, 2, 9, 8] x, int64[8] p",
            initializers=W,
        ),
        "its amounts are known only at run time",
        id="amounts from an input",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = Conv (a, w)",
            inputs="float[1, 2, 9, 8] x, float c",
            initializers=f"{W}, {PADS}",
        ),
        "value it pads with is known only at run time",
        id="value from an input",
    ),
    pytest.param(
        one(
            'a = Pad (x, p) y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)',
            inputs="float[1, 2, H, V] x",
            initializers=f"{W}, {PADS}",
        ),
        "depends on the padded size",
        id="SAME behind it that stays",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = MaxPool <kernel_shape = [2], dilations = [4]> (a)",
            inputs="float[1, 2, L] x",
            initializers=f"int64[6] p = {{0, 0, 1, 0, 0, 1}}, {LOW}",
        ),
        "wholly in the padding",
        id="a dilated window may read padding only",
    ),
]


@pytest.mark.parametrize(("before", "reason"), STAYS)
def test_stays(before: object, reason: str) -> None:
    result = onnxpad.fix(before)  # type: ignore[arg-type]
    assert not result.changed
    reasons = [f.reason for f in result.findings if f.code in {"PAD201", "PAD205"}]
    assert any(reason in text for text in reasons), reasons
    assert all(f.severity == "info" for f in result.findings)
