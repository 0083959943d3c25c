"""The padding that differs between two models, where a node upstream hides the sizes of one."""

import pytest

from onnxpad.analysis import Analysis
from onnxpad.graph import Graph
from onnxpad.operators.read import read_window
from onnxpad.padding.differences import own_padding, padding_differences, padding_in_front
from onnxpad.padding.sinking import Sinking
from tests.support import W, one

PADDING = {
    "upper": 'auto_pad = "SAME_UPPER"',
    "lower": 'auto_pad = "SAME_LOWER"',
    "ones": "pads = [1, 1, 1, 1]",
    "more": "pads = [2, 1, 1, 1]",
}
KNOWN, HIDDEN = "Relu", "vendor.Odd"


def differ(upstream: tuple[str, str], padding: tuple[str, str]) -> bool:
    graphs = [
        Graph.from_proto(
            one(f"r = {op} (x) y = Conv <{PADDING[each]}, strides = [2, 2]> (r, w)", initializers=W)
        )
        for op, each in zip(upstream, padding, strict=True)
    ]
    return bool(padding_differences(graphs[0], graphs[1]))


@pytest.mark.parametrize(
    ("before", "after", "known", "hidden_after", "hidden_before"),
    [
        ("upper", "upper", False, False, False),
        ("upper", "lower", True, False, False),
        ("upper", "ones", True, True, False),
        ("lower", "ones", False, False, False),  # no window reads what differs
        ("lower", "more", True, True, False),
        ("ones", "upper", True, False, True),
        ("ones", "ones", False, False, False),
        ("ones", "more", True, True, True),
        ("more", "lower", True, False, True),
    ],
)
def test_what_is_hidden_is_not_held_against_an_operator(
    before: str, after: str, known: bool, hidden_after: bool, hidden_before: bool
) -> None:
    padding = before, after
    assert differ((KNOWN, KNOWN), padding) is known
    assert differ((KNOWN, HIDDEN), padding) is hidden_after
    assert differ((HIDDEN, KNOWN), padding) is hidden_before


@pytest.mark.parametrize(
    ("attributes", "inputs", "own"),
    [
        ("", "x", (((0, 0), (0, 0)), ((0, 0), (0, 0)))),
        ("pads = [1, 0, 2, 3]", "x", (((1, 2), (0, 3)), ((1, 2), (0, 3)))),
        ('auto_pad = "VALID"', "x", (((0, 0), (0, 0)), ((0, 0), (0, 0)))),
        ('auto_pad = "SAME_UPPER"', "x", (((1, 1), (1, 1)), ((1, 1), (1, 1)))),
        ('auto_pad = "SAME_UPPER", strides = [2, 2]', "x", (((1, 1), (0, 1)), ((1, 1), (0, 1)))),
        ('auto_pad = "SAME_LOWER", strides = [2, 2]', "x", (((1, 1), (1, 0)), ((1, 1), (1, 0)))),
        ('auto_pad = "SAME_UPPER", strides = [2, 2]', "u", (None, None)),
    ],
)
def test_the_own_padding_of_an_operator(attributes: str, inputs: str, own: object) -> None:
    """The total on each axis, and constant amounts that read the same."""
    given = ", ".join(filter(None, ["kernel_shape = [3, 3]", attributes]))
    text = f"r = {KNOWN if inputs == 'x' else HIDDEN} (x) y = Conv <{given}> (r, w)"
    graph = Graph.from_proto(one(text, initializers=W3))
    analysis, node = Analysis(graph), graph.producer(graph.tensor("y"))
    assert node is not None
    assert own_padding(analysis, read_window(graph, analysis, node)) == own


W3 = "float[3, 2, 3, 3] w = {" + ", ".join(["1"] * 54) + "}"
FRONT = f"""
    {W3}, int64[8] p = {{0, 0, 1, 2, 0, 0, 3, 4}}, int64[8] q = {{0, 9, 5, 0, 0, 0, 0, 7}}
"""


@pytest.mark.parametrize(
    ("front", "amounts"),
    [
        ("a = Identity (x)", ((0, 0), (0, 0))),
        ("a = Pad (x, p)", ((1, 3), (2, 4))),
        ("b = Pad (x, p) a = Pad (b, q)", ((6, 3), (2, 11))),
        ("b = Pad (x, p) a = Identity (b)", ((1, 3), (2, 4))),
        ("b = Pad (x, p) c = Relu (b) a = Pad (c, q)", ((6, 3), (2, 11))),
        ("b = Pad (x, p) a = Softmax (b)", ((0, 0), (0, 0))),
        ("b = Pad (x, q) a = Transpose <perm = [0, 2, 1, 3]> (b)", ((9, 0), (0, 7))),
        ("b = Pad (x, q) a = Transpose (b)", ((9, 0), (0, 0))),
        (
            "b = Pad (x, q) c = Transpose <perm = [0, 1, 3, 2]> (b) a = Pad (c, p)",
            ((1, 10), (7, 4)),
        ),
        ("b = Pad (x, p) a = Transpose <perm = [0, 1, 2]> (b)", None),
        ("a = Pad (x, r)", None),
    ],
)
def test_the_padding_in_front_of_an_operator(front: str, amounts: object) -> None:
    model = one(
        f"{front} y = Conv (a, w)",
        inputs="float[1, 2, 9, 8] x, int64[8] r",
        initializers=FRONT,
    )
    graph = Graph.from_proto(model)
    analysis, node = Analysis(graph), graph.producer(graph.tensor("y"))
    assert node is not None
    sinking = Sinking(graph, analysis)
    assert padding_in_front(graph, analysis, node, 2, sinking) == amounts
