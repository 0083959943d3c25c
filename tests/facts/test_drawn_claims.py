"""What is claimed of nodes drawn over a pool of tensors is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff tests/facts`.
"""

import pytest

from tests.facts import drawn
from tests.support.rows import each_row

AT_ONCE = 60

KEPT = [
    pytest.param(opset, nodes[start : start + AT_ONCE], id=f"opset {opset}, from {start}")
    for opset, nodes in drawn.kept().items()
    for start in range(0, len(nodes), AT_ONCE)
]
BY_DAY, BY_NIGHT = KEPT[::4], [each for place, each in enumerate(KEPT) if place % 4]


def claims_are_kept(opset: int, lines: list[tuple[str, str]]) -> None:
    found = drawn.claimed([node for node, _ in lines], opset)
    assert [f"{node}: {claims}" for (node, _), claims in zip(lines, found, strict=True)] == [
        f"{node}: {claims}" for node, claims in lines
    ]


@each_row(("opset", "lines"), BY_DAY, at_once=1)
def test_what_is_claimed(opset: int, lines: list[tuple[str, str]]) -> None:
    claims_are_kept(opset, lines)


@pytest.mark.night
@each_row(("opset", "lines"), BY_NIGHT, at_once=1)
def test_what_is_claimed_of_the_others(opset: int, lines: list[tuple[str, str]]) -> None:
    claims_are_kept(opset, lines)
