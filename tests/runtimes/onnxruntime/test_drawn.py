"""What the optimiser is predicted to do to drawn graphs is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff tests/runtimes`.
"""

from tests.runtimes.onnxruntime import drawn
from tests.support.rows import each_row


@each_row("line", drawn.LINES.kept())
def test_what_is_predicted(line: str) -> None:
    assert drawn.said(line) == line
