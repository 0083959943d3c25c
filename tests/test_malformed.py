"""Damaged models end in findings or in one `OnnxpadError`, whoever reads them.

`python -m tests.malformed` looks for more of what comes to grief, with other seeds and for longer.
"""

import random

import numpy as np
import onnx
import pytest

import onnxpad
from tests.malformed.__main__ import case
from tests.malformed.bases import bases
from tests.malformed.readers import failures
from tests.support import BORDER, W, one

STYLES = ("fold", "pad", "symmetric")


def test_models_are_valid_before_they_are_damaged() -> None:
    for model in bases():
        onnx.checker.check_model(model)
        assert onnxpad.check(model).findings


@pytest.mark.parametrize("block", range(8))
def test_nothing_but_an_error_of_ours_comes_of_damage(block: int) -> None:
    for seed in range(12 * block, 12 * block + 12):
        model, done = case(seed)
        assert not failures(model, random.Random(seed)), f"seed {seed}: {done}"


DEAD = [
    pytest.param('d = Conv <auto_pad = "SAME_UPPER"> (a, w)', id="Conv"),
    pytest.param(
        'd = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, v)', id="transposed"
    ),
    pytest.param("t = ConvTranspose (x, v) d = Pad (t, minus)", id="crop"),
    pytest.param("d = Pad (a, p)", id="Pad"),
    pytest.param("r = Relu (a) d = Pad (r, p)", id="Pad after a step"),
    pytest.param(
        "b = Relu (a) d = MaxPool <kernel_shape = [3, 3], ceil_mode = 1, strides = [2, 2]> (b)",
        id="pool that rounds up",
    ),
]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("dead", DEAD)
@pytest.mark.parametrize("inside", [False, True])
def test_nodes_whose_outputs_nothing_reads(dead: str, style: str, *, inside: bool) -> None:
    """They are rewritten like any other, and what is read beside them too."""
    body = f"a = Pad (x, p) {dead} y = Conv (a, w)"
    if inside:
        branches = [f"{name} () => (float[?, ?, ?, ?] y) {{ {body} }}" for name in ("t", "e")]
        body = f"z = If (c) <then_branch = {branches[0]}, else_branch = {branches[1]}>"
    model = one(
        body,
        inputs="float[1, 2, 9, 8] x, bool c",
        outputs="float[] z" if inside else "float[] y",
        initializers=f"{W}, {BORDER}, int64[8] minus = {{0, 0, -1, -1, 0, 0, 0, 0}}",
    )
    weight = np.arange(18, dtype=np.float32).reshape(2, 1, 3, 3)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "v"))
    for dynamic in ("keep", "auto-pad"):
        result = onnxpad.fix(model, style=style, dynamic=dynamic, validate=False)
        assert result.changed or style == "pad"
        assert not result.undone
