"""Messages between a process and its worker: pickled objects, with large arrays sent separately.

Only messages between a process and a worker that it started are ever unpickled.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import SupportsIndex, TypeVar

_PIPE = 1 << 20  # capacity of a pipe in bytes, where the system allows to set it
_BUFFER = 1 << 16
_MOST = 1 << 30  # bytes written at once: systems refuse more than 2 GiB
_LARGE = 1 << 16  # bytes from which on an array is sent after the pickle, uncopied
_HEAD = struct.Struct("<IQ")  # number of arrays that follow, and bytes of sizes and pickle
_SIZE = struct.Struct("<Q?")  # bytes of such an array, and whether it is read-only

_T = TypeVar("_T")


class ClosedError(Exception):
    """The other end of a channel is closed; no error that a caller's signal handler raises."""


class Blob:
    """Bytes that are sent without copying them."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        """Wraps the bytes to send."""
        self.data = data

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[object, ...]:
        """Pickled as an out-of-band buffer, which the channel sends."""
        return _unwrapped, (pickle.PickleBuffer(self.data),)


def _unwrapped(data: bytes | bytearray | memoryview) -> Blob:
    return Blob(data if isinstance(data, bytes) else bytes(data))


class Channel:
    """A connection over two pipe ends, which it owns: one to read from, one to write to."""

    def __init__(self, reading: int, writing: int) -> None:
        """Takes over two file descriptors."""
        self._reading = reading
        self._writing = writing
        self._reader = io.BufferedReader(io.FileIO(reading, closefd=False), _BUFFER)
        for end in (reading, writing):
            _enlarge(end)

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
        sizes = b"".join(_SIZE.pack(view.nbytes, view.readonly) for view in beside)
        head = _HEAD.pack(len(beside), len(sizes) + len(pickled)) + sizes
        self._write(memoryview(head + pickled))
        for view in beside:
            self._write(view)

    def receive(self) -> object:
        """Receive the next object.

        Raises:
            ClosedError: The other end is closed.
        """
        count, size = _HEAD.unpack(self._read(_HEAD.size))
        first = memoryview(self._read(size))
        sizes, pickled = first[: count * _SIZE.size], first[count * _SIZE.size :]
        beside = [
            self._read(size) if fixed else self._filled(size)
            for size, fixed in _SIZE.iter_unpack(sizes)
        ]
        message: object = pickle.loads(pickled, buffers=beside)
        return message

    def skip_past(self, mark: bytes, most: int = 1 << 16) -> None:
        """Read until `mark` was read.

        Raises:
            ClosedError: The other end is closed, or the mark is not among the first `most` bytes.
        """
        seen = b""
        while not seen.endswith(mark):
            if len(seen) > most:
                raise ClosedError
            seen += self._read(1)

    def put(self, mark: bytes) -> None:
        """Write a mark for `skip_past`."""
        self._write(memoryview(mark))

    def close(self) -> None:
        """Close both ends."""
        for end in (self._reading, self._writing):
            with suppress(OSError):
                os.close(end)
        self._reading = self._writing = -1

    def _write(self, data: memoryview) -> None:
        while data.nbytes:
            data = data[_or_closed(os.write, self._writing, data[:_MOST]) :]

    def _read(self, size: int) -> bytes:
        data = _or_closed(self._reader.read, size)
        if len(data) < size:
            raise ClosedError
        return data

    def _filled(self, size: int) -> bytearray:
        """Read so many bytes into a buffer that a writable array can use."""
        data = bytearray(size)
        if _or_closed(self._reader.readinto, data) < size:
            raise ClosedError
        return data


def _or_closed(call: Callable[..., _T], *arguments: object) -> _T:
    """The result of a call of the system.

    Raises:
        ClosedError: It failed. An error that a signal handler raised meanwhile, such as
            `TimeoutError`, is an OSError too, but has no number or comes from a frame below.
    """
    try:
        return call(*arguments)
    except OSError as error:
        below = error.__traceback__ and error.__traceback__.tb_next
        if error.errno is None or below is not None:
            raise
        raise ClosedError from None


def _enlarge(end: int) -> None:
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, _PIPE)
