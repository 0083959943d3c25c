"""Least elements and infinities, held against what onnxruntime computes from data of both signs.

`signs.txt` and `bounds.txt` have what is called non-negative, and the bounds of nodes.
"""

from pathlib import Path
from typing import Final

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import onnxpad
from onnxpad.facts import Analysis
from onnxpad.facts.bounds import BOUNDS, infinite, telling
from onnxpad.facts.shape_rules import BOUND
from onnxpad.graph import Graph
from onnxpad.proof.term import DiffersError
from tests.proof.pairs import refined
from tests.strategies import examples
from tests.support import Array, one, run
from tests.support.rows import each_row, rows_below

HERE: Final = Path(__file__).parent
ROWS: Final = HERE / "rows.txt"
SHAPE: Final = (2, 4, 6, 6)
INPUTS: Final = ", ".join(
    f"{kind}[2, 4, 6, 6] {name}"
    for kind, name in zip(
        ("float", "float", "bool", "uint8", "int8", "int64"), "xzbuil", strict=True
    )
)
((CONSTANTS,),) = rows_below(ROWS, "constants for bounds")
((GIVEN,),) = rows_below(ROWS, "constants for infinities")
SIGNS: Final = [
    (int(opset), " none " in f" {sign}", body)
    for opset, sign, body in (
        line.split("  ") for line in (HERE / "signs.txt").read_text().splitlines()
    )
]
"""Operator sets and nodes, and whether nothing in `y` is below 0."""


def model(body: str, opset: int = 14) -> onnx.ModelProto:
    """A few nodes, behind data of both signs and of one: nothing in `r` and `q` is below 0."""
    before = "r = Relu (x) q = Abs (z)"
    return one(f"{before} {body}", inputs=INPUTS, initializers=CONSTANTS, opset=opset)


def bound_of(proto: onnx.ModelProto, name: str = "y") -> float:
    graph = Graph.from_proto(proto)
    return Analysis(graph).bound(graph.tensor(name))


EXTREMES: Final = (-0.0, 0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-45, -1e-45, -88.8, 88.8)


def drawn(scale: float = 1, extreme: float = 0, *, numbers_only: bool = False) -> dict[str, Array]:
    """Random data, perhaps with extremes."""
    random = np.random.default_rng(int(100 * scale + 10 * extreme))
    extremes = [value for value in EXTREMES if not (numbers_only and np.isnan(value))]
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
    return feeds


def least(proto: onnx.ModelProto) -> float:
    """The least element that onnxruntime computes on a few random inputs; NaN is not below zero."""
    # These operators make a number below zero of NaN alone.
    spared = not {"MaxPool", "QuantizeLinear"}.isdisjoint(node.op_type for node in proto.graph.node)
    names = {value.name for value in proto.graph.input}
    found: list[Array] = []
    for scale, extreme in ((0.1, 0), (1, 0), (30, 0), (1, 0.3)):
        feeds = drawn(scale, extreme, numbers_only=spared)
        found += run(proto, {name: feeds[name] for name in names})
    with np.errstate(invalid="ignore"):
        return min(float(array[~np.isnan(array)].min(initial=np.inf)) for array in found)


@each_row(("opset", "called", "body"), SIGNS)
def test_what_is_called_non_negative_is(opset: int, called: bool, body: str) -> None:
    proto = model(body, opset)
    assert (bound_of(proto) >= 0) is called
    assert (least(proto) >= 0) is called


def test_every_rule_is_held_against_onnxruntime() -> None:
    bodies = " ".join(body for _, called, body in SIGNS if called)
    assert {op for op in BOUNDS if f"= {op} " not in bodies} == {"com.microsoft.FusedConv"}


@each_row(("bound", "attributes"), rows_below(ROWS, "the bound of a fused convolution: 0, or none"))
def test_a_fused_convolution_has_the_bound_of_its_activation(bound: str, attributes: str) -> None:
    proto = one(
        f"y = com.microsoft.FusedConv <group = 4, {attributes}> (x, w, , z)",
        inputs="float[2, 4, 6, 6] x, float[2, 4, 6, 6] z",
        initializers="float[4, 1, 1, 1] w = {-1, 1, -2, 1}",
    )
    told = 0 if bound == "0" else -np.inf
    assert bound_of(proto) == told
    assert least(proto) >= told
    assert told >= -1 or least(proto) < -0.5


def test_the_bound_of_each_operator() -> None:
    """Nothing in `a` is below 3, nothing in `m` below -1."""
    lines = (HERE / "bounds.txt").read_text().splitlines()
    bounds, nodes = zip(*(line.split(" : ") for line in lines), strict=True)
    body = " ".join(f"y{place} = {node}" for place, node in enumerate(nodes))
    graph = Graph.from_proto(model(f"a = Clip (x, three) m = Clip (x, minus) y = Relu (x) {body}"))
    known = Analysis(graph)
    for place, (bound, node) in enumerate(zip(bounds, nodes, strict=True)):
        expected = -(2.0**63) if bound == "-2.0**63" else float(bound)
        assert known.bound(graph.tensor(f"y{place}")) == expected, node


def test_what_is_not_called_so() -> None:
    """A window in the padding, what a caller may override, indices, and foreign operators."""
    window = "r = Relu (x) y = MaxPool <dilations = [2], kernel_shape = [2], pads = [1, 1]> (r)"
    proto = one(window, inputs="float[1, 1, L] x")
    assert run(proto, {"x": np.ones((1, 1, 1), np.float32)})[0].item() < 0
    assert bound_of(proto) < 0
    summed, two = "r = Relu (x) y = Add (r, s)", "float[1] s = {2}"
    given = [one(summed, inputs=f"float[1] x{s}", initializers=two) for s in ("", ", float[1] s")]
    assert [bound_of(each) >= 0 for each in given] == [True, False]
    indices = one("r = Relu (x) y, i = MaxPool <kernel_shape = [2, 2]> (r)", outputs="int64[] i")
    assert [bound_of(indices, name) >= 0 for name in "yi"] == [True, False]
    assert bound_of(one("y = vendor.Relu (x)")) < 0


STEPS: Final = (
    "Relu ({0})", "Abs ({0})", "Neg ({0})", "Sigmoid ({0})", "Tanh ({0})", "Exp ({0})",
    "Sqrt ({0})", "Identity ({0})", "Clip ({0}, zero, two)", "Clip ({0}, minus, two)",
    "Mul ({0}, scale)", "Mul ({0}, signed)", "Mul ({0}, {1})", "Add ({0}, {1})", "Sub ({0}, {1})",
    "Sum ({0}, {1}, {2})", "Where (b, {0}, {1})", "Transpose <perm = [0, 1, 3, 2]> ({0})",
    "MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> ({0})",
    "AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> ({0})", "Softmax <axis = 1> ({0})",
)  # fmt: skip
CHOICES: Final = st.lists(
    st.tuples(st.sampled_from(STEPS), st.tuples(*[st.integers(0, 40)] * 3)), min_size=1, max_size=9
)


@examples(0.6)
@given(CHOICES)
def test_random_graphs(choices: list[tuple[str, tuple[int, ...]]]) -> None:
    """Each node reads any of those before it; nothing is below its bound."""
    names, nodes = ["x", "z"], list[str]()
    for step, reads in choices:
        nodes.append(f"t{len(nodes)} = {step.format(*(names[i % len(names)] for i in reads))}")
        names.append(f"t{len(nodes) - 1}")
    outputs = ", ".join(f"float[] {name}" for name in names[2:])
    proto = one(" ".join(nodes), inputs=INPUTS, outputs=outputs, initializers=CONSTANTS, opset=14)
    graph = Graph.from_proto(proto)
    known = Analysis(graph)
    arrays = run(proto, drawn())
    # A MaxPool gives the lowest number for a window of NaN: what is proved is proved of numbers.
    assume(not any(np.isnan(array).any() for array in arrays))
    for name, array in zip(names[2:], arrays, strict=True):
        assert not (array < known.bound(graph.tensor(name))).any(), name


def test_a_deep_graph_costs_what_its_nodes_cost() -> None:
    """No Python stack is as deep, each tensor is looked at once; far infinities are not found."""
    count = 5000
    nodes = " ".join(f"t{i} = Add (t{i - 1}, t{i // 2})" for i in range(1, count))
    graph = Graph.from_proto(one(f"t0 = Relu (x) {nodes} y = Identity (t{count - 1})"))
    analysis = Analysis(graph)
    assert analysis.bound(graph.tensor("y")) >= 0
    assert len(analysis._known[BOUND]) == count + 1
    chain = " ".join(f"t{i} = Neg (t{i - 1})" for i in range(1, count))
    graph = graph_of(f"t0 = Mul (x, inf) {chain} y = Neg (t{count - 1}) r = Reciprocal (x)")
    known = Analysis(graph)
    assert telling(known, graph.tensor("t0"))
    assert [infinite(known, graph.tensor(name)) is None for name in ("t20", "y")] == [False, True]


@each_row(
    ("op", "body"), rows_below(ROWS, "what tells the zeros of `x` apart: the operator, the nodes")
)
def test_what_tells_zeros_apart(op: str, body: str) -> None:
    graph = Graph.from_proto(one(body, inputs=INPUTS, initializers=CONSTANTS))
    found = telling(Analysis(graph), graph.tensor("x")).partition(" ")[0]
    assert (found or "none") == op


# Infinities that constants put into a tensor

BROUGHT: Final = rows_below(ROWS, "what constants may make infinite, for every input")


def graph_of(body: str, inputs: str = "float[1, 2, 9, 8] x", opset: int = 18) -> Graph:
    return Graph.from_proto(one(body, inputs=inputs, initializers=GIVEN, opset=opset))


@each_row(
    ("told", "body"),
    [
        *BROUGHT,
        # A pool passes on those that it reads alone, as far as is known.
        ("none", "n = NonZero (x) a = Pad (x, n, minus_inf) y = MaxPool <kernel_shape = [2]> (a)"),
        ("none", "a = Pad (x, ends, minus_inf) y = MaxPool <kernel_shape = [3, 3]> (a)"),
        ("minus_inf", "a = Pad (x, more, minus_inf) y = MaxPool <kernel_shape = [3, 3]> (a)"),
    ],
)
def test_what_constants_may_make_infinite(told: str, body: str) -> None:
    graph = graph_of(body)
    origin = infinite(Analysis(graph), graph.tensor("y"))
    assert (origin.name if origin else "none") == told
    if told == "none" and (told, body) in BROUGHT:  # onnxruntime finds none in common data either
        data = np.linspace(0.1, 0.5, 144, dtype=np.float32).reshape(1, 2, 9, 8)
        wide = f"{body} wide = Cast <to = 11> (y)"
        (found,) = run(
            one(wide, outputs="double[] wide", initializers=GIVEN, opset=18), {"x": data}
        )
        assert np.isfinite(found).all()


@each_row(("told", "attributes"), rows_below(ROWS, "whether a fill puts infinities in"))
def test_a_fill_that_is_an_attribute_puts_infinities_in(told: str, attributes: str) -> None:
    graph = graph_of(f"y = Pad <pads = [0, 0, 1, 0, 0, 0, 0, 0]{attributes}> (x)", opset=10)
    assert str(infinite(Analysis(graph), graph.tensor("y")) is not None) == told


@each_row(
    ("told", "body"), [each for each in BROUGHT if each[0] != "none" and "to = 1" not in each[1]]
)
def test_no_maximum_over_them_is_rewritten_nor_certified(told: str, body: str) -> None:
    pool = "out = MaxPool <kernel_shape = [3, 3], pads = [2, 0, 2, {}]> ({})"
    before, after = (
        one(f"{body} {each}", outputs="float[] out", initializers=GIVEN, opset=18)
        for each in (
            pool.format(2, "y"),
            f"b = Pad (y, own, minus_inf) {pool.format(0, 'b')}",
        )
    )
    result = onnxpad.fix(before, style="symmetric", validate=False)
    assert "PAD202" not in [change.code for change in result.changes]
    said = [each for each in result.findings if each.code == "PAD202"]
    assert [each.reason_code for each in said] == ["infinite-data"]
    assert repr(told) in said[0].reason
    with pytest.raises(DiffersError) as caught:
        refined(before, after, "out")
    assert repr(told) in str(caught.value)


def test_a_body_knows_what_the_graph_around_it_makes() -> None:
    body = "a = Pad (x, p, low) m = Mul (a, four) y = If (b) <then_branch = t () => (float[] u) {"
    main = graph_of(f"{body} u = Neg (m) }}>", "float[1, 2, 9, 8] x, bool b")
    (inner,) = [each for each in main.inside() if "u" in each.outputs]
    found = infinite(Analysis(inner, outer=Analysis(main)), inner.tensor("u"))
    assert found is not None
    assert found.name == "low"
