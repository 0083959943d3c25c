"""What `match` decides by: how far outputs are from a reference, and the choices of an operator."""

import math
from typing import Any

import numpy as np
import pytest

from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding.candidates import conventions, options_of
from onnxpad.frameworks.repadding.comparing import Closeness, bits, gap, spread, trial
from onnxpad.frameworks.repadding.sites import settled, sites_of
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context
from onnxpad.validation import compare
from tests.support import one
from tests.support.rows import each_row

DEFAULT = Closeness()


def f(*values: Any, dtype: Any = np.float32) -> Any:
    return np.array(values, dtype)


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
        (f(0, 10), f(2, 9), False, 0.2),
        (f(0, np.inf, np.nan), f(0, np.inf, np.nan), True, 0),
        (f(0, np.inf), f(0, -np.inf), False, math.inf),
        (f(0, 1), f(np.nan, 1), False, math.inf),
        (f(0, 4, dtype=np.int8), f(0, 3, dtype=np.int8), False, 0.25),
        (f(3, 3), f(3, 6), False, 1),  # all equal: of their magnitude
        (f(1, np.inf, 3), f(1, np.inf, 2), False, 0.5),
        (f("a", "b", dtype=object), f("a", "b", dtype=object), True, 0),
        (f("a", "b", dtype=object), f("a", "c", dtype=object), False, math.inf),
    ],
)
def test_a_gap_of_values(wanted: Any, found: Any, close: bool, greatest: float) -> None:
    seen = gap(wanted, found, DEFAULT)
    assert (seen.gap, seen.solved) == (0, close)
    assert seen.greatest == pytest.approx(greatest, rel=0.1)
    if seen.missing is not None:
        apart = (np.nan_to_num(wanted) - np.nan_to_num(found)).astype(float) / spread(wanted)
        assert seen.missing.tolist() == pytest.approx(apart.tolist())
        assert seen.error == pytest.approx(math.sqrt(float(np.mean(apart**2))))


@each_row(
    ("wanted", "found", "apart"),
    [
        ((1, 2, 8, 8), (1, 2, 4, 2), math.log(8)),
        ((1, 2, 4), (1, 2, 8), math.log(2)),
        ((1, 8, 8, 2), (1, 2, 4, 8), math.log(2)),  # its channels are last
        ((2, 3, 8, 8), (2, 8, 4, 3), math.log(2)),  # the model's are
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


def test_a_trial_of_several_samples() -> None:
    wanted = {(0, "a"): f(0, 4), (1, "a"): f(0, 8)}
    found = trial(wanted, {(0, "a"): f(0, 4), (1, "a"): f(0, 6)}, DEFAULT)
    assert (found.solved, found.gap, found.greatest) == (False, 0, 0.25)
    assert found.error == pytest.approx(math.sqrt(0.25**2 / 2 / 2))
    assert found.missing is not None
    assert found.missing.tolist() == pytest.approx([0, 0, 0, 0.25 / math.sqrt(2)])
    assert trial(wanted, wanted, DEFAULT).solved
    for lacks in ({(0, "a"): f(0, 4)}, {(0, "a"): f(0, 4), (1, "a"): f(0)}):
        other = trial(wanted, lacks, DEFAULT)
        assert (other.solved, other.error, other.missing) == (False, math.inf, None)
        assert other.gap > 0


def test_a_long_output_is_looked_at_evenly() -> None:
    """At most 8192 elements of all outputs together, each output with equal weight."""
    long, short = np.arange(100_000, dtype=np.float32), f(0, 2)
    wanted = {(0, "a"): long, (0, "b"): short}
    found = trial(wanted, {(0, "a"): long + 1e5, (0, "b"): short + 2}, DEFAULT)
    assert found.missing is not None
    assert 4000 < found.missing.size <= 8192
    assert np.linalg.norm(found.missing[:-2]) == pytest.approx(1, rel=1e-4)
    assert np.linalg.norm(found.missing[-2:]) == pytest.approx(1)


EPS = float(np.finfo(np.float32).eps)


@each_row(
    ("wanted", "found", "residual", "told"),
    [
        (f(0.5, 1.5), f(0.5, 1.5), 0, 0),
        (f(0.5, 1.5), f(0.5, 0.5), 0, math.log2(1 + 1 / EPS)),
        (f(0.5, 1.5), f(1.5, 0.5), 0.25, 2 * math.log2(1 + 2)),
        (f(0, 1, 1.5), f(1, 0, 1.5), 0, 2),  # whole numbers
        (f(0, 1, 5, dtype=np.int8), f(0, 2, 4, dtype=np.int8), 0, 2),
        (f(0.5, 1.5), f(0), 0, math.inf),
    ],
)
def test_bits_that_tell_a_reference(wanted: Any, found: Any, residual: float, told: float) -> None:
    assert bits({(0, "a"): wanted}, {(0, "a"): found}, residual) == pytest.approx(told)


def site_of(body: str, opset: int = 17) -> Site:
    given = f"float[1, 1, 3, 3] w = {{{', '.join(['1'] * 9)}}}"
    model = one(body, inputs="float[1, 1, h, k] x", initializers=given, opset=opset)
    (site,), _ = sites_of(Context(Graph.from_proto(model)))
    return site


def test_options_each_compute_something_else() -> None:
    steady = site_of("y = Conv (x, w)")
    known, whole = options_of(steady)
    effects = [each.padding.effect((9, 9), steady.windows) for each in known]
    assert len({*map(repr, effects)}) == len(known)
    assert known[0].padding == steady.padding
    told = conventions(steady)
    assert whole.keys() == told.keys()
    for name, at in whole.items():
        assert effects[at] == told[name].effect((9, 9), steady.windows)


POOL = "MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x)"
UP = Padding(((0, 0), (0, 0)), ceil=True)


@each_row(
    ("body", "opset", "padding", "sizes", "written"),
    [
        ("Conv <strides = [2, 2]> (x, w)", 17, Padding(None), (8, 9), Padding(None)),
        ("Conv <dilations = [2, 2]> (x, w)", 17, Padding(None), (8, 9), Padding(((2, 2), (2, 2)))),
        (POOL, 10, UP, (8, 9), UP),
        (POOL, 9, UP, (8, 9), Padding(((0, 1), (0, 0)))),
        (POOL, 9, UP, (), UP),
        (POOL.replace("Max", "Average"), 9, Padding(UP.pads, ceil=True, counted=True), (8, 9),
         Padding(UP.pads, ceil=True, counted=True)),
    ], at_once=4)  # fmt: skip
def test_a_choice_is_written_as_the_opset_can_tell_it(
    body: str, opset: int, padding: Padding, sizes: tuple[int, ...], written: Padding
) -> None:
    assert settled(site_of(f"y = {body}", opset), padding, sizes, opset) == written
