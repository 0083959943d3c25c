"""The kinds of model that callers hold, and results, which become one of the same kind."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import onnx

from onnxpad import arguments
from onnxpad.arguments import Progress, Source
from onnxpad.errors import ModelError, UsageError, ValidationError
from onnxpad.file.external import ExternalData
from onnxpad.graph import Graph
from onnxpad.graph.model import Model
from onnxpad.process import gc_paused
from onnxpad.report import Judged

_MINUTE = 60.0
_LEAST_IR_VERSION = 8  # that has functions

SameKind: TypeAlias = Callable[[Model], Any]
"""Makes a result the kind of object that was given."""


@gc_paused()
def source_of(model: Any, call: str) -> tuple[Source, SameKind]:
    """A model in a form that onnxpad reads, and what makes a result the kind that was given.

    Args:
        model: The argument as given, a `ModelSource`; it is only read.
        call: Name of the call, for messages.

    Raises:
        UsageError: It is no model in any form that onnxpad knows.
        ModelError: It cannot be serialised.
    """
    is_program = _is_a(model, "torch.onnx", "ONNXProgram")
    if is_program or _is_a(model, "onnx_ir", "Model"):
        from onnxpad.api.ir_model import taken

        return taken(model.model, model) if is_program else taken(model)
    surgeon = "onnx_graphsurgeon"
    if _is_a(model, surgeon, "Graph") and not _is_a(model, surgeon, "Function"):
        from onnx_graphsurgeon import import_onnx

        from onnxpad.api.ir_model import serialised_export

        data = serialised_export(lambda: _exported(model))
        return data, lambda now: import_onnx(now.to_proto())
    given = arguments.source(model, call)
    if isinstance(model, bytes | bytearray | memoryview):
        return given, lambda now: type(model)(now.to_bytes())
    return given, _refuse_path if isinstance(given, Path) else lambda now: now.to_proto()


def _is_a(model: object, package: str, name: str) -> bool:
    """Whether a model is of a class of a package: who has one has loaded the package."""
    kind = getattr(sys.modules.get(package), name, None)
    return isinstance(kind, type) and isinstance(model, kind)


def _refuse_path(_: Model) -> Any:
    raise UsageError(
        "the model was given by its path, and the result has none yet: save(path) writes it, and "
        "model is the onnx.ModelProto"
    )


def _exported(graph: Any) -> Any:
    """A graph by graphsurgeon's own export; a new graph has the lowest IR version that fits."""
    from onnx.helper import find_min_ir_version_for
    from onnx_graphsurgeon import export_onnx

    model = export_onnx(graph)
    if getattr(graph, "ir_version", None) is None:
        least = find_min_ir_version_for(model.opset_import, ignore_unknown=True)
        model.ir_version = max(least, _LEAST_IR_VERSION)
    return model


def limited(run_timeout: float | None, *graphs: Graph) -> AbstractContextManager[None]:
    """Limits the runs of models: as given, to a minute where a Loop need not end, or not at all."""
    from onnxpad.graph.graph import has_open_loop
    from onnxpad.runtimes import pool

    if run_timeout is None and any(map(has_open_loop, graphs)):
        run_timeout = _MINUTE
    return pool.limited(run_timeout)


def path_of(model: object) -> str:
    """The path by which a model or arrays were given, for reports; empty if they are in memory."""
    return os.fsdecode(model) if isinstance(model, str | os.PathLike) else ""


def name_of(model: Source) -> str:
    """A model in a few words: its path, or the name of its graph."""
    name = getattr(getattr(model, "graph", None), "name", "")
    if isinstance(name, bytes):  # protobuf gives bytes where a string is not UTF-8
        name = name.decode(errors="backslashreplace")
    return path_of(model) or name or "model"


def name_of_arrays(arrays: object) -> str:
    """Arrays in a few words: their path, or that they are in memory; empty if there are none."""
    return path_of(arrays) or ("" if arrays is None else "arrays in memory")


@contextmanager
def naming(model: Source) -> Iterator[None]:
    """Errors about a model name its file exactly once."""
    try:
        yield
    except ModelError as error:
        if not isinstance(model, Path) or str(error).startswith((f"{model}: ", f"{model} ")):
            raise
        raise ModelError(f"{model}: {error}") from error


class ModelResult(Judged):
    """A result that holds a model."""

    __slots__ = ()
    _graph: Graph
    _same_kind: SameKind

    @property
    def model(self) -> onnx.ModelProto:
        """The model, a new copy at each access; the original if nothing changed."""
        return self._graph.model.to_proto()

    def as_same_kind(self, *, keep_invalid: bool = False) -> Any:
        """The model as the kind of object that was given, always a new one.

        Weights that are the same are shared with an `onnx_ir.Model` or a torch `ONNXProgram`.

        Args:
            keep_invalid: Whether to return a model with which something is wrong, as for `save`.

        Raises:
            ValidationError: Something is wrong with it.
            UsageError: The model was given by its path.
        """
        self._refuse_invalid(keep_invalid)
        with gc_paused():
            return self._same_kind(self._graph.model)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: ExternalData = "copy",
        keep_invalid: bool = False,
        progress: Progress | None = None,
    ) -> tuple[Path, ...]:
        """Write the model, whole or not at all; an unchanged one is copied byte for byte.

        Args:
            path: The file to write. An existing one is replaced, also the model that was given.
            external_data: For a result in another folder than its original: `copy` copies its data
                files beside it, `inline` puts the data inside the model, in any folder. A model
                that was given without a path keeps its references.
            keep_invalid: Whether to write a model whose validation failed, or that does not
                reproduce the reference. One that was not compared is written in any case.
            progress: Called with (step, done, total).

        Returns:
            The data files written beside the model.

        Raises:
            ValidationError: The model fails; nothing is written.
            UsageError: `external_data` is neither.
            OutputError: A file cannot be written, or a different file, no data of an older model at
                the path, has the name of a data file.
        """
        self._refuse_invalid(keep_invalid)
        return self._graph.model.write(path, external_data=external_data, progress=progress)

    def _refuse_invalid(self, keep_invalid: bool) -> None:
        if self.exit_code == 3 and not keep_invalid:
            told = "keep_invalid=True gives the model all the same"
            raise ValidationError(f"{self.failure}; {told}")
