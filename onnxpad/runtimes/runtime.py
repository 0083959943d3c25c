"""What passes between a process and the worker that runs a runtime: models, errors, messages.

It is read in a worker, so nothing here imports onnx.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from onnxpad.arguments import InFolder
from onnxpad.errors import ModelError

THREADS = "ONNXPAD_THREADS"
"""The variable that says how many threads a model may use; 0 or none for all cores."""

Optimisation: TypeAlias = Literal["off", "full"]
Located: TypeAlias = Path | InFolder
"""A model to open, at an absolute path, or with its external data in such a folder."""


class EngineError(ModelError):
    """A model that the runtime cannot load, or cannot run on the inputs given.

    Attributes:
        nodes: Names of the nodes at which it failed, as far as the runtime says.
        lacks_kernel: Whether it has no kernel for an operator or type of the model.
    """

    def __init__(
        self, message: str = "", nodes: tuple[str, ...] = (), *, lacks_kernel: bool = False
    ) -> None:
        """Keeps the facts beside the message."""
        super().__init__(message)
        self.nodes = nodes
        self.lacks_kernel = lacks_kernel


class CrashError(EngineError):
    """A crash of the process in which the runtime loaded or ran a model."""

    kind = "crash"


class LimitError(CrashError):
    """A request that did not end within its limit; its process was ended."""
