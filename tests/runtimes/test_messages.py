"""Messages between a process and its worker: the end is told from what a signal handler raises."""

import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe
from typing import Any, TypeAlias

import numpy as np
import pytest

from onnxpad.runtimes.runtime import ClosedError, or_closed

Pair: TypeAlias = "tuple[Connection[Any, Any], Connection[Any, Any]]"


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Both ends."""
    ends = Pipe()
    yield ends
    for end in ends:
        end.close()


def test_what_cannot_be_sent_leaves_nothing_behind(pair: Pair) -> None:
    with pytest.raises(Exception, match=r"pickle|local object"):  # the latter by Python 3.13
        or_closed(pair[0].send, [np.zeros(1 << 18), lambda: 0])
    or_closed(pair[0].send, "next")
    assert or_closed(pair[1].recv) == "next"


def test_the_end(pair: Pair) -> None:
    pair[0].send(1)
    pair[0].close()
    assert or_closed(pair[1].recv) == 1
    with pytest.raises(ClosedError):
        or_closed(pair[1].recv)
    with pytest.raises(ClosedError):
        or_closed(pair[1].send, 2)


class StopError(OSError):
    """What a program's signal handler may raise: the system's own errors are OSErrors too."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals are POSIX's")
@pytest.mark.parametrize("wait", ["receive", "send"])
@pytest.mark.parametrize("error", [TimeoutError(), StopError(32, "Broken pipe"), EOFError()])
def test_what_a_signal_handler_raises_is_no_closed_end(
    pair: Pair, wait: str, error: Exception
) -> None:
    def handler(*_: object) -> None:
        raise error

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        sent = np.zeros(1 << 22, np.uint8)
        with pytest.raises(type(error)):
            or_closed(pair[0].send, sent) if wait == "send" else or_closed(pair[1].recv)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
