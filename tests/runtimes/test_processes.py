"""How workers are forked and started, waited for and left, without a process of their own here."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from onnxpad.runtimes import pool, worker
from onnxpad.runtimes.channel import ClosedError
from onnxpad.runtimes.pool import _Forked
from tests.runtimes.test_pool_by_itself import Channel, Process, worker_of
from tests.support import ROOT
from tests.support.rows import each_row


class Noted:
    """Calls by name, in order, with what each returns or raises."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._monkeypatch = monkeypatch

    def replace(self, place: Any, name: str, *answers: Any) -> None:
        """A function notes its arguments; the last answer is repeated."""
        left = [*answers]

        def called(*arguments: Any, **named: Any) -> Any:
            self.calls.append((name, *arguments, *([named] if named else [])))
            answer = (left.pop(0) if len(left) > 1 else left[0]) if left else None
            if isinstance(answer, BaseException):
                raise answer
            return answer

        self._monkeypatch.setattr(place, name, called)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Noted:
    monkeypatch.setattr(pool, "_idle", [])
    monkeypatch.setattr(pool, "_unable", [])
    return Noted(monkeypatch)


# A forked child


@each_row(
    ("waited", "codes"),
    [
        ([(0, 0), (0, 0), (7, 3 << 8)], [None, None, 3, 3]),
        ([(7, signal.SIGKILL)], [-9, -9]),
        ([(7, 0)], [0, 0]),
        ([ChildProcessError()], [0, 0]),
    ],
)
def test_a_child_is_asked_whether_it_has_ended(
    waited: list[Any], codes: list[int | None], noted: Noted
) -> None:
    noted.calls.clear()
    noted.replace(os, "waitpid", *waited, AssertionError("asked once more"))
    child = _Forked(7)
    assert [child.poll() for _ in codes] == codes
    assert noted.calls == [("waitpid", 7, os.WNOHANG)] * len(waited)
    assert child.returncode == codes[-1]


def test_waiting_for_a_child_pauses_longer_and_longer(
    noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.05, 0.05]
    noted.replace(os, "waitpid", *[(0, 0)] * len(pauses), (7, 0))
    noted.replace(time, "sleep", None)
    child = _Forked(7)
    assert child.wait() == 0
    assert [call[1] for call in noted.calls if call[0] == "sleep"] == pytest.approx(pauses)
    assert child.wait(0.0) == 0
    noted.calls.clear()
    noted.replace(os, "waitpid", (0, 0))
    noted.replace(time, "monotonic", 10.0, 12.0, 12.5, 12.6)
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        _Forked(8).wait(2.5)
    assert (caught.value.cmd, caught.value.timeout) == ("onnxruntime", 2.5)
    assert [call[0] for call in noted.calls].count("sleep") == 2


def test_a_child_is_killed_unless_it_has_ended(noted: Noted) -> None:
    noted.replace(os, "waitpid", (0, 0), (7, 0))
    noted.replace(os, "kill", None)
    child = _Forked(7)
    child.kill()
    child.kill()
    child.kill()
    assert [call for call in noted.calls if call[0] == "kill"] == [("kill", 7, signal.SIGKILL)]


# The fork


class Tasks:
    """`/proc` with so many threads of this process; None without such a folder."""

    def __init__(self, threads: int | None) -> None:
        self.threads = threads

    def __call__(self, path: str) -> "Tasks":
        assert path == "/proc/self/task"
        return self

    def iterdir(self) -> list[int]:
        if self.threads is None:
            raise FileNotFoundError
        return [*range(self.threads)]


@pytest.fixture
def forking(noted: Noted, monkeypatch: pytest.MonkeyPatch) -> Noted:
    """A fork by name alone: ends 10 and 11 ask, and 12 and 13 answer."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(pool, "Path", Tasks(1))
    monkeypatch.setattr(pool, "Channel", lambda *ends: Channel(*ends))
    noted.replace(os, "pipe", (10, 11), (12, 13))
    noted.replace(os, "close", None)
    noted.replace(signal, "pthread_sigmask", {signal.SIGHUP})
    return noted


MASKED = [
    ("pthread_sigmask", signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM)),
    ("pthread_sigmask", signal.SIG_SETMASK, {signal.SIGHUP}),
]


def test_the_parent_keeps_its_ends_and_an_idle_worker(forking: Noted) -> None:
    forking.replace(os, "fork", 99)
    pool.fork_first()
    calls = [call for call in forking.calls if call[0] != "pipe"]
    assert calls == [MASKED[0], ("fork",), ("close", 10), ("close", 13), MASKED[1]]
    (found,) = pool._idle
    process: Any = found._process
    channel: Any = found._channel
    assert (process._pid, channel.answers, found._ready) == (99, [12, 11], True)
    process.returncode = 0


class GoneError(BaseException):
    """What ends a process."""


def test_the_child_serves_at_the_other_ends(forking: Noted) -> None:
    forking.replace(os, "fork", 0)
    forking.replace(pool, "_serve_forked", GoneError())
    with pytest.raises(GoneError):
        pool.fork_first()
    assert forking.calls[-1] == ("_serve_forked", (10, 13), (11, 12), {signal.SIGHUP})
    assert pool._idle == []


@each_row("threads", [2, 7, None])
def test_a_fork_that_is_not_safe_is_none(
    threads: int | None, forking: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    forking.replace(os, "fork", AssertionError())
    monkeypatch.setattr(pool, "Path", Tasks(threads))
    pool.fork_first()
    monkeypatch.setattr(pool, "Path", Tasks(1))
    monkeypatch.setattr(sys, "platform", "darwin")
    pool.fork_first()
    assert (forking.calls, pool._idle) == ([], [])


@pytest.mark.parametrize("failing", ["", "close", "serve"])
def test_a_forked_worker_serves_and_never_returns(failing: str, forking: Noted) -> None:
    for place, name in (
        (pool, "ignore_signals"), (os, "close"), (pool, "detach"), (pool, "serve"),
    ):  # fmt: skip
        forking.replace(place, name, ValueError() if name == failing else None)
    forking.replace(os, "_exit", GoneError())
    with pytest.raises(GoneError):
        pool._serve_forked((10, 13), (11, 12), {signal.SIGHUP})
    if failing != "serve":
        expected = [("ignore_signals",), MASKED[1], ("close", 11)]
        if not failing:
            expected += [("close", 12), ("detach",)]
            *_, (name, channel), _ = forking.calls
            assert (name, channel.answers) == ("serve", [10, 13])
        assert forking.calls[: len(expected)] == expected
    assert forking.calls[-1] == ("_exit", 1)


# An interpreter


@each_row(
    ("flags", "given"),
    [
        ({}, []),
        ({"isolated": 1}, ["-I"]),
        ({"ignore_environment": 1, "no_user_site": 1}, ["-E", "-s"]),
        ({"dont_write_bytecode": 1}, ["-B"]),
    ],
)
def test_an_interpreter_is_started_like_this_one(
    flags: dict[str, int], given: list[str], noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("isolated", "ignore_environment", "no_user_site", "dont_write_bytecode")
    noted.calls.clear()
    monkeypatch.setattr(sys, "flags", SimpleNamespace(**dict.fromkeys(names, 0) | flags))
    monkeypatch.setattr(sys, "path", ["", "here", "/there"])
    monkeypatch.setattr(
        os, "environ", {"A": "b", "PYTHONINSPECT": "1", "OPENBLAS_NUM_THREADS": "9"}
    )
    ends = os.pipe(), os.pipe()
    process: Any = Process()
    process.stdin = os.fdopen(ends[0][1], "wb", buffering=0)
    process.stdout = os.fdopen(ends[1][0], "rb", buffering=0)
    noted.replace(subprocess, "Popen", process)
    found = pool._started()
    assert found is not None
    ((_, words, options),) = noted.calls
    start = ["-P", "-W", "ignore", *given, "-c", pool._START]
    folders = [str(ROOT), str(Path("here").absolute()), "/there"]
    assert words == [sys.executable, *start, *folders]
    assert options == {
        "bufsize": 0,
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
        "env": {"A": "b", "OPENBLAS_NUM_THREADS": "1"},
        "creationflags": 0,
    }
    assert process.stdin.closed
    assert process.stdout.closed
    assert not found._ready
    found._channel.send((1, 2))  # into the end that was standard input
    assert os.read(ends[0][0], 1)
    found.end()
    os.close(ends[0][0])
    os.close(ends[1][1])


def test_where_none_can_be_started(noted: Noted, monkeypatch: pytest.MonkeyPatch) -> None:
    noted.replace(subprocess, "Popen", OSError())
    monkeypatch.setattr(sys, "executable", "/x/python")
    assert pool._started() is None
    assert pool._unable == [True]
    assert pool._idle_or_started() is None
    assert isinstance(pool.borrow(), pool._InProcessWorker)
    pool.warm()
    pool._unable.clear()
    pool.warm()
    assert pool._idle == []


def test_a_worker_is_taken_from_the_end(noted: Noted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_in_process", lambda: False)
    first, second = worker_of(Process(), Channel()), worker_of(Process(), Channel())
    gone = Process(1)
    pool._idle[:] = [first, second, worker_of(gone, Channel())]
    assert pool._idle_or_started() is second
    assert (pool._idle, gone.done[:1]) == ([first], ["kill"])
    fresh = worker_of(Process(), Channel())
    noted.replace(pool, "_started", fresh)
    assert pool._idle_or_started() is first
    assert pool._idle_or_started() is fresh


def test_at_the_end_idle_workers_are_left_and_others_killed(
    noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = [Process() for _ in range(3)]
    workers = [worker_of(each, Channel()) for each in processes]
    monkeypatch.setattr(pool, "_everyone", {*workers})
    pool._idle[:] = workers[:2]
    pool._end_all()
    assert [each.done for each in processes] == [["wait a while"]] * 2 + [["kill", "wait"]]
    assert (pool._idle, [*pool._everyone]) == ([], [])


def test_a_fork_of_this_process_forgets_the_workers(
    noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = [Process() for _ in range(2)]
    workers = [worker_of(each, Channel()) for each in processes]
    lock = threading.Lock()
    monkeypatch.setattr(pool, "_lock", lock)
    monkeypatch.setattr(pool, "_everyone", {*workers})
    pool._idle[:] = workers
    pool._forget_all()
    assert [(each.done, each.returncode) for each in processes] == [([], 0)] * 2
    assert (pool._idle, [*pool._everyone], pool._lock is lock) == ([], [], False)
    channel: Any = workers[0]._channel
    assert channel.sent == ["closed"]


# In the worker


@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_signals_are_the_callers(
    platform: str, noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted.replace(signal, "signal", None)
    monkeypatch.setattr(sys, "platform", platform)
    worker.ignore_signals()
    ignored = [("signal", each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)]
    expected = [("signal", signal.SIGINT, signal.SIG_DFL)] if platform == "win32" else ignored
    assert noted.calls == expected


def test_standard_streams_lead_nowhere(noted: Noted) -> None:
    noted.replace(os, "open", 5)
    noted.replace(os, "dup2", None)
    noted.replace(os, "close", None)
    worker.detach()
    assert noted.calls == [
        ("open", os.devnull, os.O_RDWR), *(("dup2", 5, stream) for stream in (0, 1, 2)),
        ("close", 5),
    ]  # fmt: skip


def test_a_worker_says_when_it_is_ready(noted: Noted, monkeypatch: pytest.MonkeyPatch) -> None:
    class Said(Channel):
        def put(self, mark: bytes) -> None:
            noted.calls.append(("put", mark))

    noted.replace(worker, "ignore_signals", None)
    noted.replace(os, "dup", 20, 21)
    noted.replace(worker, "detach", None)
    noted.replace(worker, "serve", None)
    monkeypatch.setattr(worker, "Channel", Said)
    worker.serve_standard_streams()
    *calls, (name, channel) = noted.calls
    assert calls == [
        ("ignore_signals",),
        ("dup", 0),
        ("dup", 1),
        ("detach",),
        ("put", worker.READY),
    ]
    assert (name, channel.answers) == ("serve", [20, 21])


class Desk:
    """Answers requests as it is told."""

    def __init__(self, *, moves: bool) -> None:
        assert moves
        self.forsaken = 0

    def double(self, number: int) -> int:
        return 2 * number

    def fail(self, error: Exception) -> None:
        raise error

    def forsake(self) -> None:
        self.forsaken += 1


def test_requests_are_answered_one_after_the_other(
    noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = [
        (True, "double", (4,)),
        (False, "double", (5,)),
        (True, "fail", (KeyError("k"),)),
        (True, "fail", (MemoryError(),)),
        (True, "unpicklable", ()),
        (True, "fail", (ValueError("not\nsent"),)),
        (True, "double", (8,)),
        (True, "double", (9,)),
    ]
    sent: list[Any] = []
    done = threading.Event()

    class Line:
        def receive(self) -> Any:
            if asked:
                return asked.pop(0)
            done.wait(20)
            raise SystemExit  # ends the thread alone

        def send(self, reply: Any) -> None:
            if str(reply[1]) in {"not\nsent", "set()"}:
                raise TypeError("cannot be pickled: set\nand more")
            if reply[1] == 18:
                raise ClosedError
            sent.append(reply)

    class Ended(BaseException):
        pass

    def leave(code: int) -> None:
        noted.calls.append(("_exit", code))
        if threading.current_thread() is threading.main_thread():
            raise Ended

    Desk.unpicklable = lambda self: set()  # type: ignore[attr-defined]
    monkeypatch.setattr(worker, "RequestHandler", Desk)
    monkeypatch.setattr(worker, "_leave", lambda: noted.calls.append(("left",)))
    written: list[str] = []
    monkeypatch.setattr(
        worker, "Path", lambda path: SimpleNamespace(
            write_text=lambda text, encoding: written.append(f"{path} {text}")
        ),
    )  # fmt: skip
    monkeypatch.setattr(os, "_exit", leave)
    line: Any = Line()
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    before = {*threading.enumerate()}
    with pytest.raises(Ended):
        worker.serve(line)
    done.set()
    for thread in {*threading.enumerate()} - before:
        thread.join()  # before an exit is one again
    told = [(well, each if well else f"{type(each).__name__}: {each}") for well, each in sent]
    assert told == [
        (True, 8),
        (False, "KeyError: 'k'"),
        (False, "EngineError: onnxruntime's process is out of memory"),
        (False, "EngineError: cannot be pickled: set and more"),
        (False, "EngineError: not sent"),
        (True, 16),
    ]
    assert noted.calls == [("left",), ("_exit", 0), ("_exit", 0)]
    assert written == ["/proc/self/oom_score_adj 1000"]
