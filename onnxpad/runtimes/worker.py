"""The worker process: it answers requests until the process that started it is gone.

A request is a method of `Desk`, and its arguments.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

from onnxpad.errors import RUNTIME
from onnxpad.runtimes.channel import Channel, ClosedError
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.runtime import EngineError, ModelFile, Optimisation, Runtime

DEPLOYED = native
"""The runtime that workers run."""

_SHARE = 0.8
"""Of the memory that is available when a model is opened, what a worker may take."""

_ANSWER = 1 / 16
"""Of the same, what the outputs of a run may take: the caller keeps those of all runs, and compares
them as float64."""

_LITTLE = 2**20
"""Bytes of outputs for which nobody asks what is available: that takes longer than a small run."""

_KEPT = 16
"""Sessions of small models that are kept: changes of layers that are alike ask for the same."""

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")


class Desk(Runtime):
    """The runtime in this process, with at most one open model besides small ones."""

    def __init__(self, *, apart: bool) -> None:
        """Starts without a model; the memory of a process set apart is bounded."""
        self._apart = apart
        self._open: native.Session | None = None
        self._kept: dict[ModelFile, native.Session] = {}
        self._folder: str | None = None

    def open(
        self, model: ModelFile, provider: str, optimisation: Optimisation, profile: bool
    ) -> tuple[str, ...]:
        """Open a model, in place of the one before; returns the names of its outputs."""
        self.close()
        self._bound(provider)
        self._open = native.Session(model, provider, optimisation, profile=profile)
        return self._open.outputs

    def run(self, feeds: Mapping[str, Any], outputs: Sequence[str]) -> tuple[list[Any], float]:
        """Run the open model; returns the outputs named, and the seconds it took."""
        return _run(self._opened(), feeds, outputs)

    def places(self) -> dict[str, str]:
        """The provider of each node of the open model."""
        return self._opened().places()

    def close(self) -> None:
        """Free the open model, if there is one."""
        self._open = None

    def answers(
        self,
        models: Sequence[ModelFile],
        outputs: Sequence[str],
        fed: Sequence[Mapping[str, Any]],
        keeps: bool,
    ) -> list[list[list[Any] | EngineError | None] | EngineError]:
        """The outputs named, or an error, of each model on each set of inputs.

        None stands for outputs that are equal bit for bit in all models. With `keeps`, sessions
        run again, which operators that draw numbers would notice.
        """
        self._bound(native.CPU)
        found = [self._answers(each, outputs, fed, keeps) for each in models]
        lists = [some for some in found if not isinstance(some, EngineError)]
        if len(lists) == len(found) > 1:
            for number, first in enumerate(lists[0]):
                if all(_agree(first, some[number]) for some in lists):
                    for some in lists:
                        some[number] = None
        return found

    def evaluate(
        self, model: ModelFile, outputs: Sequence[str], fed: Sequence[Mapping[str, Any]]
    ) -> list[list[Any] | EngineError]:
        """The outputs named, or an error, for each set of inputs, by onnx's reference evaluator."""
        import numpy as np
        from onnx.reference import ReferenceEvaluator  # onnx starts slowly, rarely needed here

        self._bound(native.CPU)
        with np.errstate(all="ignore"):
            session = _told(lambda: ReferenceEvaluator(model.data))
            return [
                _or_error(_told, lambda: list(session.run(list(outputs), dict(feeds))))  # noqa: B023
                for feeds in fed
            ]

    def optimise(
        self, model: ModelFile, optimisation: Optimisation, target: str, disabled: Sequence[str]
    ) -> None:
        """Write the model as it is optimised for the CPU, with some optimisations left out."""
        self._folder = str(Path(target).parent)
        self._bound(native.CPU)
        native.Session(model, native.CPU, optimisation, target=target, disabled=disabled)

    def warm(self) -> None:
        """Import the runtime; a failure is reported when it is first needed."""
        native.warm()

    def about(self, call: Callable[..., Any], arguments: tuple[object, ...]) -> Any:
        """What a function returns that the runtime says of itself."""
        return call(*arguments)

    def forsake(self) -> None:
        """Remove the folder to write to, whose owner is gone."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _opened(self) -> native.Session:
        if self._open is None:
            raise EngineError("the session is closed")
        return self._open

    def _bound(self, provider: str) -> None:
        """Bounds the memory for the CPU; a device's driver reserves far more than it uses."""
        if self._apart:
            bound_memory(provider == native.CPU)

    def _answers(
        self,
        model: ModelFile,
        outputs: Sequence[str],
        fed: Sequence[Mapping[str, Any]],
        keeps: bool,
    ) -> list[list[Any] | EngineError | None] | EngineError:
        known = self._kept.pop(model, None) if keeps else None
        try:
            session = known or native.Session(model, native.CPU, threads=1)
        except EngineError as error:
            return error
        if keeps:
            self._kept[model] = session
            if len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        found = [_or_error(_run, session, feeds, outputs) for feeds in fed]
        return [each if isinstance(each, EngineError) else each[0] for each in found]


def serve(channel: Channel) -> None:
    """Answer requests; ends the process, even during work, once the other end is closed."""
    # Before the thread starts: it unpickles arrays while requests may import a runtime, and two
    # threads that import numpy at once can fail.
    import numpy  # noqa: F401

    desk = Desk(apart=True)
    with suppress(OSError):  # keep no folder from being removed
        os.chdir(Path(os.sep))
    with suppress(OSError):  # if memory runs out nonetheless, Linux ends this process and no other
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def listen() -> None:
        try:
            while True:
                requests.put(channel.receive())
        finally:
            desk.forsake()
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        answered, call, arguments = requests.get()
        reply: tuple[bool, object]
        try:
            reply = True, call(desk, *arguments)
        except MemoryError:
            reply = False, EngineError(f"{RUNTIME}'s process is out of memory")
        except Exception as error:  # raised again in the caller
            reply = False, error
        if not answered:
            continue
        try:
            channel.send(reply)
        except ClosedError:
            os._exit(0)
        except Exception as error:  # pickle's own errors share no narrower base class
            what = reply[1] if isinstance(reply[1], Exception) else error
            channel.send((False, EngineError(native.first_line(what))))
        del reply, arguments


def serve_started(handle: int) -> None:
    """Serve in a new interpreter, at an end that it inherited."""
    ignore_signals()
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection as Connection
    else:
        from multiprocessing.connection import Connection
    channel = Channel(Connection(handle))
    channel.send("ready")
    serve(channel)


def ignore_signals() -> None:
    """Ignore interrupts, which a terminal sends to both processes; the caller ends the worker."""
    if sys.platform == "win32":  # a caller waiting for an answer wakes up only if the worker ends
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def detach() -> None:
    """Redirect the standard streams to the null device: they belong to the caller's report."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def spare() -> int | None:
    """The bytes that the system can give without taking them from a program; None if unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    sizes = {
        name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)
    }
    return 1024 * (sizes["MemAvailable"] + sizes.get("SwapFree", 0))


def bound_memory(bounded: bool) -> None:
    """Bounds what this process may allocate, where the system can (Linux).

    Beyond it an allocation fails, which the runtime reports as an error.
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


def _run(
    session: native.Session, feeds: Mapping[str, Any], outputs: Sequence[str]
) -> tuple[list[Any], float]:
    found = session.run(feeds, outputs)
    size = _size(found[0])
    free = spare() if size > _LITTLE else None
    if free is not None and size > free * _ANSWER:
        raise EngineError(
            f"its outputs take {size / 2**30:.1f} GiB: of the memory available here, "
            f"{free / 2**30:.1f} GiB, one run may take a sixteenth"
        )
    return found


def _or_error(call: Callable[[*_Ts], _T], *arguments: *_Ts) -> _T | EngineError:
    try:
        return call(*arguments)
    except EngineError as error:
        return error


def _told(call: Callable[[], _T]) -> _T:
    """What a call of the reference evaluator returns, whose operators may raise anything."""
    try:
        return call()
    except Exception as error:
        line = native.first_line(error)
        raise EngineError(f"the reference evaluator fails: {line}") from None


def _agree(one: Any, other: Any) -> bool:
    """Whether two lists of outputs are the same tensors bit for bit."""
    return isinstance(one, list) and isinstance(other, list) and all(map(_same, one, other))


def _same(one: Any, other: Any) -> bool:
    kind = getattr(one, "dtype", None)
    if kind is None or kind != getattr(other, "dtype", None) or one.shape != other.shape:
        return False
    if kind.hasobject or kind.itemsize not in {1, 2, 4, 8}:
        return False
    same: bool = one.tobytes() == other.tobytes()
    return same


def _size(value: Any) -> int:
    """The bytes of tensors, also of those in sequences and maps."""
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    return int(getattr(value, "nbytes", 0))
