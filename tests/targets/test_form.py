"""How a padding is written, as a runtime sees it."""

from typing import Any, Final

import pytest
from msgspec.structs import asdict, replace

from onnxpad.graph import Graph
from onnxpad.options import Options
from onnxpad.rewrite.run import Run
from onnxpad.targets.form import Form, forms_of
from tests.support.rows import each_row
from tests.support.texts import one

X: Final = "float[1, 2, 8, 7] x"
OPEN: Final = "float[n, 2, h, w] x"
W: Final = "float[2, 2, 3, 3] w = {" + ", ".join(["1"] * 36) + "}"
S2: Final = "strides = [2, 2]"
K3: Final = "kernel_shape = [3, 3]"
P: Final = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"
USUAL: Final = {"rank": 2, "dtype": "float32", "opset": 17}


def told(text: str, inputs: str = X, *weights: str) -> list[dict[str, Any]]:
    """The fields of each form in a graph that are not those of no padding at all."""
    model = one(text, inputs=inputs, outputs="float[] y", initializers=", ".join(weights or (W,)))
    placed = [each.form for each in forms_of(Run(Graph.read(model), Options()).analysed())]
    placed = [replace(e, amount=0, outer_amount=0) for e in placed if not e.pads_nothing]
    usual = asdict(Form("")) | USUAL
    return [
        {name: each for name, each in asdict(form).items() if each != usual[name]}
        for form in placed
    ]


@each_row(
    ("text", "inputs", "expected"),
    [
        (f"y = Conv <pads = [1, 1, 1, 1], {S2}> (x, w)", X, {"pads": "equal", "stride": 2}),
        ("y = Conv <pads = [0, 1, 1, 1]> (x, w)", X, {"pads": "end"}),
        ("y = Conv <pads = [1, 1, 0, 1]> (x, w)", X, {"pads": "begin"}),
        ("y = Conv <pads = [1, 0, 0, 1]> (x, w)", X, {"pads": "mixed"}),
        ("y = Conv <pads = [3, 3, 3, 3]> (x, w)", X,
         {"pads": "equal", "reaching": True, "wide": True}),
        (f'y = Conv <auto_pad = "SAME_UPPER", {S2}> (x, w)', X,
         {"auto_pad": "SAME_UPPER", "pads": "end", "stride": 2, "silent": True}),
        (f'y = Conv <auto_pad = "SAME_LOWER", {S2}, {K3}> (x, w)', X,
         {"auto_pad": "SAME_LOWER", "pads": "begin", "stride": 2, "silent": True,
         "kernel_shape": True}),
        (f'y = Conv <auto_pad = "SAME_UPPER", {S2}> (x, w)', OPEN,
         {"auto_pad": "SAME_UPPER", "pads": "open", "stride": 2, "silent": True, "sized": False,
         "batched": False, "batch": 0}),
        ('y = Conv <auto_pad = "SAME_UPPER"> (x, w)', OPEN,
         {"auto_pad": "SAME_UPPER", "pads": "equal", "silent": True, "sized": False,
         "batched": False, "batch": 0}),
        ('y = Conv <auto_pad = "VALID"> (x, w)', X, {"auto_pad": "VALID", "silent": True}),
        (f"y = MaxPool <ceil_mode = 1, {K3}, {S2}> (x)", X,
         {"op": "MaxPool", "ceil": "over", "kernel_shape": True, "stride": 2, "silent": True}),
        (("y = MaxPool <ceil_mode = 1, kernel_shape = [2, 2], pads = [0, 1, 0, 1], strides = "
         "[2, 3]> (x)"), "float[1, 2, 8, 5] x",
         {"op": "MaxPool", "ceil": "dropped", "kernel_shape": True, "pads": "equal", "stride": 3,
         "uneven": True, "narrow": True}),
        (f"y = AveragePool <count_include_pad = 1, {K3}, pads = [1, 1, 1, 1]> (x)", X,
         {"op": "AveragePool", "counted": True, "count_include_pad": True, "count_written": True,
         "kernel_shape": True, "pads": "equal"}),
        (("y = ConvTranspose <output_padding = [1, 1], pads = [1, 1, 0, 0], strides = [2, 2]>"
         " (x, w)"), X,
         {"op": "ConvTranspose", "output_padding": True, "pads": "begin", "stride": 2}),
        ("y = ConvTranspose <output_shape = [16, 14], strides = [2, 2]> (x, w)", X,
         {"op": "ConvTranspose", "output_shape": True, "pads": "begin", "silent": True,
         "stride": 2}),
    ],
)  # fmt: skip
def test_fields_of_operators(text: str, inputs: str, expected: dict[str, Any]) -> None:
    assert told(text, inputs) == [{"op": "Conv", **expected}]


@each_row(
    ("text", "pads", "expected"),
    [
        ("z = Pad (x, p)\ny = Conv (z, w)", P, {"outer": "equal", "fill": "absent"}),
        ('z = Pad (x, p, "")\ny = Conv (z, w)', P, {"outer": "equal", "fill": "empty"}),
        ("z = Pad (x, p)\ny = Conv (z, w)", "int64[8] p = {0, 1, 0, 0, 0, 0, 1, -1}",
         {"outer": "mixed", "negative": True, "beyond": True, "fill": "absent"}),
        ('z = Pad <mode = "reflect"> (x, p)\ny = Conv (z, w)', P,
         {"outer": "equal", "fill": "absent", "mode": "reflect"}),
        ('z = Pad <mode = "mirror"> (x, p, v)\ny = Conv (z, w)', f"{P}, float v = {{1}}",
         {"outer": "open", "fill": "open"}),
        (("p = Constant <value_ints = [0, 0, 0, 0, 0, 0, 1, 1]> ()\n"
         "z = Pad (x, p)\nr = Transpose <perm = [0, 1, 3, 2]> (z)\ny = Conv (r, w)"), "",
         {"pad": "constant-node", "outer": "end", "fill": "absent", "between": "Transpose"}),
    ],
)  # fmt: skip
def test_fields_of_a_pad(text: str, pads: str, expected: dict[str, Any]) -> None:
    found = told(text, X, *filter(None, (W, pads)))
    usual = {"op": "Conv", "silent": True, "pad": "constant", "mode": "constant"}
    assert [{**each, "raw": None} for each in found] == [{**usual, **expected, "raw": None}]


def test_a_pad_that_no_window_reads_is_a_form_of_its_own() -> None:
    (found,) = told("z = Pad (x, p, v)\ny = Relu (z)", X, P, "float v = {1}")
    assert (found["op"], found["rank"], found["fill"]) == ("Pad", 4, "other")


def test_operators_that_do_not_pad_have_no_form() -> None:
    assert not told(f"y = Conv <pads = [0, 0, 0, 0], dilations = [2, 2], {S2}> (x, w)")


def test_a_crop_belongs_to_the_transposed_convolution() -> None:
    text = "z = ConvTranspose <strides = [2, 2]> (x, w)\ny = Slice (z, s, e, a)"
    found = told(text, X, W, "int64[1] s = {1}, int64[1] e = {-1}, int64[1] a = {2}")
    assert [each["cropped"] for each in found] == [True]


def test_an_element_type_has_one_name_whatever_version_of_onnx_is_there() -> None:
    for typed, dtype in (("bfloat16", "bfloat16"), ("double", "float64"), ("string", "string")):
        (found,) = told("y = Pad (x, p)", f"{typed}[1, 2, 8, 7] x", P)
        assert found["dtype"] == dtype


@pytest.mark.parametrize(("attributes", "counted"), [("ceil_mode = 1, ", True), ("", False)])
def test_an_average_that_rounds_up_may_count_what_is_past_the_end(
    attributes: str, counted: bool
) -> None:
    text = f"y = AveragePool <{attributes}count_include_pad = 1, {K3}, {S2}> (x)"
    (found,) = told(text) or [{}]
    assert found.get("counted", False) is counted
