"""Images padded to a square, or cropped to one: amounts of the greatest or the least of two sizes.

Exporters write the half of what is lacking in several ways.
"""

from itertools import product

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import fixed, one, run

WEIGHT = "float[2, 2, 3, 3] w = {" + ", ".join(str(i * 7 % 11 - 5) for i in range(36)) + "}"
CONSTANTS = (
    f"{WEIGHT}, int64[1] i2 = {{2}}, int64[1] i3 = {{3}}, int64[1] two = {{2}},"
    " int64[1] zero = {0}, int64[1] one = {1}, int64[2] none = {0, 0}, float[1] half = {0.5}"
)

# Half of what is lacking, by `lacking` and `begin`.
DIV = "{begin} = Div ({lacking}, two)"
# torch.onnx.export(dynamo=True), for `//`.
DYNAMO = """
    {lacking}_sign = Sign ({lacking}) {lacking}_two = Sign (two)
    {lacking}_like = Equal ({lacking}_sign, {lacking}_two) {lacking}_un = Not ({lacking}_like)
    {lacking}_mod = Mod ({lacking}, two) {lacking}_odd = Cast <to = 9> ({lacking}_mod)
    {lacking}_off = And ({lacking}_un, {lacking}_odd) {lacking}_less = Cast <to = 7> ({lacking}_off)
    {lacking}_half = Div ({lacking}, two) {begin} = Sub ({lacking}_half, {lacking}_less)
"""
# torch.onnx.export(dynamo=False), for `//`.
TORCHSCRIPT = """
    {lacking}_half = Div ({lacking}, two) {lacking}_below = Less ({lacking}, zero)
    {lacking}_two = Less (two, zero) {lacking}_unlike = Xor ({lacking}_below, {lacking}_two)
    {lacking}_back = Mul ({lacking}_half, two) {lacking}_rest = Sub ({lacking}, {lacking}_back)
    {lacking}_even = Equal ({lacking}_rest, zero) {lacking}_odd = Not ({lacking}_even)
    {lacking}_fix = And ({lacking}_unlike, {lacking}_odd) {lacking}_less = Sub ({lacking}_half, one)
    {begin} = Where ({lacking}_fix, {lacking}_less, {lacking}_half)
"""
# tf2onnx, for `//`.
TF2ONNX = """
    {lacking}_half = Div ({lacking}, two) {lacking}_back = Mul ({lacking}_half, two)
    {lacking}_as = Equal ({lacking}_back, {lacking}) {lacking}_un = Not ({lacking}_as)
    {lacking}_below = Less ({lacking}, zero) {lacking}_and = And ({lacking}_un, {lacking}_below)
    {lacking}_less = Cast <to = 7> ({lacking}_and) {begin} = Sub ({lacking}_half, {lacking}_less)
"""
HALVES = [
    pytest.param(DIV, id="Div"),
    pytest.param(DYNAMO, id="dynamo"),
    pytest.param(TORCHSCRIPT, id="TorchScript"),
    pytest.param(TF2ONNX, id="tf2onnx"),
]

LARGER = "m = Max (h, v)"
REDUCED = "both = Concat <axis = 0> (h, v) m = ReduceMax <keepdims = 1> (both)"
SIZES = "the sizes 'height' (axis 2 of input 'x') and 'width' (axis 3 of input 'x')"
SQUARE = f"the greatest of {SIZES}"


def letterbox(half: str, then: str, greatest: str = LARGER, lacking: str = "Sub (m, {})") -> str:
    return f"""
        s = Shape (x) h = Gather (s, i2) v = Gather (s, i3) {greatest}
        high = {lacking.format("h")} wide = {lacking.format("v")}
        {half.format(lacking="high", begin="top")} bottom = Sub (high, top)
        {half.format(lacking="wide", begin="left")} right = Sub (wide, left)
        pads = Concat <axis = 0> (none, top, left, none, bottom, right)
        a = Pad (x, pads) {then}
    """


def of(body: str, inputs: str = "float[1, 2, height, width] x") -> onnx.ModelProto:
    return one(body, inputs=inputs, initializers=CONSTANTS)


def compare(before: onnx.ModelProto, after: onnx.ModelProto, sizes: tuple[int, ...]) -> None:
    for height, width in product(sizes, repeat=2):
        data = np.random.default_rng(height).integers(-4, 5, (1, 2, height, width))
        feeds = {"x": data.astype(np.float32)}
        np.testing.assert_array_equal(run(before, feeds)[0], run(after, feeds)[0])


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("greatest", [LARGER, REDUCED])
def test_the_pad_names_the_greatest_size(half: str, greatest: str) -> None:
    model = of(letterbox(half, "y = Conv (a, w)", greatest))
    (finding,) = onnxpad.check(model, ignore="PAD6").findings
    assert (finding.code, finding.reason_code) == ("PAD205", "size-dependent")
    assert finding.evidence["sizes"] == [
        {"name": "height", "input": "x", "axis": 2},
        {"name": "width", "input": "x", "axis": 3},
    ]


@pytest.mark.parametrize("half", HALVES)
def test_a_stride_of_one_needs_no_size(half: str) -> None:
    model = of(letterbox(half, 'y = Conv <auto_pad = "SAME_UPPER"> (a, w)'))
    result = fixed(model)
    assert [(change.code, change.certificate.sizes) for change in result.changes] == [
        ("PAD101", "every size")
    ]
    compare(model, result.model, (3, 4, 6))


def test_a_pad_downstream_is_folded() -> None:
    model = of(
        letterbox(DIV, "r = Pad (a, k) c = Conv <strides = [2, 2]> (r, w) y = Relu (c)").replace(
            "s = Shape", "k = Constant <value_ints = [0, 0, 1, 1, 0, 0, 2, 1]> () s = Shape"
        )
    )
    result = fixed(model)
    assert [change.after for change in result.changes] == [
        "Pad (computed) -> Conv H 1+2, W 1+1, pads [1, 1, 2, 1]"
    ]
    compare(model, result.model, (3, 4, 6))


def test_a_stride_depends_on_the_greatest_size() -> None:
    model = of(letterbox(DIV, 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)'))
    result = onnxpad.fix(model)
    assert not result.changed
    (found, _) = result.findings
    assert found.code == "PAD101"
    written = onnxpad.fix(model, dynamic="pad")
    assert [change.code for change in written.changes] == ["PAD101"]
    compare(model, written.model, (3, 4, 5))
    again = onnxpad.fix(written.model, dynamic="auto-pad")
    assert [change.code for change in again.changes] == ["PAD501"]
    compare(model, again.model, (3, 4, 5))


def test_a_square_of_multiples_is_a_multiple() -> None:
    model = of(letterbox(DIV, 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)'))
    dims = {"height": "2..64:2", "width": "2..90:2"}
    result = onnxpad.fix(model, dims=dims)
    assert [change.after for change in result.changes] == [
        "Pad (computed) -> Conv H 0+1, W 0+1, pads [0, 0, 1, 1]"
    ]
    compare(model, result.model, (2, 4, 10))


def test_pinned_sizes_leave_numbers() -> None:
    model = of(letterbox(DYNAMO, 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)'))
    result = onnxpad.fix(model, dims={"height": 5, "width": 8})
    (conv,) = result.model.graph.node
    pads = [list(a.ints) for a in conv.attribute if a.name == "pads"]
    assert pads == [[1, 0, 3, 1]]
    # One of both: the Pad depends on the other.
    half = onnxpad.fix(model, dims={"height": 5})
    (pad,) = [each for each in half.findings if each.code == "PAD205"]
    assert "'width'" in pad.reason


def test_the_greatest_size_in_both_directions() -> None:
    """Only one axis is padded: by max(width - height, 0), or the other way round."""
    lacking = "Max (zero, {})"
    model = of(
        f"s = Shape (x) h = Gather (s, i2) v = Gather (s, i3) d = Sub (v, h) e = Neg (d)"
        f" below = {lacking.format('d')} right = {lacking.format('e')}"
        " pads = Concat <axis = 0> (none, none, none, below, right) a = Pad (x, pads)"
        ' y = Conv <auto_pad = "SAME_UPPER"> (a, w)'
    )
    result = fixed(model)
    (finding,) = result.findings
    assert f"depend on {SQUARE}: on axis 2 the begin is 0, and the end is" in finding.reason
    compare(model, result.model, (3, 4, 6))


def test_the_least_of_two_sizes() -> None:
    """A crop to the square inside."""
    model = of(letterbox(DIV, 'y = Conv <auto_pad = "SAME_UPPER"> (a, w)', "m = Min (h, v)"))
    result = fixed(model)
    assert [change.code for change in result.changes] == ["PAD101"]
    (finding,) = result.findings
    assert "'height'" in finding.reason
    compare(model, result.model, (3, 4, 6))


def test_the_greatest_of_three_sizes() -> None:
    model = of(
        "s = Shape (x) h = Gather (s, i2) v = Gather (s, i3) d = Gather (s, zero) n = Max (h, v, d)"
        " m = Sub (n, h) l = Sub (n, v) pads = Concat <axis = 0> (none, m, l, none, none)"
        ' a = Pad (x, pads) y = Conv <auto_pad = "SAME_LOWER"> (a, w)',
        inputs="float[deep, 2, height, width] x",
    )
    result = fixed(model)
    (finding,) = result.findings
    assert "'deep'" in finding.reason
    assert "max(deep, max(height, width)) - height" in finding.reason
