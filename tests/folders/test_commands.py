"""`fix`, `check` and `validate` of many models: one report, and the worst exit code."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.report import FileOutcome, FolderReport
from tests.report.test_json_schema import faults
from tests.rewrite.test_advice import COMPUTED, net
from tests.support import PADS, W, one, onnxpad_runs

SAME_2 = 'y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'
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


def told_lines(words: str, *more: str) -> list[str]:
    return told(*words.split(), *more)[1]


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
    assert lines[0].startswith("in/damaged.onnx: unreadable (exit code 2): ")
    assert lines[1:] == [
        "in/a/same.onnx: 1 change, validated -> out/a/same.onnx",
        "in/b/plain.onnx: nothing to change -> out/b/plain.onnx",
        "in/open.onnx: 1 change, validated -> out/open.onnx",
        "",
        "4 models: 1 unreadable (exit code 2), 2 fixed, 1 unchanged",
        "  PAD101 2 changed or left in 2 models",
    ]
    assert told("fix", "in", "-o", "out", "-q") == (2, lines[:1])
    found = data("fix", "in", "-o", "out")
    assert [each["path"] for each in found["files"]] == [line.split(":")[0] for line in lines[:4]]
    assert found["files"][1]["report"]["written"] == "out/a/same.onnx"
    assert (found["ran"], found["codes"]) == ("fix", {"PAD101": 2})


def test_results_beside_models_are_no_inputs() -> None:
    for known in ("", "; 2 known from an earlier run"):
        code, lines = told("fix", "in/a/same.onnx", "in/b", "--no-validate", "--resume", "runs")
        assert (code, lines[-2]) == (0, f"2 models: 1 fixed, 1 unchanged{known}")
    assert {each.name for each in Path("in/a").iterdir()} == {"same.onnx", "same.fixed.onnx"}
    assert not Path("in/b/plain.fixed.onnx").exists()


def test_one_model_in_a_process_of_its_own() -> None:
    path = "in/a/same.onnx"
    for words, line in (
        ("--time-limit=60", f"1 change, validated -> {path}"),
        ("--jobs=1", "nothing to change"),
    ):
        code, lines = told("fix", path, "--in-place", words)
        assert (code, lines[0].partition(": ")[2]) == (0, line)
    onnx.save(MODELS["a/same"], path)
    Path("in/b/link.onnx").symlink_to(Path(path).resolve())
    link, _ = data("fix", "in/b", "--in-place")["files"]
    assert link["written"] == [str(Path(path).resolve())]
    assert Path("in/b/link.onnx").is_symlink()


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
        found = onnxpad_runs("check", "in/open.onnx", "--resume", "runs")
        assert found.stderr == onnxpad_runs("check", "in/open.onnx", "--jobs", 1).stderr


def test_a_size_is_for_the_models_that_have_the_name() -> None:
    onnx.save(one(SAME, inputs="float[1, 2, m, m] x", initializers=W), "in/other.onnx")
    before = onnx.load("in/other.onnx")
    code, lines = told("fix", "in", "-o", "out", "--dim", "n=8", "--jobs", 2)
    assert (code, len(lines)) == (0, 7)
    first = onnx.load("out/open.onnx").graph.input[0].type.tensor_type.shape.dim[2]
    assert (first.dim_value, onnx.load("out/other.onnx").graph.input) == (8, before.graph.input)
    assert told("check", "in", "--jobs", 2, "--dim", "n=8")[0] == 1
    assert told("validate", "in", "out", "--dim", "n=8")[0] == 0
    shutil.rmtree("out")
    ran = onnxpad_runs("fix", "in", "-o", "out", "--dim", "m=8", "--dim", "z=8")
    assert (ran.exit_code, ran.stdout, Path("out").exists()) == (2, "", False)
    assert ran.stderr == "error: none of 4 models: there is no dimension 'z'; there is 'n', 'm'\n"
    odd = ("--dim", "n=7", "--shape", "x=1,2,8,8")  # which contradict each other in one of two
    assert "other" in onnxpad_runs("check", "in/open.onnx", "in/other.onnx", *odd).stdout
    code, lines = told("fix", "in", "-o", "out", "--dim", "n=8", "--dim", "m=x")
    assert (code, lines) == (2, [])
    onnx.save(one(SAME, inputs="float[1, 2, ?, ?] x", initializers=W), "in/other.onnx")
    for size in ("x[2]=8", "x=1,2,8,8"):  # `a/same` and `b/plain` have other sizes
        option = "--shape" if "," in size else "--dim"
        code, lines = told("fix", "in", "-o", "fixed", "--no-validate", option, size)
        assert (code, lines[5]) == (0, "4 models: 3 fixed, 1 unchanged")
        ran = onnxpad_runs("fix", "in/a", "in/b", "-o", "none", option, size)
        assert (ran.exit_code, ran.stderr[:25]) == (2, "error: none of 2 models: ")
        assert onnxpad_runs("fix", "in/a/same.onnx", option, size).exit_code == 2


def test_what_stays_and_what_would_help() -> None:
    for name in ("in/c/open.onnx", "in/d/open.onnx"):
        Path(name).parent.mkdir()
        onnx.save(net(COMPUTED), name)
    alone = told("fix", "in/c/open.onnx", "-o", "alone.onnx", "--no-validate")[1]
    assert "Stays as it is: 1" in alone
    _, lines = told("fix", "in", "-o", "out", "--no-validate")
    assert "in/c/open.onnx: nothing to change, 1 stays -> out/c/open.onnx" in lines
    (line,) = [line for line in alone if line.startswith("Next: ")]
    option = line.removeprefix("Next: onnxpad fix in/c/open.onnx ").split(" would ")[0]
    assert lines[-1] == f"Next: {option} would change what stays in 2 models"
    found = {each["path"]: each for each in data("fix", "in", "-o", "out", "-q")["files"]}
    assert found["in/c/open.onnx"]["stays"] == 1
    assert found["in/c/open.onnx"]["next"] == option
    assert found["in/c/open.onnx"]["report"]["next"]["option"] == found["in/c/open.onnx"]["next"]


def test_results_of_earlier_runs_are_named() -> None:
    for words in ((), ("--resume", "runs")):
        for name, model in MODELS.items():
            onnx.save(model, f"in/{name}.onnx")
        assert told("fix", "in", "-o", "out", *words)[0] == 0
        Path("in/open.onnx").write_bytes(b"damaged")
        Path("in/b/plain.onnx").unlink()
        for _ in range(2):
            code, lines = told("fix", "in", "-o", "out", *words)
            assert code == 2
            assert "; out/open.onnx is an older file and stays" in lines[0]
            assert lines[-1] == "Of no model of this run: out/b/plain.onnx"
            quiet = told("fix", "in", "-o", "out", "-q", *words)[1]
            assert (len(quiet), quiet[0].partition(": ")[0]) == (2, "in/open.onnx")
            assert quiet[1] == lines[-1]
            found = data("fix", "in", "-o", "out", *words)
            assert [each["older"] for each in found["files"]] == ["out/open.onnx", None]
            assert found["others"] == ["out/b/plain.onnx"]
            assert Path("out/open.onnx").exists()
            assert Path("out/b/plain.onnx").exists()
    onnx.save(MODELS["a/same"], "in/a/same.fixed.onnx")
    onnx.save(MODELS["b/plain"], "in/a/same.onnx")
    assert "in/a/same.fixed.onnx is an older file" in told("fix", "in/a", "-q")[1][0]


def test_what_is_known_is_told() -> None:
    asked = ("fix", "in", "-o", "out", "--resume", "runs")
    assert not any(each["resumed"] for each in data(*asked)["files"])
    Path("in/a/same.onnx").write_bytes(Path("in/b/plain.onnx").read_bytes())
    assert [each["resumed"] for each in data(*asked)["files"]] == [False, True, True]
    _, lines = told(*asked)
    assert all(line.endswith(" (known)") for line in lines[:3])
    assert lines[4] == "3 models: 2 unchanged, 1 fixed; 3 known from an earlier run"


def test_open_sizes_of_a_tree() -> None:
    onnx.save(one(SAME_2, inputs="float[1, 2, n, n] x", initializers=W), "in/c.onnx")
    said = "--dim n=SIZE gives"
    assert any("--dim n=224" in e for e in told("fix", "in/c.onnx", "--no-validate")[1])
    _, lines = told("fix", "in", "-o", "out", "--no-validate")
    assert lines[-1].startswith("Next: 1 model with padding that depends on open sizes (in/c.onnx)")
    assert said in lines[-1]
    for words in ((), ("--dim", "n=32..33")):  # a range need not help
        assert data("fix", "in", "-o", "out", *words)["files"][2]["sizes"] == ["--dim n=SIZE"]
    onnx.save(one(SAME_2, inputs="float[1, 2, n, m] x", initializers=W), "in/c.onnx")
    assert "1 fixed in sizes alone" in told_lines("fix in/c.onnx --jobs 1 --dim n=8")[2]


def test_what_was_undone_and_what_results_rest_on() -> None:
    pool = "v = Relu (x) u = Pad (v, p) y = MaxPool <kernel_shape = [3, 3]> (u)"
    onnx.save(one(pool, inputs="float[1, 2, 4, 4] x", initializers=PADS), "in/a/same.onnx")
    onnx.save(one(SAME_2, inputs="float[1, 2, n, n] x", initializers=W), "in/open.onnx")
    words = "fix in -o out --no-validate --dim n=64..256:32"
    assert told_lines(words)[:3:2] == [
        "in/a/same.onnx: 1 change; assumes finite data -> out/a/same.onnx",
        "in/open.onnx: 1 change; holds for n 64..256 in steps of 32 only -> out/open.onnx",
    ]
    assert data(*words.split())["files"][0]["rests"] == ["assumes finite data"]
    lines = told_lines(words, "--strict", "-v")
    assert lines[0].startswith("in/a/same.onnx: no change was kept, 1 stays (1 undone) -> out/a")
    assert "undone: it assumes finite data" in lines[1]
    found = data(*words.split(), "--strict")
    assert [(each["stays"], each["undone"]) for each in found["files"]] == [(1, 1), (0, 0), (0, 0)]
    assert found["codes"]["PAD201"] == 1


def test_a_result_in_the_place_of_another_is_told() -> None:
    Path("other").mkdir()
    onnx.save(MODELS["open"], "other/same.onnx")
    for folder, is_other in (("in/a", False), ("in/a", False), ("other", True)):
        found = onnxpad_runs("fix", folder, "-o", "night", "--no-validate").stdout
        assert found.count("held something else") == is_other, folder
    assert data("fix", "in/a", "-o", "night")["files"][0]["replaced"] is True


def test_a_tree_tells_why_nothing_was_compared() -> None:
    model = one(f"v = Relu (x) {SAME.replace('(x,', '(v,')}", initializers=W)
    model.graph.node[0].domain = "of.nobody"
    model.opset_import.add(domain="of.nobody", version=1)
    onnx.save(model, "in/a/same.onnx")
    code, lines = told("fix", "in", "-o", "out")
    said = "in/a/same.onnx: fixed (exit code 5): 1 change; not validated: onnxruntime runs no model"
    assert (code, lines[0].startswith(said)) == (5, True)


def test_results_among_the_models_and_patterns_without_any() -> None:
    onnx.save(MODELS["a/same"], "in/a/c.fixed.onnx")
    Path("onnxpad.toml").write_text('per-file-ignores = {"stem*" = "PAD1", "pl*" = "PAD1"}')
    ran = onnxpad_runs("fix", "in/a/same.onnx", "in/b/plain.onnx", "in/a/c.fixed.onnx", "-o", "out")
    assert ran.exit_code == 0
    assert ran.stderr.splitlines() == [
        "note: in/a/c.fixed.onnx: *.fixed.onnx are no inputs of such a run",
        "note: onnxpad.toml: per-file-ignores 'stem*' fits no model of this run",
    ]
    assert not Path("out/c.fixed.onnx").exists()
    words = "fix in -o in/a/out --no-validate"
    assert "note: in/a/out is inside in: " in onnxpad_runs(*words.split()).stderr
    assert told("fix", "in/a/c.fixed.onnx", "-o", "one.onnx", "--no-validate")[0] == 0


def test_what_cannot_be_written_or_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is closed to root, so an answer of the system is another here."""
    Path("file").touch()
    for folder in ("file/sub", *["/proc/x"] * (sys.platform == "linux")):
        ran = onnxpad_runs("fix", "in", "-o", folder)
        assert (ran.exit_code, ran.stdout) == (2, "")
        assert ran.stderr.startswith(f"error: {folder}: nothing can be written in ")
        with pytest.raises(onnxpad.OutputError):
            onnxpad.fix_all("in", output=folder)
    big = onnx.ModelProto.FromString(MODELS["a/same"].SerializeToString())
    (weight,) = big.graph.initializer
    weight.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight), "w"))
    onnx.save(big, "in/m.onnx", save_as_external_data=True, location="data", size_threshold=0)
    assert told("fix", "in/m.onnx", "-o", "out", "--no-validate")[0] == 0
    opened = Path.open

    def closed(path: Path, *words: Any, **more: Any) -> Any:
        if path == Path("in/data"):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *words, **more)

    monkeypatch.setattr(Path, "open", closed)
    ran = onnxpad_runs("fix", "in/m.onnx", "-o", "out", "--no-validate")
    assert ran.exit_code == 2
    assert "the external data in/data cannot be read: Permission denied" in ran.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fix in -o out --select PAD9999", "--select 'PAD9999' names no code"),
        ("fix in -o out --target openvin", "did you mean 'openvino'?"),
        ("fix in -o out --target own.toml", "own.toml"),
        ("fix in -o out --style pad --target openvino", ""),
        ("check in --jobs 1 --convention keas", "did you mean 'keras'?"),
        ("check in --jobs 1 --ignore PAD9999", "--ignore 'PAD9999' names no code"),
        ("validate in in --provider cdua", "did you mean 'cuda'?"),
        ("validate in in --rtol -1", "rtol has to be"),
    ],
)
def test_a_mistake_is_told_once_and_before_any_work(words: str, said: str) -> None:
    ran = onnxpad_runs(*words.split())
    if not said:
        assert ran.exit_code == 0
        return
    assert (ran.exit_code, ran.stdout, Path("out").exists()) == (2, "", False)
    assert said in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_configurations_are_checked_and_told_once() -> None:
    Path("onnxpad.toml").write_text('stile = "pad"')
    ran = onnxpad_runs("fix", "in", "-o", "out")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "did you mean 'style'?" in ran.stderr
    Path("onnxpad.toml").write_text('style = "pad"')
    for words in ((), ("--resume", "runs"), ("--resume", "runs")):
        _, lines = told("fix", "in", "-o", "out", *words)
        assert lines[-1] == "note: configured for 3 models by onnxpad.toml: style pad"


def test_one_model_and_a_folder() -> None:
    for folder in ("new/er", "there"):
        Path("there").mkdir(exist_ok=True)
        code, lines = told("fix", "in/a/same.onnx", "-o", folder, "--no-validate")
        assert (code, lines[-2].split(" (")[0]) == (0, f"Wrote {folder}/same.onnx")
    Path("in/damaged.onnx").write_bytes(b"damaged")
    assert told("fix", "in/damaged.onnx", "-o", "none")[0] == 2
    assert not Path("none").exists()
    Path("file").touch()
    assert told("fix", "in/a/same.onnx", "-o", "file", "--no-validate")[0] == 0
    assert Path("file").stat().st_size
    for output in ("out", "there"):
        assert "inn does not exist; check" in onnxpad_runs("fix", "inn/", "-o", output).stderr


def test_warnings_and_all_that_stays() -> None:
    model = net(COMPUTED)
    model.metadata_props.add(key="onnxpad.sizes", value="x")
    onnx.save(model, "in/c.onnx")
    for words in ("fix in -o out --no-validate", "check in --jobs 1", "validate in in"):
        found = data(*words.split())
        (told,) = (each["warnings"] for each in found["files"] if each["path"] == "in/c.onnx")
        assert "the metadata onnxpad.sizes is ignored" in told[0]
        line, last = (line for line in told_lines(words, "-q") if "in/c.onnx: " in line)
        assert ("1 warning" in line, last) == (True, f"warning in in/c.onnx: {told[0]}")
        known = f"{words} --resume runs --fail-on error"[: None if words[0] == "c" else -16]
        assert [len(told_lines(known, "-q")) for _ in range(2)] == [2, 0]
        full = told_lines(words, "-v", "--html", "page.html")
        assert f"  warning: {told[0]}" in full
        page = Path("page.html").read_text("utf-8")
        assert page.index("4 models: ") < page.index(told[0])
        assert " - in</title>" in page
    many = [FileOutcome(f"{at // 2}", 0, "", "", warnings=(f"w{at // 2}",)) for at in range(9)]
    lines = FolderReport("fix", tuple(many)).text().splitlines()
    assert "warning in 2 models (0, 0): w0" in lines
    assert lines[-1] == "  and 2 more warnings (--verbose has them)"
    stays = told_lines("fix in -o out --no-validate", "-v")
    assert [line for line in stays if line.startswith("  PAD501 ")]
    assert [line for line in stays if line.startswith("  Next: --")]


def test_validate_two_trees() -> None:
    assert told("fix", "in", "-o", "out", "--no-validate")[0] == 0
    Path("out/open.onnx").unlink()
    onnx.save(one("y = Neg (x)"), "out/b/plain.onnx")
    onnx.save(MODELS["open"], "out/more.onnx")
    code, lines = told("validate", "in", "out", "--jobs", 2, "--resume", "runs")
    assert code == 3
    assert lines[0].startswith("in/b/plain.onnx: failed (exit code 3): output 'y'")
    assert "; it begins at " in lines[0]
    assert lines[1] == "in/open.onnx: no partner (exit code 2): there is no out/open.onnx"
    assert lines[2] == "out/more.onnx: no partner (exit code 2): there is no in/more.onnx"
    assert lines[3] == "in/a/same.onnx: agree"
    again = told("validate", "in", "out", "--resume", "runs")
    assert again == (code, [*(f"{line} (known)" for line in lines[:4]), "", *again[1][5:]])
    onnx.save(MODELS["b/plain"], "out/b/plain.onnx")
    assert told("validate", "in", "out", "--resume", "runs")[0] == 2
    assert data("validate", "in/a/same.onnx", "out/a/same.onnx", "--jobs", 1)["exit_code"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fix in --diff", "--diff is not for a run over many"),
        ("fix in --in-place -o out", "exclude each other"),
        ("fix in --jobs 0", "jobs (--jobs) is above zero, not 0"),
        ("check in --time-limit nan", "time_limit (--time-limit) is above zero, not nan"),
        ("fix in/open.onnx -o in/b/plain.onnx/", "in/b/plain.onnx is a file, not a folder"),
        ("fix in/open.onnx in/none.onnx", "in/none.onnx does not exist"),
        ("fix none*.onnx", "none*.onnx: there is no .onnx file"),
        ("check in --jobs 2 --format sarif", "--format sarif is not for a run over many"),
        ("check in --jobs 0 --time-limit 0 --resume in", "cannot keep outcomes"),
        ("validate in in --inputs x.npz", "--inputs is not for a run over many"),
        ("validate in in/open.onnx", "in/open.onnx"),
        ("fix in -o in", "in is in --output; name another folder, or --in-place"),
        ("show in", "in is a folder; name a model (fix and check take folders, validate two)"),
        ("check in --fail-on eror", "names no code; did you mean 'error'?"),
        ("check in --fail-on error,", "'' is no severity and names no code"),
        ("fix in -o out.onnx", "out.onnx names a file; several models"),
        ("fix in/a in/b/../a in/b -o in/open.onnx", "in/open.onnx names a file; several"),
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
