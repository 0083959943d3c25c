"""Windows and what is computed of them, by row and engine, against onnxruntime's own results."""

import numpy as np
import pytest

from onnxpad.semantics.rows import UnreadError
from tests.semantics.drawn_windows import ROWS, Drawing, computed
from tests.support import ran
from tests.support.rows import one_in

SEEDS = 11


@pytest.mark.parametrize(
    ("key", "seed"), one_in(SEEDS, ((key, seed) for key in ROWS for seed in range(SEEDS)))
)
def test_windows_and_values_are_those_of_onnxruntime(key: tuple[str, str], seed: int) -> None:
    """Where the engine says that onnxruntime does not run a node, that refuses it."""
    drawing, compared = Drawing(ROWS[key], seed), 0
    for _ in range(50):
        drawn = drawing.node()
        try:
            wanted = computed(drawn)
        except UnreadError:  # where less is known than onnxruntime does
            continue
        if key[1].startswith("QLinear") and wanted is not None and not wanted.size:
            continue  # onnxruntime divides by the number of windows, which ends the process
        found = ran(drawn.model, drawn.feeds)
        assert isinstance(found, str) == (wanted is None), (drawn.model, found)
        if wanted is not None and not isinstance(found, str):
            rounding = 1 if key[1] == "QLinearAveragePool" else 0
            np.testing.assert_allclose(found[0], wanted, rtol=1e-5, atol=rounding)
            compared += 1
    assert compared > 15
