"""What a failed validation is blamed on: some padding, or the first tensor."""

from typing import Any

from msgspec.structs import replace

from onnxpad.validation.result import (
    Comparison,
    Divergence,
    PaddingDifference,
    Run,
    Validation,
    culprit,
    parted,
)
from tests.support.rows import each_row

EQUAL = Comparison("y", equal=True, max_abs=0.0, max_rel=0.0, detail="", ok=True)
WRONG = Comparison("y", equal=False, max_abs=1.0, max_rel=0.3, detail="3 became 4", ok=False)


def run(said: str) -> Run:
    """A run such as `rewritten/original full ok`; `stops` for a model that did not run."""
    who, level, *marks = said.split()
    subject, _, against = who.partition("/")
    ok = "ok" in marks
    comparisons = () if "stops" in marks else (EQUAL,) if ok else (EQUAL, WRONG)
    inputs = "seed 1" if "again" in marks else "seed 0"
    provider = "CUDA" if "cuda" in marks else "CPU"
    note = "noted" if {"noted", "stops"} & {*marks} else ""
    return Run(provider, level, inputs, comparisons, (1, 1), note, ok, subject, against)


def verdict(runs: str, **others: Any) -> Validation:
    found = tuple(map(run, filter(None, runs.split(", "))))
    return Validation(all(each.ok for each in found), found, **others)


SHIFTED = PaddingDifference("t", ("a (Conv)", "b (Conv)"), (((1, 1),), ((0, 2),)))
OTHER = PaddingDifference("s", ("c (Conv)", "d (Conv)"), (((1, 1),), ((0, 1),)))
FIRST = Divergence("t", ("a (Conv)", "b (Conv)"), ("", ""), (("x",), ("x",)), WRONG, ("3", "4"), "")


@each_row(
    ("runs", "first", "padding", "found"),
    [
        ("rewritten/original off", FIRST, (SHIFTED,), SHIFTED),
        ("rewritten/original off", FIRST, (OTHER, SHIFTED), SHIFTED),
        ("rewritten/original off", FIRST, (OTHER,), None),
        ("rewritten/original off", replace(FIRST, is_pad=True), (OTHER, SHIFTED), OTHER),
        ("rewritten/original off", replace(FIRST, tensor="u"), (SHIFTED,), None),
        ("rewritten/original off", None, (SHIFTED,), None),
        ("rewritten/original off stops", None, (SHIFTED, OTHER), SHIFTED),
        ("rewritten/original off stops", None, (), None),
        ("rewritten/original full stops", None, (SHIFTED,), None),
        ("original/reference off stops", None, (SHIFTED,), None),
        ("rewritten/original off ok, rewritten/original off stops again", None, (OTHER,), OTHER),
    ],
)
def test_which_padding_made_it_fail(
    runs: str,
    first: Divergence | None,
    padding: tuple[PaddingDifference, ...],
    found: PaddingDifference | None,
) -> None:
    failed = verdict(runs, divergence=first, padding=padding, outcome="failed")
    assert parted(failed) is found
    words = {"t": "b (Conv): L 1+1 became L 0+2", "s": "d (Conv): L 1+1 became L 0+1"}
    lone = "b (Conv)" if first is not None else ""
    assert culprit(failed) == (lone if found is None else words[found.tensor])
    assert not culprit(replace(failed, outcome="passed"))
