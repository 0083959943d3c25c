"""What `doctor` found: frozen values with no behaviour."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Package:
    """A Python package that onnxpad stands on.

    Attributes:
        name: Name of the distribution, as pip knows it.
        version: Its version; empty where it is not installed.
    """

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Provider:
    """An execution provider that is compiled into onnxruntime.

    Attributes:
        name: Its name, as `CUDAExecutionProvider`.
        usable: Whether a model of one node ran on it, here and now.
        trouble: Why it did not, in one line; else empty.
    """

    name: str
    usable: bool
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Library:
    """A library of CUDA or cuDNN that onnxruntime's CUDA provider needs.

    Attributes:
        name: Its name, as `cublas`.
        file: Its file, as `libcublas.so.13`.
        place: Where pip put it, `system` where the loader finds it; empty where nothing does.
    """

    name: str
    file: str
    place: str


@dataclass(frozen=True, slots=True)
class Driver:
    """NVIDIA's driver.

    Attributes:
        version: Its version; empty where none is known.
        devices: Names of the devices that it shows.
        library: Whether its library (`libcuda.so.1`, `nvcuda.dll`) loads.
    """

    version: str
    devices: tuple[str, ...]
    library: bool

    @property
    def present(self) -> bool:
        """Whether there is any trace of it."""
        return bool(self.version or self.devices or self.library)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps onnxpad, or a part of it, from working.

    Attributes:
        what: What is wrong, in one line.
        cure: What mends it, a command where there is one; empty where nobody can know.
        broken: Whether onnxpad is not usable; else only something beyond the CPU is missing.
    """

    what: str
    cure: str
    broken: bool


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What onnxpad stands on, and what of it works.

    Attributes:
        python: Version of Python.
        platform: System and machine, as `Linux x86_64`.
        packages: The packages, onnxpad first; every onnxruntime that is installed.
        providers: What onnxruntime can run on; empty where it cannot be imported.
        cuda: The CUDA that onnxruntime is built for, as `13.0`; empty where it is built without.
        libraries: What that CUDA needs; empty where onnxruntime is built without.
        driver: NVIDIA's driver.
        problems: What is wrong, what breaks onnxpad first.
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
        """Whether onnxpad is usable, on the CPU at least."""
        return not any(problem.broken for problem in self.problems)
