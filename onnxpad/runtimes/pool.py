"""The pool of workers: starts them, lends each to one session at a time, and ends them.

A worker is a new interpreter, never a fork of a process that has threads or uses a device. Only the
program `onnxpad` forks its first worker, before it has either. If no interpreter can be started, as
in a frozen or embedded one, the runtime runs in this process, without limits and at its risk.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, Protocol

from onnxpad.errors import let_through
from onnxpad.runtimes.channel import Channel, ClosedError
from onnxpad.runtimes.runtime import CrashError, LimitError
from onnxpad.runtimes.worker import DEPLOYED, READY, RequestHandler, detach, ignore_signals, serve

_IDLE: Final = 4
"""Idle workers to keep: as many as threads are likely to need at once."""

_PATIENCE: Final = 2.0
"""Seconds to wait for a worker to end by itself before it is killed."""

_limit: ContextVar[float | None] = ContextVar("limit", default=None)
"""Seconds after which a request is given up, with its worker; None for no limit."""

_START: Final = """\
import importlib, sys, typing
sys.path[:] = sys.argv[2:]
sys.path.insert(0, sys.argv[1])
import onnxpad
del sys.path[0]
from onnxpad.runtimes import worker
worker.serve_standard_streams()
"""

_WINDOWS_INTERRUPT: Final = 0xC000013A


class Worker(Protocol):
    """Something that answers requests for a runtime."""

    def ask(self, request: str, *arguments: object) -> Any:
        """The answer to a request, which is the name of a method of `worker.RequestHandler`.

        Raises:
            CrashError: The worker's process ended instead of answering.
            LimitError: It did not answer within the limit, and was ended.
            Exception: Any exception that the request raised.
        """
        ...

    def end(self) -> None:
        """End at once; the worker cannot be used any more."""
        ...

    @property
    def usable(self) -> bool:
        """Whether it can still answer."""
        ...


class _Process(Protocol):
    """The part of `subprocess.Popen` that is used here."""

    returncode: int | None

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def kill(self) -> None: ...


class _InProcessWorker:
    """The runtime in this process, if no other can be started."""

    usable = True

    def __init__(self) -> None:
        self._desk = RequestHandler(moves=False)

    def ask(self, request: str, *arguments: object) -> Any:
        return getattr(self._desk, request)(*arguments)

    def end(self) -> None:
        self._desk.close()


class _Watch:
    """Kills a process that is not done after so many seconds; None for no limit."""

    def __init__(self, process: _Process, seconds: float | None) -> None:
        self._process = process
        self._seconds = seconds
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._is_done = self._is_late = False

    def begin(self) -> None:
        if self._seconds is not None:
            seconds = min(self._seconds, threading.TIMEOUT_MAX)
            self._timer = threading.Timer(seconds, self._kill)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> bool:
        """Lets the process live from now on; returns whether it was killed before."""
        with self._lock:
            self._is_done = True
        if self._timer is not None:
            self._timer.cancel()
        return self._is_late

    def _kill(self) -> None:
        with self._lock:
            if not self._is_done:
                self._is_late = True
                with suppress(OSError):
                    self._process.kill()


class _SubprocessWorker:
    """The runtime in a process of its own; a worker that nobody refers to any more is ended."""

    def __init__(self, process: _Process, channel: Channel, *, ready: bool) -> None:
        self._process = process
        self._channel = channel
        self._ready = ready
        self._warm = self._answered = False
        _everyone.add(self)

    def __del__(self) -> None:
        """End a worker that was lost, as to an exception between two steps here."""
        self.end()

    @property
    def usable(self) -> bool:
        return self._process.poll() is None

    def warm(self) -> None:
        """Import the runtime in the worker, without waiting for it."""
        if not self._warm:
            self._warm = True
            try:
                self._channel.send((False, "warm", ()))
            except ClosedError:
                pass  # reported when it is asked
            except BaseException:  # half a message may be on its way
                self.end()
                raise

    def ask(self, request: str, *arguments: object) -> Any:
        limit = _limit.get()
        if limit is not None and not self._answered:  # its imports are no part of a run
            self._exchanged("warm", (), None)
        well, answer = self._exchanged(request, arguments, limit)
        if well:
            return answer
        raise answer

    def _exchanged(self, request: str, arguments: object, limit: float | None) -> Any:
        """The reply to a request: whether it went well, and the answer or the error."""
        watch = _Watch(self._process, limit)
        try:
            watch.begin()
            self._channel.send((True, request, arguments))
            reply = self._channel.receive()
            if not watch.end():
                self._answered = True
                return reply
        except ClosedError:
            if not watch.end():
                raise self._crash() from None
        except BaseException:  # such as an interrupt: an answer may be on its way
            watch.end()
            self.end()
            raise
        self.end()
        raise LimitError(f"did not end within {limit:g} s (--run-timeout)")

    def starts(self) -> bool:
        """Whether the worker has started and imported this package; waits until it is known."""
        if not self._ready:
            try:
                self._channel.skip_past(READY)
            except ClosedError:
                self.end()
                return False
            except BaseException:
                self.end()
                raise
            self._ready = True
        return True

    def _crash(self) -> CrashError:
        """The error for the process's end; raises KeyboardInterrupt if an interrupt ended it."""
        try:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE)
        finally:
            self.end()
        code = self._process.returncode or 0
        if code & 0xFFFFFFFF == _WINDOWS_INTERRUPT:
            raise KeyboardInterrupt
        return CrashError(_how(code))

    def end(self) -> None:
        self._channel.close()
        with suppress(OSError):
            self._process.kill()
        self._process.wait()
        _everyone.discard(self)

    def leave(self) -> None:
        """Close the channel and wait for the worker to end by itself; kill it if it does not."""
        self._channel.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.end()
        _everyone.discard(self)

    def forget(self) -> None:
        """Leave the worker to the parent, after this process was forked."""
        self._channel.close()
        self._process.returncode = 0


class _Forked:
    """A child of this process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:  # other code has waited for every child
                pid, status = self._pid, 0
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        pause = 0.0005
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(DEPLOYED.NAME, timeout or 0)
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self._pid, signal.SIGKILL)


_everyone: weakref.WeakSet[_SubprocessWorker] = weakref.WeakSet()
_idle: list[_SubprocessWorker] = []
_lock = threading.Lock()
_unable: list[bool] = []


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Gives up each request made in here after so many seconds; None for no limit."""
    token = _limit.set(seconds)
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def longer(times: float) -> Iterator[None]:
    """Gives each request so many times the limit."""
    limit = _limit.get()
    with limited(None if limit is None else times * limit):
        yield


def borrow() -> Worker:
    """A worker for the caller alone, until it is given back."""
    worker = _idle_or_started()
    if worker is not None and worker.starts():
        return worker
    if worker is not None:
        _unable.append(True)
    return _InProcessWorker()


def give_back(worker: Worker) -> None:
    """Keep a worker for the next borrower, or end it if there are enough."""
    if not isinstance(worker, _SubprocessWorker):
        return
    with _lock:
        kept = worker in _everyone and len(_idle) < _IDLE
        if kept:
            _idle.append(worker)
    if not kept:
        worker.end()


def ask(request: str, *arguments: object) -> Any:
    """The answer of any worker to one request.

    Raises:
        CrashError: The worker's process ended instead of answering.
        Exception: Any exception that the request raised.
    """
    worker = borrow()
    try:
        return worker.ask(request, *arguments)
    finally:
        give_back(worker)


def warm() -> None:
    """Start a worker and import the runtime there, while this process goes on."""
    worker = _idle_or_started()
    if worker is not None:
        worker.warm()
        give_back(worker)


def fork_first() -> None:
    """Fork the first worker off this process, before it has threads or signal handlers.

    Only the program `onnxpad` calls this, first of all: a forked worker need not start an
    interpreter and import numpy. If a fork is not safe, nothing happens, and a worker is started
    later as usual.
    """
    if sys.platform != "linux":  # elsewhere system libraries do not survive a fork
        return
    try:
        import numpy  # noqa: F401

        threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    except (ImportError, OSError):
        return
    if threads > 1:
        return
    asking, answered = os.pipe(), os.pipe()
    # Both processes would report an interrupt that arrives during the fork.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    child = os.fork()
    if not child:
        _serve_forked((asking[0], answered[1]), (asking[1], answered[0]), mask)
    os.close(asking[0])
    os.close(answered[1])
    worker = _SubprocessWorker(_Forked(child), Channel(answered[0], asking[1]), ready=True)
    _idle.append(worker)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _serve_forked(
    mine: tuple[int, int], others: tuple[int, int], mask: set[signal.Signals | int]
) -> None:
    """Serve in a forked worker; does not return."""
    try:
        ignore_signals()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for end in others:
            os.close(end)
        detach()
        serve(Channel(*mine))
    finally:
        os._exit(1)


def _idle_or_started() -> _SubprocessWorker | None:
    """A worker, which may still be starting; None if the runtime runs in this process."""
    while not _in_process():
        with _lock:
            worker = _idle.pop() if _idle else None
        if worker is None:
            return _started()
        if worker.usable:
            return worker
        worker.end()
    return None


def _started() -> _SubprocessWorker | None:
    """A new worker that is starting; None if none can be started, now or later."""
    flags = ["-P", "-W", "ignore"]
    flags += [
        flag
        for flag, wanted in (
            ("-I", sys.flags.isolated),
            ("-E", sys.flags.ignore_environment),
            ("-s", sys.flags.no_user_site),
            ("-B", sys.flags.dont_write_bytecode),
        )
        if wanted
    ]
    root = Path(__file__).absolute().parents[2]
    paths = [str(Path(path).absolute()) for path in sys.path if path]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONINSPECT", None)
    try:
        process = subprocess.Popen(
            [sys.executable, *flags, "-c", _START, str(root), *paths],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError as error:
        let_through(error)
        _unable.append(True)
        return None
    assert process.stdin is not None
    assert process.stdout is not None
    ends = os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno())
    process.stdin.close()
    process.stdout.close()
    return _SubprocessWorker(process, Channel(*ends), ready=False)


def _in_process() -> bool:
    """Whether no worker can be started: `sys.executable` is not an interpreter, or one failed."""
    name = Path(sys.executable or "").name.lower()
    frozen = getattr(sys, "frozen", False)
    return bool(_unable) or frozen or not ("python" in name or "pypy" in name)


def _how(code: int) -> str:
    """How a process ended, in words.

    >>> _how(-8), _how(0xC0000005)
    ('onnxruntime crashed (SIGFPE)', 'onnxruntime crashed (0xC0000005)')
    """
    if code == -9:
        return f"{DEPLOYED.NAME}'s process was killed (SIGKILL; the system may be out of memory)"
    with suppress(ValueError):  # of codes that are no signals
        return f"{DEPLOYED.NAME} crashed ({signal.Signals(-code).name})"
    code &= 0xFFFFFFFF
    if code > 0xFFFF:
        return f"{DEPLOYED.NAME} crashed (0x{code:08X})"
    return f"{DEPLOYED.NAME}'s process ended by itself (exit code {code})"


def _end_all() -> None:
    """End every worker of this process."""
    with _lock:
        idle = [*_idle]
        _idle.clear()
    for worker in [*_everyone]:
        if worker in idle:
            worker.leave()
        else:
            worker.end()


def _forget_all() -> None:
    """Leave the workers to the parent, after this process was forked."""
    global _lock
    _lock = threading.Lock()
    for worker in _everyone:
        worker.forget()
    _everyone.clear()
    _idle.clear()


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
