"""Tests of hypothesis with ten times as many examples, and the cases that the gate leaves out."""

import contextlib
import io
import json
import re
import sys
import time
from collections.abc import Generator
from typing import Any

import pytest

from tests.soak.turn import Turn
from tests.support import ROOT


def take(turn: Turn) -> None:
    """Runs the tests of one file that draw examples, with ten times as many, or have more cases."""
    files = sorted(
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search("from hypothesis import|import one_in", path.read_text(encoding="utf-8"))
    )
    file = files[turn.seed % len(files)]
    turn.covered({f"files {file.relative_to(ROOT)}": 1})
    arguments = ["-q", "-m", "hypothesis or night", "-p", "no:cacheprovider", str(file)]
    arguments += ["--hypothesis-profile=soak", f"--hypothesis-seed={turn.seed}"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        out = sys.__stdout__
        assert out is not None
        turn.tell = lambda line: print(json.dumps(line), file=out, flush=True)
        code = pytest.main([*arguments, "--hypothesis-show-statistics"], [Watch(turn)])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"{file.relative_to(ROOT)}: pytest ended with {int(code)}")


class Watch:
    """Stops pytest when the time is over, and keeps what fails."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        report = yield
        if report.when == "call":
            statistics = str(getattr(item, "hypothesis_statistics", ""))
            examples = sum(map(int, re.findall(r"(\d+) passing", statistics)))
            self.turn.covered({"tests": 1, "examples": examples})
            if report.failed:
                said = str(report.longrepr).strip()
                told = f"{item.nodeid} fails: {said.splitlines()[-1]}"
                self.turn.found(self.turn.seed, told, lambda _: (said.encode(), ".txt"))
        return report

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.turn.runs(nodeid)

    def pytest_runtest_logfinish(self) -> None:
        if time.monotonic() > self.turn.end:
            raise pytest.exit.Exception("time is over", 0)
