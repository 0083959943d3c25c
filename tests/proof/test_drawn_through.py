"""What steps on padded data hand on, drawn, is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff tests/proof`.
"""

from tests.proof import drawn_through
from tests.support.rows import each_row


@each_row("line", drawn_through.LINES.kept())
def test_what_is_handed_on(line: str) -> None:
    assert drawn_through.said(line) == line
