"""Finds the changes for which a rewritten model fails as a whole, so that the rest can be written.

A round rewrites the original anew with some changes barred, and validates what comes out. Where the
first tensor that differs is what one change is about, that one is tried first; else the shortest
run of changes that fails is found by halving, and its last one is responsible. If that fails alone
too, it is so alone; else what it fails together with is found the same way.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from onnxpad.finding import Finding, Severity
from onnxpad.fusion.barred import Barred, Key, code_of, note, noted, told
from onnxpad.graph import Graph
from onnxpad.pipeline.driver import Outcome
from onnxpad.pipeline.transaction import Made
from onnxpad.validation.result import Divergence, Validation, not_validated

Attempt: TypeAlias = Callable[[Barred], Validation]
"""Rewrites with some changes barred, and validates; the verdict."""


class _SpentError(Exception):
    """No round is left."""


@dataclass(slots=True)
class _Search:
    """The rounds made, and what they showed."""

    keys: Sequence[Key]
    attempt: Attempt
    rounds: int
    seen: dict[frozenset[Key], Validation] = field(default_factory=dict)

    def tried(self, allowed: frozenset[Key]) -> Validation:
        """The verdict where only these of the changes are made."""
        if allowed not in self.seen:
            if not self.rounds:
                raise _SpentError
            self.rounds -= 1
            self.seen[allowed] = self.attempt({key: "" for key in self.keys if key not in allowed})
        return self.seen[allowed]

    def fails(self, allowed: frozenset[Key]) -> bool:
        """Whether these fail: more never fail less."""
        for known, verdict in self.seen.items():
            if failed(verdict) and known <= allowed:
                return True
            if not failed(verdict) and allowed <= known:
                return False
        return failed(self.tried(allowed))

    def last_of_shortest(self, keys: Sequence[Key], beside: frozenset[Key]) -> Key:
        """The last of the shortest run from the first key on that fails, together with others.

        All of them fail.
        """
        passing, failing = 0, len(keys)
        while failing - passing > 1:
            middle = (passing + failing) // 2
            if self.fails(frozenset(keys[:middle]) | beside):
                failing = middle
            else:
                passing = middle
        return keys[failing - 1]


def heal(
    made: Sequence[Made], verdict: Validation, attempt: Attempt
) -> tuple[dict[Key, str], Validation]:
    """The changes that are responsible for a failure, with the code of the reason, and the verdict.

    The verdict is that without them; the last round need not be. Where 2 log2(n) + 4 rounds do not
    pin them down, all are named but the most that were seen to pass; nothing, and the verdict is
    the one given, where even none of them does.
    """
    keys = list(dict.fromkeys(each.key for each in made))
    if not keys:
        return {}, verdict
    search = _Search(keys, attempt, math.floor(2 * math.log2(len(keys)) + 4))
    search.seen[frozenset(keys)] = verdict
    guilty: dict[Key, str] = {}
    now = verdict
    try:
        while failed(now):
            left = [key for key in keys if key not in guilty]
            if not left:
                return {}, verdict  # it fails whatever is barred
            last, without = _necessary(search, left, now, made)
            guilty[last] = _reason(now)
            if not failed(without):
                return _completed(search, left, last, guilty, without)
            now = without
    except _SpentError:
        passing = [known for known, seen in search.seen.items() if not failed(seen)]
        kept = max(passing, key=len, default=None)
        if kept is None:
            return {}, verdict
        return {key: _reason(verdict) for key in keys if key not in kept}, search.seen[kept]
    return guilty, now


def _completed(
    search: _Search, left: Sequence[Key], last: Key, guilty: dict[Key, str], verdict: Validation
) -> tuple[dict[Key, str], Validation]:
    """The same, with what the last of them fails together with, if it does not fail alone."""
    try:
        if len(left) == 1 or search.fails(frozenset([last])):
            return guilty, verdict
        others = [key for key in left if key != last]
        other = search.last_of_shortest(others, frozenset([last]))
        both = {**guilty, other: guilty[last]}
        now = search.tried(frozenset(search.keys).difference(both))
    except _SpentError:
        return guilty, verdict
    return (guilty, verdict) if failed(now) else (both, now)


def healed(
    graph: Graph,
    rewrite: Callable[[Barred], Outcome],
    validate: Callable[[Outcome], Validation],
    outcome: Outcome,
    verdict: Validation,
) -> tuple[Outcome, Validation, tuple[Finding, ...]]:
    """A graph rewritten without the changes for which it failed, and what these answered.

    Args:
        graph: The graph as it was rewritten; its metadata names what is barred afterwards.
        rewrite: Rewrites the original anew with some changes barred.
        validate: Runs the graph as it is.
        outcome: What the first rewrite did.
        verdict: The failure.
    """
    first, parting, tried = outcome, verdict.divergence, False

    def attempt(leave: Barred) -> Validation:
        nonlocal outcome, tried
        outcome, tried = rewrite(leave), True
        return validate(outcome) if graph.changed else _UNCHANGED

    guilty, verdict = heal(first.made, verdict, attempt)
    if tried:  # the last try need not be the best, and knew no reasons
        outcome = rewrite(guilty)
    note(graph, {**noted(graph), **guilty})
    found = {each.key: each.finding for each in first.made if each.key in guilty}
    answered = tuple(
        replace(
            finding,
            severity=Severity.INFO,
            reason=told(guilty[key]),
            reason_code=code_of(guilty[key]),
        )
        for key, finding in found.items()
    )
    warnings = (*verdict.warnings, *_named(answered, parting))
    return outcome, replace(verdict, warnings=warnings), answered


_UNCHANGED: Final = not_validated("no change is left")


def _named(findings: Sequence[Finding], parting: Divergence | None) -> Iterator[str]:
    """What was taken back, in a line, and where the models parted first."""
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
    """Whether something that ran speaks against the rewritten model."""
    return verdict.outcome == "failed"


def _necessary(
    search: _Search, left: Sequence[Key], verdict: Validation, made: Sequence[Made]
) -> tuple[Key, Validation]:
    """A change without which those left do not fail so any more, and the verdict without it."""
    everything = frozenset(left)
    for suspect in _suspects(verdict, made, everything):
        now = search.tried(everything - {suspect})
        if not failed(now) or _parts_at(now) != _parts_at(verdict):
            return suspect, now
    last = search.last_of_shortest(left, frozenset())
    return last, search.tried(everything - {last})


def _suspects(verdict: Validation, made: Sequence[Made], left: frozenset[Key]) -> Iterator[Key]:
    """The change that is about the first tensor that differs, if it is one alone."""
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


def _reason(verdict: Validation) -> str:
    """The code of why a verdict is a failure."""
    for run in verdict.runs:
        if not run.ok and run.subject == verdict.subject:
            what = "differs" if run.comparisons else "stops"
            return what if run.optimisation == "off" else f"{what}-optimised"
    return "differs"
