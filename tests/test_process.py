"""Garbage collection and signals.

Garbage collection is left as it was found, also where an error is raised. Ctrl-C and SIGTERM raise
KeyboardInterrupt, once in a second, and not where they are ignored.
"""

import gc
import signal
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from onnxpad import process
from onnxpad.process import gc_paused, gc_paused_for_good


@pytest.fixture
def as_it_was() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.usefixtures("as_it_was")
@pytest.mark.parametrize("pause", [gc_paused, gc_paused_for_good])
@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_is_left_as_it_was(pause: type, enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    with pause():
        assert not gc.isenabled()
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled(), "the inner pause ended the outer one"
    assert gc.isenabled() is enabled
    with pytest.raises(KeyError), pause():
        raise KeyError
    assert gc.isenabled() is enabled


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The time as `process` sees it; handlers and hooks are put back afterwards."""
    handlers = {number: signal.getsignal(number) for number in process.SIGNALS}
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    monkeypatch.setattr(process, "_raised", [])
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=lambda: clock.now))
    yield clock
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_each_asks_the_program_to_end(number: signal.Signals) -> None:
    process.heed_signals()
    assert not process.was_interrupted()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    assert process.was_interrupted()


def test_a_second_one_does_not_interrupt_the_cleanup(clock: SimpleNamespace) -> None:
    process.heed_signals()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    clock.now += 0.9
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
    clock.now += 0.1
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.usefixtures("clock")
def test_what_is_ignored_stays_ignored() -> None:
    """As SIGINT is in a background job of a shell."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    process.heed_signals()
    signal.raise_signal(signal.SIGTERM)
    assert not process.was_interrupted()


@pytest.mark.usefixtures("clock")
def test_nothing_is_left_to_interrupt() -> None:
    process.heed_signals()
    process.ignore_signals()
    for number in process.SIGNALS:
        signal.raise_signal(number)
    assert not process.was_interrupted()


@pytest.mark.usefixtures("clock")
def test_only_an_interrupt_that_cannot_be_raised_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(sys, "__unraisablehook__", told.append)
    process.heed_signals()
    quiet, loud = (SimpleNamespace(exc_type=kind) for kind in (KeyboardInterrupt, ValueError))
    sys.unraisablehook(quiet)
    sys.unraisablehook(loud)
    assert told == [loud]
