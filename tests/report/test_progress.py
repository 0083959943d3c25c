"""The progress bar, on a stderr that says it is a terminal."""

import io
import sys

import pytest

from onnxpad.cli.output import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("hidden", [True, False])
def test_no_bar_without_a_terminal_or_where_it_is_hidden(
    hidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal() if hidden else io.StringIO())
    bar = ProgressBar(hidden=hidden)
    with bar as counting:
        assert counting is None
        assert not bar._timer.is_alive()
        bar._show()
        assert bar._shown is None
