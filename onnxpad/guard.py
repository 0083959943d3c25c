"""A process of its own for work that may crash in native code. Imports nothing of the package.

A damaged model can make a runtime dereference what is not there, and that ends the whole process:
no exception, no message. So the work is done by a child, and its parent says what became of it.
"""

import os
import signal
import sys
import time
from collections.abc import Callable

CRASHED = 2
"""Exit code when the child was ended by a fault: what it was given is not usable."""

_GRACE, _PAUSE = 0.5, 0.02
"""Seconds that an interrupted child has to end by itself, and between two looks."""

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG, linux/prctl.h
_FAULTS = {
    getattr(signal, name, None) for name in ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT")
}


def guarded(work: Callable[[], None], crashed: Callable[[str], None], *, when: bool = True) -> None:
    """Does some work in a child process, and leaves with its exit code.

    Where processes cannot be forked, or `when` is false, the work is done here. `crashed` tells of
    a child that was ended by a fault.
    """
    if not when or not hasattr(os, "fork"):
        work()
        return
    parent = os.getpid()
    child = os.fork()
    if child:
        sys.exit(_waited(child, crashed))
    _die_with(parent)
    work()


def _waited(child: int, crashed: Callable[[str], None]) -> int:
    """The exit code to leave with, once the child has ended."""
    try:
        _, status = os.waitpid(child, 0)
    except KeyboardInterrupt:
        status = _interrupted(child)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    if -code in _FAULTS:
        name = signal.Signals(-code).name
        crashed(
            f"onnxruntime crashed while it ran the model ({name}), which is likely damaged; "
            "export it again, or pass --no-validate to fix it without running it"
        )
        return CRASHED
    return 128 - code


def _interrupted(child: int) -> int:
    """The status of a child that is to end, by itself or else by being told.

    A terminal interrupts both processes; whoever signals this one alone means the other.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for _ in range(int(_GRACE / _PAUSE)):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(_PAUSE)
    os.kill(child, signal.SIGINT)
    return os.waitpid(child, 0)[1]


def _die_with(parent: int) -> None:
    """Has the system end this process when its parent ends, however that happens."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the system was asked
            os._exit(1)
