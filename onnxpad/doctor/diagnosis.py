"""The report of `doctor` as frozen values."""

from __future__ import annotations

from msgspec import Struct


class Package(Struct, frozen=True):
    """A Python package that onnxpad needs.

    Attributes:
        name: Name of the distribution, as pip knows it.
        version: Its version; empty if it is not installed.
    """

    name: str
    version: str


class Provider(Struct, frozen=True):
    """An execution provider that is compiled into onnxruntime, or a plugin of it.

    Attributes:
        name: Its name, such as `CUDAExecutionProvider`.
        usable: Whether a model of one node ran on it just now.
        trouble: Why it did not, in one line; else empty.
    """

    name: str
    usable: bool
    trouble: str = ""


class Library(Struct, frozen=True):
    """A library of CUDA or cuDNN that onnxruntime's CUDA provider needs.

    Attributes:
        name: Its name, such as `cublas`.
        file: Its file, such as `libcublas.so.13`.
        place: The path at which pip installed it, or `system` if the system's loader finds it;
            empty if it is missing.
    """

    name: str
    file: str
    place: str


class Driver(Struct, frozen=True):
    """NVIDIA's driver.

    Attributes:
        version: Its version; empty if it is unknown.
        devices: Names of the devices that it lists.
        library: Whether its library (`libcuda.so.1`, `nvcuda.dll`) loads.
    """

    version: str
    devices: tuple[str, ...]
    library: bool

    @property
    def present(self) -> bool:
        """Whether there is any trace of it."""
        return bool(self.version or self.devices or self.library)


class Problem(Struct, frozen=True):
    """Something that keeps onnxpad, or a part of it, from working.

    Attributes:
        what: What is wrong, in one line.
        cure: How to mend it, as a command if there is one; empty if it is unknown.
        broken: Whether onnxpad does not work at all; if not, only CUDA does not work.
    """

    what: str
    cure: str
    broken: bool


class Diagnosis(Struct, frozen=True):
    """The state of an installation, and its problems.

    Attributes:
        python: Version of Python.
        platform: System and machine, such as `Linux x86_64`.
        packages: The packages, onnxpad first, with every onnxruntime that is installed.
        providers: Execution providers of onnxruntime; empty if it cannot be imported.
        cuda: The CUDA version that onnxruntime is built for, such as `13.0`; else empty.
        libraries: The libraries that this CUDA version needs; else empty.
        driver: NVIDIA's driver.
        problems: The problems, those that break onnxpad first.
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
