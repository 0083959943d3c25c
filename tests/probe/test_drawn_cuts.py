"""What is cut out of a graph for a probe is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff`.
"""

from tests.probe import drawn_cuts
from tests.support.rows import each_row


@each_row("line", drawn_cuts.LINES.kept(), at_once=6)
def test_what_is_cut(line: str) -> None:
    assert drawn_cuts.said(line) == line
