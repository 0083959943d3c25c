"""The report of `check` as JUnit XML: what readers count is what is there."""

from xml.etree.ElementTree import Element, fromstring

import pytest

from onnxpad.finding import Finding, Severity
from onnxpad.options import Options
from onnxpad.report import CheckReport, FileReport
from onnxpad.report.ci.junit import check_junit
from tests.support import MODELS, onnxpad_runs

WARNING = Finding("PAD201", Severity.WARNING, "conv", "Conv", "a Pad -> pads")
STAYS = Finding("PAD501", Severity.INFO, "pad", "Pad", "computes", "the height is open")

ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"classname", "name", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "system-out": set(),
}
"""What there is and may be: the part that the schemas of Jenkins, Ant and Surefire share."""


def read(text: str) -> Element:
    """The document, after what every one must be."""
    assert text.isascii()
    assert text.startswith("<?xml version='1.0' encoding='us-ascii'?>\n")
    whole = fromstring(text)
    assert whole.tag == "testsuites"
    for part in whole.iter():
        assert part.keys() == [*part.attrib]
        assert set(part.keys()) == ATTRIBUTES[part.tag]
    for part in (whole, *whole):
        cases = [*part.iter("testcase")]
        counts = [len(cases), *(len([*part.iter(name)]) for name in ("failure", "error"))]
        assert [int(part.get(name, "")) for name in ("tests", "failures", "errors")] == counts
        assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)
    return whole


def report(*files: FileReport, fail_on: str = "warning") -> Element:
    return read(check_junit(CheckReport(Options(), Severity(fail_on), files)))


def test_a_case_for_each_finding_that_fails() -> None:
    (suite,) = report(FileReport("a/m.onnx", (STAYS, WARNING, WARNING)))
    assert suite.get("name") == "a/m.onnx"
    one, two = suite
    assert (one.get("classname"), one.get("name")) == ("a/m.onnx", "PAD201 conv (Conv)")
    assert two.get("name") == "PAD201 conv (Conv) 2"
    (failure,) = one
    assert failure.attrib == {"type": "PAD201", "message": "a Pad -> pads"}
    assert failure.text == "a/m.onnx: PAD201 conv (Conv): a Pad -> pads"


@pytest.mark.parametrize("findings", [(), (STAYS,)])
def test_a_model_that_passes_has_one_case(findings: tuple[Finding, ...]) -> None:
    (suite,) = report(FileReport("m.onnx", findings))
    (case,) = suite
    assert (case.get("name"), len(case)) == ("padding", 0)
    failing = report(FileReport("m.onnx", findings), fail_on="info")
    assert failing.get("failures") == str(len(findings))


def test_a_model_that_cannot_be_read_is_an_error() -> None:
    whole = report(FileReport("m.onnx", error="m.onnx: is cut short"), FileReport("n.onnx"))
    assert (whole.get("tests"), whole.get("failures"), whole.get("errors")) == ("2", "0", "1")
    (error,) = whole.iter("error")
    assert error.attrib == {"type": "model", "message": "m.onnx: is cut short"}


def test_remarks_are_output() -> None:
    (suite,) = report(FileReport("m", (WARNING,), notes=("h is 32",), warnings=("w is odd",)))
    assert [each.tag for each in suite] == ["testcase", "system-out"]
    assert suite[1].text == "w is odd\nh is 32"


def test_any_name_and_message_is_xml() -> None:
    odd = "<&\"'>]]>\x00\x0b\x1f\x7f\x85\ud800\ufffe\U0001ffff\n\t畳"
    finding = Finding("PAD201", Severity.WARNING, odd, "Conv", f"{odd} message")
    (suite,) = report(FileReport(f"{odd}.onnx", (finding,)))
    escaped = "<&\"'>]]>\\x00\\x0b\\x1f\\x7f\\x85\\ud800\\ufffe\\U0001ffff\\n\\t畳"
    (case,) = suite
    assert case.get("classname") == f"{escaped}.onnx"
    assert case.get("name") == f"PAD201 {escaped} (Conv)"
    assert case[0].get("message") == f"{escaped} message"


def test_the_command_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(MODELS.parent)
    models = ("inception_dynamo", "vocoder_torch", "absent")
    paths = [MODELS / f"{name}.onnx" for name in models]
    result = onnxpad_runs("check", *paths, "--format", "junit")
    whole = read(result.stdout)
    assert result.exit_code == 2
    assert [suite.get("name") for suite in whole] == [f"models/{name}.onnx" for name in models]
    assert str(MODELS) not in result.stdout
