"""Compares two values of one output, bit for bit and within a tolerance.

Values are those that `sessions.Session.run` returns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from onnxpad.runtimes.sessions import Array, Value
from onnxpad.validation.result import Comparison

_BLOCK = 1 << 20  # elements compared at a time, so that float64 copies stay small

_DEFAULTS = {
    "float64": (1e-9, 1e-10),
    "float32": (1e-4, 1e-5),
    "float16": (1e-2, 5e-3),
}
"""By type: relative to each element, and relative to the output's greatest magnitude."""

_LEAST_SLICE = 64  # elements of a slice that is judged by its own greatest magnitude

_MOVES = 16  # times as far as the original itself moves may a slice be apart

_ROUNDING = 2  # roundings of the greatest magnitude may be what terms that cancel out leave

_TIE = 16  # elements closer than so many roundings of the greatest magnitude count as equal

_RANKED = {"float16": np.int16, "bfloat16": np.int16, "float32": np.int32, "float64": np.int64}
"""Float types, and the integers whose order is that of their bits."""


class Tolerance(Struct, frozen=True):
    """The allowed difference; by default enough for rounding.

    Attributes:
        rtol: Allowed difference relative to each expected element; None for the default of its
            type.
        atol: Allowed absolute difference on top; None for the default of its type, which is
            relative to the output's greatest magnitude.
        factor: Factor for the defaults, used for values that another engine computed.
    """

    rtol: float | None = None
    atol: float | None = None
    factor: float = 1.0

    def of(self, dtype: str, scale: float) -> tuple[float, float]:
        """The relative and absolute tolerance for a type and an output's greatest magnitude."""
        relative, absolute = _DEFAULTS.get(dtype, (0.0, 0.0))
        return (
            relative * self.factor if self.rtol is None else self.rtol,
            absolute * self.factor * scale if self.atol is None else self.atol,
        )


def compare(
    output: str,
    before: Value,
    after: Value,
    tolerance: Tolerance = Tolerance(),
    noise: float = 0.0,
) -> Comparison:
    """How `after` differs from `before`.

    Floats may differ within the tolerance. Other types must be equal unless a tolerance is given
    explicitly. NaN and infinities must be at the same places.

    Args:
        output: Name of the output.
        before: The expected value.
        after: The value to compare with it.
        tolerance: The allowed difference.
        noise: The difference between two runs of one model; twice that is allowed on top.
    """
    detail = misfit(before, after)
    if detail:
        shape, dtype = _outline(before)
        return Comparison(
            output, False, math.nan, math.nan, detail, ok=False, shape=shape, dtype=dtype
        )
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        return _compare_tensors(output, before, after, tolerance, noise)
    parts = [compare(key, *pair, tolerance, noise) for key, pair in _parts(before, after)]
    return _worst(output, parts)


class Strayed(Struct, frozen=True):
    """A slice of an output that differs by more than rounding, although the whole does not.

    Attributes:
        sample: Index of the pair in which it differs most.
        detail: The difference in one line.
    """

    sample: int
    detail: str


def strayed(
    pairs: Sequence[tuple[Value, Value]],
    tolerance: Tolerance = Tolerance(),
    noise: float = 0.0,
    moved: Sequence[Value] = (),
) -> Strayed | None:
    """A slice of axis 1 or of the last axis that differs too much for its own magnitude, if any.

    A channel may be small beside the others, and wrong altogether within the tolerance of the
    whole. Slices of fewer than 64 elements in all pairs together are not looked at, and no slice
    is if the absolute tolerance was given. Nor does a difference count that is as small as one
    rounding of the greatest magnitude of the whole.

    Args:
        pairs: The expected and the found value in each run.
        tolerance: The allowed difference, relative to the greatest magnitude of a slice.
        noise: The difference between two runs of one model; twice that is allowed on top.
        moved: What the original computes in the same runs otherwise, as optimised. A slice that
            this moves by a 16th as much is right.
    """
    if tolerance.atol is not None:
        return None
    steps = [(before, other) for (before, _), other in zip(pairs, moved, strict=False)]
    is_moved = len(steps) == len(pairs) and not any(other is None for other in moved)
    for axis in _axes([before for before, _ in pairs]):
        count, scale, gap, excess = _slices(pairs, axis, tolerance)
        dtype = np.asarray(pairs[0][0]).dtype
        _, absolute = tolerance.of(dtype.name, 1.0)
        far = (count >= _LEAST_SLICE) & (excess > absolute * scale + 2 * noise)
        far &= gap > _ROUNDING * float(np.finfo(dtype).eps) * scale.max()
        if is_moved and far.any():
            far &= gap > _MOVES * _slices(steps, axis, tolerance)[2]
        if far.any():
            return _told(pairs, axis, int(np.argmax(np.where(far, gap, -1))))
    return None


def _axes(values: Sequence[Value]) -> list[int]:
    """Axis 1 and the last of tensors of floats of one rank; none of other values."""
    ranks = {
        value.ndim if isinstance(value, np.ndarray) and value.dtype.name in _DEFAULTS else 0
        for value in values
    }
    rank = ranks.pop() if len(ranks) == 1 else 0
    return sorted({min(1, rank - 1), rank - 1}) if rank else []


def _slices(
    pairs: Sequence[tuple[Value, Value]], axis: int, tolerance: Tolerance
) -> tuple[Array, Array, Array, Array]:
    """For each slice of an axis: its elements, greatest magnitude, difference, and excess.

    The excess is the difference beyond the tolerance relative to each element.
    """
    tensors = [(np.asarray(before), np.asarray(after)) for before, after in pairs]
    length = max(before.shape[axis] for before, _ in tensors)
    count, scale, gap, excess = np.zeros((4, length))
    with np.errstate(all="ignore"):
        for before, after in tensors:
            size = before.shape[axis]
            others = tuple(each for each in range(before.ndim) if each != axis)
            kind = np.float32 if before.itemsize == 2 else before.dtype
            a, b = before.astype(kind, copy=False), after.astype(kind, copy=False)
            if a.shape != b.shape:
                gap[:] = np.inf
                continue
            apart = _apart(a, b)
            a = np.where(np.isfinite(a), np.abs(a), 0)
            relative, _ = tolerance.of(before.dtype.name, 1.0)
            count[:size] += a.size / max(size, 1)
            for total, each in ((scale, a), (gap, apart), (excess, apart - relative * a)):
                found = each.max(axis=others, initial=0)
                total[:size] = np.maximum(total[:size], found)
    return count, scale, gap, excess


def _apart(before: Array, after: Array) -> Array:
    """The difference of each element; none between two NaN, infinite where one side has it."""
    with np.errstate(all="ignore"):
        same = (before == after) | (np.isnan(before) & np.isnan(after))
        apart = np.where(same, 0, np.abs(after - before))
    return np.where(np.isnan(apart), np.inf, apart)


def _told(pairs: Sequence[tuple[Value, Value]], axis: int, index: int) -> Strayed:
    """Where one slice differs most."""
    gaps = [0.0] * len(pairs)
    for sample, pair in enumerate(pairs):
        a, b = map(np.asarray, pair)
        if index < a.shape[axis]:
            one, other = (side.take(index, axis).astype(np.float64) for side in (a, b))
            gaps[sample] = float(_apart(one, other).max(initial=0))
    sample = int(np.argmax(gaps))
    apart = f"differs by {gaps[sample]:.3g}, within rounding of the whole but not of its slice"
    return Strayed(sample, f"{apart} on axis {axis} at {index}")


def argmax_lost(before: Value, after: Value, tolerance: Tolerance, noise: float = 0.0) -> str:
    """Why scores that differ little still disagree: in every row another element is the greatest.

    Empty if some row agrees, if the output is not scores (it has other than one or two axes), or if
    the two elements in question are so close in every row that rounding decides between them.
    """
    if not isinstance(before, np.ndarray) or not isinstance(after, np.ndarray):
        return ""
    if misfit(before, after):
        return ""
    a, b = _flat(before), _flat(after)
    with np.errstate(all="ignore"):
        if _argmax(before.shape, a, b) != 0.0:
            return ""
        rows = [side.reshape(-1, before.shape[-1]).astype(np.float64) for side in (a, b)]
        where = [side.argmax(axis=1)[:, None] for side in rows]
        gaps = [
            np.take_along_axis(side, own, 1) - np.take_along_axis(side, other, 1)
            for side, own, other in zip(rows, where, where[::-1], strict=True)
        ]
        rounding = _TIE * tolerance.factor * float(np.finfo(a.dtype).eps)
        least = rounding * np.abs(rows[0]).max(axis=1, keepdims=True) + 2 * noise
        if np.all(np.minimum(*gaps) <= least):
            return ""
    return f"argmax agrees in none of {len(rows[0])} rows: the greatest element is elsewhere"


def alike(
    output: str,
    exact: Value,
    moved: Value,
    found: Value,
    tolerance: Tolerance = Tolerance(),
    noise: float = 0.0,
) -> bool:
    """Whether each element of `found` agrees with that of `exact` or of `moved`.

    Args:
        output: Name of the output.
        exact: The original's output without optimisation.
        moved: The original's output with full optimisation.
        found: The rewritten model's output with full optimisation.
        tolerance: The allowed difference.
        noise: The difference between two runs of one model.
    """
    target = moved
    tensors = [each for each in (exact, moved, found) if isinstance(each, np.ndarray)]
    kinds = {(each.shape, each.dtype) for each in tensors}
    if len(tensors) == 3 and len(kinds) == 1 and tensors[0].dtype.kind in "fiu":
        with np.errstate(all="ignore"):
            a, b, c = (each.astype(np.float64) for each in tensors)
            like = (np.abs(c - b) <= np.abs(c - a)) | (tensors[1] == tensors[2])
            like |= np.isnan(b) & np.isnan(c)
        target = np.where(like, tensors[1], tensors[0])
    seen = compare(output, target, found, tolerance, noise)
    return seen.ok and not argmax_lost(target, found, tolerance, noise)


def shape_text(shape: Sequence[int | str]) -> str:
    """A shape as in reports: `1x3x224x224`, or `scalar`.

    >>> shape_text((1, 3, 5)), shape_text(())
    ('1x3x5', 'scalar')
    """
    return "x".join(map(str, shape)) or "scalar"


class _Tally(Struct):
    """The differences found in the blocks of two tensors so far."""

    scale: float
    relative: float
    absolute: float
    differing: int = 0
    first: int = -1
    worst: int = -1
    max_abs: float = 0.0
    special: int = 0
    within: bool = True

    def add(self, begin: int, before: Array, after: Array) -> None:
        """Add the block that begins at flat index `begin`."""
        unequal = np.asarray(before != after, dtype=np.bool_)
        if before.dtype.kind in "fc":
            unequal &= ~(np.isnan(before) & np.isnan(after))
        if not unequal.any():
            return
        places = begin + np.flatnonzero(unequal)
        if not self.differing:
            self.first = self.worst = int(places[0])
        self.differing += len(places)
        if before.dtype.kind not in "iufc":
            self.max_abs, self.within = math.nan, False
            return
        wide = np.complex128 if before.dtype.kind == "c" else np.float64
        a, b = before[unequal].astype(wide), after[unequal].astype(wide)
        finite = np.isfinite(a) & np.isfinite(b)
        if not self.special and not finite.all():
            self.worst = int(places[np.argmin(finite)])
        self.special += int(np.count_nonzero(~finite))
        gap = np.abs(b[finite] - a[finite])
        if gap.size and gap.max() > self.max_abs:
            self.max_abs = float(gap.max())
            if not self.special:
                self.worst = int(places[np.argmax(gap)])
        allowed = self.relative * np.abs(a[finite]) + self.absolute
        self.within &= not self.special and bool(np.all(gap <= allowed))


def _compare_tensors(
    output: str, before: Array, after: Array, tolerance: Tolerance, noise: float
) -> Comparison:
    a, b = _flat(before), _flat(after)
    with np.errstate(all="ignore"):
        scale = _scale(a)
        relative, absolute = tolerance.of(a.dtype.name, scale)
        tally = _Tally(scale, relative, absolute + 2 * noise)
        for begin in range(0, a.size, _BLOCK):
            tally.add(begin, a[begin : begin + _BLOCK], b[begin : begin + _BLOCK])
        equal = not tally.differing
        max_abs = math.nan if tally.special else tally.max_abs
        max_rel = 0.0 if equal else max_abs / scale if scale else max_abs * math.inf
        detail = ""
        if not tally.within:
            place = list(_place(tally.first, before))
            detail = f"{a[tally.first]} became {b[tally.first]} at {place}"
            if tally.special:
                detail += f", NaN or infinity on one side in {tally.special} places"
            detail += f" ({tally.differing} of {a.size} elements differ)"
        return Comparison(
            output,
            equal=equal,
            max_abs=max_abs,
            max_rel=max_rel,
            detail=detail,
            ok=tally.within,
            shape=shape_text(before.shape),
            dtype=before.dtype.name,
            ulp=_ulp(before, after, equal=equal),
            cosine=_cosine(a, b, scale, equal=equal),
            argmax=_argmax(before.shape, a, b),
            special=tally.special,
            worst=() if equal else _place(tally.worst, before),
            noise=noise,
            differing=tally.differing,
            elements=before.size,
        )


def _ulp(before: Array, after: Array, *, equal: bool) -> int | None:
    """The greatest difference of two finite elements in units in the last place."""
    ranked = _RANKED.get(before.dtype.name)
    if ranked is None:
        return None
    greatest = 0
    if not equal:
        one, other = (np.ascontiguousarray(side).reshape(-1) for side in (before, after))
        for begin in range(0, one.size, _BLOCK):
            a, b = one[begin : begin + _BLOCK], other[begin : begin + _BLOCK]
            finite = np.isfinite(a) & np.isfinite(b)
            ranks = _ranks(a[finite], ranked), _ranks(b[finite], ranked)
            gap = np.maximum(*ranks) - np.minimum(*ranks)
            greatest = max(greatest, int(gap.max(initial=0)))
    return greatest


def _place(flat: int, tensor: Array) -> tuple[int, ...]:
    return tuple(int(index) for index in np.unravel_index(flat, tensor.shape))


def _ranks(floats: Array, ranked: type) -> Array:
    """The rank of each float among all of its type, as unsigned integers; both zeros are equal."""
    bits = floats.view(ranked).astype(np.int64)
    magnitude = bits & np.int64(np.iinfo(ranked).max)
    signed = np.where(bits < 0, -magnitude, magnitude)
    return signed.view(np.uint64) + np.uint64(1 << 63)  # wraps, so that the order is kept


def _cosine(a: Array, b: Array, scale: float, *, equal: bool) -> float | None:
    """The cosine of the angle between the finite elements; None if one side is all zero."""
    if a.dtype.kind not in "iuf" or not scale:
        return None
    if equal:
        return 1.0
    products = np.zeros(3)
    for begin in range(0, a.size, _BLOCK):
        pair = [side[begin : begin + _BLOCK].astype(np.float64) / scale for side in (a, b)]
        finite = np.isfinite(pair[0]) & np.isfinite(pair[1])
        one, other = (side[finite] for side in pair)
        products += one @ other, one @ one, other @ other
    cosine = products[0] / np.sqrt(products[1] * products[2])
    return float(np.clip(cosine, -1, 1)) if np.isfinite(cosine) else None


def _argmax(shape: Sequence[int], a: Array, b: Array) -> float | None:
    """The share of rows with the greatest element at the same place; None if not scores."""
    if a.dtype.kind != "f" or len(shape) not in (1, 2) or shape[-1] < 2 or not a.size:
        return None
    rows = [side.reshape(-1, shape[-1]).argmax(axis=1) for side in (a, b)]
    return float(np.mean(rows[0] == rows[1]))


def _outline(value: Value) -> tuple[str, str]:
    """Shape and type of a tensor, as in reports; empty for other values."""
    if isinstance(value, np.ndarray):
        return shape_text(value.shape), value.dtype.name
    return "", ""


def _flat(tensor: Array) -> Array:
    """All elements on one axis, in a type for numpy's arithmetic: bfloat16 becomes float32."""
    foreign = tensor.dtype.isbuiltin == 2  # numpy's mark of a type from another package
    return (tensor.astype(np.float32) if foreign else tensor).reshape(-1)


def _scale(flat: Array) -> float:
    """The greatest finite magnitude; 0.0 if there is none."""
    greatest = 0.0
    if flat.dtype.kind in "iufc":
        for begin in range(0, flat.size, _BLOCK):
            block = flat[begin : begin + _BLOCK]
            wide = np.abs(block if block.dtype.kind == "c" else block.astype(np.float64))
            greatest = max(greatest, float(wide.max(initial=0.0, where=np.isfinite(wide))))
    return greatest


def misfit(before: Value, after: Value) -> str:
    """Why two values cannot be compared element by element, in one line; empty if they can."""
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        if before.dtype != after.dtype:
            return f"has type {after.dtype}, was {before.dtype}"
        # A Loop without iterations gathers no elements along axis 0. The runtime then takes the
        # other sizes from shape inference, with 0 for those that are unknown.
        gathers = before.ndim == after.ndim > 0 == before.shape[0] == after.shape[0]
        if before.shape != after.shape and not gathers:
            return f"has shape {shape_text(after.shape)}, was {shape_text(before.shape)}"
        return ""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return "" if before.keys() == after.keys() else "has other keys"
    was, now = _kind(before), _kind(after)
    return "" if was == now else f"is {now}, was {was}"


def _kind(value: Value) -> str:
    if value is None:
        return "empty"
    if isinstance(value, np.ndarray):
        return "a tensor"
    return "a map" if isinstance(value, Mapping) else f"a sequence of {len(value)}"


def _parts(before: Value, after: Value) -> Iterator[tuple[str, tuple[Value, Value]]]:
    """The pairs of tensors inside two maps or sequences that fit each other."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys = list(before)
        pair = np.array([before[key] for key in keys]), np.array([after[key] for key in keys])
        yield "values", pair
    elif before is not None and after is not None:
        for index, (was, now) in enumerate(zip(before, after, strict=True)):
            yield f"element {index}", (was, now)


def _worst(output: str, parts: list[Comparison]) -> Comparison:
    """The comparison of a map or sequence, from those of its parts."""
    detail = next((f"{part.output}: {part.detail}" for part in parts if part.detail), "")
    ulps = [part.ulp for part in parts if part.ulp is not None]
    return Comparison(
        output,
        equal=all(part.equal for part in parts),
        max_abs=float(np.max([part.max_abs for part in parts], initial=0.0)),
        max_rel=float(np.max([part.max_rel for part in parts], initial=0.0)),
        detail=detail,
        ok=all(part.ok for part in parts),
        ulp=max(ulps, default=None),
        special=sum(part.special for part in parts),
        differing=sum(part.differing for part in parts),
    )
