"""A process of its own for work that may crash in native code. Imports nothing of the package.

A damaged model can make a runtime dereference what is not there, and that ends the whole process:
no exception, no message. So the work is done by a child, and its parent says what became of it.
"""

import os
import signal
import sys
from collections.abc import Callable

CRASHED = 2
"""Exit code when the child was ended by a fault: what it was given is not usable."""

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG, linux/prctl.h
_FAULTS = {
    getattr(signal, name, None) for name in ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT")
}


def guarded(work: Callable[[], None], *, when: bool = True) -> None:
    """Does some work in a child process, and leaves with its exit code.

    Where processes cannot be forked, or `when` is false, the work is done here.
    """
    if not when or not hasattr(os, "fork"):
        work()
        return
    parent = os.getpid()
    child = os.fork()
    if child:
        sys.exit(_waited(child))
    _die_with(parent)
    work()


def _waited(child: int) -> int:
    """The exit code to leave with, once the child has ended."""
    while True:
        try:
            _, status = os.waitpid(child, 0)
            break
        except KeyboardInterrupt:
            continue  # the child is interrupted too, and says so
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    if -code in _FAULTS:
        name = signal.Signals(-code).name
        sys.stderr.write(
            f"error: onnxruntime crashed while it ran the model ({name}), which is likely damaged; "
            "export it again, or pass --no-validate to fix it without running it\n"
        )
        return CRASHED
    return 128 - code


def _die_with(parent: int) -> None:
    """Has the system end this process when its parent ends, however that happens."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the system was asked
            os._exit(1)
