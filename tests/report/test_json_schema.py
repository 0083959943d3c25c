"""The JSON Schema of the reports holds for what commands print, and has all their fields."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onnxpad.doctor.diagnosis import Diagnosis, Driver, Library, Package, Problem, Provider
from onnxpad.report.json import json_of
from onnxpad.report.json_schema import schema
from tests.support.fixing import onnxpad_runs
from tests.support.rows import each_row

KEPT = Path(__file__).parents[1] / "snapshots"
SCHEMA = schema()
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
KEYWORDS = {
    *("$ref", "anyOf", "type", "enum", "properties", "required", "items"),
    *("prefixItems", "minItems", "maxItems", "additionalProperties", "title", "description"),
}


def faults(value: Any, rule: Any, path: str = "") -> Iterator[str]:
    """The places where a value breaks a rule, or has a field that the rule does not name."""
    if rule is False:
        yield f"{path}: is one too many"
        return
    assert rule.keys() <= KEYWORDS, "the schema has a keyword that is not checked here"
    if "$ref" in rule:
        yield from faults(value, SCHEMA["$defs"][rule["$ref"].rpartition("/")[2]], path)
    if "anyOf" in rule:
        each = [list(faults(value, some, path)) for some in rule["anyOf"]]
        if all(each):
            yield from max(each, key=lambda found: max(map(len, found)))  # that which went deepest
    if "type" in rule:
        names = [rule["type"]] if isinstance(rule["type"], str) else rule["type"]
        if not any(_is(value, name) for name in names):
            yield f"{path}: {value!r} is not of type {' or '.join(names)}"
            return
    if value not in rule.get("enum", [value]):
        yield f"{path}: {value!r} is not a choice"
    if isinstance(value, dict):
        lacking = [name for name in rule.get("required", ()) if name not in value]
        yield from (f"{path}: lacks {name}" for name in lacking)
        for name, part in value.items():
            inner = rule.get("properties", {}).get(name, rule.get("additionalProperties"))
            if inner is not None:
                yield from faults(part, inner, f"{path}/{name}")
            elif "properties" in rule:
                yield f"{path}: {name} is not in the schema"
    if isinstance(value, list):
        first = rule.get("prefixItems", [])
        if len(value) < rule.get("minItems", 0):
            yield f"{path}: has too few items"
        for place, part in enumerate(value):
            inner = first[place] if place < len(first) else rule.get("items", {})
            yield from faults(part, inner, f"{path}/{place}")


def _is(value: Any, name: str) -> bool:
    is_flag = isinstance(value, bool)
    return isinstance(value, TYPES[name]) and (not is_flag or name == "boolean")


def check(document: Any) -> str:
    """The name of the schema that a document is found to be as: its command, or `error`."""
    failed = "message" in (document.get("error") or ())  # match has numbers there
    name = "error" if failed else document["command"]
    assert list(faults(document, {"$ref": f"#/$defs/{name}"})) == []
    return str(name)


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
    assert check(document) in {line.split()[0], "error"}


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
    ("change", "said"),
    [
        ({"exit_code": "0"}, "/exit_code: '0' is not of type integer"),
        ({"version": 2}, "/version: 2 is not a choice"),
        ({"more": 1}, ": more is not in the schema"),
        ({"reasons": {"crops": 1}}, "/reasons/crops: 1 is not of type string"),
        ({"rules": [{"code": "PAD101"}]}, "/rules/0: lacks severity"),
    ],
)
def test_what_breaks_it_is_found(change: dict[str, object], said: str) -> None:
    document = json.loads(onnxpad_runs("rule", "--format", "json").stdout)
    assert said in list(faults({**document, **change}, {"$ref": "#/$defs/rule"}))
