"""Examination of the installation by trying each part."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import platform
import subprocess
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from onnxpad import __version__
from onnxpad.errors import RUNTIME, OnnxpadError, and_list
from onnxpad.runtimes import pool
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.onnxruntime.native import CPU, CUDA, plugins
from onnxpad.runtimes.providers import trouble_with
from onnxpad.runtimes.worker import Runtime

INSTALL_CUDA = "pip install 'onnxruntime-gpu[cuda,cudnn]'"
_AGAIN = "pip install --force-reinstall"
_NO_CUDA = "no provider"
_IMPORTED = ("numpy", "protobuf", "onnx", "onnx-graphsurgeon")  # each after what it needs itself


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
        return bool(self.devices or self.library)


class Problem(Struct, frozen=True):
    """What is wrong, with its cure if that is known; it breaks onnxpad, or CUDA alone."""

    what: str
    cure: str
    broken: bool


class Diagnosis(Struct, frozen=True):
    """The state of an installation, what breaks it first; onnxruntime is built for `cuda`."""

    command = "doctor"
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

    @property
    def exit_code(self) -> int:
        """0 if it works, else 1."""
        return int(not self.ok)


class Machine:
    """Questions to the machine and its Python environment; tests replace it."""

    def platform(self) -> tuple[str, str]:
        """System and machine, such as `Linux` and `x86_64`."""
        return platform.system(), platform.machine()

    def version(self, distribution: str) -> str:
        """Version of an installed distribution; empty if it is not installed."""
        with suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(distribution)
        return ""

    def owners(self, module: str) -> tuple[str, ...]:
        """The distributions that own the folder of a module, sorted."""
        return tuple(sorted(set(importlib.metadata.packages_distributions().get(module, ()))))

    def import_error(self, module: str) -> str:
        """Why a module cannot be imported, in one line; empty if it can."""
        try:
            importlib.import_module(module)
        except Exception as error:  # mismatched versions fail with errors of any kind
            return " ".join(f"{type(error).__name__}: {error}".split())
        return ""

    def runtime(self) -> tuple[tuple[str, ...], str]:
        """The providers of onnxruntime, and its CUDA version or ""; raises OnnxpadError without."""
        cuda = pool.ask(Runtime.about, native.cuda_version)
        return pool.ask(Runtime.about, native.available_providers), cuda

    trouble_with = staticmethod(trouble_with)

    def from_pip(self, file: str) -> str:
        """The path of a library in pip's nvidia packages; empty if they lack it."""
        spec = importlib.util.find_spec("nvidia")
        folders = spec.submodule_search_locations or () if spec else ()
        below = (f"*/lib/{file}", f"*/bin/{file}", f"*/bin/*/{file}")
        found = (path for folder in folders for each in below for path in Path(folder).glob(each))
        return str(next(found, ""))

    def loads(self, file: str) -> bool:
        """Whether the system's loader finds a library and its own dependencies."""
        with suppress(OSError):
            return bool(ctypes.CDLL(file))
        return False

    def nvidia_smi(self) -> str:
        """A line `version, name` for each device; empty without nvidia-smi or a driver."""
        query = ["nvidia-smi", "--query-gpu=driver_version,name", "--format=csv,noheader"]
        with suppress(OSError, subprocess.SubprocessError):
            return subprocess.check_output(query, stderr=subprocess.DEVNULL, text=True, timeout=20)
        return ""


def examine(machine: Machine | None = None) -> Diagnosis:
    """Everything that onnxpad needs, tried on this machine."""
    tried = machine or Machine()
    (system, architecture), wheels = tried.platform(), tried.owners(RUNTIME)
    best = RUNTIME + "-gpu" * (f"{system} {architecture}" in {"Linux x86_64", "Windows AMD64"})
    problems, names, cuda = list[Problem](), tuple[str, ...](), ""
    for name in _IMPORTED:
        module = "google.protobuf" if name == "protobuf" else name.replace("-", "_")
        if not tried.version(name):
            problems.append(Problem(f"{name} is not installed", f"pip install {name}", broken=True))
        elif error := tried.import_error(module):
            what = f"{name} cannot be imported ({error})"
            problems.append(Problem(what, f"{_AGAIN} {name}", broken=True))
    try:
        if not problems:
            names, cuda = tried.runtime()
    except OnnxpadError as why:
        what = str(why) if wheels else f"{RUNTIME} is not installed"
        cure = f"{_AGAIN} {(wheels or [best])[0]}" * (len(wheels) < 2)
        problems.append(Problem(what, cure, broken=True))
    if len(wheels) > 1:
        what = f"{and_list(wheels)} are installed in one folder, where each overwrites the others"
        again = f"pip install {best if best in wheels else wheels[0]}"
        cure = f"pip uninstall -y {' '.join(wheels)} && {again}"
        problems.insert(0, Problem(what, cure, broken=True))
    troubles = {name: tried.trouble_with(name) for name in names}
    libraries = tuple(
        Library(name, file, tried.from_pip(file) or "system" * tried.loads(file))
        for name, file in needed(cuda, system).items()
    )
    rows = [line.split(", ", 1) for line in tried.nvidia_smi().splitlines() if ", " in line]
    library = tried.loads("nvcuda.dll" if system == "Windows" else "libcuda.so.1")
    driver = Driver(rows[0][0] if rows else "", tuple(row[1].strip() for row in rows), library)
    if troubles and (trouble := troubles.get(CPU, f"{RUNTIME} has no {CPU}")):
        problems.append(Problem(trouble, f"{_AGAIN} {' '.join(wheels)}", broken=True))
    if troubles and driver.present and (trouble := troubles.get(CUDA, _NO_CUDA)):
        missing = ", ".join(each.file for each in libraries if not each.place)
        problems.append(_of_cuda(trouble, " ".join(wheels), driver, missing, cuda))
    others = (module.replace("_", "-") for module in plugins().values())
    installed = (*_IMPORTED, *(wheels or (RUNTIME,)), *others)
    packages = [Package("onnxpad", __version__), *(Package(e, tried.version(e)) for e in installed)]
    return Diagnosis(
        python=platform.python_version(),
        platform=f"{system} {architecture}",
        packages=tuple(packages),
        providers=tuple(Provider(name, not why, why) for name, why in troubles.items()),
        cuda=cuda,
        libraries=libraries,
        driver=driver,
        problems=tuple(sorted(problems, key=lambda problem: not problem.broken)),
    )


def _of_cuda(trouble: str, wheels: str, driver: Driver, missing: str, cuda: str) -> Problem:
    """Why CUDA does not run although there is a driver."""
    if trouble == _NO_CUDA:
        what = f"there is an NVIDIA driver, but {wheels} is built without CUDA"
        cure = f"pip uninstall -y {wheels} && {INSTALL_CUDA}"
    elif not driver.library:
        what = "there is an NVIDIA driver, but its library does not load"
        cure = "start a container with its devices (docker run --gpus all); else reinstall it"
    elif missing:
        what, cure = f"CUDA does not run: {missing} not found", INSTALL_CUDA
    else:
        what = f"CUDA does not run though all its libraries are here: {trouble}"
        cure = f"check with nvidia-smi that the driver supports CUDA {cuda} and lists a device"
    return Problem(what, cure, broken=False)


def needed(cuda: str, system: str) -> dict[str, str]:
    """Files of the CUDA provider's libraries from CUDA 12 on, as onnxruntime's `preload_dlls`."""
    if (major := int(cuda.partition(".")[0] or 0)) < 12:
        return {}
    versions = {"cudart": major, "cublasLt": major, "cublas": major, "cufft": major - 1}
    before, after = ("", "64_{}.dll") if system == "Windows" else ("lib", ".so.{}")
    versions |= {"cudnn": 9} if system == "Windows" else {"curand": 10, "cudnn": 9}
    return {name: before + name + after.format(version) for name, version in versions.items()}
