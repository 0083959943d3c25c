"""The end of a command without a report: an error in one line that names the mend, and its code."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import typer

from onnxpad.cli.options import instead
from onnxpad.cli.output import INTERRUPTED, write
from onnxpad.errors import OnnxpadError, OutputError, meant, shortened

INTERNAL = 70

Failure = tuple[str, str, int]
"""Why a command ends without a report: the kind, what is wrong and how to mend it, the exit code.

The kind is `usage`, `model`, `output`, `provider`, `system` (an error of the operating system),
`crash` (of the runtime), `interrupted` or `internal` (a defect in onnxpad).
"""
INTERRUPTION: Failure = ("interrupted", "interrupted", INTERRUPTED)


def tell_as_json(failure: Failure, words: Sequence[str]) -> None:
    """Write a failure as JSON to stdout if the command line asks for it, and stdout takes it."""
    if wants_json(words):
        from onnxpad.report.json import Failed, json_of

        kind, message, code = failure
        command = words[0] if not words[0].startswith("-") else ""
        with suppress(OutputError, typer.Exit):
            write(json_of(Failed(command, code, kind, message)))


def wants_json(words: Sequence[str]) -> bool:
    """Whether a command line asks for JSON; it may be wrong in other ways.

    >>> wants_json(["fix", "--format", "json"]), wants_json(["fix", "--", "--format=json"])
    (True, False)
    """
    options = words[: words.index("--")] if "--" in words else words
    return ("--format", "json") in pairwise(options) or "--format=json" in options


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
    """The message of a usage error of typer, with what serves instead of what is wrong."""
    message = " ".join(message.split())
    what = r"No such (?:option:?|command) '?([\w-]+)|'([^']*)' is not one of (.*)"
    found = re.search(what, message)
    if found and (said := instead(found[1] or found[2])):
        message = re.sub(r"\.? (\(Possible options:|Did you mean) .*$", "", message)
    else:
        said = meant(found[2], re.findall(r"'([^']*)'", found[3])) if found and found[2] else ""
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
