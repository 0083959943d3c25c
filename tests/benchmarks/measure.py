"""CPU time and memory of whole processes. Needs `os.wait4`: Linux or macOS."""

import os
import resource
import signal
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Run:
    """One process.

    Attributes:
        cpu: Seconds in user and system mode, of all its threads and children.
        peak: Most memory it held, in MB.
        code: Its exit code; negative for the signal that ended it.
        output: What it wrote, stdout and stderr together.
    """

    cpu: float
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
        """The least CPU time: whatever else the machine did only adds to it."""
        return min(run.cpu for run in self.runs)

    @property
    def median(self) -> float:
        """The median CPU time, which tells how noisy the machine was."""
        return statistics.median(run.cpu for run in self.runs)

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


def run(arguments: Sequence[str], cache: Path, limit: int) -> Run:
    """Runs Python once, from the repository's root."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(cache), "NO_COLOR": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    output = cache.with_name("output.txt")
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1)),
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    # Linux counts in KiB, macOS in bytes.
    peak = usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)
    text = output.read_text(encoding="utf-8", errors="replace")
    return Run(usage.ru_utime + usage.ru_stime, peak, process.returncode, text)
