"""Ctrl-C and SIGTERM, which ask the program to end.

Both raise KeyboardInterrupt, so that the program cleans up before it ends.
"""

from __future__ import annotations

import math
import signal
import sys
import time
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_SPELL = 1.0
"""Seconds in which further signals are ignored: a second one must not interrupt the cleanup."""

_raised: list[float] = []


def heed() -> None:
    """Has the signals raise KeyboardInterrupt, except those that are ignored, as under nohup."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _unraisable


def done() -> None:
    """Ignores the signals from now on: there is nothing left to interrupt."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def asked() -> bool:
    """Whether the program was asked to end.

    Native code may turn an interrupt into another error, such as a failed import.
    """
    return bool(_raised)


def _interrupt(number: int, frame: FrameType | None) -> None:
    last, now = max(_raised, default=-math.inf), time.monotonic()
    if now - last >= _SPELL:
        _raised.append(now)
        raise KeyboardInterrupt


def _unraisable(report: Any) -> None:
    """Keeps quiet about an interrupt in a callback from native code, which cannot raise it."""
    if not issubclass(report.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(report)
