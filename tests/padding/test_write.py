"""The attributes that a padding of a site is written as."""

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph
from onnxpad.operators.read import read_transposed, read_window
from onnxpad.padding.padding import Padding
from onnxpad.padding.write import write
from tests.support import attributes, one
from tests.support.rows import each_row

NONE, ONE, TWO = (((amount, amount),) * 2 for amount in range(3))


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
         {"pads": [1, 1, 1, 1]}),
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
    write(graph, analysis, op, Padding(inner, counted=counts))
    (node,) = graph.model.to_proto().graph.node
    found = attributes(node)
    assert found.pop("kernel_shape") == [5, 5]
    assert {
        name: value.decode() if isinstance(value, bytes) else value for name, value in found.items()
    } == written


@each_row(
    ("said", "pads", "appended", "written"),
    [
        ("", (0, 0), 0, {}),
        ("", (1, 2), 1, {"output_padding": [1], "pads": [1, 2]}),
        ("pads = [1, 2]", (1, 2), 1, {"output_padding": [1], "pads": [1, 2]}),
        ("pads = [1, 2]", (0, 0), 0, {"pads": [0, 0]}),
        ("output_padding = [1], pads = [0, 1]", (0, 0), 0, {"pads": [0, 0]}),
        ("output_padding = [1]", (1, 0), 1, {"output_padding": [1], "pads": [1, 0]}),
        ("output_padding = [0]", (0, 0), 0, {}),
        ("output_shape = [7], output_padding = [1]", (0, 2), 0, {"pads": [0, 2]}),
        ("output_shape = [7], output_padding = [1]", (0, 2), 1,
         {"output_padding": [1], "pads": [0, 2]}),
        ('auto_pad = "SAME_UPPER"', (0, 1), 0, {"pads": [0, 1]}),
        ('auto_pad = "SAME_UPPER", pads = [2, 2]', (0, 0), 0, {"pads": [0, 0]}),
    ],
)  # fmt: skip
def test_the_attributes_of_a_transposed_convolution(
    said: str, pads: tuple[int, int], appended: int, written: dict[str, object]
) -> None:
    weight = f"float[2, 3, 3] w = {{{', '.join(['1'] * 18)}}}"
    more = f", {said}" if said else ""
    body = f"y = ConvTranspose <strides = [2]{more}> (x, w)"
    graph = Graph.from_proto(one(body, inputs="float[1, 2, 4] x", initializers=weight))
    analysis = Analysis(graph)
    op = read_transposed(graph, analysis, next(graph.nodes))
    write(graph, analysis, op, Padding((pads,), output_padding=(appended,)))
    (node,) = graph.model.to_proto().graph.node
    found = attributes(node)
    assert found.pop("strides") == [2]
    assert found == written
