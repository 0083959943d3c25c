"""Processes that serve many models: whatever becomes of one, the others go on."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from onnxpad.errors import OutputError, ProviderError
from onnxpad.folders.serving import outcomes
from onnxpad.report import FileOutcome
from onnxpad.runtimes import pool
from tests.folders.calls import behave
from tests.support import ROOT


def served(*names: str, **options: Any) -> dict[str, FileOutcome]:
    """The outcomes by the names of the models."""
    pairs: Mapping[Path, Path | None] = {Path(name): None for name in names}
    return {each.path: each for each in outcomes(behave, pairs, **options)}


def test_an_outcome_is_that_of_the_report() -> None:
    found = served("a.onnx")["a.onnx"]
    assert (found.exit_code, found.outcome, found.line) == (0, "passed", "nothing found")
    assert found.report is not None
    assert found.report["command"] == "check"


@pytest.mark.parametrize(
    ("name", "code", "outcome", "line"),
    [
        ("crash", 2, "crash", "its process ended (-11)"),
        ("kill", 2, "crash", "its process ended (-9)"),
        ("end", 2, "crash", "its process ended (3)"),
        ("late", 2, "time limit", "took over 1.5 s"),
        ("defect", 70, "internal", "a defect"),
        ("model", 2, "model", "is damaged"),
        ("system", 2, "system", "[Errno 2] No such file or directory: 'system/x'"),
    ],
)
def test_what_becomes_of_one_is_its_outcome(name: str, code: int, outcome: str, line: str) -> None:
    limit = 1.5 if name == "late" else None
    found = served("a", name, "b", time_limit=limit)
    assert found[name].report is None
    assert (found[name].exit_code, found[name].outcome, found[name].line) == (code, outcome, line)
    assert [found[each].outcome for each in "ab"] == ["passed", "passed"]


def test_a_process_serves_many(tmp_path: Path) -> None:
    log = tmp_path / "log"
    pairs: Mapping[Path, Path | None] = {Path(f"{number}"): None for number in range(6)}
    assert len([*outcomes(behave, pairs, log, jobs=2)]) == 6
    lines = [line.split() for line in log.read_text().splitlines()]
    assert len({process for process, _, _ in lines}) <= 2
    assert {int(threads) for _, _, threads in lines} == {max(1, (os.cpu_count() or 1) // 2)}


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a process is known on Linux")
def test_a_process_that_has_grown_is_replaced(tmp_path: Path) -> None:
    log = tmp_path / "log"
    pairs: Mapping[Path, Path | None] = {Path(name): None for name in ("a", "grow", "b")}
    assert [each.outcome for each in outcomes(behave, pairs, log)] == ["passed"] * 3
    first, second, third = (line.split()[0] for line in log.read_text().splitlines())
    assert first == second != third


def test_progress_tells_the_time_that_is_left() -> None:
    told: list[tuple[str, int, int]] = []
    served("a", "b", progress=lambda *each: told.append(each))
    assert told == [("0 min left", 1, 2), ("0 min left", 2, 2)]


def test_who_looks_no_further_ends_all(tmp_path: Path) -> None:
    """No process goes on, and nothing is half written."""
    target = tmp_path / "out"
    made = outcomes(behave, {Path("a"): None, Path("write"): target, Path("b"): None}, jobs=2)
    assert next(made).path in "ab"
    while not target.with_suffix(".begun").exists():
        time.sleep(0.05)
    begin = time.monotonic()
    made.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begin < 30
    assert [each.name for each in tmp_path.iterdir()] == ["out.begun"]


def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def borrow() -> None:
        raise ProviderError("no interpreter")

    monkeypatch.setattr(pool, "borrow", borrow)
    with pytest.raises(ProviderError, match="no interpreter"):
        served("a")


class TestResume:
    """A record of runs: what is in it is not done again."""

    @pytest.fixture(autouse=True)
    def here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        for name in ("a", "model", "defect", "late", "kill"):
            Path(name).write_text(name)

    def again(self, *names: str, **options: Any) -> list[str]:
        """The models that were served."""
        Path("log").unlink(missing_ok=True)
        pairs: Mapping[Path, Path | None] = {Path(name): None for name in names}
        asked = (Path("log"), *options.pop("more", ()))
        found = [*outcomes(behave, pairs, *asked, resume=Path("runs"), **options)]
        assert sorted(each.path for each in found) == sorted(names)
        lines = Path("log").read_text().splitlines() if Path("log").exists() else []
        return sorted(line.split()[1] for line in lines)

    def test_what_is_there_is_not_done_again(self) -> None:
        names = ["a", "model", "defect", "kill"]
        assert self.again(*names) == sorted(names)
        assert self.again(*names) == ["defect", "kill"]  # the next time may be another
        assert self.again("late", time_limit=1.0) == ["late"]
        assert self.again("late", time_limit=1.0) == ["late"]

    def test_all_that_decides_counts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        target = Path("own.toml")
        assert (self.again("a"), self.again("a")) == (["a"], [])
        Path("a").write_text("b")
        assert (self.again("a"), self.again("a")) == (["a"], [])
        for text in ("", "x"):
            Path("onnxpad.toml").write_text(text)
            assert (self.again("a"), self.again("a")) == (["a"], [])
        for text in ("", "x"):
            target.write_text(text)
            asked = {"targets": ["own.toml"]}
            assert (self.again("a", **asked), self.again("a", **asked)) == (["a"], [])
        monkeypatch.setattr("onnxpad.folders.ledger._VERSIONS", ["onnx 99"])
        assert (self.again("a"), self.again("a")) == (["a"], [])

    def test_a_file_that_is_no_record(self) -> None:
        Path("runs").write_text("a file of somebody's " * 99)
        with pytest.raises(OutputError, match="runs: cannot keep outcomes"):
            self.again("a")
        Path("runs").unlink()
        Path("runs").mkdir()
        with pytest.raises(OutputError, match="runs: cannot keep outcomes"):
            self.again("a")

    def test_it_is_a_base_that_others_read(self) -> None:
        self.again("a", "model")
        rows = sqlite3.connect("runs").execute("SELECT count(*) FROM outcomes").fetchone()
        assert rows == (2,)


RUN = """
import sys
from pathlib import Path
from onnxpad.folders.serving import outcomes
from tests.folders.calls import behave
pairs = {Path("write"): Path(sys.argv[1]), Path("a"): None}
for each in outcomes(behave, pairs, jobs=2):
    print(each.path, flush=True)
"""
"""A script without a guard, which no process imports."""


@pytest.mark.skipif(sys.platform == "win32", reason="signals as a terminal sends them")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    """Neither a process nor a file that is half written, even where it is killed."""
    (tmp_path / "script.py").write_text(RUN)
    target = tmp_path / "out" / "file"
    target.parent.mkdir()
    command = [sys.executable, str(tmp_path / "script.py"), str(target)]
    here = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, env=here, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as ran:
        assert ran.stdout is not None
        assert ran.stdout.readline() == b"a\n"
        while not target.with_suffix(".begun").exists():
            time.sleep(0.05)
        if number is signal.SIGINT:
            os.killpg(ran.pid, number)  # as a terminal does
        else:
            ran.kill()
        ran.wait(30)
    deadline = time.monotonic() + 30
    while [*target.parent.iterdir()] != [target.with_suffix(".begun")]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
