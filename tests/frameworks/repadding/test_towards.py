"""Operators that `repad` leaves since `Pad`s upstream pad their data too."""

import pytest

from onnxpad.frameworks.conventions.table import FRAMEWORKS
from onnxpad.frameworks.repadding.towards import repad_graph
from onnxpad.graph import Graph
from tests.support import one

WEIGHT = "float[3, 4, 3, 3] w = {" + ", ".join(["1"] * 108) + "}"
AMOUNTS = "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, int64[8] q = {0, 0, 2, 0, 0, 0, 0, 2}"

STAYS = "a Pad in front of it, which could not be folded, pads its data too"


@pytest.mark.parametrize(
    ("front", "stays"),
    [
        ("b = Relu (x) c = Abs (x)", False),
        ("b = Pad (x, p) c = Pad (x, p)", True),
        ("b = Pad (x, p) c = Pad (x, q)", False),  # of which the proof carries nothing on
    ],
)
def test_pads_upstream_of_a_concat(front: str, stays: bool) -> None:
    conv = 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)'
    model = one(f"{front} a = Concat <axis = 1> (b, c) {conv}", initializers=f"{WEIGHT}, {AMOUNTS}")
    changes, unchanged = repad_graph(Graph.from_proto(model), FRAMEWORKS["pytorch"])
    assert [each.reason for each in unchanged] == [STAYS] * stays
    assert len(changes) == 1 - stays
