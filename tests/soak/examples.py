"""Tests of hypothesis with ten times as many examples, and the cases that the gate leaves out."""

import ast
import builtins
import contextlib
import io
import json
import re
import sys
import textwrap
import time
from collections.abc import Generator
from typing import Any

import pytest

from tests.soak.turn import Found, Turn, fails, used
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
    arguments = [
        "-q",
        "-m",
        "hypothesis or night",
        "-p",
        "no:cacheprovider",
        "--hypothesis-profile=soak",
    ]
    arguments += [f"--hypothesis-seed={turn.seed}", "--hypothesis-show-statistics", str(file)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        out = sys.__stdout__
        assert out is not None
        turn.tell = lambda line: print(json.dumps(line), file=out, flush=True)
        code = pytest.main(arguments, [_Watch(turn)])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"{file.relative_to(ROOT)}: pytest ended with {int(code)}")


class _Watch:
    """Stops pytest when the time is over, and keeps what fails."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        report = yield
        if report.when != "call":
            return report
        statistics = str(getattr(item, "hypothesis_statistics", ""))
        examples = sum(map(int, re.findall(r"(\d+) passing", statistics)))
        self.turn.covered({"tests": 1, "examples": examples})
        if report.failed:
            last = str(report.longrepr).strip().splitlines()[-1]
            self.turn.found(
                f"{item.nodeid} fails: {last}",
                lambda *_: of_test(item.nodeid, self.turn.seed, last, str(report.longrepr)),
            )
        return report

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.turn.tell({"start": self.turn.seed, "of": nodeid})

    def pytest_runtest_logfinish(self) -> None:
        if time.monotonic() > self.turn.end:
            raise pytest.exit.Exception("time is over", 0)


def of_test(nodeid: str, seed: int, told: str, said: str) -> Found:
    """What a test of hypothesis found: its falsifying example, which is as small as can be."""
    file, _, name = nodeid.partition("::")
    function = name.partition("[")[0]
    lines = [line.removeprefix("E").strip() for line in said.splitlines()]
    shown = re.search(
        rf"^Falsifying example: {function}\(\n(.*?)^\)", "\n".join(lines), re.M | re.S
    )
    again = f"""
import pytest

def {function}_again() -> None:
    given = ["--hypothesis-profile=soak", "--hypothesis-seed={seed}", "-p", "no:cacheprovider"]
    assert pytest.main(["-q", *given, {nodeid!r}]) == 0
"""
    if not shown:
        return Found(told, seed, used(again), said)
    call = f"given.hypothesis.inner_test(\n{shown[1]})"
    names = {*(each.id for each in _names(call))} - {"given", *vars(builtins)}
    module = file.removesuffix(".py").replace("/", ".")
    test = f"""
from {module} import {", ".join([*sorted(names), f"{function} as given"])}

def {function}_{seed}() -> None:
{textwrap.indent(call, "    ")}
"""
    return Found(told, seed, used(test if fails(used(test)) else again), shown[0])


def _names(code: str) -> list[ast.Name]:
    try:
        return [each for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Name)]
    except SyntaxError:
        return []
