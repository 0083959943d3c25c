"""`pytest -n` with processes forked from the one that collected, where the system can fork.

pytest-xdist starts an interpreter for each process, which imports and collects all tests again, and
hands each test out by a message: that is more than half the CPU time of the fast tier. Elsewhere,
and for any other mode than `--dist loadfile`, it is what runs the tests.
"""

import atexit
import gc
import os
import pickle
import re
import selectors
import signal
import struct
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

import pytest

from tests.record.costs import cost_if_slow

BEGUN, REPORT, PASSED = range(3)
"""What a message says: a test is begun; a report; that its call passed, after so many seconds."""

_HEAD: Final = struct.Struct("<BI")  # what it is, and how long what follows
_TEST: Final = struct.Struct("<Id")  # which of the session's tests, and seconds
_UNIT: Final = struct.Struct("<H")


def takes_over(config: pytest.Config) -> bool:
    """Whether tests are to be run in forked processes: then pytest-xdist is told not to."""
    count = config.getoption("numprocesses", None)
    forked = sys.platform == "linux" and bool(count) and config.option.dist == "loadfile"
    if forked and not config.option.collectonly:
        config.option.dist, config.option.tx = "no", []
        config.pluginmanager.register(Forked(config, count))
    return forked


@dataclass(slots=True)
class Process:
    """A forked process: the test it is at, as an index, and what of a message has arrived."""

    pid: int
    pipe: int
    at: int | None = None
    begun: bytes = b""


class Forked:
    """Runs the tests of a session in forked processes, a unit of them at a time."""

    def __init__(self, config: pytest.Config, count: int) -> None:
        self._config = config
        self._count = count
        self._units: list[list[int]] = []
        self._begun = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Runs all tests, unless there are too few."""
        if session.testsfailed or len(session.items) < 2:
            return None  # pytest says what failed in collection
        self._units = units(session.items)
        # Each process reads which unit is next from one pipe, which holds them all from the start.
        queue, filled = os.pipe()
        os.write(filled, b"".join(map(_UNIT.pack, range(len(self._units)))))
        os.close(filled)
        self._config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined] # all share it
        gc.collect()
        gc.freeze()
        processes: list[Process] = []
        try:
            self._attend(session, queue, processes)
        finally:
            end(processes)
            os.close(queue)
            gc.unfreeze()
        return True

    def _attend(self, session: pytest.Session, queue: int, processes: list[Process]) -> None:
        """Starts the processes and passes their reports on until all have ended."""
        selector = selectors.DefaultSelector()

        def start(first: Sequence[int]) -> None:
            reading, writing = os.pipe()
            sys.stdout.flush()
            sys.stderr.flush()
            if not (pid := os.fork()):
                os.close(reading)
                _work(session, queue, writing, self._units, first)
            os.close(writing)
            processes.append(Process(pid, reading))
            selector.register(reading, selectors.EVENT_READ, processes[-1])

        for _ in range(min(self._count, len(self._units))):
            start(())
        while processes:
            for key, _ in selector.select():
                process = key.data
                data = os.read(process.pipe, 1 << 16)
                if data:
                    self._hear(session, process, data)
                else:
                    selector.unregister(process.pipe)
                    os.close(process.pipe)
                    processes.remove(process)
                    status = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
                    if process.at is not None:
                        died(session.items[process.at], status)
                        start(self._behind(process.at))
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
        if left := len(session.items) - self._begun:
            raise session.Interrupted(f"{left} tests were not run: a process ended before them")

    def _behind(self, test: int) -> Sequence[int]:
        """The tests of its unit that come after this one."""
        unit = next(unit for unit in self._units if test in unit)
        return unit[unit.index(test) + 1 :]

    def _hear(self, session: pytest.Session, process: Process, data: bytes) -> None:
        """Passes on what these bytes complete."""
        data = process.begun + data
        start = 0
        while len(data) - start >= _HEAD.size:
            what, size = _HEAD.unpack_from(data, start)
            end = start + _HEAD.size + size
            if len(data) < end:
                break
            self._pass_on(session, process, what, data[start + _HEAD.size : end])
            start = end
        process.begun = data[start:]

    def _pass_on(self, session: pytest.Session, process: Process, what: int, body: bytes) -> None:
        """Passes one message on."""
        hook = self._config.hook
        if what == REPORT:
            said = pickle.loads(body)
            report = hook.pytest_report_from_serializable(config=self._config, data=said)
            hook.pytest_runtest_logreport(report=report)
            return
        number, seconds = _TEST.unpack(body)
        item = session.items[number] if number < len(session.items) else None
        if what == BEGUN:
            process.at = None if item is None else number
            self._begun += item is not None
        elif item is not None:
            report = pytest.TestReport(
                item.nodeid, item.location, {}, "passed", None, "call", duration=seconds
            )
            hook.pytest_runtest_logreport(report=report)


def end(processes: Sequence[Process]) -> None:
    """Ends processes that still run, those that do not heed an interrupt by force."""
    for process in processes:
        os.kill(process.pid, signal.SIGINT)
    deadline = time.monotonic() + 5
    for process in processes:
        while not os.waitpid(process.pid, os.WNOHANG)[0]:
            if time.monotonic() > deadline:
                os.kill(process.pid, signal.SIGKILL)
            time.sleep(0.01)


def units(items: Sequence[pytest.Item]) -> list[list[int]]:
    """The tests, by index, in units that one process runs: files, the dearest of them first."""
    found: dict[str, list[int]] = {}
    for number, item in enumerate(items):
        found.setdefault(unit_of(item.nodeid), []).append(number)
    return sorted(found.values(), key=lambda unit: -sum(cost_of(items[n].nodeid) for n in unit))


def died(item: pytest.Item, status: int) -> None:
    """Reports that the process of a test has ended in it."""
    how = f"by {signal.Signals(-status).name}" if status < 0 else f"with exit code {status}"
    told = f"its process ended {how}"
    report = pytest.TestReport(item.nodeid, item.location, {}, "failed", told, "call")
    item.config.hook.pytest_runtest_logreport(report=report)


def begin(config: pytest.Config, listener: object) -> None:
    """Has a forked process report what becomes of its tests to a plugin, and to nobody else."""
    manager = config.pluginmanager
    captured = manager.getplugin("capturemanager")  # in files that are now shared
    captured.stop_global_capturing()
    captured.start_global_capturing()
    manager.unregister(name="terminalreporter")
    manager.register(listener)


class _Sender:
    """Sends what becomes of the tests of this process."""

    def __init__(self, config: pytest.Config, pipe: int) -> None:
        self._config = config
        self._pipe = pipe
        self.at = 0

    def send(self, what: int, body: bytes) -> None:
        """One message."""
        message = memoryview(_HEAD.pack(what, len(body)) + body)
        while message:
            message = message[os.write(self._pipe, message) :]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A report, in short where a test just passed."""
        if report.outcome == "passed" and not report.sections and not report.user_properties:
            if report.when == "call":
                self.send(PASSED, _TEST.pack(self.at, report.duration))
            return
        hook = self._config.hook
        said = hook.pytest_report_to_serializable(config=self._config, report=report)
        self.send(REPORT, pickle.dumps(said))


def _work(
    session: pytest.Session, queue: int, pipe: int, units: Sequence[list[int]], first: Sequence[int]
) -> NoReturn:
    """Runs tests in this forked process, and ends it: those given, then a unit at a time."""
    config = session.config
    status = 1
    try:
        sender = _Sender(config, pipe)
        begin(config, sender)

        def following() -> Sequence[int]:
            read = os.read(queue, _UNIT.size)
            return units[_UNIT.unpack(read)[0]] if read else ()

        unit = first or following()
        while unit and not (session.shouldfail or session.shouldstop):
            number, *others = unit
            sender.at = number
            sender.send(BEGUN, _TEST.pack(number, 0.0))
            # No unit is taken before this one has ended: whatever ends the process loses none.
            config.hook.pytest_runtest_protocol(
                item=session.items[number],
                nextitem=session.items[others[0]] if others else None,
            )
            unit = others or following()
        sender.send(BEGUN, _TEST.pack(len(session.items), 0.0))
        status = 0
    except KeyboardInterrupt:
        pass
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        atexit._run_exitfuncs()
        os._exit(status)


def cost_of(test: str) -> float:
    """About what a test costs, in CPU milliseconds."""
    return 4.0 + (cost_if_slow(test) or 0.0)


def unit_of(test: str) -> str:
    """The unit of a test: its file, or the exported model whose results its tests share."""
    file, _, name = test.partition("::")
    model = re.search(r"(?<=\[)\w+", name)
    return f"exported {model[0]}" if model and file.startswith("tests/exported/") else file
