"""Sessions of a runtime in worker processes: a crash there raises an error here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy.typing as npt
import onnx
from google.protobuf.message import DecodeError, EncodeError  # type: ignore[import-untyped]

from onnxpad.arguments import InFolder
from onnxpad.errors import ModelError, let_through
from onnxpad.runtimes import pool
from onnxpad.runtimes.runtime import CrashError, EngineError, ModelFile, Optimisation
from onnxpad.runtimes.worker import CPU as CPU
from onnxpad.runtimes.worker import DEPLOYED, REFERENCE, Runtime

Source = str | os.PathLike[str] | bytes | InFolder | onnx.ModelProto
Array = npt.NDArray[Any]
Value: TypeAlias = "Array | Sequence[Value] | Mapping[Any, Any] | None"
"""The value of an output: a tensor, a sequence, a map, or None for an empty optional."""

Answer = dict[str, Value] | EngineError
"""The outputs of a run by name, or the runtime's error."""


class Session:
    """An open model. `close` frees its weights before the next one is opened."""

    def __init__(self, model: ModelFile, provider: str, optimisation: Optimisation) -> None:
        """Open the model."""
        self._how = model, provider, optimisation
        self._closed = False
        self._open()

    def _open(self) -> None:
        self._worker = pool.borrow()
        try:
            self._outputs = self._worker.ask(Runtime.open, *self._how)
        except BaseException:
            pool.give_back(self._worker)
            raise

    def __enter__(self) -> Self:
        """The session itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the session."""
        self.close()

    def close(self) -> None:
        """Free the model; running it afterwards is an error."""
        if not self._closed:
            self._closed = True
            with suppress(CrashError):  # all results were already received
                self._worker.ask(Runtime.close)
            pool.give_back(self._worker)

    def run(
        self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None
    ) -> dict[str, Value]:
        """All outputs, or those named, by name; after a crash the model is opened anew.

        Raises:
            EngineError: The runtime cannot run it on these inputs, or crashed, or was too late.
        """
        return self.timed(feeds, outputs)[0]

    def timed(
        self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None
    ) -> tuple[dict[str, Value], float]:
        """As `run`, with the seconds it took."""
        if self._closed:
            raise EngineError("the session is closed")
        if not self._worker.alive:
            self._open()
        names = self._outputs if outputs is None else list(outputs)
        values, seconds = self._worker.ask(Runtime.run, dict(feeds), names)
        return dict(zip(names, values, strict=True)), seconds

    def ran_on(self) -> dict[str, str]:
        """The provider of each node; nothing on the CPU."""
        return self._worker.ask(Runtime.places) if self._worker.alive else {}


def open_session(
    source: Source,
    *,
    provider: str = CPU,
    optimisation: Optimisation = "off",
    folder: str | os.PathLike[str] | None = None,
) -> Session:
    """Opens a model; its nodes fall back to the CPU, and an EngineError says why it does not load.

    `off` fuses nothing and serves as the oracle, and `full` is what is deployed. External data of a
    source in memory lies in `folder`.
    """
    return Session(_file(source, folder), provider, optimisation)


def answers(
    sources: Sequence[Source],
    outputs: Sequence[str],
    fed: Sequence[Mapping[str, Array]],
    *,
    by_onnx: bool = False,
) -> list[list[Answer] | EngineError]:
    """The outputs, or an error, of several small models for each set of inputs.

    There is one error of a model that does not load or crashes on any set. With `by_onnx`, onnx's
    reference evaluator runs them, in a worker too: neither its work nor its memory is bounded by
    the size of a model.
    """
    provider, inputs = REFERENCE if by_onnx else CPU, [dict(feeds) for feeds in fed]
    found = list[list[Answer] | EngineError]()
    for source in sources:
        try:
            found.append(pool.ask(Runtime.each, _file(source), provider, inputs, list(outputs)))
        except EngineError as error:
            found.append(error)
    return found


def require_provider(provider: str) -> None:
    """Raises a ProviderError unless `provider` is installed; it names those that are."""
    pool.about(DEPLOYED.require_provider, provider)


def read_proto(source: Source) -> onnx.ModelProto:
    """The model without its external data; a ModelError says why it cannot be read."""
    if isinstance(source, onnx.ModelProto):
        return source
    data = payload(source)
    where = "the bytes given" if isinstance(data, bytes) else repr(data)
    try:
        if isinstance(data, bytes):
            return onnx.load_model_from_string(data)
        return onnx.load(data, load_external_data=False)
    except OSError as error:
        let_through(error)
        raise ModelError(f"{where} cannot be read: {error.strerror}") from None
    except DecodeError:
        raise ModelError(f"{where}: not an ONNX model (protobuf cannot parse it)") from None


def load_failure(source: Source, folder: Path | None, optimisation: Optimisation = "full") -> str:
    """Why the runtime does not load a model; empty if it does."""
    try:
        open_session(source, optimisation=optimisation, folder=folder).close()
    except EngineError as error:
        return str(error)
    return ""


def payload(source: Source) -> str | bytes:
    """The source as the runtime opens it: a path, or serialized bytes."""
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
    """The folder in which the external data of a model lies; `otherwise` where it does not say."""
    if isinstance(source, InFolder):
        return source.folder
    return Path(source).parent if isinstance(source, str | os.PathLike) else otherwise


def _file(source: Source, folder: str | os.PathLike[str] | None = None) -> ModelFile:
    data = payload(source)
    if isinstance(data, str):  # external data is found relative to the path
        return ModelFile(str(Path(data).absolute()))
    with suppress(OSError):  # the working directory may have been removed
        return ModelFile(data, str((folder_of(source) or Path(folder or "")).absolute()))
    return ModelFile(data)
