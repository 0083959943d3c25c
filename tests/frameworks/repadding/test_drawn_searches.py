"""What searches find, and which trials they make for it, is what is kept.

After a change that is meant: `python -m tests.drawn`, then read
`git diff`.
"""

from tests.frameworks.repadding import drawn_searches
from tests.support.rows import each_row


@each_row("line", drawn_searches.LINES.kept(), at_once=3)
def test_what_is_found(line: str) -> None:
    assert drawn_searches.said(line) == line
