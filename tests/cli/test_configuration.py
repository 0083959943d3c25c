"""Configuration files: which holds, what it says, what it may not say, and what is told of it."""

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from typer.testing import Result

import onnxpad
from onnxpad.cli.configuration import Keys, options_of
from onnxpad.cli.options import Asked
from tests.report.test_json_schema import check as check_schema
from tests.support import PADS, W, forks, one, onnxpad_runs
from tests.support.manual import blocks
from tests.support.rows import each_row

NODES = (
    "a = Pad (x, p) b = Conv (a, w)\n"
    'c = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3]> (b)\n'
    "y = MaxPool <kernel_shape = [2, 2], pads = [0, 0, 1, 1]> (c)"
)
MODEL = one(NODES, inputs="float[1, 2, height, 8] x", initializers=f"{W}, {PADS}")
"""In style fold a PAD101 and a PAD201; in style pad also a PAD202."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a model, and one in a folder below."""
    here = tmp_path / "project"
    (here / "exported" / "deep").mkdir(parents=True)
    for name in ("model.onnx", "exported/a.onnx", "exported/deep/b.onnx"):
        onnx.save(MODEL, here / name)
    monkeypatch.chdir(here)
    return here


def wrote(path: str, *lines: str) -> None:
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def ran(*args: object) -> dict[str, Any]:
    """The JSON of a command, which the schema knows."""
    result = onnxpad_runs(*args, "--format", "json")
    assert result.stderr == ""
    document: dict[str, Any] = json.loads(result.stdout)
    check_schema(document)
    return document


def codes_of(*args: object) -> Counter[str]:
    """The codes that `check` finds."""
    return Counter(
        each["code"] for file in ran("check", *args)["files"] for each in file["findings"]
    )


def error_line(result: Result) -> str:
    """The one line of a command that did nothing else."""
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line.removeprefix("error: ")


def config_of(model: str) -> str | None:
    """The file that holds for a model."""
    asked = Asked(**dict.fromkeys(Keys.__struct_fields__))
    ((_, found),) = options_of(asked, [Path(model)]).values()
    return None if found is None else found.path


class TestWhichFileHolds:
    def test_the_nearest_upward_from_the_model(self) -> None:
        wrote("../onnxpad.toml", 'style = "pad"')
        assert config_of("exported/deep/b.onnx") == str(Path("../onnxpad.toml").resolve())
        wrote("pyproject.toml", "[tool.onnxpad]", 'style = "pad"')
        assert config_of("exported/deep/b.onnx") == "pyproject.toml"
        wrote("exported/onnxpad.toml", 'style = "pad"')
        assert config_of("exported/deep/b.onnx") == "exported/onnxpad.toml"
        assert config_of("model.onnx") == "pyproject.toml"
        wrote("exported/deep/pyproject.toml", "[project]", 'name = "onnxpad"')
        assert config_of("exported/deep/b.onnx") == "exported/onnxpad.toml"
        wrote("exported/deep/onnxpad.toml")
        assert config_of("exported/deep/b.onnx") is None  # an empty one holds, too

    def test_else_upward_from_the_working_folder(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wrote("exported/onnxpad.toml", 'style = "pad"')
        monkeypatch.chdir("exported/deep")
        model = place / "model.onnx"
        assert config_of(str(model)) == str(place / "exported" / "onnxpad.toml")
        assert ran("fix", model, "--diff", "--no-validate")["style"] == "pad"
        wrote(str(place / "onnxpad.toml"), 'style = "symmetric"')
        assert ran("fix", model, "--diff", "--no-validate")["style"] == "symmetric"

    def test_a_link_has_that_of_its_folder(self, place: Path) -> None:
        wrote("exported/onnxpad.toml", 'style = "pad"')
        Path("link.onnx").symlink_to(place / "exported" / "a.onnx")
        Path("exported/deep/link.onnx").symlink_to(place / "model.onnx")
        assert config_of("link.onnx") is None
        assert config_of("exported/deep/link.onnx") == "exported/onnxpad.toml"
        assert config_of("exported/../model.onnx") is None

    @each_row("model", ["-", "no/such/folder/m.onnx", "a" * 300, "m" * 9 + "/.."])
    def test_a_model_that_is_not_there(self, model: str) -> None:
        wrote("onnxpad.toml", 'style = "pad"')
        assert config_of(model) == "onnxpad.toml"
        assert onnxpad_runs("fix", model).exit_code == 2
        assert onnxpad_runs("check", model).exit_code == 2

    def test_a_working_folder_that_is_gone(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gone = place / "gone"
        gone.mkdir()
        monkeypatch.chdir(gone)
        gone.rmdir()
        assert onnxpad_runs("check", place / "model.onnx").exit_code == 1
        monkeypatch.chdir(place)

    def test_each_command_reads_it(self) -> None:
        wrote("onnxpad.toml", "no toml")
        for words in ("fix", "check", "show", "repad --to tensorflow", "explain --node y"):
            told = error_line(onnxpad_runs(*words.split(), "model.onnx"))
            assert told.startswith("onnxpad.toml: ")
            assert "line 1" in told

    def test_the_library_reads_none(self) -> None:
        wrote("onnxpad.toml", "no toml")
        assert len(onnxpad.check("model.onnx").findings) == 2
        assert onnxpad.fix("model.onnx", validate=False).options.style == "fold"

    @each_row(
        "text",
        [
            "[project]\nname = 'x'\n\t[ tool . \"onnxpad\" ] # c\nstyle = 'pad'",
            "['tool'.'onnxpad']\nstyle = 'pad'\r\n",
            "tool.onnxpad.style = 'pad'",
            "tool = { onnxpad = { style = 'pad' } }",
            "[tool.other]\n[tool]\nonnxpad.style = 'pad'",
        ],
    )
    def test_tables_of_a_pyproject(self, text: str) -> None:
        wrote("pyproject.toml", text)
        assert ran("fix", "model.onnx", "--diff", "--no-validate")["style"] == "pad"

    @each_row(
        "text",
        [
            "[project]\nname = 'onnxpad'",
            "[tool.onnxpads]\nstyle = 'pad'",
            "[tool.ruff]\nonnxpad = 1",
            "tool = 3",
            "[[tool]]\nonnxpad = 3",
            "no toml at all",
            "a = '''\n[tool.onnxpad]\n'''",
        ],
    )
    def test_a_pyproject_without_one_does_not_count(self, text: str) -> None:
        wrote("onnxpad.toml", 'style = "pad"')
        wrote("exported/pyproject.toml", text)
        assert config_of("exported/a.onnx") == "onnxpad.toml"

    def test_without_a_file_no_module_is_imported(self, place: Path) -> None:
        wrote("pyproject.toml", "[project]", "name = 'onnxpad'")
        program = (
            "import sys\nfrom onnxpad.cli import app\n"
            "try:\n    app()\nexcept SystemExit:\n    pass\n"
            "print(*({'tomllib'} & sys.modules.keys()))"
        )
        done = forks.run(program, "check", "model.onnx", "-q", modules=forks.LIGHT)
        assert "tomllib" not in done.stdout.splitlines()[-1], done.stderr
        wrote("onnxpad.toml", 'style = "pad"')
        done = forks.run(program, "check", "model.onnx", "-q", modules=forks.LIGHT)
        assert "tomllib" in done.stdout.splitlines()[-1]


class TestWhatHolds:
    @pytest.mark.parametrize(
        ("line", "field", "value", "typed", "then"),
        [
            ('style = "pad"', "style", "pad", "--style fold", "fold"),
            ('select = "PAD2"', "select", ["PAD2"], "--select PAD101", ["PAD101"]),
            ('ignore = ["PAD2", "pad101"]', "ignore", ["PAD2", "PAD101"], "--ignore PAD101",
             ["PAD101"]),
            ('target = "tract"', "target", ["tract"], "--target openvino", ["openvino"]),
        ],
    )  # fmt: skip
    def test_a_key_holds_unless_it_is_typed(
        self, line: str, field: str, value: object, typed: str, then: object
    ) -> None:
        wrote("onnxpad.toml", line)
        fix = ("fix", "model.onnx", "--diff", "--no-validate")
        assert ran(*fix)[field] == value
        assert ran(*fix, *typed.split())[field] == then
        key = line.partition(" ")[0]
        told = ran(*fix)["config"]
        assert told["path"] == "onnxpad.toml"
        assert [*told["options"]] == [key]
        assert ("config" in ran(*fix, *typed.split())) == (not typed)

    def test_each_command_says_once_what_it_takes_of_it(self) -> None:
        wrote("onnxpad.toml", 'style = "pad"', 'target = "tract"', 'fail-on = "error"')
        assert ran("show", "model.onnx")["config"]["options"] == {"target": ["tract"]}
        for command in ("repad --to keras model.onnx", "validate model.onnx model.onnx"):
            assert "config" not in ran(*command.split())
        for command in ("fix --diff --no-validate -o out.onnx", "check", "show"):
            result = onnxpad_runs(*command.split(), "model.onnx", "--html", "page.html")
            page = Path("page.html").read_text("utf-8")
            assert page.count("configured by onnxpad.toml") == 1, command
            assert "diff" in command or result.stdout.count("configured by onnxpad.toml") == 1
        check = onnxpad_runs("check", ".")
        assert (check.exit_code, check.stdout.count("configured for 3 models by")) == (0, 1)
        result = onnxpad_runs("check", "model.onnx", "--format", "sarif")  # which has no place
        assert ("configured" in result.stdout, "configured" in result.stderr) == (False, True)
        result = onnxpad_runs("check", "model.onnx", "--format", "github")
        assert ("configured" in result.stdout, result.stderr) == (True, "")

    def test_a_target_of_ones_own_is_from_the_folder_of_the_file(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wrote("exported/npu.toml", 'title = "NPU"')
        wrote("exported/onnxpad.toml", 'target = ["./npu.toml", "exported/npu.toml"]')
        told = "onnxpad.toml: exported/exported/npu.toml: No such file or directory"
        assert error_line(onnxpad_runs("check", "exported/a.onnx")).endswith(told)
        wrote("exported/onnxpad.toml", 'target = ["./npu.toml"]')
        assert ran("show", "exported/a.onnx")["targets"] == ["exported/npu.toml"]
        monkeypatch.chdir("exported/deep")
        assert ran("show", "b.onnx")["targets"] == [str(place / "exported" / "npu.toml")]


class TestCodes:
    def test_what_is_left_decides_and_what_is_typed_goes_before_by_key(self) -> None:
        wrote("onnxpad.toml", 'select = ["PAD1"]', 'ignore = ["PAD101"]')
        assert codes_of("model.onnx") == Counter()
        assert onnxpad_runs("check", "model.onnx").exit_code == 0
        assert codes_of("model.onnx", "--ignore", "PAD2") == Counter({"PAD101": 1})
        assert codes_of("model.onnx", "--select", "PAD2") == Counter({"PAD201": 1})

    def test_quiet_tells_a_configuration_that_may_have_come_with_a_model(self) -> None:
        wrote("exported/onnxpad.toml", 'style = "symmetric"')
        said = "configured for 2 models by exported/onnxpad.toml: style symmetric"
        for words in (("-q",), ("-q", "--format", "github")):
            assert said in onnxpad_runs("check", "exported", *words).stdout

    def test_each_model_fails_by_its_own_severity(self) -> None:
        wrote("exported/onnxpad.toml", 'fail-on = "error"')
        assert ran("check", "exported")["fail_on"] == "error"
        both = ran("check", "exported", "model.onnx")
        assert [file["failing"] for file in both["files"]] == [0, 0, 2]
        assert (both["exit_code"], both["fail_on"]) == (1, "warning")
        assert [file.get("config", {}).get("options") for file in both["files"]] == [
            {"fail-on": "error"}, {"fail-on": "error"}, None,
        ]  # fmt: skip
        assert onnxpad_runs("check", "exported", "--fail-on", "warning").exit_code == 1
        wrote("exported/deep/onnxpad.toml", 'fail-on = "info"')
        assert [file["failing"] for file in ran("check", "exported")["files"]] == [0, 2]

    def test_codes_and_prefixes_fail_too(self) -> None:
        for asked, code in (("error", 0), ("error,PAD2", 1), ("PAD7", 0), ("pad101", 1)):
            wrote("onnxpad.toml", f"fail-on = {asked.split(',')}")
            for words in ((), ("--jobs", "1")):
                assert onnxpad_runs("check", "model.onnx", *words).exit_code == code, asked
                typed = ("--fail-on", asked, *words)
                assert onnxpad_runs("check", "model.onnx", *typed).exit_code == code, asked
        assert len(onnxpad.check("model.onnx").failing(["error", "PAD2"])) == 1
        (found,) = onnxpad.check_all("model.onnx", fail_on="PAD1")
        assert found.outcome == "failed"


def test_models_are_excluded_from_folders() -> None:
    wrote("onnxpad.toml", "exclude = ['exported/d*']")
    for words in ("check exported", "check exported --jobs 1", "validate exported exported"):
        found = onnxpad_runs(*words.split())
        assert "note: onnxpad.toml: exclude leaves out exported/deep/b.onnx\n" in found.stderr
        assert "deep" not in found.stdout
        assert onnxpad_runs(*words.split(), "-q").stderr == ""
    for words in ("check", "show", "validate exported/a.onnx", "fix --no-validate --jobs 1"):
        assert onnxpad_runs(*words.split(), "exported/deep/b.onnx").exit_code != 2, words
    assert onnxpad_runs("validate", "exported/deep/b.onnx", "model.onnx").exit_code == 0
    assert "exclude leaves out" in error_line(onnxpad_runs("check", "exported/deep"))
    Path("onnxpad.toml").replace("exported/onnxpad.toml")
    wrote("exported/onnxpad.toml", "exclude = ['deep/*']")
    assert "exclude" in onnxpad_runs("check", "exported", "-q").stderr  # it may be another's


def test_each_set_of_options_is_told_with_its_models() -> None:
    wrote("onnxpad.toml", "style = 'pad'", "[per-file-ignores]", "'exported/*' = ['PAD1']")
    said = onnxpad_runs("check", "exported", "model.onnx", "--format", "github").stdout
    assert (
        "for 2 models (exported/a.onnx, exported/deep/b.onnx) by onnxpad.toml: style pad, " in said
    )
    assert "for 1 model (model.onnx) by onnxpad.toml: style pad\n" in said


class TestSizes:
    def test_they_are_for_the_models_that_fit_and_have_them(self) -> None:
        wrote("onnxpad.toml", "dim = 'height=6'", "[per-file-dim]", "'exported/*' = ['height=8']")
        plain = one("y = Relu (x)")
        onnx.save(plain, "exported/plain.onnx")
        onnx.save(plain, "plain.onnx")
        for path, size in (("model", 6), ("exported/a", 8), ("exported/deep/b", 8)):
            said = ran("fix", f"{path}.onnx", "-o", "one.onnx", "--no-validate")
            assert said["declared"] == {"x": [1, 2, size, 8]}
            assert said["config"]["options"] == {"dim": [f"height={size}"]}
            said = ran("fix", f"{path}.onnx", "--diff", "--dim", "height=7", "--no-validate")
            assert (said["declared"]["x"][2], "config" in said) == (7, False)
            for words in ("repad --to tensorflow -o one.onnx", "explain --node y"):
                said = ran(*words.split(), f"{path}.onnx")
                assert said["config"]["options"] == {"dim": [f"height={size}"]}
                assert "config" not in ran(*words.split(), f"{path}.onnx", "--shape", "1,2,9,8")
        assert onnxpad_runs("fix", "plain.onnx", "--dim", "height=7").exit_code == 2
        assert onnxpad_runs("fix", "plain.onnx", "-o", "out.onnx").exit_code == 0
        found = ran("fix", "exported", "-o", "fixed")["files"]
        assert [each["report"]["declared"].get("x") for each in found] == [
            [1, 2, 8, 8], [1, 2, 8, 8], None,
        ]  # fmt: skip
        assert onnxpad_runs("check", "exported", "plain.onnx").exit_code == 1
        assert ran("validate", "exported", "fixed")["exit_code"] == 0
        for words in ("exported/a.onnx fixed/a.onnx", "exported/a.onnx model.onnx"):
            run = ran("validate", *words.split())["validation"]["runs"][0]
            assert "1x2x8x8" in run["inputs"], run
        wrote("onnxpad.toml", "[per-file-dim]", "'none/*' = ['height=8']")
        told = onnxpad_runs("validate", "exported", "fixed").stderr
        assert told == "note: onnxpad.toml: per-file-dim 'none/*' fits no model of this run\n"

    def test_a_name_that_no_model_has_is_noted(self) -> None:
        wrote("onnxpad.toml", "dim = 'hieght=6'", "[per-file-dim]", "'exported/*' = ['hight=8']")
        for words in (
            "check exported",
            "fix exported -o out --no-validate",
            "show exported/a.onnx",
        ):
            lines = onnxpad_runs(*words.split()).stderr.splitlines()
            for line, pattern in zip(lines, ("dim", "per-file-dim 'exported/*'"), strict=True):
                assert line.startswith(f"note: onnxpad.toml: {pattern}: ")
                assert line.endswith("; there is 'height'; did you mean 'height'?")
        wrote("onnxpad.toml", "dim = ['other=6', 'height=6']", "exclude = 'none/*'")
        assert onnxpad_runs("check", "exported", "-q").stderr == (
            "note: onnxpad.toml: exclude 'none/*' fits no model of this run\n"
            "note: onnxpad.toml: dim: none of 2 models: there is no dimension 'other'; "
            "there is 'height'\n"
        )
        onnx.save(one("y = Relu (x)", inputs="float[s, t] x"), "exported/other.onnx")
        onnx.save(one("y = Relu (x)"), "exported/whole.onnx")
        wrote("onnxpad.toml", "[per-file-dim]", "'*' = 'height=6'", "'exported/*' = 'height=8'")
        found = onnxpad_runs("fix", "exported", "-o", "out", "--no-validate")
        assert found.stderr == (
            "note: onnxpad.toml: per-file-dim 'exported/*': exported/other.onnx: there is no "
            "dimension 'height' to give a size; there is 's', 't'\n"
        )
        configured = "note: configured for 2 models (exported/a.onnx, exported/deep/b.onnx) by "
        assert f"{configured}onnxpad.toml: dim height=8" in found.stdout
        for words in ("check exported -v", "fix exported/other.onnx", "show exported/whole.onnx"):
            assert ("configured" in onnxpad_runs(*words.split()).stdout) == ("check" in words)
        assert onnxpad_runs("check", "exported", "-q").stderr == ""


class TestWhatIsRefused:
    @each_row(
        "lines",
        [
            '\n# c\nStyle = "pad"', "style = 'folds'", "style = 3", "fail-on = true",
            "select = 3", "select = ['PAD1', ['PAD2']]", "select = ['PAD999']", "ignore = ''",
            "[per-file-ignores]\n'a*' = 'PAD1'\n'b*' = 'PAD0'", "target = 'opencvv'", "target = 3",
            "dim = 'height'", "per-file-dim.'*' = 'height=x'",
            "dims.'*' = 'height=3'", "shapes = ['x=1']", "style = 'pad'\nstyle = 'pad'",
            "style = pad",
        ],
    )  # fmt: skip
    def test_what_is_wrong(self, lines: str) -> None:
        wrote("onnxpad.toml", lines)
        result = onnxpad_runs("check", "model.onnx", "--format", "json")
        assert result.exit_code == 2
        assert json.loads(result.stdout)["error"]["kind"] == "usage"

    @each_row("name", ["passes", "output", "trust", "strict", "dynamic", "styl"])
    def test_another_key(self, name: str) -> None:
        wrote("onnxpad.toml", 'style = "pad"', f'{name} = "x"')
        error_line(onnxpad_runs("fix", "model.onnx"))
        assert not Path("model.fixed.onnx").exists()
        Path("onnxpad.toml").unlink()
        for text in (f"[tool.onnxpad]\n{name} = 'x'", "[tool]\nonnxpad = 3", "[[tool.onnxpad]]"):
            wrote("exported/pyproject.toml", text)
            told = error_line(onnxpad_runs("check", "model.onnx", "exported"))
            assert told.startswith("exported/pyproject.toml: ")
        Path("exported/pyproject.toml").unlink()

    @pytest.mark.parametrize(
        "make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nowhere")]
    )
    def test_what_cannot_be_read(self, make: Callable[[Path], object]) -> None:
        make(Path("onnxpad.toml"))
        assert error_line(onnxpad_runs("check", "model.onnx"))
        if not Path("onnxpad.toml").is_file():  # what is no file is no pyproject either
            Path("onnxpad.toml").replace("exported/pyproject.toml")
            assert onnxpad_runs("check", "exported/a.onnx").exit_code == 1

    def test_a_pyproject_that_is_too_long(self) -> None:
        Path("pyproject.toml").write_bytes(b" " * (1 << 19) + b"\n" + b"[" * (1 << 18))
        start = time.process_time()
        assert onnxpad_runs("check", "model.onnx").exit_code == 1
        assert time.process_time() - start < 10
        Path("pyproject.toml").write_bytes(b"\n" * (1 << 21))
        assert onnxpad_runs("check", "model.onnx").exit_code == 1
        Path("pyproject.toml").write_bytes(b"[tool.onnxpad]\n" + b"#" * (1 << 21))
        told = "pyproject.toml is longer than 1,048,576 bytes"
        assert error_line(onnxpad_runs("check", "model.onnx")) == told


def test_the_examples_of_the_manual() -> None:
    own, project = (block.text for block in blocks("toml", page="configuration"))
    Path("onnxpad.toml").write_text(own, encoding="utf-8")
    assert ran("show", "model.onnx")["config"]["options"]["target"] == ["openvino"]
    Path("exported/pyproject.toml").write_text(project, encoding="utf-8")
    fix = ("fix", "exported/a.onnx", "--diff", "--no-validate")
    assert ran(*fix)["config"]["options"]["style"] == "symmetric"
