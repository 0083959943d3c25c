"""Looks for faults with fresh seeds: `python -m tests.soak --minutes 60 [--seed N] [--only NAMES]`.

Random models, damaged models, tests of hypothesis and ports for `match` take turns.
What is found is told at once, as small as it gets, with the command that shows it again; the end
says what was covered. The exit code is 1 if anything was found.
"""

import argparse
import contextlib
import json
import os
import random
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
from tests.support import ROOT

APART: Final = 100_000
"""How far the seeds of one turn are from those of the next."""
LINGERS: Final = 90.0
"""Seconds that a turn may take beyond its own, to make a find smaller: then it hangs."""
GRACE: Final = 15.0
"""The same where all the time is over."""
LEAST: Final = 0.26
"""What share of the `Pad`s of random models must go."""
ENOUGH: Final = 500
"""Of how many `Pad`s their share tells anything."""


@dataclass
class Campaign:
    """What came of one campaign so far: its turns, their seconds, and what they reached, counted.

    The first word of what was reached says of what kind it is.
    """

    name: str
    turns: int = 0
    seconds: float = 0.0
    reached: Counter[str] = field(default_factory=Counter)

    def report(self) -> None:
        """Prints it."""
        print(f"{self.name}: {self.turns} turns, {self.seconds:.0f} s")
        kinds: dict[str, Counter[str]] = {}
        for key, count in self.reached.items():
            kind, _, item = key.partition(" ")
            kinds.setdefault(kind, Counter())[item] += count
        plain = {kind: items.pop("") for kind, items in kinds.items() if "" in items}
        print("  " + ", ".join(f"{count} {kind}" for kind, count in plain.items()))
        for kind, items in kinds.items():
            if items:
                told = ", ".join(f"{item} {count}" for item, count in items.most_common())
                print(f"  {len(items)} {kind}: {told}")


@dataclass
class Soak:
    """A run: the first seed, when it ends by the monotonic clock, seconds of a turn, and what came.

    `found` and `excused` are what is wrong, by kind, and what onnxruntime alone does.
    """

    seed: int
    end: float
    turn: float
    out: Path
    campaigns: Sequence[Campaign]
    found: Counter[str] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)
    stopped: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def work(self) -> None:
        """Has one campaign after the other take a turn, the one with the least time first."""
        while not self.stopped.is_set() and time.monotonic() < self.end:
            with self.lock:
                chosen = min(self.campaigns, key=lambda each: each.seconds)
                number, begun = chosen.turns, time.monotonic()
                seconds = min(self.turn, max(self.end - begun, 0.5))
                chosen.turns += 1
                chosen.seconds += seconds  # others choose meanwhile
            Taken(self, chosen, number, seconds).take()
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

    def wrong(self, kind: str, told: str, again: str) -> None:
        """Tells a find, at once, with the command that shows it."""
        with self.lock:
            self.found[kind] += 1
            if self.found[kind] == 1:
                print(f"FOUND: {told}\n  again: python -m tests.{again}", flush=True)

    def report(self) -> int:
        """Prints what was covered and found; the exit code."""
        for campaign in self.campaigns:
            removed, left = campaign.reached["removed"], campaign.reached["left"]
            if removed + left >= ENOUGH and removed < LEAST * (removed + left):
                told = f"{removed} of {removed + left} Pads removed, which is less than {LEAST:.0%}"
                self.wrong("less removed", told, f"soak --seed {self.seed} --only {campaign.name}")
            campaign.report()
        for what, kinds in (("onnxruntime alone", self.excused), ("found", self.found)):
            print(f"{what}: {len(kinds)}")
            for kind, count in kinds.most_common():
                print(f"  {count:6} {kind}")
        return int(bool(self.found))


class Taken:
    """One turn, in a process with all its children."""

    def __init__(self, soak: Soak, campaign: Campaign, number: int, seconds: float) -> None:
        self.soak, self.campaign, self.number, self.seconds = soak, campaign, number, seconds
        step = 1 if campaign.name == "hypothesis" else APART
        self.seed = soak.seed + number * step
        self.runs, self.error = "", ""

    @property
    def again(self) -> str:
        return f"soak.turn {self.campaign.name} --seed {self.seed} --count 1"

    def take(self) -> None:
        """Runs it; where it dies, what it died of is asked once more, in a process of its own."""
        status = self.run()
        if self.soak.stopped.is_set() or not status:
            return
        told = f"{self.runs} ended the process with {status}"
        if self.runs in HARMLESS:
            self.soak.excused[told] += 1
        elif status > 0:
            self.soak.wrong(told, f"{told}: {self.error}", self.again)
        else:
            before = self.soak.found.total()
            self.run("--count=1", "--apart")
            if self.soak.found.total() == before:
                self.soak.wrong(told, f"{told}, and not again", self.again)

    def run(self, *more: str) -> int:
        """The exit code of the turn; everything it tells is heard."""
        command = ["-m", "tests.soak.turn", self.campaign.name, f"--seconds={self.seconds}"]
        known = json.dumps(list(self.soak.found))
        given = [f"--seed={self.seed}", f"--known={known}", f"--out={self.soak.out}", *more]
        with self.started([*command, *given]) as process:
            assert process.stdout is not None
            for line in process.stdout:
                self.heard(json.loads(line))
        return process.returncode

    def heard(self, line: dict[str, Any]) -> None:
        if "start" in line:
            self.seed, self.runs = line["start"], ""
        elif "next" in line:
            self.runs = line["next"]
        elif "covered" in line:
            self.campaign.reached.update(line["covered"])
        elif "again" in line:
            self.soak.found[line["again"]] += 1
        else:
            found, again = line["found"], self.again
            if self.campaign.name in ("random", "malformed"):
                again += f" --model {found['file']}"
            self.soak.wrong(found["kind"], f"{found['told']} ({found['file']})", again)

    @contextlib.contextmanager
    def started(self, command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
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
            late = threading.Timer(self.seconds + LINGERS, self.hangs, [process])
            if self.campaign.name != "hypothesis":  # whose single tests may take long
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

    def hangs(self, process: subprocess.Popen[str]) -> None:
        told = f"{self.runs} never ends"
        self.soak.wrong(told, told, self.again)
        os.killpg(process.pid, signal.SIGKILL)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=duration, default=60, help="how long (60)")
    parser.add_argument("--seed", type=int, help="the first seed, for the same again")
    parser.add_argument("--only", default="", help=f"some of {','.join(CAMPAIGNS)}")
    parser.add_argument("--jobs", type=natural, default=os.cpu_count() or 1, help="turns at a time")
    parser.add_argument("--turn", type=duration, default=60, help="seconds of one turn (60)")
    parser.add_argument("--out", type=Path, help="a folder for what is found")
    options = parser.parse_args(arguments)
    names = options.only.split(",") if options.only else [*CAMPAIGNS]
    if unknown := [name for name in names if name not in CAMPAIGNS]:
        parser.error(f"--only {unknown[0]}: it is none of {', '.join(CAMPAIGNS)}")
    out = options.out or Path(tempfile.gettempdir()) / f"soak-{os.getpid()}"
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out: {error}")
    whole, seed = 60 * options.minutes, options.seed
    soak = Soak(
        random.SystemRandom().randrange(10**9) if seed is None else seed,
        time.monotonic() + whole,
        min(options.turn, whole / 2),
        out.resolve(),
        [Campaign(name) for name in names],
    )
    told = f"{options.minutes:g} minutes, {options.jobs} at a time: {', '.join(names)}"
    print(f"seed {soak.seed}, {told}", flush=True)
    workers = [threading.Thread(target=soak.work) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    try:
        while time.monotonic() < soak.end + GRACE and any(each.is_alive() for each in workers):
            time.sleep(0.05)  # a `join` that Ctrl-C interrupts may take its thread for ended
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    soak.stop()
    for worker in workers:
        worker.join()
    return soak.report()


if __name__ == "__main__":
    run_command(main)
