"""What is written after edits that were drawn is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff tests/graph`.
"""

from tests.graph import edits
from tests.support.rows import each_row


@each_row("line", edits.LINES.kept(), at_once=10)
def test_what_is_written(line: str) -> None:
    assert edits.said(line) == line
