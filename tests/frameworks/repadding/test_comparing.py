"""How far outputs are from a reference, what is allowed, and what chance explains."""

import math
from typing import Any

import numpy as np
import pytest

from onnxpad.frameworks.repadding.comparing import (
    Closeness,
    bits,
    gap,
    spread,
    trial,
)
from onnxpad.validation import compare
from tests.support.rows import each_row

DEFAULT = Closeness()


def f(*values: Any, dtype: Any = np.float32) -> Any:
    return np.array(values, dtype)


@each_row(
    ("values", "wanted"),
    [
        (f(1, 4, 2), 3),
        (f(-1, 4), 5),
        (f(3, 3), 3),  # all equal: their magnitude
        (f(-3, -3), 3),
        (f(0, 0), 1),
        (f(1, np.inf, 3, np.nan), 2),
        (f(np.nan, np.inf), 1),
        (f(), 1),
    ],
)
def test_spread(values: Any, wanted: float) -> None:
    assert spread(values) == wanted


@each_row(
    ("closeness", "wanted", "allowed"),
    [
        (DEFAULT, f(0, 10), [1e-4, 1e-4]),
        (DEFAULT, f(0, 10, dtype=np.float64), [1e-4, 1e-4]),
        (DEFAULT, f(0, 10, dtype=np.float16), [5e-2, 5e-2]),
        (Closeness(noise=1e-3), f(0, 10), [1e-2, 1e-2]),
        (Closeness(noise=1e-7), f(0, 10), [1e-4, 1e-4]),
        (DEFAULT, f(0, 0), [0, 0]),  # a reference of zeros does not tell what is small
        (DEFAULT, f(0, 10, dtype=np.int32), [0, 0]),
        (Closeness(rtol=0.1), f(1, -10), [0.1, 1]),
        (Closeness(atol=0.5), f(1, -10), [0.5, 0.5]),
        (Closeness(rtol=0.1, atol=0.5), f(1, -10), [0.6, 1.5]),
        (Closeness(atol=2), f(1, 5, dtype=np.uint8), [2, 2]),
        (Closeness(rtol=0.0), f(1, 5), [0, 0]),
    ],
)
def test_what_is_allowed(closeness: Closeness, wanted: Any, allowed: list[float]) -> None:
    found = compare.allowed(wanted, closeness.of(wanted))
    assert found.tolist() == pytest.approx(allowed, rel=1e-6, abs=0)


@each_row(
    ("wanted", "found", "close", "greatest"),
    [
        (f(0, 10), f(0, 10), True, 0),
        (f(0, 10), f(0, 10.00005), True, 5e-6),
        (f(0, 10), f(0, 9), False, 0.1),
        (f(0, 10), f(2, 9), False, 0.2),
        (f(0, np.inf, np.nan), f(0, np.inf, np.nan), True, 0),
        (f(0, np.inf), f(0, -np.inf), False, math.inf),
        (f(0, 1), f(np.nan, 1), False, math.inf),
        (f(0, 4, dtype=np.int8), f(0, 4, dtype=np.int8), True, 0),
        (f(0, 4, dtype=np.int8), f(0, 3, dtype=np.int8), False, 0.25),
        (f("a", "b", dtype=object), f("a", "b", dtype=object), True, 0),
        (f("a", "b", dtype=object), f("a", "c", dtype=object), False, math.inf),
    ],
)
def test_a_gap_of_values(wanted: Any, found: Any, close: bool, greatest: float) -> None:
    seen = gap(wanted, found, DEFAULT)
    assert (seen.gap, seen.solved) == (0, close)
    assert seen.greatest == pytest.approx(greatest, rel=0.1)
    told = wanted.dtype.kind != "O" and math.isfinite(greatest)
    assert (seen.missing is not None) is told
    if seen.missing is not None:
        apart = (np.nan_to_num(wanted) - np.nan_to_num(found)).astype(float) / spread(wanted)
        assert seen.missing.tolist() == pytest.approx(apart.tolist())
        assert seen.error == pytest.approx(math.sqrt(float(np.mean(apart**2))))


@each_row(
    ("wanted", "found", "apart"),
    [
        ((1, 2, 8), (1, 2, 4), math.log(2)),
        ((1, 2, 4), (1, 2, 8), math.log(2)),
        ((1, 2, 8, 8), (1, 2, 4, 2), math.log(2) + math.log(4)),
        ((1, 8, 8, 2), (1, 2, 4, 8), math.log(2)),  # its channels are last
        ((1, 2, 8, 8), (1, 4, 8, 2), math.log(2)),  # the model's are
        ((2, 8, 8, 3), (2, 3, 4, 8), math.log(2)),
        ((2, 3, 8, 8), (2, 8, 4, 3), math.log(2)),
        ((2, 8), (2, 8, 5), math.log(5)),
        ((3, 0), (3, 2), math.log(6)),
        ((2, 3, 4), (4, 3, 2), 10),
        ((3, 1, 8), (3, 4), math.log(2)),  # an axis of size 1 more
    ],
)
def test_a_gap_of_shapes(wanted: Any, found: Any, apart: float) -> None:
    seen = gap(np.ones(wanted, np.float32), np.ones(found, np.float32), DEFAULT)
    assert (seen.greatest, seen.solved, seen.missing) == (math.inf, False, None)
    assert seen.gap == pytest.approx(apart)


def test_what_is_no_array_is_far() -> None:
    assert gap(f(1), [f(1)], DEFAULT).gap == 10
    assert gap(f(1, 2), [f(1)], DEFAULT).gap > 0


def test_a_trial_of_several_samples() -> None:
    wanted = {(0, "a"): f(0, 4), (1, "a"): f(0, 8)}
    found = trial(wanted, {(0, "a"): f(0, 4), (1, "a"): f(0, 6)}, DEFAULT)
    assert (found.solved, found.gap, found.greatest) == (False, 0, 0.25)
    assert found.error == pytest.approx(math.sqrt(0.25**2 / 2 / 2))
    assert found.missing is not None
    assert found.missing.tolist() == pytest.approx([0, 0, 0, 0.25 / math.sqrt(2)])
    solved = trial(wanted, wanted, DEFAULT)
    assert (solved.solved, solved.gap, solved.error, solved.greatest) == (True, 0, 0, 0)


def test_a_trial_in_which_a_shape_is_wrong_or_a_tensor_is_missing() -> None:
    wanted, right = {(0, "a"): f(0, 4), (0, "b"): f(1)}, {(0, "b"): f(1)}
    for found in ({**right, (0, "a"): f(0)}, right):
        other = trial(wanted, found, DEFAULT)
        assert (other.solved, other.error, other.missing) == (False, math.inf, None)
        assert (other.gap > 0, other.greatest) == (True, math.inf)
    nothing = trial({}, {}, DEFAULT)
    assert (nothing.solved, nothing.gap, nothing.error, nothing.greatest) == (True, 0, 0, 0)


def test_a_long_output_is_looked_at_evenly() -> None:
    """At most 8192 elements of all outputs together, each output with equal weight."""
    long, short = np.arange(100_000, dtype=np.float32), f(0, 2)
    wanted = {(0, "a"): long, (0, "b"): short}
    found = trial(wanted, {(0, "a"): long + 1e5, (0, "b"): short + 2}, DEFAULT)
    assert found.missing is not None
    assert 4000 < found.missing.size <= 8192
    assert np.linalg.norm(found.missing[:-2]) == pytest.approx(1, rel=1e-4)
    assert np.linalg.norm(found.missing[-2:]) == pytest.approx(1)


def test_bits_that_tell_a_reference_from_another_output() -> None:
    def told(wanted: Any, found: Any, residual: float = 0) -> float:
        return bits({(0, "a"): wanted}, {(0, "a"): found}, residual)

    eps, wanted = float(np.finfo(np.float32).eps), f(0.5, 1.5)
    assert told(wanted, wanted) == 0
    assert told(wanted, f(0.5, 0.5)) == pytest.approx(math.log2(1 + 1 / eps))
    assert told(wanted, f(1.5, 0.5), 0.25) == pytest.approx(2 * math.log2(1 + 2))
    assert told(f(0, 1, 1.5), f(1, 0, 1.5)) == 2  # whole numbers
    assert told(f(0, 1, 5, dtype=np.int8), f(0, 2, 4, dtype=np.int8)) == 2
    assert told(wanted, f(0)) == told(wanted, None) == math.inf
    twice = {(0, "a"): wanted, (1, "a"): wanted}
    assert bits(twice, dict.fromkeys(twice, f(0, 0)), 0) == 2 * told(wanted, f(0, 0))
