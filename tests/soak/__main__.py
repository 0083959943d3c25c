"""Looks for faults with fresh seeds: `python -m tests.soak --minutes 60 [--seed N] [--only NAMES]`.

Random models, damaged models, tests of hypothesis, ports for `match` and faults by step take turns.
What is found is told at once, as small as it gets, with a test to paste; the end says what was
covered. The exit code is 1 if anything was found.
"""

import argparse
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests import duration, natural, run_command
from tests.random_models.measure import HARMLESS
from tests.soak.turn import CAMPAIGNS
from tests.steps.commands import COMMANDS
from tests.support import ROOT

NAMES: Final = (*CAMPAIGNS, "steps")
APART: Final = 100_000
"""How far the seeds of one turn are from those of the next."""
LINGERS: Final = 90.0
"""Seconds that a turn may take beyond its own, to make a find smaller: then it hangs."""
UNLIMITED: Final = ("hypothesis", "steps")
"""Campaigns whose single tests may take as long as they like, until the end."""
GRACE: Final = 15.0
"""The same where all the time is over."""
LEAST: Final = {("removed", "missed"): 0.87, ("resolved", "unresolved"): 0.55}
"""What share of the padding that could go must go: in itself, and at transposed convolutions, where
about two thirds of what onnxruntime cannot tell apart do."""
ENOUGH: Final = 500
"""Of how much padding its share tells anything."""


@dataclass
class Campaign:
    """What came of one campaign so far.

    Attributes:
        name: Which it is.
        turns: How many it had.
        seconds: How long they took, together.
        reached: What they reached, counted; the first word says of what kind it is.
        over: Whether it has nothing more to try.
    """

    name: str
    turns: int = 0
    seconds: float = 0.0
    reached: Counter[str] = field(default_factory=Counter)
    over: bool = False

    def report(self) -> None:
        """Prints it."""
        print(f"{self.name}: {self.turns} turns, {self.seconds:.0f} s")
        kinds: dict[str, Counter[str]] = {}
        for key, count in self.reached.items():
            kind, _, item = key.partition(" ")
            kinds.setdefault(kind, Counter())[item] += count
        print(
            "  " + ", ".join(f"{items['']} {kind}" for kind, items in kinds.items() if "" in items)
        )
        for kind, items in kinds.items():
            if "" not in items:
                told = ", ".join(f"{item} {count}" for item, count in items.most_common())
                print(f"  {len(items)} {kind}: {told}")


@dataclass
class Soak:
    """A run.

    Attributes:
        seed: The first seed.
        end: When to stop, as `time.monotonic` counts.
        turn: Seconds of one turn.
        out: The folder of what is found.
        campaigns: Those that take turns.
        found: What is wrong, by kind, and how often it came.
    """

    seed: int
    end: float
    turn: float
    out: Path
    campaigns: Sequence[Campaign]
    found: Counter[str] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)
    stopped: threading.Event = field(default_factory=threading.Event)
    ended: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def work(self) -> None:
        """Has campaigns take turns until the end."""
        try:
            self._work()
        finally:
            self.ended.release()

    def _work(self) -> None:
        """Has one campaign after the other, the one with the least time first."""
        while not self.stopped.is_set() and time.monotonic() < self.end:
            with self.lock:
                waiting = [each for each in self.campaigns if not each.over]
                if not waiting:
                    return
                chosen = min(waiting, key=lambda each: each.seconds)
                number, begun = chosen.turns, time.monotonic()
                seconds = min(self.turn, max(self.end - begun, 0.5))
                chosen.turns += 1
                chosen.seconds += seconds  # others choose meanwhile
                chosen.over = chosen.name == "steps" and chosen.turns == len(COMMANDS)
            _Taken(self, chosen, number, seconds).take()
            with self.lock:
                chosen.seconds += time.monotonic() - begun - seconds

    def stop(self) -> None:
        """Ends what runs, its children too."""
        self.stopped.set()
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in list(self.running):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
            until = time.monotonic() + 2
            while self.running and time.monotonic() < until:
                time.sleep(0.05)

    def wrong(self, kind: str, told: str, by: str, text: str = "", test: str = "") -> None:
        """Tells a find, at once."""
        with self.lock:
            self.found[kind] += 1
            if self.found[kind] > 1:
                return
            self.out.mkdir(parents=True, exist_ok=True)
            print(f"FOUND by {by}: {told}")
            if test:
                path = self.out / f"test_found_{len(self.found)}.py"
                path.write_text(test, encoding="utf-8")
                print(f"  {path}\n\n{text.rstrip()}\n\n{test}", flush=True)
            else:
                print(f"  again: python -m tests.soak {by}", flush=True)

    def report(self) -> int:
        """Prints what was covered and found; the exit code."""
        for campaign in self.campaigns:
            for (gone, stays), least in LEAST.items():
                went, missed = campaign.reached[gone], campaign.reached[stays]
                if went + missed and went < least * (went + missed):
                    told = f"{went} of {went + missed} {gone}, which is less than {least:.0%}"
                    if went + missed >= ENOUGH:
                        self.wrong(f"less {gone}", told, f"--only {campaign.name}")
            campaign.report()
        for what, kinds in (("onnxruntime alone", self.excused), ("found", self.found)):
            print(f"{what}: {len(kinds)}")
            for kind, count in kinds.most_common():
                print(f"  {count:6} {kind}")
        return int(bool(self.found))


class _Taken:
    """One turn, in a process with all its children."""

    def __init__(self, soak: Soak, campaign: Campaign, number: int, seconds: float) -> None:
        self.soak, self.campaign, self.number, self.seconds = soak, campaign, number, seconds
        step = 1 if campaign.name == "hypothesis" else APART
        self.seed = soak.seed + number * step
        self.asked, self.runs = "", ""

    def take(self) -> None:
        """Runs it; where it dies, what it died of is asked once more, in a process of its own."""
        if self.campaign.name == "steps":
            self._steps()
            return
        status = self._run([f"--seed={self.seed}"])
        if self.soak.stopped.is_set() or not status:
            return
        by = f"--only {self.campaign.name} --seed {self.seed}"
        if self.runs in HARMLESS:
            self.soak.excused[f"{self.runs} ended the process with {status}"] += 1
        elif self.campaign.name in ("random", "malformed") and status < 0:
            before = self.soak.found.total()
            self._run([f"--seed={self.seed}", "--count=1", "--apart"])
            if self.soak.found.total() == before:
                told = f"{self.runs or self.asked} ended the process with {status}, and not again"
                self.soak.wrong(told, told, by)
        else:
            told = f"{self.asked} ended with {status}: {self.error}"
            self.soak.wrong(told, told, by)

    def _run(self, more: Sequence[str]) -> int:
        command = ["-m", "tests.soak.turn", self.campaign.name, f"--seconds={self.seconds}"]
        known = json.dumps(list(self.soak.found))
        with self._started([*command, f"--known={known}", *more]) as process:
            assert process.stdout is not None
            for line in process.stdout:
                self._heard(json.loads(line))
        return process.returncode

    @contextlib.contextmanager
    def _started(self, command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
        """A process, which is ended with its children where it takes too long."""
        environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [sys.executable, *command],
                stdout=subprocess.PIPE,
                stderr=errors,
                encoding="utf-8",
                errors="backslashreplace",  # names in damaged models are any bytes
                cwd=ROOT,
                env=environment,
                start_new_session=True,
            )
            late = threading.Timer(self.seconds + LINGERS, self._late, [process])
            if self.campaign.name not in UNLIMITED:
                late.start()
            self.soak.running.append(process)
            if self.soak.stopped.is_set():  # before it was in the list
                os.killpg(process.pid, signal.SIGKILL)
            try:
                with process:
                    yield process
            finally:
                late.cancel()
                self.soak.running.remove(process)
                errors.seek(0)
                self.error = (errors.read().strip().splitlines() or [""])[-1][:300]

    def _late(self, process: subprocess.Popen[str]) -> None:
        told = f"{self.runs or self.asked} never ends"
        self.soak.wrong(told, told, f"--only {self.campaign.name} --seed {self.seed}")
        os.killpg(process.pid, signal.SIGKILL)

    def _heard(self, line: dict[str, Any]) -> None:
        if "start" in line:
            self.seed, self.asked, self.runs = line["start"], line["of"], ""
        elif "next" in line:
            self.runs = line["next"]
        elif "covered" in line:
            self.campaign.reached.update(line["covered"])
        elif "again" in line:
            self.soak.found[line["again"]] += 1
        elif "found" in line:
            found = line["found"]
            told = found["told"] + ("" if found["fails"] else " (the test does not show it)")
            by = f"--only {self.campaign.name} --seed {found['seed']}"
            self.soak.wrong(found["kind"], told, by, found["text"], found["test"])

    def _steps(self) -> None:
        """All faults at all steps of one command, which needs no seed."""
        name = [*COMMANDS][self.number]
        with self._started(["-m", "tests.steps", "--only", name]) as process:
            assert process.stdout is not None
            lines = [line.rstrip() for line in process.stdout]
        if self.soak.stopped.is_set():
            return
        total = re.fullmatch(r"in all (\d+), \d+ problems", lines[-1] if lines else "")
        tries = int(total[1]) if total else 0
        self.campaign.reached.update({"tries": tries, f"commands {name}": 1})
        for told in [line.strip() for line in lines if line.startswith("  ")]:
            self.soak.wrong(told, told, "--only steps")
        if not tries:
            told = f"{name} ended with {process.returncode}: {self.error}"
            self.soak.wrong(name, told, "--only steps")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=duration, default=60, help="how long (60)")
    parser.add_argument("--seed", type=int, help="the first seed, for the same again")
    parser.add_argument("--only", default="", help=f"some of {','.join(NAMES)}")
    parser.add_argument("--jobs", type=natural, default=os.cpu_count() or 1, help="turns at a time")
    parser.add_argument("--turn", type=duration, default=60, help="seconds of one turn (60)")
    parser.add_argument("--out", type=Path, help="a folder for the tests of what is found")
    options = parser.parse_args(arguments)
    names = options.only.split(",") if options.only else NAMES
    if unknown := [name for name in names if name not in NAMES]:
        parser.error(f"--only {unknown[0]}: it is none of {', '.join(NAMES)}")
    if options.out:
        try:
            options.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--out: {error}")
    whole = 60 * options.minutes
    soak = Soak(
        random.SystemRandom().randrange(10**9) if options.seed is None else options.seed,
        time.monotonic() + whole,
        min(options.turn, whole / 2),
        options.out or Path(tempfile.gettempdir()) / f"soak-{os.getpid()}",
        [Campaign(name) for name in names],
    )
    told = f"{options.minutes:g} minutes, {options.jobs} at a time: {', '.join(names)}"
    print(f"seed {soak.seed}, {told}", flush=True)
    workers = [threading.Thread(target=soak.work) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    try:
        for _ in workers:  # a `join` that Ctrl-C interrupts may take its thread for ended
            soak.ended.acquire(timeout=max(soak.end + GRACE - time.monotonic(), 0))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    soak.stop()
    for worker in workers:
        worker.join()
    return soak.report()


if __name__ == "__main__":
    run_command(main)
