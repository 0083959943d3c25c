"""A `Pad` that does more than an operator's pads can is folded in part."""

import onnx
import pytest

import onnxpad
from tests.support import assert_graph, fixed, one

W = "float[3, 3, 3, 3] w = {" + ", ".join(str(n % 5 - 2) for n in range(81)) + "}"
LOW = "float low = {-3.4028234663852886e38}"


def model(body: str, p: str, q: str = "0, 0, 0, 0, 0, 0, 0, 0") -> onnx.ModelProto:
    outputs = "float[] y, float[] z" if " z = " in body else "float[] y"
    given = f"{W}, {LOW}, int64[8] p = {{{p}}}, int64[8] q = {{{q}}}"
    return one(body, inputs="float[1, 2, 9, 8] x", outputs=outputs, initializers=given)


PARTED = [
    pytest.param(
        model("a = Pad (x, p) y = Conv (a, w)", "0, 0, 1, 1, 0, 1, 0, 2"),
        model(
            "a = Pad (x, q) y = Conv <pads = [1, 1, 0, 2]> (a, w)",
            "0, 0, 0, 0, 0, 0, 0, 0",
            "0, 0, 0, 0, 0, 1, 0, 0",
        ),
        id="channels",
    ),
    pytest.param(
        model("a = Pad (x, p) y = Conv (a, w)", "0, 0, 1, -1, 0, 1, 0, 2"),
        model(
            "a = Pad (x, q) y = Conv <pads = [1, 0, 0, 2]> (a, w)",
            "0, 0, 0, 0, 0, 0, 0, 0",
            "0, 0, 0, -1, 0, 1, 0, 0",
        ),
        id="a crop",
    ),
    pytest.param(
        model(
            "a = Pad (x, p) y = Conv (a, w) z = Conv <strides = [2, 2]> (a, w)",
            "0, 0, 1, 1, 0, 1, 0, 2",
        ),
        model(
            "a = Pad (x, q) y = Conv <pads = [1, 1, 0, 2]> (a, w)"
            " z = Conv <pads = [1, 1, 0, 2], strides = [2, 2]> (a, w)",
            "0, 0, 0, 0, 0, 0, 0, 0",
            "0, 0, 0, 0, 0, 1, 0, 0",
        ),
        id="two readers",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 1, 1, 0, 1, 0, 2]> (x) y = Conv (a, w)",
            initializers=W,
            opset=10,
        ),
        one(
            "a = Pad <pads = [0, 0, 0, 0, 0, 1, 0, 0]> (x) y = Conv <pads = [1, 1, 0, 2]> (a, w)",
            initializers=W,
            opset=10,
        ),
        id="opset 10, amounts as an attribute",
    ),
]


@pytest.mark.parametrize(("before", "after"), PARTED)
def test_folds_in_part(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    result = fixed(before)
    assert_graph(result.model, after)
    assert result.changes[0].code == "PAD208"
    assert not onnxpad.check(result.model).failing()


@pytest.mark.parametrize(
    ("body", "style"),
    [
        ("a = Pad (x, p) y = Conv (a, w) z = Relu (a)", "fold"),
        ("a = Pad (x, p, low) y = Conv (a, w)", "fold"),
        ("a = Pad (x, p) y = Conv (a, w)", "pad"),
    ],
)
def test_stays_whole(body: str, style: str) -> None:
    assert not onnxpad.fix(model(body, "0, 0, 1, 1, 0, 1, 0, 2"), style=style).changed


def test_of_named_axes() -> None:
    named = "int64[6] p = {1, 1, 1, 0, 2, 2}, int64[3] at = {-3, 2, 3}"
    rest = "int64[8] p = {0, 1, 0, 0, 0, 0, 0, 0}"
    before, after = (
        one(body, inputs="float[1, 2, 9, w] x", initializers=f"{W}, {given}", opset=18)
        for body, given in (
            ("a = Pad (x, p, , at) y = Conv (a, w)", named),
            ("a = Pad (x, p) y = Conv <pads = [1, 1, 2, 2]> (a, w)", rest),
        )
    )
    result = fixed(before)
    assert_graph(result.model, after)
    assert result.changes[0].after == ("Pad axis 1 1+0 -> Pad axis 2 1+2, axis 3 1+2")


def test_what_no_window_reads_does_not_count() -> None:
    """The last column of padding is not read, and a pool of size 1 could not have it."""
    before = model(
        "a = Pad (x, p) y = AveragePool <kernel_shape = [1, 1], strides = [3, 7]> (a)",
        "0, 0, 0, 0, 0, 0, 0, 1",
    )
    after = model(
        "y = AveragePool <kernel_shape = [1, 1], strides = [3, 7]> (x)", "0, 0, 0, 0, 0, 0, 0, 0"
    )
    result = fixed(before)
    nodes = result.model.graph.node
    assert [node.op_type for node in nodes] == ["AveragePool"]
    assert list(nodes[0].input) == list(after.graph.node[0].input)


def test_the_finding_shows_the_amounts_of_all_axes() -> None:
    parted = model("a = Pad (x, p) y = Conv (a, w)", "0, 0, 1, 1, 0, 1, 0, 2")
    (finding,) = onnxpad.fix(parted, validate=False).findings
    assert finding.message == "Pad C 0+1 before Conv '<y>'"


def test_a_crop_that_may_be_longer_than_the_data_is_not_parted() -> None:
    """Of data of unknown rank nothing is known: the proof would refuse."""
    before = one(
        "a = Pad (x, p) y = Conv (a, w)",
        initializers=f"{W}, int64[8] p = {{0, -1, 1, 1, 0, 0, 1, 1}}",
    )
    before.graph.input[0].type.tensor_type.ClearField("shape")
    result = onnxpad.fix(before, validate=False)
    assert not result.changed
    assert not result.undone


def test_is_not_parted_for_a_fold_that_strict_forbids() -> None:
    pooled = "a = Pad (x, p, low) y = MaxPool <kernel_shape = [3, 3]> (a)"
    before = model(pooled, "0, 0, 1, -1, 0, 1, 0, 2")
    assert [change.code for change in fixed(before).changes] == ["PAD208", "PAD201"]
    result = onnxpad.fix(before, strict=True)
    assert result.changes == ()
    assert_graph(result.model, before)
