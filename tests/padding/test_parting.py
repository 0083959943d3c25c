"""The amounts of a `Pad` that are sure to be what it says, and how they are parted."""

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph
from onnxpad.operators.read import read_pad
from onnxpad.padding.parting import parts, sound_amounts
from onnxpad.padding.sinking import Sinking
from tests.support import W, one
from tests.support.rows import each_row

GIVEN = f"""
    int64[8] p = {{0, 0, 1, 2, 0, 0, 0, 1}}, int64[8] c = {{0, 1, -1, 2, 0, 0, 0, -8}},
    int64[8] long = {{0, 0, 0, 2, 0, 0, 0, -9}}, int64[8] h = {{0, 0, -1, 0, 0, 0, 0, 0}},
    int64[8] two = {{0, 0, -1, 0, 0, 0, -1, 0}}, int64[4] few = {{1, -1, 0, 3}},
    int64[2] axes = {{2, -1}}, float one = {{1}}, {W}
"""


def test_amounts_that_are_sure() -> None:
    """A crop of more than there is takes from what is padded on the other side."""
    cases = {
        "(x, p)": ((0, 0), (0, 0), (1, 0), (2, 1)),
        "(x, c)": ((0, 0), (1, 0), (-1, 0), (2, -8)),
        "(x, long)": None,
        "(x, h)": ((0, 0), (0, 0), (-1, 0), (0, 0)),
        "(x, two)": None,
        "(x, q)": None,
        "(x, few, , axes)": ((0, 0), (0, 0), (1, 0), (-1, 3)),
        "(r, p)": ((0, 0), (0, 0), (1, 0), (2, 1)),
        "(r, h)": None,
        "(r, few, , axes)": None,
    }
    for inputs, expected in cases.items():
        nodes = f"r = Reshape (x, k) y = Pad {inputs}"
        given = "float[1, 2, n, 8] x, int64[8] q, int64[d] k"
        graph = Graph.from_proto(one(nodes, inputs=given, initializers=GIVEN, opset=18))
        node = graph.producer(graph.tensor("y"))
        assert node is not None
        analysis = Analysis(graph)
        assert sound_amounts(analysis, read_pad(graph, analysis, node)) == expected, inputs


@each_row(
    ("pad", "readers", "stays", "goes"),
    [
        ("Pad (x, c)", "y = Conv (a, w)", ((0, 0), (1, 0), (-1, 0), (0, -8)),
         ((0, 0), (0, 0), (0, 0), (2, 0))),
        ("Pad (x, p)", "y = Conv (a, w)", None, None),
        ("Pad (x, h)", "y = Conv (a, w)", None, None),
        ('Pad <mode = "edge"> (x, c)', "y = Conv (a, w)", None, None),
        ("Pad (x, c)", "y = ConvTranspose (a, w)", None, None),
        ("Pad (x, c)", "y = Relu (a)", None, None),
        ("Pad (x, c, one)", "b = Conv (a, w) y = MaxPool <kernel_shape = [2, 2]> (a)",
         ((0, 0), (1, 0), (-1, 0), (0, -8)), ((0, 0), (0, 0), (0, 0), (2, 0))),
        ("Pad (x, c)", "b = com.microsoft.NhwcMaxPool <kernel_shape = [2, 2]> (a) y = Conv (a, w)",
         ((0, 0), (1, 0), (-1, 0), (2, -8)), None),
        ("Pad (x, c)", "y = com.microsoft.NhwcMaxPool <kernel_shape = [2, 2]> (a)",
         ((0, 0), (0, 0), (-1, 0), (2, -8)), ((0, 0), (1, 0), (0, 0), (0, 0))),
    ],
)  # fmt: skip
def test_what_windows_could_take_over(pad: str, readers: str, stays: object, goes: object) -> None:
    model = one(f"a = {pad} {readers}", inputs="float[1, 2, 9, 8] x", initializers=GIVEN)
    graph = Graph.from_proto(model)
    analysis = Analysis(graph)
    tensor = graph.tensor("a")
    node = graph.producer(tensor)
    assert node is not None
    uses = [use.node for use in graph.uses(tensor)]
    found = parts(graph, analysis, read_pad(graph, analysis, node), uses)
    assert found == (None if goes is None else (stays, goes))


@each_row(
    ("pad", "layer"),
    [
        ("Pad (x, p)", (((0, 0), (0, 0), (1, 0), (2, 1)), 0)),
        ("Pad (x, p, one)", (((0, 0), (0, 0), (1, 0), (2, 1)), 1.0)),
        ("Pad (x, p, s)", None),
        ('Pad <mode = "edge"> (x, p)', None),
        ('Pad <mode = "edge"> (x, p, s)', None),
        ("Pad (x, long)", None),
        ("Pad (x, nothing)", None),
    ],
)
def test_the_layer_of_a_pad_that_may_sink(pad: str, layer: object) -> None:
    given = f"{GIVEN}, int64[8] nothing = {{0, 0, 0, 0, 0, 0, 0, 0}}"
    inputs = "float[1, 2, 9, 8] x, float s"
    graph = Graph.from_proto(one(f"y = {pad}", inputs=inputs, initializers=given))
    analysis, (node,) = Analysis(graph), graph.nodes
    assert Sinking(graph, analysis).pad(read_pad(graph, analysis, node)) == layer
