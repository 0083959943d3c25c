"""Messages between a process and its worker: pickled objects, with large arrays sent separately.

Only messages between a process and a worker that it started are ever unpickled.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

from onnxpad.errors import let_through

_LARGE = 1 << 16  # bytes from which on an array is sent after the pickle, uncopied
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
        beside: list[memoryview] = []

        def inside(buffer: pickle.PickleBuffer) -> bool:
            view = buffer.raw()
            if view.nbytes >= _LARGE:
                beside.append(view)
            return view.nbytes < _LARGE

        pickled = pickle.dumps(message, protocol=5, buffer_callback=inside)
        sizes = [(view.nbytes, view.readonly) for view in beside]
        _or_closed(self._connection.send_bytes, pickle.dumps((sizes, pickled)))
        for view in beside:
            _or_closed(self._connection.send_bytes, view)

    def receive(self) -> Any:
        """Receive the next object.

        Raises:
            ClosedError: The other end is closed.
        """
        sizes, pickled = pickle.loads(_or_closed(self._connection.recv_bytes))
        beside: list[bytes | bytearray] = []
        for size, fixed in sizes:
            if fixed:
                beside.append(_or_closed(self._connection.recv_bytes))
            else:  # an array in it can be written to
                beside.append(data := bytearray(size))
                _or_closed(self._connection.recv_bytes_into, data)
        return pickle.loads(pickled, buffers=beside)

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
