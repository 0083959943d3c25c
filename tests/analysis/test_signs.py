"""Tensors called non-negative, held against what onnxruntime computes from data of both signs."""

import numpy as np
import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from onnxpad.analysis.signs import Signs
from onnxpad.graph import Graph
from tests.support import Array, one, run

SHAPE = (2, 4, 6, 6)
INPUTS = "float[2, 4, 6, 6] x, float[2, 4, 6, 6] z, bool[2, 4, 6, 6] b"
CONSTANTS = ", ".join(
    (
        "float zero = {0}, float two = {2}, float minus = {-1}",
        "int64[8] pads = {0, 0, 1, 2, 0, 0, 2, 1}, int64[8] crop = {0, 0, -1, 0, 0, 0, 0, -2}",
        "int64[2] flat = {2, 144}, int64[1] first = {0}, int64[1] last = {3}, int64[1] axis = {3}",
        "int64[4] twice = {1, 1, 2, 1}, int64[4] wide = {2, 4, 6, 6}",
        "float[1, 4, 1, 1] scale = {0.5, 0, 3, 1}, float[1, 4, 1, 1] signed = {0.5, 0, -3, 1}",
    )
)
# `r` and `q` hold nothing below zero, `x` and `z` may.
BEFORE = "r = Relu (x) q = Abs (z)"

NON_NEGATIVE = [
    "y = Relu (x)",
    "y = Sigmoid (x)",
    "y = HardSigmoid <alpha = -2.0, beta = -1.0> (x)",
    "y = Softmax (x)",
    "y = Exp (x)",
    "y = Abs (x)",
    "y = Sqrt (x)",
    "y = Identity (r)",
    "y = Dropout (r)",
    "y = Transpose <perm = [0, 2, 3, 1]> (r)",
    "y = Reshape (r, flat)",
    "y = Flatten (r)",
    "y = Slice (r, first, last, axis)",
    "u, y = Split <axis = 1> (r)",
    "y = Gather <axis = 2> (r, first)",
    "y = Expand (r, wide)",
    "y = Tile (r, twice)",
    "y = SpaceToDepth <blocksize = 2> (r)",
    "y = DepthToSpace <blocksize = 2> (r)",
    "y = MaxPool <kernel_shape = [3, 3], pads = [2, 2, 2, 2]> (r)",
    "y = MaxPool <ceil_mode = 1, kernel_shape = [3, 2], pads = [2, 1, 2, 1], strides = [3, 4]> (r)",
    "y = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (r)",
    "y = GlobalMaxPool (r)",
    "y = GlobalAveragePool (r)",
    "y = Concat <axis = 1> (r, q)",
    "y = Add (r, q)",
    "y = Add (r, two)",
    "y = Mul (r, q)",
    "y = Mul (r, scale)",
    "y = Sum (r, q, r)",
    "y = Where (b, r, q)",
    "y = Where (b, r, zero)",
    "y = Clip (x, zero, two)",
    "y = Clip (x, zero)",
    "y = Clip (x, two)",
    "y = Pad (r, pads)",
    "y = Pad (r, pads, two)",
    'y = Pad <mode = "reflect"> (r, pads)',
    "y = Pad (r, crop)",
    "m = Mul (r, scale) a = Add (m, q) y = MaxPool <kernel_shape = [2, 2]> (a)",
]

MAY_BE_NEGATIVE = [
    "y = Identity (x)",
    "y = Neg (r)",
    "y = Sub (r, q)",
    "y = Tanh (x)",
    "y = LeakyRelu (x)",
    "y = Elu (x)",
    "y = Log (r)",
    "y = HardSwish (x)",
    "y = Mul (r, minus)",
    "y = Mul (r, signed)",
    "y = Mul (r, z)",
    "y = Add (r, minus)",
    "y = Add (r, x)",
    "y = Sum (r, q, x)",
    "y = Concat <axis = 1> (r, x)",
    "y = Where (b, r, x)",
    "y = Where (b, minus, q)",
    "y = Clip (x)",
    "y = Clip (x, minus)",
    "y = Clip (x, , two)",
    "y = Clip (x, minus, two)",
    "y = Clip (x, zero, minus)",
    "y = Pad (x, pads)",
    "y = Pad (r, pads, minus)",
    "y = MaxPool <kernel_shape = [2, 2]> (x)",
    "y = AveragePool <kernel_shape = [2, 2]> (x)",
    "u = Neg (r) y = GlobalAveragePool (u)",
    "y = Transpose (x)",
    "u, y = Split <axis = 1> (x)",
]


def model(body: str, opset: int = 14) -> onnx.ModelProto:
    """A few nodes, behind data of both signs and of one."""
    return one(f"{BEFORE} {body}", inputs=INPUTS, initializers=CONSTANTS, opset=opset)


def called_non_negative(proto: onnx.ModelProto) -> bool:
    graph = Graph.from_proto(proto)
    return Signs(graph).non_negative(graph.tensor("y"))


def least(proto: onnx.ModelProto) -> float:
    """The least element that onnxruntime computes on a few random inputs; NaN is not below zero."""
    found: list[Array] = []
    random = np.random.default_rng(0)
    names = {value.name for value in proto.graph.input}
    for scale in (0.1, 1, 30):
        feeds: dict[str, Array] = {
            "x": (random.standard_normal(SHAPE) * scale).astype(np.float32),
            "z": (random.standard_normal(SHAPE) * scale).astype(np.float32),
            "b": random.random(SHAPE) < 0.5,
        }
        found += run(proto, {name: feeds[name] for name in names})
    return min(float(np.nanmin(array)) for array in found)


@pytest.mark.parametrize("body", NON_NEGATIVE)
def test_what_is_called_non_negative_is(body: str) -> None:
    proto = model(body)
    assert called_non_negative(proto)
    assert least(proto) >= 0


@pytest.mark.parametrize("body", MAY_BE_NEGATIVE)
def test_what_may_be_negative_is_not_called_so(body: str) -> None:
    proto = model(body)
    assert least(proto) < 0
    assert not called_non_negative(proto)


@pytest.mark.parametrize(
    ("body", "called"),
    [
        ("y = Clip <min = 0.0> (x)", True),
        ("y = Clip <min = 0.5, max = 6.0> (x)", True),
        ("y = Clip (x)", False),
        ("y = Clip <max = 6.0> (x)", False),
        ("y = Clip <min = -1.0> (x)", False),
        ("y = Pad <pads = [0, 0, 1, 0, 0, 0, 0, 0]> (r)", True),
        ("y = Pad <pads = [0, 0, 1, 0, 0, 0, 0, 0], value = 1.0> (r)", True),
        ("y = Pad <pads = [0, 0, 1, 0, 0, 0, 0, 0], value = -1.0> (r)", False),
        ("y = Pad <pads = [0, 0, 1, 0, 0, 0, 0, 0]> (x)", False),
    ],
)
def test_limits_and_values_as_attributes(body: str, called: bool) -> None:
    proto = one(f"r = Relu (x) {body}", inputs="float[2, 4, 6, 6] x", opset=10)
    assert called_non_negative(proto) is called
    assert (least(proto) >= 0) is called


def test_a_dilated_window_in_the_padding_gives_the_lowest_number() -> None:
    proto = one(
        "r = Relu (x) y = MaxPool <dilations = [2], kernel_shape = [2], pads = [1, 1]> (r)",
        inputs="float[1, 1, L] x",
    )
    assert run(proto, {"x": np.ones((1, 1, 1), np.float32)})[0].item() < 0
    assert not called_non_negative(proto)


def test_what_a_caller_may_override_is_not_called_so() -> None:
    body = "y = Add (r, s)"
    inputs = "float[1] x"
    constant = one(f"r = Relu (x) {body}", inputs=inputs, initializers="float[1] s = {2}")
    overridable = one(
        f"r = Relu (x) {body}", inputs=f"{inputs}, float[1] s", initializers="float[1] s = {2}"
    )
    assert called_non_negative(constant)
    assert not called_non_negative(overridable)


def test_one_negative_input_is_enough_to_know() -> None:
    """What else is read need not be looked at, wherever it stands in the list."""
    body = "n = Neg (x) y = Concat <axis = 1> (z, n)"
    graph = Graph.from_proto(model(body))
    signs = Signs(graph)
    assert not signs.non_negative(graph.tensor("n"))
    assert not signs.non_negative(graph.tensor("y"))


def test_indices_and_masks_are_not_asked_for() -> None:
    graph = Graph.from_proto(
        one("r = Relu (x) y, i = MaxPool <kernel_shape = [2, 2]> (r)", outputs="int64[] i")
    )
    signs = Signs(graph)
    assert signs.non_negative(graph.tensor("y"))
    assert not signs.non_negative(graph.tensor("i"))


def test_operators_of_other_domains_are_unknown() -> None:
    proto = one("y = vendor.Relu (x)")
    proto.opset_import.append(onnx.helper.make_opsetid("vendor", 1))
    assert not called_non_negative(proto)


STEPS = (
    "Relu ({0})",
    "Abs ({0})",
    "Neg ({0})",
    "Sigmoid ({0})",
    "Tanh ({0})",
    "Exp ({0})",
    "Sqrt ({0})",
    "Identity ({0})",
    "Clip ({0}, zero, two)",
    "Clip ({0}, minus, two)",
    "Mul ({0}, scale)",
    "Mul ({0}, signed)",
    "Mul ({0}, {1})",
    "Add ({0}, {1})",
    "Sub ({0}, {1})",
    "Sum ({0}, {1}, {2})",
    "Where (b, {0}, {1})",
    "Transpose <perm = [0, 1, 3, 2]> ({0})",
    "MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> ({0})",
    "AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> ({0})",
    "Softmax <axis = 1> ({0})",
)
CHOICES = st.lists(
    st.tuples(st.sampled_from(STEPS), st.tuples(*[st.integers(0, 40)] * 3)), min_size=1, max_size=9
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(CHOICES)
def test_random_graphs(choices: list[tuple[str, tuple[int, ...]]]) -> None:
    """Each node reads any of those before it; nothing that is called non-negative is not."""
    names = ["x", "z"]
    nodes: list[str] = []
    for step, reads in choices:
        nodes.append(f"t{len(nodes)} = {step.format(*(names[i % len(names)] for i in reads))}")
        names.append(f"t{len(nodes) - 1}")
    outputs = ", ".join(f"float[] {name}" for name in names[2:])
    proto = one(" ".join(nodes), inputs=INPUTS, outputs=outputs, initializers=CONSTANTS, opset=14)
    graph = Graph.from_proto(proto)
    signs = Signs(graph)
    random = np.random.default_rng(0)
    feeds: dict[str, Array] = {
        "x": random.standard_normal(SHAPE).astype(np.float32),
        "z": random.standard_normal(SHAPE).astype(np.float32),
        "b": random.random(SHAPE) < 0.5,
    }
    arrays = run(proto, feeds)
    # A MaxPool gives the lowest number for a window of NaN: what is proved is proved of numbers.
    assume(not any(np.isnan(array).any() for array in arrays))
    for name, array in zip(names[2:], arrays, strict=True):
        if signs.non_negative(graph.tensor(name)):
            assert not (array < 0).any(), name


def test_what_was_not_proved_is_asked_again() -> None:
    model = one(
        "r = Relu (x) a = Pad (r, p, c) y = MaxPool <kernel_shape = [2, 2]> (a)",
        initializers="int64[8] p = {0, 0, 1, 0, 0, 0, 0, 0}, float c = {-inf}",
    )
    graph = Graph.from_proto(model)
    signs = Signs(graph)
    y, r = graph.tensor("y"), graph.tensor("r")
    assert not signs.non_negative(y)
    pool = graph.producer(y)
    assert pool is not None
    graph.set_input(pool, 0, r)
    graph.set_attribute(pool, "pads", [1, 0, 0, 0])
    assert not signs.non_negative(y)
    signs.ask_again()
    assert signs.non_negative(y)
