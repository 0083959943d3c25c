"""Comparisons of tensors, held against the same worked out element by element."""

import math
import random
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from onnxpad.validation.compare import Tolerance, alike, compare, is_flat
from tests.support.rows import each_row

NAN, INF = math.nan, math.inf
DEFAULTS = {"float16": (1e-2, 5e-3), "float32": (1e-4, 1e-5), "float64": (1e-9, 1e-10)}
TYPES = ("float16", "float32", "float64", "int8", "int64", "uint8", "bool", "complex64")
SHAPES = ((), (1,), (5,), (2, 3), (1, 8), (2, 3, 4), (3, 0))


def f32(*values: Any) -> Any:
    return np.array(values, np.float32)


def drawn(draws: random.Random) -> tuple[Any, Any, Tolerance]:
    """Two tensors, of which one may differ in some elements, and a tolerance."""
    dtype, shape = draws.choice(TYPES), draws.choice(SHAPES)
    numbers = np.random.default_rng(draws.randrange(10**6))
    scale = draws.choice((1, 1, 1000, 1e-3, 0)) if dtype.startswith("f") else 1
    before: Any = np.asarray(numbers.integers(0, 9, shape) * scale).astype(dtype)
    after = before.copy()
    for _ in range(draws.choice((0, 1, 1, 2, 5))):
        if after.size:
            place = tuple(draws.randrange(size) for size in shape)
            special = draws.choice((NAN, INF, -INF))
            if dtype.startswith("f") and draws.random() < 0.2:
                after[place] = special
                if draws.random() < 0.5:
                    before[place] = special
            elif dtype == "bool":
                after[place] = not after[place]
            else:
                step = draws.choice((1, 1, 2, 1e-3, 1e-6, 0.04)) * (scale or 1)
                after[place] = after[place] + np.asarray(step).astype(dtype)
    rtol, atol = draws.choice((None, None, 0.0, 0.3)), draws.choice((None, None, None, 0.0, 1.0))
    return before, after, Tolerance(rtol, atol, draws.choice((1.0, 10.0)))


@each_row("seed", range(240), at_once=80)
def test_every_field_is_what_a_walk_over_the_elements_gives(seed: int) -> None:
    before, after, tolerance = drawn(random.Random(seed))
    with np.errstate(all="ignore"):
        check(compare("y", before, after, tolerance), before, after, tolerance)


def check(found: Any, before: Any, after: Any, tolerance: Tolerance) -> None:
    name, is_number = before.dtype.name, before.dtype.kind in "iufc"
    wide = complex if before.dtype.kind == "c" else float
    a, b = ([wide(each) for each in side.reshape(-1)] for side in (before, after))
    apart = [i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y and not (x != x != y)]
    apart = [i for i in apart if not (a[i] != a[i] and b[i] != b[i])]
    gaps = {i: abs(a[i] - b[i]) for i in apart}
    special = [i for i in apart if not (np.isfinite(a[i]) and np.isfinite(b[i]))]
    finite = [i for i in apart if i not in special]
    scale = max((abs(each) for each in a if np.isfinite(each)), default=0.0) if is_number else 0.0
    relative, absolute = DEFAULTS.get(name, (0.0, 0.0))
    relative = relative * tolerance.factor if tolerance.rtol is None else tolerance.rtol
    absolute = absolute * tolerance.factor * scale if tolerance.atol is None else tolerance.atol
    allowed = [gaps[i] <= relative * abs(a[i]) + absolute for i in finite]
    assert found.equal is (not apart)
    assert found.ok is (not apart or (is_number and not special and all(allowed)))
    assert (found.dtype, found.special) == (name, len(special) if is_number else 0)
    greatest = max((gaps[i] for i in finite), default=0.0)
    if special or (apart and not is_number):
        assert math.isnan(found.max_abs)
    else:
        assert found.max_abs == greatest
        expected = 0.0 if not apart else greatest / scale if scale else INF
        assert found.max_rel == pytest.approx(expected)
    place = (special or [i for i in finite if gaps[i] == greatest] or [0])[0]
    if not apart:
        assert found.worst == ()
    elif is_number:
        assert found.worst == tuple(map(int, np.unravel_index(place, before.shape)))
    if found.ok:
        assert not found.detail
    else:
        assert found.differing == len(apart)
    if before.dtype.kind == "f" and before.ndim in (1, 2) and before.shape[-1] > 1 and before.size:
        rows = zip(
            before.reshape(-1, before.shape[-1]), after.reshape(-1, before.shape[-1]), strict=True
        )
        same = [int(one.argmax()) == int(other.argmax()) for one, other in rows]
        assert found.argmax == sum(same) / len(same)
    else:
        assert found.argmax is None
    if name in DEFAULTS:
        steps = [ulps(before.reshape(-1)[i], after.reshape(-1)[i]) for i in finite]
        assert found.ulp == max(steps, default=0)


def ulps(one: Any, other: Any) -> int:
    """How many numbers of the type lie between two, one of them included."""
    kind: Any = {2: np.int16, 4: np.int32, 8: np.int64}[one.itemsize]
    ranks = []
    for each in (one, other):
        bits = int(np.asarray(each).view(kind))
        ranks.append(bits if bits >= 0 else -(bits & np.iinfo(kind).max))
    return abs(ranks[0] - ranks[1])


@each_row(
    ("before", "after", "equal"),
    [
        (f32(0.0), f32(-0.0), True),
        (f32(NAN, INF, -INF, 1), f32(NAN, INF, -INF, 1), True),
        (np.zeros((0, 0)), np.zeros((0, 3)), True),  # no iterations
        (np.array(["a"], object), np.array(["a"], object), True),
        (np.array(["a"], object), np.array(["b"], object), False),
        (f32(3.4e38), f32(INF), False),
        (np.array([1 << 60]), np.array([1 + (1 << 60)]), False),
        (f32(1, 2), f32(1, 2, 3), False),
        (np.zeros((0, 1)), np.zeros((1, 0)), False),
        (f32(1), np.array(1, np.float32), False),
        (f32(1), np.array([1.0]), False),  # of another type
    ],
)
def test_what_is_equal(before: Any, after: Any, equal: bool) -> None:
    found = compare("y", before, after)
    assert (found.equal, found.ok, bool(found.detail)) == (equal, equal, not equal)


@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
def test_units_in_the_last_place(kind: Any) -> None:
    for start in (1.0, -1.0, 0.0, -0.0, float(np.finfo(kind).max), 1 - np.finfo(kind).epsneg):
        value: Any = np.array([start], kind)
        for steps in (1, 2, 3):
            other = value
            for _ in range(steps):
                other = np.nextafter(other, np.array([-2.0], kind))
            assert compare("y", value, other).ulp == compare("y", other, value).ulp == steps
    least = float(np.finfo(kind).smallest_subnormal)
    assert compare("y", np.array([-least], kind), np.array([least], kind)).ulp == 2
    assert compare("y", np.array([1]), np.array([2])).ulp is None


def test_bfloat16_is_compared_in_float32() -> None:
    before: Any = np.array([1, 2], ml_dtypes.bfloat16)
    found = compare("y", before, (before * 2).astype(ml_dtypes.bfloat16))
    assert (found.max_abs, found.ulp, found.dtype, found.ok) == (2.0, 128, "bfloat16", False)


@each_row(
    ("before", "after", "kind", "cosine"),
    [
        ([3, 4, 0], [4, 3, 0], "float32", 24 / 25),
        ([3, 4], [-3, -4], "float32", -1.0),
        ([0, 0], [1, 0], "float32", None),
        ([3, 4, NAN], [3, 3, 1], "float32", 21 / (5 * math.sqrt(18))),
        ([3, 4], [4, 3], "int32", 24 / 25),
        ([3e30, 4e30], [4e30, 3e30], "float32", 24 / 25),
        ([True, False], [False, True], "bool", None),
        (np.zeros((0, 3)), np.zeros((0, 3)), "float32", None),
    ],
)
def test_cosine(before: Any, after: Any, kind: str, cosine: float | None) -> None:
    found = compare("y", np.array(before, kind), np.array(after, kind)).cosine
    assert found == (None if cosine is None else pytest.approx(cosine))


@each_row(
    ("found", "same"),
    [
        ([1, 2, NAN], True), ([1, 3, 5], True), ([1, 3, NAN], True), ([1, 2, 5], True),
        ([1, 4, 5], False), ([0, 3, 5], False), ([NAN, 3, 5], False),
    ],
)  # fmt: skip
def test_what_the_optimiser_moved_too_is_alike(found: list[float], same: bool) -> None:
    exact, moved = f32(1, 2, NAN), f32(1, 3, 5)
    assert alike("y", exact, moved, f32(*found)) == same
    assert not alike("y", exact, moved[:2], exact)
    assert alike("y", exact, moved, f32(1, 3.5, 5), Tolerance(atol=0.5))
    a, b = np.array(["a"], object), np.array(["b"], object)
    assert alike("y", a, b, b)
    assert not alike("y", a, b, a)


@each_row(
    ("values", "flat"),
    [
        ([[0.1, 0.1], [0.1, 0.1]], True), ([[0.1, 0.2], [0.1, 0.2]], True),
        ([[0.1, 0.2], [0.2, 0.1]], False), ([[0.1, 0.2]], False), ([[], []], True),
        ([[NAN, NAN]], True), ([[NAN, 1.0], [1.0, 1.0]], False), ([[3.0], [4.0]], False),
        ([[3.0], [3.0]], True),
    ],
)  # fmt: skip
def test_flat(values: list[list[float]], flat: bool) -> None:
    assert is_flat([f32(*each) for each in values]) == flat
