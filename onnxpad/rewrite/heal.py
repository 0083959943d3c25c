"""Finds the changes for which a rewritten model fails as a whole, so that the rest can be written.

A round rewrites the original again with some changes barred, and validates the result. Halving
finds a run of changes, from the first one on, that fails, and passes without its last: that one is
barred, until the rest passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from onnxpad.errors import counted
from onnxpad.finding import Finding
from onnxpad.reasons import Reason
from onnxpad.rewrite.run import Barred, Key, Made, Run, RunResult, kept_back
from onnxpad.validation.result import Validation, not_validated


def heal(
    made: Sequence[Made], verdict: Validation, attempt: Callable[[Barred], Validation]
) -> tuple[dict[Key, Reason], Validation]:
    """The changes responsible for a failure, and the verdict without; 2 log2(n) + 4 rounds at most.

    Once no round is left, what was not tried counts as failing: so all changes are named except the
    largest set that was seen to pass. There are none where the model fails without any, too.
    """
    keys = list(dict.fromkeys(each.key for each in made))
    rounds = math.floor(2 * math.log2(max(len(keys), 1)) + 4)
    seen = {frozenset(keys): verdict}

    def tried(allowed: Sequence[Key]) -> Validation:
        """The verdict where only these changes are made."""
        known = frozenset(allowed)
        if known not in seen:
            if len(seen) > rounds:
                return verdict
            seen[known] = attempt({key: Reason.DIFFERS for key in keys if key not in known})
        return seen[known]

    guilty: dict[Key, Reason] = {}
    left, now = list(keys), verdict
    passing = 0  # so many of those left pass, from the first one on
    while now.outcome == "failed" and left:
        failing = len(left)
        while failing - passing > 1:
            middle = (passing + failing) // 2
            if tried(left[:middle]).outcome == "failed":
                failing = middle
            else:
                passing = middle
        last = left.pop(passing)
        guilty[last], now = _reason(now), tried(left)
    return ({}, verdict) if now.outcome == "failed" else (guilty, now)


def healed(
    run: Run, validate: Callable[[RunResult], Validation], outcome: RunResult, verdict: Validation
) -> tuple[RunResult, Validation, tuple[Finding, ...]]:
    """Rewrites a graph without the changes for which it failed; also returns what these settled."""
    made, parting = outcome.made, verdict.divergence

    def attempt(leave: Barred) -> Validation:
        rewritten = run.rewrite(leave)
        changed = run.graph.model.changed
        return validate(rewritten) if changed else not_validated("no change is left")

    guilty, verdict = heal(made, verdict, attempt)
    if made:  # the last round need not be the best one, and it knew no reasons
        outcome = run.rewrite(guilty)
    found = {each.key: each.finding for each in made if each.key in guilty}
    answered = tuple(kept_back(finding, guilty[key]) for key, finding in found.items())
    if answered:
        listed = ", ".join(f"{each.code} at {each.node!r}" for each in answered)
        note = (
            f"{counted(len(answered), 'change')} taken back, with which the model fails: {listed}"
        )
        if parting is not None:
            note += f"; first difference: tensor {parting.tensor!r}, {parting.comparison.detail}"
        verdict = replace(verdict, warnings=(*verdict.warnings, note))
    return outcome, verdict, answered


def _reason(verdict: Validation) -> Reason:
    for run in verdict.runs:
        if not run.ok and run.subject == verdict.subject:
            if run.optimisation == "off":
                return Reason.DIFFERS if run.comparisons else Reason.STOPS
            return Reason.DIFFERS_OPTIMISED if run.comparisons else Reason.STOPS_OPTIMISED
    return Reason.DIFFERS
