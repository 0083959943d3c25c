"""What is said of the cases chosen by hand is what is kept."""

from tests.frameworks.cases import LINES, said
from tests.support.rows import each_row


@each_row("line", LINES.kept(), at_once=12)
def test_what_is_said(line: str) -> None:
    assert said(line) == line
