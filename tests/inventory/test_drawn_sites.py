"""What is told of padding that was drawn is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff tests/inventory`.
"""

from tests.inventory.drawn_sites import LINES, said
from tests.support.rows import each_row


@each_row("line", LINES.kept())
def test_what_is_told(line: str) -> None:
    assert said(line) == line
