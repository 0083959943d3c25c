"""Slices and `Pad`s behind a ConvTranspose become its own pads and output_padding."""

from typing import Any

import onnx
import pytest

import onnxpad
from tests.passes.test_resolve_transposed import attributes
from tests.support import assert_same, one
from tests.support.rows import each_row

W = "float[2, 3, 7] w = {" + ", ".join(str(n % 11 - 5) for n in range(42)) + "}"
INNER = "int64[1] s = {9}, int64[1] e = {-9}, int64[1] a = {2}"
TRIM = "int64[1] s = {0}, int64[1] e = {-3}, int64[1] a = {2}"
ENDS = "int64[6] p = {0, 0, 0, 0, 0, 4}"
BIAS = "float[3] b = {1, 2, 3}"
EVEN = "float[3] b = {5, 5, 5}"
SPREAD = "ConvTranspose <strides = [6]> (x, w)"


def behind(
    nodes: str, constants: str = TRIM, *, size: int | str = 5, opset: int = 17, **options: Any
) -> onnx.ModelProto:
    """Nodes that make `y` of `x`, of two channels and one axis."""
    return one(
        nodes,
        inputs=f"float[1, 2, {size}] x",
        outputs="float[] y, float[] z" if "z = " in nodes else "float[] y",
        initializers=f"{W}, {constants}",
        opset=opset,
    )


TAKEN = [
    pytest.param(
        behind(f"f = {SPREAD} q = Pad (f, p) y = Slice (q, s, e, a)", f"{ENDS}, {INNER}", size=249),
        [9, 5],
        [],
        id="TensorFlow's VALID, a Pad and a Slice",
    ),
    pytest.param(
        behind(f"f = {SPREAD} y = Slice (f, s, e, a)", size="n"), [0, 3], [], id="a causal trim"
    ),
    pytest.param(
        behind(
            "f = ConvTranspose <strides = [6], pads = [1, 2], output_padding = [1]> (x, w)"
            " y = Slice (f, s, e, a)",
        ),
        [1, 4],
        [],
        id="added to pads, and taken off output_padding",
    ),
    pytest.param(behind(f"f = {SPREAD} y = Pad (f, p)", ENDS), [], [4], id="zeros at the end"),
    pytest.param(
        behind(f"f = {SPREAD[:-1]}, b) y = Slice (f, s, e, a)", f"{BIAS}, {INNER}", size=3),
        [9, 9],
        [],
        id="all but one element",
    ),
    pytest.param(
        behind(f"f = {SPREAD[:-1]}, b) y = Pad (f, p, c)", f"{EVEN}, {ENDS}, float c = {{5}}"),
        [],
        [4],
        id="the bias at the end",
    ),
    pytest.param(
        behind(f"f = {SPREAD} y = Pad (f, p)", "int64[6] p = {0, 0, -2, 0, 0, -1}", size="n"),
        [2, 1],
        [],
        id="a negative Pad",
    ),
    pytest.param(
        behind(
            f"f = {SPREAD} t = Transpose <perm = [0, 2, 1]> (f) r = Relu (t) q = Tanh (r)"
            " y = Slice (q, s, e, a)",
            "int64[1] s = {1}, int64[1] e = {-3}, int64[1] a = {1}",
            size="n",
        ),
        [1, 3],
        [],
        id="behind a Transpose and a function",
    ),
    pytest.param(
        behind(
            f"f = {SPREAD} g = Add (f, c) r = Relu (g) y = Slice (r, s, e, a)",
            f"{TRIM}, float[3, 1] c = {{1, -2, 3}}",
            size="n",
        ),
        [0, 3],
        [],
        id="behind a bias for each channel",
    ),
    pytest.param(
        behind(
            f"f = {SPREAD} h = Shape (f) l = Gather (h, a) e = Sub (l, three)"
            " y = Slice (f, s, e, a)",
            "int64[1] s = {0}, int64[1] a = {2}, int64[1] three = {3}",
            size="n",
        ),
        [0, 3],
        [],
        id="an end that is computed",
    ),
    pytest.param(
        behind(
            f"f = {SPREAD} y = Slice (f, s, e, a)",
            "int64[1] s = {0}, int64[1] e = {9223372036854775807}, int64[1] a = {2}",
            size="n",
        ),
        [],
        [],
        id="a Slice of everything",
    ),
    pytest.param(
        behind(
            f"f = {SPREAD} y = Slice <starts = [1], ends = [-1], axes = [2]> (f)", ENDS, opset=9
        ),
        [1, 1],
        [],
        id="bounds as attributes",
    ),
    pytest.param(
        behind(
            f"f = {SPREAD} q = Pad (f, p) y = Slice (q, s, e, a)",
            f"int64[6] p = {{0, 0, 2, 0, 0, 8}}, {INNER}",
            size=249,
        ),
        [7, 1],
        [],
        id="a Pad at both ends, all of it cropped at the begin",
    ),
    pytest.param(
        behind(
            f"f = {SPREAD} g = Add (f, c) q = Pad (g, p) y = Slice (q, s, e, a)",
            f"{ENDS}, {INNER}, float[3, 1] c = {{1, -2, 3}}",
            size=249,
        ),
        [9, 5],
        [],
        id="zeros that are no part of the result, all cropped again",
    ),
    pytest.param(
        behind(
            "f = ConvTranspose <strides = [6], pads = [0, 2]> (x, w) q = Pad (f, p)"
            " y = Slice (q, s, e, a)",
            f"{ENDS}, {INNER}",
            size=249,
        ),
        [9, 7],
        [],
        id="zeros where elements were cropped, all cropped again",
    ),
    pytest.param(
        one(
            "f = ConvTranspose <strides = [1, 6]> (x, k) c = Slice (f, s, e, a)"
            " q = Squeeze (c, two) y = Slice (q, one, last, two)",
            inputs="float[1, 2, 3, 5] x",
            initializers="float[2, 1, 2, 7] k = {" + ", ".join(str(n % 5) for n in range(28)) + "},"
            " int64[2] s = {1, 1}, int64[2] e = {2, -3}, int64[2] a = {2, 3}, int64[1] two = {2},"
            " int64[1] one = {1}, int64[1] last = {-1}",
        ),
        [1, 2, 2, 4],
        [],
        id="behind a Squeeze of an axis that is cropped to one element",
    ),
]


@pytest.mark.parametrize(("model", "pads", "appended"), TAKEN)
def test_taken(model: onnx.ModelProto, pads: list[int], appended: list[int]) -> None:
    result = onnxpad.fix(model)
    assert {change.code for change in result.changes} <= {"PAD401", "PAD402"}
    assert {change.op_type for change in result.changes} <= {"Pad", "Slice"}
    assert not result.undone
    written = attributes(result.model)
    assert written.get("pads", []) == pads
    assert written.get("output_padding", []) == appended
    assert not {"Slice", "Pad"} & {node.op_type for node in result.model.graph.node}
    assert result.ok
    assert all("equal on" in change.probe for change in result.changes)
    assert_same(model, result.model, 7)
    assert not onnxpad.check(result.model).failing()


def test_why_equal_pads_cannot_crop_so() -> None:
    uneven = "int64[1] s = {13}, int64[1] e = {-1}, int64[1] a = {2}"
    model = behind(f"f = {SPREAD} y = Slice (f, s, e, a)", uneven)
    (finding,) = onnxpad.check(model, symmetric_transpose=True, ignore="PAD6").findings
    assert "symmetric_transpose" in finding.reason


def test_the_option_that_keeps_a_crop_is_named() -> None:
    """Pads of 1+2 would crop as the Slice does, equal ones cannot; none can prepend zeros."""
    uneven = "int64[1] s = {1}, int64[1] e = {-2}, int64[1] a = {2}"
    model = behind(f"f = {SPREAD} [cut] y = Slice (f, s, e, a)", uneven)
    for asked, result in (
        ("symmetric_transpose", onnxpad.fix(model, symmetric_transpose=True)),
        ("--style symmetric", onnxpad.fix(model, style="symmetric")),
    ):
        (finding,) = result.findings
        assert (finding.node, finding.asked, result.changes) == ("cut", asked, ())
        assert f"{asked} asks for" in str(result)
    ahead = behind(f"f = {SPREAD} y = Pad (f, p)", "int64[6] p = {0, 0, 1, 0, 0, 0}")
    (finding,) = onnxpad.check(ahead, symmetric_transpose=True).findings
    assert (finding.reason_code, finding.asked) == ("crops", "")


def test_the_length_of_1481() -> None:
    result = onnxpad.fix(TAKEN[0].values[0])  # type: ignore[arg-type]
    assert [change.op_type for change in result.changes] == ["Slice"]
    (node,) = result.model.graph.node
    inferred = onnx.shape_inference.infer_shapes(result.model)
    assert node.op_type == "ConvTranspose"
    assert inferred.graph.output[0].type.tensor_type.shape.dim[2].dim_value == 1481


@each_row(
    ("model", "reason"),
    [
        pytest.param(
            behind(f"f = {SPREAD} y = Slice (f, s, e, a)", INNER, size="n"),
            "may-be-empty",
            id="short data leaves nothing",
        ),
        pytest.param(
            behind(f"f = {SPREAD} y = Pad (f, p)", "int64[6] p = {0, 0, 0, 0, 0, 6}"),
            "crops",
            id="a whole stride at the end",
        ),
        pytest.param(
            behind(f"f = {SPREAD} y = Pad (f, p)", "int64[6] p = {0, 0, 1, 0, 0, 0}"),
            "crops",
            id="zeros at the begin",
        ),
        pytest.param(
            behind(f"f = {SPREAD[:-1]}, b) y = Pad (f, p)", f"{BIAS}, {ENDS}"),
            "crops",
            id="zeros where there is a bias",
        ),
        pytest.param(
            behind(f"f = {SPREAD} y = Pad (f, p, c)", f"{ENDS}, float c = {{5}}"),
            "fill-differs",
            id="another value",
        ),
        pytest.param(
            behind(
                f"f = {SPREAD} q = Mul (f, m) y = Pad (q, p)",
                f"{ENDS}, float[3, 1] m = {{1, -2, 3}}",
            ),
            "fill-differs",
            id="zeros of either sign",
        ),
        pytest.param(
            behind(f"f = {SPREAD} q = Cos (f) r = Neg (f) y = Add (q, r) z = Slice (f, s, e, a)"),
            "read-elsewhere",
            id="others read the full result",
        ),
        pytest.param(
            behind("f = ConvTranspose <strides = [6], pads = [0, 1]> (x, w) y = Pad (f, p)", ENDS),
            "crops",
            id="zeros where elements were cropped",
        ),
    ],
)
def test_refused(model: onnx.ModelProto, reason: str) -> None:
    findings = onnxpad.check(model).findings
    assert reason in {each.reason_code for each in findings if each.code == "PAD402"}, findings
    result = onnxpad.fix(model, validate=False)
    assert result.model.SerializeToString() == model.SerializeToString()
    assert not result.undone


def test_no_crop_is_taken_past_a_step_whose_operand_says_sizes() -> None:
    given = f"{TRIM}, int64[3] h = {{1, 3, 31}}"
    model = behind(f"f = {SPREAD} r = Reshape (f, h) y = Slice (r, s, e, a)", given)
    assert not onnxpad.fix(model, validate=False).changed


def test_a_crop_of_the_data_is_not_one_of_the_result() -> None:
    """Behind a function that is not 0 at 0, zeros at the end are no zeros of the result."""
    model = behind(f"f = {SPREAD} q = Exp (f) y = Pad (q, p)", ENDS)
    assert not onnxpad.fix(model, validate=False).changed


def test_a_pad_that_only_crops_writes_no_value() -> None:
    model = one(
        f"f = {SPREAD} y = Pad (f, p, v)",
        inputs="float[1, 2, n] x, float v",
        initializers=f"{W}, int64[6] p = {{0, 0, -2, 0, 0, -1}}",
    )
    result = onnxpad.fix(model)
    assert [change.code for change in result.changes] == ["PAD402"]
    assert not result.undone
    assert [node.op_type for node in result.model.graph.node] == ["ConvTranspose"]


def test_a_value_of_run_time_goes_where_all_of_it_is_cropped_again() -> None:
    model = one(
        f"f = {SPREAD} q = Pad (f, p, v) y = Slice (q, s, e, a)",
        inputs="float[1, 2, 249] x, float v",
        initializers=f"{W}, {ENDS}, {INNER}",
    )
    result = onnxpad.fix(model)
    assert [node.op_type for node in result.model.graph.node] == ["ConvTranspose"]
    assert result.ok


def test_a_negative_pad_behind_steps_that_drop_an_axis_cropped_to_one_element() -> None:
    model = one(
        "f = ConvTranspose <strides = [3, 2]> (x, k) c = Slice (f, s, e, a) r = Reshape (c, t)"
        " q = Squeeze (r, four) y = Pad (q, p)",
        inputs="float[batch, 1, 12, 5] x",
        initializers="float[1, 1, 3, 2] k = {1, 2, 3, 4, 5, 6}, int64[2] s = {3, 2},"
        " int64[2] e = {-1, 3}, int64[2] a = {2, 3}, int64[5] t = {1, -1, 1, 32, 1},"
        " int64[1] four = {4}, int64[8] p = {0, 0, 0, 0, 0, 0, 0, -1}",
    )
    result = onnxpad.fix(model, style="pad")
    assert not result.undone
    assert [change.code for change in result.changes] == ["PAD402"]


@pytest.mark.parametrize("opset", [7, 9])
def test_probed_in_every_opset(opset: int) -> None:
    model = behind(
        f"f = {SPREAD} y = Slice <starts = [0], ends = [-3], axes = [2]> (f)", opset=opset
    )
    (change,) = onnxpad.fix(model).changes
    assert change.probe.startswith("equal on")


@pytest.mark.parametrize(
    "nodes",
    [
        "q = Pad (f, p) r = Slice (q, last, begin, three, last) y = Slice (r, one, last, two)",
        "q = Pad (f, p) r = Cos (q) y = Slice (r, one, last, two)",
    ],
    ids=["a reversal", "a function"],
)
def test_what_was_appended_stays_before_a_step_that_does_not_hand_it_on(nodes: str) -> None:
    model = one(
        f"f = ConvTranspose <strides = [2, 2]> (x, k) {nodes}",
        inputs="float[1, 1, 6, 5] x",
        initializers="float[1, 1, 3, 3] k = {1, 2, 3, 4, 5, 6, 7, 8, 9},"
        " int64[8] p = {0, 0, 0, 0, 0, 0, 0, 1}, int64[1] one = {1}, int64[1] last = {-1},"
        f" int64[1] two = {{2}}, int64[1] three = {{3}}, int64[1] begin = {{{-(2**63) + 1}}}",
    )
    result = onnxpad.fix(model)
    assert not result.undone


@pytest.mark.parametrize(
    ("step", "constants"),
    [
        ("Mul (f, h)", "float h = {0.5}"),
        ("Tanh (f)", ""),
        ("Sub (f, h)", "float[2, 1, 1, 1] h = {1, -3}"),
        ("Transpose <perm = [2, 1, 0]> (f)", ""),
    ],
)
def test_a_crop_behind_steps_that_map_what_output_padding_appends_to_several_numbers(
    step: str, constants: str
) -> None:
    """The proof takes these elements for data, since nothing here names their value."""
    axis = {"Transpose": 0, "Sub": 3}.get(step.split()[0], 2)
    model = behind(
        f"f = ConvTranspose <strides = [6], output_padding = [2]> (x, w, b) g = {step}"
        " y = Slice (g, s, e, a)",
        f"{BIAS}, {constants}{', ' if constants else ''}"
        f"int64[1] s = {{3}}, int64[1] e = {{-1}}, int64[1] a = {{{axis}}}",
    )
    result = onnxpad.fix(model)
    assert not result.undone
    assert [change.code for change in result.changes] == ["PAD402"]
    assert attributes(result.model) == {"pads": [3, 0], "output_padding": [1], "strides": [6]}
    assert_same(model, result.model)


@each_row(
    ("nodes", "constants", "told"),
    [
        (
            f"f = {SPREAD} [cut] q = Slice (f, s, e, a) [none] y = Pad (q, p)",
            f"{TRIM}, int64[6] p = {{0, 0, 0, 0, 0, 0}}",
            [("PAD204", "none"), ("PAD402", "cut")],
        ),
        (
            f"f = {SPREAD} q = Cast <to = 7> (h) [ends] y = Pad (f, q)",
            "int32[6] h = {0, 0, 0, 0, 0, 4}",
            [("PAD402", "ends")],
        ),
        (
            f"f = {SPREAD} [idle] g = Slice (f, s, m, a) q = Cast <to = 7> (h) y = Pad (g, q)",
            f"{TRIM}, int64[1] m = {{99}}, int32[6] h = {{0, 0, 1, 0, 0, 0}}",
            [("PAD402", "idle"), ("PAD205", "<y>")],
        ),
    ],
)
def test_a_node_has_one_fate(nodes: str, constants: str, told: list[tuple[str, str]]) -> None:
    model = behind(nodes, constants)
    findings = [each for each in onnxpad.check(model).findings if each.fixable]
    assert sorted((each.code, each.node) for each in findings) == sorted(told)
    assert len(onnxpad.fix(model, validate=False).changes) == len(told)


def test_a_pad_of_nothing_goes_with_the_crop_that_its_amounts_are_computed_from() -> None:
    """Of a ConvTranspose that crops by itself they would be -3, and crop as much again."""
    nodes = (
        f"f = {SPREAD} g = Slice (f, s, e, a) h = Shape (f) n = Gather (h, a) m = Sub (n, whole)"
    )
    model = behind(
        f"{nodes} q = Concat <axis = 0> (none, m) y = Pad (g, q)",
        f"{TRIM}, int64[1] whole = {{31}}, int64[5] none = {{0, 0, 0, 0, 0}}",
    )
    result = onnxpad.fix(model, select="PAD4")
    assert (result.ok, result.undone, result.barred) == (True, (), ())
    assert [node.op_type for node in result.model.graph.node] == ["ConvTranspose"]
    assert [each.code for each in onnxpad.check(model).findings] == ["PAD204", "PAD402"]


def test_check_tells_one_change_where_this_code_alone_is_chosen() -> None:
    proto = one(
        "t = ConvTranspose <strides = [2, 2]> (x, w) a = Slice (t, s, e, ax) b = Pad (a, o) "
        "y = Relu (b)",
        inputs="float[1,1,8,8] x",
        initializers="float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}, int64[2] s = {1,1}, "
        "int64[2] e = {-1,-1}, int64[2] ax = {2,3}, int64[8] o = {0,0,0,0,0,0,0,0}",
    )
    (finding,) = onnxpad.check(proto, select="PAD402").findings
    (change,) = onnxpad.fix(proto, select="PAD402", validate=False).changes
    assert change.code == finding.code == "PAD402"
    codes = [each.code for each in onnxpad.check(proto).findings]
    assert codes == ["PAD204", "PAD402"]
