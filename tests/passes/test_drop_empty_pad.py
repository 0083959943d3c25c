"""`Pad`s of nothing: who reads what afterwards, in every mode and every way to write amounts."""

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import assert_graph, feeds_of, fixed, one, run

NONE = "int64[8] p = {0, 0, 0, 0, 0, 0, 0, 0}"
RELU = one("y = Relu (x)")

# `mode = "wrap"` came with opset 19.
MODES = [("constant", 17), ("reflect", 17), ("edge", 17), ("wrap", 19)]


@pytest.mark.parametrize(("mode", "opset"), MODES)
def test_every_mode(mode: str, opset: int) -> None:
    before = one(f'a = Pad <mode = "{mode}"> (x, p) y = Relu (a)', initializers=NONE, opset=opset)
    result = fixed(before)
    assert_graph(result.model, RELU)
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
    pytest.param(
        one("r = Relu (x) y = Pad (r, p)", initializers=NONE),
        one("y = Relu (x)"),
        id="its producer gives the output",
    ),
    pytest.param(
        one("r = Relu (x) d = Dropout (r) y = Pad (d, p)", initializers=NONE),
        one("r = Relu (x) y = Dropout (r)"),
        id="its producer may draw by chance",
    ),
    pytest.param(
        one(
            "r = Relu (x) y = Pad (r, p) u = Neg (r) v = Abs (y)",
            outputs="float[] y, float[] u, float[] v",
            initializers=NONE,
        ),
        one(
            "y = Relu (x) u = Neg (y) v = Abs (y)",
            outputs="float[] y, float[] u, float[] v",
        ),
        id="its producer gives the output to all that read",
    ),
    pytest.param(
        one(
            "u, r = Split <axis = 1> (x) y = Pad (r, p) v = Neg (u)",
            outputs="float[] y, float[] v",
            initializers=NONE,
        ),
        one("u, y = Split <axis = 1> (x) v = Neg (u)", outputs="float[] y, float[] v"),
        id="the second output of its producer",
    ),
    pytest.param(
        one(
            "r = Relu (x) y = Pad (r, p) z = Pad (r, p)",
            outputs="float[] y, float[] z",
            initializers=NONE,
        ),
        one("y = Relu (x) z = Identity (y)", outputs="float[] y, float[] z"),
        id="two outputs of one producer",
    ),
    pytest.param(
        one("r = Relu (x) y = Pad (r, p)", outputs="float[] y, float[] r", initializers=NONE),
        one("r = Relu (x) y = Identity (r)", outputs="float[] y, float[] r"),
        id="its producer gives an output already",
    ),
]


@pytest.mark.parametrize(("before", "after"), DROPPED)
def test_drops(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    result = fixed(before, runs="t" not in [i.name for i in before.graph.input])
    assert_graph(result.model, after)
    assert {c.code for c in result.changes} == {"PAD204"}
    assert not result.model.graph.initializer
    assert not onnxpad.check(result.model, ignore="PAD6").findings


def test_a_graph_output_behind_a_crop_that_may_be_too_long() -> None:
    """Such a crop is compared literally, also once the `Pad` of nothing is an Identity."""
    held = f"{NONE}, int64[8] q = {{0, 0, -2, 0, 0, 0, 0, 0}}"
    model = one("c = Pad (x, q) y = Pad (c, p)", initializers=held, inputs="float[1, 2, h, 8] x")
    result = fixed(model)
    assert [node.op_type for node in result.model.graph.node] == ["Pad"]
    assert not result.undone


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


CAPTURED = """
    r = Relu (x)
    a = Pad (r, p)
    y = If (c) <
        then_branch = t () => (float[1, 2, 3, 3] u) {{ {then} }},
        else_branch = e () => (float[1, 2, 3, 3] v) {{ v = Abs (a) }}
    >
"""


@pytest.mark.parametrize(
    ("then", "left"),
    [
        pytest.param("u = Neg (a)", ["Relu", "If"], id="only the copy is read in a body"),
        pytest.param("u = Neg (r)", ["Relu", "Identity", "If"], id="what is copied is too"),
    ],
)
def test_what_a_body_reads_keeps_its_name(then: str, left: list[str]) -> None:
    inputs = "float[1, 2, 3, 3] x, bool c"
    before = one(CAPTURED.format(then=then), inputs=inputs, initializers=NONE)
    result = fixed(before, runs=False)
    nodes = result.model.graph.node
    assert [node.op_type for node in nodes] == left
    assert nodes[-1] == before.graph.node[-1]
    for branch in (True, False):
        feeds = {**feeds_of(before), "c": np.array(branch)}
        np.testing.assert_array_equal(run(before, feeds)[0], run(result.model, feeds)[0])


def test_a_name_that_a_body_has_of_its_own_is_not_given_earlier() -> None:
    before = one(
        "r = Relu (x) z = If (c) <then_branch = t () => (float[] u) { y = Neg (r) u = Neg (y) },"
        " else_branch = e () => (float[] v) { v = Abs (x) }> y = Pad (r, p)",
        inputs="float[1, 2, 3, 3] x, bool c",
        outputs="float[] y, float[] z",
        initializers=NONE,
    )
    result = onnxpad.fix(before, validate=False)
    assert [node.op_type for node in result.model.graph.node] == ["Relu", "If", "Identity"]


def test_what_the_output_declares_stays_and_no_value_info_is_left() -> None:
    before = one("r = Relu (x) y = Pad (r, p)", initializers=NONE)
    declared = onnx.helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, [1, 2, 9, 8])
    before.graph.value_info.append(declared)
    result = fixed(before)
    assert not result.model.graph.value_info
    assert result.model.graph.output == before.graph.output


def test_a_pad_of_nothing_stays_where_the_rank_is_unknown() -> None:
    """It may stop, and what is without it does not."""
    before = one(
        "r = Reshape (x, t) y = Pad (r, p)",
        inputs="float[N] x, int64[K] t",
        initializers="int64[4] p = {0, 0, 0, 0}",
    )
    result = onnxpad.fix(before, validate=False)
    assert not result.changes
    assert not result.undone


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


def test_what_nothing_reads_is_named_alone() -> None:
    model = one("a = Pad (x, z) y = Relu (x)", initializers="int64[8] z = {0, 0, 0, 0, 0, 0, 0, 0}")
    result = onnxpad.fix(model)
    assert not result.changed
    assert not result.undone
    assert [finding.reason_code for finding in result.findings] == ["unused"]
