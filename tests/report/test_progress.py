"""The progress bar, on a stderr that says it is a terminal."""

import io
import sys

import pytest

from onnxpad.cli import output
from onnxpad.cli.output import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("hidden", [True, False])
def test_no_bar_without_a_terminal_or_where_it_is_hidden(
    hidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "DELAY", 0.0)
    monkeypatch.setattr(sys, "stderr", shown := Terminal() if hidden else io.StringIO())
    with progress_bar(hidden=hidden) as counting:
        assert counting is None
    assert shown.getvalue() == ""


def test_a_line_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(output, "DELAY", 0.0)
    monkeypatch.setattr(output, "TICK", 0.01)
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    with progress_bar() as counting:
        assert counting is not None
        for name, total in (("open", 0), ("x" * 100, 120), ("\u7573" * 100, 120)):
            counting(name, 30, total)
            while name[:4] not in shown.getvalue().rpartition("\r")[2]:
                pass
    assert "] 30 0:00:0" in shown.getvalue()
    *_, line, end = shown.getvalue().split("\r\x1b[2K")
    assert end == ""
    assert sum(1 + (each == "\u7573") for each in line) < 60
    assert "[######                  ] 30/120 0:00:0" in line
