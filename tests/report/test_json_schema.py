"""The JSON Schema of the reports holds for what commands print, and has all their fields."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from onnxpad.doctor.examine import Diagnosis, Driver, Library, Package, Problem, Provider
from onnxpad.report.json import json_of
from onnxpad.report.json_schema import schema
from tests.support.fixing import onnxpad_runs
from tests.support.rows import each_row

KEPT = Path(__file__).parents[1] / "snapshots"


def closed(rule: Any) -> Any:
    """A schema in which objects have no other fields than those it names."""
    if isinstance(rule, list):
        return [closed(each) for each in rule]
    if not isinstance(rule, dict):
        return rule
    found = {name: closed(each) for name, each in rule.items()}
    return {**found, "additionalProperties": False} if "required" in rule else found


SCHEMA = closed(schema())


def faults(document: Any) -> list[str]:
    """The places where a document breaks the schema of its command, or that of errors."""
    failed = "message" in (document.get("error") or ())  # match has numbers there
    name = "error" if failed else document["command"]
    rules = {**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{name}"}]}
    return [each.message for each in Draft202012Validator(rules).iter_errors(document)]


def check(document: Any) -> str:
    """The command of a document, which is found to be as the schema says."""
    assert faults(document) == []
    return str(document["command"])


def test_all_that_is_kept_is_as_the_schema_says() -> None:
    texts = [path.read_text(encoding="utf-8") for path in KEPT.glob("*.txt")]
    found = re.findall(r"^\{\n.*?^\}$", "\n".join(texts), re.MULTILINE | re.DOTALL)
    seen = {check(json.loads(text)) for text in found if '"version": 1' in text}
    assert seen >= {"fix", "check", "show", "validate", "match", "repad"}


@each_row(
    ("line",),
    [
        ("explain --op conv --size 10 --kernel 3 --stride 2",),
        ("explain --op maxpool --size 10x9 --kernel 3 --stride 2 --output-size 5x5",),
        ("explain --op convtranspose --size 249 --kernel 7 --stride 6 --output-size 1481",),
        ("explain --op convtranspose --size 9 --kernel 3 --stride 2 --output-size 99",),
        ("rule",),
        ("rule PAD101 guarded",),
        ("targets",),
        ("targets openvino",),
        ("rule PAD999",),
    ],
)
def test_other_commands(line: str) -> None:
    document = json.loads(onnxpad_runs(*line.split(), "--format", "json").stdout)
    assert check(document) == line.split()[0]


def test_doctor() -> None:
    found = Diagnosis(
        "3.11",
        "Linux",
        (Package("onnx", "1.17"),),
        (Provider("CPU", True, ""),),
        "",
        (Library("a", "b", "c"),),
        Driver("1", ("gpu",), True),
        (Problem("what", "cure", True),),
    )
    assert check(json.loads(json_of(found))) == "doctor"


@pytest.mark.parametrize(
    "change",
    [
        {"exit_code": "0"},
        {"version": 2},
        {"more": 1},
        {"reasons": {"crops": 1}},
        {"rules": [{"code": "PAD101"}]},
    ],
)
def test_what_breaks_it_is_found(change: dict[str, object]) -> None:
    document = json.loads(onnxpad_runs("rule", "--format", "json").stdout)
    assert faults({**document, **change})
