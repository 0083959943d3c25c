"""The total padding of a window operator: its own, and that of the `Pad`s upstream."""

from onnxpad.facts import Analysis
from onnxpad.frameworks.reading import Site, SiteReader, steps_of
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.semantics.layers import ExtentPairs
from onnxpad.semantics.operators import read_window
from tests.support import one
from tests.support.rows import each_row

GIVEN = f"""
    float[3, 2, 3, 3] w = {{{", ".join(["1"] * 54)}}}, int64[1] i = {{2}}, int64[1] e = {{7}},
    int64[8] p = {{0, 0, 1, 2, 0, 0, 3, 4}}, int64[8] q = {{0, 9, 5, 0, 0, 0, 0, 7}},
    int64[8] none = {{0, 0, 0, 0, 0, 0, 0, 0}}
"""


def site_of(body: str) -> Site:
    """The operator that gives `y`."""
    inputs = "float[1, 2, 9, 8] x, float[1, 2, h, w] open, int64[8] r"
    graph = Graph.from_proto(one(body, inputs=inputs, initializers=GIVEN))
    analysis, node = Analysis(graph), graph.tensor("y").producer
    assert node is not None
    return SiteReader(graph, analysis).of(read_window(graph, analysis, node))


@each_row(
    ("attributes", "inputs", "own"),
    [
        ("", "x", ((0, 0), (0, 0))),
        ("pads = [1, 0, 2, 3]", "x", ((1, 2), (0, 3))),
        ('auto_pad = "VALID"', "x", ((0, 0), (0, 0))),
        ('auto_pad = "SAME_UPPER"', "x", ((1, 1), (1, 1))),
        ('auto_pad = "SAME_UPPER", strides = [2, 2]', "x", ((1, 1), (0, 1))),
        ('auto_pad = "SAME_LOWER", strides = [2, 2]', "x", ((1, 1), (1, 0))),
        ('auto_pad = "SAME_UPPER", strides = [2, 2]', "u", None),
    ],
)
def test_the_own_padding_of_an_operator(attributes: str, inputs: str, own: object) -> None:
    """The total on each axis, in constant amounts that read the same."""
    given = ", ".join(filter(None, ["kernel_shape = [3, 3]", attributes]))
    front = "Relu" if inputs == "x" else "vendor.Odd"
    assert site_of(f"a = {front} (x) y = Conv <{given}> (a, w)").own == own


@each_row(
    ("front", "amounts"),
    [
        ("a = Identity (x)", ((0, 0), (0, 0))),
        ("a = Pad (x, p)", ((1, 3), (2, 4))),
        ("b = Pad (x, p) a = Pad (b, q)", ((6, 3), (2, 11))),
        ("b = Pad (x, p) a = Identity (b)", ((1, 3), (2, 4))),
        ("b = Pad (x, p) c = Relu (b) a = Pad (c, q)", ((6, 3), (2, 11))),
        ('b = Pad <mode = "reflect"> (x, p) a = Relu (b)', ((0, 0), (0, 0))),
        ("b = Pad (x, p) a = Softmax (b)", ((0, 0), (0, 0))),
        ("b = Pad (x, p) a = Add (b, b)", ((0, 0), (0, 0))),
        ("b = Pad (x, p) c = Pad (x, q) a = Concat <axis = 1> (b, c)", ((0, 0), (0, 0))),
        ("b = Pad (x, q) a = Transpose <perm = [0, 2, 1, 3]> (b)", ((9, 0), (0, 7))),
        ("b = Pad (x, q) a = Transpose (b)", ((9, 0), (0, 0))),
        (
            "b = Pad (x, q) c = Transpose <perm = [0, 1, 3, 2]> (b) a = Pad (c, p)",
            ((1, 10), (7, 4)),
        ),
        ("b = Pad (x, p) a = Transpose <perm = [0, 1, 2]> (b)", ((0, 0), (0, 0))),
        (
            "b = Slice (x, i, e, i) c = Pad (b, p) a = Transpose <perm = [0, 1, 3, 2]> (c)",
            ((2, 4), (1, 3)),
        ),
        ("b = Pad (x, p) a = Slice (b, i, e, i)", ((0, 0), (2, 4))),
        ("a = Pad (x, r)", None),
        ("b = Pad (x, r) a = Relu (b)", ((0, 0), (0, 0))),
    ],
)
def test_the_padding_in_front_of_an_operator(front: str, amounts: ExtentPairs | None) -> None:
    site = site_of(f"{front} y = Conv (a, w)")
    assert site.front.amounts == site.total == amounts


def test_a_tensor_that_is_read_twice_at_each_of_many_steps() -> None:
    """Each `Pad` is listed once; lists of all ways to it would fill any memory."""
    steps = " ".join(
        f"c{i} = Concat <axis = 1> (a{i}, a{i}) a{i + 1}, s{i} = Split <axis = 1> (c{i})"
        for i in range(22)
    )
    site = site_of(f"a0 = Pad (x, p) {steps} y = Conv (a22, w)")
    assert site.front.amounts == ((1, 3), (2, 4))
    (path,) = site.front.pads
    assert len(steps_of(path)) == 44


@each_row(
    ("op", "front", "whole"),
    [
        ("AveragePool", "Identity (x)", Padding(((0, 1), (1, 0)))),
        ("AveragePool", "Pad (x, p)", Padding(((1, 4), (3, 4)), counted=True)),
        ("AveragePool", "Pad (x, none)", Padding(((0, 1), (1, 0)))),
        ("MaxPool", "Pad (open, p)", Padding(((1, 4), (3, 4)))),
        ("MaxPool", "Pad (x, r)", None),
        ("MaxPool same", "Identity (x)", Padding(((1, 1), (1, 0)))),
        ("MaxPool same", "Pad (x, p)", Padding(((2, 4), (3, 4)))),  # SAME of 13 x 14
        ("MaxPool same", "Pad (open, p)", None),
    ],
)
def test_an_operator_with_all_its_padding(op: str, front: str, whole: Padding | None) -> None:
    """As one padding in numbers; none where a part of it depends on an open size."""
    name, _, same = op.partition(" ")
    written = 'auto_pad = "SAME_LOWER"' if same else "pads = [0, 1, 1, 0]"
    given = f"kernel_shape = [3, 3], strides = [2, 2], {written}"
    assert site_of(f"a = {front} y = {name} <{given}> (a)").whole == whole
