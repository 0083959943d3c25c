"""Sessions of a runtime in worker processes: a crash there raises an error here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import numpy.typing as npt
import onnx
from google.protobuf.message import DecodeError, EncodeError  # type: ignore[import-untyped]
from msgspec.structs import replace

from onnxpad.arguments import InFolder
from onnxpad.errors import ModelError, let_through
from onnxpad.runtimes import pool
from onnxpad.runtimes.channel import Blob
from onnxpad.runtimes.runtime import CrashError, EngineError, Opening, Optimisation
from onnxpad.runtimes.worker import DEPLOYED

CPU: Final = DEPLOYED.CPU

Source: TypeAlias = str | os.PathLike[str] | bytes | InFolder | onnx.ModelProto
Array: TypeAlias = npt.NDArray[Any]
Value: TypeAlias = "Array | Sequence[Value] | Mapping[Any, Any] | None"
"""The value of an output: a tensor, a sequence, a map, or None for an empty optional."""

Answer: TypeAlias = dict[str, Value] | EngineError
"""The outputs of a run by name, or the runtime's error."""
AGREED: dict[str, Value] = {}
"""Stands for outputs that are equal bit for bit in all models and were not sent."""
_Folder: TypeAlias = "tempfile.TemporaryDirectory[str]"

_LITTLE = 1 << 20
"""Bytes of inputs up to which a session may be kept: it keeps memory for what was run."""

_CRASHES = 3
"""Crashes after which a session is not opened again."""


class Session:
    """An open model. `close` frees its weights before the next one is opened."""

    def __init__(
        self, opening: Opening, record: tempfile.TemporaryDirectory[str] | None = None
    ) -> None:
        """Open the model; `record` is the folder of the profile, removed when it was read."""
        self._opening = opening
        self._record = record
        self._worker: pool.Worker | None = None
        self._outputs: Sequence[str] = ()
        self._crashes = 0
        self._over = ""  # why it cannot be run any more
        self._open()

    def __enter__(self) -> Self:
        """The session itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the session."""
        self.close()

    def __del__(self) -> None:
        """End a worker that was not given back, since its state is unknown."""
        worker, self._worker = getattr(self, "_worker", None), None
        if worker is not None:
            worker.end()

    def close(self) -> None:
        """Free the model; running it afterwards is an error."""
        self._over = self._over or "the session is closed"
        if self._worker is not None:
            with suppress(CrashError):  # all results were already received
                self._ask("close")
        self._give_back()
        self._drop_record()

    def run(
        self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None
    ) -> dict[str, Value]:
        """Run the model once and return all outputs, or those named, by name.

        After a crash the model is opened anew, a few times.

        Raises:
            CrashError: The run, or opening the model anew, crashed the worker.
            LimitError: It did not end within the limit (`pool.limited`).
            EngineError: the runtime cannot run it on these inputs; its reason in one line.
        """
        return self._run(feeds, outputs)[0]

    def timed(self, feeds: Mapping[str, Array]) -> tuple[dict[str, Value], float]:
        """As `run`, with the seconds it took."""
        return self._run(feeds, None)

    def ran_on(self) -> dict[str, str]:
        """The provider that each node ran on since the session was opened, in running order.

        Nodes are named as in `Pad_3 (Pad)`; those without a name by operator and number. Copies
        between devices, which the runtime inserts, are left out. Profiling ends here, so that later
        runs are not slowed. Without `profile`, or after a crash, the result is empty.
        """
        if self._record is None or self._worker is None:
            return {}
        places: dict[str, str] = self._ask("ran_on")
        self._drop_record()
        return {} if self._crashes else places

    def _run(
        self, feeds: Mapping[str, Array], outputs: Sequence[str] | None
    ) -> tuple[dict[str, Value], float]:
        if self._over:
            raise CrashError(self._over) if self._crashes else EngineError(self._over)
        if self._worker is None:
            self._open()
        names = self._outputs if outputs is None else list(outputs)
        values, seconds = self._ask("run", dict(feeds), names)
        return dict(zip(names, values, strict=True)), seconds

    def _open(self) -> None:
        self._worker = pool.borrow()
        try:
            self._outputs = self._ask("open", self._opening, _here())
        except BaseException:
            self._give_back()
            raise

    def _ask(self, request: str, *arguments: object) -> Any:
        assert self._worker is not None
        try:
            return self._worker.ask(request, *arguments)
        except CrashError as error:
            self._crashes += 1
            if self._crashes >= _CRASHES:
                self._over = str(error)
            self._worker = None
            raise

    def _give_back(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            pool.give_back(worker)

    def _drop_record(self) -> None:
        if self._record is not None:
            self._record.cleanup()
        self._record = None
        self._opening = replace(self._opening, record=None)


def open_session(
    source: Source,
    *,
    provider: str = CPU,
    optimisation: Optimisation = "off",
    threads: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    profile: bool = False,
) -> Session:
    """Open a session of `source` on `provider`; raises if the runtime falls back to another.

    Args:
        source: A path (external data is found relative to it), serialized bytes, or a model.
        provider: Execution provider; nodes that it cannot run fall back to the CPU's.
        optimisation: `off` fuses nothing and serves as the oracle. `full` is what is deployed;
            `basic` is the part of it that is the same on every machine.
        threads: Number of threads for a run; None leaves it to the runtime.
        folder: Folder of the external data of a source in memory; None for the working directory.
        profile: Whether to record where nodes run, for `Session.ran_on`.

    Raises:
        CrashError: Opening the model crashed the worker.
        EngineError: the runtime cannot load the model; its reason in one line.
        ModelError: The source is too large to pass in memory.
        ProviderError: The provider is not installed, or does not start.
    """
    opening = _opening(source, provider, optimisation, threads, folder)
    if not profile:
        return Session(opening)
    record = _temporary_folder()  # of this process, which outlives a crash
    try:
        return Session(replace(opening, record=record.name), record)
    except BaseException:
        record.cleanup()
        raise


def answers(
    sources: Sequence[Source],
    outputs: Sequence[str],
    fed: Sequence[Mapping[str, Array]],
) -> list[list[Answer] | EngineError]:
    """Run several small models on the same inputs, each with one thread, in one request.

    Outputs that are equal bit for bit in all models are not sent; `AGREED` stands for them.

    Args:
        sources: The models.
        outputs: Names of the outputs to return.
        fed: The sets of inputs.

    Returns:
        For each model, its outputs or error for each set of inputs; or one error, if the model
        cannot be loaded or crashes on any of them.
    """
    openings = [_opening(source, threads=1) for source in sources]
    inputs = [dict(feeds) for feeds in fed]
    most = max((sum(data.nbytes for data in feeds.values()) for feeds in inputs), default=0)
    try:
        given = pool.ask("answers", openings, _here(), list(outputs), inputs, most <= _LITTLE)
    except CrashError as error:
        if len(sources) == 1:
            return [error]
        return [each for source in sources for each in answers([source], outputs, fed)]
    return [
        some if isinstance(some, EngineError) else [_named(outputs, one) for one in some]
        for some in given
    ]


def _named(outputs: Sequence[str], one: Sequence[Value] | EngineError | None) -> Answer:
    if one is None:
        return AGREED
    return one if isinstance(one, EngineError) else dict(zip(outputs, one, strict=True))


def evaluated_by_onnx(
    model: onnx.ModelProto, outputs: Sequence[str], fed: Sequence[Mapping[str, Array]]
) -> list[Answer] | EngineError:
    """The outputs named, or an error, for each set of inputs, by onnx's reference evaluator.

    It runs in a worker too: its work and its memory are not bounded by the size of a model.
    """
    inputs = [dict(feeds) for feeds in fed]
    try:
        given = pool.ask("evaluate", Blob(model.SerializeToString()), list(outputs), inputs)
    except EngineError as error:
        return error
    return [_named(outputs, one) for one in given]


def optimised(
    source: Source,
    *,
    optimisation: Optimisation,
    disabled: Sequence[str] = (),
    folder: str | os.PathLike[str] | None = None,
) -> bytes:
    """The serialized model as the runtime's optimiser rewrites it for the CPU.

    Args:
        source: A path (external data is found relative to it), serialized bytes, or a model.
        optimisation: The level of optimisation.
        disabled: Optimisations to leave out, by the runtime's names (`Pad_Fusion`); unknown names
            are ignored.
        folder: Folder of the external data of a source in memory; None for the working directory.

    Raises:
        CrashError: Optimising the model crashed the worker.
        EngineError: the runtime cannot load the model; its reason in one line.
        ModelError: The source is too large to pass in memory.
    """
    opening = _opening(source, optimisation=optimisation, folder=folder)
    with _temporary_folder() as place:
        target = Path(place, "optimised.onnx")
        pool.ask(
            "optimise", replace(opening, target=str(target), disabled=tuple(disabled)), _here()
        )
        return target.read_bytes()


def require_provider(provider: str) -> None:
    """Raises unless `provider` is compiled into the runtime.

    Raises:
        ProviderError: It is not; the message names those that are.
    """
    pool.ask("about", "require_provider", provider)


def read_proto(source: Source) -> onnx.ModelProto:
    """The model without its external data.

    Raises:
        ModelError: The source is not a readable ONNX model.
    """
    if isinstance(source, onnx.ModelProto):
        return source
    if isinstance(source, InFolder):
        source = source.data
    try:
        if isinstance(source, bytes):
            return onnx.load_model_from_string(source)
        return onnx.load(source, load_external_data=False)
    except OSError as error:
        let_through(error)
        raise ModelError(f"{os.fspath(source)!r} cannot be read: {error.strerror}") from None
    except DecodeError:
        where = "the bytes given" if isinstance(source, bytes) else repr(os.fspath(source))
        raise ModelError(f"{where}: not an ONNX model (protobuf cannot parse it)") from None


def load_failure(source: Source, folder: Path | None, optimisation: Optimisation = "full") -> str:
    """Why the runtime does not load a model; empty if it does."""
    try:
        open_session(source, optimisation=optimisation, folder=folder).close()
    except EngineError as error:
        return str(error)
    return ""


def payload(source: Source) -> str | bytes:
    """The source in the form that the runtime opens: a path, or serialized bytes.

    Raises:
        ModelError: A model in memory is too large to serialize.
    """
    if isinstance(source, bytes):
        return source
    if isinstance(source, InFolder):
        return source.data
    if not isinstance(source, onnx.ModelProto):
        return os.fspath(source)
    try:
        data: bytes = source.SerializeToString()
    except (EncodeError, ValueError):
        raise ModelError(
            "the model is over 2 GiB, more than fits one message: save it and give its path"
        ) from None
    return data


def folder_of(source: Source, otherwise: Path | None = None) -> Path | None:
    """The folder in which the external data of a model lies.

    Args:
        source: The model.
        otherwise: The folder for a model that does not say.
    """
    if isinstance(source, InFolder):
        return source.folder
    return Path(source).parent if isinstance(source, str | os.PathLike) else otherwise


def _opening(
    source: Source,
    provider: str = CPU,
    optimisation: Optimisation = "off",
    threads: int | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Opening:
    data = payload(source)
    if isinstance(data, str):  # external data is found relative to the path
        return Opening(str(Path(data).absolute()), provider, optimisation, threads)
    if isinstance(source, InFolder):
        folder = source.folder
    place = None if folder is None else str(Path(folder).absolute())
    return Opening(Blob(data), provider, optimisation, threads, place)


def _here() -> str | None:
    """The working directory, the default folder of external data; None if it was removed."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


def _temporary_folder() -> _Folder:
    return tempfile.TemporaryDirectory(prefix="onnxpad-", ignore_cleanup_errors=True)
