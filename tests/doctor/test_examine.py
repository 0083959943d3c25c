"""What `doctor` says of machines: of this one, and of others that a stand-in answers for."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pytest

from onnxpad.doctor.examine import Machine, examine, needed
from onnxpad.errors import ProviderError
from onnxpad.report.documents.doctor_document import doctor_document
from onnxpad.report.json import json_of
from onnxpad.report.layout import Screen, text_of
from onnxpad.runtimes import pool, sessions
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.runtime import EngineError
from onnxpad.runtimes.worker import Runtime
from tests.support import ROOT
from tests.support.rows import each_row

ALL = frozenset(needed("13.0", "Linux").values())
BOTH = ("CUDAExecutionProvider", "CPUExecutionProvider")


@dataclass
class Fake(Machine):
    """A Linux machine with a device on which everything works, but for what is said otherwise."""

    system: tuple[str, str] = ("Linux", "x86_64")
    wheels: tuple[str, ...] = ("onnxruntime-gpu",)
    versions: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    compiled: tuple[str, ...] | ProviderError = BOTH
    troubles: Mapping[str, str] = field(default_factory=dict)
    built_for: str = "13.0"
    pip: frozenset[str] = ALL
    loaded: frozenset[str] = frozenset({"libcuda.so.1"})
    smi: str = "590.44.01, NVIDIA H200\n"

    def platform(self) -> tuple[str, str]:
        return self.system

    def version(self, distribution: str) -> str:
        return self.versions.get(distribution, "9.9")

    def owners(self, module: str) -> tuple[str, ...]:
        return self.wheels

    def import_error(self, module: str) -> str:
        return self.errors.get(module, "")

    def runtime(self) -> tuple[tuple[str, ...], str]:
        if isinstance(self.compiled, ProviderError):
            raise self.compiled
        return self.compiled, self.built_for

    def trouble_with(self, provider: str) -> str:
        return self.troubles.get(provider, "")

    def from_pip(self, file: str) -> str:
        return f"/site/nvidia/lib/{file}" if file in self.pip else ""

    def loads(self, file: str) -> bool:
        return file in self.loaded

    def nvidia_smi(self) -> str:
        return self.smi


FAILS = {"CUDAExecutionProvider": "CUDA does not start"}


def test_where_all_works_nothing_is_wrong() -> None:
    found = examine(Fake())
    assert found.ok
    assert found.problems == ()
    assert [each.usable for each in found.providers] == [True, True]
    assert found.driver.devices == ("NVIDIA H200",)
    assert {library.file for library in found.libraries} == ALL
    text = text_of(doctor_document(found), Screen(None))
    assert "590.44.01, NVIDIA H200" in text


BROKEN = "pip install --force-reinstall onnxruntime-gpu"


@each_row(
    ("fake", "ok", "cure"),
    [
        # Two wheels, also where there is no CUDA; a hollow one, none, and one that computes wrong.
        (Fake(wheels=("onnxruntime", "onnxruntime-gpu")), False,
         "pip uninstall -y onnxruntime onnxruntime-gpu && pip install onnxruntime-gpu"),
        (Fake(system=("Darwin", "arm64"), wheels=("onnxruntime", "onnxruntime-x")), False,
         "pip uninstall -y onnxruntime onnxruntime-x && pip install onnxruntime"),
        (Fake(compiled=ProviderError("no attribute")), False, BROKEN),
        (Fake(wheels=(), compiled=ProviderError("No module named 'onnxruntime'")), False, BROKEN),
        (Fake(troubles={"CPUExecutionProvider": "CPU computes Relu wrong"}), False, BROKEN),
        (Fake(compiled=("CUDAExecutionProvider",)), False, BROKEN),
        # Packages that do not fit, or are not there.
        (Fake(errors={"onnx": "TypeError: Descriptors cannot be created directly"}), False,
         "pip install --force-reinstall onnx"),
        (Fake(versions={"onnx-graphsurgeon": ""}), False, "pip install onnx-graphsurgeon"),
        # A device that cannot be used is no reason to fail: libraries, a CPU wheel, the driver.
        (Fake(troubles=FAILS, pip=ALL - {"libcudnn.so.9", "libcufft.so.12"}), True,
         "pip install 'onnxruntime-gpu[cuda,cudnn]'"),
        (Fake(compiled=BOTH[1:], wheels=("onnxruntime",), built_for=""), True,
         "pip uninstall -y onnxruntime && pip install 'onnxruntime-gpu[cuda,cudnn]'"),
        (Fake(troubles=FAILS, loaded=frozenset()), True, "--gpus all"),
        (Fake(troubles=FAILS), True, "nvidia-smi"),
        (Fake(troubles=FAILS, smi=""), True, "nvidia-smi"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_cure(fake: Fake, ok: bool, cure: str) -> None:
    found = examine(fake)
    (problem,) = found.problems
    assert (found.ok, problem.broken) == (ok, not ok)
    assert cure in problem.cure
    assert json.loads(json_of(found))["ok"] is ok
    text = text_of(doctor_document(found), Screen(None))
    assert f"{problem.what}\n  cure: {problem.cure}\n" in text
    assert ok or "works;" not in text


def test_what_is_found_where_nothing_is_wrong_or_little_is_there() -> None:
    wheels = ("onnxruntime", "onnxruntime-gpu")
    twice = examine(Fake(wheels=wheels, compiled=ProviderError("cannot be imported")))
    assert [bool(problem.cure) for problem in twice.problems] == [True, False]  # one cure
    none = examine(Fake(troubles=FAILS, pip=frozenset(), smi="", loaded=frozenset()))
    assert (none.ok, none.problems) == (True, ())  # there is no driver
    text = text_of(doctor_document(none), Screen(None))
    assert text.count("  missing\n") == len(ALL)
    found = examine(Fake(pip=frozenset(), loaded=ALL))
    assert {library.place for library in found.libraries} == {"system"}
    for cuda, count in (("", 0), ("11.8", 0), ("12.8", len(ALL))):  # older ones are not known
        assert len(examine(Fake(built_for=cuda)).libraries) == count
    with mock.patch.object(Fake, "runtime", side_effect=AssertionError):
        assert examine(Fake(errors={"numpy": "ImportError: no"})).providers == ()


def test_no_text_of_the_machine_reaches_the_terminal_as_control_code() -> None:
    wild = "a\nb\x1b[2J"
    found = examine(Fake(troubles=dict.fromkeys(BOTH, wild), smi=f"1, {wild}", pip=frozenset()))
    told = doctor_document(found)
    plain, painted = (text_of(told, Screen(None, is_painted=each)) for each in (False, True))
    assert all(line.isprintable() for line in plain.splitlines())
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == plain


@pytest.mark.parametrize("system", ["Linux", "Windows"])
def test_the_libraries_are_those_that_onnxruntime_loads(system: str) -> None:
    import onnxruntime

    cuda = getattr(onnxruntime, "cuda_version", "")
    if not cuda or not hasattr(onnxruntime, "_get_nvidia_dll_paths"):
        pytest.skip("this onnxruntime is built without CUDA, or keeps its list elsewhere")
    theirs = {path[-1] for path in onnxruntime._get_nvidia_dll_paths(system == "Windows")}
    assert set(needed(cuda, system).values()) <= theirs


def test_this_machine() -> None:
    """Its own packages, and a provider for each that onnxruntime has."""
    found = examine()
    assert found.ok, found.problems
    versions = {package.name: package.version for package in found.packages}
    for name in ("numpy", "onnx", "onnx-graphsurgeon", "protobuf"):
        assert versions[name] == importlib.metadata.version(name)
    assert any(provider.name == "CPUExecutionProvider" for provider in found.providers)


def test_a_real_library_is_found_where_pip_or_the_system_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "nvidia" / "cu13" / "lib" / "libcudart.so.13"
    file.parent.mkdir(parents=True)
    file.touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert Machine().from_pip("libcudart.so.13") == str(file)
    assert Machine().from_pip("libcudart.so.1") == ""
    assert not Machine().loads("libno-such-library.so.1")


def test_the_wheels_of_one_folder_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("onnxruntime", "onnxruntime-gpu"):
        folder = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "top_level.txt").write_text("onnxruntime\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert Machine().owners("onnxruntime") == ("onnxruntime", "onnxruntime-gpu")
    assert Machine().owners("numpy") == ()


def test_the_command_prints_one_report_and_nothing_else() -> None:
    """In a process of its own: onnxruntime and the loader write to the streams themselves."""
    for form in ("text", "json"):
        done = subprocess.run(
            [sys.executable, "-m", "onnxpad", "doctor", "--format", form],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert (document["command"], document["exit_code"], document["ok"]) == ("doctor", 0, True)


class Hollow:
    """A module `onnxruntime` that is asked to find its CUDA libraries."""

    def __init__(self) -> None:
        self.asked = 0

    def preload_dlls(self) -> None:
        self.asked += 1

    def get_available_providers(self) -> list[str]:
        return list(BOTH)

    get_all_providers = get_available_providers

    SessionOptions = GraphOptimizationLevel = mock.MagicMock()


@pytest.mark.usefixtures("run_here")
def test_libraries_of_pip_are_loaded_for_cuda_only(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Hollow()
    monkeypatch.setattr(native, "imported", lambda: there)
    for provider, asked in [("CPUExecutionProvider", 0), ("CUDAExecutionProvider", 1)]:
        with pytest.raises(EngineError):  # this runtime has no sessions
            sessions.open_session(b"", provider=provider)
        assert there.asked == asked


@pytest.mark.usefixtures("run_here")
def test_a_hollow_onnxruntime_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pip leaves when one of two wheels is uninstalled: a folder without its modules."""
    (tmp_path / "onnxruntime").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    native.imported.cache_clear()
    with pytest.raises(ProviderError):
        pool.ask(Runtime.about, native.available_providers)
    monkeypatch.undo()
    native.imported.cache_clear()
