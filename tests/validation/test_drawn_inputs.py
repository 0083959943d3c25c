"""The inputs drawn for a model, and the sizes tried for its open axes, are what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff`.
"""

from tests.support.rows import each_row
from tests.validation import drawn_inputs


@each_row("line", drawn_inputs.LINES.kept(), at_once=8)
def test_what_is_drawn(line: str) -> None:
    assert drawn_inputs.said(line) == line
