"""Ports of other frameworks' networks with the right weights and the wrong padding.

Each of models/misconverted/ differs from its recorded outputs until it is padded as truth.json
says. A node's pads there are pairs (begin, end) for each axis, of all the padding it has, in
itself and in front of it; what a transposed convolution crops, in itself and after it.
"""

import json
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import onnxpad
from tests.support import MODELS, Array, run

FOLDER = MODELS / "misconverted"
TRUTH: dict[str, dict[str, Any]] = json.loads((FOLDER / "truth.json").read_text(encoding="utf-8"))

EXACT = 1e-5
"""How far a port with the right padding is from its original, of the output's range."""

every_port = pytest.mark.parametrize("name", TRUTH)


@cache
def port(name: str) -> onnx.ModelProto:
    return onnx.load(FOLDER / f"{name}.onnx")


def corrected(name: str) -> onnx.ModelProto:
    """The port with all of its padding in its operators, where that of the truth is then set."""
    model = onnxpad.fix(port(name), validate=False).model
    nodes = {node.name: node for node in model.graph.node}
    for key, right in TRUTH[name]["right"].items():
        begins, ends = zip(*right["pads"], strict=True)
        new = right | {"pads": [*begins, *ends], "auto_pad": "NOTSET"}
        kept = [a for a in nodes[key].attribute if a.name not in {*new, "output_padding"}]
        del nodes[key].attribute[:]
        nodes[key].attribute.extend([*kept, *map(helper.make_attribute, new, new.values())])
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return model


def fitting(value: Array, shape: tuple[int, ...]) -> Array:
    """A recorded array in the port's layout: channels first, the pooled dimensions kept."""
    value = value if value.ndim < 3 or value.shape == shape else np.moveaxis(value, -1, 1)
    return value.reshape(shape)


def far(name: str, model: onnx.ModelProto) -> float:
    """The distance from the recorded outputs, of their range; infinite for another shape."""
    with np.load(FOLDER / f"{name}.npz") as arrays:
        fed, expected = arrays["input"], arrays["output"]
    shape = tuple(axis.dim_value for axis in model.graph.input[0].type.tensor_type.shape.dim)
    (found,) = run(model, {"input": fitting(fed, shape)})
    if found.size != expected.size:
        return np.inf
    value = fitting(expected, found.shape)
    return float(np.abs(found - value).max() / np.ptp(value))


def test_every_port_is_there() -> None:
    assert {path.stem for path in FOLDER.glob("*.onnx")} == set(TRUTH)
    assert {entry["situation"] for entry in TRUTH.values()} == {1, 2, 3, 4, 5}
    told = (MODELS / "README.md").read_text(encoding="utf-8")
    assert [name for name in TRUTH if f"| `{name}` |" not in told] == []


@every_port
def test_the_truth_and_nothing_less_reproduces_the_original(name: str) -> None:
    assert far(name, port(name)) > 0.05
    assert far(name, corrected(name)) < EXACT


@every_port
def test_fix_leaves_what_the_port_computes(name: str) -> None:
    result = onnxpad.fix(port(name))
    assert result.validation is None or result.validation.ok
    assert far(name, result.model) == far(name, port(name))


@every_port
def test_validation_tells_that_the_original_computes_otherwise(name: str) -> None:
    found = onnxpad.validate(port(name), reference=FOLDER / f"{name}.npz")
    assert not found.ok
    assert onnxpad.validate(corrected(name), reference=FOLDER / f"{name}.npz").ok
