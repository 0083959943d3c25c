"""The report of `check` as annotations: escaped, and within GitHub's limit."""

import pytest

from onnxpad.finding import Finding, Severity
from onnxpad.options import Options
from onnxpad.report import CheckReport, FileReport
from onnxpad.report.ci import MOST, check_github
from tests.support import MODELS, onnxpad_runs


def finding(severity: str, node: str = "conv", message: str = "a Pad") -> Finding:
    reason = "the height is open" if severity == "info" else ""
    return Finding("PAD201", Severity(severity), node, "Conv", message, reason)


def lines(*files: FileReport, fail_on: str = "warning", quiet: bool = False) -> list[str]:
    report = CheckReport(Options(), Severity(fail_on), files)
    return check_github(report, quiet=quiet).splitlines()


def test_errors_come_first() -> None:
    file = FileReport("m.onnx", (finding("info"), finding("warning"), finding("error")))
    unreadable = FileReport("n.onnx", error="n.onnx: is cut short", warnings=("not used",))
    assert lines(file, unreadable) == [
        "::error file=m.onnx,title=PAD201 conv (Conv)::a Pad",
        "::error file=n.onnx::n.onnx: is cut short",
        "::warning file=m.onnx,title=PAD201 conv (Conv)::a Pad",
        "::warning file=n.onnx::not used",
        "::notice file=m.onnx,title=PAD201 conv (Conv)::a Pad; stays: the height is open",
    ]
    assert lines(FileReport("clean.onnx", notes=("h is 32",))) == []


def test_what_would_end_a_value_is_escaped() -> None:
    file = FileReport("50%, a:b.onnx", (finding("error", "x:0,1%", "100%: so,\r\n::error::"),))
    (line,) = lines(file)
    assert line == (
        "::error file=50%25%2C a%3Ab.onnx,title=PAD201 x%3A0%2C1%25 (Conv)::"
        "100%25: so,\\r\\n::error::"
    )
    hidden = FileReport("a\n::set-env name=A::b.onnx", error="no\n::add-mask::all")
    (line,) = lines(hidden)
    assert line == "::error file=a\\n%3A%3Aset-env name=A%3A%3Ab.onnx::no\\n::add-mask::all"


def test_paths_are_relative() -> None:
    path = MODELS / "net.onnx"
    folder = MODELS.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        found = lines(FileReport(str(path), (finding("error"),), error=f"{path}: no"))
    assert [line.partition(",")[0].partition("::n")[0] for line in found] == [
        *("::error file=models/net.onnx::models/net.onnx: no", "::error file=models/net.onnx")
    ]


@pytest.mark.parametrize(
    ("warnings", "infos", "last"),
    [
        (MOST, MOST, None),
        (MOST + 1, 3, "GitHub shows 10 of each level a step; not shown: 1 warning"),
        (1234, 12, "GitHub shows 10 of each level a step; not shown: 1,224 warnings and 2 infos"),
    ],
)
def test_what_does_not_fit_is_counted(warnings: int, infos: int, last: str | None) -> None:
    found = [finding("info")] * infos + [finding("warning")] * warnings
    told = lines(FileReport("m", tuple(found)))
    assert sum(line.startswith("::warning ") for line in told) == min(warnings, MOST)
    assert sum(line.startswith("::notice ") for line in told) == min(infos, MOST)
    assert [line for line in told if not line.startswith("::")] == ([last] if last else [])
    assert told[-1] == (last or told[-1])


def test_what_fails_comes_first_of_its_level() -> None:
    fails = Finding("PAD301", Severity.WARNING, "p", "MaxPool", "a pool", "")
    file = FileReport("m", (*[finding("warning")] * MOST, fails))
    first, *_ = check_github(CheckReport(Options(), "PAD301", (file,))).splitlines()
    assert "title=PAD301 p " in first


def test_quiet_tells_what_fails() -> None:
    file = FileReport("m", (finding("info"), finding("warning"), finding("error")))
    assert [line.split()[0] for line in lines(file, quiet=True)] == ["::error", "::warning"]
    assert [line.split()[0] for line in lines(file, quiet=True, fail_on="error")] == ["::error"]


def test_the_command_ends_as_in_text() -> None:
    model = MODELS / "mobilenet_keras.onnx"
    result = onnxpad_runs("check", model, "--format", "github")
    first, last = result.stdout.splitlines()
    assert (result.exit_code, first.split()[0]) == (1, "::warning")
    assert last == onnxpad_runs("check", model).stdout.splitlines()[-1]
    quiet = onnxpad_runs("check", model, "--format", "github", "-q")
    assert quiet.stdout == f"{first}\n"
