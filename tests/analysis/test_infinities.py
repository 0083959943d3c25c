"""Infinities that constants put into a tensor: no maximum over them is rewritten, or proved so."""

import numpy as np
import pytest

import onnxpad
from onnxpad.analysis import Analysis
from onnxpad.analysis.infinities import Infinities
from onnxpad.analysis.signs import Signs
from onnxpad.graph import Graph
from onnxpad.proof.certify import Certifier, UncertifiedError
from tests.support import PADS, one, run
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
ADDED = "z = Log (o) y = Add (x, z)"
HALF = " ".join(
    f"{to} = Cast <to = 10> ({of})" for to, of in (("h", "x"), ("l", "half_low"), ("t", "two"))
)
OVERFLOWS = "infinities as 'y' overflows"
BROUGHT = [
    # constants and fills
    ("y = Add (x, inf)", "infinities from 'inf'"),
    ("y = Mul (x, nan)", "NaN from 'nan'"),
    (LOW.replace("a =", "y ="), ""),
    ("a = Pad (x, p, inf) n = Neg (a) y = Relu (n)", ""),
    ("a = Pad (x, p, nan) y = Relu (a)", "NaN from 'nan'"),
    ('y = Pad <mode = "edge"> (x, p, inf)', ""),
    # overflows of a fill
    (f"{LOW} y = Mul (a, four)", OVERFLOWS),
    (f"{LOW} y = Mul (two, a)", OVERFLOWS),
    (f"{LOW} y = Mul (a, each)", OVERFLOWS),
    (f"{LOW} y = Mul (a, one)", ""),
    (f'{LOW} e = Pad <mode = "edge"> (x, p) y = Mul (a, e)', ""),
    (f"{LOW} y = Add (a, some)", OVERFLOWS),
    (f"{LOW} y = Add (a, ten)", ""),
    (f"{LOW} y = Add (a, a)", OVERFLOWS),
    (f"{LOW} y = Sub (a, high)", OVERFLOWS),
    (f"{LOW} y = Sub (a, low)", ""),
    (f"{LOW} y = Sum (a, one, one)", ""),
    (f"{LOW} y = Sum (a, one, some)", OVERFLOWS),
    (f"{LOW} y = Div (a, tenth)", OVERFLOWS),
    (f"{LOW} y = Div (a, two)", ""),
    (f"{LOW} y = LeakyRelu <alpha = 4.0> (a)", OVERFLOWS),
    (f"{LOW} y = LeakyRelu (a)", ""),
    (f"{LOW} y = PRelu (a, four)", OVERFLOWS),
    (f"{LOW} n = Neg (a) y = Exp (n)", OVERFLOWS),
    (f"{LOW} y = Exp (a)", ""),
    (f"{LOW} y = Pow (a, two)", OVERFLOWS),
    (f"{LOW} y = BatchNormalization (a, scales, zeros, zeros, ones)", OVERFLOWS),
    (f"{LOW} y = BatchNormalization (a, steady, zeros, zeros, ones)", ""),
    (f"{LOW} y = AveragePool <kernel_shape = [2, 2]> (a)", OVERFLOWS),
    (f"{LOW} m = MaxPool <kernel_shape = [2, 2]> (a) y = Mul (m, four)", OVERFLOWS),
    (f"{LOW} m = MaxPool <kernel_shape = [4, 5]> (a) y = Mul (m, four)", ""),
    # chains of operators
    (f"{LOW} m = Mul (a, four) y = Transpose (m)", "infinities as 'm' overflows"),
    (f"{LOW} m = Mul (a, four) y = Max (m, one)", ""),
    (f"{LOW} r = Relu (a) y = Mul (r, four)", ""),
    (f"{LOW} c = Clip (a, minus, ) y = Mul (c, four)", ""),
    (f"{LOW} c = Clip (a, , one) y = Mul (c, four)", OVERFLOWS),
    ("a = Pad (x, p, some) m = Mul (a, two) y = Mul (m, two)", OVERFLOWS),
    (f"{LOW} m = Mul (a, tenth) y = Mul (m, two)", ""),
    ("m = Mul (low, tenth) a = Pad (x, p, m) y = Mul (a, four)", ""),
    ("m = Mul (some, two) a = Pad (x, p, m) y = Mul (a, two)", OVERFLOWS),
    ("m = Mul (low, two) y = Pad (x, p, m)", "infinities as 'm' overflows"),
    # poles
    ("z = Log (zero) y = Add (x, z)", "infinities as 'z' takes the logarithm of 0"),
    ("z = Log (minus) y = Add (x, z)", "NaN as 'z' makes it of finite numbers"),
    ("z = Sqrt (minus) y = Add (x, z)", "NaN as 'z' makes it of finite numbers"),
    ("y = Div (x, zero)", "infinities as 'y' divides by 0"),
    ("y = Div (x, each)", ""),
    ("z = Div (zero, zero) y = Mul (x, z)", "NaN as 'z' makes it of finite numbers"),
    (f"o = Add (no, shift) {ADDED}", "infinities as 'z' takes the logarithm of 0"),
    (f"o = Add (both, shift) {ADDED}", ""),
    ("a = Pad (x, p) y = Div (one, a)", "infinities as 'y' divides by 0"),
    ("a = Pad (x, p) y = Reciprocal (a)", "infinities as 'y' divides by 0"),
    ("a = Pad (x, p, one) y = Log (a)", ""),
    ("z = Pow (zero, minus) y = Add (x, z)", "infinities as 'z' raises 0 to a power below 0"),
    # other types
    (f"{HALF} a = Pad (h, p, l) y = Mul (a, t)", OVERFLOWS),
    ("d = Cast <to = 11> (x) a = Pad (d, p, double_low) y = Mul (a, double_two)", OVERFLOWS),
    ("d = Cast <to = 11> (x) a = Pad (d, p, double_some) y = Mul (a, double_two)", ""),
    ("z = Cast <to = 1> (large) y = Add (x, z)", "infinities as 'z' overflows"),
    (f"{LOW} y = Cast <to = 10> (a)", OVERFLOWS),
    (f"{LOW} y = Cast <to = 16> (a)", OVERFLOWS),
    (f"{LOW} y = Cast <to = 11> (a)", ""),
    (f"{HALF} m = Cast <to = 10> (million) y = Add (h, m)", "infinities as 'm' overflows"),
]  # fmt: skip


def graph_of(body: str) -> Graph:
    outputs = "float[] y"
    return Graph.from_proto(one(body, outputs=outputs, initializers=GIVEN, opset=18))


@each_row(("body", "told"), BROUGHT)
def test_what_constants_make_for_every_input(body: str, told: str) -> None:
    graph = graph_of(body)
    origin = Infinities(graph, Analysis(graph)).origin(graph.tensor("y"))
    assert (f"{origin.what} {origin.why}" if origin else "") == told


def test_onnxruntime_makes_them_too() -> None:
    """In common data it finds what was told, and nothing where nothing was."""
    data = np.linspace(0.1, 0.5, 144, dtype=np.float32).reshape(1, 2, 9, 8)
    for body, told in BROUGHT:
        # It has few kernels for bfloat16, and computes float16 in float32 between two Casts.
        if "to = 16" not in body and HALF not in body:
            doubles = f"{body} doubles = Cast <to = 11> (y)"
            proto = one(doubles, outputs="double[] doubles", initializers=GIVEN, opset=18)
            (found,) = run(proto, {"x": data})
            what = "infinities" if np.isinf(found).any() else "NaN" if np.isnan(found).any() else ""
            assert told.partition(" ")[0] == what, body


POOL = "MaxPool <kernel_shape = [3, 3], pads = [2, 0, 2, 2]> (y)"
REFUSED = [each for each in BROUGHT if each[1] and "to = 1" not in each[0]]


@each_row(("body", "told"), REFUSED)
def test_no_maximum_over_them_is_rewritten(body: str, told: str) -> None:
    what, _, why = told.partition(" ")
    before = one(f"{body} out = {POOL}", outputs="float[] out", initializers=GIVEN, opset=18)
    result = onnxpad.fix(before, style="symmetric", validate=False)
    assert "PAD202" not in [change.code for change in result.changes]
    said = [each for each in result.findings if each.code == "PAD202"]
    assert [each.reason_code for each in said] == ["infinite-data"]
    assert f"holds {what}, {why}, and a window" in said[0].reason


@each_row(("body", "told"), REFUSED)
def test_nor_is_one_certified(body: str, told: str) -> None:
    what, _, why = told.partition(" ")
    padded = (
        "q = Pad (y, own, minus_inf) out = MaxPool <kernel_shape = [3, 3], pads = [2, 0, 2, 0]> (q)"
    )
    given = f"{GIVEN}, int64[8] own = {{0, 0, 0, 0, 0, 0, 0, 2}}, float minus_inf = {{-inf}}"
    found = []
    for each in (f"{body} out = {POOL}", f"{body} {padded}"):
        graph = Graph.from_proto(one(each, outputs="float[] out", initializers=given, opset=18))
        certifier = Certifier(graph, Analysis(graph), Signs(graph, Analysis(graph)))
        found.append((certifier, certifier.window(graph.tensor("out"))))
    (certifier, old), (_, new) = found
    with pytest.raises(UncertifiedError) as caught:
        certifier.certify(old, new)
    assert str(caught.value) == f"'y' holds {what}, {why}"


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
    around = Infinities(main, analysis)
    found = Infinities(inner, Analysis(inner, outer=analysis), around).origin(inner.tensor("p"))
    assert found is not None
    assert "'m'" in found.why


def test_a_deep_graph_is_looked_at_nearby_alone() -> None:
    """No Python stack is as deep as this graph, and what is far away is not found."""
    nodes = " ".join(f"t{i} = Add (t{i - 1}, t{i - 1})" for i in range(1, 5000))
    graph = graph_of(f"t0 = Mul (x, inf) {nodes} y = Neg (t4999)")
    infinities = Infinities(graph, Analysis(graph))
    assert infinities.origin(graph.tensor("t50")) is not None
    assert infinities.origin(graph.tensor("y")) is None


@pytest.mark.parametrize(("amount", "passes"), [(1, False), (3, True)])
def test_a_pool_passes_on_infinities_that_it_reads_alone(amount: int, passes: bool) -> None:
    pads = f"int64[8] p = {{0, 0, {amount}, 0, 0, 0, 0, 0}}"
    graph = Graph.from_proto(
        one(
            "a = Pad (x, p, c) y = MaxPool <kernel_shape = [3, 3]> (a)",
            initializers=f"{pads}, float c = {{-inf}}",
        )
    )
    assert (Signs(graph, Analysis(graph)).infinite(graph.tensor("y")) is not None) is passes


@each_row(
    ("attributes", "infinite"),
    [
        ("value = -inf", True),
        ("value = inf", True),
        ('mode = "constant", value = -inf', True),
        ('mode = "edge", value = -inf', False),
        ("value = 1.0", False),
        ('mode = "edge"', False),
        ("", False),
    ],
)
def test_a_fill_that_is_an_attribute_puts_infinities_in(attributes: str, infinite: bool) -> None:
    pads = ", ".join(filter(None, ("pads = [0, 0, 1, 0, 0, 0, 0, 0]", attributes)))
    for opset, amounts in ((10, ""), (11, ", p")):  # where onnxruntime ignores the attribute
        body = f"y = Pad <{pads}> (x{amounts})"
        graph = Graph.from_proto(one(body, initializers=PADS, opset=opset))
        found = Signs(graph, Analysis(graph)).infinite(graph.tensor("y"))
        assert (found is not None) is (infinite and opset == 10)
