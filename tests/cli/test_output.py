"""Whether what is written has colours."""

import sys

import pytest

from onnxpad.cli.output import painter
from onnxpad.report.text import marked, plain


@pytest.mark.parametrize(
    ("variables", "terminal", "colours"),
    [
        ({}, True, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True),  # an empty one does not count
        ({"NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1", "TERM": "dumb"}, True, False),
        ({}, False, False),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    variables: dict[str, str], terminal: bool, colours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert painter() is (marked if colours else plain)
    monkeypatch.setattr(sys, "stdout", None)
    assert painter() is plain
