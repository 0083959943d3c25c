"""Sessions of a runtime in worker processes: a crash there raises an error here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy.typing as npt
import onnx
from google.protobuf.message import DecodeError, EncodeError  # type: ignore[import-untyped]

from onnxpad.arguments import InFolder
from onnxpad.errors import ModelError, let_through
from onnxpad.runtimes import pool
from onnxpad.runtimes.runtime import CrashError, EngineError, Located, Optimisation
from onnxpad.runtimes.worker import CPU as CPU
from onnxpad.runtimes.worker import Runtime

Source = str | os.PathLike[str] | bytes | InFolder | onnx.ModelProto
Array = npt.NDArray[Any]
Value: TypeAlias = "Array | Sequence[Value] | Mapping[Any, Any] | None"
"""The value of an output: a tensor, a sequence, a map, or None for an empty optional."""

Answer = dict[str, Value] | EngineError
"""The outputs of a run by name, or the runtime's error."""


class Session(AbstractContextManager["Session"]):
    """An open model, whose weights are freed where a `with` ends.

    Attributes:
        seconds: How long the last run took.
    """

    seconds = 0.0

    def __init__(self, model: Located, provider: str, optimisation: Optimisation) -> None:
        """Open the model."""
        self._how = model, provider, optimisation
        self._worker = pool.borrow()
        try:
            self._outputs = self._worker.ask(Runtime.open, *self._how)
        except BaseException:
            pool.give_back(self._worker)
            raise

    def __exit__(self, *_: object) -> None:
        """Free the model; it cannot be run any more."""
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
        if not self._worker.alive:
            self._worker = pool.borrow()
            self._worker.ask(Runtime.open, *self._how)
        names = self._outputs if outputs is None else list(outputs)
        values, self.seconds = self._worker.ask(Runtime.run, dict(feeds), names)
        return dict(zip(names, values, strict=True))

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
    return Session(_located(source, folder), provider, optimisation)


def answers(
    source: Source,
    outputs: Sequence[str],
    fed: Sequence[Mapping[str, Array]],
    *,
    by_onnx: bool = False,
) -> list[Answer] | EngineError:
    """The outputs, or an error, of a small model for each set of inputs.

    There is one error of a model that does not load, or crashes on any set. With `by_onnx`, onnx's
    reference evaluator runs it, in a worker too: neither its work nor its memory is bounded by the
    size of a model.
    """
    inputs = [dict(feeds) for feeds in fed]
    try:
        return pool.ask(Runtime.each, _located(source), inputs, list(outputs), by_onnx)
    except EngineError as error:
        return error


def read_proto(source: Source) -> onnx.ModelProto:
    """The model without its external data; a ModelError says why it cannot be read."""
    if isinstance(source, onnx.ModelProto):
        return source
    model, where = onnx.ModelProto(), "the bytes given"
    try:
        if isinstance(source, str | os.PathLike):
            where = repr(os.fspath(source))
            source = Path(source).read_bytes()
        model.ParseFromString(source.data if isinstance(source, InFolder) else source)
        return model
    except OSError as error:
        let_through(error)
        raise ModelError(f"{where} cannot be read: {error.strerror}") from None
    except DecodeError:
        raise ModelError(f"{where}: not an ONNX model (protobuf cannot parse it)") from None


def load_failure(source: Source, folder: Path | None, optimisation: Optimisation = "full") -> str:
    """Why the runtime does not load a model; empty if it does."""
    try:
        with open_session(source, optimisation=optimisation, folder=folder):
            return ""
    except EngineError as error:
        return str(error)


def serialised(model: onnx.ModelProto) -> bytes:
    """The bytes of a model; a ModelError says that it has too many."""
    try:
        data: bytes = model.SerializeToString()
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


def _located(source: Source, folder: str | os.PathLike[str] | None = None) -> Located:
    if isinstance(source, str | os.PathLike):  # external data is found relative to the path
        return Path(source).absolute()
    data = serialised(source) if isinstance(source, onnx.ModelProto) else source
    if isinstance(data, InFolder):
        folder, data = data.folder, data.data
    with suppress(OSError):  # the working directory may have been removed
        return InFolder(data, Path(folder or "").absolute())
    return InFolder(data, Path(os.sep))
