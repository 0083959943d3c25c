"""What the commands promise: streams, files, exit codes. The api is a stand-in with set answers."""

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import onnx
import pytest
from msgspec import Struct, field
from msgspec.structs import replace
from typer.main import get_command
from typer.testing import Result

import onnxpad.api
from onnxpad.api.check import CheckResult
from onnxpad.cli import COMMANDS, app
from onnxpad.cli.options import CheckFormat
from onnxpad.errors import ModelError, OutputError, ProviderError, UsageError
from onnxpad.finding import Certificate, Change, Counts, Finding, Severity
from onnxpad.options import Options
from onnxpad.report import FixReport
from onnxpad.rewrite import registry
from onnxpad.validation.result import Comparison, Run, Validation, not_validated
from tests.support import MODELS, forks, onnxpad_runs, site_form
from tests.support.rows import each_row

FORMS = site_form("Pad"), site_form("Conv pads H 0+1")
CHANGE = Change("PAD201", "conv1", "Conv", *FORMS, Certificate("same reads"))
WARNING = Finding("PAD201", Severity.WARNING, "conv1", "Conv", "a Pad in front")
REFUSED = Finding("PAD501", Severity.INFO, "conv2", "Conv", "SAME_UPPER", "the height is open")
DIFFERS = Comparison("y", equal=False, max_abs=1.0, max_rel=1.0, detail="", ok=False)
FAILED = Validation(
    ok=False, runs=(Run("CPUExecutionProvider", "off", "x", (DIFFERS,), (0.1, 0.1), "", ok=False),)
)
PASSED = Validation(ok=True, runs=(), probes=1)
NOTHING = not_validated("input 'x' is no tensor")


class Fixed(FixReport, frozen=True, dict=True):
    """A FixResult with set answers; saving writes a mark."""

    name: str = "model"
    options: Options = field(default_factory=Options)
    changed: bool = True
    validate: bool = True
    changes: tuple[Change, ...] = (CHANGE,)
    findings: tuple[Finding, ...] = (REFUSED,)
    undone: tuple[Finding, ...] = ()
    validation: Validation | None = PASSED
    counts: tuple[Counts, Counts] = (Counts(nodes=2), Counts(nodes=1))
    seconds: float = 0.5

    def save(self, path: Path, **options: Any) -> tuple[Path, ...]:
        Path(path).write_bytes(b"fixed" if self.changed else b"original")
        return ()


UNCHANGED = Fixed(changes=(), validation=None, changed=False)


class Api(Struct):
    """The api's two functions, answering as told and remembering what they were asked."""

    fixed: Fixed | BaseException = field(default_factory=Fixed)
    found: dict[str, tuple[Finding, ...] | Exception] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def fix(self, model: Path, **options: Any) -> Fixed:
        self.asked.append({"model": model, **options})
        if options["progress"] is not None:
            options["progress"]("certify", 0, 1)
        if isinstance(self.fixed, BaseException):
            raise self.fixed
        return self.fixed

    def check(self, model: Path, **options: Any) -> CheckResult:
        self.asked.append({"model": model, **options})
        found = self.found.get(model.name, ())
        if isinstance(found, Exception):
            raise found
        return CheckResult(str(model), found)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    api = Api()
    for name in ("fix", "check"):
        monkeypatch.setitem(sys.modules, f"onnxpad.api.{name}", api)
        monkeypatch.setattr(onnxpad.api, name, api, raising=False)
    codes = ("PAD101", "PAD201", "PAD202", "PAD501")
    monkeypatch.setattr(registry, "every_code", lambda: codes)
    return api


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"original")
    return path


def error_line(result: Result) -> str:
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line


class TestFix:
    def test_writes_beside_the_model(self, api: Api, model: Path) -> None:
        result = onnxpad_runs("fix", model)
        assert result.exit_code == 0
        assert result.stderr == ""
        assert model.with_name("model.fixed.onnx").read_bytes() == b"fixed"
        assert model.read_bytes() == b"original"
        assert "model.fixed.onnx" in result.stdout

    def test_in_place_replaces_the_file_behind_a_link(
        self, api: Api, model: Path, tmp_path: Path
    ) -> None:
        link = tmp_path / "link.onnx"
        link.symlink_to(model)
        assert onnxpad_runs("fix", link, "--in-place").exit_code == 0
        assert link.is_symlink()
        assert model.read_bytes() == b"fixed"

    @pytest.mark.parametrize("outcome", [UNCHANGED, Fixed(validation=FAILED)])
    def test_an_older_result_that_stays_is_told_of(
        self, api: Api, model: Path, outcome: Fixed
    ) -> None:
        api.fixed = outcome
        older = model.with_name("model.fixed.onnx")
        older.write_bytes(b"older")
        document = json.loads(onnxpad_runs("fix", model, "--format", "json").stdout)
        assert (document["older"], document["written"]) == (str(older), None)
        assert older.read_bytes() == b"older"
        assert "older file" not in onnxpad_runs("fix", model, "--diff").stdout

    def test_unchanged_with_a_name_is_copied(self, api: Api, model: Path, tmp_path: Path) -> None:
        api.fixed = UNCHANGED
        result = onnxpad_runs("fix", model, "-o", tmp_path / "out.onnx")
        assert result.exit_code == 0
        assert (tmp_path / "out.onnx").read_bytes() == b"original"

    @pytest.mark.parametrize("extra", [(), ("--in-place",)])
    def test_failed_validation_writes_nothing(
        self, api: Api, model: Path, extra: tuple[str, ...]
    ) -> None:
        api.fixed = Fixed(validation=FAILED)
        result = onnxpad_runs("fix", model, *extra)
        assert result.exit_code == 3
        assert list(model.parent.iterdir()) == [model]
        assert model.read_bytes() == b"original"
        assert "FAILED" in result.stdout

    def test_what_nothing_could_be_compared_of_is_written(self, api: Api, model: Path) -> None:
        api.fixed = Fixed(validation=NOTHING)
        result = onnxpad_runs("fix", model)
        assert result.exit_code == 5
        assert result.stderr == ""
        assert "'x'" in result.stdout.splitlines()[0]
        assert "passed" not in result.stdout
        assert model.with_name("model.fixed.onnx").read_bytes() == b"fixed"
        document = json.loads(onnxpad_runs("fix", model, "--format", "json").stdout)
        assert (document["outcome"], document["exit_code"]) == ("fixed", 5)
        assert document["validation"]["ok"] is False
        assert document["validation"]["outcome"] == "nothing compared"


@each_row(
    "words",
    [
        "",
        "m.onnx --bad",
        "m.onnx --style x",
        "model.onnx --in-place -o x.onnx",
        "model.onnx -o model.onnx",
        "model.onnx -o -",
        "model.onnx -o no/out.onnx",
        "empty",
        "'' ",
        "model.onnx -o ''",
    ],
)
def test_fix_refuses_before_any_work(
    words: str, api: Api, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir(exist_ok=True)
    result = onnxpad_runs("fix", *shlex.split(words))
    assert (result.exit_code, result.stdout, api.asked) == (2, "", [])
    assert error_line(result)
    assert {each.name for each in tmp_path.iterdir()} == {"empty", "model.onnx"}


class TestQuiet:
    @pytest.mark.parametrize("fixed", [Fixed(), UNCHANGED, Fixed(undone=(REFUSED,))])
    def test_a_fix_that_went_well_says_nothing(self, api: Api, model: Path, fixed: Fixed) -> None:
        api.fixed = fixed
        result = onnxpad_runs("fix", model, "-q")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
        assert model.with_name("model.fixed.onnx").exists() == fixed.changed

    @each_row(
        ("fixed", "code"),
        [
            (Fixed(validation=FAILED), 3),
            (Fixed(validation=NOTHING), 5),
            (Fixed(barred=(REFUSED,)), 0),
            (Fixed(validation=Validation(ok=True, runs=(), probes=1, warnings=("a remark",))), 0),
            (Fixed(warnings=("sizes",)), 0),
        ],
    )
    def test_what_needs_attention_is_reported_whole(
        self, api: Api, model: Path, fixed: Fixed, code: int
    ) -> None:
        api.fixed = fixed
        loud = onnxpad_runs("fix", model)
        result = onnxpad_runs("fix", model, "-q")
        assert (result.exit_code, result.stdout, result.stderr) == (code, loud.stdout, loud.stderr)
        assert result.stdout

    def test_json_is_written_all_the_same(self, api: Api, model: Path) -> None:
        api.found["model.onnx"] = (REFUSED, WARNING)
        for command in ("fix", "check"):
            document = json.loads(onnxpad_runs(command, model, "-q", "--format", "json").stdout)
            assert document["command"] == command
        assert len(document["files"][0]["findings"]) == 2

    def test_a_check_reports_only_what_fails_it(self, api: Api, tmp_path: Path) -> None:
        for name in ("clean", "kept", "wrong"):
            (tmp_path / f"{name}.onnx").write_bytes(b"model")
        api.found = {"kept.onnx": (REFUSED,), "wrong.onnx": (REFUSED, WARNING)}
        result = onnxpad_runs("check", tmp_path, "-q")
        assert (result.exit_code, result.stderr) == (1, "")
        (line,) = result.stdout.splitlines()
        assert line.startswith(f"{tmp_path / 'wrong.onnx'}: warning PAD201 conv1")
        result = onnxpad_runs("check", tmp_path, "-q", "--fail-on", "error")
        assert (result.exit_code, result.stdout) == (0, "")
        for pattern, code in (("*.onnx", 1), ("../*", 1), ("k*.onnx", 0)):  # what stays is no fail
            result = onnxpad_runs("check", tmp_path / pattern, "--fail-on", "error,PAD")
            assert result.exit_code == code

    @each_row(
        ("words", "code"),
        [
            ("validate {model} {model}", 0),
            ("validate {model} --reference {arrays}", 3),
            ("match {model} --reference {arrays} -o {result}", 0),
            ("match {model} --reference {arrays} --rtol 0 --atol 0", 3),
            ("repad {model} --to tensorflow -o {result}", 0),
        ],
    )
    def test_the_other_commands_report_what_failed(
        self, tmp_path: Path, words: str, code: int
    ) -> None:
        model = tmp_path / "model.onnx"
        model.write_bytes((MODELS / "misconverted/strided_conv2d.onnx").read_bytes())
        names = {
            "model": model,
            "arrays": MODELS / "misconverted/strided_conv2d.npz",
            "result": tmp_path / "result.onnx",
        }
        names["result"].unlink(missing_ok=True)
        result = onnxpad_runs(*(word.format(**names) for word in words.split()), "-q")
        said = bool(result.stdout), bool(result.stderr)
        assert (result.exit_code, *said) == (code, code > 0, code > 0)
        assert ("{result}" in words) == names["result"].exists()


class TestLoop:
    def test_the_command_that_a_check_names_leaves_nothing(self, tmp_path: Path) -> None:
        for name in ("zeropad_opset10", "conv1d_keras"):
            copy = tmp_path / f"{name}.onnx"
            copy.write_bytes((MODELS / f"{name}.onnx").read_bytes())
        before = onnxpad_runs("check", tmp_path)
        named = before.stdout.splitlines()[-1].partition("fixable with onnxpad ")[2].split()
        assert (before.exit_code, named) == (1, ["fix", str(tmp_path), "-o", f"{tmp_path}.fixed"])
        (tmp_path / "old.fixed.onnx").write_bytes(b"no input of either")
        assert onnxpad_runs(*named, "--no-validate").exit_code == 0
        assert onnxpad_runs("check", f"{tmp_path}.fixed").exit_code == 0


class TestErrors:
    @pytest.mark.parametrize(
        ("failure", "kind", "code"),
        [
            (UsageError("no such style\x1b"), "usage", 2),
            (ModelError("cut short"), "model", 2),
            (OutputError("no room"), "output", 2),
            (ProviderError("no CUDA"), "provider", 4),
            (PermissionError(13, "Permission denied", "m.onnx"), "system", 2),
            (KeyboardInterrupt(), "interrupted", 130),
            (ZeroDivisionError("by zero"), "internal", 70),
        ],
    )
    def test_json_has_the_error_too(
        self, api: Api, model: Path, failure: BaseException, kind: str, code: int
    ) -> None:
        api.fixed = failure
        result = onnxpad_runs("fix", model, "--format", "json")
        assert (result.exit_code, len(result.stderr.splitlines())) == (code, 1)
        document = json.loads(result.stdout)
        assert document["command"] == "fix"
        assert (document["exit_code"], document["error"]["kind"]) == (code, kind)
        if isinstance(failure, onnxpad.OnnxpadError):
            assert document["error"]["message"] == str(failure)

    @each_row(
        "words",
        [
            "fix --format=json",
            "check --bogus --format json",
            "validate m.onnx --format json",
            "rule PAD999 --format json",
            "--bogus --format json",
        ],
    )
    def test_bad_usage_is_json_too(self, api: Api, words: str) -> None:
        result = onnxpad_runs(*words.split())
        document = json.loads(result.stdout)
        found = (result.exit_code, document["exit_code"], document["error"]["kind"])
        assert found == (2, 2, "usage")
        assert document["command"] in {words.split()[0], ""}
        assert document["error"]["message"] in error_line(result)

    def test_a_defect_says_what_where_and_how_to_see_more(
        self, api: Api, model: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        api.fixed = ZeroDivisionError("by zero")
        result = onnxpad_runs("fix", model)
        assert result.exit_code == 70
        monkeypatch.setenv("ONNXPAD_DEBUG", "1")
        assert "Traceback" in onnxpad_runs("fix", model).stderr


class TestCheck:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for name in ("b.onnx", "b.fixed.onnx", "a.onnx", "deep/er/c.ONNX", "deep/notes.txt"):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
        return tmp_path

    def asked(self, api: Api, root: Path) -> list[str]:
        return [str(call["model"].relative_to(root)) for call in api.asked]

    def test_folders_are_searched_and_sorted(self, api: Api, folder: Path) -> None:
        ran = onnxpad_runs("check", folder)
        assert ran.exit_code == 0
        assert "b.fixed.onnx" in ran.stderr  # which is a result, and not checked
        assert self.asked(api, folder) == ["a.onnx", "b.onnx", "deep/er/c.ONNX"]

    def test_a_model_is_checked_once(
        self, api: Api, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(folder.parent)
        onnxpad_runs("check", folder / "b.onnx", folder / "*.onnx", folder, folder.name)
        assert self.asked(api, folder) == ["b.onnx", "a.onnx", "deep/er/c.ONNX"]

    def test_errors_come_first_and_what_stays_is_listed_when_asked_for(
        self, api: Api, model: Path
    ) -> None:
        error = replace(WARNING, severity=Severity.ERROR, node="last")
        api.found = {"model.onnx": (REFUSED, WARNING, error)}
        listed = re.compile(r": (error|warning|info) PAD")

        def severities(*options: str) -> list[str]:
            return listed.findall(onnxpad_runs("check", model, *options).stdout)

        assert severities() == ["error", "warning"]
        assert severities("-v") == severities("--fail-on", "info") == ["error", "warning", "info"]
        assert severities("--select", "PAD") == ["error", "warning", "info"]
        assert severities("-q") == ["error", "warning"]

    @pytest.mark.parametrize("form", CheckFormat)
    def test_the_unreadable_does_not_hide_the_others(
        self, api: Api, folder: Path, form: CheckFormat
    ) -> None:
        api.found = {"a.onnx": ModelError("cut short at byte 3"), "c.ONNX": (WARNING,)}
        result = onnxpad_runs("check", folder, folder / "gone", "--format", form)
        assert result.exit_code == 2
        if form is CheckFormat.TEXT:
            assert "c.ONNX: warning PAD201" in result.stdout
            assert "1 unreadable" in result.stdout.splitlines()[-1]
        elif form is CheckFormat.JSON:
            document = json.loads(result.stdout)
            assert [bool(file["error"]) for file in document["files"]] == [1, 0, 0, 0]
            assert document["exit_code"] == 2
        else:
            assert "deep/er/c.ONNX" in result.stdout

    @each_row("words", [["--select", "PAD9"], ["--ignore", "PAD101,"], ["--ignore", ""]])
    def test_mistakes(self, words: list[str], api: Api, model: Path, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir(exist_ok=True)
        for given in ([model, *words], [""], [tmp_path / "empty"]):
            result = onnxpad_runs("check", *given)
            assert (result.exit_code, api.asked) == (2, [])
            assert error_line(result)
        assert "1 unreadable" in result.stdout

    def test_names_of_models_are_no_control_codes(
        self, api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "-\x1b[2J.onnx").write_bytes(b"model")
        api.found["-\x1b[2J.onnx"] = (WARNING,)
        assert "\x1b" not in onnxpad_runs("check", "./-\x1b[2J.onnx").stdout


# Once with the real api.

SAME = """
<ir_version: 9, opset_import: ["" : 17]>
same (float[1, 1, 6, 6] x) => (float[1, 1, 3, 3] y)
<float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}>
{ y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w) }
"""


@pytest.fixture
def same(tmp_path: Path) -> Path:
    path = tmp_path / "same.onnx"
    onnx.save(onnx.parser.parse_model(SAME), path)
    return path


def test_check_fix_check(same: Path) -> None:
    result = onnxpad_runs("check", same)
    assert result.exit_code == 1
    assert "warning PAD101" in result.stdout
    result = onnxpad_runs("fix", same, "--in-place", "--format", "json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["outcome"], report["written"]) == (0, "fixed", str(same))
    assert [(change["code"], change["op_type"]) for change in report["changes"]] == [
        ("PAD101", "Conv")
    ]
    assert report["validation"]["ok"] is True
    (conv,) = onnx.load(same).graph.node
    pads = {a.name: onnx.helper.get_attribute_value(a) for a in conv.attribute}["pads"]
    assert pads == [0, 0, 1, 1]
    assert onnxpad_runs("check", same, "--fail-on", "info").exit_code == 0
    assert onnxpad_runs("fix", same, "--diff").exit_code == 0


def test_the_json_report_tells_repairs(same: Path, tmp_path: Path) -> None:
    dilated = tmp_path / "dilated.onnx"
    onnx.save(onnx.parser.parse_model(SAME.replace("strides", "dilations")), dilated)
    for path, repairs in ((same, False), (dilated, True)):
        (change,) = json.loads(onnxpad_runs("fix", path, "--format", "json").stdout)["changes"]
        assert change["repairs"] is repairs


def test_what_is_no_model_is_told_in_one_line(same: Path, tmp_path: Path) -> None:
    loop = tmp_path / "loop.onnx"
    loop.symlink_to(loop)
    for words in ([loop], [loop, "--in-place"], [same, "-o", loop]):
        result = onnxpad_runs("fix", *words, "--no-validate")
        assert result.exit_code == 2
        assert str(loop) in error_line(result)
    (tmp_path / "text.onnx").write_text("no model")
    (tmp_path / "empty.onnx").write_bytes(b"")
    for command in ("fix", "check"):
        for name in ("text.onnx", "empty.onnx", "gone.onnx"):
            result = onnxpad_runs(command, tmp_path / name)
            assert result.exit_code == 2
            assert error_line(result).count(str(tmp_path / name)) == 1


def test_what_cannot_be_searched_or_read_does_not_hide_the_others(
    same: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone.onnx").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.onnx").symlink_to("loop.onnx")
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    for name in ("closed", "named.onnx"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "inner.onnx").write_bytes(same.read_bytes())
    troubles = ["closed", "gone.onnx", "loop.onnx"]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.onnx")
        troubles.append("pipe.onnx")
    scan = os.scandir

    def scandir(folder: Any) -> Any:
        if Path(folder).name == "closed":  # nothing is closed to root
            raise PermissionError(13, "Permission denied", str(folder))
        return scan(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    result = onnxpad_runs("check", tmp_path)
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert len(lines) == len(troubles)
    for line, trouble in zip(sorted(lines), troubles, strict=True):
        assert line.startswith(f"error: {tmp_path / trouble}")
    for found in (same, tmp_path / "named.onnx" / "inner.onnx"):
        assert f"{found}: warning PAD101" in result.stdout
    document = json.loads(onnxpad_runs("check", tmp_path, "--format", "json").stdout)
    assert document["summary"]["unreadable"] == len(troubles)
    assert document["exit_code"] == 2


# In a process of its own: what only a real stdout, terminal or import shows.

STUBBED = """
    import sys
    from time import sleep
    from types import ModuleType, SimpleNamespace
    from onnxpad.finding import *
    api = ModuleType("onnxpad.api.fix")
    sys.modules["onnxpad.api.fix"] = sys.modules["onnxpad.api.check"] = api
    import onnxpad.api; onnxpad.api.fix = onnxpad.api.check = api
    name = "\\u7573\\u307f/conv"
    found = Finding("PAD201", Severity.WARNING, name, "Conv", "a Pad " + "x" * 200)
    from onnxpad.finding import Counts
    from onnxpad.finding import SiteForm, StepForm
    forms = SiteForm((StepForm("Pad", "pad"),)), SiteForm((StepForm("Conv", "window"),))
    change = Change("PAD201", name, "Conv", *forms, Certificate("same"))
    from onnxpad.options import Options
    from onnxpad.report import FileReport, FixReport
    api.check = lambda *args, **options: FileReport("m.onnx", (found,) * 20)
    class Fixed(FixReport):
        def save(self, path, **options):
            return ()
    result = Fixed(
        "model", Options(), True, True, (change,) * 20, (), (), None, (Counts(), Counts())
    )
    def fix(*args, progress, **options):
        if progress is not None:
            progress("certify", 1, 4)
        sleep(DELAY)
        return result
    DELAY = 0.0
    api.fix = fix
    from onnxpad.cli import app
"""


def stubbed(*lines: str) -> str:
    """A program whose engine is a stub."""
    return "\n".join((textwrap.dedent(STUBBED), *lines))


def script(*lines: str) -> list[str]:
    """The command of one, in an interpreter of its own."""
    return [sys.executable, "-c", stubbed(*lines)]


def in_terminal(program: str, **env: str) -> str:
    """What a program shows in a terminal of its own, all streams together."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    master, slave = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    env = {**clean, "TERM": "xterm", **env}
    light = forks.LIGHT
    with forks.start(program, modules=light, env=env, stdin=slave, stdout=slave, stderr=slave):
        os.close(slave)
        output = b""
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:  # Linux's end of a terminal
                break
            if not chunk:
                break
            output += chunk
    os.close(master)
    return output.decode()


def test_no_arguments_show_the_help_and_the_version_is_told() -> None:
    result = onnxpad_runs()
    assert result.exit_code == 0
    assert all(name in result.stdout for name in ("Usage:", "fix", "check"))
    assert onnxpad_runs("--version").stdout == f"onnxpad {onnxpad.__version__}\n"
    for args in (["--version"], ["--help"], [], ["check", "--help"]):
        code = (
            "import sys\nfrom onnxpad.cli import app\n"
            f"try: app({args!r})\nexcept SystemExit as end: assert not end.code, end.code\n"
            "heavy = {'onnx', 'numpy', 'onnxpad.api.fix', 'onnxpad.api.check'}\n"
            "assert not heavy & set(sys.modules)\n"
        )
        assert forks.run(code, modules=forks.LIGHT).returncode == 0


def test_a_check_imports_nothing_it_does_not_need(model: Path) -> None:
    lines = (
        "try: app(['check', 'm.onnx', '--format', sys.argv[1]])",
        "except SystemExit: pass",
        "heavy = {'onnx', 'numpy', 'onnxruntime', 'rich', 'pydantic', 'onnx_graphsurgeon'}",
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)",
    )
    for form in CheckFormat:
        if form is CheckFormat.SARIF:  # its rules have the pages of the passes
            continue
        done = forks.run(stubbed(*lines), form, modules=forks.LIGHT)
        assert (done.returncode, done.stderr) == (0, "[]\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_few_options_in_groups(command: str) -> None:
    shown = onnxpad_runs(command, "--help").stdout
    group: Any = get_command(app)
    params = group.get_command(None, command).params
    assert params
    names = [each.opts[0] for each in params if each.param_type_name == "option"]
    assert len(names) <= 20
    assert all(name in shown for name in names)
    assert all(each.help for each in params)


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_has_colours_unless_they_are_off(env: dict[str, str]) -> None:
    shown = in_terminal(stubbed("app(['fix', 'm.onnx'])"), **env)
    assert ("\x1b" in shown) is (not env)
    assert "certify" not in shown  # no bar for quick work


def test_long_work_shows_a_bar() -> None:
    shown = in_terminal(stubbed("DELAY = 2.1", "app(['fix', 'm.onnx'])"))
    assert "certify" in shown
    assert "1/4" in shown
    assert {"0:00:01", "0:00:02"} <= {*re.findall(r"\d:\d\d:\d\d", shown)}
    assert "Wrote" in shown[shown.rindex("certify") :]


def test_quiet_work_shows_no_bar() -> None:
    assert in_terminal(stubbed("DELAY = 0.7", "app(['fix', 'm.onnx', '-q'])")) == ""


def test_a_pipe_has_whole_plain_lines() -> None:
    command = script("app(['check', 'm.onnx'])")
    done = subprocess.run(command, capture_output=True, env={**os.environ, "COLUMNS": "80"})
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 21
    assert all("x" * 200 in line for line in lines[:20])
    assert b"\x1b" not in done.stdout
    assert done.stderr == b""


def test_a_console_that_cannot_show_a_name_gets_it_escaped() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(script("app(['check', 'm.onnx'])"), capture_output=True, env=env)
    assert done.returncode == 1
    assert b"\\u7573\\u307f/conv" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="closes stdout by a shell")
def test_a_stdout_that_cannot_be_written() -> None:
    command = script("app(['check', 'm.onnx'])")
    shut = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE)
    assert (shut.returncode, shut.stderr) == (1, b"")
    read, write = os.pipe()
    os.close(read)
    gone = subprocess.run(command, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (gone.returncode, gone.stderr) == (141, b"")
    if Path("/dev/full").exists():
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE)
            assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
            command = [sys.executable, "-m", "onnxpad", "fix", "missing.onnx"]
            assert subprocess.run(command, stderr=full).returncode == 2
