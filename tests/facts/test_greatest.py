"""Images padded to a square: amounts of the greatest of two sizes are known where both are.

Exporters write the half of what is lacking in several ways.
"""

import onnx
import pytest

import onnxpad
from tests.support import one

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


def letterbox(half: str) -> onnx.ModelProto:
    body = f"""
        s = Shape (x) h = Gather (s, i2) v = Gather (s, i3) m = Max (h, v)
        high = Sub (m, h) wide = Sub (m, v)
        {half.format(lacking="high", begin="top")} bottom = Sub (high, top)
        {half.format(lacking="wide", begin="left")} right = Sub (wide, left)
        pads = Concat <axis = 0> (none, top, left, none, bottom, right)
        a = Pad (x, pads) y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)
    """
    return one(body, inputs="float[1, 2, height, width] x", initializers=CONSTANTS)


@pytest.mark.parametrize("half", HALVES)
def test_the_greatest_of_two_open_sizes_is_not_worked_out(half: str) -> None:
    found = onnxpad.check(letterbox(half), ignore="PAD6").findings
    (pad,) = [finding for finding in found if finding.code == "PAD205"]
    assert pad.reason_code == "not-worked-out"


@pytest.mark.parametrize("half", HALVES)
def test_given_sizes_leave_numbers(half: str) -> None:
    result = onnxpad.fix(letterbox(half), dims={"height": 5, "width": 8})
    (conv,) = result.model.graph.node
    assert [list(a.ints) for a in conv.attribute if a.name == "pads"] == [[1, 0, 3, 1]]
