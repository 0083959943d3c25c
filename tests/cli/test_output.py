"""Colours of what is written, and what is said of an error."""

import io
import os
import sys
from json import loads
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from onnxpad.cli.options import GONE
from onnxpad.cli.output import explained, is_painted, report_error, tell_as_json, wants_json, write
from onnxpad.errors import ModelError, OutputError, UsageError
from tests.support.rows import each_row


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
    assert is_painted() is colours
    monkeypatch.setattr(sys, "stdout", None)
    assert not is_painted()


@each_row(
    ("words", "json", "command"),
    [
        (["fix", "m"], False, ""),
        (["fix", "--format", "json"], True, "fix"),
        (["--format", "json", "fix"], True, ""),
        (["fix", "--format=json", "m"], True, "fix"),
        (["fix", "--format", "text"], False, ""),
        (["check", "--format", "sarif"], False, ""),
        (["check", "--format=github"], False, ""),
        (["fix", "--format"], False, ""),
        (["fix", "json"], False, ""),
        (["fix", "--", "--format", "json"], False, ""),
        (["fix", "--format", "json", "--", "m"], True, "fix"),
        (["fix", "--format", "text", "--format", "json"], True, "fix"),
        ([], False, ""),
        (["--"], False, ""),
        (["--", "fix", "--format", "json"], False, ""),
    ],
)
def test_a_failure_is_told_as_json_where_that_is_asked_for(
    words: list[str], json: bool, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert wants_json(words) is json
    tell_as_json(("usage", "no\nsuch", 2), words)
    out, _ = capsys.readouterr()
    if json:
        told = loads(out)
        assert told["command"] == command
        assert told["error"] == {"kind": "usage", "message": "no\nsuch"}
        assert told["exit_code"] == 2
    else:
        assert out == ""


class Stream:
    """A stream that cannot be written to."""

    def __init__(self, error: OSError) -> None:
        self.error = error

    def write(self, text: str) -> int:
        raise self.error

    def flush(self) -> None:
        return

    def fileno(self) -> int:
        return 77


def test_what_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[object, ...]] = []

    def opened(*arguments: object) -> int:
        sent.append(arguments)
        return 5

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "dup2", lambda *arguments: sent.append(arguments))
    nowhere = [(os.devnull, os.O_WRONLY), (5, 77)]
    monkeypatch.setattr(sys, "stdout", Stream(OSError(28, "No space left on device")))
    with pytest.raises(OutputError):
        write("x")
    assert sent == nowhere
    monkeypatch.setattr(sys, "stdout", Stream(BrokenPipeError()))
    with pytest.raises(typer.Exit) as caught:
        write("x")
    assert (caught.value.exit_code, sent) == (141, nowhere * 2)
    monkeypatch.setattr(sys, "stderr", Stream(OSError(5, "Input/output error")))
    report_error("said to nobody")
    assert sent == nowhere * 3


def usage(text: str) -> Any:
    """An error of typer in a command."""
    error: Any = ValueError(text)
    error.format_message = lambda: text
    error.ctx = SimpleNamespace(command_path="onnxpad fix")
    return error


HELP = "(see onnxpad fix --help)"


@each_row(
    ("error", "kind", "message", "code"),
    [
        (ModelError("it is damaged"), "model", "it is damaged", 2),
        (UsageError("no such"), "usage", "no such", 2),
        (usage("Missing argument 'MODEL'."), "usage",
         "Missing argument 'MODEL' (see onnxpad fix --help)", 2),
        (usage("No such command 'fxi'. Did you mean 'fix'?"), "usage",
         f"No such command 'fxi'. Did you mean 'fix'? {HELP}", 2),
        (usage("No such option: --check (Possible options: --style)"), "usage",
         f"No such option: --check; use {GONE['--check']} {HELP}", 2),
        (usage("'junit' is not one of 'text', 'json'."), "usage",
         f"'junit' is not one of 'text', 'json'; use {GONE['junit']} {HELP}", 2),
        (FileNotFoundError(2, "No such file", "a.onnx"), "system", "a.onnx: No such file", 2),
        (OSError(5, "Input/output error"), "system", "Input/output error", 2),
        (KeyError("k"), "internal",
         "internal error, please report it (ONNXPAD_DEBUG=1 shows all): KeyError: 'k'", 70),
        (OSError(), "internal",
         "internal error, please report it (ONNXPAD_DEBUG=1 shows all): OSError", 70),
    ],
)  # fmt: skip
def test_what_an_error_stands_for(error: Any, kind: str, message: str, code: int) -> None:
    assert explained(error) == (kind, message, code)


def test_a_stream_without_a_buffer_is_written_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    text = "é" * 10_000
    with (
        os.fdopen(reading, "rb") as reader,
        os.fdopen(writing, "wb", buffering=0) as raw,
        io.TextIOWrapper(raw, "utf-8", write_through=True) as stream,
    ):
        monkeypatch.setattr(sys, "stdout", stream)
        write(text)
        assert os.read(reader.fileno(), 1 << 20).decode() == text
        with pytest.raises(OutputError, match=r"^stdout: "):
            write(100 * text)  # more than a pipe holds, and nobody reads it
        monkeypatch.undo()
