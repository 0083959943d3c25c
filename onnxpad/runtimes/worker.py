"""The worker process: it answers requests until the process that started it is gone.

A request is a method of `Runtime` and its arguments. Before the first one the worker imports
onnxruntime, and says that it is ready.
"""

from __future__ import annotations

import errno
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from onnxpad.errors import RUNTIME, ProviderError
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.runtime import CrashError, EngineError, Located

DEPLOYED, CPU = native, native.CPU
"""The runtime that workers run, and its name for the CPU."""

_SHARE = 0.8
"""Of the memory that is available when a model is opened, what a worker may take."""

_MOMENT = 2.0
"""Seconds for work to clean up once nobody waits for it."""


class Runtime(native.Onnxruntime):
    """The runtime in this process, within the memory that there is."""

    def open(self, model: Located, provider: str = CPU, *how: Any, **more: Any) -> tuple[str, ...]:
        """As onnxruntime's, with a bound on the memory for it."""
        bound_memory(provider == CPU)
        return super().open(model, provider, *how, **more)

    def each(
        self,
        model: Located,
        fed: Sequence[Mapping[str, Any]],
        outputs: Sequence[str],
        by_onnx: bool = False,
    ) -> list[dict[str, Any] | EngineError]:
        """The outputs by name, or an error, of a small model for each set of inputs.

        Runs them, `by_onnx`, with its reference evaluator.
        """

        def run(feeds: Mapping[str, Any]) -> dict[str, Any] | EngineError:
            try:
                return dict(zip(outputs, self.run(feeds, outputs)[0], strict=True))
            except EngineError as error:
                return error

        if not by_onnx:
            self.open(model, threads=1)
            return [run(feeds) for feeds in fed]
        from onnx.reference import ReferenceEvaluator  # onnx starts slowly, rarely needed here

        bound_memory()
        try:
            self._session = ReferenceEvaluator(getattr(model, "data", model))
        except Exception as error:  # its operators may raise anything
            said = f"the reference evaluator fails: {native.first_line(error)}"
            raise EngineError(said) from None
        return [run(feeds) for feeds in fed]

    def about(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns that the runtime says of itself."""
        return call(*arguments)


def serve(handle: int) -> None:
    """Answer requests at an inherited end; ends with the other end, even during work."""
    _ignore_signals()
    # Before the thread starts: it unpickles arrays while requests may import a runtime, and two
    # threads that import numpy at once can fail.
    import numpy  # noqa: F401

    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection as Connection
    else:
        from multiprocessing.connection import Connection
    connection: Any = Connection(handle)
    with suppress(OSError):  # keep no folder from being removed
        os.chdir(Path(os.sep))
    with suppress(OSError):  # if memory runs out nonetheless, Linux ends this process and no other
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def listen() -> None:
        try:
            while True:
                requests.put(connection.recv())
        finally:
            _interrupt_work()
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    with suppress(ProviderError):  # told when it is first needed
        native.imported()
    connection.send("ready")
    runtime = Runtime()
    while True:
        _reply(connection, runtime, *requests.get())


def _reply(
    connection: Any, runtime: Runtime, call: Callable[..., object], arguments: Sequence[object]
) -> None:
    """Answer a request: whether it went well, and the answer or the error."""
    reply: tuple[bool, object]
    try:
        reply = True, call(runtime, *arguments)
    except Exception as error:  # raised again in the caller
        is_full = isinstance(error, MemoryError) or getattr(error, "errno", 0) == errno.ENOMEM
        reply = False, CrashError(f"{RUNTIME}'s process is out of memory") if is_full else error
    try:
        connection.send(reply)
    except Exception as error:  # pickle's own errors share no narrower base class
        what = reply[1] if isinstance(reply[1], Exception) else error
        connection.send((False, EngineError(native.first_line(what))))


def _interrupt_work() -> None:
    """Has work that heeds SIGTERM remove what it has half written, which takes a moment."""
    if sys.platform != "win32" and signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        time.sleep(_MOMENT)


def _ignore_signals() -> None:
    """Ignore interrupts, which a terminal sends to both processes; the caller ends the worker."""
    if sys.platform == "win32":  # a caller waiting for an answer wakes up only if the worker ends
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def spare() -> int | None:
    """The bytes that the system can give without taking them from a program; None if unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    sizes = {name: int(rest.split()[0]) for name, rest in (line.split(":") for line in lines)}
    return 1024 * (sizes["MemAvailable"] + sizes.get("SwapFree", 0))


def bound_memory(bounded: bool = True) -> None:
    """Bounds what this process may allocate, where the system can (Linux).

    Beyond it an allocation fails, which the runtime reports as an error. A device's driver reserves
    far more than it uses: there nothing is bounded.
    """
    free = spare()
    if sys.platform != "linux" or free is None:
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = most
    if bounded:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
        limit = pages * resource.getpagesize() + int(free * _SHARE)
        limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
