"""A `Pad` moves past what stands between it and its window, or stays with the reason."""

from collections.abc import Iterator, Sequence

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.passes.pads import SinkPad
from onnxpad.rewrite.pass_api import Context, Match
from tests.support import assert_graph, fixed, one
from tests.support.rows import each_row

NHWC = "float[1, 8, 7, 2] x"
W = "float[3, 2, 3, 3] w = {" + ", ".join(str(n % 7 - 3) for n in range(54)) + "}"
PADS = "int64[8] p = {0, 1, 2, 0, 0, 2, 1, 0}"
SPATIAL = "int64[8] p = {0, 0, 1, 2, 0, 0, 2, 1}"
MORE_PADS = "int64[8] q = {0, 0, 1, 1, 0, 0, 1, 1}, int64[8] crop = {0, 0, -1, 0, 0, 0, 0, -1}"
TURN = "Transpose <perm = [0, 3, 1, 2]>"
BARE = f"t = {TURN} (x) y = Conv <pads = [1, 2, 2, 1]> (t, w)"

FOLDED = [
    pytest.param(f"a = Pad (x, p) t = {TURN} (a) y = Conv (t, w)", BARE, id="Transpose"),
    pytest.param(
        f"a = Pad (x, p) i = Identity (a) t = {TURN} (i) y = Conv (t, w)", BARE, id="Identity"
    ),
    pytest.param(
        f"a = Pad (x, p) r = Relu (a) n = Neg (r) t = {TURN} (n) y = Conv (t, w)",
        f"r = Relu (x) n = Neg (r) t = {TURN} (n) y = Conv <pads = [1, 2, 2, 1]> (t, w)",
        id="several in a row",
    ),
    pytest.param(
        f"a = Pad (x, p) t = {TURN} (a) y = Conv (t, w) z = Conv <strides = [2, 2]> (t, w)",
        f"t = {TURN} (x) y = Conv <pads = [1, 2, 2, 1]> (t, w)"
        " z = Conv <pads = [1, 2, 2, 1], strides = [2, 2]> (t, w)",
        id="a shared step",
    ),
    pytest.param(
        f"a = Pad (x, p) t = {TURN} (a) r = Relu (t) n = Neg (t) y = Conv (r, w) z = Conv (n, w)",
        f"t = {TURN} (x) r = Relu (t) n = Neg (t)"
        " y = Conv <pads = [1, 2, 2, 1]> (r, w) z = Conv <pads = [1, 2, 2, 1]> (n, w)",
        id="a shared step before others",
    ),
    pytest.param(
        f"a = Pad (x, p) b = Pad (x, p) c = Concat <axis = 3> (a, b) t = {TURN} (c)"
        " l, r = Split <axis = 1> (t) y = Conv (l, w) z = Conv (r, w)",
        f"c = Concat <axis = 3> (x, x) t = {TURN} (c)"
        " l, r = Split <axis = 1> (t)"
        " y = Conv <pads = [1, 2, 2, 1]> (l, w) z = Conv <pads = [1, 2, 2, 1]> (r, w)",
        id="joined and split",
    ),
    pytest.param(
        f"a = Pad (x, p) t = {TURN} (a) b = Pad (t, q) y = Conv (b, w)",
        f"t = {TURN} (x) y = Conv <pads = [2, 3, 3, 2]> (t, w)",
        id="another Pad behind",
    ),
    pytest.param(
        f"a = Pad (x, p) t = {TURN} (a) u, v = Split <axis = 1> (t)"
        " r = Concat <axis = 1> (u, u) y = Conv (r, w)",
        f"t = {TURN} (x) u, v = Split <axis = 1> (t)"
        " r = Concat <axis = 1> (u, u) y = Conv <pads = [1, 2, 2, 1]> (r, w)",
        id="a part that nothing reads",
    ),
    pytest.param(
        f"a = Pad (x, p) r = Relu (a) t = {TURN} (r) b = Pad (t, crop) y = Conv (b, w)",
        f"r = Relu (x) t = {TURN} (r) y = Conv <pads = [0, 2, 2, 0]> (t, w)",
        id="a crop of the padding behind",
    ),
    pytest.param(
        f"a = Pad (x, p) y = Identity (a) t = {TURN} (a) z = Conv (t, w)",
        f"a = Pad (x, p) y = Identity (a) t = {TURN} (x) z = Conv <pads = [1, 2, 2, 1]> (t, w)",
        id="an output too",
    ),
]


def model(body: str, inputs: str = NHWC, more: str = "") -> onnx.ModelProto:
    outputs = "float[] y, float[] z" if " z = " in body else "float[] y"
    given = f"{W}, {PADS}, {MORE_PADS}{more}"
    return one(body, inputs=inputs, outputs=outputs, initializers=given)


@pytest.mark.parametrize(("before", "after"), FOLDED)
def test_moves_and_folds(before: str, after: str) -> None:
    result = fixed(model(before))
    assert_graph(result.model, model(after))
    assert not onnxpad.check(result.model).failing()


@each_row(("before", "after"), FOLDED, at_once=4)
def test_needs_no_run(before: str, after: str) -> None:
    result = onnxpad.fix(model(before), validate=False, strict=True)
    assert_graph(result.model, model(after))


def test_stands_before_its_operator_in_style_pad() -> None:
    result = fixed(
        model(f"a = Pad (x, p) t = {TURN} (a) y = Conv <pads = [0, 0, 0, 1]> (t, w)"), "pad"
    )
    assert [node.op_type for node in result.model.graph.node] == ["Transpose", "Pad", "Conv"]


LINE = "float[1, 2, L] x"
ONE = "float[3, 2, 1, 3] v = {" + ", ".join(str(n % 5 - 2) for n in range(18)) + "}"


@pytest.mark.parametrize(
    ("there", "length"),
    [
        ("Unsqueeze (a, at)", "L"),
        ("Reshape (a, shape)", "L"),
        ("Reshape (a, fixed)", "8"),
    ],
)
def test_unit_axes(there: str, length: str) -> None:
    given = (
        f"{ONE}, int64[6] p = {{0, 0, 2, 0, 0, 0}}, int64[1] at = {{2}},"
        " int64[4] shape = {0, 2, 1, -1}, int64[4] fixed = {1, 2, 1, 10}"
    )
    before = one(
        f"a = Pad (x, p) u = {there} c = Conv (u, v) y = Squeeze (c, at)",
        inputs=LINE.replace("L", length),
        initializers=given,
    )
    result = fixed(before)
    nodes = result.model.graph.node
    assert [node.op_type for node in nodes] == [there.split(" ")[0], "Conv", "Squeeze"]
    (pads,) = [a.ints for a in nodes[1].attribute if a.name == "pads"]
    assert list(pads) == [0, 2, 0, 0]


def test_quantised_and_back() -> None:
    body = (
        "a = Pad (x, p) q = QuantizeLinear (a, s, o) d = DequantizeLinear (q, s, o) y = Conv (d, w)"
    )
    result = fixed(one(body, initializers=f"{W}, {SPATIAL}, float s = {{0.125}}, uint8 o = {{7}}"))
    ops = [node.op_type for node in result.model.graph.node]
    assert ops == ["QuantizeLinear", "DequantizeLinear", "Conv"]


@pytest.mark.parametrize(
    ("amounts", "starts", "ends", "pads"),
    [
        ("0, 0, 0, 0, 0, 0, 1, 1", "1, 1", f"{2**31 - 1}, {2**31 - 1}", [0, 0, 1, 1]),
        ("0, 0, 1, 0, 0, 0, 0, 0", "0, 0", f"-1, {2**31 - 1}", [1, 0, 0, 0]),
        ("0, 0, 1, 1, 0, 0, 1, 1", "1, 1", "-1, -1", None),
    ],
)
def test_a_slice_crops_data_but_no_padding(
    amounts: str, starts: str, ends: str, pads: Sequence[int] | None
) -> None:
    given = (
        f"{W}, int64[8] p = {{{amounts}}}, int64[2] from = {{{starts}}},"
        f" int64[2] to = {{{ends}}}, int64[2] on = {{2, 3}}"
    )
    before = one("a = Pad (x, p) s = Slice (a, from, to, on) y = Conv (s, w)", initializers=given)
    nodes = fixed(before).model.graph.node if pads else onnxpad.fix(before).model.graph.node
    assert [node.op_type for node in nodes] == ["Pad"] * (pads is None) + ["Slice", "Conv"]
    assert [list(a.ints) for a in nodes[-1].attribute if a.name == "pads"] == [pads] * bool(pads)


def test_a_crop_of_an_axis_of_unknown_size_stays() -> None:
    given = (
        f"{W}, {SPATIAL}, int64[1] from = {{1}}, int64[1] to = {{{2**63 - 1}}}, int64[1] on = {{2}}"
    )
    before = one(
        "u = Pad (x, q) a = Pad (u, p) s = Slice (a, from, to, on) n = Neg (s) y = Conv (n, w)",
        inputs="float[1, 2, 9, 8] x, int64[8] q",
        initializers=given,
    )
    result = onnxpad.fix(before, validate=False)
    assert not result.undone
    told = [(finding.code, finding.reason_code) for finding in result.findings]
    assert ("PAD207", "axis-taken") in told


SIGNS = [
    pytest.param("a = Pad (n, p) s = Mul (a, each)", id="factors of both signs"),
    pytest.param("b = Pad (x, p, less) s = Clip (b, zero)", id="Clip of -0.0 at 0"),
    pytest.param("b = Pad (x, p, less) s = Relu (b)", id="Relu of -0.0"),
    pytest.param("a = Pad (n, p) r = Mul (a, each) s = Abs (r)", id="a step takes it away"),
    pytest.param(
        "a = Pad (n, p) b = Pad (x, p, less) c = Concat <axis = 1> (a, b)"
        " s, d = Split <axis = 1> (c)",
        id="Concat",
    ),
]


@pytest.mark.parametrize("step", SIGNS)
@pytest.mark.parametrize("reader", ["Conv (s, w)", "LpPool <kernel_shape = [4, 4]> (s)"])
def test_a_zero_of_open_sign_stays(step: str, reader: str) -> None:
    given = f"{W}, {SPATIAL}, float zero = {{0}}, float less = {{-0.0}}"
    before = one(
        f"n = Neg (x) {step} y = {reader}",
        initializers=f"{given}, float[2, 1, 1] each = {{2, -3}}",
    )
    result = onnxpad.fix(before, validate=False)
    assert not result.undone
    assert "Pad" in [node.op_type for node in result.model.graph.node]


@pytest.mark.parametrize(
    "readers",
    [
        "y = AveragePool <kernel_shape = [3, 3]> (s)",
        "y = MaxPool <kernel_shape = [3, 3]> (s)",
        "y = Conv (s, w) z = Neg (s)",
        "d = Div (one, s) y = Conv (d, w)",
    ],
)
def test_a_sign_of_zero_that_a_reader_may_tell(readers: str) -> None:
    given = f"{W}, {SPATIAL}, float one = {{1}}, float[2, 1, 1] each = {{2, -3}}"
    before = one(
        f"a = Pad (x, p) s = Mul (a, each) {readers}",
        outputs="float[] y, float[] z" if " z = " in readers else "float[] y",
        initializers=given,
    )
    result = onnxpad.fix(before)
    assert not result.changed
    assert not result.undone
    (finding,) = (each for each in result.findings if each.code == "PAD207")
    assert finding.reason_code == "fill-changes"


def test_the_value_of_a_crop_need_not_fit_another_type() -> None:
    before = one(
        "a = Pad (x, p, v) q = QuantizeLinear (a, one, zero) y = MaxPool <kernel_shape = [2]> (q)",
        inputs="float[1, 4, 9] x",
        outputs="uint8[] y",
        initializers="int64[6] p = {0, 0, -2, 0, 0, -2}, float v = {-31.25}, float one = {1},"
        " uint8 zero = {128}",
    )
    for style in ("fold", "pad", "symmetric"):
        assert not onnxpad.fix(before, style=style).undone


STAYS = [
    pytest.param("s = Sigmoid (a)", "no-window", "Sigmoid", id="half of 0"),
    pytest.param("s = Add (a, one)", "fill-differs", "would be read, not 1", id="Add"),
    pytest.param("s = Mul (a, column)", "axis-taken", "Mul", id="along a padded axis"),
    pytest.param("s = Add (a, each)", "fill-changes", "Add", id="of each channel"),
    pytest.param("s = Exp (a)", "steps-between", "Exp", id="Exp"),
    pytest.param("s = Add (a, a)", "no-window", "Add", id="two operands"),
    pytest.param("s = Concat <axis = 1> (a, b)", "steps-between", "not padded alike", id="Concat"),
]


@each_row(("step", "code", "told"), STAYS, at_once=4)
def test_stays(step: str, code: str, told: str) -> None:
    given = (
        f"{W}, {SPATIAL}, float one = {{1}}, float[2, 1, 1] each = {{1, 2}},"
        f" float[11, 1] column = {{{', '.join(['2'] * 11)}}}, float[4] scales = {{1, 1, 2, 2}}"
    )
    before = one(
        f"a = Pad (x, p) b = Pad (x, p2) t = Neg (a) {step.replace('(a', '(t')}"
        " y = Conv <dilations = [2, 2]> (s, w)",
        initializers=given + ", int64[8] p2 = {0, 0, 2, 1, 0, 0, 1, 2}",
    )
    result = onnxpad.fix(before)
    assert not result.changed
    codes = {finding.reason: finding.reason_code for finding in result.findings}
    assert code in codes.values() or code == "no-window"
    assert any(told in reason for reason in codes)


@pytest.mark.parametrize("op", ["Max", "Min"])
def test_what_does_not_broadcast_stays(op: str) -> None:
    pad = "a = Pad <pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x)"
    before = one(f"{pad} s = {op} (a, a) y = Conv (s, w)", initializers=W, opset=7)
    result = onnxpad.fix(before, validate=False)
    assert not result.changed
    (_finding,) = result.findings


def test_one_reader_that_declines_keeps_all() -> None:
    body = f"a = Pad (x, p) t = {TURN} (a) y = Conv (t, w) z = MaxPool <kernel_shape = [3, 3]> (t)"
    result = onnxpad.fix(model(body))
    assert not result.changed
    (finding,) = result.findings
    assert (finding.code, finding.reason_code) == ("PAD207", "fill-wins")


def test_a_pad_further_up_that_cannot_be_carried_is_data() -> None:
    body = (
        "u = Pad (x, p, nine) n = Neg (u) a = Pad (n, p) h = Tanh (a)"
        f" t = {TURN} (h) y = Conv (t, w)"
    )
    result = fixed(model(body, more=", float nine = {9}"))
    assert [node.op_type for node in result.model.graph.node] == [
        "Pad", "Neg", "Tanh", "Transpose", "Conv",
    ]  # fmt: skip


def test_a_part_that_nothing_reads_does_not_count() -> None:
    body = f"a = Pad (x, p) t = {TURN} (a) l, r = Split <axis = 1> (t) y = Conv (r, v)"
    given = f", float[3, 1, 3, 3] v = {{{', '.join(['2'] * 27)}}}"
    result = fixed(model(body, more=given))
    assert [node.op_type for node in result.model.graph.node] == ["Transpose", "Split", "Conv"]


def test_a_size_copied_from_another_axis() -> None:
    """The 0 of a Reshape copies the size of an axis that was equal only with the padding."""
    before = one(
        "a = Pad (x, p) r = Reshape (a, shape) t = Transpose <perm = [0, 3, 1, 2]> (r)"
        " y = Conv (t, w)",
        inputs="float[4, 6, 2] x",
        initializers=f"{W}, int64[6] p = {{1, 0, 0, 1, 0, 0}}, int64[4] shape = {{1, 0, 6, 2}}",
    )
    result = fixed(before)
    assert [node.op_type for node in result.model.graph.node] == ["Reshape", "Transpose", "Conv"]


def test_a_squeeze_of_all_that_it_may() -> None:
    """Without its padding an axis would have size 1, at least at some sizes."""
    before = one(
        "a = Pad (x, p) s = Squeeze (a) u = Unsqueeze (s, at) y = Conv (u, w)",
        inputs="float[1, 2, h, 5] x",
        initializers=f"{W}, {SPATIAL}, int64[1] at = {{0}}",
    )
    result = onnxpad.fix(before)
    assert not result.changed
    (finding,) = result.findings
    assert (finding.code, finding.reason_code) == ("PAD207", "steps-between")


@pytest.mark.parametrize("bound", ["float[2] low = {0, 1}", "float[0] low = {}"])
def test_a_bound_that_is_not_one_number(bound: str) -> None:
    before = one(
        "a = Pad (x, p) c = Clip (a, low) y = Conv (c, w)",
        inputs="float[1, 2, 8, 8] x",
        initializers=f"{W}, {SPATIAL}, {bound}",
    )
    (finding,) = onnxpad.fix(before, validate=False).findings
    assert (finding.code, finding.reason_code) == ("PAD207", "steps-between")


def test_a_concat_of_data_from_a_slice_of_all() -> None:
    """A Slice that takes nothing off is no layer for the proof."""
    body = (
        f"a = Pad (x, p) t = {TURN} (a) s = Slice (t, from, to, at) r = Relu (s)"
        " c = Concat <axis = 0> (t, r) y = Conv (c, w)"
    )
    more = ", int64[1] from = {0}, int64[1] to = {2}, int64[1] at = {1}"
    result = fixed(model(body, more=more))
    assert "Pad" not in [node.op_type for node in result.model.graph.node]


@pytest.mark.parametrize(
    ("end", "changes", "left"), [("Conv (a60, w)", 61, 0), ("Exp (a60)", 60, 1)]
)
def test_a_chain_of_pads_and_steps_becomes_one(end: str, changes: int, left: int) -> None:
    chain = [f"p{i} = Pad (a{i}, q, v{i % 2}) a{i + 1} = Add (p{i}, c{i % 2})" for i in range(60)]
    result = onnxpad.fix(
        one(
            f"a0 = Neg (x) {' '.join(chain)} y = {end}",
            inputs="float[1, 2, 8, 8] x",
            initializers=f"{W}, {MORE_PADS}, float v0 = {{0}}, float v1 = {{0.5}}, "
            "float c0 = {0.5}, float c1 = {-0.5}",
        ),
        validate=False,
    )
    assert len(result.changes) == changes
    assert [node.op_type for node in result.model.graph.node].count("Pad") == left


def test_many_pads_above() -> None:
    """The proof looks only so far up, however many Pads there are."""
    pads = [f"b{i + 1} = Pad (b{i}, p, v{i % 2})" for i in range(100)]
    body = f"b0 = Relu (x) {' '.join(pads)} a = Pad (b100, p) t = {TURN} (a) y = Conv (t, w)"
    before = model(body, "float[1, h, i, 2] x", ", float v0 = {1}, float v1 = {2}")
    result = onnxpad.fix(before, validate=False)
    assert [change.code for change in result.changes] == ["PAD207", "PAD201"]
    assert max(len(change.was.steps) for change in result.changes) < 20


def test_a_step_before_one_reader_is_found_in_style_pad() -> None:
    before = model(f"a = Pad (x, p) t = {TURN} (a) y = Conv (t, w)")
    (_kept,) = onnxpad.check(before, style="pad").findings


def test_all_branches_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule looks for its Pads a few times, however many branches read one."""
    looked: list[Context] = []
    find = SinkPad.find

    def counted(rule: SinkPad, context: Context) -> Iterator[Match]:
        looked.append(context)
        return find(rule, context)

    monkeypatch.setattr(SinkPad, "find", counted)
    branches = [f"t{i} = Abs (a) y{i} = Conv (t{i}, w)" for i in range(20)]
    body = f"a = Pad (x, p) {' '.join(branches)} y = Sum ({', '.join(f'y{i}' for i in range(20))})"
    before = one(body, inputs="float[1, 2, 8, 8] x", initializers=f"{W}, {SPATIAL}")
    result = onnxpad.fix(before, validate=False)
    assert "Pad" not in [node.op_type for node in result.model.graph.node]
    assert len(looked) < 10


MALFORMED = [
    "Cast (a)",
    "Add (a)",
    "Add (a, one, one)",
    "Add (a, text)",
    "Add (a, imaginary)",
    "Slice (a, one, one)",
    "Unsqueeze (a, twice)",
    "Concat (a)",
]


@each_row("step", MALFORMED, at_once=4)
def test_what_no_specification_allows_is_no_step(step: str) -> None:
    before = one(
        f"a = Pad (x, p) s = {step} y = Conv (s, w)",
        inputs="float[1, 2, 8, 8] x",
        initializers=f'{W}, {SPATIAL}, float[1] one = {{1}}, string[1] text = {{"a"}}',
    )
    for name, values in {
        "imaginary": np.array([1j], np.complex64),
        "twice": np.array([0, 0]),
        "empty": np.zeros(0, bool),
    }.items():
        before.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    result = onnxpad.fix(before, validate=False)
    assert not result.changed
    assert not result.undone
    stays = [finding for finding in result.findings if finding.code != "PAD901"]
    assert [finding.op_type for finding in stays] == ["Pad"]


def test_a_pad_of_nan_is_padded_alike() -> None:
    (finding,) = onnxpad.fix(
        model(f"a = Pad (x, p, v) t = {TURN} (a) y = Conv (t, w)", more=", float v = {nan}"),
        validate=False,
    ).findings
    assert (finding.code, finding.reason_code) == ("PAD207", "fill-differs")


def test_a_crop_beside_a_slice_that_may_be_longer_than_its_axis() -> None:
    """n may be 1, of which 1:-1 leaves nothing."""
    body = "a = Pad (x, p) s = Slice (a, from, to, on) i = Neg (s) y = Conv (i, v)"
    given = (
        "int64[8] p = {0, 0, 1, 0, 0, 0, 0, 0}, int64[2] from = {1, 0}, int64[2] to = {-1, -1},"
        " int64[2] on = {0, 2}, float[1, 2, 1, 1] v = {2, 3}"
    )
    before = one(body, inputs="float[n, 2, 8, 7] x", initializers=given)
    result = onnxpad.fix(before, validate=False)
    assert not result.undone
    assert [node.op_type for node in result.model.graph.node] == ["Slice", "Neg", "Conv"]
    fixed(before)


def test_a_pad_that_may_crop_more_than_there_is_stays() -> None:
    given = f"{W}, int64[8] p = {{0, 0, -1, 1, 0, 0, -1, 0}}"
    before = one("a = Pad (x, p) n = Neg (a) y = Conv (n, w)", initializers=given)
    before.graph.input[0].type.tensor_type.ClearField("shape")
    result = onnxpad.fix(before, validate=False)
    assert not result.changed
    assert not result.undone


def test_the_certificate_names_all_that_is_read() -> None:
    body = (
        f"n = Neg (x) a = Pad (x, p) b = Pad (n, p) c = Concat <axis = 3> (a, b) t = {TURN} (c)"
        " l, r = Split <axis = 1> (t) y = Conv (l, w) z = Conv (r, w)"
    )
    change = fixed(model(body)).changes[0]
    assert change.code == "PAD207"
    assert change.certificate.facts["roots"] == ["x", "n"]


def test_one_pad_before_a_branch_stays_one_in_style_pad() -> None:
    body = (
        f"a = Pad (x, p) t = {TURN} (a) n = Neg (a) u = {TURN} (n) y = Conv (t, w) z = Conv (u, w)"
    )
    assert not onnxpad.fix(model(body), style="pad").changed


def test_a_pad_further_up_whose_mode_each_call_gives_is_data() -> None:
    text = (
        '<ir_version: 9, opset_import: ["" : 17, "f" : 1]> '
        f"g (float[1, 2, 9, 8] x) => (float[a, b, c, d] y) <{W}, {SPATIAL}> "
        '{ y = f.go <how = "edge"> (x, w, p) } '
        '<domain: "f", opset_import: ["" : 17]> go <how> (x, w, p) => (y) '
        "{ u = Pad <mode : string = @how> (x, p) n = Cast <to = 1> (u) "
        "o = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> () "
        "a = Pad (n, o) t = Neg (a) y = Conv (t, w) }"
    )
    result = onnxpad.fix(onnx.parser.parse_model(text), validate=False)
    assert not result.undone
    assert [each.code for each in result.changes if each.code != "PAD205"] == ["PAD207", "PAD201"]


JOINED = (
    "a = Pad (x, p) b = Pad (x, p) r = Relu (a) n = Abs (b) c = Concat <axis = 3> (r, n)"
    f" t = {TURN} (c) l, e = Split <axis = 1> (t) s = Conv (l, w) o = Conv (e, w) y = Add (s, o)"
)


def test_what_is_joined_is_not_computed_twice() -> None:
    result = onnxpad.fix(model(f"{JOINED} z = Exp (r)"))
    assert not result.changed
    assert "read-elsewhere" in {finding.reason_code for finding in result.findings}


def test_branches_that_are_joined_and_read_elsewhere() -> None:
    """Each of the two is read by a Conv of its own, so that neither can wait for the other."""
    body = (
        f"{JOINED} u = {TURN} (r) f = Conv (u, w) v = {TURN} (n) g = Conv (v, w)"
        " h = Add (f, g) z = Neg (h)"
    )
    result = fixed(model(body))
    assert "Pad" not in [node.op_type for node in result.model.graph.node]
    assert [node.op_type for node in result.model.graph.node].count("Relu") == 1


BEFORE_A_MAXIMUM = one(
    "a = Pad (x, p, low) b = Pad (x, p, low) c = Concat <axis = 1> (a, b)"
    " y = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (c)",
    inputs="float[1, 1, 8, 8] x",
    initializers="int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, float low = {-3.4028235e+38}",
)


def test_nothing_moves_to_where_strict_would_undo_it() -> None:
    assert onnxpad.fix(BEFORE_A_MAXIMUM, validate=False).changes
    result = onnxpad.fix(BEFORE_A_MAXIMUM, validate=False, strict=True)
    assert not result.changed
    assert not result.undone
    assert {(each.code, each.reason_code) for each in result.findings} == {
        ("PAD207", "assumption-refused")
    }
