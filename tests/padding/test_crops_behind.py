"""How much a transposed convolution crops, with what is downstream of it, as `show` says."""

from typing import Any, Final

import pytest

import onnxpad
from tests.support import one
from tests.support.rows import each_row

GIVEN: Final = f"""
    float[2, 3, 3, 3] w = {{{", ".join(["1"] * 54)}}}, float[3] b = {{1, 2, 3}},
    float[3] two = {{2, 2, 2}}, float c = {{2}},
    int64[8] less = {{0, 0, 0, 0, 0, 0, -1, -1}}, int64[8] more = {{0, 0, 0, 0, 0, 0, 1, 1}},
    int64[2] zero = {{0, 0}}, int64[2] s = {{1, 1}}, int64[2] e = {{8, -1}}, int64[2] ax = {{2, 3}},
    int64[2] far = {{2, 7}}, int64[2] last = {{9223372036854775807, 9223372036854775807}}
"""
UP: Final = "t = ConvTranspose <strides = [2, 2]> (x, w)"


def sites(
    body: str, inputs: str = "float[1, 2, 4, 4] x", outputs: str = "float[] y", opset: int = 17
) -> tuple[Any, ...]:
    model = one(body, inputs=inputs, outputs=outputs, initializers=GIVEN, opset=opset)
    return onnxpad.show(model).sites


@each_row(
    ("body", "written", "amounts"),
    [
        pytest.param(f"{UP} y = Slice (t, s, e, ax)", "Slice", "H 1+1, W 1+1", id="a Slice"),
        pytest.param(f"{UP} y = Pad (t, less)", "Pad", "H 0+1, W 0+1", id="a negative Pad"),
        pytest.param(f"{UP} y = Pad (t, more)", "Pad", "H 0+-1, W 0+-1", id="a Pad"),
        pytest.param(
            f"{UP} r = Relu (t) y = Slice (r, s, e, ax)", "Slice", "H 1+1, W 1+1", id="a step"
        ),
        pytest.param(
            f"{UP} q = Slice (t, s, e, ax) y = Slice (q, s, last, ax)", "Slice", "H 2+1, W 2+1",
            id="two Slices",
        ),
        pytest.param(
            f"{UP} q = Pad (t, more) y = Slice (q, s, last, ax)", "Pad downstream + Slice",
            "H 1+-1, W 1+-1", id="a Pad and a Slice",
        ),
        pytest.param(f"{UP} y = Slice (t, zero, last, ax)", "Slice", "none", id="an idle Slice"),
        pytest.param(
            "t = ConvTranspose <strides = [2, 2]> (x, w, two) y = Pad (t, more, c)", "Pad",
            "H 0+-1, W 0+-1", id="a Pad with the bias",
        ),
    ], at_once=4)  # fmt: skip
def test_what_is_taken(body: str, written: str, amounts: str) -> None:
    (site,) = sites(body)
    assert (site.written, site.own_pads) == (f"{written} downstream", (0, 0, 0, 0))
    assert site.amounts == amounts
    assert [finding.code for finding in site.findings if not finding.fixable] == []
    assert {finding.code for finding in site.findings} == {"PAD402"}


def test_bounds_as_attributes() -> None:
    model = one(
        f"{UP} y = Slice <starts = [1, 1], ends = [-1, 100], axes = [2, 3]> (t)",
        inputs="float[1, 2, 4, 4] x", initializers=GIVEN, opset=9, ir=5,
    )  # fmt: skip
    assert onnxpad.show(model).sites[0].amounts == "H 1+1, W 1+0"


@each_row(
    ("body", "further", "amounts", "code"),
    [
        (f"{UP} q = Slice (t, s, e, ax) y = Pad (q, more)", "", "H 1+1, W 1+1", "crops"),
        (f"{UP} y = Slice (t, s, e, ax) z = Relu (t)", ", float[] z", "none", "read-elsewhere"),
        (f"{UP} y = Slice (t, s, e, ax) z = Shape (t)", ", int64[] z", "none", "read-elsewhere"),
        (f"{UP} m = ReduceMax <keepdims = 0> (x) y = Pad (t, more, m)", "", "none", "fill-differs"),
        (f"{UP} y = Pad (t, more, c)", "", "none", "fill-differs"),
        (
            "t = ConvTranspose <strides = [2, 2]> (x, w, b) y = Pad (t, more)", "", "none",
            "crops",
        ),
        (f"{UP} y = Slice (t, last, last, ax)", "", "none", "may-be-empty"),
        (f"{UP} y = Slice (t, s, e, ax, ax)", "", "none", "may-be-empty"),
        (f"{UP} q = Pad (t, more) y = Pad (q, more)", "", "H 0+-1, W 0+-1", "crops"),
    ], at_once=8)  # fmt: skip
def test_what_stays_downstream(body: str, further: str, amounts: str, code: str) -> None:
    site = sites(body, outputs=f"float[] y{further}")[0]
    assert site.amounts == amounts
    (left,) = (finding for finding in site.findings if not finding.fixable)
    assert (left.code, left.reason_code) == ("PAD402", code)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"{UP} r = Sigmoid (t) y = Pad (r, more)", id="a step that a Pad changes"),
        pytest.param(f'{UP} y = Pad <mode = "edge"> (t, more)', id="a Pad that copies"),
    ],
)
def test_what_is_no_crop(body: str) -> None:
    site = sites(body)[0]
    assert (site.written, site.amounts, site.findings) == ("", "none", ())


@pytest.mark.parametrize("further", ["", " z = Relu (y)"])
def test_the_operator_that_takes_a_crop_has_its_name(further: str) -> None:
    body = f"[up] {UP} y = Slice (t, s, e, ax){further}"
    outputs = "float[] y, float[] z" if further else "float[] y"
    model = one(body, inputs="float[1, 2, 4, 4] x", outputs=outputs, initializers=GIVEN)
    nodes = onnxpad.fix(model, validate=False).model.graph.node
    assert [node.name for node in nodes if node.op_type == "ConvTranspose"] == ["up"]


@each_row(
    ("attributes", "inputs", "amounts"),
    [
        ("pads = [0, 0, 1, 1]", "4", "H 0+1, W 0+1"),
        ("pads = [1, 1, 1, 1], output_padding = [1, 0]", "4", "H 1+0, W 1+1"),
        ('auto_pad = "SAME_UPPER"', "h", "H 0+1, W 0+1"),
        ('auto_pad = "SAME_LOWER"', "h", "H 1+0, W 1+0"),
        ("output_shape = [8, 8]", "4", "H 1+0, W 1+0"),
        ('auto_pad = "SAME_UPPER", output_shape = [8, 8]', "4", "H 0+1, W 0+1"),
        ("output_shape = [9, 9]", "4", "none"),
    ], at_once=8)  # fmt: skip
def test_its_own_crop(attributes: str, inputs: str, amounts: str) -> None:
    body = f"y = ConvTranspose <strides = [2, 2], {attributes}> (x, w)"
    (site,) = sites(body, f"float[1, 2, {inputs}, 4] x")
    assert (site.own_pads, site.amounts) == (site.pads, amounts)


@pytest.mark.parametrize(
    ("attributes", "inputs", "code"),
    [
        (
            'strides = [2, 2], auto_pad = "SAME_UPPER", pads = [0, 0, 1, 1]', "4",
            "auto-pad-and-pads",
        ),
        (
            'strides = [5, 5], auto_pad = "SAME_UPPER"', "4", "engines-disagree",
        ),
        (
            "strides = [2, 2], output_shape = [12, 9]", "4", "crops",
        ),
        (
            "strides = [2, 2], output_shape = [10, 9]", "4", "engines-disagree",
        ),
        (
            "strides = [2, 2], output_shape = [8, 8]", "h", "size-dependent",
        ),
    ],
)  # fmt: skip
def test_a_crop_that_is_not_known(attributes: str, inputs: str, code: str) -> None:
    (site,) = sites(f"y = ConvTranspose <{attributes}> (x, w)", f"float[1, 2, {inputs}, 4] x")
    (finding,) = site.findings
    assert (finding.code, finding.reason_code, site.amounts) == ("PAD401", code, "H ?+?, W ?+?")


@pytest.mark.parametrize(
    ("attributes", "after"),
    [
        ("strides = [2, 2], pads = [0, 0, 1, 1]", "pads [0, 0, 0, 0] and a Slice of H 0+1, W 0+1"),
        (
            "strides = [2, 2], pads = [1, 1, 0, 0]",
            "H 1+1, W 1+1, pads [1, 1, 1, 1], output_padding [1, 1]",
        ),
        ("strides = [2, 2], pads = [3, 3, 0, 0]", "pads [0, 0, 0, 0] and a Slice of H 3+0, W 3+0"),
        ("pads = [2, 2, 1, 1]", "pads [1, 1, 1, 1] and a Slice of H 1+0, W 1+0"),
        ("strides = [2, 2], pads = [1, 1, 1, 1]", ""),
    ],
)
def test_pads_that_are_equal_at_both_ends(attributes: str, after: str) -> None:
    body = f"y = ConvTranspose <{attributes}> (x, w)"
    model = one(body, inputs="float[1, 2, 4, 4] x", initializers=GIVEN)
    found = onnxpad.check(model, symmetric_transpose=True).findings
    told = [each.message for each in found if each.code == "PAD404"]
    assert len(told) == bool(after)
    assert all(after in each for each in told), told
