"""Messages between a process and its worker: pickled objects.

Only messages between a process and a worker that it started are ever unpickled.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

from onnxpad.errors import let_through

_LONGEST = 2e6  # seconds that the system can wait

_P = ParamSpec("_P")
_T = TypeVar("_T")


class ClosedError(Exception):
    """The other end of a channel is closed; no error that a caller's signal handler raises."""


class Channel:
    """One end of a connection, which it owns."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        """Takes over an end."""
        self._connection = connection

    def send(self, message: object) -> None:
        """Send an object.

        Raises:
            ClosedError: The other end is closed.
            Exception: `pickle` cannot pickle the object; then nothing was sent.
        """
        pickled = pickle.dumps(message, protocol=5)
        _or_closed(self._connection.send_bytes, pickled)

    def receive(self) -> Any:
        """Receive the next object.

        Raises:
            ClosedError: The other end is closed.
        """
        return pickle.loads(_or_closed(self._connection.recv_bytes))

    def arrives(self, seconds: float) -> bool:
        """Whether a message, or the end, arrives within so many seconds."""
        return _or_closed(self._connection.poll, min(seconds, _LONGEST))

    def close(self) -> None:
        """Close this end."""
        with suppress(OSError):
            self._connection.close()


def _or_closed(call: Callable[_P, _T], *arguments: _P.args, **named: _P.kwargs) -> _T:
    """The result of a call of the system; an error that a signal handler raises gets through.

    Raises:
        ClosedError: It failed.
    """
    try:
        return call(*arguments, **named)
    except (EOFError, OSError) as error:
        let_through(error)
        raise ClosedError from None
