"""The report of `check` as SARIF holds against the schema, and names no folder of this machine."""

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from jsonschema import Draft4Validator

import onnxpad
from onnxpad.finding import Finding, Location, Page, Severity
from onnxpad.options import Options
from onnxpad.report import CheckReport, FileReport
from onnxpad.report.ci import check_sarif
from onnxpad.rewrite.registry import catalogue
from tests.support import MODELS, onnxpad_runs
from tests.support.rows import each_row

KEPT = Path(__file__).parents[2] / "snapshots" / "check.sarif.txt"
WARNING = Finding("PAD201", Severity.WARNING, "conv", "Conv", "a Pad in front -> its pads")
STAYS = Finding(
    "PAD501", Severity.INFO, "pad", "Pad", "computes its amounts", "they depend on the height"
)


@cache
def validator() -> Any:
    schema = Path(__file__).with_name("sarif-2.1.0-rtm.5.json")
    return Draft4Validator(json.loads(schema.read_text(encoding="utf-8")))


def run_of(text: str) -> dict[str, Any]:
    """The one run of a log, after what every log must be."""
    assert text.isascii()
    log = json.loads(text)
    assert [f"{each.json_path}: {each.message}" for each in validator().iter_errors(log)] == []
    assert Path.cwd() == Path("/") or str(Path.cwd()) not in text
    run: dict[str, Any]
    (run,) = log["runs"]
    rules = [each["id"] for each in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    return run


def checked(*files: FileReport, **others: Any) -> dict[str, Any]:
    return run_of(check_sarif(CheckReport(Options(), Severity.WARNING, files, **others)))


def uri_of(path: str) -> str:
    """The place of a model, which is a relative reference without a scheme."""
    (result,) = checked(FileReport(path, (WARNING,)))["results"]
    (location,) = result["locations"]
    uri: str = location["physicalLocation"]["artifactLocation"]["uri"]
    assert re.fullmatch(r"([\w.~/-]|%[0-9A-F]{2})+", uri, re.ASCII)
    assert not uri.startswith("/")
    assert Path(os.fsdecode(unquote_to_bytes(uri))).resolve() == Path(path).resolve()
    return uri


def test_a_result() -> None:
    (result,) = checked(FileReport("exported/net.onnx", (WARNING,)))["results"]
    assert result == {
        "ruleId": "PAD201",
        "ruleIndex": 0,
        "level": "warning",
        "message": {"text": "conv (Conv): a Pad in front -> its pads"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "exported/net.onnx"},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [
                    {"name": "conv", "fullyQualifiedName": "conv", "kind": "node"}
                ],
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": "PAD201 conv:1"},
    }


def test_levels_and_reasons() -> None:
    error = Finding("PAD701", Severity.ERROR, "pool", "MaxPool", "is folded wrongly")
    fits = Finding(
        "PAD601", Severity.WARNING, "c", "Conv", "pads 1+1", "right if meant",
        reason_code="framework-convention",
    )  # fmt: skip
    run = checked(FileReport("m", (STAYS, WARNING, error, fits)))
    assert [(each["level"], each["message"]["text"]) for each in run["results"]] == [
        ("note", "pad (Pad): computes its amounts; stays: they depend on the height"),
        ("warning", "conv (Conv): a Pad in front -> its pads"),
        ("error", "pool (MaxPool): is folded wrongly"),
        ("warning", "c (Conv): pads 1+1; right if meant"),
    ]


@each_row(
    ("path", "uri"),
    [
        ("net.onnx", "net.onnx"),
        ("./exported/../exported/net.onnx", "exported/net.onnx"),
        ("../other/net.onnx", "../other/net.onnx"),
        ("a b/50%/#1?.onnx", "a%20b/50%25/%231%3F.onnx"),
        ("C:net.onnx", "C%3Anet.onnx"),
        ("模型/net.onnx", "%E6%A8%A1%E5%9E%8B/net.onnx"),
        (os.fsdecode(b"\xff.onnx"), "%FF.onnx"),
        ("..", ".."),
    ],
)
def test_a_place_is_a_relative_reference(path: str, uri: str) -> None:
    assert uri_of(path) == uri


def test_absolute_paths_become_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("here/exported", "there"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    assert uri_of(str(tmp_path / "here/exported/net.onnx")) == "exported/net.onnx"
    assert uri_of(str(tmp_path / "there/net.onnx")) == "../there/net.onnx"
    path = str(tmp_path / "here/exported/n.onnx")
    (invocation,) = checked(FileReport(path, error=f"{path}: is cut short"))["invocations"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"] == "exported/n.onnx: is cut short"


@pytest.mark.parametrize(
    ("finding", "logical"),
    [
        (
            Finding("PAD205", Severity.INFO, "If 'i' > then_branch > Pad 'p'", "Pad", "", "why",
                    location=Location(("i", "then_branch"), "p", "t")),
            ["p", "i > then_branch > p"],
        ),
        (
            Finding("PAD205", Severity.INFO, "net::f > Pad '<t>'", "Pad", "", "why",
                    location=Location(("net::f",), "", "t")),
            ["<t>", "net::f > <t>"],
        ),
        (
            Finding("PAD205", Severity.INFO, "a\x00\udc80", "Pad", "", "why"),
            ["a\\x00\\udc80", "a\\x00\\udc80"],
        ),
        (Finding("PAD601", Severity.INFO, "", "", "3 operators fit", "why"), []),
    ],
    ids=["body", "function", "control characters", "the model"],
)  # fmt: skip
def test_the_way_through_scopes(finding: Finding, logical: list[str]) -> None:
    (result,) = checked(FileReport("m", (finding,)))["results"]
    (location,) = result["locations"]
    found = [[each["name"], each["fullyQualifiedName"]] for each in location["logicalLocations"]]
    assert found == [logical] * bool(logical)


def test_equal_fingerprints_are_counted_within_a_file() -> None:
    run = checked(FileReport("a", (WARNING, STAYS, WARNING)), FileReport("b", (WARNING,)))
    one, other = "PAD201 conv", "PAD501 pad"
    assert [each["partialFingerprints"]["primaryLocationLineHash"] for each in run["results"]] == [
        *(f"{one}:1", f"{other}:1", f"{one}:2", f"{one}:1")
    ]


def test_braces_are_no_arguments() -> None:
    finding = Finding("PAD201", Severity.WARNING, "{0}", "Conv", "of {pads}")
    (result,) = checked(FileReport("m", (finding,)))["results"]
    assert result["message"]["text"] == "{{0}} (Conv): of {{pads}}"


def test_brackets_are_no_links() -> None:
    finding = Finding("PAD201", Severity.WARNING, "[a](https://b.example)", "Conv", "of pads")
    (result,) = checked(FileReport("m", (finding,)))["results"]
    assert result["message"]["text"].startswith(r"\[a\](https://b.example) (Conv)")


def test_rules_have_their_pages() -> None:
    one, two = checked(FileReport("m", (STAYS, WARNING, STAYS)))["tool"]["driver"]["rules"]
    assert [one["id"], two["id"]] == ["PAD201", "PAD501"]
    page = catalogue()["PAD201"]
    assert one["shortDescription"]["text"] == page.title
    assert one["help"]["markdown"] == page.text
    assert "\n##" not in one["help"]["text"]
    assert [each["defaultConfiguration"]["level"] for each in (one, two)] == ["warning", "note"]


def test_every_page_can_be_a_rule() -> None:
    """GitHub takes no empty text, and no description of more than 1,024 characters."""
    findings = tuple(Finding(code, Severity.INFO, "n", "Op", "", "why") for code in catalogue())
    rules = checked(FileReport("m", findings))["tool"]["driver"]["rules"]
    assert [each["id"] for each in rules] == list(catalogue())
    for rule in rules:
        texts = [rule[name]["text"] for name in ("shortDescription", "fullDescription")]
        assert all(0 < len(text) <= 1024 for text in texts)
        assert texts[0] != texts[1]
        assert rule["help"]["text"]


def test_a_long_description_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    title = "t" * 2000
    page = Page("ACME001", Severity.ERROR, title, f"{title}\n\n    an example\n\nlong {title}")
    pages = {"ACME001": page, "ACME002": Page("ACME002", Severity.INFO, "a title", "a title")}
    monkeypatch.setattr("onnxpad.rewrite.registry.catalogue", lambda: pages)
    found = tuple(Finding(code, Severity.INFO, "n", "Op", "", "why") for code in pages)
    rule, short = checked(FileReport("m", found))["tool"]["driver"]["rules"]
    assert short["fullDescription"]["text"] == "a title"
    assert rule["shortDescription"]["text"] == "t" * 1024
    assert rule["fullDescription"]["text"] == f"long {'t' * 1019}"
    assert rule["help"]["markdown"] == page.text


def test_a_rule_whose_pass_is_gone_is_only_named() -> None:
    gone = Finding("ACME001", Severity.WARNING, "n", "Op", "odd")
    assert checked(FileReport("m", (gone,)))["tool"]["driver"]["rules"] == [{"id": "ACME001"}]


def test_what_cannot_be_read_is_a_notification() -> None:
    run = checked(
        FileReport("a b.onnx", error="a b.onnx: is cut short\n"),
        FileReport("c.onnx", (WARNING,), notes=("h is 32",), warnings=("w cannot be used",)),
    )
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    told = [
        (
            each["level"],
            each["message"]["text"],
            each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        )
        for each in invocation["toolExecutionNotifications"]
    ]
    assert told == [
        ("error", "a b.onnx: is cut short\\n", "a%20b.onnx"),
        ("warning", "w cannot be used", "c.onnx"),
        ("note", "h is 32", "c.onnx"),
    ]
    assert len(run["results"]) == 1


def test_a_run_that_read_all_is_successful() -> None:
    (invocation,) = checked(FileReport("m", (WARNING,)))["invocations"]
    assert invocation == {
        "executionSuccessful": True,
        "exitCode": 1,
        "toolExecutionNotifications": [],
    }


def test_the_command_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    models = ("branches_torchscript.onnx", "functions_onnxscript.onnx", "absent.onnx")
    monkeypatch.chdir(MODELS)
    given = [MODELS / name for name in models]
    result = onnxpad_runs("check", *given, "--format", "sarif", "--select", "PAD")
    assert result.exit_code == 2
    assert (
        result.stdout
        == onnxpad_runs("check", *models, "--format", "sarif", "--select", "PAD").stdout
    )
    run = run_of(result.stdout)
    ways = {
        each["fullyQualifiedName"]
        for result in run["results"]
        for each in result["locations"][0]["logicalLocations"]
    }
    assert "/If_1 > then_branch > /If > else_branch > /Pad_4" in ways
    assert "layers::padded > n0" in ways
    (_notification,) = run["invocations"][0]["toolExecutionNotifications"]
    found = onnxpad.check(MODELS / models[0], select="PAD")
    written = json.loads(check_sarif(found.report()))["runs"][0]["results"]
    assert written == run["results"][: len(written)]
    assert len(written) == len(found.findings)


def test_what_is_kept_is_as_the_schema_says() -> None:
    run_of("{" + KEPT.read_text(encoding="utf-8").partition("{")[2])
