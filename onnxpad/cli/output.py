"""The two streams and the exit code: reports to stdout, a line an error to stderr.

Imports errors and report.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from onnxpad.errors import OnnxpadError, OutputError

if TYPE_CHECKING:
    from onnxpad.report.text import Paint

INTERRUPTED, BROKEN_PIPE, INTERNAL = 130, 141, 70


def report_error(message: str) -> None:
    """An error in one line on stderr."""
    from onnxpad.report.text import shown

    print(f"error: {shown(message)}", file=sys.stderr)


def write(text: str) -> None:
    """The report to stdout; a reader that went away, as `head` does, is no error to report.

    Without a stdout, as a service may be started, `print` does nothing.
    """
    try:
        print(text, end="", flush=True)
    except OSError as error:
        # The interpreter flushes stdout once more on its way out, and would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(BROKEN_PIPE) from None
        raise OutputError(f"stdout: {error.strerror}") from error


def painter() -> "Paint":
    """Colours where a person looks at stdout and did not turn them off."""
    from onnxpad.report.text import coloured, plain

    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return coloured if wanted and sys.stdout and sys.stdout.isatty() else plain


def explained(error: Exception) -> tuple[str, int]:
    """One line for the user, and the exit code."""
    if isinstance(error, OnnxpadError):
        return str(error), error.exit_code
    # typer's family of usage errors has no public base class that all its versions share.
    if callable(message := getattr(error, "format_message", None)):
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context else ""
        return f"{message().rstrip('.')}{hint}", 2
    if isinstance(error, OSError) and error.strerror:
        place = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return f"{place}{error.strerror}", 2
    return _internal(error), INTERNAL


def _internal(error: Exception) -> str:
    """Where a defect of onnxpad showed itself; the whole traceback on request."""
    import traceback

    if os.environ.get("ONNXPAD_DEBUG"):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"internal error, please report it (ONNXPAD_DEBUG=1 shows all): {text}{place}"
