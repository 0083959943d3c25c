"""What is said of the cases chosen by hand is what is kept."""

from onnxpad.facts import Analysis
from onnxpad.frameworks.reading import SiteReader, steps_of
from onnxpad.graph import Graph
from onnxpad.semantics.operators import read_window
from tests.frameworks.cases import CASES, said
from tests.support import BORDER, W, one
from tests.support.rows import each_row


@each_row("line", CASES.kept(), at_once=12)
def test_what_is_said(line: str) -> None:
    assert said(line) == line


def test_a_tensor_that_is_read_twice_at_each_of_many_steps() -> None:
    """Each `Pad` is listed once; lists of all ways to it would fill any memory."""
    steps = " ".join(
        f"c{i} = Concat <axis = 1> (a{i}, a{i}) a{i + 1}, s{i} = Split <axis = 1> (c{i})"
        for i in range(22)
    )
    model = one(f"a0 = Pad (x, p) {steps} y = Conv (a22, w)", initializers=f"{W}, {BORDER}")
    graph = Graph.from_proto(model)
    analysis, node = Analysis(graph), graph.tensor("y").producer
    assert node is not None
    front = SiteReader(graph, analysis).of(read_window(graph, analysis, node)).front
    assert front.amounts == ((1, 1), (1, 1))
    (path,) = front.pads
    assert len(steps_of(path)) == 44
