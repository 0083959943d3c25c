"""How much a transposed convolution crops, with what is downstream of it, and in which form."""

from pathlib import Path
from typing import Any, Final

import pytest

import onnxpad
from tests.support import one
from tests.support.rows import each_row, rows_below

ROWS: Final = Path(__file__).with_name("rows.txt")
GIVEN: Final = f"""
    float[2, 3, 3, 3] w = {{{", ".join(["1"] * 54)}}}, float[3] b = {{1, 2, 3}},
    float[3] two = {{2, 2, 2}}, float c = {{2}},
    int64[8] less = {{0, 0, 0, 0, 0, 0, -1, -1}}, int64[8] more = {{0, 0, 0, 0, 0, 0, 1, 1}},
    int64[2] zero = {{0, 0}}, int64[2] s = {{1, 1}}, int64[2] e = {{8, -1}}, int64[2] ax = {{2, 3}},
    int64[2] far = {{2, 7}}, int64[2] last = {{9223372036854775807, 9223372036854775807}}
"""
UP: Final = "t = ConvTranspose <strides = [2, 2]> (x, w)"


def site(body: str, outputs: str = "float[] y", height: str = "4", opset: int = 17) -> Any:
    inputs, ir = f"float[1, 2, {height}, 4] x", 9 if opset > 9 else 5
    model = one(body, inputs=inputs, outputs=outputs, initializers=GIVEN, opset=opset, ir=ir)
    return onnxpad.show(model).sites[0]


BIASED: Final = UP.replace("w)", "w, two)")


@each_row(
    ("body", "written", "amounts"),
    [
        *((f"{UP} {body}", *told) for body, *told in rows_below(ROWS, "what is taken")),
        (f"{BIASED} y = Pad (t, more, c)", "Pad downstream", "H 0+-1, W 0+-1"),  # with the bias
    ],
    at_once=4,
)
def test_what_is_taken(body: str, written: str, amounts: str) -> None:
    found = site(body)
    assert (found.written, found.own_pads) == (written, (0, 0, 0, 0))
    assert found.amounts == amounts
    assert {(each.code, each.fixable) for each in found.findings} == {("PAD402", True)}


@each_row(
    ("body", "further", "amounts", "code"),
    [
        *((f"{UP} {body}", *told) for body, *told in rows_below(ROWS, "not all is taken")),
        (f"{BIASED.replace('two', 'b')} y = Pad (t, more)", "", "none", "crops"),
    ],
    at_once=6,
)
def test_what_stays_downstream(body: str, further: str, amounts: str, code: str) -> None:
    found = site(body, f"float[] y{further}")
    left = [(each.code, each.reason_code) for each in found.findings if not each.fixable]
    assert (found.amounts, left) == (amounts, [("PAD402", code)] if code != "nothing" else [])


def test_bounds_as_attributes() -> None:
    body = f"{UP} y = Slice <starts = [1, 1], ends = [-1, 100], axes = [2, 3]> (t)"
    assert site(body, opset=9).amounts == "H 1+1, W 1+0"


@pytest.mark.parametrize("further", ["", " z = Relu (y)"])
def test_the_operator_that_takes_a_crop_has_its_name(further: str) -> None:
    body = f"[up] {UP} y = Slice (t, s, e, ax){further}"
    outputs = "float[] y, float[] z" if further else "float[] y"
    model = one(body, inputs="float[1, 2, 4, 4] x", outputs=outputs, initializers=GIVEN)
    nodes = onnxpad.fix(model, validate=False).model.graph.node
    assert [node.name for node in nodes if node.op_type == "ConvTranspose"] == ["up"]


@each_row(("attributes", "height", "amounts", "code"), rows_below(ROWS, "its own crop"), at_once=6)
def test_its_own_crop(attributes: str, height: str, amounts: str, code: str) -> None:
    found = site(f"y = ConvTranspose <{attributes}> (x, w)", height=height)
    assert found.amounts == amounts
    if code == "known":
        assert found.own_pads == found.pads
    else:
        assert [(each.code, each.reason_code) for each in found.findings] == [("PAD401", code)]


@each_row(
    ("attributes", "after"),
    rows_below(ROWS, "with equal pads at both ends"),
)
def test_pads_that_are_equal_at_both_ends(attributes: str, after: str) -> None:
    body = f"y = ConvTranspose <{attributes}> (x, w)"
    model = one(body, inputs="float[1, 2, 4, 4] x", initializers=GIVEN)
    found = onnxpad.check(model, symmetric_transpose=True).findings
    told = [each.message for each in found if each.code == "PAD404"]
    assert [after in each for each in told] == [True] * (after != "nothing")
