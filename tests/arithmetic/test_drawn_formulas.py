"""What is known of formulas of open sizes, and of windows over them, drawn, is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff tests/arithmetic`.
"""

from tests.arithmetic import drawn_formulas
from tests.support.rows import each_row


@each_row("line", drawn_formulas.LINES.kept())
def test_what_is_known(line: str) -> None:
    assert drawn_formulas.said(line) == line
