"""The process itself: its garbage collection, and its signals.

Ctrl-C and SIGTERM ask the program to end. Both raise KeyboardInterrupt, so that it cleans up first.
"""

from __future__ import annotations

import gc
import math
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_SPELL = 1.0
"""Seconds in which further signals are ignored: a second one must not interrupt the cleanup."""

_raised: list[float] = []


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pauses garbage collection: it would find nothing, and take two thirds of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def gc_paused_for_good() -> Iterator[None]:
    """As `gc_paused`; garbage collection also ignores all objects that are there at the end."""
    with gc_paused():
        yield
        gc.freeze()


def heed_signals() -> None:
    """Has the signals raise KeyboardInterrupt, except those that are ignored, as under nohup."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _unraisable


def ignore_signals() -> None:
    """Ignores the signals from now on: there is nothing left to interrupt."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def was_interrupted() -> bool:
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
