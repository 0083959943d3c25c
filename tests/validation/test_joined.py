"""What two verdicts make together, field by field, and which words stand for them."""

from dataclasses import replace
from itertools import product
from typing import Any

from onnxpad.validation.result import (
    Comparison,
    PaddingDifference,
    Run,
    Skipped,
    Validation,
    culprit,
    joined,
    not_validated,
    parted,
    why_not,
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
        warnings.insert(1, f"not validated: {reason}")
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
    told = "validated" if outcome == "nothing compared" else "compared"
    assert [*found.warnings] == [each.replace("not validated", f"not {told}") for each in warned]


ORDER = ("failed", "passed", "repaired", "nothing compared")


def test_words_of_a_verdict() -> None:
    stopped = run(ok=False, note="it does not run")
    for runs, said in (
        ((run(ok=False),), ("the rewritten model differs from the original on CPU, optimisation "
         "off: y: far")),
        ((stopped, run(ok=False)), "on CPU, optimisation off: it does not run"),
        ((run("original", ok=False), stopped), "on CPU, optimisation off: it does not run"),
        ((run("original", ok=False),), "the validation failed"),
        ((run(),), "the validation failed"),
    ):  # fmt: skip
        assert why_not(Validation(False, runs)) == said
    parting: Any = type(
        "Parting", (), {"tensor": "t", "comparison": FAR, "producers": ("a (Conv)", "b (Conv)"),
                        "is_pad": False, "operands": (), "attributes": ("", ""), "inputs": ((), ())}
    )()  # fmt: skip
    inside = Validation(False, (run(),), divergence=parting)
    assert "'t'" in why_not(inside)
    assert culprit(inside) == "b (Conv)"
    assert culprit(Validation(True, (run(),), divergence=parting)) == ""
    assert culprit(Validation(False, (run(),))) == ""
    padded = PaddingDifference("t", ("c (Conv)", "c (Conv)"), (((0, 1),), ((1, 0),)))
    halted = Validation(False, (run(ok=False, note="it stops"),), padding=(padded,))
    assert culprit(halted) == "c (Conv): L 0+1 became L 1+0"
    resized = replace(halted, resized="input 'x' 1x8 became 1x9")
    assert (culprit(resized), parted(resized)) == ("input 'x' 1x8 became 1x9", None)
    assert why_not(Validation(True, ())) == ""
    none = not_validated("no time", subject="original", probes=3)
    assert none == Validation(
        False, (), ("not validated: no time",), probes=3, subject="original",
        outcome="nothing compared", reason="no time",
    )  # fmt: skip
