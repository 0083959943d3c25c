"""Cases run in workers of one tree, and records of what came of them."""

import gzip
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.outcomes.cases import Case

Facts: TypeAlias = dict[str, Any]
"""What came of a case, by kind of fact."""

LATE = 300.0
"""Seconds after which a case is given up."""

_MOST: Final = 400
"""Cases of one process."""


class Worker:
    """A process that runs cases with the onnxpad of a tree; another follows where it ends."""

    def __init__(self, tree: Path) -> None:
        self._tree, self._left = tree.resolve(), 0
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, case: Case, folder: Path | None = None) -> Facts:
        """The outcome of a case; in a folder that is kept, if one is given."""
        if not self._left:
            self.close()
            self._start()
        self._left -= 1
        job = {"words": case.words, "files": {k: str(v) for k, v in case.files.items()}}
        facts = self._answer(json.dumps(job | ({"folder": str(folder)} if folder else {})))
        if "exit" not in facts:
            self.close()
        return facts

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("worker.py"))],
            env=os.environ | {"PYTHONPATH": str(self._tree)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        self._left = _MOST
        if self._answer("").get("tree") != str(self._tree):
            self.close()
            raise ValueError(f"{self._tree} has no onnxpad that runs")

    def _answer(self, line: str) -> Facts:
        process, text = self._process, b""
        assert process and process.stdin and process.stdout  # noqa: PT018
        with suppress(BrokenPipeError):
            process.stdin.write(f"{line}\n".encode() if line else b"")
        while not text.endswith(b"\n"):
            if not select.select([process.stdout], [], [], LATE if line else 120)[0]:
                return {"late": True}
            text += (more := process.stdout.read(1 << 20))
            if not more:
                return {"crash": process.wait()}
        return dict(json.loads(text))

    def close(self) -> None:
        """Ends the process with all that it has started."""
        process, self._process, self._left = self._process, None, 0
        if process:
            with process, suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def run(tree: Path, cases: Sequence[Case], jobs: int) -> dict[str, Facts]:
    """The outcomes of all cases in a tree, by their digests."""
    waiting, found, is_over = iter(cases), dict[str, Facts](), threading.Event()

    def work() -> None:
        with closing(Worker(tree)) as worker:
            while not is_over.is_set() and (case := next(waiting, None)):
                found[case.digest] = worker.ask(case)
                if len(found) % 500 == 0:
                    print(f"{tree}: {len(found)} of {len(cases)} cases", file=sys.stderr)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            for task in [pool.submit(work) for _ in range(jobs)]:
                task.result()
        finally:
            is_over.set()
    return found


def write(path: Path, cases: Sequence[Case], found: Mapping[str, Facts]) -> None:
    """Writes a record: a line of JSON for each case, compressed."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for case in sorted(cases, key=lambda each: each.name):
            line = {"case": case.digest, "name": case.name, **found[case.digest]}
            file.write(f"{json.dumps(line, separators=(',', ':'))}\n")


def read(path: Path) -> dict[str, Facts]:
    """The facts of a record, by the digests of the cases."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines: list[Facts] = [json.loads(line) for line in file]
    return {f.pop("case"): {kind: f[kind] for kind in f if kind != "name"} for f in lines}
