"""Pads that onnxruntime folds wrongly in the model as it came: guarded, or said why not."""

import onnx
import pytest

import onnxpad
from onnxpad.finding import Severity
from onnxpad.reasons import Reason
from tests.older import installed, numbers
from tests.support import BORDER, LEVELS, agree, assert_graph, fixed, negative, one, ran
from tests.support.rows import each_row

POOL = "y = MaxPool <kernel_shape = [3, 3]>"


def kept(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same with an empty third input for its Pad, which ONNX text cannot say."""
    (pad,) = [node for node in model.graph.node if node.op_type == "Pad"]
    pad.input[2:] = [""]
    return model


GUARDED = [
    pytest.param(
        one(f"a = Pad (x, p) {POOL} (a)", initializers=BORDER),
        one(f"a = Pad (x, p) {POOL} (a)", initializers=BORDER),
        id="zeros among negative data",
    ),
    pytest.param(
        one(
            f"a = Pad (x, p, v) b = Identity (a) {POOL} (b)",
            initializers=f"{BORDER}, float v = {{0}}",
        ),
        one(f"a = Pad (x, p) b = Identity (a) {POOL} (b)", initializers=BORDER),
        id="by a copy, with a fill that is written",
    ),
    pytest.param(
        one("a = Pad (x, p) y = AveragePool <kernel_shape = [1, 1]> (a)", initializers=BORDER),
        one("a = Pad (x, p) y = AveragePool <kernel_shape = [1, 1]> (a)", initializers=BORDER),
        id="pads that are not below the kernel",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = AveragePool"
            " <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (a)",
            inputs="float[1, 2, 7, 7] x",
            initializers=BORDER,
        ),
        one(
            "a = Pad (x, p) y = AveragePool"
            " <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (a)",
            inputs="float[1, 2, 7, 7] x",
            initializers=BORDER,
        ),
        id="a window that ceil_mode drops",
    ),
    pytest.param(
        one(
            "a = Pad (w, p) y = Conv (x, a)",
            inputs="float[1, 2, 9, 8] x, float[1, 2, 3, 3] w",
            initializers=BORDER,
        ),
        one(
            "a = Pad (w, p) y = Conv (x, a)",
            inputs="float[1, 2, 9, 8] x, float[1, 2, 3, 3] w",
            initializers=BORDER,
        ),
        id="a weight",
    ),
    pytest.param(
        one(f"a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x) {POOL} (a)", opset=9),
        one(
            "a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x)"
            ' y = MaxPool <auto_pad = "VALID", kernel_shape = [3, 3]> (a)',
            opset=9,
        ),
        id="before opset 11",
    ),
]


@pytest.mark.parametrize(("before", "after"), GUARDED)
def test_guarded(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    (found,) = onnxpad.check(before).failing(Severity.ERROR)
    assert found.code == "PAD701"
    *_, last = str(found.evidence["onnxruntime"]).split()
    result = fixed(before, runs=False)
    expected_nodes = after if after.opset_import[0].version < 11 else kept(after)
    assert_graph(result.model, expected_nodes)
    assert [change.code for change in result.changes] == ["PAD701"]
    feeds = negative(before)
    expected = ran(before, feeds, LEVELS[0])
    assert not isinstance(expected, str)
    assert agree(ran(before, feeds, LEVELS[1]), expected) == (
        numbers(last) < installed("onnxruntime")
    )
    assert all(agree(ran(result.model, feeds, level), expected) for level in LEVELS)


NOT_FOUND = [
    pytest.param(
        one(f"r = Relu (x) a = Pad (r, p) {POOL} (a)", initializers=BORDER),
        id="a fold that is the same, and made",
    ),
    pytest.param(
        one(f"a = Pad (x, p, v) {POOL} (a)", initializers=f"{BORDER}, float v = {{-1}}"),
        id="another fill",
    ),
    pytest.param(
        one(f"a = Pad (x, p, v) {POOL} (a)", initializers=f"{BORDER}, float v = {{-0.0}}"),
        id="a fill of -0.0",
    ),
    pytest.param(
        kept(one(f"a = Pad (x, p) {POOL} (a)", initializers=BORDER)), id="guarded already"
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = AveragePool <kernel_shape = [2, 2], pads = [1, 1, 1, 1]> (a)",
            initializers=BORDER,
        ),
        id="an average that does not count what it pads",
    ),
    pytest.param(
        one(
            f"a = Pad (x, p) {POOL} (a) z = Relu (a)",
            outputs="float[] y, float[] z",
            initializers=BORDER,
        ),
        id="a second reader",
    ),
    pytest.param(
        one(f"a = Pad (x, p) {POOL} (a)", outputs="float[] y, float[] a", initializers=BORDER),
        id="an output",
    ),
    pytest.param(
        one(
            f"a = Pad (x, p, , k) {POOL} (a)",
            initializers="int64[4] p = {1, 1, 1, 1}, int64[2] k = {2, 3}",
            opset=18,
        ),
        id="axes",
    ),
    pytest.param(
        one(f'a = Pad <mode = "edge"> (x, p) {POOL} (a)', initializers=BORDER), id="another mode"
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y, i = MaxPool <kernel_shape = [3, 3]> (a)",
            outputs="float[] y, int64[] i",
            initializers=BORDER,
        ),
        id="Indices",
    ),
    pytest.param(
        one(f"a = Pad (x, p) {POOL} (a)", inputs="float[1, 2, 9, 8] x, int64[8] p"),
        id="amounts that are fed",
    ),
    pytest.param(
        one(
            "a = Pad (w, p) y = Conv (x, a)",
            initializers=f"{BORDER}, float[1, 2, 1, 1] w = {{1, 2}}",
        ),
        id="a weight that is constant",
    ),
]


@each_row("model", NOT_FOUND)
def test_not_found(model: onnx.ModelProto) -> None:
    assert not [finding for finding in onnxpad.check(model).findings if finding.code == "PAD701"]


def test_pads_of_the_operator_leave_no_guard_before_opset_11() -> None:
    model = one(
        "a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x)"
        " y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)",
        opset=9,
    )
    (found,) = [each for each in onnxpad.check(model).findings if each.code == "PAD701"]
    assert found.severity is Severity.INFO
    assert found.reason_code == "opset-too-old"
    assert not onnxpad.fix(model).changed


def test_what_guards_a_padded_weight_stays() -> None:
    for auto_pad, code in (("VALID", "PAD102"), ("SAME_UPPER", "PAD101")):
        model = one(
            "v = Pad <pads = [0, 0, 1, 0, 0, 0, 0, 0]> (u)"
            f' y = Conv <auto_pad = "{auto_pad}"> (x, v)',
            initializers="float[1, 2, 2, 3] u = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}",
            opset=9,
        )
        result = onnxpad.fix(model, style="pad", validate=False)
        assert (code, "optimiser-folds") in [(f.code, f.reason_code) for f in result.findings]
        assert not onnxpad.check(result.model, style="pad").failing()


def test_what_edits_lay_open_is_shielded_and_no_finding() -> None:
    model = one(
        f"a = Pad (x, p) {POOL} (a) z = Conv (a, w)",
        outputs="float[] y, float[] z",
        initializers=f"{BORDER}, float[1, 2, 1, 1] w = {{1, 2}}",
    )
    result = onnxpad.fix(model, validate=False)
    assert [change.code for change in result.changes] == ["PAD201"]
    (pad,) = [node for node in result.model.graph.node if node.op_type == "Pad"]
    assert list(pad.input) == ["x", "p", ""]


def test_an_attribute_that_a_call_sets_guards_nothing() -> None:
    """The branch that is taken is put in the place of its If, where an empty fill protects none."""
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 11, "local" : 1]>
        g (float[2, 2, 8, 4] x) => (float[] y, float[] z)
        <bool taken = {1}, int64[8] m = {0, 0, 1, 1, 0, 0, 0, 0}>
        {
          c = Pad (x, m)
          d = Pad (c, m)
          z = Neg (d)
          y = If (taken) <
            else_branch = no () => (float[] b) { b = local.Block <given = "NOTSET"> (x) },
            then_branch = yes () => (float[] a) { a = Identity (x) }>
        }
        <domain: "local", opset_import: ["" : 11]>
        Block <given> (v) => (r)
        {
          q = Constant <value = int64[8] {0, 0, 0, 1, 0, 0, 1, 0}> ()
          u = Pad (v, q)
          p = Constant <value = int64[8] {0, 0, 1, 2, 0, 0, 0, 2}> ()
          a = Pad (u, p)
          r = MaxPool <auto_pad: string = @given, kernel_shape = [1, 2]> (a)
        }
    """)
    result = onnxpad.fix(model)
    assert [(change.code, change.node) for change in result.changes] == [("PAD203", "<d>")]
    (kept,) = [finding for finding in result.findings if finding.code == "PAD203"]
    assert kept.reason_code == Reason.LAYS_PAD_OPEN


def test_like_findings_name_no_tensor() -> None:
    model = one(f"a = Pad (x, p) copied = Identity (a) {POOL} (copied)", initializers=BORDER)
    (finding,) = [each for each in onnxpad.check(model).findings if each.code == "PAD701"]
    assert "'<y>'" in finding.message
