"""How far outputs are from those that a framework recorded, or from those of another padding."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from onnxpad.arguments import Progress
from onnxpad.frameworks.repadding.results import Difference
from onnxpad.runtimes.sessions import Array, Source, Value
from onnxpad.validation.align import nearest
from onnxpad.validation.compare import Tolerance, allowed, deviation
from onnxpad.validation.result import Comparison
from onnxpad.validation.whole import validate_models

_MOST = 1 << 13
"""Elements of an answer on which the search looks; all of them tell whether it is solved."""
_UNLIKE = 10.0
"""How far shapes with as many elements are; of others |log(elements / elements wanted)| tells."""
_DEFAULTS: Mapping[str, float] = {"float64": 1e-5, "float32": 1e-5, "float16": 5e-3}
_COARSE = 2e-2
"""The same for types of fewer bits."""
Key = tuple[int, str]
"""The number of a sample, and the name of a tensor in it."""
Wanted = Mapping[Key, Array]
Found = Mapping[Key, Value]


class Trial(Struct, frozen=True):
    """How far outputs are from those wanted: whether they are reproduced, and what is missing.

    The gap is how far their shapes are off: 0 where they are right. The error is the root mean
    square of what is missing, which is None where outputs cannot be compared. The greatest
    difference is relative to the range of its output, which is the worst.
    """

    solved: bool
    gap: float
    error: float
    missing: npt.NDArray[np.float64] | None
    greatest: float = math.inf
    worst: str = ""

    @property
    def rank(self) -> tuple[bool, float, float]:
        """A key by which the better of two trials is the smaller one, unless by rounding alone."""
        return not self.solved, self.gap, float(f"{self.error:.5g}")


class Closeness(Struct, frozen=True):
    """When an output counts as reproduced, by `rtol` and `atol`, if anybody said so.

    By default it may be off by 1e-5 of its range in float32, or by the noise: a few times what the
    runtime changes of the range at another level of optimisation.
    """

    rtol: float | None = None
    atol: float | None = None
    noise: float = 0.0

    def of(self, wanted: Array) -> Tolerance:
        """What is allowed of an output, in numbers."""
        if not (self.rtol is None and self.atol is None):
            return Tolerance(self.rtol or 0.0, self.atol or 0.0)
        is_float = wanted.dtype.kind == "f" or wanted.dtype.isbuiltin == 2
        if not is_float or not wanted.astype(np.float64).any():
            return Tolerance(0.0, 0.0)  # zeros do not tell what a small difference is
        share = max(_DEFAULTS.get(wanted.dtype.name, _COARSE), self.noise)
        return Tolerance(0.0, share * spread(wanted))


def spread(values: Array) -> float:
    """The greatest finite element less the least one; their magnitude where all are equal."""
    wide = values.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    if not finite.size:
        return 1.0
    return float(np.ptp(finite)) or float(np.abs(finite).max()) or 1.0


def gap(wanted: Array, found: Value | None, closeness: Closeness) -> Trial:
    """Compares one output with the one wanted, whose layout may be another framework's.

    NaN and infinities equal themselves.
    """
    if not isinstance(found, np.ndarray) or (fit := nearest(wanted, found)) is None:
        size = found.size if isinstance(found, np.ndarray) else 0
        return apart(abs(math.log(max(wanted.size, 1) / max(size, 1))) or _UNLIKE)
    target = fit.array
    if target.dtype.kind not in "iufb" and target.dtype.isbuiltin != 2:
        is_equal = np.array_equal(target, found)
        return Trial(True, 0.0, 0.0, None, 0.0) if is_equal else apart(0.0)
    off = deviation(found, target)
    if not np.isfinite(off).all():
        return apart(0.0)
    close = bool(np.all(np.abs(off) <= allowed(target, closeness.of(target))))
    missing = off.reshape(-1) / spread(target)
    error = math.sqrt(float(np.mean(missing**2))) if missing.size else 0.0
    return Trial(close, 0.0, error, missing, float(np.abs(missing).max(initial=0.0)))


def apart(gap: float) -> Trial:
    """Outputs that cannot be compared, whose shapes are so far from those wanted."""
    return Trial(False, gap, math.inf, None)


def trial(wanted: Wanted, found: Found, closeness: Closeness) -> Trial:
    """How far the outputs of all samples are from those wanted."""
    gaps = [gap(value, found.get(key), closeness) for key, value in wanted.items()]
    if not gaps:
        return Trial(True, 0.0, 0.0, np.zeros(0), 0.0)
    off = sum(each.gap for each in gaps)
    worst, each = max(zip(wanted, gaps, strict=True), key=lambda pair: pair[1].greatest)
    solved = all(each.solved for each in gaps)
    parts = [each.missing for each in gaps if each.missing is not None]
    if off or len(parts) < len(gaps):
        return Trial(solved, off, 0.0 if solved else math.inf, None, each.greatest, worst[1])
    error = math.sqrt(sum(each.error**2 for each in gaps) / len(gaps))
    some = [part[:: max(1, -(-part.size * len(parts) // _MOST))] for part in parts]
    missing = np.concatenate([part / math.sqrt(part.size) for part in some])
    return Trial(solved, 0.0, error, missing, each.greatest, worst[1])


def bits(wanted: Wanted, found: Found, residual: float) -> float:
    """How many bits of a reference tell it from outputs that differ from it.

    An element that is a hundred times as far off as the residual, which is left with the padding
    found, tells log2(100) bits; an integer that differs one, as do 0, 1, -1 and what is there
    twice, which any saturated output may be. As many as 1 in 2^bits outputs of that kind agree by
    chance. Infinite where shapes differ.
    """
    total = 0.0
    for key, value in wanted.items():
        if (missing := gap(value, found.get(key), Closeness(0.0, 0.0)).missing) is None:
            return math.inf
        coarse = float(np.finfo(value.dtype).eps) if value.dtype.kind == "f" else _COARSE
        told = np.log2(1 + np.abs(missing) / max(coarse, 2 * residual))
        wide = value.astype(np.float64).reshape(-1)
        _, same, counts = np.unique(wide, return_inverse=True, return_counts=True)
        is_one = np.abs(wide - np.rint(wide).clip(-1, 1)) <= coarse
        is_one |= (counts[same.reshape(-1)] > 1) | (value.dtype.kind in "iub")
        total += float(np.sum(np.where(is_one, missing != 0, told)))
    return total


def difference(
    original: Source, changed: bytes, folder: Path | None = None, progress: Progress | None = None
) -> Difference:
    """How much the outputs of a model change: both run on drawn inputs, with optimisation off.

    The folder is that of the external data of the changed model.

    Raises:
        ModelError: A model cannot be read.
    """
    exact = Tolerance(0.0, 0.0)
    found = validate_models(original, changed, folder=folder, tolerance=exact, progress=progress)
    sides = "off", "rewritten", "original"
    runs = [e for e in found.runs if (e.optimisation, e.subject, e.against) == sides]
    if not runs:
        return Difference(uncompared=f"the original is not run: {found.reason}")
    labels = tuple(run.inputs for run in runs)
    if (failed := next((run for run in runs if not run.comparisons), None)) is not None:
        return Difference((), labels, *((failed.note, "") if failed.ok else ("", failed.note)))
    worst = dict[str, Comparison]()
    for seen in (each for run in runs for each in run.comparisons):
        both = worst.get(seen.output, seen), seen
        worst[seen.output] = max(both, key=lambda e: np.nan_to_num(e.max_rel, nan=np.inf))
    return Difference(tuple(worst.values()), labels)
