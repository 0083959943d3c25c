"""Amounts that pad to a multiple: the fewest nodes that compute them, equal at every size."""

from itertools import product

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import EXPORTED, fixed, one, run, session
from tests.support.rows import one_in

CONSTANTS = (
    "int64[1] i2 = {2}, int64[1] i3 = {3}, int64[1] one = {1}, int64[1] two = {2},"
    " int64[1] zero = {0}, int64[2] none = {0, 0}, int64[1] m = {8}, int64[1] less = {7},"
    " int64[1] three = {3}, float[1] r = {8}"
)

# The amount of one axis: {0} is its size, and {1} the amount.
MINUS = "{0}_a = Neg ({0}) {1} = Mod ({0}_a, m)"
ROUNDED_UP = """
    {0}_a = Add ({0}, less) {0}_b = Div ({0}_a, m) {0}_c = Mul ({0}_b, m) {1} = Sub ({0}_c, {0})
"""
IN_FLOATS = """
    {0}_a = Cast <to = 1> ({0}) {0}_b = Div ({0}_a, r) {0}_c = Ceil ({0}_b) {0}_d = Mul ({0}_c, r)
    {0}_e = Cast <to = 7> ({0}_d) {1} = Sub ({0}_e, {0})
"""
TWICE = "{0}_a = Mod ({0}, m) {0}_b = Sub (m, {0}_a) {1} = Mod ({0}_b, m)"
WHERE = """
    {0}_a = Mod ({0}, m) {0}_b = Equal ({0}_a, zero) {0}_c = Sub (m, {0}_a)
    {1} = Where ({0}_b, zero, {0}_c)
"""
# This one pads by m where n is a multiple: the remainder of n - 1, and one more.
NEVER_ZERO = """
    {0}_a = Mod ({0}, m) {0}_b = Sub (m, {0}_a) {0}_c = Identity ({0}_b) {1} = Identity ({0}_c)
"""
AMOUNTS = [
    pytest.param(MINUS, 4, id="-n % m"),
    pytest.param(ROUNDED_UP, 4, id="(n + m - 1) // m * m - n"),
    pytest.param(IN_FLOATS, 4, id="ceil(n / m) * m - n, in floats"),
    pytest.param(TWICE, 4, id="(m - n % m) % m"),
    pytest.param(WHERE, 4, id="0 if n % m == 0 else m - n % m"),
    pytest.param(NEVER_ZERO, 5, id="m - n % m"),
]


def padded(amount: str, pads: str, *, opset: int = 17, mode: str = "constant") -> onnx.ModelProto:
    return one(
        f"s = Shape (x) h = Gather (s, i2) v = Gather (s, i3) {amount.format('h', 'high')}"
        f" {amount.format('v', 'wide')} {pads} y = Pad <mode = '{mode}'> (x, p)".replace("'", '"'),
        inputs="float[1, 1, height, width] x",
        initializers=CONSTANTS,
        opset=opset,
    )


END = "p = Concat <axis = 0> (none, none, none, high, wide)"
BEGIN = "p = Concat <axis = 0> (none, high, wide, none, none)"
HALVES = """
    top = Div (high, two) low = Sub (high, top) left = Div (wide, two) right = Sub (wide, left)
    p = Concat <axis = 0> (none, top, left, none, low, right)
"""
HEAVY = HALVES.replace("(none, top, left, none, low, right)", "(none, low, right, none, top, left)")


def computing(model: onnx.ModelProto) -> int:
    return sum(node.op_type not in {"Constant", "Pad"} for node in model.graph.node)


def compare(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    old, new = session(before), session(after)
    for height, width in product((1, 2, 7, 8, 9, 16, 17), (8, 11)):
        data = np.arange(height * width, dtype=np.float32).reshape(1, 1, height, width)
        np.testing.assert_array_equal(run(old, {"x": data})[0], run(new, {"x": data})[0])


@pytest.mark.parametrize(("amount", "least"), AMOUNTS)
@pytest.mark.parametrize(
    ("pads", "more"),
    [
        pytest.param(END, 0, id="end"),
        pytest.param(BEGIN, 0, id="begin"),
        pytest.param(HALVES, 2, id="halves"),
        pytest.param(HEAVY, 2, id="halves, odd at begin"),
    ],
)
def test_the_fewest_nodes_compute_it(amount: str, least: int, pads: str, more: int) -> None:
    model = padded(amount, pads)
    result = fixed(model, dynamic="pad")
    (change,) = result.changes
    assert (change.code, change.certificate.sizes) == ("PAD502", "every size")
    assert computing(result.model) == least + more
    compare(model, result.model)
    assert not onnxpad.check(result.model, dynamic="pad").failing()


@pytest.mark.parametrize("opset", [11, 14])
def test_an_older_opset_slices_the_shape(opset: int) -> None:
    model = padded(ROUNDED_UP, END, opset=opset)
    result = fixed(model, dynamic="pad")
    assert computing(result.model) == 5
    compare(model, result.model)


def test_nothing_changes_unless_asked_for() -> None:
    model = padded(ROUNDED_UP, END)
    assert not onnxpad.fix(model).changed
    assert not onnxpad.fix(model, dynamic="auto-pad").changed


def test_a_constant_part_stays() -> None:
    """One axis is padded by a number, and both begins are numbers."""
    model = padded(
        ROUNDED_UP,
        "p = Concat <axis = 0> (zero, one, two, one, zero, three, high, two)",
    )
    result = fixed(model, dynamic="pad")
    assert [change.code for change in result.changes] == ["PAD502"]
    compare(model, result.model)


@pytest.mark.parametrize(
    "pads",
    [
        pytest.param("q = Max (high, three) p = Concat <axis = 0> (none, none, none, q, wide)"),
        pytest.param("p = Concat <axis = 0> (none, none, none, wide, high)"),
        pytest.param("p = Concat <axis = 0> (none, high, zero, none, zero, wide)"),
        pytest.param("q = Mul (high, two) p = Concat <axis = 0> (none, none, none, q, wide)"),
    ],
    ids=["at least 3", "of another axis", "on both sides in turn", "twice"],
)
def test_other_amounts_stay(pads: str) -> None:
    model = padded(ROUNDED_UP, pads)
    assert not onnxpad.fix(model, dynamic="pad").changed


def test_nodes_that_others_read_do_not_count() -> None:
    """A crop at the end reads the same amounts, so the nodes would stay."""
    model = padded(ROUNDED_UP, END)
    model.graph.node.extend(
        [
            onnx.helper.make_node("Concat", ["high", "wide"], ["both"], axis=0),
            onnx.helper.make_node("Identity", ["both"], ["z"]),
        ]
    )
    model.graph.output.append(onnx.helper.make_tensor_value_info("z", onnx.TensorProto.INT64, None))
    assert not onnxpad.fix(model, dynamic="pad").changed


def test_copies_of_data_are_padded_by_the_same() -> None:
    model = padded(ROUNDED_UP, END, mode="edge")
    result = fixed(model, dynamic="pad")
    assert [change.code for change in result.changes] == ["PAD502"]
    compare(model, result.model)


@pytest.mark.parametrize("name", one_in(2, [("detector_torchscript",), ("windows_torchscript",)]))
def test_exported_models_pad_to_a_multiple(name: str) -> None:
    (path,) = (path for path in EXPORTED if path.stem == name)
    kept, simple = (
        onnxpad.fix(path, dynamic=choice, validate=choice == "pad") for choice in ("keep", "pad")
    )
    assert "PAD502" in {change.code for change in simple.changes}
    assert simple.nodes_after < kept.nodes_after - 50
    assert simple.validation is not None
    assert simple.validation.outcome == "passed"
