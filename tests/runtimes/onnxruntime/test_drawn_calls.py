"""What is folded in and out of functions and branches is predicted as it is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff`.
"""

from tests.runtimes.onnxruntime import drawn_calls
from tests.support.rows import each_row


@each_row("line", drawn_calls.LINES.kept())
def test_what_is_predicted(line: str) -> None:
    assert drawn_calls.said(line) == line
