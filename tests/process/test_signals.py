"""Ctrl-C and SIGTERM raise KeyboardInterrupt, once in a second, and not where they are ignored."""

import signal
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from onnxpad.process import signals


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The time as `signals` sees it; handlers and hooks are put back afterwards."""
    handlers = {number: signal.getsignal(number) for number in signals.SIGNALS}
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    monkeypatch.setattr(signals, "_raised", [])
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(signals, "time", SimpleNamespace(monotonic=lambda: clock.now))
    yield clock
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_each_asks_the_program_to_end(number: signal.Signals) -> None:
    signals.heed()
    assert not signals.asked()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    assert signals.asked()


def test_a_second_one_does_not_interrupt_the_cleanup(clock: SimpleNamespace) -> None:
    signals.heed()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    clock.now += 0.9
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
    clock.now += 0.1
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_what_is_ignored_stays_ignored() -> None:
    """As SIGINT is in a background job of a shell."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signals.heed()
    signal.raise_signal(signal.SIGTERM)
    assert not signals.asked()


def test_nothing_is_left_to_interrupt() -> None:
    signals.heed()
    signals.done()
    for number in signals.SIGNALS:
        signal.raise_signal(number)
    assert not signals.asked()


def test_only_an_interrupt_that_cannot_be_raised_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(sys, "__unraisablehook__", told.append)
    signals.heed()
    quiet, loud = (SimpleNamespace(exc_type=kind) for kind in (KeyboardInterrupt, ValueError))
    sys.unraisablehook(quiet)
    sys.unraisablehook(loud)
    assert told == [loud]
