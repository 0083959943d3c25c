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

_DEFAULTS = {
    "float64": (1e-9, 1e-10),
    "float32": (1e-4, 1e-5),
    "float16": (1e-2, 5e-3),
}
"""By type: relative to each element, and relative to the greatest magnitude of its channel."""

_LEAST_CHANNEL = 64  # elements of a channel that is judged by its own greatest magnitude
_MOVES = 16  # times as far as the original itself moves may a channel be apart
_ROUNDING = 2  # roundings of the greatest magnitude may be what terms that cancel out leave
_TIE = 16  # elements closer than so many roundings of the greatest magnitude count as equal

_RANKED = {"float16": np.int16, "bfloat16": np.int16, "float32": np.int32, "float64": np.int64}
"""Float types, and the integers whose order is that of their bits."""

_LEAST_VARIED = {"float16": 4e-2, "bfloat16": 2e-1}
_LEAST_OF_ANY = 1e-2
_CLASSES = 4  # elements for each distinct value, if these look like classes
_SOME = 1 << 12  # elements that are looked at for that
"""By type, how much an output has to vary, relative to its greatest magnitude."""


class Tolerance(Struct, frozen=True):
    """The allowed difference; by default enough for rounding.

    `rtol` is relative to each expected element, `atol` is on top. The default of the latter is
    relative to the greatest magnitude of the element's channel. Both defaults depend on the type,
    and are `factor` times as wide for values that another engine computed.
    """

    rtol: float | None = None
    atol: float | None = None
    factor: float = 1.0

    def of(self, dtype: str, scale: float) -> tuple[float, float]:
        """The relative and absolute tolerance for a type and a greatest magnitude."""
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
    moved: Sequence[Value] = (),
) -> Comparison:
    """How `after` differs from `before`.

    Floats may differ within the tolerance. Other types must be equal unless a tolerance is given
    explicitly. NaN and infinities must be at the same places.
    """
    if detail := misfit(before, after):
        shape, dtype = "", ""
        if isinstance(before, np.ndarray):
            shape, dtype = shape_text(before.shape), before.dtype.name
        return Comparison(
            output, False, math.nan, math.nan, detail, ok=False, shape=shape, dtype=dtype
        )
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        return _compare_tensors(output, before, after, tolerance, noise, moved)
    parts = [compare(key, *pair, tolerance, noise) for key, pair in _parts(before, after)]
    ulps = [part.ulp for part in parts if part.ulp is not None]
    return Comparison(
        output,
        equal=all(part.equal for part in parts),
        max_abs=float(np.max([part.max_abs for part in parts], initial=0.0)),
        max_rel=float(np.max([part.max_rel for part in parts], initial=0.0)),
        detail=next((f"{part.output}: {part.detail}" for part in parts if part.detail), ""),
        ok=all(part.ok for part in parts),
        ulp=max(ulps, default=None),
        special=sum(part.special for part in parts),
        differing=sum(part.differing for part in parts),
    )


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
    """Whether each element of `found` agrees with that of `exact` or of `moved`."""
    target = moved
    tensors = [each for each in (exact, moved, found) if isinstance(each, np.ndarray)]
    kinds = {(each.shape, each.dtype) for each in tensors}
    if len(tensors) == 3 and len(kinds) == 1 and tensors[0].dtype.kind in "fiu":
        with np.errstate(all="ignore"):
            a, b, c = (each.astype(np.float64) for each in tensors)
            like = (np.abs(c - b) <= np.abs(c - a)) | (tensors[1] == tensors[2])
            like |= np.isnan(b) & np.isnan(c)
        target = np.where(like, tensors[1], tensors[0])
    seen = compare(output, target, found, tolerance, noise, (exact, moved))
    return seen.ok and not argmax_lost(target, found, tolerance, noise)


def is_flat(values: Sequence[Value]) -> bool:
    """Whether an output, with these values for different data, varies too little to be evidence.

    It has to vary over its elements and, if it is known for other data of the same shape, between
    both. Sequences and maps always count as evidence.

    >>> is_flat([np.array([0.1, 0.1001])]), is_flat([np.array([0.1, 0.2])])
    (True, False)
    >>> is_flat([np.array([0.1, 0.2])] * 2), is_flat([np.array([3.0]), np.array([4.0])])
    (True, False)
    """
    tensors = [value for value in values if isinstance(value, np.ndarray)]
    if not tensors or len(tensors) != len(values):
        return False
    if all(_is_even(tensor) for tensor in tensors):
        return True
    first, *others = tensors
    alike = [other for other in others if other.shape == first.shape]
    return bool(alike) and all(_is_near(first, other) for other in alike)


def is_discrete(value: Value) -> bool:
    """Whether a tensor has truths, strings, numbers of things, or looks like classes.

    >>> is_discrete(np.array([3])), is_discrete(np.array([1.0, 0, 0, 0, 1, 0, 0, 0]))
    (True, True)
    >>> is_discrete(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]))
    False
    """
    if not isinstance(value, np.ndarray):
        return False
    if value.dtype.kind in "bOSU":
        return True
    if value.dtype.kind in "iu" and value.itemsize > 1 and value.size < 2 * _CLASSES:
        return True
    some = _flat(value)[:_SOME]
    return _CLASSES * len(np.unique(some)) <= some.size


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


def shape_text(shape: Sequence[int | str]) -> str:
    """A shape as in reports: `1x3x224x224`, or `scalar`.

    >>> shape_text((1, 3, 5)), shape_text(())
    ('1x3x5', 'scalar')
    """
    return "x".join(map(str, shape)) or "scalar"


def _compare_tensors(
    output: str,
    before: Array,
    after: Array,
    tolerance: Tolerance,
    noise: float,
    moved: Sequence[Value],
) -> Comparison:
    a, b = _flat(before), _flat(after)
    is_number = a.dtype.kind in "iufc"
    with np.errstate(all="ignore"):
        unequal = np.asarray(a != b, dtype=np.bool_)
        if a.dtype.kind in "fc":
            unequal &= ~(np.isnan(a) & np.isnan(b))
        places = np.flatnonzero(unequal)
        equal, scale = not len(places), _scale(a)
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        one, other = (side[places].astype(wide) if is_number else places for side in (a, b))
        finite = np.isfinite(one) & np.isfinite(other)
        special = int(np.count_nonzero(~finite))
        gap = np.where(finite, np.abs(other - one), np.inf)
        allowed = _allowed(before, scale, tolerance, moved, places) if is_number else -np.ones(1)
        within = equal or (not special and bool(np.all(gap <= allowed + 2 * noise)))
        max_abs = float(gap.max(initial=0.0)) if is_number and not special else math.nan
        max_abs = 0.0 if equal else max_abs
        max_rel = 0.0 if equal else max_abs / scale if scale else max_abs * math.inf
        detail = ""
        if not within:
            place = list(_place(int(places[0]), before))
            detail = f"{a[places[0]]} became {b[places[0]]} at {place}"
            if special:
                detail += f", NaN or infinity on one side in {special} places"
            detail += f" ({len(places)} of {a.size} elements differ)"
        return Comparison(
            output,
            equal=equal,
            max_abs=max_abs,
            max_rel=max_rel,
            detail=detail,
            ok=within,
            shape=shape_text(before.shape),
            dtype=before.dtype.name,
            ulp=_ulp(before, after),
            cosine=1.0 if equal and scale and a.dtype.kind in "iuf" else _cosine(a, b, scale),
            argmax=_argmax(before.shape, a, b),
            special=special,
            worst=() if equal else _place(int(places[np.argmax(gap)]), before),
            noise=noise,
            differing=len(places),
            elements=before.size,
        )


def _allowed(
    before: Array, scale: float, tolerance: Tolerance, moved: Sequence[Value], places: Array
) -> Array:
    """The difference allowed at each of some places in flat order.

    Axis 1 and the last count as channels. What `moved` in a channel may move a few times as far.
    """
    flat = _flat(before)
    relative, share = tolerance.of(flat.dtype.name, 1.0)
    near = relative * np.abs(flat[places] * 1.0)
    if tolerance.atol is not None or before.dtype.name not in _DEFAULTS or not len(places):
        return np.asarray(near + (share if tolerance.atol is not None else share * scale))
    around, rounding = np.full(len(places), scale), 0.0
    steps = [each for each in moved if isinstance(each, np.ndarray) and each.shape == before.shape]
    for axis in sorted({min(1, before.ndim - 1), before.ndim - 1}) if before.ndim else ():
        size = before.shape[axis]
        if size < 2 or before.size < _LEAST_CHANNEL * size:
            continue
        others = tuple(each for each in range(before.ndim) if each != axis)
        greatest = _magnitudes(before, others)
        if len(steps) == 2 and share:
            apart = _MOVES * _magnitudes(steps[1] - steps[0], others) / share
            greatest = np.maximum(greatest, np.minimum(scale, apart))
        stride = math.prod(before.shape[axis + 1 :])
        around = np.minimum(around, greatest[places // stride % size])
        rounding = _ROUNDING * float(np.finfo(before.dtype).eps) * scale
    return np.asarray(near + share * around + rounding)


def _magnitudes(values: Array, axes: tuple[int, ...]) -> Array:
    """The greatest finite magnitude over some axes."""
    wide = np.abs(values)
    found: Array = wide.max(axis=axes, initial=0, where=np.isfinite(wide)).astype(np.float64)
    return found


def _ulp(before: Array, after: Array) -> int | None:
    """The greatest difference of two finite elements in units in the last place."""
    ranked = _RANKED.get(before.dtype.name)
    if ranked is None:
        return None
    one, other = (np.ascontiguousarray(side).reshape(-1) for side in (before, after))
    finite = np.isfinite(one) & np.isfinite(other) & (one != other)
    ranks = _ranks(one[finite], ranked), _ranks(other[finite], ranked)
    return int((np.maximum(*ranks) - np.minimum(*ranks)).max(initial=0))


def _place(flat: int, tensor: Array) -> tuple[int, ...]:
    return tuple(int(index) for index in np.unravel_index(flat, tensor.shape))


def _ranks(floats: Array, ranked: type) -> Array:
    """The rank of each float among all of its type, as unsigned integers; both zeros are equal."""
    bits = floats.view(ranked).astype(np.int64)
    magnitude = bits & np.int64(np.iinfo(ranked).max)
    signed = np.where(bits < 0, -magnitude, magnitude)
    return signed.view(np.uint64) + np.uint64(1 << 63)  # wraps, so that the order is kept


def _cosine(a: Array, b: Array, scale: float) -> float | None:
    """The cosine of the angle between the finite elements; None if one side is all zero."""
    if a.dtype.kind not in "iuf" or not scale:
        return None
    finite = np.isfinite(a) & np.isfinite(b)
    one, other = (side[finite].astype(np.float64) / scale for side in (a, b))
    cosine = one @ other / np.sqrt((one @ one) * (other @ other))
    return float(np.clip(cosine, -1, 1)) if np.isfinite(cosine) else None


def _argmax(shape: Sequence[int], a: Array, b: Array) -> float | None:
    """The share of rows with the greatest element at the same place; None if not scores."""
    if a.dtype.kind != "f" or len(shape) not in (1, 2) or shape[-1] < 2 or not a.size:
        return None
    rows = [side.reshape(-1, shape[-1]).argmax(axis=1) for side in (a, b)]
    return float(np.mean(rows[0] == rows[1]))


def _flat(tensor: Array) -> Array:
    """All elements on one axis, in a type for numpy's arithmetic: bfloat16 becomes float32."""
    foreign = tensor.dtype.isbuiltin == 2  # numpy's mark of a type from another package
    return (tensor.astype(np.float32) if foreign else tensor).reshape(-1)


def _scale(flat: Array) -> float:
    """The greatest finite magnitude; 0.0 if there is none."""
    if flat.dtype.kind not in "iufc":
        return 0.0
    wide = np.abs(flat if flat.dtype.kind in "fc" else flat.astype(np.float64))
    return float(wide.max(initial=0.0, where=np.isfinite(wide)))


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


def _is_even(tensor: Array) -> bool:
    """Whether all elements are about the same; a single finite number is not."""
    if tensor.size == 1:
        value = _number(tensor)
        return value is not None and not np.isfinite(value.reshape(-1)[0])
    return not tensor.size or _is_near(tensor, tensor.reshape(-1)[:1])


def _is_near(one: Array, other: Array) -> bool:
    a, b = _number(one), _number(other)
    if a is None or b is None:
        return bool(np.all(one == other))
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        if not np.all(finite | (a == b) | (np.isnan(a) & np.isnan(b))):
            return False
        scale = np.abs(a).max(initial=0.0, where=finite)
        gap = np.abs(a - b).max(initial=0.0, where=finite)
    return bool(gap <= _LEAST_VARIED.get(one.dtype.name, _LEAST_OF_ANY) * scale)


def _number(tensor: Array) -> Array | None:
    """Floats in a type for numpy's arithmetic; None for other types, which are exact."""
    if tensor.dtype.isbuiltin == 2:
        return tensor.astype(np.float32)
    if tensor.dtype.kind not in "fc":
        return None
    return tensor.astype(np.float32) if tensor.dtype.itemsize == 2 else tensor
