"""A copy of the checkout in which a fault is planted, and its tests run."""

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.faults.draw import Fault

TIERS: Final = {"near": (), "fast": ("-m", "not slow"), "whole": ()}
"""What pytest is told to run a tier; `near` is only what is nearest to the fault."""

READ_THE_TEXT: Final = (
    "tests/test_mutations.py::test_what_is_wrong_is_noticed",
    "tests/test_mutations.py::test_each_mutant_finds_what_it_breaks",
    "tests/test_mutations.py::test_what_changes_nothing_is_accepted",
)
"""Tests that fail at any edit of some functions, for they replace a text in them: left out."""

_NO_TESTS: Final = 5  # pytest's exit code where all are deselected
_NOT_FOUND: Final = 4  # where a test that is asked for is not there any more
_DATA: Final = 8 << 30  # bytes that a process may take, for a fault that never stops taking more


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of tests ended.

    Attributes:
        passed: Whether no test failed.
        killer: The test that failed, or what else ended the run; empty if all passed.
        seconds: How long it took.
        told: The end of what pytest printed.
    """

    passed: bool
    killer: str
    seconds: float
    told: str = ""


class Copy:
    """A copy of a checkout, whose product is imported by the tests that run in it.

    Bytecode is kept in the same folder, and each edit gets another time: Python takes a file of the
    same size and second for the same.
    """

    def __init__(self, source: Path, folder: Path, workers: int) -> None:
        self.root = folder / "tree"
        self._workers = workers
        ignored = source / ".gitignore"  # what is made: environments, caches
        names = ignored.read_text(encoding="utf-8").split() if ignored.exists() else []
        unwanted = shutil.ignore_patterns(".git", *(name.strip("/") for name in names))
        shutil.copytree(source, self.root, symlinks=True, ignore=unwanted)
        self._times = itertools.count(1_000_000_000)
        self._environment = {
            **{name: value for name, value in os.environ.items() if "PYTEST" not in name},
            "PYTHONPATH": str(self.root),
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        }
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._holds()

    def _holds(self) -> None:
        """Raises unless the copy's own product is what Python imports."""
        code = "from importlib.util import find_spec; print(find_spec('onnxpad').origin)"
        command = [sys.executable, "-c", code]
        found = subprocess.run(
            command, cwd=self.root.parent, env=self._environment, capture_output=True, text=True
        ).stdout.strip()
        if not Path(found).resolve().is_relative_to(self.root.resolve()):
            raise RuntimeError(f"another product would be tested: {found}")

    @contextmanager
    def with_fault(self, fault: Fault) -> Iterator[None]:
        """The copy has the fault for as long as this lasts."""
        path = self.root / fault.path
        data = path.read_bytes()
        try:
            self._write(path, fault.planted(data))
            yield
        finally:
            self._write(path, data)

    def _write(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)
        now = next(self._times)
        os.utime(path, (now, now))

    def test(self, tier: str, where: Sequence[str], limit: float | None = None) -> Ran:
        """Runs the tests of a tier, all or those named, until the first that fails."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "--no-header"]
        command += ["-p", "no:cacheprovider", "-n", str(self._workers), "--dist", "loadfile"]
        command += [*TIERS[tier], *(f"--deselect={test}" for test in READ_THE_TEXT), *where]
        start = time.monotonic()
        with tempfile.TemporaryFile() as printed:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=bounded,
            )
            code: int | None = None
            try:
                with suppress(subprocess.TimeoutExpired):
                    code = process.wait(limit)
            finally:  # workers too, and after an interrupt
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            printed.seek(0)
            told = printed.read().decode(errors="replace")
        seconds = time.monotonic() - start
        ended = killer(code, told, named=bool(where))
        return Ran(not ended, ended, seconds, told[-2000:])


def killer(code: int | None, told: str, *, named: bool) -> str:
    """The test that failed, or what else ended a run of pytest; empty if all passed.

    A file that cannot be imported any more gives the same code as a test that is not there, which
    is no failure where tests are named.
    """
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", told, re.MULTILINE)
    if code in (0, _NO_TESTS) or (code == _NOT_FOUND and named and failed is None):
        return ""
    other = "the time limit" if code is None else f"pytest's exit code {code}"
    return failed[1] if failed else other


def nearest(root: Path, fault: Fault) -> list[str]:
    """The tests about a fault's file, then those of the folder that mirrors its own."""
    path = Path(fault.path)
    folder = Path("tests", *path.parent.parts[path.parts[0] == "onnxpad" :])
    about = folder / f"test_{path.stem}.py"
    near = [about, folder] if folder != Path("tests") else [about]
    if path.parent.name == "passes":
        near = [Path("tests", "test_cases.py")]
    return [each.as_posix() for each in near if (root / each).exists()]


def bounded() -> None:
    """Ends a fault that takes ever more memory, with an error, before the machine does."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (_DATA, _DATA))
