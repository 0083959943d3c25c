"""Each reason has a code that is listed, used and told in JSON with its facts."""

import json
import random
import re
from functools import cache

import onnx
import pytest

import onnxpad
from onnxpad.errors import without_names
from onnxpad.options import Options
from onnxpad.reasons import Reason, RefusalError
from onnxpad.report import CheckReport, FileReport
from onnxpad.report.json import RulePages, json_of
from tests.random_models.draw import draw_model
from tests.support import PADS, ROOT, STYLES, W, one

SOURCES = [*(ROOT / "onnxpad").rglob("*.py"), *(ROOT / "passes").glob("*.py")]


@cache
def sources() -> str:
    """All modules of the package."""
    return "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)


def test_codes_are_short_words_with_a_meaning() -> None:
    for reason in Reason:
        assert re.fullmatch(r"[a-z]+(-[a-z]+){0,3}", reason)
        assert reason.meaning
        assert "\n" not in reason.meaning
    assert len({reason.value for reason in Reason}) == len(Reason)


def test_the_list_is_in_the_json_of_rules() -> None:
    told = json.loads(json_of(RulePages(())))["reasons"]
    assert told == {reason.value: reason.meaning for reason in Reason}


def test_each_code_is_used() -> None:
    assert {*re.findall(r"\bReason\.([A-Z_]+)\b", sources())} == set(Reason.__members__)


def test_a_refusal_names_its_code_first() -> None:
    """Whatever says why padding stays says it with a code of the list."""
    found = re.findall(r"(?<!class )\bRefusalError\(\s*([^,]+),", sources())
    assert all(first.startswith("Reason.") or first.endswith("code") for first in found), found
    assert len(found) > 40


def test_a_refusal_is_its_message() -> None:
    refusal = RefusalError(Reason.CROPS, "it crops", axis=2)
    assert (str(refusal), refusal.code, dict(refusal.facts)) == ("it crops", "crops", {"axis": 2})


C = "float c = {0.5}"
CASES = [
    ('a = Pad <mode = "edge"> (x, p) y = Conv (a, w)', PADS, "copies-data", {"mode": "edge"}),
    ("a = Pad (x, b) y = Conv (a, w)", "int64[8] b = {0, 1, 1, 1, 0, 0, 1, 1}",
     "pads-batch-or-channels", {"axes": [1]}),
    ("a = Pad (x, b) y = Conv (a, w)", "int64[8] b = {0, 0, -1, 0, 0, 0, 1, 0}", "crops",
     {"amounts": [0, 0, -1, 0, 0, 0, 1, 0]}),
    ("a = Pad (x, p, c) y = Conv (a, w)", f"{PADS}, {C}", "fill-differs", {"value": 0.5}),
    ("a = Pad (x, p, c) y = MaxPool <kernel_shape = [4, 4]> (a)", f"{PADS}, {C}", "fill-wins",
     {"value": 0.5}),
    ("e = Exp (x) a = Pad (e, p) y = MaxPool <kernel_shape = [2, 2]> (a)", PADS,
     "pads-not-below-kernel", {"axis": 2, "pads": [1, 2], "kernel": 2}),
    ("a = Pad (x, p) y, i = MaxPool <kernel_shape = [4, 4]> (a)", PADS, "indices-read",
     {"operator": "<y>"}),
    ("a = Pad (x, p) y = AveragePool <kernel_shape = [4, 4], pads = [1, 1, 1, 1]> (a)", PADS,
     "own-padding-uncounted", {"pads": [1, 1, 1, 1]}),
    ('y = Conv <auto_pad = "SAME_UPPER", pads = [2, 2, 2, 2]> (x, w)', PADS, "auto-pad-and-pads",
     {"auto_pad": "SAME_UPPER", "pads": [2, 2, 2, 2]}),
    ('y = Conv <auto_pad = "SAME"> (x, w)', PADS, "unreadable", {}),
    ('a = Pad <mode = "edge"> (x, p) b = Pad (a, p) y = Relu (b)', PADS, "no-window",
     {"steps": []}),
]  # fmt: skip


@pytest.mark.parametrize(("body", "given", "code", "facts"), CASES, ids=[c[2] for c in CASES])
def test_codes_and_facts(body: str, given: str, code: str, facts: dict[str, object]) -> None:
    findings = onnxpad.check(one(body, initializers=f"{W}, {given}")).findings
    report = json_of(CheckReport(Options(), onnxpad.Severity.WARNING, (FileReport("m", findings),)))
    (told, *_) = [
        each for each in json.loads(report)["files"][0]["findings"] if each["reason_code"] == code
    ]
    assert told["reason"]
    assert not told["fixable"]
    assert {name: told["evidence"][name] for name in facts} == facts


def test_a_pad_before_a_same_that_stays() -> None:
    body = 'a = Pad (x, p) y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w)'
    model = one(body, inputs="float[1, 2, h, 8] x", initializers=f"{W}, {PADS}")
    (finding,) = onnxpad.check(model, select="PAD201").findings
    assert (finding.reason_code, finding.evidence["auto_pad"]) == ("same-stays", "SAME_UPPER")


def test_what_depends_on_a_size_says_on_which() -> None:
    same = one(
        '[c] y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)',
        inputs="float[1, 2, height, 8] x",
        initializers=W,
    )
    (finding,) = onnxpad.check(same, ignore="PAD6").findings
    assert finding.reason_code == "size-dependent"
    assert finding.evidence["axes"] == [2]
    assert finding.evidence["sizes"] == [{"name": "height", "input": "x", "axis": 2}]
    assert finding.evidence["auto_pad"] == "SAME_UPPER"


def test_what_can_be_rewritten_has_none() -> None:
    model = one("a = Pad (x, p) y = Conv (a, w)", initializers=f"{W}, {PADS}")
    (finding,) = onnxpad.check(model, ignore="PAD6").findings
    assert finding.fixable
    assert finding.reason_code == ""


def test_a_change_that_is_taken_back_says_why() -> None:
    model = one(
        "a = Pad (x, p, low) y = MaxPool <kernel_shape = [4, 4]> (a)",
        initializers=f"{PADS}, float low = {{-3.4028235e38}}",
    )
    result = onnxpad.fix(model, strict=True, validate=False)
    (undone,) = result.undone
    assert undone.reason_code == "assumption-refused"
    assert undone.evidence["assumptions"] == ["finite data"]
    (told,) = onnxpad.check(model, strict=True, ignore="PAD6").findings
    assert told.reason_code == "assumption-refused"


def all_coded(model: onnx.ModelProto, **options: str) -> None:
    result = onnxpad.fix(model, validate=False, **options)  # type: ignore[arg-type]
    for finding in (*result.findings, *result.undone, *onnxpad.check(model, **options).findings):  # type: ignore[arg-type]
        assert bool(finding.reason_code) == bool(finding.reason)
        assert not finding.reason_code or finding.reason_code in set(Reason)
        file = FileReport("", (finding,))
        json.loads(json_of(CheckReport(Options(), onnxpad.Severity.INFO, (file,))))


@pytest.mark.parametrize("seed", [1002, 1013, 1026, 1052])
def test_every_reason_in_random_models_has_a_code(seed: int) -> None:
    all_coded(draw_model(random.Random(seed)).model, style=STYLES[seed % 3])


Q = "int64[8] q = {0, 0, 1, 1, 0, 0, 1, 1}"


@pytest.mark.parametrize(
    ("model", "ends"),
    [
        (
            one(
                "c = Concat <axis = 3> (x, v) a = Pad (c, q, u)"
                " y = MaxPool <kernel_shape = [3, 3]> (a)",
                inputs="float[1, 1, 2, 8] x",
                initializers=f"{Q}, float[1, 1, 2, 1] v = {{-inf, -inf}}, float u = {{-inf}}",
            ),
            "holds infinities, from ...",
        ),
    ],
)
def test_a_reason_without_names_has_none(model: onnx.ModelProto, ends: str) -> None:
    found = [
        each for each in onnxpad.check(model).findings if without_names(each.reason).endswith(ends)
    ]
    assert found
    assert not any(each.reason.endswith(ends) for each in found)
