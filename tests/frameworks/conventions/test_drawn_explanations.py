"""What is explained of operators that were drawn is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff tests/frameworks`.
"""

from tests.frameworks.conventions import drawn_explanations
from tests.support.rows import each_row


@each_row("line", drawn_explanations.LINES.kept(), at_once=10)
def test_what_is_explained(line: str) -> None:
    assert drawn_explanations.said(line) == line
