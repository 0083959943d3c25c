"""SAME_UPPER and SAME_LOWER: what they resolve to, and where they stay and why."""

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import W, assert_graph, feeds_of, fixed, one, run, session

V = "float[3, 2, 4, 2] w = {" + ", ".join(str(i % 7 - 3) for i in range(48)) + "}"

RUN_TIME = "int64[1] none = {0}, int64[1] two = {2}, float[1, 2, 2] w = {1, 2, 3, 4}"


@pytest.mark.parametrize("op", ["Conv", "MaxPool", "AveragePool", "LpPool"])
def test_same_of_what_may_be_empty_is_defined_where_it_is_not(op: str) -> None:
    before = one(
        f"t = Slice (x, none, e, two) y = {op} <auto_pad = "
        f'"SAME_UPPER", kernel_shape = [2], strides = [2]> (t{", w" if op == "Conv" else ""})',
        inputs="float[1, 2, 8] x, int64[1] e",
        initializers=RUN_TIME,
        opset=18,
    )
    result = fixed(before, runs=False)
    assert [c.code for c in result.changes] == ["PAD101"]
    old, new = session(before), session(result.model)
    for length in range(1, 6):
        data = {**feeds_of(before), "e": np.array([length])}
        np.testing.assert_array_equal(run(old, data)[0], run(new, data)[0])


RESOLVED = [
    pytest.param(
        one('y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)', initializers=W),
        one("y = Conv <pads = [1, 0, 1, 1], strides = [2, 2]> (x, w)", initializers=W),
        id="odd size and even size",
    ),
    pytest.param(
        one('y = Conv <auto_pad = "SAME_LOWER", strides = [2, 2]> (x, w)', initializers=W),
        one("y = Conv <pads = [1, 1, 1, 0], strides = [2, 2]> (x, w)", initializers=W),
        id="SAME_LOWER puts the odd one at the begin",
    ),
    pytest.param(
        one('y = Conv <auto_pad = "SAME_UPPER"> (x, w)', initializers=V),
        one("y = Conv <pads = [1, 0, 2, 1]> (x, w)", initializers=V),
        id="even kernels",
    ),
    pytest.param(
        one(
            'y = Conv <auto_pad = "SAME_UPPER"> (x, w)',
            inputs="float[N, 2, H, V] x",
            initializers=W,
        ),
        one("y = Conv <pads = [1, 1, 1, 1]> (x, w)", inputs="float[N, 2, H, V] x", initializers=W),
        id="stride 1 needs no size",
    ),
    pytest.param(
        one(
            'y = Conv <auto_pad = "SAME_UPPER", kernel_shape = [1, 1], strides = [2, 2]> (x, w)',
            initializers="float[1, 2, 1, 1] w = {3, -2}",
        ),
        one(
            "y = Conv <kernel_shape = [1, 1], strides = [2, 2]> (x, w)",
            initializers="float[1, 2, 1, 1] w = {3, -2}",
        ),
        id="1x1 with stride 2",
    ),
    pytest.param(
        one('y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 2], strides = [2, 2]> (x)'),
        one("y = MaxPool <kernel_shape = [3, 2], pads = [1, 0, 1, 0], strides = [2, 2]> (x)"),
        id="MaxPool",
    ),
    pytest.param(
        one('y = AveragePool <auto_pad = "SAME_LOWER", kernel_shape = [2, 3]> (x)'),
        one("y = AveragePool <kernel_shape = [2, 3], pads = [1, 1, 0, 1]> (x)"),
        id="AveragePool keeps its divisor",
    ),
    pytest.param(
        one('y = LpPool <auto_pad = "SAME_UPPER", kernel_shape = [2, 3]> (x)'),
        one("y = LpPool <kernel_shape = [2, 3], pads = [0, 1, 1, 1]> (x)"),
        id="LpPool",
    ),
    pytest.param(
        one(
            'y, i = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]> (x)',
            outputs="float[] y, int64[] i",
        ),
        one(
            "y, i = MaxPool <kernel_shape = [3, 3], pads = [1, 0, 1, 1], strides = [2, 2]> (x)",
            outputs="float[] y, int64[] i",
        ),
        id="MaxPool with Indices",
    ),
    pytest.param(
        one(
            'y = Conv <auto_pad = "SAME_UPPER", pads = [1, 0, 1, 1], strides = [2, 2]> (x, w)',
            initializers=W,
        ),
        one("y = Conv <pads = [1, 0, 1, 1], strides = [2, 2]> (x, w)", initializers=W),
        id="pads that say the same",
    ),
    pytest.param(
        one('y = Conv <auto_pad = "SAME_UPPER", dilations = [2, 1]> (x, w)', initializers=W),
        one("y = Conv <dilations = [2, 1], pads = [2, 1, 2, 1]> (x, w)", initializers=W),
        id="dilated: onnxruntime refuses the original",
    ),
    pytest.param(
        one(
            'y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [1], strides = [3]> (x)',
            inputs="float[1, 2, 9] x",
        ),
        one("y = MaxPool <kernel_shape = [1], strides = [3]> (x)", inputs="float[1, 2, 9] x"),
        id="kernel below stride: onnxruntime stops on the original",
    ),
    pytest.param(
        one(
            'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
            initializers=W,
            opset=1,
            ir=3,
        ),
        one(
            "y = Conv <pads = [1, 0, 1, 1], strides = [2, 2]> (x, w)", initializers=W, opset=1, ir=3
        ),
        id="opset 1",
    ),
]
REPAIRED = {
    "dilated: onnxruntime refuses the original",
    "kernel below stride: onnxruntime stops on the original",
    "pads that say the same",
}


@pytest.mark.parametrize(("before", "after"), RESOLVED)
def test_resolves(
    before: onnx.ModelProto, after: onnx.ModelProto, request: pytest.FixtureRequest
) -> None:
    result = fixed(before, runs=request.node.callspec.id not in REPAIRED)
    assert_graph(result.model, after)
    assert [c.code for c in result.changes] == ["PAD101"]
    assert not onnxpad.check(result.model, ignore="PAD6").findings


def test_dilated_same_computes_what_the_specification_says() -> None:
    before = one(
        'y = Conv <auto_pad = "SAME_UPPER", dilations = [2]> (x, w)',
        inputs="float[1, 1, 7] x",
        initializers="float[1, 1, 3] w = {1, 10, 100}",
    )
    after = onnxpad.fix(before).model
    line = np.arange(1, 8, dtype=np.float32)
    padded = np.concatenate([[0, 0], line, [0, 0]])
    expected = [padded[i] + 10 * padded[i + 2] + 100 * padded[i + 4] for i in range(7)]
    np.testing.assert_array_equal(run(after, {"x": line.reshape(1, 1, 7)})[0].ravel(), expected)


STAYS = [
    pytest.param(
        one(
            'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
            inputs="float[1, 2, height, 8] x",
            initializers=W,
        ),
        "'height'",
        id="stride 2 on an open size",
    ),
    pytest.param(
        one(
            'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2], pads = [1, 1, 1, 1]> (x, w)',
            initializers=W,
        ),
        "disagree",
        id="pads that say otherwise",
    ),
    pytest.param(
        one(
            'y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3], dilations = [2]> (x)',
            inputs="float[1, 2, 9] x",
        ),
        "onnxruntime pads 1+1 and gives 7 elements, the specification pads 2+2 and gives 9",
        id="dilated pool",
    ),
    pytest.param(
        one(
            'y = MaxPool <auto_pad = "SAME_LOWER", kernel_shape = [3], dilations = [2],'
            " ceil_mode = 1> (x)",
            inputs="float[1, 2, L] x",
        ),
        "dilation 2, for which onnxruntime does not pad a pool",
        id="dilated pool that rounds up",
    ),
    pytest.param(
        one(
            'y = Conv <auto_pad = "SAME_UPPER", strides = [4]> (x, w)',
            inputs="float[1, 1, 4] x",
            initializers="float[1, 1, 1] w = {1}",
        ),
        "onnxruntime pads -1+-2 and gives 1 element, the specification pads 0+0 and gives 1",
        id="onnxruntime crops where the specification does not pad",
    ),
    pytest.param(
        one(
            'y = LpPool <auto_pad = "SAME_UPPER", kernel_shape = [1], strides = [3]> (x)',
            inputs="float[1, 1, 9] x",
        ),
        "onnxruntime pads -1+-1 and gives 3 elements, the specification pads 0+0",
        id="a pool that crops",
    ),
]


@pytest.mark.parametrize(("before", "reason"), STAYS)
def test_stays(before: onnx.ModelProto, reason: str) -> None:
    result = onnxpad.fix(before)
    assert not result.changed
    assert [f.code for f in result.findings] == ["PAD101"]
    assert reason in result.findings[0].reason, result.findings[0].reason
    assert result.findings[0].severity == "info"


def test_a_kernel_below_its_stride_over_infinities() -> None:
    model = one(
        "a = Pad (x, p, low) y = MaxPool"
        ' <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 5]> (a)',
        initializers="int64[8] p = {0, 0, 1, 0, 0, 0, 0, 1}, float low = {-inf}",
    )
    result = onnxpad.fix(model)
    assert not result.undone
    reasons = [f.reason_code for f in result.findings if f.code == "PAD101"]
    assert reasons == ["infinite-data"]


def test_what_is_told_of_a_change_is_its_own() -> None:
    """A caller may change it, and operators that are padded alike do not share it."""
    nodes = 'a = Conv <auto_pad = "SAME_UPPER"> (x, w) y = Conv <auto_pad = "SAME_UPPER"> (x, w)'
    model = one(nodes, outputs="float[] a, float[] y", initializers=W)
    first, second = (each.evidence for each in onnxpad.check(model).findings)
    first["pads"].append(99)  # type: ignore[attr-defined]
    assert second == onnxpad.check(model).findings[0].evidence
