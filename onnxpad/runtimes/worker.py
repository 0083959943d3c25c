"""The worker process: it answers requests until the process that started it is gone.

Every public method of `RequestHandler` is a request.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from onnxpad.runtimes.channel import Blob, Channel, ClosedError
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.runtime import EngineError, Opening, OpenModel, Runtime

DEPLOYED: Runtime = native
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

READY = b"\0onnxpad's worker is ready\n"
"""The first message of a worker, after anything that the interpreter prints at its start."""


class RequestHandler:
    """The requests that a worker answers with a runtime.

    At most one session is open, besides those of small models.
    """

    def __init__(self, *, moves: bool, runtime: Runtime = DEPLOYED) -> None:
        """Starts without a session; `moves` allows to change the process's working directory."""
        self._moves = moves
        self._runtime = runtime
        self._session: OpenModel | None = None
        self._kept: dict[object, OpenModel] = {}
        self._folders: list[Path] = []

    def warm(self) -> None:
        """Import the runtime."""
        self._runtime.warm()

    def about(self, question: str, *arguments: object) -> Any:
        """The result of a function of `Runtime`: a fact that the runtime says of itself."""
        return getattr(self._runtime, question)(*arguments)

    def open(self, opening: Opening, here: str | None) -> tuple[str, ...]:
        """Open a session and return its outputs' names; `here` is the caller's directory."""
        self.close()
        with self._ready([opening], here):
            self._session = self._runtime.open_model(opening)
        return self._session.outputs

    def run(self, feeds: Mapping[str, Any], outputs: Sequence[str]) -> tuple[list[Any], float]:
        """Run the open session; returns the outputs named, and the seconds it took."""
        return self._run(self._open_one(), feeds, outputs)

    def ran_on(self) -> dict[str, str]:
        """The provider of each node that ran in the open session."""
        return self._open_one().ran_on()

    def close(self) -> None:
        """Free the model of the open session, if there is one."""
        if self._session is not None:
            self._session.ran_on()
        self._session = None

    def answers(
        self,
        openings: Sequence[Opening],
        here: str | None,
        outputs: Sequence[str],
        fed: Sequence[Mapping[str, Any]],
        keeps: bool,
    ) -> list[list[list[Any] | EngineError | None] | EngineError]:
        """The outputs named, or an error, of each model on each set of inputs.

        None stands for outputs that are equal bit for bit in all models. `keeps` allows to run a
        session again that ran before, which operators that draw numbers would notice.
        """
        with self._ready(openings, here):
            open_one = partial(self._small, here) if keeps else self._runtime.open_model
            found = [self._answers(open_one, each, outputs, fed) for each in openings]
        lists = [some for some in found if not isinstance(some, EngineError)]
        if len(lists) == len(found) > 1:
            for number in range(len(fed)):
                if _agree([some[number] for some in lists]):
                    for some in lists:
                        some[number] = None
        return found

    def _small(self, here: str | None, opening: Opening) -> OpenModel:
        """A session of a small model; the one that was used last, if the model is the same."""
        data = opening.source.data if isinstance(opening.source, Blob) else opening.source
        key = data, here, replace(opening, source="")
        session = self._kept.pop(key, None) or self._runtime.open_model(opening)
        self._kept[key] = session
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return session

    def _answers(
        self,
        open_one: Callable[[Opening], OpenModel],
        opening: Opening,
        outputs: Sequence[str],
        fed: Sequence[Mapping[str, Any]],
    ) -> list[list[Any] | EngineError | None] | EngineError:
        try:
            session = open_one(opening)
        except EngineError as error:
            return error
        found: list[list[Any] | EngineError | None] = []
        for feeds in fed:
            try:
                found.append(self._run(session, feeds, outputs)[0])
            except EngineError as error:
                found.append(error)
        return found

    def _run(
        self, session: OpenModel, feeds: Mapping[str, Any], outputs: Sequence[str]
    ) -> tuple[list[Any], float]:
        found = session.run(feeds, outputs)
        size = _size(found[0])
        if size <= _LITTLE:
            return found
        free = spare()
        if free is not None and size > free * _ANSWER:
            raise EngineError(
                f"its outputs take {size / 2**30:.1f} GiB: of the memory available here, "
                f"{free / 2**30:.1f} GiB, one run may take a sixteenth"
            )
        return found

    def evaluate(
        self, model: Blob, outputs: Sequence[str], fed: Sequence[Mapping[str, Any]]
    ) -> list[list[Any] | EngineError]:
        """The outputs named, or an error, for each set of inputs, by onnx's reference evaluator."""
        if self._moves:
            bound_memory(True)
        run = evaluator(model.data, outputs)
        found: list[list[Any] | EngineError] = []
        for feeds in fed:
            try:
                found.append(run(feeds))
            except EngineError as error:
                found.append(error)
        return found

    def optimise(self, opening: Opening, here: str | None) -> None:
        """Write the optimised model to `opening.target`."""
        with self._ready([opening], here):
            self._runtime.open_model(opening)

    def forsake(self) -> None:
        """Remove the temporary folders of the last session, whose owner is gone."""
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _open_one(self) -> OpenModel:
        if self._session is None:
            raise EngineError("the session is closed")
        return self._session

    @contextmanager
    def _ready(self, openings: Sequence[Opening], here: str | None) -> Iterator[None]:
        """Opens models in here; without `opening.folder`, data lies in the caller's directory."""
        self._folders = [Path(each.record) for each in openings if each.record is not None]
        self._folders += [Path(each.target).parent for each in openings if each.target is not None]
        if self._moves:
            bound_memory(all(each.provider == self._runtime.CPU for each in openings))
        if not self._moves or here is None:
            yield
            return
        os.chdir(here)
        try:
            yield
        finally:
            _leave()


def evaluator(model: bytes, outputs: Sequence[str]) -> Callable[[Mapping[str, Any]], list[Any]]:
    """A function that runs a model in onnx's reference evaluator.

    Raises:
        EngineError: It cannot; so does the function.
    """

    def tried(call: Callable[[], Any]) -> Any:
        try:
            with np.errstate(all="ignore"):
                return call()
        except Exception as error:  # whatever its operators raise
            line = DEPLOYED.first_line(error)
            raise EngineError(f"the reference evaluator fails: {line}") from None

    import numpy as np
    from onnx.reference import ReferenceEvaluator  # onnx starts slowly, and is rarely needed here

    session = tried(lambda: ReferenceEvaluator(model))
    return lambda feeds: list(tried(lambda: session.run(list(outputs), dict(feeds))))


def serve(channel: Channel) -> None:
    """Answer requests; ends the process, even during work, once the other end is closed."""
    # Before the thread starts: it unpickles arrays while requests may import a runtime, and two
    # threads that import numpy at once can fail.
    import numpy  # noqa: F401

    desk = RequestHandler(moves=True)
    _leave()
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
        answered, name, arguments = requests.get()
        reply: tuple[bool, object]
        try:
            reply = True, getattr(desk, name)(*arguments)
        except MemoryError:
            reply = False, EngineError(f"{DEPLOYED.NAME}'s process is out of memory")
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
            channel.send((False, EngineError(DEPLOYED.first_line(what))))
        del reply, arguments


def serve_standard_streams() -> None:
    """Serve over stdin and stdout; anything that native code prints is discarded."""
    ignore_signals()
    ends = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt

        for end in ends:
            msvcrt.setmode(end, os.O_BINARY)
    channel = Channel(*ends)
    detach()
    channel.put(READY)
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


def _agree(answers: Sequence[Any]) -> bool:
    """Whether all answers are the same tensors bit for bit."""
    first = answers[0]
    return all(
        isinstance(values, list)
        and all(map(_same, first if isinstance(first, list) else [None], values))
        for values in answers
    )


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

    Beyond it an allocation fails, which the runtime reports as an error. A device's driver
    reserves far more than it uses, so such a process is not bounded.
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


def _leave() -> None:
    """Change to the root directory, so that no other folder is kept from being removed."""
    with suppress(OSError):
        os.chdir(Path(os.sep))
