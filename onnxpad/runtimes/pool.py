"""The pool of workers: starts them, lends each to one session at a time, and ends them.

A worker is a new interpreter, never a fork of a process that has threads or uses a device.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from onnxpad.errors import RUNTIME, ProviderError, let_through
from onnxpad.runtimes.runtime import CrashError, LimitError
from onnxpad.runtimes.worker import DEPLOYED, Runtime

if TYPE_CHECKING:
    import subprocess

_IDLE = 4
"""Idle workers to keep: as many as threads are likely to need at once."""
_PATIENCE = 2.0
"""Seconds to wait for the exit code of a worker that does not answer any more."""
_LONGEST = 2e6  # seconds that the system can wait

_limit: ContextVar[float | None] = ContextVar("limit", default=None)
"""Seconds after which a request is given up, with its worker; None for no limit."""

_START = """\
import importlib, sys, typing
sys.path[:] = sys.argv[3:]
sys.path.insert(0, sys.argv[2])
import onnxpad
del sys.path[0]
from onnxpad.runtimes import worker
worker.serve(int(sys.argv[1]))
"""

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")


class Worker:
    """The runtime in a process of its own, which ends when nobody refers to it any more."""

    def __init__(self, process: subprocess.Popen[bytes], connection: Connection[Any, Any]) -> None:
        """Takes over a process and the connection to it."""
        self.process = process
        self.connection = connection
        self._ready = False
        _everyone.add(self)

    def __del__(self) -> None:
        """End a worker that was lost, as to an exception between two steps here."""
        self.end()

    @property
    def alive(self) -> bool:
        """Whether it was not ended."""
        return self in _everyone

    def ask(self, call: Callable[[Runtime, *_Ts], _T], *arguments: *_Ts) -> _T:
        """The answer to a request, a method of `Runtime`; what it raises is raised here.

        Raises:
            CrashError: The worker's process ended instead of answering.
            LimitError: It did not answer within the limit, and was ended.
        """
        try:
            well, answer = self._exchanged((call, arguments))
        except BaseException as error:  # also an interrupt: an answer may be on its way
            try:
                if isinstance(error, EOFError | OSError):
                    let_through(error)
                    raise self._crash() from None
                raise
            finally:
                self.end()
        if well:
            return answer  # type: ignore[no-any-return]
        raise answer

    def _exchanged(self, request: object) -> Any:
        """What comes back for a request."""
        from subprocess import TimeoutExpired

        limit = _limit.get()
        self.connection.send(request)
        if not self._ready:  # its imports are no part of a run
            self.connection.recv()
            self._ready = True
        if limit is not None and not self.connection.poll(min(limit, _LONGEST)):
            self.connection.close()  # it removes what it has half written
            with suppress(TimeoutExpired):
                self.process.wait(_PATIENCE)
            raise LimitError(f"did not end within {limit:g} s (run_timeout)")
        return self.connection.recv()

    def _crash(self) -> CrashError:
        """The error for the process's end; raises KeyboardInterrupt if an interrupt ended it."""
        from subprocess import TimeoutExpired

        with suppress(TimeoutExpired):
            self.process.wait(_PATIENCE)
        self.end()
        code = self.process.returncode
        if code & 0xFFFFFFFF == 0xC000013A:  # Windows' code of Ctrl-C
            raise KeyboardInterrupt
        said = f"{RUNTIME}'s process ended (exit code {code if code < 256 else hex(code)})"
        with suppress(ValueError):  # of codes that are no signals
            said = f"{RUNTIME} crashed ({signal.Signals(-code).name})"
        if code == -9:
            said = f"{RUNTIME}'s process was killed (SIGKILL; the system may be out of memory)"
        return CrashError(said)

    def end(self) -> None:
        """End at once; the worker cannot be used any more."""
        with suppress(OSError):
            self.connection.close()
        with suppress(OSError):
            self.process.kill()
        self.process.wait()
        _everyone.discard(self)


_everyone: weakref.WeakSet[Worker] = weakref.WeakSet()
_idle: list[Worker] = []
_lock = threading.Lock()


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
    """A worker for the caller alone, until it is given back; it may still be starting.

    Raises:
        ProviderError: No process can be started.
    """
    while True:
        with _lock:
            worker = _idle.pop() if _idle else None
        if worker is None:
            return _started()
        if worker.process.poll() is None:
            return worker
        worker.end()


def give_back(worker: Worker) -> None:
    """Keep a worker for the next borrower, or end it if there are enough."""
    with _lock:
        kept = worker.alive and len(_idle) < _IDLE
        if kept:
            _idle.append(worker)
    if not kept:
        worker.end()


def ask(call: Callable[[Runtime, *_Ts], _T], *arguments: *_Ts) -> _T:
    """The answer of any worker to one request, as `Worker.ask` has it."""
    worker = borrow()
    try:
        return worker.ask(call, *arguments)
    finally:
        give_back(worker)


def warm() -> None:
    """Start a worker and import the runtime there, while this process goes on."""
    with suppress(ProviderError):  # told when it is asked
        give_back(borrow())


def _started() -> Worker:
    """A new worker that is starting."""
    import subprocess

    if getattr(sys, "frozen", False) or "py" not in Path(sys.executable or "").name.lower():
        raise ProviderError(
            f"{RUNTIME} runs in a process of its own, for which there is no Python interpreter "
            f"here (sys.executable is {sys.executable!r}); do without validation"
        )
    flags = ["-P", "-W", "ignore"]
    wanted = {
        "-I": sys.flags.isolated,
        "-E": sys.flags.ignore_environment,
        "-s": sys.flags.no_user_site,
        "-B": sys.flags.dont_write_bytecode,
    }
    flags += [flag for flag, is_set in wanted.items() if is_set]
    root = Path(__file__).absolute().parents[2]
    paths = [str(Path(path).absolute()) for path in sys.path if path]
    environment = {**os.environ, **DEPLOYED.ENVIRONMENT, "PYTHONINSPECT": ""}
    ours, theirs = Pipe()
    handle = theirs.fileno()
    inherited: dict[str, Any] = {"pass_fds": [handle]}
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, True)
        startup = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})
        inherited = {"startupinfo": startup, "creationflags": subprocess.CREATE_NO_WINDOW}
    try:
        process = subprocess.Popen(
            [sys.executable, *flags, "-c", _START, str(handle), str(root), *paths],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            **inherited,
        )
    except OSError as error:
        let_through(error)
        raise ProviderError(f"{RUNTIME}'s process does not start: {error.strerror}") from None
    finally:
        theirs.close()
    return Worker(process, ours)


def _end_all() -> None:
    with _lock:
        _idle.clear()
    for worker in [*_everyone]:
        worker.end()


def _forget_all() -> None:
    """Leave the workers to the parent, after this process was forked."""
    global _lock
    _lock = threading.Lock()
    for worker in _everyone:
        worker.connection.close()
        worker.process.returncode = 0
    _everyone.clear()
    _idle.clear()


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
