"""The padding that differs between two models, where a node upstream hides the sizes of one."""

import pytest

from onnxpad.graph import Graph
from onnxpad.inventory.differences import padding_differences
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


def test_amounts_of_open_sizes_have_a_legend() -> None:
    same, other = (
        one(
            f"[c] y = Conv <{padding}, strides = [2, 2]> (x, w)",
            inputs="float[n, 1, h, ?] x",
            initializers="float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}",
        )
        for padding in ('auto_pad = "SAME_UPPER"', "pads = [1, 1, 1, 1]")
    )
    (found,) = padding_differences(Graph.from_proto(same), Graph.from_proto(other))
    assert found.by_axis == (
        (
            "H (h mod 2)+1, W (x[3] mod 2)+1 "
            "(h is axis 2 of input 'x' and x[3] is axis 3 of input 'x')"
        ),
        "H 1+1, W 1+1",
    )
    assert found.pads == ("[(h mod 2), (x[3] mod 2), 1, 1]", "[1, 1, 1, 1]")
