"""Operators that cannot take over a `Pad` are named, with the reason in plain words."""

import onnx

import onnxpad
from onnxpad.semantics.no_padding import _ROWS
from tests.support import one
from tests.support.rows import each_row

PADS = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"
PLANE = "int64[4] p = {0, 1, 0, 1}"
TAPS = "float[3, 2, 3, 3] w = {" + ", ".join("1" for _ in range(54)) + "}"
IMAGE = "float[1, 2, 8, 8] x"
READERS = [
    ("MaxUnpool", "y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (a, i)",
     f"{IMAGE}, int64[1, 2, 10, 10] i", PADS, "its pads crop its result"),
    ("MaxUnpool of Indices", "y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (i, a)",
     "int64[1, 2, 8, 8] x, float[1, 2, 10, 10] i", PADS, "its pads crop its result"),
    ("Col2Im", "y = Col2Im (a, s, b)", "float[1, 4, 9] x",
     "int64[6] p = {0, 0, 0, 0, 0, 7}, int64[2] s = {5, 5}, int64[2] b = {2, 2}",
     "its pads crop the image"),
    ("RoiAlign", "y = RoiAlign (a, r, b)", f"{IMAGE}, float[3, 4] r, int64[3] b", PADS,
     "coordinates of the padded data"),
    ("Resize", "y = Resize (a, , s)", IMAGE, f"{PADS}, float[4] s = {{1, 1, 2, 2}}",
     "scales the padding"),
    ("GridSample", "y = GridSample (a, g)", f"{IMAGE}, float[1, 4, 4, 2] g", PADS,
     "samples at coordinates"),
    ("LSTM", "y = LSTM <hidden_size = 2> (a, w, r)",
     "float[4, 1, 3] x, float[1, 8, 3] w, float[1, 8, 2] r",
     "int64[6] p = {1, 0, 0, 0, 0, 0}", "steps or features of a sequence"),
    ("GRU", "y = GRU <hidden_size = 2> (a, w, r)",
     "float[4, 1, 3] x, float[1, 6, 3] w, float[1, 6, 2] r",
     "int64[6] p = {1, 0, 0, 0, 0, 0}", "steps or features of a sequence"),
    ("Gemm", "y = Gemm (a, w)", "float[4, 3] x, float[5, 2] w", PLANE, "rows and columns"),
    ("Gemm, by the second input", "y = Gemm (w, a)", "float[4, 3] x, float[2, 4] w", PLANE,
     "rows and columns"),
    ("MatMul", "y = MatMul (a, w)", "float[4, 3] x, float[5, 2] w", PLANE, "rows and columns"),
    ("sequence", "s = SequenceConstruct (a, x) y = ConcatFromSequence <axis = 1> (s)", IMAGE, PADS,
     "the sequence that it makes"),
    ("optional", "s = Optional (a) y = OptionalGetElement (s)", IMAGE, PADS, "the optional value"),
    ("ReduceMean", "y = ReduceMean (a)", IMAGE, PADS, "reduces all elements"),
    ("Softmax", "y = Softmax (a)", IMAGE, PADS, "sums over the padding too"),
]  # fmt: skip


def stays(model: onnx.ModelProto) -> onnxpad.Finding:
    """The finding about a `Pad` that stays, on which `fix` and a check agree."""
    result = onnxpad.fix(model, validate=False)
    assert not result.changed
    (finding,) = result.findings
    assert onnxpad.check(model, ignore="PAD6").findings == result.findings
    assert finding.code == "PAD206"
    return finding


@each_row(("reader", "given", "constants", "why"), [each[1:] for each in READERS], at_once=4)
def test_the_reason_is_said(reader: str, given: str, constants: str, why: str) -> None:
    model = one(f"a = Pad (x, p) {reader}", inputs=given, initializers=constants, opset=19)
    finding = stays(model)
    assert finding.reason_code == "takes-no-padding"
    name = reader.partition("= ")[2].partition(" ")[0]
    assert finding.reason.startswith(f"{name} '<")
    assert f"reads it: {why}" in finding.reason or why in finding.reason


def test_a_deformable_convolution_is_not_covered() -> None:
    model = one("a = Pad (x, p) y = DeformConv (a, w, o)", inputs=f"{IMAGE}, float[1, 18, 8, 8] o",
                initializers=f"{PADS}, {TAPS}", opset=19)  # fmt: skip
    finding = stays(model)
    assert finding.reason_code == "operator-not-covered"


def test_a_transposed_convolution_would_crop() -> None:
    model = one("a = Pad (x, p) y = ConvTranspose (a, w)", inputs=IMAGE,
                initializers=f"{PADS}, {TAPS}", opset=19)  # fmt: skip
    assert "'<y>'" in stays(model).reason


def test_steps_on_the_way() -> None:
    model = one("a = Pad (x, p) f = Flatten (a) y = Gemm (f, w)",
                inputs=f"{IMAGE}, float[200, 3] w", initializers=PADS)  # fmt: skip
    finding = stays(model)
    assert finding.reason_code == "takes-no-padding"
    assert "'<f>'" in finding.reason
    model = one("a = Pad (x, p) r = Resize (a, , s) y = Conv (r, w)", inputs=IMAGE,
                initializers=f"{PADS}, {TAPS}, float[4] s = {{1, 1, 2, 2}}")  # fmt: skip
    finding = stays(model)
    assert finding.reason_code == "takes-no-padding"
    assert "'<r>'" in finding.reason


def test_of_another_domain_it_is_another_operator() -> None:
    model = one("a = Pad (x, p) y = custom.Gemm (a)", inputs=IMAGE, initializers=PADS)
    model.opset_import.append(onnx.helper.make_opsetid("custom", 1))
    assert stays(model).reason_code == "no-window"


def test_every_name_is_an_operator() -> None:
    for row in _ROWS:
        for name in row.names.split():
            domain, _, op = name.rpartition(".")
            assert domain or onnx.defs.has(op), name
