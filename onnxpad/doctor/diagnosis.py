"""The report of `doctor` as frozen values."""

from __future__ import annotations

from msgspec import Struct


class Package(Struct, frozen=True):
    """A distribution that onnxpad needs, as pip knows it; without a version it is missing."""

    name: str
    version: str


class Provider(Struct, frozen=True):
    """A provider of onnxruntime; with trouble, a model of one node does not run on it."""

    name: str
    usable: bool
    trouble: str = ""


class Library(Struct, frozen=True):
    """A library of CUDA or cuDNN: where pip installed it, `system`, or empty if it is missing."""

    name: str
    file: str
    place: str


class Driver(Struct, frozen=True):
    """NVIDIA's driver: its version if that is known, its devices, and whether its library loads."""

    version: str
    devices: tuple[str, ...]
    library: bool

    @property
    def present(self) -> bool:
        """Whether there is any trace of it."""
        return bool(self.version or self.devices or self.library)


class Problem(Struct, frozen=True):
    """What is wrong, with its cure if that is known; it breaks onnxpad, or CUDA alone."""

    what: str
    cure: str
    broken: bool


class Diagnosis(Struct, frozen=True):
    """The state of an installation: onnxpad is the first package, what breaks it comes first.

    Without providers onnxruntime cannot be imported. `cuda` is the version that it is built for.
    """

    python: str
    platform: str
    packages: tuple[Package, ...]
    providers: tuple[Provider, ...]
    cuda: str
    libraries: tuple[Library, ...]
    driver: Driver
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether onnxpad works, at least on the CPU."""
        return not any(problem.broken for problem in self.problems)
