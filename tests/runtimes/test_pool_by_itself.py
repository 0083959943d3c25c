"""What the pool makes of processes and channels, which stand for real ones here."""

import subprocess
import sys
import threading
from typing import Any

import pytest

from onnxpad.runtimes import pool
from onnxpad.runtimes.channel import ClosedError
from onnxpad.runtimes.pool import _SubprocessWorker
from onnxpad.runtimes.runtime import CrashError, LimitError
from tests.support.rows import each_row


class Process:
    """A process that ends when it is killed, or with a code from the start."""

    def __init__(self, code: int | None = None) -> None:
        self.returncode = code
        self.done: list[str] = []
        self.hangs = False

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self.done.append("wait" if timeout is None else "wait a while")
        if self.hangs and timeout is not None:
            raise subprocess.TimeoutExpired("x", timeout)
        return self.returncode or 0

    def kill(self) -> None:
        self.done.append("kill")
        if self.returncode is None:
            self.returncode = -9


class Channel:
    """A channel with what it answers; an exception is raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = [*answers]
        self.sent: list[Any] = []

    def send(self, message: Any) -> None:
        if self.answers and isinstance(self.answers[0], BaseException):
            raise self.answers.pop(0)
        self.sent.append(message)

    def receive(self) -> Any:
        answer = self.answers.pop(0)
        return answer() if callable(answer) else answer

    def skip_past(self, mark: bytes) -> None:
        self.sent.append(mark)
        if self.answers and isinstance(self.answers[0], BaseException):
            raise self.answers.pop(0)

    def close(self) -> None:
        self.sent.append("closed")


def worker_of(process: Process, channel: Channel, *, ready: bool = True) -> _SubprocessWorker:
    kept: Any = channel
    return _SubprocessWorker(process, kept, ready=ready)


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker is idle, and none is started."""
    monkeypatch.setattr(pool, "_idle", [])
    monkeypatch.setattr(pool, "_unable", [])
    monkeypatch.setattr(pool, "_in_process", lambda: False)


def test_a_request_and_its_answers() -> None:
    channel = Channel((True, 7), (False, ValueError("no")))
    worker = worker_of(Process(), channel)
    assert worker.ask("add", 3, 4) == 7
    with pytest.raises(ValueError, match="no"):
        worker.ask("add")
    assert channel.sent == [(True, "add", (3, 4)), (True, "add", ())]
    assert worker.usable


def test_imports_are_no_part_of_a_limit() -> None:
    channel = Channel((True, None), (True, 1), (True, 2))
    worker = worker_of(Process(), channel)
    with pool.limited(60.0):
        assert (worker.ask("run"), worker.ask("run")) == (1, 2)
    assert [name for _, name, _ in channel.sent] == ["warm", "run", "run"]


def test_limits_are_of_what_is_asked_within() -> None:
    seen = []
    with pool.limited(2.0):
        seen.append(pool._limit.get())
        with pool.longer(3):
            seen.append(pool._limit.get())
        with pool.limited(None), pool.longer(3):
            seen.append(pool._limit.get())
        seen.append(pool._limit.get())
    assert seen == [2.0, 6.0, None, 2.0]


def test_what_is_late_is_killed() -> None:
    process = Process()

    def late() -> Any:
        watches[0]._kill()
        raise ClosedError

    watches: list[Any] = []
    original = pool._Watch

    class Watch(original):  # type: ignore[misc, valid-type]
        def begin(self) -> None:
            watches.append(self)

    channel = Channel(late)
    worker = worker_of(process, channel)
    with pytest.MonkeyPatch.context() as patched, pool.limited(0.5):
        patched.setattr(pool, "_Watch", Watch)
        worker._answered = True
        with pytest.raises(LimitError, match=r"^did not end within 0.5 s \(--run-timeout\)$"):
            worker.ask("run")
    assert process.done == ["kill", "kill", "wait"]
    assert channel.sent[-1] == "closed"
    assert not worker.usable
    watch = original(process, 1.0)
    assert not watch.end()
    process.done.clear()
    watch._kill()  # too late itself
    assert process.done == []


@each_row(
    ("code", "said"),
    [
        (-11, "onnxruntime crashed (SIGSEGV)"),
        (-9, "onnxruntime's process was killed (SIGKILL; the system may be out of memory)"),
        (-1, "onnxruntime crashed (SIGHUP)"),
        (-64, "onnxruntime crashed (SIGRTMAX)"),
        (-65, "onnxruntime crashed (0xFFFFFFBF)"),
        (1, "onnxruntime's process ended by itself (exit code 1)"),
        (0, "onnxruntime's process ended by itself (exit code 0)"),
        (3, "onnxruntime's process ended by itself (exit code 3)"),
        (0xFFFF, "onnxruntime's process ended by itself (exit code 65535)"),
        (0x10000, "onnxruntime crashed (0x00010000)"),
        (0xC0000005 - (1 << 32), "onnxruntime crashed (0xC0000005)"),
    ],
)
def test_how_a_process_ended(code: int, said: str) -> None:
    process, channel = Process(code), Channel(ClosedError())
    worker = worker_of(process, channel)
    with pytest.raises(CrashError) as raised:
        worker.ask("run")
    assert str(raised.value) == said
    assert process.done[0] == "wait a while"
    assert "closed" in channel.sent
    with pytest.raises(KeyboardInterrupt):
        worker_of(Process(0xC000013A), Channel(ClosedError())).ask("run")


def test_a_limit_is_watched_by_a_timer_that_ends_with_the_answer() -> None:
    process: Any = Process()
    for seconds, waits in ((None, None), (2.5, 2.5), (1e300, threading.TIMEOUT_MAX)):
        watch = pool._Watch(process, seconds)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(threading.Timer, "start", lambda self: None)
            watch.begin()
        timer = watch._timer
        assert (None if timer is None else (timer.interval, timer.daemon)) == (
            None if waits is None else (waits, True)
        )
        assert not watch.end()
        assert timer is None or timer.finished.is_set()
    assert process.done == []


def test_an_interrupt_ends_the_worker() -> None:
    for is_asked in (True, False):
        process = Process()
        worker = worker_of(process, Channel(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            worker.ask("run") if is_asked else worker.warm()
        assert process.done[0] == "kill"


def test_a_worker_is_warmed_once_and_is_started_when_it_says_so() -> None:
    channel = Channel()
    worker = worker_of(Process(), channel, ready=False)
    worker.warm()
    worker.warm()
    assert channel.sent == [(False, "warm", ())]
    assert worker.starts()
    assert worker.starts()
    assert len(channel.sent) == 2
    worker_of(Process(), Channel(ClosedError())).warm()  # told when it is asked
    process = Process()
    assert not worker_of(process, Channel(ClosedError()), ready=False).starts()
    assert process.done[0] == "kill"


def test_workers_are_kept_and_lent() -> None:
    made = [worker_of(Process(), Channel()) for _ in range(pool._IDLE + 1)]
    for worker in made:
        pool.give_back(worker)
    assert pool._idle == made[:-1]
    assert not made[-1].usable
    assert pool.borrow() is made[-2]
    gone, last = worker_of(Process(1), Channel()), worker_of(Process(), Channel())
    pool._idle[:] = [last, gone]
    assert pool.borrow() is last  # the other had ended
    made[0].end()
    pool._idle.clear()
    pool.give_back(made[0])  # it is none any more
    assert pool._idle == []
    pool.give_back(pool._InProcessWorker())
    assert pool._idle == []


def test_a_request_of_the_pool_gives_its_worker_back(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = worker_of(Process(), Channel((True, 1), (False, ValueError("no"))), ready=False)
    monkeypatch.setattr(pool, "_started", lambda: worker)
    assert pool.ask("run") == 1
    assert pool._idle == [worker]
    with pytest.raises(ValueError, match="no"):
        pool.ask("run")
    assert pool._idle == [worker]
    pool.warm()
    assert pool._idle == [worker]
    worker.end()
    broken = worker_of(Process(), Channel(ClosedError()), ready=False)
    monkeypatch.setattr(pool, "_started", lambda: broken)
    assert isinstance(pool.borrow(), pool._InProcessWorker)
    assert pool._unable == [True]


def test_how_workers_leave() -> None:
    process, channel = Process(0), Channel()
    worker_of(process, channel).leave()
    assert (process.done[:1], channel.sent[:1]) == (["wait a while"], ["closed"])
    process = Process()
    process.hangs = True
    worker = worker_of(process, Channel())
    worker.leave()
    assert process.done[:3] == ["wait a while", "kill", "wait"]
    assert worker not in pool._everyone
    process = Process()
    worker = worker_of(process, Channel())
    worker.forget()
    assert (process.returncode, process.done) == (0, [])


def test_an_interpreter_is_known_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for name, here in (("/x/python3.11", False), ("/x/PyPy", False), ("", True), ("/x/app", True)):
        monkeypatch.setattr(sys, "executable", name)
        assert pool._in_process() == here
    monkeypatch.setattr(sys, "executable", "/x/python")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert pool._in_process()
    monkeypatch.setattr(sys, "frozen", False, raising=False)
    monkeypatch.setattr(pool, "_unable", [True])
    assert pool._in_process()
