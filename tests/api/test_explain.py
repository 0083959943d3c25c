"""`onnxpad.explain`: its arguments in any form, and what it returns."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxpad
from tests.support import W, one


def test_the_answer_is_data() -> None:
    found = onnxpad.explain(op="conv", size=(224, 160), kernel=3, stride=2)
    assert isinstance(found, onnxpad.Explanation)
    answer = found.conventions["tensorflow-same"]
    assert answer is not None
    assert (answer.pads, answer.output) == (((0, 1), (0, 1)), (112, 80))
    assert found.conventions["pytorch-same"] is None
    assert found.refused["pytorch-same"] == "stride 1 only"
    (group,) = [names for names in found.agree if "pytorch-half" in names]
    assert {"caffe", "cudnn", "onnx-same-lower"} <= {*group}
    with pytest.raises(TypeError):
        found.conventions["pytorch-same"] = answer  # type: ignore[index]


@pytest.mark.parametrize(
    "size",
    ["9x8", " 9 x 8 ", (9, 8), [9, 8], ("9", "8"), np.array([9, 8]), (np.int64(9), 8)],
)
def test_numbers_come_in_any_form(size: Any) -> None:
    found = onnxpad.explain(op="maxpool", size=size, kernel=3)
    assert found.size == (9, 8)
    assert [window.kernel for window in found.windows] == [3, 3]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"size": 9.0}, "size 9.0 is no number"),
        ({"size": True}, "size True is no number"),
        ({"size": ()}, "size is empty"),
        ({"size": "٩"}, "size '٩' is no number"),
        ({"op": 3}, "unknown op 3"),
        ({"op": "deconv"}, "did you mean 'convtranspose'"),
        ({"shapes": {"x": "1,2"}}, "shapes and dims are about a model"),
        ({"node": "c"}, "the model is missing"),
        ({"model": b""}, "the node is missing.*`onnxpad show` lists them"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(onnxpad.UsageError, match=words):
        onnxpad.explain(**{"op": "conv", "size": 9, "kernel": 3, **arguments})


def test_a_model_in_any_form(tmp_path: Path) -> None:
    model = one("[c] y = Conv (x, w)", initializers=W)
    onnx.save(model, tmp_path / "model.onnx")
    for given in (model, model.SerializeToString(), tmp_path / "model.onnx"):
        found = onnxpad.explain(given, node="c", padding=2)
        assert (found.op, found.size) == ("conv", (9, 8))
        assert found.about is not None
        assert found.about.node == "c"
        assert found.answer("pytorch-padding").pads == ((2, 2), (2, 2))


def test_a_damaged_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"none")
    with pytest.raises(onnxpad.ModelError, match=r"model\.onnx"):
        onnxpad.explain(tmp_path / "model.onnx", node="c")
