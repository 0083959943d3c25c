"""The names of domains, and the opsets that a model imports."""

import pytest
from onnx import helper

from onnxpad.errors import ModelError
from onnxpad.file.proto_walk import normal_domain
from onnxpad.graph.model import imported


def test_the_default_domain_has_two_names() -> None:
    names = (None, "", "ai.onnx", "ai.onnx.ml", "local")
    assert [normal_domain(name) for name in names] == ["", "", "", "ai.onnx.ml", "local"]


def test_imports() -> None:
    opsets = [helper.make_opsetid(*each) for each in (("ai.onnx", 17), ("ai.onnx.ml", 3), ("q", 1))]
    assert imported(opsets, 9) == {"": 17, "ai.onnx.ml": 3, "q": 1}
    assert imported([*opsets, helper.make_opsetid("q", 2)], 9)["q"] == 2
    with pytest.raises(ModelError):
        imported([*opsets, helper.make_opsetid("", 17)], 9)
    assert [imported([], version) for version in (1, 2, 3, 9)] == [{"": 1}, {"": 1}, {}, {}]
