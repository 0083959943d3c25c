"""Tensors called non-negative, held against what onnxruntime computes from data of both signs."""

from pathlib import Path

import numpy as np
import onnx
from hypothesis import assume, given
from hypothesis import strategies as st

import onnxpad
from onnxpad.facts import Analysis
from onnxpad.facts.bounds import BOUNDS, telling
from onnxpad.facts.shape_rules import BOUND
from onnxpad.graph import Graph
from onnxpad.rewrite.pass_api import Context
from tests.strategies import examples
from tests.support import Array, one, parsed, run
from tests.support.rows import each_row

HERE = Path(__file__).parent
SHAPE = (2, 4, 6, 6)
INPUTS = ", ".join(
    f"{kind}[2, 4, 6, 6] {name}"
    for kind, name in (
        ("float", "x"), ("float", "z"), ("bool", "b"), ("uint8", "u"), ("int8", "i"), ("int64", "l")
    )
)  # fmt: skip
CONSTANTS = ", ".join(
    (
        "float zero = {0}, float two = {2}, float minus = {-1}",
        "float half = {0.5}, float three = {3}, float odd = {-3}, float none = {nan}",
        "float[1, 4, 1, 1] mixed = {2, 4, 1, 2}",
        "int64[8] pads = {0, 0, 1, 2, 0, 0, 2, 1}, int64[8] crop = {0, 0, -1, 0, 0, 0, 0, -2}",
        "int64[2] flat = {2, 144}, int64[1] first = {0}, int64[1] last = {3}, int64[1] axis = {3}",
        "int64[4] twice = {1, 1, 2, 1}, int64[4] wide = {2, 4, 6, 6}, int64 third = {2}",
        "float[4] larger = {1, 1, 1.7, 2.3}",
        "float[8] roi = {0, 0, -0.3, 0.2, 1, 1, 0.8, 1.3}",
        "float[1, 4, 1, 1] scale = {0.5, 0, 3, 1}, float[1, 4, 1, 1] signed = {0.5, 0, -3, 1}",
        "float[4] up = {0.5, 0, 3, 1}, float[4] down = {0, -1, -2, 0}, bool[4] some = {1, 0, 1, 1}",
        "uint8 point = {128}, uint8 later = {129}, int8 below = {-128}, int8 middle = {3}",
        "int64[2, 4, 6, 1] places = {" + ", ".join(str(i % 6) for i in range(48)) + "}",
    )
)
# `r` and `q` hold nothing below zero, `x` and `z` may.
BEFORE = "r = Relu (x) q = Abs (z)"

ROWS = [
    (int(opset), " none " in f" {sign}", body)
    for opset, sign, body in (
        line.split("  ") for line in (HERE / "signs.txt").read_text().splitlines()
    )
]
"""Operator sets and nodes, and whether nothing in `y` is below 0."""
BOUNDS_OF = (HERE / "bounds.txt").read_text().splitlines()
"""Bounds of nodes; nothing in `a` is below 3, nothing in `m` below -1."""


def model(body: str, opset: int = 14) -> onnx.ModelProto:
    """A few nodes, behind data of both signs and of one."""
    return one(f"{BEFORE} {body}", inputs=INPUTS, initializers=CONSTANTS, opset=opset)


def called_non_negative(proto: onnx.ModelProto) -> bool:
    graph = Graph.from_proto(proto)
    return Analysis(graph).bound(graph.tensor("y")) >= 0


NUMBERS_ONLY = {"MaxPool", "QuantizeLinear"}
"""Operators that make a number below zero of NaN alone."""

EXTREMES = (-0.0, 0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-45, -1e-45, 1e-38, -88.8, 88.8)


def least(proto: onnx.ModelProto) -> float:
    """The least element that onnxruntime computes on a few random inputs; NaN is not below zero."""
    found: list[Array] = []
    random = np.random.default_rng(0)
    names = {value.name for value in proto.graph.input}
    spared = not NUMBERS_ONLY.isdisjoint(node.op_type for node in proto.graph.node)
    extremes = [value for value in EXTREMES if not (spared and np.isnan(value))]
    for scale, extreme in ((0.1, 0), (1, 0), (30, 0), (1, 0.3)):
        feeds: dict[str, Array] = {
            name: (random.standard_normal(SHAPE) * scale).astype(np.float32) for name in "xz"
        }
        for array in feeds.values():
            array[random.random(SHAPE) < extreme] = random.choice(extremes)
            for value in extremes if extreme else ():
                array[random.random(SHAPE) < 0.03] = value
        feeds["b"] = random.random(SHAPE) < 0.5
        feeds["u"] = random.integers(0, 256, SHAPE, np.uint8)
        feeds["i"] = random.integers(-128, 128, SHAPE, np.int8)
        feeds["l"] = random.integers(-(2**63), 2**63 - 1, SHAPE, np.int64)
        found += run(proto, {name: feeds[name] for name in names})
    with np.errstate(invalid="ignore"):
        return min(float(array[~np.isnan(array)].min(initial=np.inf)) for array in found)


@each_row(("opset", "called", "body"), ROWS)
def test_what_is_called_non_negative_is(opset: int, called: bool, body: str) -> None:
    proto = model(body, opset)
    assert called_non_negative(proto) is called
    assert (least(proto) >= 0) is called


def test_every_rule_is_held_against_onnxruntime() -> None:
    bodies = " ".join(body for _, called, body in ROWS if called)
    assert {op for op in BOUNDS if f"= {op} " not in bodies} == {"com.microsoft.FusedConv"}


@each_row(
    ("body", "called"),
    [
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
    known = Analysis(graph)
    assert known.bound(graph.tensor("n")) < 0
    assert known.bound(graph.tensor("y")) < 0


def test_indices_and_masks_are_not_asked_for() -> None:
    graph = Graph.from_proto(
        one("r = Relu (x) y, i = MaxPool <kernel_shape = [2, 2]> (r)", outputs="int64[] i")
    )
    known = Analysis(graph)
    assert known.bound(graph.tensor("y")) >= 0
    assert known.bound(graph.tensor("i")) < 0


def fused(attributes: str) -> onnx.ModelProto:
    """A FusedConv of com.microsoft that adds data of both signs before its activation."""
    proto = one(
        f"y = com.microsoft.FusedConv <group = 4, {attributes}> (x, w, , z)",
        inputs="float[2, 4, 6, 6] x, float[2, 4, 6, 6] z",
        initializers="float[4, 1, 1, 1] w = {-1, 1, -2, 1}",
        opset=17,
    )
    proto.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return proto


@each_row(
    ("attributes", "bound"),
    [
        ('activation = "Relu"', 0),
        ('activation = "Sigmoid"', 0),
        ('activation = "HardSigmoid", activation_params = [0.2, 0.5]', 0),
        ('activation = "Clip", activation_params = [-1.0, 1.0]', -np.inf),
        ('activation = "Tanh"', -np.inf),
        ('activation = "LeakyRelu", activation_params = [0.1]', -np.inf),
    ],
    at_once=8,
)
def test_a_fused_convolution_has_the_bound_of_its_activation(attributes: str, bound: float) -> None:
    proto = fused(attributes)
    graph = Graph.from_proto(proto)
    assert Analysis(graph).bound(graph.tensor("y")) == bound
    assert least(proto) >= bound
    assert bound >= -1 or least(proto) < -0.5


def test_a_function_of_the_model_is_no_operator_of_its_name() -> None:
    """Of one that only adds, `fix` once folded a Pad with 0 into a MaxPool."""
    proto = parsed(
        """
        g (float[1, 1, 8, 8] x) => (float[1, 1, 7, 7] y)
            <float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, -9},
             int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}>
        {
            a = com.microsoft.FusedConv <activation = "Relu"> (x, w)
            b = Pad (a, p)
            y = MaxPool <kernel_shape = [2, 2]> (b)
        }
        <domain: "com.microsoft", opset_import: ["" : 17]>
        FusedConv <activation> (x, w) => (y) { y = Conv (x, w) }
        """
    )
    graph = Graph.from_proto(proto)
    assert Analysis(graph).bound(graph.tensor("a")) == -np.inf
    result = onnxpad.fix(proto, validate=False)
    assert not result.changed
    assert [each.reason_code for each in result.findings] == ["fill-wins"]


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


@examples(0.6)
@given(CHOICES)
def test_random_graphs(choices: list[tuple[str, tuple[int, ...]]]) -> None:
    """Each node reads any of those before it; nothing is below its bound."""
    names = ["x", "z"]
    nodes: list[str] = []
    for step, reads in choices:
        nodes.append(f"t{len(nodes)} = {step.format(*(names[i % len(names)] for i in reads))}")
        names.append(f"t{len(nodes) - 1}")
    outputs = ", ".join(f"float[] {name}" for name in names[2:])
    proto = one(" ".join(nodes), inputs=INPUTS, outputs=outputs, initializers=CONSTANTS, opset=14)
    graph = Graph.from_proto(proto)
    known = Analysis(graph)
    random = np.random.default_rng(0)
    feeds: dict[str, Array] = {
        "x": random.standard_normal(SHAPE).astype(np.float32),
        "z": random.standard_normal(SHAPE).astype(np.float32),
        "b": random.random(SHAPE) < 0.5,
        "u": random.integers(0, 256, SHAPE, np.uint8),
        "i": random.integers(-128, 128, SHAPE, np.int8),
        "l": random.integers(-(2**63), 2**63 - 1, SHAPE, np.int64),
    }
    arrays = run(proto, feeds)
    # A MaxPool gives the lowest number for a window of NaN: what is proved is proved of numbers.
    assume(not any(np.isnan(array).any() for array in arrays))
    for name, array in zip(names[2:], arrays, strict=True):
        assert not (array < known.bound(graph.tensor(name))).any(), name


def test_the_bound_of_each_operator() -> None:
    bounds, nodes = zip(*(line.split(" : ") for line in BOUNDS_OF), strict=True)
    body = " ".join(f"y{place} = {node}" for place, node in enumerate(nodes))
    graph = Graph.from_proto(model(f"a = Clip (x, three) m = Clip (x, minus) y = Relu (x) {body}"))
    known = Analysis(graph)
    for place, (bound, node) in enumerate(zip(bounds, nodes, strict=True)):
        expected = -(2.0**63) if bound == "-2.0**63" else float(bound)
        assert known.bound(graph.tensor(f"y{place}")) == expected, node


def test_what_was_not_proved_is_asked_again() -> None:
    model = one(
        "r = Relu (x) a = Pad (r, p, c) y = MaxPool <kernel_shape = [2, 2]> (a)",
        initializers="int64[8] p = {0, 0, 1, 0, 0, 0, 0, 0}, float c = {-inf}",
    )
    graph = Graph.from_proto(model)
    context = Context(graph)
    known = context.analysis
    y, r = graph.tensor("y"), graph.tensor("r")
    assert known.bound(y) < 0
    pool = y.producer
    assert pool is not None
    graph.set_input(pool, 0, r)
    graph.set_attribute(pool, "pads", [1, 0, 0, 0])
    assert known.bound(y) < 0
    context.settle()
    assert known.bound(y) >= 0


def test_a_deep_graph_costs_what_its_nodes_cost() -> None:
    """No Python stack is as deep as this graph, and each tensor is looked at once."""
    count = 5000
    names = [f"t{i}" for i in range(count)]
    nodes = " ".join(f"t{i} = Add (t{i - 1}, t{i // 2})" for i in range(1, count))
    graph = Graph.from_proto(one(f"t0 = Relu (x) {nodes} y = Identity ({names[-1]})"))
    analysis = Analysis(graph)
    assert analysis.bound(graph.tensor("y")) >= 0
    assert len(analysis._known[BOUND]) == count + 1


@each_row(
    ("body", "op"),
    [
        ("y = Reciprocal (x)", "Reciprocal"),
        ("y = Div (two, x)", "Div"),
        ("y = Div (x, two)", ""),
        ("y = Pow (x, two)", ""),
        ("y = Pow (x, zero)", ""),
        ("y = Pow (x, odd)", "Pow"),
        ("y = Pow (x, z)", "Pow"),
        ("y = Pow (two, x)", ""),
        ("a = Cast <to = 8> (x) y = Identity (x)", "Cast"),
        ("y = Cast <to = 10> (x)", ""),
        ("y = QuantizeLinear (x, half)", ""),
        ("y = QuantizeLinear (z, x)", "QuantizeLinear"),
        ("a = Neg (x) e = Relu (a) y = Reciprocal (e)", "Reciprocal"),
        ("a = Cast <to = 7> (x) e = Cast <to = 1> (a) y = Reciprocal (e)", ""),
        ("e = Clip (x, three) y = Reciprocal (e)", ""),
        ("a = Conv (x, w) y = Reciprocal (a)", ""),
        ("a = MaxPool <kernel_shape = [2, 2]> (x) y = Reciprocal (a)", "Reciprocal"),
        ("a = vendor.Act (x) y = Neg (x)", "Act"),
    ],
)
def test_what_tells_zeros_apart(body: str, op: str) -> None:
    weight = f"float[1, 4, 1, 1] w = {{1, 2, 3, 4}}, {CONSTANTS}"
    graph = Graph.from_proto(one(body, inputs=INPUTS, initializers=weight, opset=17))
    assert telling(Analysis(graph), graph.tensor("x")).partition(" ")[0] == op
