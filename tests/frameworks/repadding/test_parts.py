"""What `match` decides by: how far outputs are from a reference, and the choices of an operator."""

import math
from typing import Any

import numpy as np
import pytest

from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding.candidates import conventions, options_of
from onnxpad.frameworks.repadding.comparing import Closeness, trial
from onnxpad.frameworks.repadding.sites import sites_of
from onnxpad.graph import Graph
from onnxpad.rewrite.pass_api import Context
from tests.support import one

DEFAULT = Closeness()


def f(*values: Any, dtype: Any = np.float32) -> Any:
    return np.array(values, dtype)


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
