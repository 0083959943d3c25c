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
        pytest.param(70.0, {"least", "one", "other", "same"}, id="what-is-cheap"),
        pytest.param(80.0, {"least", "one", "other", "dear"}, id="what-alone-executes-a-block"),
        pytest.param(19.0, {"least", "one", "other"}, id="what-executes-another-block"),
    ],
)
def test_the_fast_tier_executes_what_it_can_afford(
    afforded: float, fast: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_of_costs, "FAST", afforded)
    monkeypatch.setattr(table_of_costs, "DEAR", 60.0)
    costs = {"least": 4.0, "dear": 59.0, "one": 5.0, "same": 6.0, "other": 7.0, "far": 61.0}
    blocks = {
        "least": [],
        "dear": [1, 2, 3, 4, 6, 7],
        "one": [1],
        "same": [1],
        "other": [2],
        "far": [5],
    }
    assert choose_fast(costs, blocks, {}) == fast


def test_further_cases_of_a_test_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {
        "t.py::a[1]": 2.0,
        "t.py::a[2]": 2.0,
        "t.py::a[3]": 2.0,
        "t.py::b": 2.2,
        "t.py::c": 9.0,
    }
    nothing = dict.fromkeys(costs, ())
    monkeypatch.setattr(table_of_costs, "FAST", 7.0)
    assert choose_fast(costs, nothing, {}) == {"t.py::a[1]", "t.py::b"}
    monkeypatch.setattr(table_of_costs, "FAST", 10.0)
    assert choose_fast(costs, nothing, {}) == {"t.py::a[1]", "t.py::b", "t.py::a[2]"}


def test_what_notices_more_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {"strong.py::dear": 3.0, "weak.py::cheap": 2.0, "other.py::dear": 4.0}
    nothing = dict.fromkeys(costs, ())
    monkeypatch.setattr(table_of_costs, "FAST", 5.0)
    assert choose_fast(costs, nothing, {}) == {"weak.py::cheap"}
    assert choose_fast(costs, nothing, {"strong.py": 1.5}) == {"strong.py::dear"}
    assert choose_fast(costs, nothing, {"weak.py": 0.5, "other.py": 1.2}) == {"strong.py::dear"}
    assert choose_fast(costs, nothing, {"other.py": 2.0}) == {"other.py::dear"}


def test_one_block_is_not_worth_any_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {"t.py::cheap": 18.0, "t.py::dear": 20.0}
    monkeypatch.setattr(table_of_costs, "FAST", 21.0)
    assert choose_fast(costs, {"t.py::cheap": (), "t.py::dear": (1,)}, {}) == {"t.py::cheap"}
    assert choose_fast(costs, {"t.py::cheap": (), "t.py::dear": (1, 2)}, {}) == {"t.py::dear"}


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


@pytest.mark.parametrize(
    ("path", "using"),
    [
        ("tests/a/b.py", ["a/test_b.py", "test_all.py", "test_c.py", "test_many.py"]),
        ("tests/c.py", ["test_all.py", "test_c.py"]),
        ("tests/a/__init__.py", ["a/test_b.py", "test_all.py", "test_c.py", "test_many.py"]),
        ("tests/a/conftest.py", ["a/test_a.py", "a/test_b.py"]),
        ("tests/a/test_b.py", []),
    ],
)
def test_who_uses_what_tests_share(path: str, using: list[str], checkout: Path) -> None:
    for name, text in {
        "a/test_b.py": "from tests.a.b import it\n",
        "c.py": "from tests.a import (\n    b as bee,\n)\n",
        "test_c.py": "from tests import c\n",
        "test_all.py": "PLUGIN = 'tests.c'\n",
        "test_many.py": "from tests.a import other, b\n",
        "test_none.py": "from tests.attic import b, c\nfrom tests import other\n",
    }.items():
        (checkout / "tests" / name).write_text(text)
    found = changed.users({path: (set(), {1})})
    assert sorted(found) == [f"tests/{name}" for name in using]


@pytest.mark.parametrize(
    "setting",
    ["diff.mnemonicPrefix=true", "diff.noprefix=true", "color.ui=always", "diff.context=9"],
)
def test_how_a_user_sets_git_matters_not(
    setting: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "onnxpad/it.py").write_text(SOURCE.replace("return 1", "return 0"))
    found = changed.changed_lines("HEAD")
    name, _, value = setting.partition("=")
    for variable, told in {"COUNT": "1", "KEY_0": name, "VALUE_0": value}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{variable}", told)
    assert changed.changed_lines("HEAD") == found == {"onnxpad/it.py": ({9}, {9})}


def test_files_not_yet_added(checkout: Path) -> None:
    """Each new function stands for its file, and a new file for its folder; links may be broken."""
    (checkout / "onnxpad/new.py").write_text("def new():\n    return 1\n\n")
    (checkout / "onnxpad/latin.py").write_bytes(b"# \xe4\n")
    (checkout / "nowhere").symlink_to("away")
    subprocess.run(["git", "init", "-q", "other"], cwd=checkout, check=True)
    (checkout / "other/file").touch()
    subprocess.run(["git", "add", "onnxpad/latin.py"], cwd=checkout, check=True)
    lines = changed.changed_lines("HEAD")
    assert lines == {
        "onnxpad/new.py": (set(), {1, 2, 3, 4}),
        "onnxpad/latin.py": (set(), {1}),
    }
    del lines["onnxpad/latin.py"]
    known = ["onnxpad/it.py::each", "onnxpad/its.py::f", "onnxpad/sizes/it.py::g", "passes/a.py::h"]
    assert changed.changed_functions(lines, "HEAD", known) == {*known[:3]}
    (checkout / "onnxpad/it.py").write_text(f"{SOURCE}\ndef new():\n    return 1\n")
    lines = {"onnxpad/it.py": changed.changed_lines("HEAD")["onnxpad/it.py"]}
    assert changed.changed_functions(lines, "HEAD", known) == {known[0]}


@pytest.mark.parametrize("lacks", ["git", "a checkout"])
def test_without_git_it_is_one_line(
    lacks: str,
    checkout: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if lacks == "git":
        monkeypatch.setenv("PATH", str(checkout))
    else:
        monkeypatch.setenv("GIT_DIR", str(checkout / "nothing"))
    with pytest.raises(SystemExit):
        changed.main([])
    assert "error: " in capsys.readouterr().err.splitlines()[-1]


def test_an_unknown_commit_is_one_line(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        changed.main(["--since", "nothing"])
    assert "nothing" in capsys.readouterr().err
