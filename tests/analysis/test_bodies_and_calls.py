"""What is known of the results of functions and bodies, call by call."""

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Unknown
from onnxpad.graph import Graph
from tests.support import parsed

CALLS = """<ir_version: 9, opset_import: ["": 17, "own": 1]>
g () => (float[?] y, float[?] z) <{given}> {{ y = own.Sized (a) z = own.Sized (b) }}
<domain: "own", opset_import: ["": 17]>
Sized (n) => (r) {{ {body} r = ConstantOfShape (s) }}"""


def shapes(given: str, body: str) -> list[object]:
    """The shapes of a function's results, called with two values."""
    graph = Graph.from_proto(parsed(CALLS.format(given=given, body=body)))
    analysis = Analysis(graph)
    return [analysis.shape(graph.tensor(name)) for name in "yz"]


def test_calls_with_integers_that_are_one_number_as_floats_are_two() -> None:
    most = 2**53
    body = f"k = Constant <value = int64[1] {{{most - 2}}}> () s = Sub (n, k)"
    given = f"int64[1] a = {{{most}}}, int64[1] b = {{{most + 1}}}"
    assert shapes(given, body) == [(2,), (3,)]


def test_calls_with_fractions_of_one_whole_number_are_two() -> None:
    body = "k = Constant <value = float {8}> () m = Mul (n, k) s = Cast <to = 7> (m)"
    assert shapes("float[1] a = {0.5}, float[1] b = {0.25}", body) == [(4,), (2,)]


def test_calls_with_other_truths_are_two() -> None:
    assert shapes("bool[1] a = {1}, bool[1] b = {0}", "s = Cast <to = 7> (n)") == [(1,), (0,)]


def test_a_result_of_branches_is_what_both_have() -> None:
    graph = Graph.from_proto(
        parsed(
            "g (bool c, float[2, 3, n] x) => (float[?, ?, ?] y) { y = If (c) "
            "<then_branch = t () => (float[?, ?, ?] u) { u = Relu (x) }, "
            "else_branch = f () => (float[?, ?, ?] v) { v = Concat <axis = 1> (x, x) }> }"
        )
    )
    shape = Analysis(graph).shape(graph.tensor("y"))
    assert shape is not None
    assert (shape[0], isinstance(shape[1], Unknown), str(shape[2])) == (2, True, "n")
