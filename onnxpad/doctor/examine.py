"""Examination of the installation by trying each part.

A provider works if a node ran on it, a package if it can be imported, and a library if it is where
onnxruntime looks for it.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import importlib.util
import platform
import re
import subprocess
from pathlib import Path

from onnxpad import __version__
from onnxpad.doctor.diagnosis import Diagnosis, Driver, Library, Package, Problem, Provider
from onnxpad.errors import OnnxpadError
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.onnxruntime.native import CPU, CUDA, NAME
from onnxpad.runtimes.onnxruntime.provider_rows import plugins

INSTALL_CUDA = "pip install 'onnxruntime-gpu[cuda,cudnn]'"

_IMPORTED = {
    "numpy": "numpy",
    "protobuf": "google.protobuf",
    "onnx": "onnx",
    "onnx-graphsurgeon": "onnx_graphsurgeon",
}
"""Distributions that onnxpad requires, with their modules; each after those it needs itself."""


class Machine:
    """Questions to the machine and its Python environment; tests replace it."""

    def platform(self) -> tuple[str, str]:
        """System and machine, such as `Linux` and `x86_64`."""
        return platform.system(), platform.machine()

    def version(self, distribution: str) -> str:
        """Version of an installed distribution; empty if it is not installed."""
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
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

    def plugins(self) -> tuple[str, ...]:
        """The distributions of onnxruntime's plugins."""
        return tuple(module.replace("_", "-") for module in plugins().values())

    def providers(self) -> tuple[str, ...]:
        """The execution providers that are installed.

        Raises:
            OnnxpadError: onnxruntime cannot be imported.
        """
        from onnxpad.runtimes import pool

        return pool.about(native.available_providers)

    def trouble_with(self, provider: str) -> str:
        """Why a model of one node does not run on a provider; empty if it does."""
        from onnxpad.runtimes.providers import trouble_with

        return trouble_with(provider)

    def cuda(self) -> str:
        """The CUDA version that onnxruntime is built for; empty if it is built without CUDA."""
        from onnxpad.runtimes import pool

        return pool.about(native.cuda_version)

    def from_pip(self, file: str) -> str:
        """The path of a library in pip's nvidia packages; empty if they lack it."""
        spec = importlib.util.find_spec("nvidia")
        folders = spec.submodule_search_locations or () if spec else ()
        below = (f"*/lib/{file}", f"*/bin/{file}", f"*/bin/*/{file}")
        found = (path for folder in folders for each in below for path in Path(folder).glob(each))
        return str(next(found, ""))

    def loads(self, file: str) -> bool:
        """Whether the system's loader finds a library and its own dependencies."""
        try:
            ctypes.CDLL(file)
        except OSError:
            return False
        return True

    def nvidia_smi(self) -> str:
        """A line `version, name` for each device; empty without nvidia-smi or a driver."""
        query = ["nvidia-smi", "--query-gpu=driver_version,name", "--format=csv,noheader"]
        try:
            done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True)
        except (OSError, subprocess.SubprocessError):
            return ""
        return done.stdout

    def kernel_module(self) -> str:
        """Linux's description of the driver's kernel module; empty if there is none."""
        try:
            return Path("/proc/driver/nvidia/version").read_text(errors="replace")
        except OSError:
            return ""


def examine(machine: Machine | None = None) -> Diagnosis:
    """Everything that onnxpad needs, tried on this machine."""
    tried = machine or Machine()
    system, architecture = tried.platform()
    wheels = tried.owners(NAME)
    gpu = (system, architecture) in {("Linux", "x86_64"), ("Windows", "AMD64")}
    wheel = f"{NAME}-gpu" if gpu else NAME
    problems = _package_problems(tried)
    importable = not problems
    if len(wheels) > 1:
        problems.append(_conflict(wheels, wheel))
    providers: tuple[Provider, ...] = ()
    cuda = ""
    if importable:
        try:
            providers = tuple(_provider(tried, name) for name in tried.providers())
            cuda = tried.cuda()
        except OnnxpadError as error:
            what = str(error) if wheels else f"{NAME} is not installed"
            cure = (
                "" if len(wheels) > 1 else f"pip install --force-reinstall {(wheels or [wheel])[0]}"
            )
            problems.append(Problem(what, cure, broken=True))
    driver = _driver(tried, system)
    libraries = _libraries(tried, cuda, system)
    problems += _provider_problems(providers, wheels, driver, libraries, cuda)
    return Diagnosis(
        python=platform.python_version(),
        platform=f"{system} {architecture}",
        packages=(
            Package("onnxpad", __version__),
            *(Package(name, tried.version(name)) for name in _IMPORTED),
            *(
                Package(name, tried.version(name))
                for name in (*(wheels or (NAME,)), *tried.plugins())
            ),
        ),
        providers=providers,
        cuda=cuda,
        libraries=libraries,
        driver=driver,
        problems=tuple(sorted(problems, key=lambda problem: not problem.broken)),
    )


def _package_problems(machine: Machine) -> list[Problem]:
    problems = []
    for name, module in _IMPORTED.items():
        if not machine.version(name):
            problems.append(Problem(f"{name} is not installed", f"pip install {name}", broken=True))
        elif error := machine.import_error(module):
            cure = f"pip install --force-reinstall {name}"
            problems.append(Problem(f"{name} cannot be imported ({error})", cure, broken=True))
    return problems


def _conflict(wheels: tuple[str, ...], best: str) -> Problem:
    """The problem of several onnxruntime wheels: all own one folder and overwrite each other."""
    keep = best if best in wheels else wheels[0]
    return Problem(
        f"{' and '.join(wheels)} are installed in one folder, where each overwrites the others",
        f"pip uninstall -y {' '.join(wheels)} && pip install {keep}",
        broken=True,
    )


def _provider(machine: Machine, name: str) -> Provider:
    trouble = machine.trouble_with(name)
    return Provider(name, not trouble, trouble)


def _provider_problems(
    providers: tuple[Provider, ...],
    wheels: tuple[str, ...],
    driver: Driver,
    libraries: tuple[Library, ...],
    cuda: str,
) -> list[Problem]:
    known = {provider.name: provider for provider in providers}
    if not known:
        return []
    problems = []
    cpu = known.get(CPU)
    if cpu is None or not cpu.usable:
        trouble = cpu.trouble if cpu else f"{NAME} has no {CPU}"
        cure = f"pip install --force-reinstall {' '.join(wheels)}"
        problems.append(Problem(trouble, cure, broken=True))
    gpu = known.get(CUDA)
    if not driver.present or (gpu is not None and gpu.usable):
        return problems
    missing = [library.file for library in libraries if not library.place]
    if gpu is None:
        what = f"there is an NVIDIA driver, but {' '.join(wheels)} is built without CUDA"
        cure = f"pip uninstall -y {' '.join(wheels)} && {INSTALL_CUDA}"
    elif not driver.library:
        what = "there is an NVIDIA driver, but its library does not load"
        cure = "start a container with its devices (docker run --gpus all); else reinstall it"
    elif missing:
        what = f"CUDA does not run: {', '.join(missing)} not found"
        cure = INSTALL_CUDA
    else:
        what = f"CUDA does not run though all its libraries are here: {gpu.trouble}"
        cure = f"check with nvidia-smi that the driver supports CUDA {cuda} and lists a device"
    return [*problems, Problem(what, cure, broken=False)]


def _driver(machine: Machine, system: str) -> Driver:
    rows = [line.split(", ", 1) for line in machine.nvidia_smi().splitlines() if ", " in line]
    module = re.search(r"Kernel Module.*?\s(\d+(?:\.\d+)+)", machine.kernel_module())
    version = rows[0][0] if rows else module[1] if module else ""
    library = machine.loads("nvcuda.dll" if system == "Windows" else "libcuda.so.1")
    return Driver(version, tuple(name.strip() for _, name in rows), library)


def _libraries(machine: Machine, cuda: str, system: str) -> tuple[Library, ...]:
    return tuple(
        Library(name, file, machine.from_pip(file) or ("system" if machine.loads(file) else ""))
        for name, file in needed(cuda, system).items()
    )


def needed(cuda: str, system: str) -> dict[str, str]:
    """The file of each library that the CUDA provider needs; empty for CUDA older than 12.

    The names are those of onnxruntime's own `preload_dlls`.

    >>> needed("12.8", "Linux")["cufft"], needed("13.0", "Windows")["cudnn"]
    ('libcufft.so.11', 'cudnn64_9.dll')
    """
    numbers = _numbers(cuda)
    major = numbers[0] if numbers else 0
    if major < 12:
        return {}
    versions = {"cudart": major, "cublasLt": major, "cublas": major, "cufft": major - 1}
    if system == "Windows":
        versions["cudnn"] = 9
        return {name: f"{name}64_{version}.dll" for name, version in versions.items()}
    versions |= {"curand": 10, "cudnn": 9}
    return {name: f"lib{name}.so.{version}" for name, version in versions.items()}


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, for comparison.

    >>> _numbers("4.25.1rc1"), _numbers("")
    ((4, 25, 1), ())
    """
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()
