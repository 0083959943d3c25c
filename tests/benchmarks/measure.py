"""CPU time and memory of whole processes. Needs `os.wait4`: Linux or macOS."""

import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Run:
    """One process.

    Attributes:
        cpu: Seconds in user and system mode, of all its threads and children.
        wall: Seconds from its start to its end.
        peak: Most memory it held, in MB.
        code: Its exit code; negative for the signal that ended it.
        output: What it wrote, stdout and stderr together.
    """

    cpu: float
    wall: float
    peak: float
    code: int
    output: str


@dataclass(frozen=True, slots=True)
class Figure:
    """What several runs of one command showed.

    Attributes:
        runs: All of them; of a command that fails only one.
        failure: How it fails, empty where it does not.
    """

    runs: tuple[Run, ...]
    failure: str = ""

    @property
    def cpu(self) -> float:
        """The median CPU time."""
        return statistics.median(run.cpu for run in self.runs)

    @property
    def least(self) -> float:
        """The least CPU time: where it is far from the median, something else was running."""
        return min(run.cpu for run in self.runs)

    @property
    def wall(self) -> float:
        """The median time from start to end."""
        return statistics.median(run.wall for run in self.runs)

    @property
    def peak(self) -> float:
        """The most memory of any run."""
        return max(run.peak for run in self.runs)


def measure(
    arguments: Sequence[str], *, cache: Path, times: int, limit: int, accepted: Sequence[int]
) -> Figure:
    """What Python costs with these arguments, after one run that is not counted.

    That one leaves byte code and files in their caches. It is the only one where it fails: ends
    with a code that is not accepted, or takes more than `limit` CPU seconds.
    """
    first = run(arguments, cache, limit)
    if first.code == -signal.SIGXCPU:
        return Figure((first,), f"over {limit} s")
    if first.code not in accepted:
        return Figure((first,), f"fails ({first.code})")
    return Figure(tuple(run(arguments, cache, limit) for _ in range(times)))


def environment(cache: Path) -> dict[str, str]:
    """The variables of every process: one thread, no colours, byte code in a cache of its own.

    Without a number, the threads that numpy starts at import spin, and count as CPU time of tools
    that multiply nothing.
    """
    variables = {**os.environ, "PYTHONPYCACHEPREFIX": str(cache), "NO_COLOR": "1", **THREADS}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables


def run(arguments: Sequence[str], cache: Path, limit: int) -> Run:
    """Runs Python once, from the repository's root."""
    output = cache.with_name("output.txt")
    begin = time.perf_counter()
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment(cache),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1)),
        )
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    # Linux counts in KiB, macOS in bytes.
    peak = usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)
    text = output.read_text(encoding="utf-8", errors="replace")
    return Run(usage.ru_utime + usage.ru_stime, wall, peak, process.returncode, text)
