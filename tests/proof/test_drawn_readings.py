"""What the proof reads of drawn windows and `Pad`s is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff`.
"""

from tests.proof import drawn_readings
from tests.support.rows import each_row


@each_row("line", drawn_readings.LINES.kept(), at_once=30)
def test_what_is_read(line: str) -> None:
    assert drawn_readings.said(line) == line
