"""The protocol of a runtime, `Runtime`; what is asked of it, and the errors that it raises.

onnxruntime is the one that stands behind it (`runtimes.onnxruntime.native`). It runs in a worker,
so nothing here imports onnx.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from onnxpad.errors import ModelError
from onnxpad.runtimes.channel import Blob

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


class Opening(Struct, frozen=True):
    """How a session is opened.

    Attributes:
        source: An absolute path, or a serialized model, wrapped to send it uncopied.
        provider: Execution provider; nodes that it cannot run fall back to the CPU's.
        optimisation: Level of the runtime's optimiser.
        threads: Number of threads for a run; None leaves it to the runtime.
        folder: Folder of a serialized model's external data; None for the working directory.
        record: Folder for the runtime's profile, which says where nodes run; None for no profile.
        target: File for the optimised model; None to write none.
        disabled: Optimisations to leave out, by the runtime's names.
    """

    source: str | Blob
    provider: str
    optimisation: Optimisation = "off"
    threads: int | None = None
    folder: str | None = None
    record: str | None = None
    target: str | None = None
    disabled: tuple[str, ...] = ()


class OpenModel(Protocol):
    """A model that is open in this process; deleting it frees the model."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of its outputs."""

    def run(self, feeds: Mapping[str, Any], outputs: Sequence[str]) -> tuple[list[Any], float]:
        """Run the model once; returns the outputs named, and the seconds it took.

        Raises:
            EngineError: The runtime cannot run it on these inputs; its reason in one line.
        """

    def ran_on(self) -> dict[str, str]:
        """The provider of each node that ran, in running order; profiling ends here."""


class Runtime(Protocol):
    """A runtime in this process, such as a module.

    What it would miscompute is asked of other modules of its package: see `runtimes.deployed`.
    """

    @property
    def NAME(self) -> str:  # noqa: N802
        """Its name in sentences."""

    @property
    def CPU(self) -> str:  # noqa: N802
        """The provider whose results count: exact, and in the same memory as all else."""

    def open_model(self, opening: Opening) -> OpenModel:
        """Open a model.

        Raises:
            EngineError: The runtime cannot load it; its reason in one line.
            ProviderError: The provider is not installed, or does not start.
        """

    def warm(self) -> None:
        """Import it, which takes a while; a failure is reported when it is first needed."""

    def known_providers(self) -> tuple[str, ...]:
        """Every provider that it has a name for, whether installed or not."""

    def available_providers(self) -> tuple[str, ...]:
        """The providers that are installed, whether they start here or not."""

    def version(self) -> tuple[int, int]:
        """The first two numbers of its version."""

    def cuda_version(self) -> str:
        """The CUDA version that it is built for, such as `13.0`; empty without CUDA."""

    def require_provider(self, provider: str) -> None:
        """Raises unless a provider is installed.

        Raises:
            ProviderError: It is not; the message names those that are.
        """

    def first_line(self, error: Exception) -> str:
        """The message of an exception in one readable line."""

    def settings_text(self, provider: str) -> str:
        """The settings under which a provider's results are exact, such as `use_tf32=0`."""

    def installation_warnings(self) -> tuple[str, ...]:
        """The faults of how it is installed; asked in the main process, without importing it."""
