"""A `Pad` of a `Pad`: which become one, and which stay two and why."""

import onnx
import pytest
from onnx import numpy_helper

import onnxpad
from onnxpad.passes.pads import MergePads
from tests.support import assert_graph, decided, feeds_of, fixed, one, run
from tests.support.rows import each_row

FIRST = "int64[8] p = {0, 1, 1, 2, 0, 0, 2, 1}"
SECOND = "int64[8] q = {1, 0, 0, 3, 0, 2, 1, 0}"
SUM = "int64[8] p = {1, 1, 1, 5, 0, 2, 3, 1}"


def pads(name: str, *amounts: int) -> str:
    """An initializer: amounts of two spatial axes, begins first, and none before them."""
    begins, ends = amounts[:2], amounts[2:]
    told = ", ".join(map(str, (0, 0, *begins, 0, 0, *ends)))
    return f"int64[8] {name} = {{{told}}}"


MERGED = [
    pytest.param(
        one(
            "a = Pad (x, p) b = Pad (a, q) y = Relu (b)",
            inputs="float[1, 2, h, w] x",
            initializers=f"{pads('p', 1, 2, 1, 2)}, {pads('q', -1, 0, -1, -1)}",
        ),
        one(
            "b = Pad (x, p) y = Relu (b)",
            inputs="float[1, 2, h, w] x",
            initializers=pads("p", 0, 2, 0, 1),
        ),
        id="a crop of nothing but padding, at every size",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = Pad (a, q, c)",
            initializers=f"{FIRST}, {SECOND}, float c = {{-0.0}}",
        ),
        one("y = Pad (x, p, c)", initializers=f"{SUM}, float c = {{-0.0}}"),
        id="-0.0 twice",
    ),
    pytest.param(
        one("a = Pad (x, p) y = Pad (a, q)", initializers=f"{FIRST}, {SECOND}"),
        one("y = Pad (x, p)", initializers=SUM),
        id="two",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) b = Pad (a, q) d = Pad (b, p) y = Relu (d)",
            initializers=f"{FIRST}, {SECOND}",
        ),
        one(
            "d = Pad (x, p) y = Relu (d)",
            initializers="int64[8] p = {1, 2, 2, 7, 0, 2, 5, 2}",
        ),
        id="a chain of three",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = Pad (a, q, d)",
            initializers=f"{FIRST}, {SECOND}, float c = {{2}}, float[1] d = {{2}}",
        ),
        one("y = Pad (x, p, c)", initializers=f"{SUM}, float[1] c = {{2}}"),
        id="the same value, written twice",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Pad (a, q, d)",
            initializers=f"{FIRST}, {SECOND}, float d = {{0}}",
        ),
        one("y = Pad (x, p, d)", initializers=f"{SUM}, float d = {{0}}"),
        id="zero, written once",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, , s) y = Pad (a, q, , t)",
            initializers="int64[4] p = {1, 2, 3, 4}, int64[2] s = {-1, 2},"
            " int64[2] q = {5, 6}, int64[1] t = {1}",
            opset=18,
        ),
        one(
            "y = Pad (x, p)",
            initializers="int64[8] p = {0, 5, 2, 1, 0, 6, 4, 3}",
            opset=18,
        ),
        id="axes of both",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Pad (a, q, , t)",
            inputs="float[A, B, H, V] x",
            initializers=f"{FIRST}, int64[2] q = {{5, 6}}, int64[1] t = {{-3}}",
            opset=18,
        ),
        one(
            "y = Pad (x, p)",
            inputs="float[A, B, H, V] x",
            initializers="int64[8] p = {0, 6, 1, 2, 0, 6, 2, 1}",
            opset=18,
        ),
        id="axes of one, no size known",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 1, 2, 0, 0, 2, 1], value = 2.0> (x)"
            " y = Pad <pads = [0, 0, 3, 0, 0, 0, 0, 1], value = 2.0> (a)",
            opset=9,
        ),
        one("y = Pad <pads = [0, 0, 4, 2, 0, 0, 2, 2], value = 2.0> (x)", opset=9),
        id="opset 9, amounts as attributes",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Pad (a, q)",
            initializers=f"{pads('p', -1, 0, 0, -2)}, {pads('q', -2, -1, 0, 0)}",
        ),
        one("y = Pad (x, p)", initializers=pads("p", -3, -1, 0, -2)),
        id="two crops",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Pad (a, q)",
            initializers=f"{pads('p', 3, 0, 1, 2)}, {pads('q', -2, 0, 1, -2)}",
        ),
        one("y = Pad (x, p)", initializers=pads("p", 1, 0, 2, 0)),
        id="crops no more than was padded",
    ),
]


@pytest.mark.parametrize(("before", "after"), MERGED)
def test_merges(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    result = fixed(before)
    assert_graph(result.model, after)
    assert result.changes[0].code == "PAD203"
    assert all(c.certificate.assumptions == () for c in result.changes)
    assert not decided(onnxpad.check(result.model, ignore="PAD6").findings)


STAYS = [
    pytest.param(
        one(
            "a = Pad (x, p) y = Pad (a, q, c)",
            initializers=f"{FIRST}, {SECOND}, float c = {{-0.0}}",
        ),
        "fill-differs",
        id="0.0 and -0.0",
    ),
    pytest.param(
        one(
            "a = Pad <pads = [0, 0, 1, 2, 0, 0, 2, 1], value = -0.0> (x)"
            " y = Pad <pads = [0, 0, 3, 0, 0, 0, 0, 1], value = 0.0> (a)",
            opset=9,
        ),
        "fill-differs",
        id="0.0 and -0.0 as attributes",
    ),
    pytest.param(
        one(
            "a = Pad (x, p, c) y = Pad (a, q)",
            initializers=f"{FIRST}, {SECOND}, float c = {{1}}",
        ),
        "fill-differs",
        id="different values",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Pad (a, q) z = Relu (a)",
            outputs="float[] y, float[] z",
            initializers=f"{FIRST}, {SECOND}",
        ),
        "read-elsewhere",
        id="the first is read elsewhere",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Pad (a, q)",
            outputs="float[] y, float[] a",
            initializers=f"{FIRST}, {SECOND}",
        ),
        "read-elsewhere",
        id="the first is an output",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) b = Pad (a, q) d = Pad (a, q) y = Add (b, d)",
            initializers=f"{FIRST}, {SECOND}",
        ),
        "read-elsewhere",
        id="the first is shared by two",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Pad (a, q)",
            initializers=f"{pads('p', 0, 0, 0, -1)}, {pads('q', 0, 0, 0, 1)}",
        ),
        "crops",
        id="pads where data was cropped",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Pad (a, q)",
            inputs="float[1, 2, H, 8] x",
            initializers=f"{pads('p', -1, 0, 0, 0)}, {pads('q', -1, 0, 0, 0)}",
        ),
        "crops",
        id="crops an open size",
    ),
    pytest.param(
        one(
            "a = Pad (x, p) y = Pad (a, q)",
            inputs="float[1, 2, 9, 8] x, int64[8] q",
            initializers=FIRST,
        ),
        "amounts-unknown",
        id="amounts from an input",
    ),
]


@each_row(("before", "reason"), STAYS)
def test_stays(before: onnx.ModelProto, reason: str) -> None:
    result = onnxpad.fix(before)
    assert not result.changed
    assert reason in {f.reason_code for f in result.findings if f.code == "PAD203"}
    assert all(f.severity == "info" for f in result.findings)


def test_a_value_that_only_run_time_knows_is_one() -> None:
    before = one(
        "a = Pad (x, p, c) y = Pad (a, q, c)",
        inputs="float[1, 2, 9, 8] x, float c",
        initializers=f"{FIRST}, {SECOND}",
    )
    assert [change.code for change in fixed(before).changes] == ["PAD203"]


def test_a_crop_of_more_than_was_padded_is_a_crop() -> None:
    before = one(
        "a = Pad (x, p) y = Pad (a, q)",
        initializers=f"{pads('p', 1, 0, 0, 0)}, {pads('q', -2, 0, 0, 0)}",
    )
    result = fixed(before)
    assert [change.code for change in result.changes] == ["PAD203"]
    (amounts,) = result.model.graph.initializer
    assert numpy_helper.to_array(amounts).tolist() == [0, 0, -1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("modes", [("reflect", "constant"), ("constant", "edge")])
def test_copied_data_is_no_constant(modes: tuple[str, str]) -> None:
    first, second = modes
    before = one(
        f'a = Pad <mode = "{first}"> (x, p) y = Pad <mode = "{second}"> (a, q)',
        initializers=f"{pads('p', 1, 1, 1, 1)}, {pads('q', 1, 1, 1, 1)}",
    )
    result = onnxpad.fix(before)
    assert not result.changed
    assert not decided(result.findings)
    assert not onnxpad.check(before, select=MergePads.code).findings


def test_a_crop_past_the_data_stays() -> None:
    """3 elements, 2 in front, 4 off the end: one of the two survives, which no sum says."""
    before = one(
        "a = Pad (x, p) y = Pad (a, q)",
        inputs="float[3] x",
        initializers="int64[2] p = {2, 0}, int64[2] q = {0, -4}",
    )
    result = onnxpad.fix(before)
    assert not result.changed
    assert run(before, feeds_of(before))[0].shape == (1,)


@pytest.mark.parametrize(
    ("second", "amounts", "becomes"),
    [
        ("b = Pad (a, q)", pads("q", 1, 2, 0, 1), pads("p", 2, 4, 3, 5)),
        ("b = Pad (a, q, , t)", "int64[2] q = {1, 0}, int64[1] t = {-2}", pads("p", 2, 2, 3, 4)),
    ],
    ids=["all axes", "axes"],
)
def test_data_of_unknown_rank(second: str, amounts: str, becomes: str) -> None:
    inputs = "float[1, 2, 9, 8] x, int64[n] s"
    first = f"r = Reshape (x, s) a = Pad (r, p) {second} y = Neg (b)"
    held = f"{pads('p', 1, 2, 3, 4)}, {amounts}"
    result = onnxpad.fix(one(first, inputs=inputs, initializers=held, opset=18), validate=False)
    merged = "r = Reshape (x, s) b = Pad (r, p) y = Neg (b)"
    after = one(merged, inputs=inputs, initializers=becomes, opset=18)
    assert not result.undone
    assert_graph(result.model, after)
