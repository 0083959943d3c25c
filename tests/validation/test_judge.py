"""What excuses a difference, and what two verdicts make together."""

from typing import Any

import numpy as np
import pytest

from onnxpad.validation.lab import Result
from onnxpad.validation.compare import Tolerance
from onnxpad.validation.judge import Oracle, compared_run, excused
from onnxpad.validation.result import (
    PaddingDifference,
    Run,
)
from tests.support.rows import each_row

STRICT = Tolerance(0.0, 0.0)
ONES = np.linspace(-1, 1, 8, dtype=np.float32)


def result(error: str = "", crashed: bool = False, late: bool = False, **outputs: Any) -> Result:
    return Result(outputs, 1.0, error, crashed=crashed, late=late)


def judged(
    exact: Result, ours: Result, found: Result, tolerance: Tolerance = STRICT, **more: Any
) -> Run:
    oracle = Oracle("original", exact)
    run = compared_run("rewritten", found, oracle, tolerance)
    return excused(run, oracle, ours, found, tolerance, **more)


def test_held() -> None:
    exact = Oracle("original", result(y=ONES, z=ONES))
    same = compared_run("rewritten", result(y=ONES, z=ONES), exact, STRICT)
    assert (same.ok, same.note, same.subject, same.against) == (True, "", "rewritten", "original")
    assert [each.ok for each in same.comparisons] == [True, True]
    missing = compared_run("rewritten", result(y=ONES), exact, STRICT)
    assert (missing.ok, missing.note) == (False, "the rewritten model has no output z")
    assert len(missing.comparisons) == 1
    apart = compared_run("rewritten", result(y=ONES, z=ONES + 1), exact, STRICT)
    assert [each.ok for each in apart.comparisons] == [True, False]
    assert not apart.ok


def test_another_engine_may_differ_ten_times_as_much() -> None:
    nearly = result(y=ONES * np.float32(1.0004))
    for foreign in (False, True):
        run = compared_run(
            "rewritten", nearly, Oracle("original", result(y=ONES), foreign), Tolerance()
        )
        assert run.ok is foreign


@pytest.mark.parametrize(
    ("ours", "found", "ok"),
    [
        (ONES + 1, ONES + 1, True),
        (ONES, ONES + 1, False),
        (ONES + 1, ONES + 2, False),
        (np.append(ONES[:-1], 9), np.append(ONES[:-1], np.float32(9)), True),
        (np.append(ONES[:-1], 9), np.append(np.float32(9), ONES[1:]), False),
    ],
)
def test_a_difference_is_excused_where_the_original_has_it(ours: Any, found: Any, ok: bool) -> None:
    ours, found = (each.astype(np.float32) for each in (ours, found))
    run = judged(result(y=ONES), result(y=ours), result(y=found))
    assert (run.ok, run.excused) == (ok, ok)
    assert ("of the original as well" in run.note) is ok
    assert ("of the rewritten model only" in run.note) is not ok


@pytest.mark.parametrize(
    ("ours", "found", "ok"),
    [
        (result("no"), result("no"), True),
        (result("no"), result("no", crashed=True), False),
        (result("no", crashed=True), result("no", crashed=True), True),
        (result("no"), result(y=ONES + 1), False),
        (result(y=ONES), result("no"), False),
    ],
)
def test_what_does_not_run_optimised(ours: Result, found: Result, ok: bool) -> None:
    run = judged(result(y=ONES), ours, found)
    assert (run.ok, run.excused) == (ok, ok)
    assert run.note


def test_an_output_that_is_gone_is_never_excused() -> None:
    both = result(y=ONES, z=ONES)
    run = judged(both, both, result(y=ONES))
    assert (run.ok, run.excused) == (False, False)


def test_an_original_alone_is_excused_where_it_does_not_run_optimised() -> None:
    exact = result(y=ONES)
    oracle = Oracle("original", exact)
    run = compared_run("original", result("no"), oracle, STRICT)
    assert excused(run, oracle, result("no", crashed=True), result(y=ONES), STRICT).ok


@each_row(
    ("dtype", "own", "theirs", "ok"),
    [
        (np.float16, 0.02, 0.04, True),
        (np.float16, 0.02, 0.03, True),
        (np.float16, 0.0, 0.03, False),
        (np.float16, 0.01, 0.04, False),
        (np.float16, 0.04, 0.08, False),
        (np.float32, 0.02, 0.03, False),
    ],
    at_once=8,
)
def test_halves_may_be_rounded_twice_as_much(
    dtype: Any, own: float, theirs: float, ok: bool
) -> None:
    exact = np.array([1, 0.5, 0.25], dtype)
    ours, found = (exact + np.array([0, 0, each], dtype) for each in (own, -theirs))
    assert judged(result(y=exact), result(y=ours), result(y=found)).ok is ok


@pytest.mark.parametrize(
    ("step", "quantised", "ok"), [(0.04, True, True), (0.04, False, False), (0.06, True, False)]
)
def test_rounding_by_fused_quantised_operators(step: float, quantised: bool, ok: bool) -> None:
    exact = np.array([1, -0.5, 0.25, 0.75], np.float32)
    found = exact + np.array([0, step, 0, 0], np.float32)
    run = judged(result(y=exact), result(y=exact), result(y=found), quantised=quantised)
    assert (run.ok, run.excused) == (ok, ok)


@pytest.mark.parametrize(
    ("total", "pads", "told"),
    [(((0, 1), (0, 2)), "[0, 0, 1, 2]", "H 0+1, W 0+2"), ("VALID", "VALID", "VALID")],
)
def test_total_padding_in_order_and_by_axis(
    total: tuple[tuple[int, int], ...] | str, pads: str, told: str
) -> None:
    found = PaddingDifference("y", ("c (Conv)", "c (Conv)"), (total, total))
    assert (found.pads, found.by_axis) == ((pads,) * 2, (told,) * 2)
