"""What `repad` writes of drawn operators, for every framework, is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff`.
"""

import pytest

from tests.frameworks.repadding import drawn
from tests.support.rows import one_in

AT_ONCE = 12
KEPT = [
    (opset, its[start : start + AT_ONCE])
    for opset, its in drawn.kept().items()
    for start in range(0, len(its), AT_ONCE)
]


@pytest.mark.parametrize(("opset", "lines"), one_in(3, KEPT))
def test_what_is_written(opset: int, lines: list[tuple[str, str]]) -> None:
    bodies = [body for body, _ in lines]
    assert [*zip(bodies, drawn.written(bodies, opset), strict=True)] == lines
