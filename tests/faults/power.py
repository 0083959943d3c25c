"""`python -m tests.faults.power --sample 400 --seed N` measures which tests notice faults.

Each fault is planted in a process that has collected all tests, and shown to cheap tests that
execute its function, of many to some by chance. It counts one, shared by all that notice it. The
share that the tests of a file have of all faults, for a second of their time, is written to
`tests/record/power.json`: by that `python -m tests.record` chooses among what costs alike.
"""

import argparse
import json
import os
import random
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NoReturn

import pytest

from tests import natural, run_command
from tests.changed import functions_at
from tests.faults.draw import Fault, product, sample
from tests.faults.plant import READ_THE_TEXT, bounded
from tests.faults.within import plant
from tests.forked import begin
from tests.record.costs import DEAR, POWER, file_of
from tests.record.executed import Executed
from tests.support import ROOT

TRIED: Final = 9000.0
"""CPU milliseconds of tests that are shown one fault."""

_STUCK: Final = 40.0  # seconds after which a test that has not ended has noticed
_SURE: Final = 0.3  # CPU seconds of tests by which a file's power is drawn to that of all


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.power",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sample", type=natural, default=400, metavar="N", help="how many to draw")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--jobs", type=natural, default=2, help="processes at a time")
    options = parser.parse_args(arguments)
    showing = Showing(options.sample, options.seed, options.jobs)
    pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", str(ROOT)], plugins=[showing])
    executed = Executed.read()
    costs = dict(zip(executed.tests, executed.costs, strict=True))
    noticed = [killers for killers in showing.killers if killers]
    POWER.write_text(json.dumps(powers(costs, noticed), indent=0) + "\n")
    print(f"{len(noticed)} of {len(showing.killers)} faults are noticed (seed {options.seed})")
    return 0


def powers(costs: Mapping[str, float], noticed: Sequence[Sequence[str]]) -> dict[str, float]:
    """For each file the share of faults that its cheap tests notice, for a second of their time.

    Args:
        costs: CPU milliseconds of each test.
        noticed: The tests that notice each fault.
    """
    shares: defaultdict[str, float] = defaultdict(float)
    seconds: defaultdict[str, float] = defaultdict(float)
    for test, cost in costs.items():
        if cost <= DEAR:
            seconds[file_of(test)] += cost / 1000
    for tests in noticed:
        for test in tests:
            shares[file_of(test)] += 1 / len(tests)
    mean = sum(shares.values()) / (sum(seconds.values()) or 1.0)
    return {
        file: float(f"{(shares[file] + mean * _SURE) / (spent + _SURE) / (mean or 1.0):.2g}")
        for file, spent in sorted(seconds.items())
    }


@dataclass(slots=True)
class Shown:
    """A process that shows a fault to tests: what of its messages has arrived, and when the last.

    A message is a line: `+` and the index of a test that begins, `-` and that of one that failed.
    """

    pid: int
    heard: float
    text: bytes = b""
    at: int | None = None
    killers: set[int] = field(default_factory=set)


class Showing:
    """A pytest plugin that, in place of running the tests once, shows them faults."""

    def __init__(self, count: int, seed: int, jobs: int) -> None:
        self.killers: list[list[str]] = []
        self._count, self._seed, self._jobs = count, seed, jobs

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Shows each fault to tests that execute its function."""
        chance = random.Random(self._seed)
        executed = Executed.read()
        items = {item.nodeid: index for index, item in enumerate(session.items)}
        waiting: list[tuple[Fault, list[int]]] = []
        names = cache(lambda path: functions_at((ROOT / path).read_text(encoding="utf-8")))
        rows = {function: row for row, function in enumerate(executed.functions)}
        for fault in sample(product(ROOT), self._count, self._seed):
            row = rows.get(f"{fault.path}::{names(fault.path).get(fault.line)}")
            if row is not None:
                left, tests = TRIED, executed.table[row].nonzero()[0].tolist()
                chance.shuffle(tests)
                shown = []
                for test in tests:
                    node, cost = executed.tests[test], executed.costs[test]
                    if cost <= DEAR < left and node in items and node not in READ_THE_TEXT:
                        shown.append(items[node])
                        left -= cost
                waiting.append((fault, sorted(shown)))
        processes: dict[int, Shown] = {}
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined] # all share it
        while waiting or processes:
            while waiting and len(processes) < self._jobs:
                reading, writing = os.pipe()
                if not (pid := os.fork()):
                    os.close(reading)
                    _show(session, *waiting[-1], writing)
                os.close(writing)
                processes[reading] = Shown(pid, time.monotonic())
                waiting.pop()
            for pipe in select.select(list(processes), [], [], 1.0)[0]:
                self._hear(session, processes, pipe, os.read(pipe, 1 << 16))
            for pipe, shown_to in list(processes.items()):
                if time.monotonic() - shown_to.heard > _STUCK:
                    self._hear(session, processes, pipe, b"")
        return True

    def _hear(
        self, session: pytest.Session, processes: dict[int, Shown], pipe: int, data: bytes
    ) -> None:
        """Notes what a process says; without data it has ended, or does not."""
        process = processes[pipe]
        process.heard = time.monotonic()
        *lines, process.text = (process.text + data).split(b"\n")
        for line in lines:
            process.at = int(line[1:])
            if line.startswith(b"-"):
                process.killers.add(process.at)
        if data:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if os.waitpid(process.pid, 0)[1] and process.at is not None:
            process.killers.add(process.at)  # the test in which it ended
        os.close(pipe)
        del processes[pipe]
        self.killers.append(sorted(session.items[test].nodeid for test in process.killers))


class _Noting:
    """Notes the tests of this process that fail."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self.at = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self._pipe, b"-%d\n" % self.at)


def _show(session: pytest.Session, fault: Fault, tests: Sequence[int], pipe: int) -> NoReturn:
    """Plants a fault in this forked process, runs tests, and ends it."""
    status = 1
    try:
        os.setpgid(0, 0)
        bounded()
        noting = _Noting(pipe)
        begin(session.config, noting)
        for place, test in enumerate(tests if plant(fault) else ()):
            noting.at = test
            os.write(pipe, b"+%d\n" % test)
            session.config.hook.pytest_runtest_protocol(
                item=session.items[test],
                nextitem=session.items[tests[place + 1]] if place + 1 < len(tests) else None,
            )
        status = 0
    finally:
        sys.stdout.flush()
        os._exit(status)


if __name__ == "__main__":
    run_command(main)
