"""Calls of the operating system, counted, of which one fails as asked.

Those are counted that name a file below a folder, or work on one that was opened there: whatever
`os` and `io` offer to open, read, write, rename, link and remove files, which is how onnxpad and
the packages below it reach the disk.
"""

import _pyio  # type: ignore[import-not-found]
import builtins
import errno
import io
import mmap
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from unittest import mock

# By the number of paths that each takes first.
_ON_PATHS: Final = {
    1: ("open", "mkdir", "rmdir", "unlink", "remove", "chmod", "stat", "lstat", "scandir",
        "listdir", "truncate", "utime", "readlink", "access"),
    2: ("rename", "replace", "link", "symlink"),
}  # fmt: skip
_ON_DESCRIPTORS: Final = (
    "close", "write", "writev", "pwrite", "fsync", "fdatasync", "ftruncate", "posix_fallocate",
    "fchmod", "fstat", "read", "readinto", "pread", "sendfile", "copy_file_range",
)  # fmt: skip

WRITES: Final = frozenset({
    "open to write", "write", "fsync", "fdatasync", "close", "rename", "replace", "link", "symlink",
    "unlink", "remove", "mkdir", "rmdir", "chmod", "fchmod", "truncate", "ftruncate",
    "sendfile", "copy_file_range", "writev", "pwrite", "posix_fallocate",
})  # fmt: skip
"""The steps that change something; the others only read."""

How = Literal["fails", "fails from then on", "dies", "dies halfway", "writes less"]


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at a step.

    Attributes:
        how: `dies halfway`: after the step, or when half of a write is done. `writes less`: from
            then on each write takes only half of what it is given.
        code: The error of those that fail.
    """

    how: How
    code: int = 0

    def __str__(self) -> str:
        """Its name in a table."""
        return f"{errno.errorcode[self.code]}, {self.how}" if self.code else self.how


FAULTS: Final = (
    *(Fault("fails", code) for code in (errno.ENOSPC, errno.EIO, errno.EACCES)),
    *(Fault("fails from then on", code) for code in (errno.ENOSPC, errno.EIO)),
    *(Fault(how) for how in ("dies", "dies halfway", "writes less")),
)


def faults_of(step: str) -> tuple[Fault, ...]:
    """The faults that a step may have.

    Where it only reads, a process that dies leaves what it leaves at the next step that writes.
    """
    if step in WRITES:
        return FAULTS
    return tuple(each for each in FAULTS if each.how == "fails" and each.code != errno.ENOSPC)


@dataclass(slots=True)
class Steps:
    """The steps of this process, of which one has a fault.

    Attributes:
        root: The folder whose files count.
        at: The number of the step with the fault, from 0; -1 for none.
        fault: The fault.
        fired: Called when it happens.
        taken: The names of all steps so far.
    """

    root: str
    at: int
    fault: Fault
    fired: Callable[[], object]
    taken: list[str] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    process: int = field(default_factory=os.getpid)

    def concern(self, *named: object) -> bool:
        """Whether one of these paths or descriptors is a file below the folder."""
        if os.getpid() != self.process:
            return False
        for each in named:
            if isinstance(each, int):
                if each in self.open:
                    return True
            elif isinstance(each, str | bytes | os.PathLike):
                path = os.path.abspath(os.fsdecode(each))  # noqa: PTH100
                if path == self.root or path.startswith(self.root + os.sep):
                    return True
        return False

    def take(
        self,
        name: str,
        act: Callable[[], Any],
        half: Callable[[], Any] | None = None,
        path: object = None,
    ) -> Any:
        """Takes a step, unless it has the fault: the act, or half of it where that can be."""
        number = len(self.taken)
        self.taken.append(name)
        lasts = self.fault.how in {"fails from then on", "writes less"}
        if self.at < 0 or number < self.at or (number > self.at and not lasts):
            return act()
        if number == self.at:
            self.fired()
        if self.fault.how == "writes less":
            return (half or act)()
        if self.fault.how == "dies halfway":
            (half or act)()
        if not self.fault.code:
            os.kill(self.process, signal.SIGKILL)
        if name == "close":  # Linux closes nonetheless
            act()
        raise OSError(self.fault.code, os.strerror(self.fault.code), path)

    def wrapped(self, name: str, call: Callable[..., Any], named: int) -> Callable[..., Any]:
        """A call as a step, if any of its first arguments concern the folder."""

        def step(*given: Any, **options: Any) -> Any:
            if not self.concern(*given[:named]):
                return call(*given, **options)
            half = None
            if name in {"write", "pwrite"} and len(given[1]) > 1:
                fewer = given[1][: len(given[1]) // 2]
                half = lambda: call(given[0], fewer, *given[2:])  # noqa: E731
            writes = name == "open" and given[1] & (os.O_WRONLY | os.O_RDWR)
            kind = "open to write" if writes else name
            path = None if isinstance(given[0], int) else given[0]
            found = self.take(kind, lambda: call(*given, **options), half, path)
            if name == "open":
                self.open.add(found)
            if name == "close":
                self.open.discard(given[0])
            return found

        return step

    def opened(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """`open` for files whose reads and writes are steps: Python's own, which calls `os`."""

        def step(file: Any, *given: Any, **options: Any) -> Any:
            open_it: Any = _pyio.open if self.concern(file) else call
            return open_it(file, *given, **options)

        return step


@contextmanager
def injected(
    root: Path, at: int = -1, fault: Fault = FAULTS[0], fired: Callable[[], object] = int
) -> Iterator[Steps]:
    """Counts the steps on files below a folder, and has one of them fail."""
    steps = Steps(os.path.realpath(root), at, fault, fired)
    patches: list[tuple[Any, str, Any]] = [
        (os, name, steps.wrapped(name, getattr(os, name), named))
        for named, names in ((1, _ON_DESCRIPTORS), *_ON_PATHS.items())
        for name in names
        if hasattr(os, name)
    ]
    opened = steps.opened(io.open)
    patches += [(io, "open", opened), (builtins, "open", opened)]
    patches.append((mmap, "mmap", steps.wrapped("mmap", mmap.mmap, 1)))
    active = [mock.patch.object(place, name, call) for place, name, call in patches]
    for each in active:
        each.start()
    try:
        yield steps
    finally:
        for each in active:
            each.stop()
