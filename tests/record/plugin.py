"""A pytest plugin that records what each test costs and which blocks of the package it executes."""

import builtins
import json
import mmap
import os
import resource
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

MARKS: Final = "ONNXPAD_TESTS_MARKS"
"""The environment variable that names the file with a byte for each block."""

FOLDER: Final = "ONNXPAD_TESTS_RECORD"
"""The environment variable that names the folder where each process leaves its record."""

BLOCKS: Final = 1 << 16
"""The bytes of that file: more than the package has blocks."""


class Recorder:
    """Gives the tests of each process of pytest a file of their own to note their blocks in.

    It has to be there before the package is imported.
    """

    def __init__(self, folder: Path) -> None:
        """Begins an empty record in this folder."""
        self._folder = folder
        self._begin()

    def _begin(self) -> None:
        """Begins the record of this process."""
        self._process = os.getpid()
        self._written = self._folder / f"{self._process}.jsonl"
        path = self._folder / f"{self._process}.marks"
        path.write_bytes(bytes(BLOCKS))
        os.environ[MARKS] = str(path)
        with path.open("r+b") as file:
            self._marks = mmap.mmap(file.fileno(), 0)
        if hasattr(builtins, "__marks__"):  # it was forked from one that had imported the package
            builtins.__marks__ = self._marks

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Records one test, its fixtures included."""
        if self._process != os.getpid():
            self._begin()
        self._marks[:] = bytes(BLOCKS)
        before = _cpu_seconds()
        answer = yield
        spent = _cpu_seconds() - before
        blocks = [index for index, byte in enumerate(self._marks[:]) if byte]
        with self._written.open("a") as file:
            file.write(json.dumps([item.nodeid, round(1000 * spent, 2), blocks]) + "\n")
        return answer


def _cpu_seconds() -> float:
    """What this process and all it started have used, those that are alive included."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = time.process_time() + ended.ru_utime + ended.ru_stime
    for process in _started("self"):
        with suppress(OSError):  # it may have ended meanwhile
            used += time.clock_gettime(~process << 3 | 2)  # as clock_getcpuclockid makes its clock
            # A server's own children have ended, and it waited for them: fields 16 and 17.
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            used += (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    return used


def _started(process: str) -> Iterator[int]:
    """The processes that this one has started, and those that they started."""
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield int(child)
                yield from _started(child)
    except OSError:
        return


def pytest_configure(config: pytest.Config) -> None:
    """Records in the processes that run tests."""
    if folder := os.environ.get(FOLDER):
        config.pluginmanager.register(Recorder(Path(folder)))
