"""`fix`, `check` and `validate` of many models: one report, and the worst exit code."""

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

from onnxpad.report import FileOutcome, FolderReport
from tests.report.test_json_schema import faults
from tests.support import W, one, onnxpad_runs

SAME = 'y = Conv <auto_pad = "SAME_UPPER"> (x, w)'
MODELS = {
    "a/same": one(SAME, initializers=W),
    "b/plain": one("y = Relu (x)"),
    "open": one(SAME, inputs="float[1, 2, n, n] x", initializers=W),
}


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, model in MODELS.items():
        path = Path("in", f"{name}.onnx")
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(model, path)


def told(*words: object) -> tuple[int, list[str]]:
    """The exit code, and the lines."""
    ran = onnxpad_runs(*words)
    return ran.exit_code, ran.stdout.splitlines()


def data(*words: object) -> Any:
    """The report as JSON, which is as its schema says."""
    ran = onnxpad_runs(*words, "--format", "json")
    found = json.loads(ran.stdout)
    assert faults(found) == []
    for each in found["files"]:
        assert each["report"] is None or faults(each["report"]) == []
    assert found["exit_code"] == ran.exit_code
    return found


def test_fix_a_tree() -> None:
    Path("in/damaged.onnx").write_bytes(b"damaged")
    code, lines = told("fix", "in", "-o", "out", "--jobs", 2)
    assert code == 2
    assert lines[0].startswith("in/damaged.onnx: model (exit code 2): ")
    assert lines[1:] == [
        "in/a/same.onnx: 1 change, validated -> out/a/same.onnx",
        "in/b/plain.onnx: nothing to change -> out/b/plain.onnx",
        "in/open.onnx: 1 change, validated -> out/open.onnx",
        "",
        "4 models: 1 model, 2 fixed, 1 unchanged",
        "  PAD101 2 in 2 models",
    ]
    assert told("fix", "in", "-o", "out", "-q") == (2, lines[:1])
    found = data("fix", "in", "-o", "out")
    assert [each["path"] for each in found["files"]] == [line.split(":")[0] for line in lines[:4]]
    assert found["files"][1]["report"]["written"] == "out/a/same.onnx"
    assert (found["ran"], found["codes"]) == ("fix", {"PAD101": 2})


def test_results_beside_models_are_no_inputs() -> None:
    for _ in range(2):
        code, lines = told("fix", "in/a/same.onnx", "in/b", "--no-validate", "--resume", "runs")
        assert (code, lines[-2]) == (0, "2 models: 1 fixed, 1 unchanged")
    assert {each.name for each in Path("in/a").iterdir()} == {"same.onnx", "same.fixed.onnx"}
    assert not Path("in/b/plain.fixed.onnx").exists()


def test_one_model_in_a_process_of_its_own() -> None:
    path = "in/a/same.onnx"
    for words, line in (
        ("--time-limit=60", f"1 change, validated -> {path}"),
        ("--jobs=1", "nothing to change"),
    ):
        code, lines = told("fix", path, "--in-place", words)
        assert (code, lines[0].partition(": ")[2]) == (
            0,
            line.replace(path, str(Path(path).resolve())),
        )


def test_check() -> None:
    code, lines = told("check", "in", "--jobs", 2)
    assert code == 1
    assert lines[0] == "in/a/same.onnx: failed (exit code 1): 1 warning"
    assert told("check", "in", "--jobs", 2, "--fail-on", "error")[0] == 0
    assert data("check", "in", "--resume", "runs")["files"][0]["report"]["summary"]["warning"] == 1


def test_a_configuration_is_of_its_models() -> None:
    Path("onnxpad.toml").write_text('fail-on = "error"\nstyle = "pad"\n')
    found = data("check", "in", "--jobs", 1, "--resume", "runs")
    assert found["exit_code"] == 0
    fixed = {each["path"]: each for each in data("fix", "in", "-o", "out")["files"]}
    assert fixed["in/open.onnx"]["report"]["config"]["options"]["style"] == "pad"
    Path("onnxpad.toml").rename("in/a/onnxpad.toml")
    assert data("check", "in", "--resume", "runs")["exit_code"] == 1
    Path("onnxpad.toml").write_text("target = 'own.toml'")
    for text in ("[", "x"):
        Path("own.toml").write_text(text)
        found = told("check", "in/open.onnx", "--resume", "runs")
        assert found == told("check", "in/open.onnx", "--jobs", 1)


def test_a_size_that_is_typed_is_of_each_model() -> None:
    code, lines = told("fix", "in/open.onnx", "in/a", "-o", "out", "--dim", "n=8")
    assert code == 2
    assert lines[0].startswith("in/a/same.onnx: usage (exit code 2): ")
    assert lines[1] == "in/open.onnx: 1 change, validated -> out/open.onnx"


def test_validate_two_trees() -> None:
    assert told("fix", "in", "-o", "out", "--no-validate")[0] == 0
    Path("out/open.onnx").unlink()
    onnx.save(one("y = Neg (x)"), "out/b/plain.onnx")
    code, lines = told("validate", "in", "out", "--jobs", 2, "--resume", "runs")
    assert code == 3
    assert lines[0].startswith("in/b/plain.onnx: failed (exit code 3): FAILED")
    assert lines[1].startswith("in/open.onnx: model (exit code 2): out/open.onnx ")
    assert lines[2] == "in/a/same.onnx: agree"
    assert told("validate", "in", "out", "--resume", "runs") == (code, lines)
    onnx.save(MODELS["b/plain"], "out/b/plain.onnx")
    assert told("validate", "in", "out", "--resume", "runs")[0] == 2
    assert data("validate", "in/a/same.onnx", "out/a/same.onnx", "--jobs", 1)["exit_code"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fix in --diff", "--diff is not for a run over many"),
        ("fix in --html page.html", "--html is not for a run over many"),
        ("fix in --in-place -o out", "exclude each other"),
        ("fix in --jobs 0", "there is at least one job"),
        ("check in --time-limit nan", "the time limit is above zero"),
        ("fix none*.onnx", "none*.onnx: there is no .onnx file"),
        ("check in --jobs 2 --format sarif", "--format sarif is not for a run over many"),
        ("check in --jobs 0 --time-limit 0 --resume in", "cannot keep outcomes"),
        ("validate in in --inputs x.npz", "--inputs is not for a run over many"),
        ("validate in in/open.onnx", "in/open.onnx"),
        ("fix in --symmetric-transpose", "--target onnxruntime-cuda"),
    ],
)
def test_what_is_refused(words: str, said: str) -> None:
    ran = onnxpad_runs(*words.split())
    assert ran.exit_code == 2
    assert said in ran.stdout + ran.stderr


def test_the_worst_exit_code() -> None:
    files = [FileOutcome("m", code, "", "") for code in (0, 1, 5, 4, 2, 3, 70)]
    for count, each in enumerate(files):
        assert FolderReport("fix", tuple(files[: count + 1])).exit_code == each.exit_code
    assert FolderReport("fix", ()).exit_code == 0
