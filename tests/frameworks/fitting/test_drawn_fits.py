"""Which conventions the padding of drawn operators fits is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff tests/frameworks`.
"""

from tests.frameworks.fitting import drawn_fits
from tests.support.rows import each_row


@each_row("line", drawn_fits.LINES.kept(), at_once=8)
def test_what_fits(line: str) -> None:
    assert drawn_fits.said(line) == line
