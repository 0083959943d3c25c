"""The padding that differs between two models, where a node upstream hides the sizes of one."""

import pytest

from onnxpad.graph import Graph
from onnxpad.inventory import padding_differences
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
