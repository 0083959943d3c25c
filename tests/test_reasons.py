"""Each reason has a code that is listed and told in JSON, and a case; what `strict` refuses."""

import json
import re
from typing import Final

import pytest

from onnxpad.finding import Assumption, Certificate
from onnxpad.reasons import Reason, RefusalError
from onnxpad.report.json import RulePages, json_of
from tests.case import CASES

ELSEWHERE: Final = frozenset({
    "amounts-in-file", "convention-told", "declared-limit", "differs",
    "differs-optimised", "framework-convention", "joins-neighbours", "kernel-crashes",
    "kernel-unknown", "not-chosen", "own-rule", "pass-raised", "probe-differs", "rank-unknown",
    "rounding-differs", "stops", "stops-optimised", "without-end",
    "wrong-declaration",
})  # fmt: skip
"""Reasons that take a file, a rule of one's own, or a runtime that does otherwise."""
NAMED, PROBED, DATA = Assumption.DECLARED, Assumption.NOT_PROBED, Assumption.FINITE_DATA


def test_codes_are_short_words_with_a_meaning() -> None:
    for reason in Reason:
        assert re.fullmatch(r"[a-z]+(-[a-z]+){0,3}", reason)
        assert reason.meaning
        assert "\n" not in reason.meaning
    assert len({reason.value for reason in Reason}) == len(Reason)


def test_the_list_is_in_the_json_of_rules() -> None:
    told = json.loads(json_of(RulePages(())))["reasons"]
    assert told == {reason.value: reason.meaning for reason in Reason}


def test_a_refusal_is_its_message() -> None:
    refusal = RefusalError(Reason.CROPS, "it crops", axis=2)
    assert (str(refusal), refusal.code, dict(refusal.facts)) == ("it crops", "crops", {"axis": 2})


def test_each_reason_is_in_a_case() -> None:
    text = "\n".join(path.read_text("utf-8") for path in CASES.rglob("*.txt"))
    told = {*re.findall(r"^(?:\w+ )?(?:info|warning|error|undone) PAD\d+ ([a-z-]+)", text, re.M)}
    assert told | ELSEWHERE == {*map(str, Reason)}
    assert not told & ELSEWHERE


@pytest.mark.parametrize(
    ("assumptions", "runnable", "refused"),
    [
        ((), False, ()),
        ((DATA,), False, (DATA,)),
        ((PROBED,), True, (PROBED,)),
        ((NAMED,), False, ()),
        ((NAMED, PROBED), False, ()),
        ((NAMED, PROBED), True, (PROBED,)),
        ((DATA, NAMED, PROBED), False, (DATA,)),
    ],
)
def test_a_declaration_is_believed(
    assumptions: tuple[str, ...], runnable: bool, refused: tuple[str, ...]
) -> None:
    facts = {"runnable": True} if runnable else {}
    assert Certificate("equal", assumptions=assumptions, facts=facts).refused == refused
