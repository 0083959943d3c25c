"""What the results of calls that rewrite have in common: the model, and who may have it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from onnxpad.errors import ValidationError
from onnxpad.file.external import ExternalData
from onnxpad.process import gc_paused

if TYPE_CHECKING:
    from onnxpad.api.kinds import SameKind
    from onnxpad.arguments import Progress
    from onnxpad.graph import Graph


class ModelResult:
    """A result that holds a model."""

    __slots__ = ()
    _graph: Graph
    _same_kind: SameKind

    @property
    def failure(self) -> str:
        """Why it is not `ok`, in one line; else empty."""
        raise NotImplementedError

    @property
    def _refusal(self) -> str:
        """Why the model is not given without more ado; else empty."""
        return self.failure

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with the model; `failure` says what is."""
        return not self.failure

    def raise_for_failure(self) -> None:
        """Raises unless `ok`.

        Raises:
            ValidationError: It is not; the message says why.
        """
        if self.failure:
            raise ValidationError(self.failure)

    @property
    def model(self) -> onnx.ModelProto:
        """The model, a new copy at each access; the original if nothing changed."""
        return self._graph.model.to_proto()

    def as_same_kind(self, *, keep_invalid: bool = False) -> Any:
        """The model as the kind of object that was given, always a new one.

        It is an `onnx.ModelProto`, bytes, a graphsurgeon `Graph`, an `onnx_ir.Model` or a torch
        `ONNXProgram`. Weights that are the same are not copied: the last three share them with the
        model that was given.

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
        """Write the model, whole or not at all.

        An unchanged model is copied byte for byte, unless its external data is put inside.

        Args:
            path: The file to write. An existing one is replaced, also the model that was given.
            external_data: How to keep the external data of the original available to a result in
                another folder: `copy` copies its files beside the result. `inline` puts the data
                inside the result, in any folder. A model that was given without a path keeps its
                references as they are.
            keep_invalid: Whether to write a model that fails: its validation did, or it does not
                reproduce the reference. One that could not be compared, or was not validated, is
                written in any case.
            progress: Called with (step, done, total).

        Returns:
            The data files written beside the model.

        Raises:
            ValidationError: The model fails; nothing is written.
            UsageError: `external_data` is neither.
            OutputError: A file cannot be written, or a different file has the name of a data file.
        """
        self._refuse_invalid(keep_invalid)
        return self._graph.model.write(path, external_data=external_data, progress=progress)

    def _refuse_invalid(self, keep_invalid: bool) -> None:
        if self._refusal and not keep_invalid:
            raise ValidationError(
                f"{self._refusal}; keep_invalid=True gives the model all the same"
            )
