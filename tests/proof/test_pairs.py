"""What the proof says of pairs of small graphs, drawn, is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff tests/proof`.
"""

from tests.proof import pairs
from tests.support.rows import each_row


@each_row("line", pairs.LINES.kept())
def test_what_is_proved(line: str) -> None:
    assert pairs.said(line) == line
