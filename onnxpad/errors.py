"""The exceptions of the package; each message says what is wrong and how to mend it."""

from __future__ import annotations

import functools
import signal
from collections.abc import Mapping
from pathlib import Path

from onnxpad.messages import shortened


class OnnxpadError(Exception):
    """Base of all errors: one line that says what is wrong and how to mend it.

    Attributes:
        exit_code: Exit code of the command line for this error.
        kind: Name of this kind of error in the JSON report.
        path: The model file that the message names; None if it names none.
    """

    exit_code = 2
    kind = "usage"
    path: Path | None = None

    def __init__(self, message: str = "") -> None:
        """Puts the message on one line and shortens long names in it."""
        super().__init__(shortened(" ".join(message.splitlines())))


class UsageError(OnnxpadError):
    """An option, argument or call that cannot be honoured."""


class MismatchError(UsageError):
    """Sizes that do not fit this model, though they may fit another one.

    Attributes:
        missing: What the model lacks: by `shapes` or `dims` and the name in it, what to tell; empty
            if it has the names but contradicts a size.
    """

    def __init__(self, message: str, missing: Mapping[tuple[str, str], str] | None = None) -> None:
        """Keeps the missing names beside the message."""
        super().__init__(message)
        self.missing = missing or {}


class ModelError(OnnxpadError):
    """A model that cannot be read, or that the specification forbids."""

    kind = "model"


class OutputError(OnnxpadError):
    """A result that cannot be written where it was asked for."""

    kind = "output"


class ValidationError(OnnxpadError):
    """A rewritten model that does not compute what the original computes."""

    exit_code = 3
    kind = "validation"


class ProviderError(OnnxpadError):
    """An execution provider asked for by name that this machine does not have."""

    exit_code = 4
    kind = "provider"


def let_through(error: BaseException) -> None:
    """Raises an error again that a signal handler of the program raised, as a limit of its own.

    Code of others may raise anything, and a handler too, in the midst of it.
    """
    codes = {_code_of(signal.getsignal(each)) for each in signal.valid_signals()}
    while True:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code in codes:
                raise error
            trace = trace.tb_next
        cause = error.__cause__ or error.__context__
        if cause is None:
            return
        error = cause


def _code_of(handler: object) -> object:
    """The code of a signal handler in Python; None for others."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    handler = getattr(handler, "__func__", handler)
    called = handler if hasattr(handler, "__code__") else type(handler).__call__
    return getattr(called, "__code__", None)
