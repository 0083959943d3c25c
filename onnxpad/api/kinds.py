"""The kinds of model that callers hold, and results, which become one of the same kind."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import onnx

from onnxpad import arguments
from onnxpad.arguments import InFolder, Progress, Source
from onnxpad.errors import ModelError, UsageError, ValidationError, few, let_through
from onnxpad.file.external import ExternalData
from onnxpad.graph import Graph
from onnxpad.graph.model import Model
from onnxpad.process import gc_paused
from onnxpad.report import Judged

GIBIBYTE = 1 << 30
LIMIT = 2 * GIBIBYTE
"""More than fits one serialised model."""

_SAVE = "save it with external data and give the path"
_MINUTE = 60.0
_LEAST_IR_VERSION = 8  # that has functions

SameKind: TypeAlias = Callable[[Model], Any]
"""Makes a result the kind of object that was given."""


@gc_paused()
def source_of(model: Any, call: str) -> tuple[Source, SameKind]:
    """A `ModelSource` in a form that onnxpad reads, and what makes a result the kind given.

    The name of the call is for messages.

    Raises:
        UsageError: It is no model in any form that onnxpad knows.
        ModelError: It cannot be serialised.
    """
    is_program = _is_a(model, "torch.onnx", "ONNXProgram")
    if is_program or _is_a(model, "onnx_ir", "Model"):
        return taken(model.model, model) if is_program else taken(model)
    surgeon = "onnx_graphsurgeon"
    if _is_a(model, surgeon, "Graph") and not _is_a(model, surgeon, "Function"):
        from onnx_graphsurgeon import import_onnx

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


def taken(model: Any, program: Any = None) -> tuple[bytes | InFolder, Callable[[Model], Any]]:
    """A model of onnx_ir, or the one of a torch `ONNXProgram`, as onnxpad reads it.

    And what makes a result the kind that was given. It shares the weights of the model as it is
    now that are the same, so external, lazy and torch's own tensors stay what they are, and has the
    `meta` stores of the model and its graph, and no others.

    Raises:
        UsageError: The program of an old torch has a model of another kind.
        ModelError: As for `serialised`.
    """
    import onnx_ir

    if not isinstance(model, onnx_ir.Model):
        raise UsageError(
            f"this ONNXProgram holds no onnx_ir.Model; update torch and onnxscript, or {_SAVE}"
        )
    weights = {name: each.const_value for name, each in model.graph.initializers.items()}

    def same_kind(now: Model) -> Any:
        made, place = onnx_ir.from_proto(now.to_proto()), [*_external(model)][:1]
        made.meta.update(model.meta)
        made.graph.meta.update(model.graph.meta)
        for tensor in _external(made) if place else ():
            tensor.base_dir = place[0].base_dir
        held = made.graph.initializers
        for name in weights.keys() & now.main.initializers.keys() & held.keys():
            held[name].const_value = weights[name]
        return made if program is None else type(program)(made, program.exported_program)

    return serialised(model), same_kind


def serialised(model: Any) -> bytes | InFolder:
    """A model of onnx_ir, serialised; data that lies in files stays there.

    Raises:
        ModelError: It is over 2 GiB without its external data, or cannot be serialised, or its
            external data lies in several folders.
    """
    import onnx_ir

    external = [*_external(model)]
    size = sum(each.nbytes for each in _tensors(model)) - sum(each.nbytes for each in external)
    if size >= LIMIT:
        told = f"the model holds {size / GIBIBYTE:.1f} GiB of weights in memory"
        raise ModelError(f"{told}, and a serialised one at most 2 GiB; {_SAVE}")
    data = serialised_export(lambda: onnx_ir.to_proto(model))
    if len({os.path.realpath(each.base_dir) for each in external}) > 1:
        raise ModelError(f"the external data of the model lies in several folders; {_SAVE}")
    if not external or not all(Path(each.path).exists() for each in external if not each.base_dir):
        return data  # without a folder, external data may have lost its place
    return InFolder(data, Path(external[0].base_dir).absolute())


def serialised_export(export: Callable[[], onnx.ModelProto]) -> bytes:
    """The model that an export returns, serialised.

    Raises:
        ModelError: The export fails; the message gives the innermost reason.
    """
    try:
        data: bytes = export().SerializeToString()
    except Exception as error:
        let_through(error)
        reason: BaseException = error
        while reason.__cause__ is not None:
            reason = reason.__cause__  # onnx_ir adds where it was at each level
        raise ModelError(f"the model cannot be serialised: {reason}") from None
    return data


def _external(model: Any) -> Iterator[Any]:
    import onnx_ir

    return (each for each in _tensors(model) if isinstance(each, onnx_ir.ExternalTensor))


def _tensors(model: Any) -> Iterator[Any]:
    import onnx_ir

    for whole in (model.graph, *model.functions.values()):
        for graph in (whole, *whole.subgraphs()):
            values = getattr(graph, "initializers", {}).values()  # functions have none
            yield from (each.const_value for each in values if each.const_value is not None)
            held = (each for node in graph for each in node.attributes.values())
            for attribute in (each for each in held if not each.is_ref()):
                if attribute.type == onnx_ir.AttributeType.TENSOR:
                    yield attribute.value
                elif attribute.type == onnx_ir.AttributeType.TENSORS:
                    yield from attribute.value


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
    paths = [*map(path_of, arrays if isinstance(arrays, list | tuple) else [arrays])]
    return few(paths, 3) if all(paths) else "" if arrays is None else "arrays in memory"


def typed(options: Mapping[str, object]) -> str:
    """The words of a command that give options, by name; empty if something is in memory."""
    several = ((n, v if isinstance(v, list | tuple) else [v]) for n, v in options.items())
    pairs = [(name, each) for name, some in several for each in some if each is not None]
    if not all(isinstance(each, str | os.PathLike | int | float) for _, each in pairs):
        return ""
    return shlex.join(e for name, each in pairs for e in (name, os.fsdecode(str(each))) if e)


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
