"""What is known of the results of functions and bodies, call by call."""

from typing import Any

from onnxpad.arithmetic.size import Unknown, symbol
from onnxpad.facts import Analysis
from onnxpad.facts.engine import common
from onnxpad.facts.shape_rules import NOTHING, PassedFacts
from onnxpad.graph import Graph
from tests.support import parsed
from tests.support.rows import each_row


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
