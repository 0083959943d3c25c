"""The paddings tried for operators, and the copies that take them as inputs, are what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff`.
"""

from tests.frameworks.repadding import drawn_copies
from tests.support.rows import each_row


@each_row("line", drawn_copies.LINES.kept(), at_once=4)
def test_what_is_tried(line: str) -> None:
    assert drawn_copies.said(line) == line
