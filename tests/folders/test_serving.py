"""Processes that serve many models: whatever becomes of one, the others go on."""

import importlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest

from onnxpad.errors import OutputError, UsageError
from onnxpad.folders import ledger
from onnxpad.folders.serving import outcomes
from onnxpad.report import FileOutcome
from onnxpad.runtimes import pool
from tests.folders.calls import behave
from tests.support import ROOT, one


def served(*names: str, **options: Any) -> dict[str, FileOutcome]:
    pairs: Mapping[Path, Path | None] = {Path(name): None for name in names}
    return {each.path: each for each in outcomes(behave, pairs, **options)}


@pytest.mark.parametrize(
    ("name", "code", "outcome", "line"),
    [
        ("crash", 2, "crashed", "its process ended (-11)"),
        ("kill", 2, "crashed", "its process ended (-9)"),
        ("end", 2, "crashed", "its process ended (3)"),
        ("late", 2, "over the time limit", "took over 5.0 s"),
        ("defect", 70, "internal error", "a defect"),
        ("silent", 70, "internal error", "ValueError"),
        ("odd", 2, "system error", "of no system"),
        ("model", 2, "unreadable", "damaged"),
        ("system", 2, "system error", "system/x: No such file or directory"),
    ],
)
def test_what_becomes_of_one_is_its_outcome(name: str, code: int, outcome: str, line: str) -> None:
    found = served("a", name, "b", time_limit=5.0 if name == "late" else None)
    assert found[name].report is None
    assert (found[name].exit_code, found[name].outcome, found[name].line) == (code, outcome, line)
    told = [(found[each].outcome, found[each].line) for each in "ab"]
    assert told == [("passed", "nothing found")] * 2


def test_options_that_do_not_pickle_are_its_outcome() -> None:
    (found,) = outcomes(behave, {Path("a"): None}, lambda: None)
    assert (found.exit_code, found.outcome) == (70, "internal error")


def test_a_trial_comes_before_all_work(tmp_path: Path) -> None:
    def trial() -> None:
        raise UsageError("a mistake")

    pairs: Mapping[Path, Path | None] = {Path("a"): None, Path("b"): None}
    with pytest.raises(UsageError, match="a mistake"):
        list(outcomes(behave, pairs, tmp_path / "log", trial=trial))
    assert not (tmp_path / "log").exists()


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


def test_who_looks_no_further_ends_all(tmp_path: Path) -> None:
    target = tmp_path / "out"
    made = outcomes(behave, {Path("a"): None, Path("write"): target, Path("b"): None}, jobs=2)
    assert next(made).path in "ab"
    while not target.with_suffix(".begun").exists():
        time.sleep(0.05)
    begin = time.monotonic()
    made.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begin < 30
    assert [each.name for each in tmp_path.iterdir()] == ["out.begun"]


def test_a_time_limit_while_a_file_is_written(tmp_path: Path) -> None:
    (found,) = outcomes(behave, {Path("write"): tmp_path / "out"}, time_limit=4.0)
    assert (found.outcome, len([*tmp_path.iterdir()])) == ("over the time limit", 1)


def test_imports_are_no_part_of_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_to_import.py").write_text(SLOW)
    monkeypatch.syspath_prepend(str(tmp_path))
    call = importlib.import_module("slow_to_import").behave
    monkeypatch.setenv("OPENED", "slowly")
    monkeypatch.setattr(pool, "_idle", [])  # a new process, which has the path and the variable
    (found,) = outcomes(call, {Path("a"): None}, time_limit=1.5)
    assert found.outcome == "passed"


def test_a_program_that_ends_does_no_more(tmp_path: Path) -> None:
    command, here = [sys.executable, "-c", ENDS, str(tmp_path / "log")], {"PYTHONPATH": str(ROOT)}
    subprocess.run(command, env=os.environ | here, check=True)
    assert 1 <= len((tmp_path / "log").read_text().splitlines()) <= 5


class TestResume:
    """A record of runs: what is in it is not done again."""

    @pytest.fixture(autouse=True)
    def here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        for name in ("a", "model", "defect", "late", "kill"):
            Path(name).write_text(name)

    def again(self, *names: str, **options: Any) -> list[str]:
        Path("log").unlink(missing_ok=True)
        pairs: Mapping[Path, Path | None] = {Path(name): None for name in names}
        found = [*outcomes(behave, pairs, Path("log"), resume=Path("runs"), **options)]
        assert sorted(each.path for each in found) == sorted(names)
        lines = Path("log").read_text().splitlines() if Path("log").exists() else []
        return sorted(line.split()[1] for line in lines)

    def test_what_is_there_is_not_done_again(self) -> None:
        names = ["a", "model", "defect", "kill"]
        assert self.again(*names) == sorted(names)
        assert self.again(*names) == ["defect", "kill"]  # the next time may be another
        assert self.again("late", time_limit=1.0) == ["late"]
        for name in ("late", "changes", "changes"):  # the last while it is served
            Path("changes").write_text("")
            assert self.again(name, time_limit=1.0) == [name]

    def test_all_that_decides_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = {"decide": [Path("onnxpad.toml"), Path("own.toml")]}
        for name in ("a", "onnxpad.toml", "own.toml"):
            for text in ("", "x"):
                Path(name).write_text(text)
                assert (self.again("a", **asked), self.again("a", **asked)) == (["a"], [])
        monkeypatch.setattr("onnxpad.folders.ledger._VERSIONS", ["onnx 99"])
        assert (self.again("a", **asked), self.again("a", **asked)) == (["a"], [])

    def test_one_outcome_is_kept_of_what_is_asked(self) -> None:
        for text in ("one", "two"):
            Path("a").write_text(text)
            assert self.again("a") == ["a"]
        with sqlite3.connect("runs") as database:
            assert database.execute("SELECT count(*) FROM outcomes").fetchall() == [(1,)]

    def test_external_data_is_found(self) -> None:
        tensor = onnx.TensorProto(name="location", dims=[1], data_type=1, data_location="EXTERNAL")
        for name in ("data", "x" * 130, "a\0b"):
            del tensor.external_data[:]
            tensor.external_data.add(key="location", value=name)
            model = one("y = Relu (location)", inputs="float[1] location")
            model.graph.initializer.append(tensor)
            Path("a").write_bytes(model.SerializeToString())
            assert ledger.files_of(Path("a")) == [Path("a"), Path(name)]

    def test_a_file_that_is_no_record(self) -> None:
        Path("runs").write_text("a file of somebody's " * 99)
        with pytest.raises(OutputError, match="runs: cannot keep outcomes"):
            self.again("a")

    def test_a_record_that_is_damaged_or_is_of_others(self) -> None:
        self.again("a")
        with sqlite3.connect("runs") as database:
            database.execute("UPDATE outcomes SET data = 'x'")
        assert (self.again("a"), self.again("a")) == (["a"], [])
        database.execute("ALTER TABLE outcomes RENAME COLUMN files TO others")
        with pytest.raises(OutputError, match="runs: cannot keep outcomes"):
            self.again("a")


SLOW = """
import os, time
from tests.folders import calls
if os.environ.get("OPENED") == "slowly":
    time.sleep(2.5)
def behave(*given):
    return calls.behave(*given)
"""
"""A module that takes long to import in a child of the process that has imported it."""
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
ENDS = f"""{RUN.partition("pairs")[0]}
next(made := outcomes(behave, {{Path(str(n)): None for n in range(99)}}, Path(sys.argv[1])))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals as a terminal sends them")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
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
