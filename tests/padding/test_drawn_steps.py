"""What becomes of padding behind drawn nodes is what is kept, by the table and by the proof.

After a change that is meant: `python -m tests.drawn`, then read `git diff`.
"""

from tests.padding import drawn_steps
from tests.support.rows import each_row


@each_row("line", drawn_steps.LINES.kept(), at_once=30)
def test_what_becomes_of_padding(line: str) -> None:
    assert drawn_steps.said(line) == line
