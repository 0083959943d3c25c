"""Ports of other frameworks' networks with the right weights and the wrong padding.

Each of models/misconverted/ differs from its recorded outputs until it is padded as truth.json
says. A node's pads there are pairs (begin, end) for each axis, of all the padding it has, in
itself and in front of it; what a transposed convolution crops, in itself and after it. At that
size, with this `padding` and `output_padding`, `explain` calls them `convention`, and what the port
does `port`.
"""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import onnxpad
from onnxpad.frameworks.conventions.table import CONVENTIONS
from tests.support import MODELS, Array, attributes, exposed, onnxpad_runs, run
from tests.support.rows import one_in

FOLDER = MODELS / "misconverted"
TRUTH: dict[str, dict[str, Any]] = json.loads((FOLDER / "truth.json").read_text(encoding="utf-8"))

EXACT = 1e-5
"""How far a port with the right padding is from its original, of the output's range."""

every_port = pytest.mark.parametrize("name", TRUTH)
every_node = pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name, entry in TRUTH.items() for key in entry["right"]]
)


@cache
def port(name: str) -> onnx.ModelProto:
    return onnx.load(FOLDER / f"{name}.onnx")


@cache
def corrected(name: str) -> onnx.ModelProto:
    """The port with all of its padding in its operators, where that of the truth is then set."""
    model = onnxpad.fix(port(name), validate=False).model
    nodes = {node.name: node for node in model.graph.node}
    for key, right in TRUTH[name]["right"].items():
        begins, ends = zip(*right["pads"], strict=True)
        new: dict[str, Any] = {"pads": [*begins, *ends], "auto_pad": "NOTSET"}
        new |= {"ceil_mode": right["ceil_mode"]} if "ceil_mode" in right else {}
        kept = [a for a in nodes[key].attribute if a.name not in {*new, "output_padding"}]
        del nodes[key].attribute[:]
        nodes[key].attribute.extend([*kept, *map(helper.make_attribute, new, new.values())])
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return model


def fitting(value: Array, shape: Sequence[int]) -> Array:
    """A recorded array in the port's layout: channels first, the pooled dimensions kept."""
    value = value if value.ndim < 3 or value.shape == shape else np.moveaxis(value, -1, 1)
    return np.ascontiguousarray(value).reshape(shape)


def recorded(name: str) -> tuple[Array, Array]:
    """The input in the port's layout, and the output in the original's."""
    with np.load(FOLDER / f"{name}.npz") as arrays:
        data, expected = arrays["input"], arrays["output"]
    axes = port(name).graph.input[0].type.tensor_type.shape.dim
    return fitting(data, tuple(axis.dim_value for axis in axes)), expected


def far(name: str, model: onnx.ModelProto) -> float:
    """The distance from the recorded outputs, of their range; infinite for another shape."""
    data, expected = recorded(name)
    (found,) = run(model, {"input": data})
    if found.size != expected.size:
        return np.inf
    value = fitting(expected, found.shape)
    return float(np.abs(found - value).max() / np.ptp(value))


def output_shape(name: str, key: str) -> tuple[int, ...]:
    """What a node of a corrected port gives on the recorded input."""
    (tensor,) = (node.output[0] for node in corrected(name).graph.node if node.name == key)
    data, _ = recorded(name)
    return tuple(run(exposed(corrected(name), [tensor]), {"input": data})[0].shape)


def test_every_port_is_there() -> None:
    assert {path.stem for path in FOLDER.glob("*.onnx")} == set(TRUTH)
    assert {entry["situation"] for entry in TRUTH.values()} == {1, 2, 3, 4, 5}
    told = (MODELS / "README.md").read_text(encoding="utf-8")
    assert [name for name in TRUTH if f"| `{name}` |" not in told] == []


@every_port
def test_the_truth_and_nothing_less_reproduces_the_original(name: str) -> None:
    assert far(name, port(name)) > 0.05
    assert far(name, corrected(name)) < EXACT
    result = onnxpad.fix(port(name))
    assert result.validation is None or result.validation.ok
    assert far(name, result.model) == far(name, port(name))


@every_node
def test_explain_names_what_is_right_and_what_the_port_does(name: str, key: str) -> None:
    right = TRUTH[name]["right"][key]
    given = {option: right.get(option) for option in ("padding", "output_padding")}
    found = onnxpad.explain(corrected(name), node=key, **given)
    answer = found.answer(right["convention"])
    assert [[*pair] for pair in answer.pads] == right["pads"]
    assert answer.output == output_shape(name, key)[2:]
    if "port" in right:
        apart = [group for group in found.agree if {right["convention"], right["port"]} & {*group}]
        assert len(apart) == 2
        written = attributes(next(n for n in port(name).graph.node if n.name == key))
        begins, ends = zip(*found.answer(right["port"]).pads, strict=True)
        assert [*begins, *ends] == written["pads"]


@every_port
def test_match_finds_the_right_padding(name: str) -> None:
    result = onnxpad.match(port(name), FOLDER / f"{name}.npz")
    assert result.outcome == "matched"
    assert far(name, result.model) < EXACT
    right = TRUTH[name]["right"]
    assert {(e.node, e.name in CONVENTIONS) for e in result.changes} == {(n, True) for n in right}
    nodes = {node.name: attributes(node) for node in result.model.graph.node}
    for key, wanted in right.items():
        begins, ends = zip(*wanted["pads"], strict=True)
        assert nodes[key].get("pads", [0] * 2 * len(begins)) == [*begins, *ends]
        assert nodes[key].get("ceil_mode", 0) == wanted.get("ceil_mode", 0)
        assert not any(nodes[key].get("output_padding", ()))


@pytest.mark.parametrize("name", one_in(4, [(name,) for name in TRUTH]))
def test_match_finds_nothing_where_a_weight_differs_too(name: str) -> None:
    wrong = onnx.ModelProto()
    wrong.CopyFrom(port(name))
    weights = [tensor for tensor in wrong.graph.initializer if len(tensor.dims) >= 3]
    weight = numpy_helper.to_array(weights[0]) * np.float32(1.001)
    weights[0].CopyFrom(numpy_helper.from_array(weight, weights[0].name))
    result = onnxpad.match(wrong, FOLDER / f"{name}.npz")
    assert not result.ok
    assert result.model == wrong


@every_port
def test_match_leaves_what_is_right_already(name: str) -> None:
    result = onnxpad.match(corrected(name), FOLDER / f"{name}.npz")
    assert result.outcome == "matches already"
    assert not result.changes
    assert result.model == corrected(name)


@every_port
def test_one_command_mends_a_port(name: str, tmp_path: Path) -> None:
    wrong, mended = FOLDER / f"{name}.onnx", tmp_path / "mended.onnx"
    reference = ("--reference", FOLDER / f"{name}.npz")
    assert onnxpad_runs("validate", wrong, *reference).exit_code == 3
    result = onnxpad_runs("match", wrong, *reference, "-o", mended)
    assert result.exit_code == 0, result.output
    assert far(name, onnx.load(mended)) < EXACT
    assert onnxpad_runs("validate", mended, *reference).exit_code == 0
