"""What is known of the results of functions and bodies, call by call."""

from typing import Any

from onnxpad.arithmetic.size import Unknown, symbol
from onnxpad.facts import Analysis, Value
from onnxpad.facts.engine import common
from onnxpad.facts.shape_rules import NOTHING, PassedFacts, elements
from onnxpad.graph import Graph
from tests.support import parsed
from tests.support.rows import each_row

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


N = symbol("n")
RUN: Any = Unknown("run time alone knows it")


def content(*items: object, dtype: int = 7, shape: tuple[int, ...] | None = None) -> Value:
    return Value(dtype, elements(items, (len(items),) if shape is None else shape))


@each_row(
    ("one", "other", "same"),
    [
        (None, None, False),
        (content(1), None, False),
        (None, content(1), False),
        (content(1), content(1), True),
        (content(1, 2), content(1, 2), True),
        (content(1, 2), content(1, 3), False),
        (content(2, 1), content(3, 1), False),
        (content(1, 2), content(1), False),
        (content(1, 2), content(1, 2, shape=(1, 2)), False),
        (content(1), content(1.0), False),
        (content(0.5, dtype=1), content(0.5, dtype=1), True),
        (content(0.0, dtype=1), content(-0.0, dtype=1), False),
        (content(N), content(N), True),
        (content(N), content(N + 1), False),
        (content(RUN), content(RUN), False),
        (content(1, RUN), content(1, RUN), False),
        (content(), content(), True),
    ],
)
def test_contents_that_are_common(one: Value | None, other: Value | None, same: bool) -> None:
    found = common(PassedFacts(7, (1,), one), PassedFacts(7, (1,), other))
    assert (found.dtype, found.shape) == (7, (1,))
    kept = found.value is not None and Unknown not in map(type, found.value.flat)
    assert kept is same


@each_row(
    ("one", "other", "expected"),
    [
        (None, None, None),
        ((1, 2), None, None),
        (None, (1, 2), None),
        ((1, 2), (1, 2, 3), None),
        ((), (), ()),
        ((1, 2), (1, 2), (1, 2)),
        ((1, 2), (1, 3), (1, None)),
        ((2, 1), (3, 1), (None, 1)),
        ((N, N), (N, N + 1), (N, None)),
        ((RUN, 1), (RUN, 1), (None, 1)),
        ((1, N), (1, 1), (1, None)),
    ],
)
def test_shapes_that_are_common(one: Any, other: Any, expected: Any) -> None:
    shape = common(PassedFacts(1, one), PassedFacts(6, other)).shape
    assert (shape is None) is (expected is None)
    assert [None if isinstance(each, Unknown) else each for each in shape or ()] == [
        *(expected or ())
    ]


def test_types_that_are_common() -> None:
    kinds = (1, 1), (1, 6), (None, 1), (1, None), (None, None)
    assert [common(PassedFacts(a), PassedFacts(b)).dtype for a, b in kinds] == [1] + [None] * 4
    assert common(NOTHING, NOTHING) == NOTHING
