"""A process of its own for work that may crash in native code. Imports interruption.

A damaged model can make a runtime dereference what is not there, and that ends the whole process:
no exception, no message. So the work is done by a child, and its parent says what became of it.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from onnxpad import interruption

CRASHED = 2
"""Exit code when the child was ended by a fault: what it was given is not usable."""

_GRACE = 5.0
"""Seconds that an interrupted child has to end by itself: native code may not hear of it."""

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG, linux/prctl.h
_FAULTS = {
    getattr(signal, name, None) for name in ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT")
}


def guarded(work: Callable[[], None], crashed: Callable[[str], None], *, when: bool = True) -> None:
    """Does some work in a child process, and leaves with its exit code.

    Where processes cannot be forked, or `when` is false, the work is done here. `crashed` tells of
    a child that was ended by a fault.

    Raises:
        KeyboardInterrupt: The child was interrupted, and did not end by itself.
    """
    if not when or not hasattr(os, "fork"):
        work()
        return
    parent = os.getpid()
    # An interrupt between the two lives of a fork would lose the child.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, interruption.SIGNALS)
    child = os.fork()
    if child:
        _pass_on(child)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if child:
        sys.exit(_waited(child, crashed))
    _die_with(parent)
    work()


def _waited(child: int, crashed: Callable[[str], None]) -> int:
    """The exit code to leave with, once the child has ended."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    # An interrupt of native code, as of a module's import, may end in a fault of its own.
    if -code in _FAULTS and signal.getitimer(signal.ITIMER_REAL)[0]:
        raise KeyboardInterrupt
    interruption.done()
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


def _pass_on(child: int) -> None:
    """Has the child answer interrupts, and ends it where it does not.

    A terminal interrupts both processes; whoever signals this one alone means the other. While the
    child is waited for nothing is raised here, which could lose the status of one that has ended.
    """

    def send(number: int, frame: FrameType | None) -> None:
        if not signal.getitimer(signal.ITIMER_REAL)[0]:
            signal.setitimer(signal.ITIMER_REAL, _GRACE)
        with suppress(ProcessLookupError):
            os.kill(child, number)

    def end(number: int, frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        raise KeyboardInterrupt

    for heeded in interruption.SIGNALS:
        if signal.getsignal(heeded) is not signal.SIG_IGN:
            signal.signal(heeded, send)
    signal.signal(signal.SIGALRM, end)


def _die_with(parent: int) -> None:
    """Has the system end this process when its parent ends, however that happens."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the system was asked
            os._exit(1)
