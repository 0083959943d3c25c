"""What a plan for the padding of a site writes."""

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph
from onnxpad.operators.read import read_window
from onnxpad.padding.plan import Plan, express
from tests.support import attributes, one
from tests.support.rows import each_row

NONE, ONE, TWO = ((0, 0), (0, 0)), ((1, 1), (1, 1)), ((2, 2), (2, 2))


@each_row(
    ("said", "inner", "counts", "written"),
    [
        ("", NONE, False, {}),
        ("", ONE, False, {"pads": [1, 1, 1, 1]}),
        ("", ONE, True, {"pads": [1, 1, 1, 1], "count_include_pad": 1}),
        ("pads = [1, 1, 1, 1]", ONE, False, {"pads": [1, 1, 1, 1]}),
        ("pads = [1, 1, 1, 1]", TWO, False, {"pads": [2, 2, 2, 2]}),
        ("pads = [1, 1, 1, 1]", NONE, False, {"pads": [0, 0, 0, 0]}),
        ("pads = [0, 0, 0, 0]", NONE, False, {"pads": [0, 0, 0, 0]}),
        ('auto_pad = "VALID"', NONE, False, {}),
        ('auto_pad = "VALID", pads = [1, 1, 1, 1]', NONE, False, {"pads": [0, 0, 0, 0]}),
        ('auto_pad = "VALID"', ONE, False, {"pads": [1, 1, 1, 1]}),
        ('auto_pad = "SAME_UPPER"', ONE, False, {"pads": [1, 1, 1, 1]}),
        ('auto_pad = "NOTSET"', ONE, False, {"auto_pad": "NOTSET", "pads": [1, 1, 1, 1]}),
        ("count_include_pad = 1, pads = [1, 1, 1, 1]", ONE, False,
         {"count_include_pad": 0, "pads": [1, 1, 1, 1]}),
        ("count_include_pad = 1", NONE, True, {"count_include_pad": 1}),
    ],
)  # fmt: skip
def test_the_attributes_of_an_average(
    said: str, inner: tuple[tuple[int, int], ...], counts: bool, written: dict[str, object]
) -> None:
    more = f", {said}" if said else ""
    graph = Graph.from_proto(one(f"y = AveragePool <kernel_shape = [5, 5]{more}> (x)"))
    analysis = Analysis(graph)
    op = read_window(graph, analysis, next(graph.nodes))
    express(graph, analysis, Plan(op, inner, NONE, op.data, None, counts))
    (node,) = graph.to_proto().graph.node
    found = attributes(node)
    assert found.pop("kernel_shape") == [5, 5]
    assert {
        name: value.decode() if isinstance(value, bytes) else value for name, value in found.items()
    } == written
