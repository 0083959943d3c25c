"""Amounts of SAME that take more nodes than needed: what they become, and what is left alone."""

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import EXPORTED, fixed, one, run, session

SAME = (
    "size = Shape (x) inner = Slice (size, from, to) more = Add (inner, one)"
    " half = Div (more, two) fewer = Sub (half, one) even = Mul (fewer, two)"
    " wide = Add (even, three) total = Sub (wide, inner) small = Div (total, two)"
    " large = Sub (total, small)"
)


def padded(begin: str, end: str, kernel: int = 3, opset: int = 13) -> onnx.ModelProto:
    weights = ", ".join(str(i % 7 - 3) for i in range(2 * kernel**2))
    constants = (
        "int64[1] one = {1}, int64[1] two = {2}, int64[2] none = {0, 0}, int64[1] from = {2},"
        f" int64[1] to = {{4}}, int64[1] three = {{{kernel}}},"
        f" float[2, 1, {kernel}, {kernel}] w = {{{weights}}}"
    )
    return one(
        f"{SAME} pads = Concat <axis = 0> (none, {begin}, none, {end})"
        " p = Pad (x, pads) y = Conv <strides = [2, 2]> (p, w)",
        inputs="float[1, 1, height, width] x",
        initializers=constants,
        opset=opset,
    )


@pytest.mark.parametrize("opset", [11, 13, 17])
@pytest.mark.parametrize(
    ("begin", "end", "kernel"),
    [
        pytest.param("small", "large", 3, id="SAME_UPPER"),
        pytest.param("large", "small", 4, id="SAME_LOWER"),
    ],
)
def test_computes_the_same_by_fewer_nodes(begin: str, end: str, kernel: int, opset: int) -> None:
    model = padded(begin, end, kernel, opset)
    result = fixed(model, dynamic="pad")
    assert [change.code for change in result.changes] == ["PAD502"]
    assert result.nodes_after < result.nodes_before
    old, new = session(model), session(result.model)
    for height in range(1, 8):
        data = np.arange(height * (height + 3), dtype=np.float32).reshape(1, 1, height, height + 3)
        np.testing.assert_array_equal(run(old, {"x": data})[0], run(new, {"x": data})[0])


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(padded("more", "large"), id="another begin"),
        pytest.param(padded("small", "more"), id="another end"),
    ],
)
def test_amounts_that_are_not_those_of_same_stay(model: onnx.ModelProto) -> None:
    assert "PAD502" not in [c.code for c in onnxpad.fix(model, dynamic="pad").changes]


def test_nothing_is_simplified_unless_asked_for() -> None:
    assert not onnxpad.fix(padded("small", "large")).changed


@pytest.mark.parametrize("name", ["timm_same_torchscript", "timm_same_dynamo"])
def test_what_exporters_write(name: str) -> None:
    (path,) = (path for path in EXPORTED if path.stem == name)
    kept, simple = (onnxpad.fix(path, dynamic=choice, validate=False) for choice in ("keep", "pad"))
    assert {"PAD502"} <= {change.code for change in simple.changes}
    assert simple.nodes_after < kept.nodes_after / 2
    model = onnx.load(path)
    old, new = session(model), session(simple.model)
    (name,) = (value.name for value in model.graph.input)
    for height, width in ((32, 33), (47, 40), (64, 65)):
        data = np.random.default_rng(height).standard_normal((1, 3, height, width))
        feeds = {name: data.astype(np.float32)}
        for before, after in zip(run(old, feeds), run(new, feeds), strict=True):
            np.testing.assert_array_equal(before, after)
