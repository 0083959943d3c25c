"""One result held against what was expected of it, and what excuses a difference."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from onnxpad.validation.align import aligned
from onnxpad.validation.answers import Result
from onnxpad.validation.compare import Tolerance, alike, argmax_lost, compare
from onnxpad.validation.result import Comparison, Run

_QUANTA = 0.05
"""What rounding may change in an output, relative to its greatest magnitude, once quantised
operators are fused, as a rewrite can make possible; a few steps of 1/255 that grow on their way."""

_LEAST_COSINE = 0.99  # between an output and the same with some of its roundings moved
_HALVES = frozenset({"float16", "bfloat16"})  # a sum in another order is another sum

_OTHER_ENGINE = 10.0  # times the default tolerance: another engine sums up in another order


@dataclass(frozen=True, slots=True)
class Oracle:
    """What a run is held against.

    Attributes:
        name: How a report calls it, as `original` or `reference`.
        result: Its outputs.
        foreign: Whether another engine computed them, which sums up in another order.
    """

    name: str
    result: Result
    foreign: bool = False


def held(subject: str, found: Result, oracle: Oracle, tolerance: Tolerance) -> Run:
    """A run of `subject`; where and on what it ran is for the caller to fill in."""
    expected = oracle.result
    missing = expected.outputs.keys() - found.outputs.keys()
    note = ""
    if found.error:
        note = f"the {subject} model does not run: {found.error}"
    elif missing:
        note = f"the {subject} model has no output {', '.join(sorted(missing))}"
    if oracle.foreign:
        tolerance = replace(tolerance, factor=_OTHER_ENGINE)
    comparisons = []
    for name, value in expected.outputs.items():
        if name not in found.outputs:
            continue
        other, how = found.outputs[name], ""
        if isinstance(value, np.ndarray) and isinstance(other, np.ndarray):
            # Only what a framework laid out can have other axes.
            fit = aligned(value, other.shape) if oracle.name == "reference" else None
            value, how = fit or (value, "")
        noise = expected.noise.get(name, found.noise.get(name, 0.0))
        comparison = compare(name, value, other, tolerance, noise)
        if comparison.ok and (lost := argmax_lost(value, other, tolerance, noise)):
            comparison = replace(comparison, ok=False, detail=lost)
        comparisons.append(replace(comparison, alignment=how))
    return Run(
        provider="",
        optimisation="",
        inputs="",
        comparisons=tuple(comparisons),
        seconds=(expected.seconds, found.seconds),
        note=note,
        ok=not note and all(each.ok for each in comparisons),
        subject=subject,
        against=oracle.name,
    )


def excused(
    run: Run,
    oracle: Oracle,
    ours: Result,
    found: Result,
    tolerance: Tolerance,
    unrounded: Callable[[], bool] | None,
) -> Run:
    """A run that failed, with a verdict that allows for what full optimisation does by itself.

    What it does to the original it may do to the rewritten model alike: to the same elements, by
    the same values. Where the original does not run at all, there is nothing that a wrong result
    could be alike.

    Args:
        run: The rewritten model at full optimisation, held against `oracle`.
        oracle: What it is held against, without optimisation.
        ours: What full optimisation makes of the original.
        found: What it makes of the rewritten model.
        tolerance: What difference is allowed.
        unrounded: Whether both models agree at this level once nothing in them is quantised; None
            for models that do not quantise.
    """
    if ours.error:
        note = f"with full optimisation the original does not run: {ours.error}"
        both = bool(found.error) and (ours.crashed or not found.crashed)
        if both or oracle.name == run.subject:
            return replace(run, note=note, ok=True, excused=True)
        wrong = f"full optimisation changes {differing(run.comparisons)} of the rewritten model"
        return replace(run, note=run.note or f"{wrong}; {note}")
    if found.error:
        return replace(run, note=f"with full optimisation only {run.note}")
    if run.note:
        return run

    def suffered(seen: Comparison) -> bool:
        """Whether the original moves likewise, or is rounded about as much."""
        exact, before = oracle.result.outputs[seen.output], ours.outputs.get(seen.output)
        if alike(seen.output, exact, before, found.outputs[seen.output], tolerance, seen.noise):
            return True
        if seen.dtype not in _HALVES or not seen.max_rel <= _QUANTA:
            return False
        own = compare(seen.output, exact, before, tolerance, seen.noise)
        return not own.ok and 2 * own.max_abs >= seen.max_abs

    worse = [each for each in run.comparisons if not each.ok and not suffered(each)]
    if not worse:
        note = f"full optimisation changes {differing(run.comparisons)} of the original as well"
        return replace(run, note=note, ok=True, excused=True)
    note = f"full optimisation changes {differing(worse)} of the rewritten model only"
    if unrounded is None or not all(map(_is_rounding, worse)) or not unrounded():
        return replace(run, note=note)
    note += (
        ", no further than rounding in fused quantised operators explains: without the quantisers "
        "both agree"
    )
    return replace(run, note=note, ok=True, excused=True)


def agrees(exact: Result, ours: Result, found: Result, tolerance: Tolerance) -> bool:
    """Whether a rewritten model gives what the original gives, or is moved as that is."""
    if exact.error or found.error:
        return False
    oracle = Oracle("original", exact)
    run = held("rewritten", found, oracle, tolerance)
    return run.ok or excused(run, oracle, ours, found, tolerance, None).ok


def _is_rounding(seen: Comparison) -> bool:
    """Whether a difference is as small as rounding in quantised operators makes it."""
    cosine = 1.0 if seen.cosine is None else seen.cosine
    return seen.max_rel <= _QUANTA and cosine >= _LEAST_COSINE and seen.argmax != 0.0


def differing(comparisons: Iterable[Comparison]) -> str:
    """The outputs that are not ok."""
    return ", ".join(each.output for each in comparisons if not each.ok)
