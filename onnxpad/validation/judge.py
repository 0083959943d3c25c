"""Compares one result with the expected one, and decides when a difference is excused."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from onnxpad.errors import few
from onnxpad.validation.align import nearest
from onnxpad.validation.answers import Result
from onnxpad.validation.compare import Tolerance, alike, argmax_lost, compare
from onnxpad.validation.result import Comparison, Run

_QUANTA = 0.05
"""Allowed difference of an output, relative to its greatest magnitude, if a rewrite lets
the runtime fuse quantised operators: a few steps of 1/255, which grow on their way downstream."""

_LEAST_COSINE = 0.99  # between two outputs that differ only in roundings
_LISTED = 4
_HALVES = frozenset({"float16", "bfloat16"})  # sums depend on the order of their terms

_OTHER_ENGINE = 10.0  # factor of the default tolerance: another engine sums in another order


class Oracle(Struct, frozen=True):
    """The expected result of a run.

    Attributes:
        name: Name in reports, such as `original` or `reference`.
        result: The expected outputs.
        foreign: Whether another engine computed them, which sums in another order.
    """

    name: str
    result: Result
    foreign: bool = False


def compared_run(subject: str, found: Result, oracle: Oracle, tolerance: Tolerance) -> Run:
    """A result compared with the expected one, as a run of `subject`.

    The caller fills in provider, optimisation level and inputs.
    """
    expected = oracle.result
    missing = expected.outputs.keys() - found.outputs.keys()
    note = ""
    if found.error:
        note = f"the {subject} model {'' if found.late else 'does not run: '}{found.error}"
    elif missing:
        note = f"the {subject} model has no output {', '.join(sorted(missing))}"
    if oracle.foreign:
        tolerance = replace(tolerance, factor=_OTHER_ENGINE)
    comparisons, beyond = [], list[str]()
    for name, value in expected.outputs.items():
        if name not in found.outputs:
            continue
        other, how = found.outputs[name], ""
        if isinstance(value, np.ndarray) and isinstance(other, np.ndarray):
            # Only a framework's output can have another layout, or a type of fewer bits.
            fit = nearest(value, other) if oracle.name == "reference" else None
            if fit is not None:
                value, how = fit.array, fit.how
                if value.dtype.kind == other.dtype.kind == "f":
                    finite = np.isfinite(other)
                    with np.errstate(over="ignore"):
                        other = other.astype(value.dtype)
                    if np.any(finite & ~np.isfinite(other)):
                        beyond.append(f"{name!r}, which is beyond {value.dtype}")
                        continue
        noise = expected.noise.get(name, found.noise.get(name, 0.0))
        comparison = compare(name, value, other, tolerance, noise)
        if comparison.ok and (lost := argmax_lost(value, other, tolerance, noise)):
            comparison = replace(comparison, ok=False, detail=lost)
        comparisons.append(replace(comparison, alignment=how))
    ok = not note and all(each.ok for each in comparisons)
    if ok and beyond:
        note = f"the {oracle.name} cannot hold {few(beyond, _LISTED)}"
    return Run(
        provider="",
        optimisation="",
        inputs="",
        comparisons=tuple(comparisons),
        seconds=(expected.seconds, found.seconds),
        note=note,
        ok=ok,
        subject=subject,
        against=oracle.name,
        excused=bool(ok and beyond),
    )


def excused(
    run: Run,
    oracle: Oracle,
    ours: Result,
    found: Result,
    tolerance: Tolerance,
    *,
    quantised: bool = False,
) -> Run:
    """A failed run at full optimisation, excused if the optimiser alone explains the difference.

    The difference is excused if full optimisation changes the original in the same way: the same
    elements, to the same values. If the original does not run at full optimisation, wrong outputs
    are not excused.

    Args:
        run: The rewritten model at full optimisation, compared with `oracle`.
        oracle: The expected result, without optimisation.
        ours: The original's result at full optimisation.
        found: The rewritten model's result at full optimisation.
        tolerance: The allowed difference.
        quantised: Whether the models quantise, and may be a few quanta apart.
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
        """Whether the original changes in the same way, or is rounded about as much."""
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
    if not quantised or not all(map(_is_rounding, worse)):
        return replace(run, note=note)
    note += ", by no more than rounding in fused quantised operators"
    return replace(run, note=note, ok=True, excused=True)


def _is_rounding(seen: Comparison) -> bool:
    """Whether a difference is small enough to come from rounding in quantised operators."""
    cosine = 1.0 if seen.cosine is None else seen.cosine
    return seen.max_rel <= _QUANTA and cosine >= _LEAST_COSINE and seen.argmax != 0.0


def differing(comparisons: Iterable[Comparison]) -> str:
    """The outputs that are not ok: `outputs 'a', 'b'`; quoted, since many names are numbers."""
    wrong = [each for each in comparisons if not each.ok]
    return f"outputs {few((repr(each.output) for each in wrong), _LISTED)}"
