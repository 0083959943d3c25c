"""What onnxruntime's optimiser makes of rewritten models: what it did right, at each level.

A row is a model that onnxruntime runs rightly as it is, also optimised, in which a rewrite that is
exact would lay something open: a Pad that is folded wrongly, a kernel that crashes, a size that is
taken from a declaration. What would lay it open stays, or is shielded.
"""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import onnxpad
from tests.support import one

Array = np.ndarray[Any, Any]

LEVELS = (
    onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
)
STYLES = ("fold", "pad", "symmetric")


def ran(model: onnx.ModelProto, level: Any, feeds: dict[str, Array]) -> list[Array] | str:
    """The outputs, or why there are none."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return list(session.run(None, feeds))
    except Exception as error:  # onnxruntime's own errors share no narrower base class
        return str(error)


def agree(found: list[Array] | str, expected: list[Array]) -> bool:
    return not isinstance(found, str) and all(
        one.shape == other.shape and np.allclose(one, other, 1e-3, 1e-3, equal_nan=True)
        for one, other in zip(found, expected, strict=True)
    )


def negative(model: onnx.ModelProto, size: int = 3) -> dict[str, Array]:
    """Data below zero for every input."""
    random = np.random.default_rng(0)
    feeds = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [dim.dim_value or size for dim in tensor.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        feeds[value.name] = (-random.random(shape) - 0.5).astype(kind)
    return feeds


def demand(
    model: onnx.ModelProto, style: str, *, validate: bool, dynamic: str = "keep"
) -> onnxpad.FixResult:
    """Where the original is right, the result is right, and a second run has nothing to do."""
    feeds = negative(model)
    result = onnxpad.fix(model, style=style, dynamic=dynamic, validate=validate)
    expected = ran(model, LEVELS[0], feeds)
    assert not isinstance(expected, str), expected
    for level in LEVELS:
        if agree(ran(model, level, feeds), expected):
            found = ran(result.model, level, feeds)
            assert agree(found, expected), f"{level}: {found}"
    again = onnxpad.fix(result.model, style=style, dynamic=dynamic, validate=validate)
    assert not again.changed
    assert not onnxpad.check(result.model, style=style, dynamic=dynamic).failing()
    return result


POOL = 'y = MaxPool <auto_pad = "VALID", kernel_shape = [3, 3]> (q)'
ZEROS = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"
X = "float[1, 3, 8, 8] x"

BETWEEN = {
    "nothing": "q = Identity (a)",
    "a cast to the same type": "q = Cast <to = 1> (a)",
    "a dropout": "q = Dropout (a)",
    "a sum with zero": "q = Add (a, zero)",
    "zero plus": "q = Add (zero, a)",
    "a difference from zero": "q = Sub (a, zero)",
    "a product with one": "q = Mul (a, one)",
    "a quotient by one": "q = Div (a, one)",
    "an expansion by ones": "q = Expand (a, ones)",
    "a slice of all": "q = Slice (a, start, end)",
    "two transposes": "t = Transpose <perm = [0, 2, 3, 1]> (a)"
    " q = Transpose <perm = [0, 3, 1, 2]> (t)",
    "several": "d = Dropout (a) e = Mul (d, one) f = Add (e, zero) q = Identity (f)",
    "zeros that are computed": "z = Sub (one, one) q = Add (a, z)",
    "a Pad of nothing": "q = Pad (a, none)",
    "a branch that is always taken": "q = If (yes) <"
    " then_branch = t () => (float[] i) { i = Identity (a) },"
    " else_branch = e () => (float[] j) { j = Neg (a) }>",
}
CONSTANTS = (
    f"{ZEROS}, float zero = {{0}}, float one = {{1}}, int64[4] ones = {{1, 1, 1, 1}},"
    " int64[1] start = {0}, int64[1] end = {9223372036854775807}, bool yes = {1},"
    " int64[8] none = {0, 0, 0, 0, 0, 0, 0, 0}"
)


@pytest.mark.parametrize("validate", [True, False], ids=["validated", "proofs alone"])
@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
def test_what_is_between_goes_and_the_pad_is_folded(between: str, validate: bool) -> None:
    model = one(f"a = Pad (x, p) {between} {POOL}", inputs=X, initializers=CONSTANTS)
    for branch in (g for n in model.graph.node for a in n.attribute for g in [a.g]):
        for value in branch.output:
            value.type.tensor_type.ClearField("shape")
    result = demand(model, "fold", validate=validate)
    assert "PAD102" in [change.code for change in result.changes]


CASES = [
    pytest.param(
        one(
            "t = Transpose <perm = [0, 2, 3, 1]> (x) a = Pad (t, p)"
            f" q = Transpose <perm = [0, 3, 1, 2]> (a) {POOL}",
            inputs=X,
            initializers="int64[8] p = {0, 1, 1, 0, 0, 1, 1, 0}",
        ),
        id="channels last",
    ),
    pytest.param(
        one(
            "t = Transpose <perm = [0, 2, 3, 1]> (x) a = Pad (t, p)"
            " q = Transpose <perm = [0, 3, 1, 2]> (a)"
            ' y = AveragePool <auto_pad = "VALID", kernel_shape = [1, 3]> (q)',
            inputs=X,
            initializers="int64[8] p = {0, 1, 1, 0, 0, 1, 1, 0}",
        ),
        id="pads that are not below the kernel",
    ),
    pytest.param(
        one(
            f"a = Pad (x, p, v) q = Identity (a) {POOL} r = Reciprocal (y)",
            inputs=X,
            outputs="float[] r",
            initializers=f"{ZEROS}, float v = {{-0.0}}",
        ),
        id="a fill of -0.0, which is not folded",
    ),
    pytest.param(
        one(
            f"q = BitwiseOr (p, p) a = Pad (x, q) b = Identity (a) {POOL.replace('(q)', '(b)')}",
            inputs=X,
            initializers=ZEROS,
            opset=18,
        ),
        id="amounts by an operator on constants",
    ),
    pytest.param(
        one(
            f"v = Sin (c) a = Pad (x, p, v) q = Identity (a) {POOL}",
            inputs=X,
            initializers=f"{ZEROS}, float c = {{0}}",
        ),
        id="a fill by an operator on constants",
    ),
    pytest.param(
        one(
            "s = Shape (w) z = Sub (s, s) b = Add (z, c) q = Concat <axis = 0> (z, b)"
            " a = Pad (w, q) y = Conv (x, a)",
            inputs="float[1, 1, 8, 8] x, float[1, 1, h, v] w",
            initializers="int64[4] c = {0, 0, 1, 1}",
        ),
        id="a weight that is padded",
    ),
    pytest.param(
        one(
            't = Relu (x) z = Identity (t) a = Pad (t, p) y = Conv <auto_pad = "VALID"> (a, w)',
            inputs="float[1, 1, 8, 8] x, float[1, 1, 3, 3] w",
            outputs="float[] z, float[] y",
            initializers="int64[8] p = {0, 0, 0, 0, 0, 0, 1, 1}",
        ),
        id="data that are copied to an output",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = MaxPool <kernel_shape = [3, 3]> (a) z = Conv (a, w)",
            inputs=X,
            outputs="float[] y, float[] z",
            initializers=f"{ZEROS}, float[1, 3, 1, 1] w = {{1, 2, 3}}",
        ),
        id="a second reader that goes",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = MaxPool <kernel_shape = [3, 3]> (a)"
            ' z = AveragePool <auto_pad = "VALID", kernel_shape = [3, 3]> (a)',
            inputs=X,
            outputs="float[] y, float[] z",
            initializers=ZEROS,
        ),
        id="a second pool that goes",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) q = Identity (a) y = AveragePool"
            ' <auto_pad = "SAME_LOWER", count_include_pad = 1, kernel_shape = [5, 2, 3],'
            " strides = [1, 2, 3]> (q)",
            inputs="float[1, 3, 5, 6, 5] x",
            initializers="int64[10] p = {0, 0, 1, 3, 0, 0, 0, 1, 0, 3}",
            opset=13,
        ),
        id="a Pad behind a new one",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x)"
            ' q = Pad <mode = "reflect", pads = [0, 0, 0, 0, 0, 0, 0, 0]> (a)'
            " y = MaxPool <kernel_shape = [3, 3]> (q)",
            inputs=X,
            opset=9,
        ),
        id="before opset 11, a Pad of nothing that kept another whole",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x)"
            " q = Pad <value = -1.0, pads = [0, 0, 0, 0, 0, 0, 0, 0]> (a)"
            " y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (q)",
            inputs=X,
            opset=10,
        ),
        id="before opset 11, in front of a pool with pads",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 2]> (x)"
            " q = Pad <pads = [0, 0, 0, 0, 0, 0, 0, -1]> (a)"
            " y = MaxPool <kernel_shape = [3, 3]> (q)",
            inputs=X,
            opset=9,
        ),
        id="before opset 11, a crop that is merged",
    ),
    pytest.param(
        one(
            f"a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x) q = Dropout (a) {POOL}",
            inputs=X,
            opset=9,
        ),
        id="before opset 11, VALID behind a dropout",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 3, 3, 0, 0, 1, 3]> (x)"
            " q = Pad <pads = [0, 0, 1, 1, 0, 0, 0, 1]> (a)"
            ' y = AveragePool <auto_pad = "VALID", count_include_pad = 1, kernel_shape = [3, 4],'
            " strides = [2, 3]> (q)",
            inputs="float[2, 1, 4, 7] x",
            opset=7,
        ),
        id="before opset 11, two Pads and an average",
    ),
    pytest.param(
        one(
            "t = Transpose <perm = [0, 2, 3, 1]> (x) c = Cast <to = 7> (i) a = Pad (t, c, , k)"
            " u = Transpose <perm = [0, 3, 1, 2]> (a) y = Neg (u)",
            inputs="float[2, 1, 3, 5] x",
            initializers="int32[4] i = {1, 0, 0, 2}, int64[2] k = {1, 2}",
            opset=18,
        ),
        id="a Pad of some axes between Transposes",
    ),
    pytest.param(
        one(
            "t = Transpose <perm = [0, 2, 3, 1]> (x) n = Pad (t, none) a = Pad (n, c, , k)"
            " u = Transpose <perm = [0, 3, 1, 2]> (a) y = Neg (u)",
            inputs="float[2, 1, 3, 5] x",
            initializers="int64[4] c = {1, 0, 0, 2}, int64[2] k = {1, 2},"
            " int64[8] none = {0, 0, 0, 0, 0, 0, 0, 0}",
            opset=18,
        ),
        id="a Pad of some axes that comes to lie between Transposes",
    ),
]


@pytest.mark.parametrize("validate", [True, False], ids=["validated", "proofs alone"])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("model", CASES)
def test_every_level(model: onnx.ModelProto, style: str, validate: bool) -> None:
    demand(model, style, validate=validate)


LYING = [
    pytest.param("t = Relu (x)", "float[1, 1, 8, 8] t", id="the data themselves"),
    pytest.param("u = Relu (x) t = Neg (u)", "float[1, 1, 8, 8] u", id="what they come from"),
]


@pytest.mark.parametrize("validate", [True, False], ids=["validated", "proofs alone"])
@pytest.mark.parametrize(("nodes", "output"), LYING)
def test_a_wrong_output_declares_no_size(nodes: str, output: str, validate: bool) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1, 1, h, v] x, float[1, 1, 3, 3] w)'
        f" => ({output}, float[1, 1, a, b] y)"
        f' {{ {nodes} y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (t, w) }}'
    )
    result = onnxpad.fix(model, dynamic="pad", validate=validate)
    assert any("declares its output" in finding.reason for finding in result.findings)
    feeds = negative(model, 9)
    expected = ran(model, LEVELS[0], feeds)
    assert not isinstance(expected, str)
    assert all(agree(ran(result.model, level, feeds), expected) for level in LEVELS)


def test_only_fixing_sizes_lays_nothing_open() -> None:
    model = one(
        "s = Shape (x) g = Gather <axis = 0> (s, i) c = CumSum (g, k) d = Div (c, e)"
        " q = Concat <axis = 0> (z, d, z, d) a = Pad (x, q)"
        " y = MaxPool <kernel_shape = [3, 3]> (a)",
        inputs="float[1, 3, h, v] x",
        initializers="int64[2] i = {2, 3}, int64 k = {0}, int64[2] e = {8, 8}, int64[2] z = {0, 0}",
    )
    feeds = negative(model, 8)
    expected = ran(model, LEVELS[0], feeds)
    assert not isinstance(expected, str)
    for validate in (True, False):
        result = onnxpad.fix(model, shapes={"x": (1, 3, 8, 8)}, validate=validate)
        for level in LEVELS:
            assert agree(ran(result.model, level, feeds), expected)


CRASHING = one(
    "s = Shape (x) z = Sub (s, s) b = Add (z, c) q = Concat <axis = 0> (z, b)"
    " a = Pad (x, q, v) y = MaxPool <kernel_shape = [5, 1], strides = [3, 3]> (a)",
    inputs="float[1, 16, h, w] x",
    initializers="int64[4] c = {0, 0, 0, 2}, float v = {-3}",
)


LOWEST = one(
    "s = Shape (x) z = Sub (s, s) b = Concat <axis = 0> (z, z) q = Add (b, c) a = Pad (x, q, v)"
    " y = MaxPool <kernel_shape = [2, 2]> (a)",
    inputs="float[1, 16, h, w] x",
    initializers="int64[8] c = {0, 0, 2, 2, 0, 0, 2, 2}, float v = {-inf}",
)


@pytest.mark.parametrize("validate", [True, False], ids=["validated", "proofs alone"])
def test_amounts_stay_computed_where_a_kernel_in_blocks_would_lose_infinities(
    validate: bool,
) -> None:
    feeds = {"x": np.ones((1, 16, 4, 4), np.float32)}
    expected = ran(LOWEST, LEVELS[0], feeds)
    assert not isinstance(expected, str)
    assert np.isinf(expected[0]).any()
    for style in STYLES:
        result = onnxpad.fix(LOWEST, style=style, validate=validate)
        for level in LEVELS:
            assert agree(ran(result.model, level, feeds), expected)
        assert not onnxpad.check(result.model, style=style).failing()


@pytest.mark.parametrize("validate", [True, False], ids=["validated", "proofs alone"])
def test_amounts_stay_computed_where_a_pool_without_windows_would_crash(validate: bool) -> None:
    for style in STYLES:
        result = onnxpad.fix(CRASHING, style=style, validate=validate)
        assert not result.changed
        assert any("crashes" in finding.reason for finding in result.undone)
        found = onnxpad.check(CRASHING, style=style).findings
        assert any("crashes" in finding.reason for finding in found)
        assert not onnxpad.check(CRASHING, style=style).failing()


def test_amounts_are_written_where_each_size_has_a_window() -> None:
    result = onnxpad.fix(CRASHING, shapes={"x": (1, 16, 8, 8)})
    assert [change.code for change in result.changes] == ["PAD205"]
