"""Comparisons of tensors, held against the same worked out element by element."""

import math
import random
from typing import Any

import numpy as np
import pytest

from onnxpad.validation.compare import Tolerance, compare
from tests.support.rows import each_row

NAN, INF = math.nan, math.inf
DEFAULTS = {"float16": (1e-2, 5e-3), "float32": (1e-4, 1e-5), "float64": (1e-9, 1e-10)}
TYPES = ("float16", "float32", "float64", "int8", "int64", "uint8", "bool", "complex64")
SHAPES = ((), (1,), (5,), (2, 3), (1, 8), (2, 3, 4), (3, 0))


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
