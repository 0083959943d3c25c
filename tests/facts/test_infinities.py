"""Infinities that constants put into a tensor: no maximum over them is rewritten, or proved so."""

import numpy as np
import pytest

import onnxpad
from onnxpad.facts import Analysis
from onnxpad.facts.bounds import infinite
from onnxpad.graph import Graph
from onnxpad.proof.term import DiffersError
from tests.proof.pairs import refined
from tests.support import one, run
from tests.support.rows import each_row

GIVEN = ", ".join(
    (
        "int64[8] p = {0, 0, 3, 4, 0, 0, 3, 4}, int64[1] first = {0}, int64[2] flat = {10, 12}",
        "float low = {-3.4028235e38}, float high = {3.4028235e38}, float some = {-1e38}",
        "float zero = {0}, float one = {1}, float two = {2}, float four = {4}, float minus = {-1}",
        "float tenth = {0.1}, float inf = {inf}, float nan = {nan}, int64 million = {1000000}",
        "float half_low = {-65504}, double large = {1e300}",
        "double double_low = {-1.7976931348623157e308}, double double_two = {2}",
        "float ten = {1e10}, double double_some = {-3.4028235e38}",
        "float[1, 2, 1, 1] each = {0.5, 4}, float[2] zeros = {0, 0}, float[2] ones = {1, 1}",
        "float[2, 1, 1] no = {0, 0}, float[2, 1, 1] both = {1, 1}, float[2, 1, 1] shift = {1, 0}",
        "float[2] scales = {1, 1.5}, float[2] steady = {0.5, 0.25}",
    )
)
LOW = "a = Pad (x, p, low)"
BROUGHT = [
    # constants and fills
    ("y = Add (x, inf)", "inf"),
    ("y = Mul (x, nan)", "nan"),
    ("a = Pad (x, p, nan) y = Relu (a)", "nan"),
    # overflows of a fill
    (f"{LOW} y = Mul (a, four)", "low"),
    (f"{LOW} y = Mul (two, a)", "low"),
    (f"{LOW} y = Mul (a, each)", "low"),
    (f"{LOW} y = Add (a, some)", "some"),
    (f"{LOW} y = Add (a, a)", "low"),
    (f"{LOW} y = Sub (a, high)", "high"),
    (f"{LOW} y = Sum (a, one, some)", "some"),
    (f"{LOW} y = Div (a, tenth)", "low"),
    (f"{LOW} y = LeakyRelu <alpha = 4.0> (a)", "low"),
    (f"{LOW} y = LeakyRelu (a)", "low"),
    (f"{LOW} y = PRelu (a, four)", "low"),
    (f"{LOW} n = Neg (a) y = Exp (n)", "low"),
    (f"{LOW} y = Pow (a, two)", "low"),
    (f"{LOW} y = BatchNormalization (a, scales, zeros, zeros, ones)", "low"),
    (f"{LOW} y = AveragePool <kernel_shape = [2, 2]> (a)", "low"),
    (f"{LOW} m = MaxPool <kernel_shape = [2, 2]> (a) y = Mul (m, four)", "low"),
    (f"{LOW} m = MaxPool <kernel_shape = [4, 5]> (a) y = Mul (m, four)", ""),
    # chains of operators
    (f"{LOW} m = Mul (a, four) y = Transpose (m)", "low"),
    (f"{LOW} c = Clip (a, , one) y = Mul (c, four)", "low"),
    ("a = Pad (x, p, some) m = Mul (a, two) y = Mul (m, two)", "some"),
    ("m = Mul (low, tenth) a = Pad (x, p, m) y = Mul (a, two)", "low"),
    ("m = Mul (low, two) y = Pad (x, p, m)", "low"),
    # poles
    ("z = Log (zero) y = Add (x, z)", "z"),
    ("z = Log (minus) y = Add (x, z)", "z"),
    ("y = Div (x, each)", ""),
    ("z = Div (zero, zero) y = Mul (x, z)", "z"),
    # other types
    ("d = Cast <to = 11> (x) a = Pad (d, p, double_low) y = Mul (a, double_two)", "double_low"),
    ("d = Cast <to = 11> (x) a = Pad (d, p, double_some) y = Mul (a, double_two)", ""),
    (f"{LOW} y = Cast <to = 10> (a)", "low"),
    (f"{LOW} y = Cast <to = 16> (a)", "low"),
]  # fmt: skip


def graph_of(body: str) -> Graph:
    outputs = "float[] y"
    return Graph.from_proto(one(body, outputs=outputs, initializers=GIVEN, opset=18))


@each_row(("body", "told"), BROUGHT)
def test_what_constants_may_make_for_every_input(body: str, told: str) -> None:
    graph = graph_of(body)
    origin = infinite(Analysis(graph), graph.tensor("y"))
    assert (origin.name if origin else "") == told


def test_onnxruntime_makes_them_too() -> None:
    """In common data it finds nothing where nothing was told."""
    data = np.linspace(0.1, 0.5, 144, dtype=np.float32).reshape(1, 2, 9, 8)
    for body, told in BROUGHT:
        if "to = 16" not in body:  # it has few kernels for bfloat16
            doubles = f"{body} doubles = Cast <to = 11> (y)"
            proto = one(doubles, outputs="double[] doubles", initializers=GIVEN, opset=18)
            (found,) = run(proto, {"x": data})
            assert told or np.isfinite(found).all(), body


POOL = "MaxPool <kernel_shape = [3, 3], pads = [2, 0, 2, 2]> (y)"
REFUSED = [each for each in BROUGHT if each[1] and "to = 1" not in each[0]]


@each_row(("body", "told"), REFUSED)
def test_no_maximum_over_them_is_rewritten(body: str, told: str) -> None:
    before = one(f"{body} out = {POOL}", outputs="float[] out", initializers=GIVEN, opset=18)
    result = onnxpad.fix(before, style="symmetric", validate=False)
    assert "PAD202" not in [change.code for change in result.changes]
    said = [each for each in result.findings if each.code == "PAD202"]
    assert [each.reason_code for each in said] == ["infinite-data"]
    assert repr(told) in said[0].reason


@each_row(("body", "told"), REFUSED)
def test_nor_is_one_certified(body: str, told: str) -> None:
    padded = (
        "q = Pad (y, own, minus_inf) out = MaxPool <kernel_shape = [3, 3], pads = [2, 0, 2, 0]> (q)"
    )
    given = f"{GIVEN}, int64[8] own = {{0, 0, 0, 0, 0, 0, 0, 2}}, float minus_inf = {{-inf}}"
    before, after = (
        one(each, outputs="float[] out", initializers=given, opset=18)
        for each in (f"{body} out = {POOL}", f"{body} {padded}")
    )
    with pytest.raises(DiffersError) as caught:
        refined(before, after, "out")
    assert repr(told) in str(caught.value)


def test_a_body_knows_what_the_graph_around_it_makes() -> None:
    branch = " = If (b) <then_branch = t () => (float[] p) {"
    proto = one(
        f"{LOW} m = Mul (a, four) y{branch} p = Neg (m) }}, else_branch = e () => (float[] q) {{"
        " q = Neg (x) }>",
        inputs="float[1, 2, 9, 8] x, bool b",
        initializers=GIVEN,
        opset=18,
    )
    main = Graph.from_proto(proto)
    (inner,) = [each for each in main.inside() if "p" in each.outputs]
    analysis = Analysis(main)
    found = infinite(Analysis(inner, outer=analysis), inner.tensor("p"))
    assert found is not None
    assert found.name == "low"


def test_a_deep_graph_is_looked_at_nearby_alone() -> None:
    """No Python stack is as deep as this graph, and what is far away is not found."""
    nodes = " ".join(f"t{i} = Neg (t{i - 1})" for i in range(1, 5000))
    graph = graph_of(f"t0 = Mul (x, inf) {nodes} y = Neg (t4999)")
    known = Analysis(graph)
    assert infinite(known, graph.tensor("t20")) is not None
    assert infinite(known, graph.tensor("y")) is None


@pytest.mark.parametrize(("amount", "passes"), [(1, False), (3, True)])
def test_a_pool_passes_on_infinities_that_it_reads_alone(amount: int, passes: bool) -> None:
    pads = f"int64[8] p = {{0, 0, {amount}, 0, 0, 0, 0, 0}}"
    graph = Graph.from_proto(
        one(
            "a = Pad (x, p, c) y = MaxPool <kernel_shape = [3, 3]> (a)",
            initializers=f"{pads}, float c = {{-inf}}",
        )
    )
    assert (infinite(Analysis(graph), graph.tensor("y")) is not None) is passes


@each_row(
    ("attributes", "holds"),
    [
        ("value = -inf", True),
        ("value = inf", True),
        ('mode = "constant", value = -inf', True),
        ("value = 1.0", False),
        ('mode = "edge"', False),
        ("", False),
    ],
)
def test_a_fill_that_is_an_attribute_puts_infinities_in(attributes: str, holds: bool) -> None:
    pads = ", ".join(filter(None, ("pads = [0, 0, 1, 0, 0, 0, 0, 0]", attributes)))
    graph = Graph.from_proto(one(f"y = Pad <{pads}> (x)", opset=10))
    found = infinite(Analysis(graph), graph.tensor("y"))
    assert (found is not None) is holds
