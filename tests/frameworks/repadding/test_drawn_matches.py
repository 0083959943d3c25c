"""The padding that is found for a reference, and in how many runs, is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff`.
"""

from tests.frameworks.repadding import drawn_matches
from tests.support.rows import each_row


@each_row("line", drawn_matches.LINES.kept(), at_once=2)
def test_what_is_found(line: str) -> None:
    assert drawn_matches.said(line) == line
