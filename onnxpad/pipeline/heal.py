"""Finds the changes for which a rewritten model fails as a whole, so that the rest can be written.

A round rewrites the original again with some changes barred, and validates the result. If the first
tensor that differs belongs to exactly one change, that one is tried first. Otherwise halving finds
the shortest run of changes, from the first one on, that fails; its last change is responsible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Final, TypeAlias

from onnxpad.finding import Finding
from onnxpad.pipeline.run import Run, RunResult
from onnxpad.pipeline.transaction import Barred, Key, Made, kept_back
from onnxpad.reasons import Reason
from onnxpad.records import dataclass
from onnxpad.validation.result import Divergence, Validation, not_validated

Attempt: TypeAlias = Callable[[Barred], Validation]
"""Rewrites with some changes barred, and returns the verdict of the validation."""


class _SpentError(Exception):
    """No round is left."""


@dataclass(slots=True)
class _Search:
    """The rounds made so far, with their verdicts."""

    keys: Sequence[Key]
    attempt: Attempt
    rounds: int
    seen: dict[frozenset[Key], Validation] = field(default_factory=dict)

    def tried(self, allowed: frozenset[Key]) -> Validation:
        """The verdict where only these changes are made."""
        if allowed not in self.seen:
            if not self.rounds:
                raise _SpentError
            self.rounds -= 1
            self.seen[allowed] = self.attempt(
                dict.fromkeys((key for key in self.keys if key not in allowed), Reason.DIFFERS)
            )
        return self.seen[allowed]

    def fails(self, allowed: frozenset[Key]) -> bool:
        """Whether these changes fail; a superset of failing changes is taken to fail too."""
        for known, verdict in self.seen.items():
            if failed(verdict) and known <= allowed:
                return True
            if not failed(verdict) and allowed <= known:
                return False
        return failed(self.tried(allowed))

    def last_of_shortest(self, keys: Sequence[Key]) -> Key:
        """The last key of the shortest failing run `keys[:n]`; all of them together fail."""
        passing, failing = 0, len(keys)
        while failing - passing > 1:
            middle = (passing + failing) // 2
            if self.fails(frozenset(keys[:middle])):
                failing = middle
            else:
                passing = middle
        return keys[failing - 1]


def heal(
    made: Sequence[Made], verdict: Validation, attempt: Attempt
) -> tuple[dict[Key, Reason], Validation]:
    """Finds the changes that are responsible for a failure, in at most 2 log2(n) + 4 rounds.

    Where these rounds do not pin them down, all changes are named except the largest set that was
    seen to pass.

    Args:
        made: All changes.
        verdict: The failure.
        attempt: Runs a round.

    Returns:
        The changes with the reason, and the verdict without them. No changes and the
        verdict given, where the model fails without any change too.
    """
    keys = list(dict.fromkeys(each.key for each in made))
    rounds = math.floor(2 * math.log2(max(len(keys), 1)) + 4)
    search = _Search(keys, attempt, rounds, {frozenset(keys): verdict})
    guilty: dict[Key, Reason] = {}
    now = verdict
    try:
        while failed(now) and (left := [key for key in keys if key not in guilty]):
            last, without = _necessary(search, left, now, made)
            guilty[last], now = _reason(now), without
    except _SpentError:
        passing = [known for known, seen in search.seen.items() if not failed(seen)]
        kept = max(passing, key=len, default=frozenset(keys))
        guilty, now = {key: _reason(verdict) for key in keys if key not in kept}, search.seen[kept]
    return ({}, verdict) if failed(now) else (guilty, now)


def healed(
    run: Run,
    validate: Callable[[RunResult], Validation],
    outcome: RunResult,
    verdict: Validation,
) -> tuple[RunResult, Validation, tuple[Finding, ...]]:
    """Rewrites a graph without the changes for which it failed.

    Args:
        run: The run that rewrote it.
        validate: Validates the graph as it is.
        outcome: The outcome of the first rewrite.
        verdict: The failure.

    Returns:
        The new outcome, its verdict, and the findings whose changes were taken back.
    """
    first, parting, tried = outcome, verdict.divergence, False

    def attempt(leave: Barred) -> Validation:
        nonlocal outcome, tried
        outcome, tried = run.rewrite(leave), True
        return validate(outcome) if run.graph.model.changed else _UNCHANGED

    guilty, verdict = heal(first.made, verdict, attempt)
    if tried:  # the last round need not be the best one, and it knew no reasons
        outcome = run.rewrite(guilty)
    found = {each.key: each.finding for each in first.made if each.key in guilty}
    answered = tuple(kept_back(finding, guilty[key]) for key, finding in found.items())
    warnings = (*verdict.warnings, *_note_on_taken_back(answered, parting))
    return outcome, replace(verdict, warnings=warnings), answered


_UNCHANGED: Final = not_validated("no change is left")


def _note_on_taken_back(findings: Sequence[Finding], parting: Divergence | None) -> Iterator[str]:
    """A line on the changes taken back, and on the first tensor that differed."""
    if findings:
        many = len(findings) > 1
        listed = ", ".join(f"{each.code} at {each.node!r}" for each in findings)
        where = ""
        if parting is not None:
            where = f"; first difference: tensor {parting.tensor!r}, {parting.comparison.detail}"
        yield (
            f"{len(findings)} change{'s were' if many else ' was'} taken back, for with "
            f"{'them' if many else 'it'} the model as a whole fails: {listed}{where}"
        )


def failed(verdict: Validation) -> bool:
    """Whether a run of the rewritten model failed or differed."""
    return verdict.outcome == "failed"


def _necessary(
    search: _Search, left: Sequence[Key], verdict: Validation, made: Sequence[Made]
) -> tuple[Key, Validation]:
    """A change without which the model no longer fails in the same way, and that verdict."""
    everything = frozenset(left)
    for suspect in _suspects(verdict, made, everything):
        now = search.tried(everything - {suspect})
        if not failed(now) or _parts_at(now) != _parts_at(verdict):
            return suspect, now
    last = search.last_of_shortest(left)
    return last, search.tried(everything - {last})


def _suspects(verdict: Validation, made: Sequence[Made], left: frozenset[Key]) -> Iterator[Key]:
    """The change that belongs to the first tensor that differs, if it is just one."""
    found = verdict.divergence
    if found is None:
        return
    for names in ({found.tensor}, set(found.inputs[0]) - set(found.inputs[1])):
        about = {each.key for each in made if each.key in left and each.key[1] in names}
        if len(about) == 1:
            yield from about
            return


def _parts_at(verdict: Validation) -> str:
    return verdict.divergence.tensor if verdict.divergence is not None else ""


def _reason(verdict: Validation) -> Reason:
    """Why a verdict is a failure."""
    for run in verdict.runs:
        if not run.ok and run.subject == verdict.subject:
            if run.optimisation == "off":
                return Reason.DIFFERS if run.comparisons else Reason.STOPS
            return Reason.DIFFERS_OPTIMISED if run.comparisons else Reason.STOPS_OPTIMISED
    return Reason.DIFFERS
