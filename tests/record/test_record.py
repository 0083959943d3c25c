"""Tests of the record: what notes itself, what is fast, and which tests a change chooses."""

import ast
import builtins
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import changed
from tests.record import costs as table_of_costs
from tests.record import executed, marks
from tests.record.costs import choose_fast, is_slow, write_costs
from tests.record.executed import Executed

SOURCE = '''
"""A module."""
LIMIT = 3

class Window:
    def output(self, size: int) -> int:
        """Its docstring stays."""
        if size > LIMIT:
            return 1
        elif size:
            return 2
        try:
            return {0: 3}[size]
        except KeyError:
            return 4

def each(count):
    def inner():
        return count
    for _ in range(count):
        inner()
    else:
        pass
    return [inner() for _ in range(count)]
'''


def _marked() -> tuple[dict[str, Any], list[marks.Block]]:
    tree = ast.parse(SOURCE)
    blocks: list[marks.Block] = []
    marks._mark(tree, marks.Block("onnxpad/it.py", "", 0), blocks)
    made: dict[str, Any] = {}
    exec(compile(tree, "it.py", "exec"), made)
    return made, blocks


@pytest.mark.parametrize(
    ("size", "lines"),
    [
        pytest.param(5, {6, 9}, id="if"),
        pytest.param(2, {6, 10, 11}, id="elif"),
        pytest.param(0, {6, 10, 13}, id="try"),
    ],
)
def test_executed_blocks_note_themselves(
    size: int, lines: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, blocks = _marked()
    noted = bytearray(len(blocks))
    monkeypatch.setattr(builtins, "__marks__", noted, raising=False)
    made["Window"]().output(size)
    assert {block.line for block, byte in zip(blocks, noted, strict=True) if byte} == lines
    assert made["Window"].output.__doc__ == "Its docstring stays."


def test_blocks_have_the_names_of_their_functions() -> None:
    _, blocks = _marked()
    assert {block.function for block in blocks} == {"Window.output", "each", "each.inner"}
    assert {block.where for block in blocks} >= {"onnxpad/it.py::each.inner"}


def test_every_function_of_the_package_is_known() -> None:
    known = Executed.read()
    share = known.table.any(axis=1).mean()
    assert known.table.shape == (len(known.functions), len(known.tests))
    assert share > 0.9


@pytest.mark.parametrize(
    ("afforded", "fast"),
    [
        pytest.param(70.0, {"tables", "one", "other", "same"}, id="what-is-cheap"),
        pytest.param(75.0, {"tables", "one", "other", "dear"}, id="what-alone-executes-a-block"),
        pytest.param(16.0, {"tables", "one", "other"}, id="what-executes-another-block"),
    ],
)
def test_the_fast_tier_executes_what_it_can_afford(
    afforded: float, fast: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_of_costs, "FAST", afforded)
    monkeypatch.setattr(table_of_costs, "TABLES", ("tables",))
    monkeypatch.setattr(table_of_costs, "DEAR", 60.0)
    costs = {"tables": 4.0, "dear": 59.0, "one": 5.0, "same": 6.0, "other": 7.0, "far": 61.0}
    blocks = {"tables": [], "dear": [1, 2, 3, 4], "one": [1], "same": [1], "other": [2], "far": [5]}
    assert choose_fast(costs, blocks) == fast


def test_the_table_names_what_is_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_of_costs, "COSTS", tmp_path / "costs.json")
    costs = {
        "t.py::some[a]": 1.0,
        "t.py::some[b]": 213.0,
        "t.py::all[a]": 40.0,
        "t.py::all[b]": 60.0,
    }
    write_costs(costs, {"t.py::some[a]"})
    monkeypatch.setattr(table_of_costs, "slow_tests", table_of_costs.slow_tests.__wrapped__)
    table = table_of_costs.slow_tests()
    assert table == {"t.py": {"some[b]": 200.0, "all": 50.0}}
    assert {test for test in costs if is_slow(test)} == {*costs} - {"t.py::some[a]"}
    assert not is_slow("t.py::new")
    assert not is_slow("new.py::some[b]")


def _executed() -> Executed:
    table = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0]], bool)
    tests = ["t.py::near[a]", "t.py::near[b]", "t.py::wide", "t.py::other", "t.py::nothing"]
    return Executed(tests, [4.0, 5.0, 4.0, 1.0, 1.0], ["f.py::a", "f.py::b", "g.py::c"], table)


def test_what_is_recorded_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executed, "EXECUTED", tmp_path / "executed.xz")
    _executed().write()
    read = Executed.read()
    assert read.tests == _executed().tests
    assert read.costs == _executed().costs
    assert read.functions == _executed().functions
    assert (read.table == _executed().table).all()


def test_cheap_tests_of_little_else_come_first_and_further_cases_later() -> None:
    assert list(_executed().best({"f.py::a"})) == [0, 2, 1]
    assert list(_executed().best({"f.py::b", "g.py::c"})) == [3, 2]
    assert list(_executed().best({"h.py::new"})) == []


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one commit."""
    for module in (changed, marks):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    for path, text in {
        "onnxpad/it.py": SOURCE,
        "tests/a/test_a.py": "",
        "tests/a/b.py": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    author = ["-c", "user.name=it", "-c", "user.email=it@example.org"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "First"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "functions"),
    [
        pytest.param("return 1", "return 0", {"Window.output"}, id="method"),
        pytest.param("        inner()\n", "", {"each"}, id="line-that-went"),
        pytest.param("return count", "return -count", {"each.inner"}, id="nested"),
        pytest.param("LIMIT = 3", "LIMIT = 4", {"Window.output", "each", "each.inner"}, id="table"),
        pytest.param("def each", "\n\ndef each", set(), id="blank-lines"),
    ],
)
def test_changed_functions(old: str, new: str, functions: set[str], checkout: Path) -> None:
    path = checkout / "onnxpad/it.py"
    path.write_text(SOURCE.replace(old, new, 1))
    lines = changed.changed_lines("HEAD")
    known = [f"onnxpad/it.py::{name}" for name in ("Window.output", "each", "each.inner")]
    found = changed.changed_functions(lines, "HEAD", [*known, "onnxpad/item.py::other"])
    assert {name.rpartition(":")[2] for name in found} == functions


def test_changed_tests_and_what_they_share(checkout: Path) -> None:
    (checkout / "tests/a/test_a.py").write_text("new")
    (checkout / "tests/a/test_new.py").write_text("new")
    assert changed.tests_about(changed.changed_lines("HEAD")) == [
        "tests/a/test_a.py",
        "tests/a/test_new.py",
    ]
    (checkout / "tests/a/b.py").write_text("new")
    assert "tests/a" in changed.tests_about(changed.changed_lines("HEAD"))


def test_an_unknown_commit_is_one_line(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        changed.main(["--since", "nothing"])
    assert "nothing" in capsys.readouterr().err
