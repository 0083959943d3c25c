"""What commands have in common: where they may write, the call, the files, and what is told.

The report goes to stdout, a line for each error to stderr. Where to write is asked before any work.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from msgspec.structs import replace

from onnxpad.api.sizes import held, with_sizes
from onnxpad.arguments import fitting
from onnxpad.cli.options import MANY, Asked, options_given
from onnxpad.errors import ModelError, OnnxpadError, OutputError, UsageError, meant, shortened

if TYPE_CHECKING:
    from onnxpad.arguments import Progress
    from onnxpad.report.layout import Screen

R = TypeVar("R", bound=Any)
INTERNAL, INTERRUPTED, BROKEN_PIPE = 70, 130, 141

Failure = tuple[str, str, int]
"""Why a command ends without a report: the kind, what is wrong and how to mend it, the exit code.

The kind is `usage`, `model`, `output`, `provider`, `system` (an error of the operating system),
`crash` (of the runtime), `interrupted` or `internal` (a defect in onnxpad).
"""


def interruption() -> Failure:
    """What is told of an interrupt."""
    goes_on = "; the same command goes on from there" * any("--resume" in e for e in sys.argv)
    return "interrupted", f"interrupted{goes_on}", INTERRUPTED


def report_beside(line: str) -> None:
    """Write a line to stderr; if that fails, the exit code alone says that something is wrong."""
    from onnxpad.report.text import shown

    try:
        print(_tame(shown(line)), file=sys.stderr, flush=True)
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
            # Without a buffer, as PYTHONUNBUFFERED makes it, a write may take a part.
            number, form = sys.stdout.fileno(), (sys.stdout.encoding, sys.stdout.errors)
            with os.fdopen(number, "w", -1, *form, closefd=False) as whole:
                whole.write(text)
        else:
            print(text, end="", flush=True)
    except OSError as error:
        # The interpreter flushes stdout once more on its way out, and would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(BROKEN_PIPE) from None
        raise OutputError(f"stdout: {error.strerror}") from error


def screen() -> Screen:
    """The terminal that stdout is; pipes and files have 80 columns unless COLUMNS has others."""
    from onnxpad.report.layout import Screen

    return Screen(max(40, shutil.get_terminal_size().columns), is_painted())


def is_painted() -> bool:
    """Whether stdout is a terminal with colours, and they are not turned off."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return bool(wanted and sys.stdout and sys.stdout.isatty())


DELAY, TICK = 0.5, 0.25
"""Seconds until the bar comes, and between its changes."""


@contextmanager
def progress_bar(*, hidden: bool = False) -> Iterator[Progress | None]:
    """A bar in the last line of a terminal, called with (stage, done, total or 0 if unknown).

    It shows after `DELAY` seconds; its time counts from the start of the work. It is None where it
    never shows, so that nobody counts for it.
    """
    is_seen = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if hidden or not is_seen:
        yield None
        return
    state, ended, begun = ("reading", 0, 0), threading.Event(), time.monotonic()

    def told(*now: Any) -> None:
        nonlocal state
        state = now

    def show() -> None:
        wait = DELAY
        with suppress(OSError, ValueError):  # nobody sees it
            while not ended.wait(wait):
                passed = timedelta(seconds=int(time.monotonic() - begun))
                line = _bar(*state, passed, shutil.get_terminal_size().columns - 1)
                print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)
                wait = TICK
            if wait == TICK:
                print("\r\x1b[2K", end="", file=sys.stderr, flush=True)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        ended.set()
        thread.join()


def _bar(stage: str, done: int, total: int, passed: timedelta, width: int) -> str:
    from onnxpad.report.text import shown

    count = f"{done:,}/{total:,}" if total else f"{done:,}" if done else ""
    bar = f"[{'#' * (24 * min(done, total) // max(total, 1)):<24}] {count} {passed}"
    name, room = shown(stage), max(8, width - len(bar) - 1)
    return f"{name[: room if name.isascii() else room // 2]} {bar}"[:width]  # others may be wide


def called(
    asked: Asked, call: Callable[..., R], *given: object, config: Any = None, **more: Any
) -> R:
    """The result of a call of the library, which leaves its defaults for what is None.

    It has what held of a configuration; sizes that were not typed are for models that have a place
    for them. A command that may be quiet shows how far it is in a bar.
    """
    known = {name: value for name, value in more.items() if value is not None}
    ask = partial(with_sizes, partial(call, *given), needed=options_given(asked))
    with progress_bar(hidden=asked.quiet is not False) as progress:
        found, lacking = ask(known if asked.quiet is None else {**known, "progress": progress})
    return replace(found, config=held(config, lacking)) if config else found


def saved(asked: Asked, result: R, target: Path | None, *, writes: bool, **more: Any) -> R:
    """The result with its delivery, of which `more` are further fields; if asked, it is saved."""
    from onnxpad.report import Delivery

    if writes and target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
    data = called(asked, result.save, target, keep_invalid=asked.keep_invalid) if writes else ()
    stays = not (writes or asked.in_place or asked.diff)
    delivery = Delivery(
        written=str(asked.model if asked.in_place else target) if writes else "",
        older=str(target) if stays and target is not None and target.exists() else "",
        data=tuple(map(str, data)),
        **more,
    )
    found: R = replace(result, delivery=delivery)
    return found


def deliver(
    asked: Asked, report: Any, *, text: Callable[[], str] | None = None, error: str = ""
) -> int:
    """Tells a report as asked for, in text as `text` says, and an `error`; gives the exit code."""
    form = asked.form or asked.check_form
    if asked.html is not None:
        from onnxpad.file.external import write_whole

        write_whole({asked.html: [report.to_html().encode()]})
        report = replace(report, html=str(asked.html))
    if form == "json":
        from onnxpad.report.json import json_of

        write(json_of(report))
    elif not (asked.quiet and getattr(report, "is_quiet_success", False)):
        from onnxpad.report.text import shown

        view = "full" if asked.verbose else "brief"
        told = text() if text else report.text(screen(), view)
        is_told = told and form != "sarif" and asked.html is not None
        write(f"{told}Report: {shown(str(asked.html))}\n" if is_told else told)
    if error:
        report_beside(f"error: {error if form == 'json' else error.partition(': ')[0]}")
    return getattr(report, "exit_code", 0)


def is_many(asked: Asked, *models: Path) -> bool:
    """Whether several models are named, a folder or a pattern, or an option of such runs."""
    names = [each for each in models if each.is_dir() or fitting(each) is not None]
    return len(models) > 1 or bool(names) or {*asked.some(*MANY).values()} != {None}


def target_of(asked: Asked, ending: str) -> Path:
    """The path of the result, MODEL.ending.onnx by default; checked before any work is done.

    For `fix` a folder, or a name without an ending, means the model's name in it.

    Raises:
        UsageError: Options exclude each other, or the result or a page would replace what is given.
        OutputError: No file can be written there.
    """
    model, output = asked.model, asked.output
    if model.is_dir():
        raise UsageError(f"{model} is a folder; name one model (`onnxpad fix` takes folders)")
    if asked.in_place and output is not None:
        raise UsageError("--in-place and --output exclude each other; give one of them")
    target: Path = output or model.with_name(f"{model.name.removesuffix('.onnx')}.{ending}.onnx")
    may_be_folder = ending == "fixed" and output is not None and str(output) != "-"
    is_new = may_be_folder and not (output.suffix or os.path.lexists(output))
    if may_be_folder and (is_new or output.is_dir()):
        from onnxpad.folders.paths import require_writable

        if not model.exists():  # a mistyped folder, perhaps
            raise ModelError(f"{model} does not exist; check the path")
        target = output / model.name
        require_writable(output, [target])
    if asked.in_place:
        target = Path(os.path.realpath(model))  # `Path.resolve` fails on loops in some versions
    elif _is_same(target, model):
        mend = "name another file" if asked.in_place is None else "--in-place replaces it"
        raise UsageError(f"{target} is the model itself; {mend}")
    elif (output and not is_new) or target.exists():
        _require_file(asked, target, "--output")
        if target.suffix.lower() != ".onnx":
            _require_kind(target, "model", b"\x08")  # the tag of the first field, ir_version
    require_page(asked, model, target)
    return target


def require_page(asked: Asked, *others: Path | None) -> None:
    """Raises unless a page can be written where one is asked for; called before any work is done.

    Raises:
        UsageError: It is one of the other files, or a file that is no page.
        OutputError: No file can be written there.
    """
    page = asked.html
    if page is None:
        return
    _require_file(asked, page, "--html", *others)
    place = page if page.exists() else page.parent
    if not os.access(place, os.W_OK):
        raise OutputError(f"{page}: {place} is write-protected; name another file")
    _require_kind(page, "page", b"<!doctype html", b"<html")


def _require_kind(path: Path, kind: str, *begins: bytes) -> None:
    """Raises unless a file that is there is of its kind, and not somebody's data."""
    if path.exists():
        with path.open("rb") as file:
            begin = file.read(256).lstrip().lower()
        if begin and not begin.startswith(begins):
            raise UsageError(f"{path} is there and is no {kind}; name another file, or remove it")


def _require_file(asked: Asked, path: Path, option: str, *others: Path | None) -> None:
    """Raises unless a file can be there that replaces none of the arrays given, and no other."""
    if str(path) == "-":
        raise UsageError(f"{option} - names no file: only reports go to stdout; name a file")
    for each in (*others, asked.inputs, *(asked.references or ())):
        if each is not None and _is_same(path, each):
            raise UsageError(f"{path}: {option} would replace {each}; name another file")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not a file; give {option} the name of a file to write")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}; make it first")


def _is_same(one: Path, other: Path) -> bool:
    is_one = os.path.realpath(one) == os.path.realpath(other)
    return is_one or (one.exists() and other.exists() and one.samefile(other))


def tell_as_json(failure: Failure, words: Sequence[str]) -> None:
    """Write a failure as JSON to stdout if the command line asks for it, and stdout takes it."""
    options = words[: words.index("--")] if "--" in words else words
    if ("--format", "json") in pairwise(options) or "--format=json" in options:
        from onnxpad.report.json import Failed, json_of

        kind, message, code = failure
        command = words[0] if not words[0].startswith("-") else ""
        with suppress(OutputError, typer.Exit):
            write(json_of(Failed(command, code, kind, message)))


def explained(error: Exception) -> Failure:
    """The kind, message and exit code that an exception stands for."""
    if isinstance(error, OnnxpadError):
        return error.kind, str(error), error.exit_code
    # typer's family of usage errors has no public base class that all its versions share.
    if callable(message := getattr(error, "format_message", None)):
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context else ""
        return "usage", f"{_corrected(message())}{hint}", 2
    if isinstance(error, OSError) and error.strerror:
        place = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return "system", shortened(f"{place}{error.strerror}"), 2
    return "internal", _internal(error), INTERNAL


def _corrected(message: str) -> str:
    message = " ".join(message.split())
    found = re.search(r"'([^']*)' is not one of (.*)", message)
    said = meant(found[1], re.findall(r"'([^']*)'", found[2])) if found else ""
    return shortened(message).rstrip(".") + said


def _internal(error: Exception) -> str:
    """The message for a defect in onnxpad; ONNXPAD_DEBUG=1 prints the whole traceback."""
    import traceback

    if os.environ.get("ONNXPAD_DEBUG"):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return shortened(f"internal error, please report it (ONNXPAD_DEBUG=1 shows all): {text}{place}")
