"""`Pad`s of nothing: who reads what afterwards, in every mode and every way to write amounts."""

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import canonical, feeds_of, fixed, one, run

NONE = "int64[8] p = {0, 0, 0, 0, 0, 0, 0, 0}"
RELU = one("y = Relu (x)")

# `mode = "wrap"` came with opset 19.
MODES = [("constant", 17), ("reflect", 17), ("edge", 17), ("wrap", 19)]


@pytest.mark.parametrize(("mode", "opset"), MODES)
def test_every_mode(mode: str, opset: int) -> None:
    before = one(f'a = Pad <mode = "{mode}"> (x, p) y = Relu (a)', initializers=NONE, opset=opset)
    result = fixed(before)
    assert canonical(result.model) == canonical(RELU)
    assert [(c.code, c.removed) for c in result.changes] == [("PAD204", ("<a>",))]


DROPPED = [
    pytest.param(
        one("a = Pad <pads = [0, 0, 0, 0, 0, 0, 0, 0]> (x) y = Relu (a)", opset=9),
        one("y = Relu (x)", opset=9),
        id="opset 9, amounts as an attribute",
    ),
    pytest.param(
        one("a = Pad <pads = [0, 0, 0, 0, 0, 0, 0, 0], value = 3.0> (x) y = Relu (a)", opset=10),
        one("y = Relu (x)", opset=10),
        id="opset 10, a value that is not 0",
    ),
    pytest.param(
        one("a = Pad (x, p) y = Relu (a)", initializers=NONE, opset=11),
        one("y = Relu (x)", opset=11),
        id="opset 11, an initializer",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = Relu (a)",
            initializers=NONE,
            inputs="float[1, 2, 9, 8] x, float c",
        ),
        one("y = Relu (x)", inputs="float[1, 2, 9, 8] x, float c"),
        id="a value that only run time knows",
    ),
    pytest.param(
        one("p = Constant <value_ints = [0, 0, 0, 0, 0, 0, 0, 0]> () a = Pad (x, p) y = Relu (a)"),
        RELU,
        id="a Constant",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, , s) y = Relu (a)",
            initializers="int64[4] p = {0, 0, 0, 0}, int64[2] s = {-1, 2}",
            opset=18,
        ),
        one("y = Relu (x)", opset=18),
        id="opset 18, with axes",
    ),
    pytest.param(
        one(
            "q = Cast <to = 7> (p) h = Slice (q, zero, four) r = Sub (h, h) n = Concat <axis = 0>"
            " (r, r) a = Pad (x, n) y = Relu (a)",
            initializers="int32[4] p = {1, 2, 3, 4}, int64[1] zero = {0}, int64[1] four = {4}",
        ),
        RELU,
        id="computed, and always zero",
    ),
    pytest.param(
        one(
            "s = Shape (x) z = Sub (s, s) n = Concat <axis = 0> (z, z) a = Pad (x, n) y = Relu (a)",
            inputs="float[N, C, H, V] x",
        ),
        one("y = Relu (x)", inputs="float[N, C, H, V] x"),
        id="computed from sizes that cancel out",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) b = Pad (a, p) y = Add (a, b)",
            initializers=NONE,
        ),
        one("y = Add (x, x)"),
        id="one behind another, the first read twice",
    ),
    pytest.param(
        one(
            "r = Reshape (x, t) a = Pad (r, p, , s) y = Relu (a)",
            inputs="float[1, 2, 9, 8] x, int64[K] t",
            initializers="int64[4] p = {0, 0, 0, 0}, int64[2] s = {-1, -2}",
            opset=18,
        ),
        one(
            "r = Reshape (x, t) y = Relu (r)",
            inputs="float[1, 2, 9, 8] x, int64[K] t",
            opset=18,
        ),
        id="nobody knows the rank",
    ),
    pytest.param(
        one("a = Pad (x, p) y = Relu (a)", outputs="float[] y, float[] a", initializers=NONE),
        one("a = Identity (x) y = Relu (a)", outputs="float[] y, float[] a"),
        id="an output of the graph",
    ),
    pytest.param(
        one("y = Pad (x, p)", initializers=NONE),
        one("y = Identity (x)"),
        id="nothing but an output of the graph",
    ),
]


@pytest.mark.parametrize(("before", "after"), DROPPED)
def test_drops(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    result = fixed(before, runs="t" not in [i.name for i in before.graph.input])
    assert canonical(result.model) == canonical(after)
    assert {c.code for c in result.changes} == {"PAD204"}
    assert not result.model.graph.initializer
    assert not onnxpad.check(result.model).findings


BRANCHES = """
    a = Pad (x, p)
    n = Neg (a)
    y = If (c) <
        then_branch = t () => (float[1, 2, 3, 3] u) {{ u = Relu ({then}) }},
        else_branch = e () => (float[1, 2, 3, 3] v) {{ v = Abs (n) }}
    >
"""


def test_read_inside_a_subgraph() -> None:
    inputs = "float[1, 2, 3, 3] x, bool c"
    before = one(BRANCHES.format(then="a"), inputs=inputs, initializers=NONE)
    result = fixed(before, runs=False)
    assert [node.op_type for node in result.model.graph.node] == ["Identity", "Neg", "If"]
    assert result.model.graph.node[0].input == ["x"]
    assert result.model.graph.node[0].output == ["a"]
    assert result.model.graph.node[2] == before.graph.node[2]
    for branch in (True, False):
        feeds = {**feeds_of(before), "c": np.array(branch)}
        np.testing.assert_array_equal(run(before, feeds)[0], run(result.model, feeds)[0])


STAYS = [
    pytest.param(
        one("y = Pad (x, p)", initializers="int64[8] p = {0, 0, 0, 0, 0, 0, 0, 1}"),
        id="one amount is not zero",
    ),
    pytest.param(
        one("y = Pad (x, p)", initializers="int64[8] p = {0, 0, 0, -1, 0, 0, 0, 1}"),
        id="amounts that sum to zero",
    ),
    pytest.param(
        one("y = Pad (x, p)", inputs="float[1, 2, 9, 8] x, int64[8] p", initializers=NONE),
        id="an initializer that a caller may override",
    ),
]


@pytest.mark.parametrize("before", STAYS)
def test_stays(before: onnx.ModelProto) -> None:
    result = onnxpad.fix(before)
    assert not result.changed
    assert "PAD204" not in [f.code for f in result.findings]
