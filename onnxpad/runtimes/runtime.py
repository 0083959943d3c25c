"""What is asked of a runtime, `Runtime`; what it opens, and the errors that it raises.

It runs in a worker, so nothing here imports onnx.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from onnxpad.errors import ModelError

Optimisation: TypeAlias = Literal["off", "basic", "full"]


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


class ModelFile(Struct, frozen=True):
    """A model to open: its absolute path, or its bytes and the folder of its external data."""

    data: str | bytes
    folder: str | None = None


class Runtime(Protocol):
    """A runtime that has one model open at most."""

    def open(
        self, model: ModelFile, provider: str, optimisation: Optimisation, profile: bool
    ) -> tuple[str, ...]:
        """Open a model, in place of the one before; returns the names of its outputs.

        Where its nodes run is recorded only where it is to be told.

        Raises:
            EngineError: The runtime cannot load it; its reason in one line.
            ProviderError: The provider is not installed, or does not start.
        """

    def run(self, feeds: Mapping[str, Any], outputs: Sequence[str]) -> tuple[list[Any], float]:
        """Run the model once; returns the outputs named, and the seconds it took.

        Raises:
            EngineError: The runtime cannot run it on these inputs; its reason in one line.
        """

    def places(self) -> dict[str, str]:
        """The provider of each node of the model, as far as the runtime says."""

    def close(self) -> None:
        """Free the model."""
