"""What is named as the cause of a content that is unknown."""

import pytest

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph
from onnxpad.sizes.wording import Provenance
from tests.support import one
from tests.support.rows import each_row

GIVEN = "float e = {1.5}, bool yes = {1}"
INPUTS = "float x, float[2, 3] image"
NODES = "r = Exp (e) l = Log (e) s = Shape (image) n = Neg (x) a = Add (r, n) y = Cos (r)"


def graph_of(body: str) -> Graph:
    return Graph.from_proto(one(body, inputs=INPUTS, initializers=GIVEN))


@each_row(
    ("names", "told"),
    [
        (["r"], "Exp '<r>', which is not evaluated"),
        (["r", "l"], "Exp '<r>', which is not evaluated"),
        (["l", "r"], "Log '<l>', which is not evaluated"),
        (["e", "l", "s"], "Log '<l>', which is not evaluated"),
        (["y"], "Exp '<r>', which is not evaluated"),
        (["e", "s"], ""),
        (["r", "n"], ""),
        (["a"], ""),
        (["x"], ""),
    ],
)
def test_the_first_node_that_is_not_evaluated_is_named(names: list[str], told: str) -> None:
    graph = graph_of(NODES)
    assert Provenance(graph, Analysis(graph)).obstacle(map(graph.tensor, names)) == told


@pytest.mark.parametrize(
    ("captured", "told"), [("r", "Exp '<r>', which is not evaluated"), ("x", ""), ("n", "")]
)
def test_a_body_asks_the_graph_around_it(captured: str, told: str) -> None:
    graph = graph_of(
        f"{NODES} z = If (yes) <then_branch = t () => (float u) {{ u = Sin ({captured}) }},"
        " else_branch = f () => (float v) { v = Identity (e) }>"
    )
    (node,) = (each for each in graph.nodes if each.op == "If")
    body = next(graph.bodies(node))
    analysis = Analysis(graph)
    inside = analysis.of_body(body, {})
    around = Provenance(graph, analysis)
    assert Provenance(body, inside, around).obstacle([body.tensor("u")]) == told
    assert Provenance(body, inside).obstacle([body.tensor("u")]) == ""
