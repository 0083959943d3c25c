"""What validation says of a pair of models, with onnx's evaluator as the engine, is what is kept.

After a change that is meant: `python -m tests.drawn`, then read `git diff`.
"""

from tests.support.rows import each_row
from tests.validation import drawn_verdicts


@each_row("line", drawn_verdicts.LINES.kept(), at_once=8)
def test_a_verdict(line: str) -> None:
    assert drawn_verdicts.said(line) == line
