"""Two values of one output compared: bit for bit, or within what rounding explains.

May import `onnxpad.verdict`. Values are what `sessions.Session.run` gives.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from onnxpad.validation.sessions import Array, Value
from onnxpad.verdict import Comparison

_BLOCK = 1 << 20  # elements looked at together, so that float64 copies stay small

_TOLERANCES = {
    "float64": (1e-9, 1e-10),
    "float32": (1e-4, 1e-5),
    "float16": (1e-2, 5e-3),
}
"""By type: relative to each element, and relative to the output's greatest magnitude."""


def compare(output: str, before: Value, after: Value) -> Comparison:
    """How `after` differs from `before`.

    Floats may differ by rounding, relative to each element and to the output's greatest magnitude;
    NaN and infinities must be at the same places. Everything else must be equal.
    """
    detail = _misfit(before, after)
    if detail:
        return Comparison(output, False, math.nan, math.nan, detail, ok=False)
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        return _compare_tensors(output, before, after)
    return _worst(output, [compare(key, *pair) for key, pair in _parts(before, after)])


def shape_text(shape: Sequence[int]) -> str:
    """A shape as reports write it: `1x3x224x224`, or `scalar`.

    >>> shape_text((1, 3, 5)), shape_text(())
    ('1x3x5', 'scalar')
    """
    return "x".join(map(str, shape)) or "scalar"


@dataclass(slots=True)
class _Tally:
    """What the blocks of two tensors, seen so far, have shown."""

    differing: int = 0
    first: int = -1
    max_abs: float = 0.0
    special: int = 0
    within: bool = True

    def add(self, begin: int, before: Array, after: Array, scale: float) -> None:
        """Take in one block, which begins at flat index `begin`."""
        unequal = np.asarray(before != after, dtype=np.bool_)
        if before.dtype.kind in "fc":
            unequal &= ~(np.isnan(before) & np.isnan(after))
        if not unequal.any():
            return
        if not self.differing:
            self.first = begin + int(np.argmax(unequal))
        self.differing += int(np.count_nonzero(unequal))
        if before.dtype.kind not in "iufc":
            self.max_abs, self.within = math.nan, False
            return
        wide = np.complex128 if before.dtype.kind == "c" else np.float64
        a, b = before[unequal].astype(wide), after[unequal].astype(wide)
        finite = np.isfinite(a) & np.isfinite(b)
        self.special += int(np.count_nonzero(~finite))
        gap = np.abs(b[finite] - a[finite])
        self.max_abs = max(self.max_abs, float(gap.max(initial=0.0)))
        relative, absolute = _TOLERANCES.get(before.dtype.name, (0.0, 0.0))
        allowed = relative * np.abs(a[finite]) + absolute * scale
        self.within &= not self.special and bool(np.all(gap <= allowed))


def _compare_tensors(output: str, before: Array, after: Array) -> Comparison:
    a, b = _flat(before), _flat(after)
    tally = _Tally()
    with np.errstate(all="ignore"):
        scale = _scale(a)
        for begin in range(0, a.size, _BLOCK):
            tally.add(begin, a[begin : begin + _BLOCK], b[begin : begin + _BLOCK], scale)
    if not tally.differing:
        return Comparison(output, True, 0.0, 0.0, "", ok=True)
    max_rel = tally.max_abs / scale if scale else tally.max_abs * math.inf
    if tally.within:
        return Comparison(output, False, tally.max_abs, max_rel, "", ok=True)
    place = [int(index) for index in np.unravel_index(tally.first, before.shape)]
    detail = f"{a[tally.first]} became {b[tally.first]} at {place}"
    if tally.special:
        detail += f", NaN or infinity on one side in {tally.special} places"
    detail += f" ({tally.differing} of {a.size} elements differ)"
    return Comparison(output, False, tally.max_abs, max_rel, detail, ok=False)


def _flat(tensor: Array) -> Array:
    """One axis of elements that numpy can calculate with: bfloat16 and float8 become float32."""
    known = tensor.dtype.kind in "biufcOUS"
    return (tensor if known else tensor.astype(np.float32)).reshape(-1)


def _scale(flat: Array) -> float:
    """The greatest finite magnitude; 0.0 where there is none."""
    greatest = 0.0
    if flat.dtype.kind in "iufc":
        for begin in range(0, flat.size, _BLOCK):
            block = flat[begin : begin + _BLOCK]
            wide = np.abs(block if block.dtype.kind == "c" else block.astype(np.float64))
            greatest = max(greatest, float(wide.max(initial=0.0, where=np.isfinite(wide))))
    return greatest


def _misfit(before: Value, after: Value) -> str:
    """Why two values cannot be compared part by part, in one line; empty if they can."""
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        if before.dtype != after.dtype:
            return f"has type {after.dtype}, was {before.dtype}"
        if before.shape != after.shape:
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
    """The tensors of two fitting values that are none themselves."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys = list(before)
        pair = np.array([before[key] for key in keys]), np.array([after[key] for key in keys])
        yield "values", pair
    elif before is not None and after is not None:
        for index, (was, now) in enumerate(zip(before, after, strict=True)):
            yield f"element {index}", (was, now)


def _worst(output: str, parts: list[Comparison]) -> Comparison:
    """The verdict on a whole that has these parts."""
    detail = next((f"{part.output}: {part.detail}" for part in parts if part.detail), "")
    return Comparison(
        output,
        equal=all(part.equal for part in parts),
        max_abs=float(np.max([part.max_abs for part in parts], initial=0.0)),
        max_rel=float(np.max([part.max_rel for part in parts], initial=0.0)),
        detail=detail,
        ok=all(part.ok for part in parts),
    )
