"""Wrong folds of a `Pad`: the comparison of two models finds each and names the operator."""

from collections.abc import Callable

import onnx
import pytest

import onnxpad
from tests.support import ROOT

MODELS = ROOT / "models"
UNEVEN = [
    ("trims_torchscript", "/head/Conv", [4, 0]),
    ("causal_keras", "causal_keras_1/stem_1/convolution", [0, 1, 0, 0]),
]


def edited(
    model: onnx.ModelProto, name: str, new: Callable[[list[int]], list[int]]
) -> onnx.ModelProto:
    """The model with other pads of the node of that name."""
    (node,) = [node for node in model.graph.node if node.name == name]
    (pads,) = [attribute for attribute in node.attribute if attribute.name == "pads"]
    pads.ints[:] = new(list(pads.ints))
    return model


@pytest.mark.parametrize(
    ("name", "conv", "right"), [pytest.param(*case, id=case[1]) for case in UNEVEN]
)
def test_an_uneven_pad_on_the_wrong_side_is_found_and_named(
    name: str, conv: str, right: list[int]
) -> None:
    """onnxslim 0.1.98 writes the first of these where onnxruntime is not installed."""
    path = MODELS / f"{name}.onnx"
    half = len(right) // 2
    wrong = right[half:] + right[:half]

    def exchanged(pads: list[int]) -> list[int]:
        assert pads == right
        return wrong

    found = onnxpad.validate(path, edited(onnxpad.fix(path, validate=False).model, conv, exchanged))
    assert found.outcome == "failed"
    assert found.validation.divergence is not None
    assert found.validation.divergence.producers == (f"{conv} (Conv)", f"{conv} (Conv)")
    assert f"pads={wrong}" in found.validation.divergence.attributes[1]
    (difference,) = found.validation.padding
    assert difference.nodes == found.validation.divergence.producers


def test_a_fold_into_a_pool_that_rounds_up_is_found_and_named() -> None:
    """onnxoptimizer 0.4.2 writes this model: the pool returns one column less."""
    path = MODELS / "ceil_pool_torch.onnx"
    folded = edited(onnx.load(path), "node_max_pool2d_1", lambda pads: [1] * len(pads))
    (pad,) = [node for node in folded.graph.node if node.name == "node_pad"]
    (pool,) = [node for node in folded.graph.node if node.name == "node_max_pool2d_1"]
    pool.input[0] = pad.input[0]
    folded.graph.node.remove(pad)
    found = onnxpad.validate(path, folded)
    assert found.outcome == "failed"
    assert found.validation.divergence is not None
    assert found.validation.divergence.producers == ("node_max_pool2d_1 (MaxPool)",) * 2
    assert found.validation.divergence.values == ("1x16x4x5", "1x16x4x4")
