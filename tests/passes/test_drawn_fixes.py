"""What `fix` makes of models that were drawn, and what it says, is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff tests/passes`.
"""

from tests.passes import drawn_fixes
from tests.support.rows import each_row


@each_row("line", drawn_fixes.LINES.kept(), at_once=8)
def test_what_is_made(line: str) -> None:
    assert drawn_fixes.said(line) == line
