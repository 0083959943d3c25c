"""What two verdicts make together, field by field, and which words stand for them."""

from itertools import product
from typing import Any

from onnxpad.validation.result import (
    Comparison,
    Run,
    Skipped,
    Validation,
    joined,
)
from tests.support.rows import each_row

OUTCOMES = ("failed", "passed", "repaired", "nothing compared")
FAR = Comparison("y", False, 1.0, 1.0, "far", False)


def run(subject: str = "rewritten", *, ok: bool = True, note: str = "") -> Run:
    comparisons = () if note else (FAR,)
    return Run("CPU", "off", "x", comparisons, (0, 0), note, ok, subject, "original")


def verdict(number: int, outcome: str) -> Validation:
    """A verdict with something of its own in each field, and something of both."""
    reason = "" if outcome in {"failed", "passed"} else f"why {number}"
    warnings = [f"warning {number}", "both"]
    if outcome == "nothing compared":
        warnings.insert(1, f"not compared: {reason}")
    parted: Any = f"divergence {number}" if outcome == "failed" else None
    return Validation(
        outcome in {"passed", "repaired"}, (run(ok=outcome != "failed"),), tuple(warnings),
        probes=number, notes=(f"note {number}", "of both"), divergence=parted,
        outcome=outcome,  # type: ignore[arg-type]
        reason=reason, skipped=(Skipped(f"skipped {number}"), Skipped("twice")),
        hidden=(f"hidden {number}", "h"),
    )  # fmt: skip


@each_row(("first", "second"), [*product(OUTCOMES, OUTCOMES)])
def test_two_verdicts_in_one(first: str, second: str) -> None:
    one, other = verdict(1, first), verdict(2, second)
    found = joined(one, other)
    outcome = next(each for each in ORDER if each in {first, second})
    named = {first: "why 1", second: "why 2"} | {first: "why 1"}
    assert found.outcome == outcome
    assert found.ok is (outcome in {"passed", "repaired"})
    assert found.reason == ("" if outcome in {"failed", "passed"} else named[outcome])
    assert found.runs == one.runs + other.runs
    assert found.notes == ("note 1", "of both", "note 2")
    assert found.hidden == ("hidden 1", "h", "hidden 2")
    assert found.divergence == (one.divergence or other.divergence)
    assert found.probes == 1
    nothing = [n for n, each in ((1, first), (2, second)) if each == "nothing compared"]
    left = [] if outcome == "nothing compared" else [Skipped(f"why {n}") for n in nothing]
    own = [Skipped("skipped 1"), Skipped("twice"), Skipped("skipped 2")]
    assert [*found.skipped] == [*own, *left]
    warned = [*one.warnings, *(each for each in other.warnings if each != "both")]
    assert [*found.warnings] == warned


ORDER = ("failed", "passed", "repaired", "nothing compared")
