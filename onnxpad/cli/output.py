"""Output, progress and exit codes: the report goes to stdout, a line for each error to stderr."""

from __future__ import annotations

import io
import os
import re
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

import typer
from msgspec import Struct

from onnxpad.errors import OnnxpadError, OutputError, meant, shortened

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from onnxpad.report.layout import Screen
    from onnxpad.report.text import Paint

INTERRUPTED, BROKEN_PIPE, INTERNAL = 130, 141, 70


class Failure(Struct, frozen=True):
    """The reason that a command ends without a report.

    Attributes:
        kind: `usage`, `model`, `output`, `provider`, `system` (an error of the operating system),
            `crash` (of the runtime), `interrupted` or `internal` (a defect in onnxpad).
        message: What is wrong and how to mend it, in one line.
        code: The exit code.
    """

    kind: str
    message: str
    code: int


INTERRUPTION = Failure("interrupted", "interrupted", INTERRUPTED)


def report_failure(failure: Failure, words: Sequence[str]) -> None:
    """Write a failure to stderr in one line, and as JSON to stdout if the command asks for it."""
    report_error(failure.message)
    tell_as_json(failure, words)


def tell_as_json(failure: Failure, words: Sequence[str]) -> None:
    """Write a failure as JSON to stdout if the command line asks for it, and stdout takes it."""
    if wants_json(words):
        from onnxpad.report.json import Failed, json_of

        command = words[0] if not words[0].startswith("-") else ""
        with suppress(OutputError, typer.Exit):
            write(json_of(Failed(command, failure.code, failure.kind, failure.message)))


def wants_json(words: Sequence[str]) -> bool:
    """Whether a command line asks for JSON; it may be wrong in other ways.

    >>> wants_json(["fix", "--format", "json"]), wants_json(["fix", "--", "--format=json"])
    (True, False)
    """
    options = words[: words.index("--")] if "--" in words else words
    named = [after for word, after in pairwise(options) if word == "--format"]
    named += [word.removeprefix("--format=") for word in options if word.startswith("--format=")]
    return "json" in named


def report_error(message: str) -> None:
    """Write an error to stderr in one line; if that fails, the exit code says it alone."""
    from onnxpad.report.text import shown

    report_beside(f"error: {shown(message)}")


def report_beside(line: str) -> None:
    """Write a line to stderr, if that can be written to."""
    try:
        print(_tame(line), file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _tame(text: str) -> str:
    """A text in which no line begins as a command of GitHub Actions does."""
    return re.sub(r"^(\s*)(::|##\[)", r"\1\\\2", text, flags=re.MULTILINE)


def write(text: str, *, commands: bool = False) -> None:
    """Write the report to stdout.

    Lines do not begin as commands of GitHub Actions do, unless they are meant as `commands`.
    If the reader has closed the pipe, as `head` does, the command ends without an error message.
    Without a stdout, as in some services, `print` does nothing.

    Raises:
        OutputError: stdout cannot be written to.
    """
    text = text if commands else _tame(text)
    try:
        if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
            _write_whole(text, sys.stdout)
        else:
            print(text, end="", flush=True)
    except OSError as error:
        # The interpreter flushes stdout once more on its way out, and would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(BROKEN_PIPE) from None
        raise OutputError(f"stdout: {error.strerror}") from error


def _write_whole(text: str, stream: TextIO) -> None:
    """Write to a stream without a buffer, as PYTHONUNBUFFERED makes it: that may take a part."""
    raw = io.FileIO(stream.fileno(), "w", closefd=False)
    with io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, stream.errors) as buffered:
        buffered.write(text)


def screen() -> Screen:
    """The terminal or pipe that stdout is, with or without colours."""
    from onnxpad.report.layout import here

    return here(painter())


def painter() -> Paint:
    """Colours if stdout is a terminal and they are not turned off."""
    from onnxpad.report.text import marked, plain

    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return marked if wanted and sys.stdout and sys.stdout.isatty() else plain


def explained(error: Exception) -> Failure:
    """The kind, message and exit code that an exception stands for."""
    if isinstance(error, OnnxpadError):
        return Failure(error.kind, str(error), error.exit_code)
    # typer's family of usage errors has no public base class that all its versions share.
    if callable(message := getattr(error, "format_message", None)):
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context else ""
        said = _given_several(error, message()) or _corrected(error, message())
        return Failure("usage", f"{said}{hint}", 2)
    if isinstance(error, OSError) and error.strerror:
        place = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return Failure("system", shortened(f"{place}{error.strerror}"), 2)
    return Failure("internal", _internal(error), INTERNAL)


def _given_several(error: Exception, message: str) -> str:
    """The message for more models than a command takes: to call it for each; else empty."""
    context = getattr(error, "ctx", None)
    if context is None or "unexpected extra argument" not in message:
        return ""
    takes = [each.name for each in context.command.params if each.param_type_name == "argument"]
    message = re.sub(r" \((\S+) .*\)", r" (\1 and others)", message).rstrip(".")
    if takes == ["model"]:
        further = message[message.rfind(" (") :]
        return f"{context.info_name} takes one model, not more{further}: call it for each"
    return message


def _corrected(error: Exception, message: str) -> str:
    """The message for a usage error of typer, with our suggestion in place of typer's.

    Versions of typer differ in their suggestions, and list every name with the same beginning.
    """
    message = shortened(
        " ".join(re.sub(r" (\(Possible options:|Did you mean) .*$", "", message).split())
    )
    from onnxpad.cli.gone import VALUES, instead

    serves = ""
    if (option := getattr(error, "option_name", None)) is not None:
        word, known = option, _options(error)
        serves = instead(getattr(getattr(error, "ctx", None), "info_name", None) or "", option)
    elif found := re.search(r"'([^']*)' is not one of (.*)", message):
        word, known = found[1], re.findall(r"'([^']*)'", found[2])
        serves = f"; use {VALUES[word]}" if word in VALUES else ""
    elif found := re.search(r"No such command '([^']*)'", message):
        command = getattr(getattr(error, "ctx", None), "command", None)
        word, known = found[1], list(getattr(command, "commands", ()))
        serves = instead(word)
    else:
        word, known = "", []
    return message.rstrip(".") + (serves or meant(word, known))


def _options(error: Exception) -> list[str]:
    """The options of the command in which a usage error occurred."""
    command = getattr(getattr(error, "ctx", None), "command", None)
    return [
        name for each in getattr(command, "params", ()) for name in each.opts if name[:1] == "-"
    ]


def _internal(error: Exception) -> str:
    """The message for a defect in onnxpad; ONNXPAD_DEBUG=1 prints the whole traceback."""
    import traceback

    if os.environ.get("ONNXPAD_DEBUG"):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return shortened(f"internal error, please report it (ONNXPAD_DEBUG=1 shows all): {text}{place}")


DELAY = 0.5
_FIRST = "reading"
_BESIDE = 36
"""Columns of the screen for the bar, the count and the time."""


class ProgressBar:
    """A bar, called with (stage, done, total), that shows on a terminal after `DELAY` seconds."""

    def __init__(self, *, hidden: bool = False) -> None:
        """A bar that is not shown yet, and never will be if stderr is not a terminal.

        Args:
            hidden: Whether it is not to be shown on a terminal either.
        """
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self._timer = threading.Timer(DELAY, self._show)
        self._timer.daemon = True
        self._state = (_FIRST, 0, 0)
        self._shown: tuple[Progress, TaskID] | None = None
        self._closed = hidden or sys.stderr is None or not sys.stderr.isatty()

    def __enter__(self) -> Self | None:
        """Start the delay; None where it is never shown, so that nobody counts for it."""
        if self._closed:
            return None
        self._timer.start()
        return self

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that `done` of `total` steps of a stage are done; 0 stands for an unknown total."""
        with self._lock:
            self._state = (stage, done, total)
            self._update()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the bar."""
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._shown:
                self._shown[0].stop()

    def _show(self) -> None:
        """Put the bar on the screen, in one line whatever the terminal's width.

        The time that it shows counts from the start of the work, and ticks by itself.
        """
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        console = Console(stderr=True)
        width = max(8, console.width - _BESIDE)
        columns = (
            TextColumn(
                "{task.description}",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis", max_width=width),
            ),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[count]}", markup=False, table_column=Column(no_wrap=True)),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
        )
        with self._lock:
            if self._closed:
                return
            bar = Progress(*columns, console=console, transient=True, refresh_per_second=8)
            task = bar.add_task("", total=None, count="")
            bar.tasks[0].start_time = self._begun
            self._shown = (bar, task)
            self._update()
            bar.start()

    def _update(self) -> None:
        if self._shown:
            from onnxpad.report.text import shown

            bar, task = self._shown
            stage, done, total = self._state
            count = f"{done:,}/{total:,}" if total else f"{done:,}" if done else ""
            bar.tasks[0].total = total or None  # `update` takes None for no change
            bar.update(task, description=shown(stage), completed=done, count=count)
