"""Compares two values of one output, bit for bit and within a tolerance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from onnxpad.runtimes.sessions import Array, Value
from onnxpad.validation.result import Comparison

_DEFAULTS = {"float64": (1e-9, 1e-10), "float32": (1e-4, 1e-5), "float16": (1e-2, 5e-3)}
"""By type: relative to each element, and relative to the greatest magnitude of its channel."""

_LEAST_CHANNEL = 64  # elements of a channel that is judged by its own greatest magnitude
_MOVES = 16  # times as far as the original itself moves may a channel be apart
_ROUNDING = 2  # roundings of the greatest magnitude may be what terms that cancel out leave

_SHARES = 8  # roundings of 1 may be what values between 0 and 1 are apart
_LEAST_SHARE = 5e-2  # of their greatest, at most

_RANKED = {"float16": "i2", "bfloat16": "i2", "float32": "i4", "float64": "i8"}
"""Float types, and the integers whose order is that of their bits."""

_LEAST_VARIED = {"float16": 4e-2, "bfloat16": 2e-1}
_LEAST_OF_ANY = 1e-2
"""By type, how much an output has to vary, relative to its greatest magnitude."""

_CLASSES = 4  # elements for each distinct value, if these look like classes
_SOME = 1 << 12  # elements that are looked at for that


class Tolerance(Struct, frozen=True):
    """The allowed difference; by default enough for rounding.

    `rtol` is relative to each expected element, `atol` is on top, by default relative to the
    greatest magnitude of the element's channel. Both defaults depend on the type, and are `factor`
    times as wide for values that another engine computed.
    """

    rtol: float | None = None
    atol: float | None = None
    factor: float = 1.0


def compare(
    output: str,
    before: Array,
    after: Array,
    tolerance: Tolerance = Tolerance(),
    moved: Sequence[Array] = (),
    said: str = "became",
) -> Comparison:
    """How `after` differs from `before`; `moved` in a channel may move a few times as far.

    Floats may differ within the tolerance, other types if one is given explicitly. NaN and
    infinities must be at the same places. What is `said` stands between elements that differ.
    """
    shape, dtype, nan = shape_text(before.shape), before.dtype.name, math.nan
    # Of a Loop without iterations the runtime takes the sizes from shape inference, but for axis 0.
    gathers = before.ndim == after.ndim > 0 == before.shape[0] == after.shape[0]
    detail = ""
    if before.shape != after.shape and not gathers:
        detail = f"shape {shape} {said} {shape_text(after.shape)}"
    if before.dtype != after.dtype:
        detail = f"type {before.dtype} {said} {after.dtype}"
    if detail:
        return Comparison(output, False, nan, nan, detail, ok=False, shape=shape, dtype=dtype)
    a, b = _number(before).reshape(-1), _number(after).reshape(-1)
    places, scale = np.flatnonzero(_unequal(a, b)), _greatest(a).item()
    equal, special, worst = not len(places), 0, 0
    within, max_abs = equal, 0.0 if equal else nan
    if a.dtype.kind in "iufc" and not equal:
        gap = np.maximum(np.abs(deviation(a, b))[places], a.dtype.kind in "iu")
        special, worst = int(np.count_nonzero(np.isinf(gap))), int(np.argmax(gap))
        limits = allowed(before, tolerance, moved).reshape(-1)[places]
        within = not special and bool(np.all(gap <= limits))
        max_abs = nan if special else float(gap.max())
    if not within:
        most, sides = places[worst], f", NaN or infinity on one side in {special} places"
        detail = f"{before.flat[most]!s} {said} {after.flat[most]!s} at {[*_place(most, before)]}"
        detail += f"{sides * bool(special)} ({len(places)} of {a.size} elements differ)"
    with np.errstate(all="ignore"):
        return Comparison(
            output,
            equal=equal,
            max_abs=max_abs,
            max_rel=0.0 if equal else max_abs / scale if scale else max_abs * math.inf,
            detail=detail,
            ok=within,
            shape=shape,
            dtype=dtype,
            ulp=_ulp(before, after),
            cosine=1.0 if equal and scale and a.dtype.kind in "iuf" else _cosine(a, b, scale),
            argmax=_argmax(before.shape, a, b),
            special=special,
            worst=() if equal else _place(places[worst], before),
            differing=len(places),
        )


def alike(
    output: str, exact: Array, moved: Array, found: Array, tolerance: Tolerance = Tolerance()
) -> bool:
    """Whether each element of `found` agrees with that of `exact` or of `moved`."""
    target, sides = moved, (exact, moved, found)
    if len({(each.shape, each.dtype) for each in sides}) == 1 and found.dtype.kind in "fiu":
        one, other = (np.abs(deviation(each, found)) for each in sides[:2])
        target = np.where(other <= one, moved, exact)
    return compare(output, target, found, tolerance, (exact, moved)).ok


def is_flat(values: Sequence[Array]) -> bool:
    """Whether an output varies too little, over its elements or with other data, to be evidence."""
    first, *others = values
    alike = [other for other in others if other.shape == first.shape]
    same = bool(alike) and all(_is_near(first, other) for other in alike)
    return same or all(map(_is_even, values))


def is_discrete(value: Array) -> bool:
    """Whether a tensor has truths, strings, numbers of things, or looks like classes."""
    if value.dtype.kind in "bOSU":
        return True
    if value.dtype.kind in "iu" and value.itemsize > 1 and value.size < 2 * _CLASSES:
        return True
    some = _number(value).reshape(-1)[:_SOME]
    return _CLASSES * len(np.unique(some)) <= some.size


def tensors(values: Mapping[str, Value]) -> dict[str, Array]:
    """The tensors among values by name, without sequences, maps and empty ones."""
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def shape_text(shape: Sequence[int | str]) -> str:
    """A shape as in reports: `1x3x224x224`, or `scalar`."""
    return "x".join(map(str, shape)) or "scalar"


def deviation(before: Array, after: Array) -> Array:
    """How far each element is off: 0 where both are equal or NaN, infinite where one alone is."""
    a, b = _number(before), _number(after)
    with np.errstate(all="ignore"):
        apart = np.where(_unequal(a, b), _wide(b) - _wide(a), 0)
    return np.asarray(np.where(np.isfinite(apart), apart, np.inf))


def allowed(before: Array, tolerance: Tolerance, moved: Sequence[Array] = ()) -> Array:
    """The difference allowed of each element; axis 1 and the last count as channels."""
    number = _number(before)
    scale, rounding, around = _greatest(number).item(), 0.0, np.full(before.shape, 1.0)
    relative, share = _DEFAULTS.get(before.dtype.name, (0.0, 0.0))
    relative = relative * tolerance.factor if tolerance.rtol is None else tolerance.rtol
    share = share * tolerance.factor if tolerance.atol is None else tolerance.atol
    with np.errstate(all="ignore"):
        wide = np.abs(_wide(number))
        near = relative * np.where(np.isfinite(wide), wide, 0)
        if tolerance.atol is not None or not share:
            return np.asarray(near + share)
        eps, around = float(np.finfo(before.dtype).eps), around * scale
        steps = [each for each in moved if each.shape == before.shape]
        for axis in sorted({min(1, before.ndim - 1), before.ndim - 1}) if before.ndim else ():
            size = before.shape[axis]
            if size < 2 or before.size < _LEAST_CHANNEL * size:
                continue
            others = tuple(each for each in range(before.ndim) if each != axis)
            greatest = _greatest(number, others)
            if len(steps) == 2:
                apart = _greatest(_number(steps[1]) - _number(steps[0]), others)
                greatest = np.maximum(greatest, np.minimum(scale, _MOVES * apart / share))
            around, rounding = np.minimum(around, greatest), _ROUNDING * eps * scale
        if before.size and number.min() >= 0 and scale <= 1:
            # A share near 0 is rounded as 1 is where it comes from one near 1, as Sigmoid's does.
            rounding = max(rounding, min(_SHARES * eps, _LEAST_SHARE * scale))
    return np.asarray(near + share * around + rounding)


def _place(flat: int, tensor: Array) -> tuple[int, ...]:
    return tuple(map(int, np.unravel_index(flat, tensor.shape)))


def _ulp(before: Array, after: Array) -> int | None:
    """The greatest difference of two finite elements in units in the last place."""
    if (ranked := _RANKED.get(before.dtype.name)) is None:
        return None
    sides, ranks = [np.ascontiguousarray(side).reshape(-1) for side in (before, after)], []
    finite = np.isfinite(sides[0]) & np.isfinite(sides[1]) & (sides[0] != sides[1])
    for side in sides:  # by the rank of each float among all of its type; both zeros are equal
        bits = side[finite].view(ranked).astype(np.int64)
        signed = np.where(bits < 0, -(bits & np.int64(np.iinfo(ranked).max)), bits)
        ranks.append(signed.view(np.uint64) + np.uint64(1 << 63))  # wraps: the order is kept
    return int((np.maximum(*ranks) - np.minimum(*ranks)).max(initial=0))


def _cosine(a: Array, b: Array, scale: float) -> float | None:
    """The cosine of the angle between the finite elements; None if one side is all zero."""
    if a.dtype.kind not in "iuf" or not scale:
        return None
    finite = np.isfinite(a) & np.isfinite(b)
    one, other = (_wide(side[finite]) / scale for side in (a, b))
    cosine = one @ other / np.sqrt((one @ one) * (other @ other))
    return float(np.clip(cosine, -1, 1)) if np.isfinite(cosine) else None


def _argmax(shape: Sequence[int], a: Array, b: Array) -> float | None:
    """The share of rows with the greatest element at the same place; None if not scores."""
    if a.dtype.kind != "f" or len(shape) not in (1, 2) or shape[-1] < 2 or not a.size:
        return None
    rows = [side.reshape(-1, shape[-1]).argmax(axis=1) for side in (a, b)]
    return float(np.mean(rows[0] == rows[1]))


def _number(tensor: Array) -> Array:
    """Elements in a type for numpy's arithmetic: bfloat16 and float8 become float32."""
    foreign = tensor.dtype.isbuiltin == 2  # numpy's mark of a type from another package
    return tensor.astype(np.float32) if foreign else tensor


def _wide(number: Array) -> Array:
    """Numbers in the widest type, in which their differences are."""
    return number.astype(np.complex128 if number.dtype.kind == "c" else np.float64)


def _unequal(a: Array, b: Array) -> Array:
    """Where elements differ; NaN equals NaN."""
    with np.errstate(all="ignore"):
        return np.asarray((a != b) & ~((a != a) & (b != b)), np.bool_)


def _greatest(number: Array, axes: tuple[int, ...] | None = None) -> Array:
    """The greatest finite magnitude over some axes, or all, which stay with size 1; 0 if none."""
    with np.errstate(all="ignore"):
        kind = number.dtype.kind
        wide = np.abs(number if kind in "fc" else _wide(number) if kind in "iu" else np.zeros(1))
        found = wide.max(axis=axes, initial=0, where=np.isfinite(wide), keepdims=True)
        return np.asarray(found, np.float64)


def _is_even(tensor: Array) -> bool:
    """Whether all elements are about the same; a single finite number is not."""
    if tensor.size == 1:
        value = _number(tensor).reshape(-1)
        return value.dtype.kind in "fc" and not np.isfinite(value[0])
    return not tensor.size or _is_near(tensor, tensor.reshape(-1)[:1])


def _is_near(one: Array, other: Array) -> bool:
    """Whether two tensors, of which one may be a single element, are about the same."""
    a, b = _number(one), _number(other)
    if a.dtype.kind not in "fc":
        return bool(np.all(one == other))
    gap = np.abs(deviation(_wide(a), np.broadcast_to(_wide(b), a.shape)))
    least = _LEAST_VARIED.get(one.dtype.name, _LEAST_OF_ANY)
    return bool(gap.max(initial=0.0) <= least * _greatest(a).item())
