"""How far outputs are from those that a framework recorded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from onnxpad.frameworks.repadding.search import Trial
from onnxpad.runtimes.sessions import Array, Value
from onnxpad.validation.align import nearest
from onnxpad.validation.compare import Tolerance, allowed, deviation

_MOST = 1 << 13
"""Elements of an answer on which the search looks; all of them tell whether it is solved."""
_UNLIKE = 10.0
"""How far shapes of different ranks are; of others the sum of |log(size / size wanted)| tells."""
_DEFAULTS: Mapping[str, float] = {"float64": 1e-5, "float32": 1e-5, "float16": 5e-3}
_COARSE = 2e-2
"""The same for types of fewer bits."""


class Closeness(Struct, frozen=True):
    """When an output counts as reproduced.

    Attributes:
        rtol: Allowed difference relative to each element; None for the default.
        atol: Allowed absolute difference on top; None for the default, which is relative to the
            range of the output (its greatest less its least element): 1e-5 for float32.
        noise: How much the runtime differs from itself between levels of optimisation, relative to
            the range; a few times that is rounding.
    """

    rtol: float | None = None
    atol: float | None = None
    noise: float = 0.0

    @property
    def is_usual(self) -> bool:
        """Whether nobody said what is allowed."""
        return self.rtol is None and self.atol is None

    def of(self, wanted: Array) -> Tolerance:
        """What is allowed of an output, in numbers."""
        if not self.is_usual:
            return Tolerance(self.rtol or 0.0, self.atol or 0.0)
        is_float = wanted.dtype.kind == "f" or wanted.dtype.isbuiltin == 2
        if not is_float or not wanted.astype(np.float64).any():
            return Tolerance(0.0, 0.0)  # zeros do not tell what a small difference is
        share = max(_DEFAULTS.get(wanted.dtype.name, _COARSE), ROUNDINGS * self.noise)
        return Tolerance(0.0, share * spread(wanted))


ROUNDINGS = 4.0
"""How many times what the runtime changes itself is rounding."""


def spread(values: Array) -> float:
    """The greatest finite element less the least one; their magnitude where all are equal."""
    wide = values.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    if not finite.size:
        return 1.0
    found = float(finite.max() - finite.min())
    return found or float(np.abs(finite).max()) or 1.0


def gap(wanted: Array, found: Value, closeness: Closeness) -> Trial:
    """Compares one output with the one wanted, whose layout may be another framework's.

    NaN and infinities equal themselves.
    """
    if not isinstance(found, np.ndarray):
        return _apart(_UNLIKE)
    fit = nearest(wanted, found)
    if fit is None:
        return _apart(_shapes(wanted.shape, found.shape))
    target = fit.array
    if target.dtype.kind not in "iufb" and target.dtype.isbuiltin != 2:
        equal = bool(np.array_equal(target, found))
        apart_by = 0.0 if equal else math.inf
        return Trial(equal, 0.0, apart_by, None, apart_by)
    apart = deviation(found, target)
    if not np.isfinite(apart).all():
        return _apart(0.0)
    close = bool(np.all(np.abs(apart) <= allowed(target, closeness.of(target))))
    missing = apart.reshape(-1) / spread(target)
    error = math.sqrt(float(np.mean(missing**2))) if missing.size else 0.0
    return Trial(close, 0.0, error, missing, float(np.abs(missing).max(initial=0.0)))


def _apart(gap: float) -> Trial:
    """Outputs that cannot be compared, whose shapes are so far from those wanted."""
    return Trial(False, gap, math.inf, None)


def trial(
    wanted: Sequence[Mapping[str, Array]],
    found: Sequence[Mapping[str, Value] | None],
    closeness: Closeness,
) -> Trial:
    """The evaluation of the outputs of all samples; None stands for a run that failed."""
    if any(each is None for each in found):
        return _apart(math.inf)
    gaps = [
        gap(value, outputs.get(name), closeness)
        for sample, outputs in zip(wanted, found, strict=True)
        if outputs is not None
        for name, value in sample.items()
    ]
    apart = sum(each.gap for each in gaps)
    greatest = max((each.greatest for each in gaps), default=0.0)
    solved = all(each.solved for each in gaps)
    if not gaps:
        return Trial(True, 0.0, 0.0, np.zeros(0), 0.0)
    parts = [each.missing for each in gaps if each.missing is not None]
    if apart or len(parts) < len(gaps):
        return Trial(solved, apart, 0.0 if solved else math.inf, None, greatest)
    error = math.sqrt(sum(each.error**2 for each in gaps) / len(gaps))
    return Trial(solved, 0.0, error, np.concatenate([*_fewer(parts)]), greatest)


def unrelated(wanted: Sequence[Mapping[str, Array]]) -> float:
    """The error of outputs that have nothing to do with those wanted: no less than their spread.

    That is the root mean square of what is missing, as in `trial`, where each output is constant,
    at its mean. Infinite where no output varies.
    """
    shares = []
    for value in (value for sample in wanted for value in sample.values()):
        wide = value.astype(np.float64) if value.dtype.kind in "iufb" else np.zeros(1)
        wide = wide[np.isfinite(wide)]
        shares.append(float(np.var(wide)) / spread(wide) ** 2 if wide.size else 0.0)
    return _NEARER * math.sqrt(sum(shares) / len(shares)) if any(shares) else math.inf


_NEARER = 0.9
"""The share of that by which unrelated outputs may be nearer by chance."""


def bits(
    wanted: Sequence[Mapping[str, Array]],
    found: Sequence[Mapping[str, Value] | None],
    residual: float,
) -> float:
    """How many bits of a reference tell it from outputs that differ from it.

    An element that is a hundred times as far off as what is left with the padding found tells
    log2(100) bits; an integer that differs one, as do 0, 1, -1 and what is there twice, which any
    saturated output may be. As many as 1 in 2^bits outputs of that kind agree by chance.

    Args:
        wanted: The reference, a mapping for each sample.
        found: The outputs that differ; None for a run that failed.
        residual: The difference left with the padding found, relative to the range.

    Returns:
        The bits; infinite where shapes differ or a run failed.
    """
    total = 0.0
    for sample, outputs in zip(wanted, found, strict=True):
        for name, value in sample.items():
            missing = None if outputs is None else gap(value, outputs.get(name), _EXACT).missing
            if missing is None:
                return math.inf
            coarse = float(np.finfo(value.dtype).eps) if value.dtype.kind == "f" else _COARSE
            told = np.log2(1 + np.abs(missing) / max(coarse, 2 * residual))
            wide = value.astype(np.float64).reshape(-1)
            _, same, counts = np.unique(wide, return_inverse=True, return_counts=True)
            is_one = np.abs(wide - np.rint(wide).clip(-1, 1)) <= coarse
            is_one |= (counts[same.reshape(-1)] > 1) | (value.dtype.kind in "iub")
            total += float(np.sum(np.where(is_one, missing != 0, told)))
    return total


_EXACT = Closeness(0.0, 0.0)


def _fewer(parts: Sequence[npt.NDArray[np.float64]]) -> Iterator[npt.NDArray[np.float64]]:
    """Evenly spaced elements of each part, `_MOST` of all together, each part with equal weight."""
    most = max(1, _MOST // len(parts))
    for part in parts:
        step = max(1, -(-part.size // most))
        some = part[::step]
        yield some / math.sqrt(max(1, some.size))


def _shapes(wanted: Sequence[int], found: Sequence[int]) -> float:
    """How far a shape is from one that may have its channels last, or axes of size 1 more."""
    one, other = (sorted(size for size in each if size != 1) for each in (wanted, found))
    if len(one) != len(other) or 0 in (*one, *other):
        return _UNLIKE
    return sum(abs(math.log(a / b)) for a, b in zip(one, other, strict=True)) or _UNLIKE
