"""What commands have in common: the call, the files that it leaves, the report, and errors.

The report goes to stdout, a line for each error to stderr. Whether files may be written is asked
before any work is done.
"""

from __future__ import annotations

import io
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO, TypeVar

import typer
from msgspec import Struct
from msgspec.structs import replace

from onnxpad.errors import OnnxpadError, OutputError, UsageError, meant, shortened

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from onnxpad.report.documents import Document
    from onnxpad.report.layout import Paint, Screen

R = TypeVar("R", bound=Any)
_PAGE = b"<!doctype html"
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
    from onnxpad.report.layout import marked, plain

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


def called(
    call: Callable[..., R],
    model: Path,
    *others: object,
    typed: Mapping[str, Any] | None = None,
    configured: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> R:
    """The result of a call about a model, with what the configuration nearest to it says.

    Args:
        call: A call of the library.
        model: The model.
        others: What else the call takes by place.
        typed: The options for which a configuration may stand in, with what was typed.
        configured: The same with those that the call does not take; as typed by default.
        keywords: What else the call takes by name.
    """
    from onnxpad.cli.options import configurations_of

    given, asked = typed or {}, configured or typed or {}
    applied = configurations_of([model] * bool(asked), asked).get(model)
    if applied is not None:
        given = {name: applied.options[name] for name in given}
        call = partial(applied.result_of, call)
    return call(model, *others, **keywords, **given)


def with_bar(call: Callable[..., R], *, quiet: bool) -> Callable[..., R]:
    """A call that shows how far it is in a bar."""

    def shown(*values: Any, **keywords: Any) -> R:
        with ProgressBar(hidden=quiet) as progress:
            return call(*values, progress=progress, **keywords)

    return shown


def delivered(
    result: R,
    target: Path | None,
    *,
    is_written: bool,
    quiet: bool,
    named: Path | None = None,
    tells_older: bool = False,
    keep_invalid: bool = False,
    **others: Any,
) -> R:
    """The result, which tells how it was delivered; its model is written if it has to be.

    Args:
        result: The result.
        target: The file to write; None if none is asked for.
        is_written: Whether to write it.
        quiet: Whether to show no bar.
        named: The path to tell of it, if it is another one.
        tells_older: Whether to tell of an older file that is there in its place.
        keep_invalid: As for `save`.
        others: Further fields of the delivery.
    """
    from onnxpad.report import Delivery

    data: tuple[Path, ...] = ()
    if is_written:
        data = with_bar(result.save, quiet=quiet)(target, keep_invalid=keep_invalid)
    older = tells_older and not is_written and target is not None and target.exists()
    delivery = Delivery(
        written=str(named or target) if is_written else "",
        older=str(target) if older else "",
        data=tuple(map(str, data)),
        **others,
    )
    told: R = replace(result, delivery=delivery)
    return told


def text_of(report: Any, *, verbose: bool = False) -> str:
    """A report as text, for the screen."""
    text: str = report.text(screen(), "full" if verbose else "brief")
    return text


def document_text(document: Document) -> str:
    """A document as text, for the screen."""
    from onnxpad.report import layout

    return layout.text_of(document, screen())


def write_report(report: Any, form: str, text: Callable[[], str], *more: Any) -> None:
    """Writes a report as JSON, with what more that takes, or else its text."""
    if form == "json":
        from onnxpad.report.json import json_of

        write(json_of(report, *more))
    else:
        write(text())


def told(
    report: Any,
    form: str,
    text: Callable[[], str],
    *,
    quiet: bool = False,
    html: Path | None = None,
    error: str = "",
) -> None:
    """Tells a report as it is asked for.

    Args:
        report: The report.
        form: Its format.
        text: What it is as text.
        quiet: Whether a text is told only if something needs attention.
        html: Where to write it as a page, too.
        error: What is wrong; empty if nothing is.
    """
    if html is not None:
        write_page(html, report.to_html())
        report = replace(report, html=str(html))
    if form == "json" or not (quiet and report.is_quiet_success):
        write_report(report, form, text)
        if form == "text":
            tell_page(html)
    if error:
        report_error(error)


def tell_page(page: Path | None) -> None:
    """The last line of a report in text: where the page is."""
    if page is not None:
        from onnxpad.report.text import shown

        write(f"Report: {shown(str(page))}\n")


def target_of(
    model: Path, output: Path | None, *, in_place: bool, command: str = "fix", ending: str = "fixed"
) -> Path:
    """The path of the result; checked before any work is done.

    Args:
        model: The model.
        output: The path asked for; None for the model's with an ending.
        in_place: Whether to replace the model.
        command: The command, for messages.
        ending: The ending of the usual name: MODEL.ending.onnx.

    Raises:
        UsageError: Options exclude each other, or the result would replace the model.
        OutputError: No file can be written there.
    """
    if model.is_dir():
        raise UsageError(
            f"{model}: is a folder; {command} takes one model, `onnxpad check` takes folders"
        )
    if in_place and output is not None:
        raise UsageError("--in-place and --output exclude each other; give one of them")
    if in_place:
        return Path(os.path.realpath(model))  # `Path.resolve` fails on loops in some versions
    if output is not None and str(output) == "-":
        raise UsageError("--output - names no file: models are not written to stdout; name a file")
    target = output or model.with_name(f"{model.name.removesuffix('.onnx')}.{ending}.onnx")
    if _is_same(target, model):
        other = "name another file" if command == "match" else "--in-place replaces it"
        raise UsageError(f"{target}: is the model itself; {other}")
    _require_file(target, "--output", in_folder=output is not None)
    return target


def require_apart(target: Path, *arrays: Path | None) -> None:
    """Raises if the result would replace arrays that are given."""
    for each in arrays:
        if each is not None and target.exists() and each.exists() and target.samefile(each):
            raise UsageError(f"{target}: is the file of arrays given; name another file")


def require_page(page: Path | None, others: Iterable[Path | None] = ()) -> None:
    """Raises unless a page can be written there; called before any work is done.

    Args:
        page: Where; None if no page is asked for.
        others: Files of the command that it must not replace, such as the model and the result.

    Raises:
        UsageError: It is one of the other files, or a file that is no page.
        OutputError: No file can be written there.
    """
    if page is None:
        return
    if str(page) == "-":
        raise UsageError("--html - names no file: pages are not written to stdout; name a file")
    for other in others:
        if other is not None and _is_same(page, other):
            raise UsageError(f"{page}: --html would replace {other}; name another file")
    _require_file(page, "--html")
    writable = page if page.exists() else page.parent
    if not os.access(writable, os.W_OK):
        raise OutputError(f"{page}: {writable} is write-protected; name another file")
    if page.exists() and not _is_page(page):
        raise UsageError(f"{page}: is there and is no page; name another file, or remove it")


def write_page(page: Path, text: str) -> None:
    """Writes a page, whole or not at all.

    Raises:
        OutputError: It cannot be written.
    """
    from onnxpad.file.external import write_whole

    write_whole({page: [text.encode()]})


def _require_file(path: Path, option: str, *, in_folder: bool = True) -> None:
    """Raises unless a file can be there: in its place is one or nothing, and there is a folder."""
    if path.exists() and not path.is_file():
        raise OutputError(f"{path}: is not a file; give {option} the name of a file to write")
    if in_folder and not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}; make it first")


def _is_same(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)


def _is_page(path: Path) -> bool:
    """Whether a file is empty or begins as HTML does: anything else is somebody's data."""
    with path.open("rb") as file:
        begin = file.read(256).lstrip().lower()
    return not begin or begin.startswith((_PAGE, b"<html"))
