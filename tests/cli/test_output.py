"""Colours of what is written, and what is said of an error."""

import io
import os
import sys
from json import loads
from types import SimpleNamespace
from typing import Any

import pytest

from onnxpad.cli.output import explained, is_painted, tell_as_json, write
from onnxpad.errors import ModelError, OutputError, UsageError
from tests.support.rows import each_row


@pytest.mark.parametrize(
    ("variables", "terminal", "colours"),
    [
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True),  # an empty one does not count
        ({"NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
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
        (["check", "--format", "sarif"], False, ""),
        (["fix", "--format"], False, ""),
        (["fix", "--", "--format", "json"], False, ""),
        (["fix", "--format", "json", "--", "m"], True, "fix"),
        (["fix", "--format", "text", "--format", "json"], True, "fix"),
        ([], False, ""),
    ],
)
def test_a_failure_is_told_as_json_where_that_is_asked_for(
    words: list[str], json: bool, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tell_as_json(("usage", "no\nsuch", 2), words)
    out, _ = capsys.readouterr()
    if json:
        told = loads(out)
        assert told["command"] == command
        assert told["error"] == {"kind": "usage", "message": "no\nsuch"}
        assert told["exit_code"] == 2
    else:
        assert out == ""


def usage(text: str) -> Any:
    error: Any = ValueError(text)
    error.format_message = lambda: text
    error.ctx = SimpleNamespace(command_path="onnxpad fix")
    return error


@each_row(
    ("error", "kind", "code", "told"),
    [
        (ModelError("it is damaged"), "model", 2, "it is damaged"),
        (UsageError("no such"), "usage", 2, "no such"),
        (usage("Missing argument 'MODEL'."), "usage", 2, "--help"),
        (usage("No such command 'fxi'. Did you mean 'fix'?"), "usage", 2, "--help"),
        (usage("'jsn' is not one of 'text', 'json'."), "usage", 2, "did you mean 'json'?"),
        (FileNotFoundError(2, "No such file", "a.onnx"), "system", 2, "a.onnx: No such file"),
        (OSError(5, "Input/output error"), "system", 2, "Input/output error"),
        (KeyError("k"), "internal", 70, "ONNXPAD_DEBUG=1"),
        (OSError(), "internal", 70, "OSError"),
    ],
)  # fmt: skip
def test_what_an_error_stands_for(error: Any, kind: str, code: int, told: str) -> None:
    assert explained(error)[::2] == (kind, code)
    assert told in explained(error)[1]


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
