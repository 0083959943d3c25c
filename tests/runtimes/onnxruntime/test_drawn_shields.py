"""What is written so that the optimiser folds no Pad wrongly is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff`.
"""

from tests.runtimes.onnxruntime import drawn_shields
from tests.support.rows import each_row


@each_row("line", drawn_shields.LINES.kept())
def test_what_is_written(line: str) -> None:
    assert drawn_shields.said(line) == line
